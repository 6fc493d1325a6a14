"""Downloads of each platform: the owner, the time and the last attempt are read from the names."""

import json
from datetime import UTC, datetime

import pytest
from nbgrader.utils import parse_utc

from autograder.class_run.submissions import is_marked_late, read_handed_in
from autograder.collecting import collect as collecting
from autograder.collecting.collect import Outcome
from autograder.collecting.lms_names import Naming, read_brightspace
from autograder.collecting.owners import MetadataError, read_metadata
from autograder.collecting.roster import TableError, read_roster
from autograder.teams import read_teams
from tests.autograder.collecting.downloads import (
    AUGUST,
    BERLIN,
    HW,
    JULY,
    class_list,
    collected,
    make_folder,
    make_zip,
    outcomes,
    problems,
)

IPYNB = f"{HW}.ipynb"
ATTEMPT = f"_attempt_2026-10-05-09-00-00_{IPYNB}"
GRADESCOPE = """---
submission_111:
  :submitters:
  - :name: Ada Lovelace
    :sid: '4711'
    :email: ada@example.org
  - :name: Bo Diddley
    :sid: ''
    :email: bo@example.org
  :created_at: 2026-09-08 18:16:24.126490000 Z
  :score: 0.0
submission_112:
  :submitters:
  - :name: Ada Lovelace
    :sid: '4711'
    :email: ada@example.org
  :created_at: !ruby/object:Time 2026-09-09 18:16:24 UTC
"""

WHOLE_CLASSES = {
    "canvas": (
        {
            f"lovelaceada_12345_67890_{IPYNB}": "first",
            f"lovelaceada_12345_70001_{HW}-1.ipynb": "second",
            f"hopper_LATE_777_70002_{HW}-2.ipynb": "late",
            "hopper_LATE_777_70003_notes.pdf": "%PDF",
            "noether_42_70004_photo.jpg": "jpg",
        },
        {"lovelaceada_12345": "second", "hopper_777": "late"},
        {
            "lovelaceada_12345": f"{HW}-1.ipynb of 2 notebooks, not {IPYNB}",
            "hopper_777": "1 other files stay where they are; late",
            "noether_42": "no notebook of this homework, only photo.jpg",
        },
    ),
    "moodle": (
        {
            f"Zoë de la Cruz_123456_assignsubmission_file_/{IPYNB}": "zoë",
            "Bo ONeil_123457_assignsubmission_onlinetext_/onlinetext.html": "<p>see mail</p>",
        },
        {"Zoë-de-la-Cruz": "zoë"},
        {"Bo-ONeil": "no notebook of this homework, only onlinetext.html"},
    ),
    "blackboard": (
        {
            f"Homework_3 (2026)_ada12{ATTEMPT}": "first",
            "Homework_3 (2026)_ada12_attempt_2026-10-05-09-00-00.txt": "Name: Ada (ada12)",
            f"Homework_3 (2026)_ada12_attempt_2026-10-06-14-30-59_{IPYNB}": "second",
            f"Homework_3 (2026)_van_dam{ATTEMPT}": "van dam",
            f"Homework_3 (2026)_de_dam{ATTEMPT}": "de dam",
        },
        {"ada12": "second", "van_dam": "van dam", "de_dam": "de dam"},
        {"ada12": "the newest of 2 notebooks; 1 other files stay where they are"},
    ),
    "blackboard with numbers in the assignment's name": (
        {f"HW_3_4_77{ATTEMPT}": "x"},
        {"77": "x"},
        {},
    ),
    "brightspace": (
        {
            f"12345-801 - Ada Lovelace - Oct 5, 2026 1230 PM - {IPYNB}": "second",
            f"12345-800 - Ada Lovelace - Oct 5, 2026 130 AM - {IPYNB}": "first",
            f"12346-801 - Bo - the 2nd - Oct 5, 2026 110 PM - {IPYNB}": "bo",
            "index.html": "<table>",
        },
        {"Ada-Lovelace_12345": "second", "Bo---the-2nd_12346": "bo"},
        {},
    ),
    "brightspace with folders": (
        {
            f"all/12345-801 - Ada Lovelace - Oct 5, 2026 1230 PM/{IPYNB}": "second",
            f"all/12345-800 - Ada Lovelace - Oct 5, 2026 130 AM/{IPYNB}": "first",
            "all/index.html": "<table>",
        },
        {"Ada-Lovelace_12345": "second"},
        {},
    ),
    "classroom": (
        {
            f"{HW}-octocat/{IPYNB}": "cat",
            f"{HW}-octocat/README.md": "text",
            f"{HW}-octocat/.git/config": "[core]",
            f"{HW}-octocat/.ipynb_checkpoints/{HW}-checkpoint.ipynb": "old",
            f"{HW}-ada-l/work/{IPYNB}": "ada",
            f"{HW}-ada-l/hw02-decoding.ipynb": "another homework",
        },
        {"octocat": "cat", "ada-l": "ada"},
        {},
    ),
    "classroom with clones of other homework": (
        {f"{hw}-ada/{hw}.ipynb": hw for hw in ("hw01-sequences", "hw02-decoding", HW)},
        {"ada": HW},
        {},
    ),
    **{
        f"classroom in {around}": (
            {f"{around}/hw03-{s}/{IPYNB}": s for s in students} | {f"{around}/README": ""},
            {student: student for student in students},
            {},
        )
        for around, students in ((f"{HW}-submissions", ("ada",)), ("hw03-class", ("ada", "bo")))
    },
    "folder": (
        {
            f"ada/{HW}/{IPYNB}": "ada",
            "bo/anything.ipynb": "bo",
            "dee.ipynb": "dee",
            "eve/one.ipynb": "1",
            "eve/two.ipynb": "2",
            "fay/hw04-transformer.ipynb": "other",
            f"gil/{HW.replace('hw0', 'hw')}.ipynb": "gil",
            f"hal/{HW.upper()}.ipynb": "hal",
            "hal/notes.ipynb": "notes",
            f"ira/old/copy/{IPYNB}": "deep",
            f"ira/{IPYNB}": "here",
            f"ira/b/{IPYNB}": "b",
        },
        {"ada": "ada", "bo": "bo", "dee": "dee", "gil": "gil", "hal": "hal", "ira": "here"},
        {
            "eve": f"several notebooks, none called {IPYNB}: one.ipynb, two.ipynb",
            "fay": "no notebook of this homework, only hw04-transformer.ipynb",
        },
    ),
    **{
        f"folder with {name}, named as a platform would": (
            {f"ada/{IPYNB}": "ada", "bo.ipynb": "bo", name: "eve"},
            {"ada": "ada", "bo": "bo", name.partition("/")[0].removesuffix(".ipynb"): "eve"},
            {},
        )
        for name in (f"{HW}-eve/{IPYNB}", "eve_1_2_x.ipynb")
    },
    "folder of a single student": (
        {f"ada/{HW}/{IPYNB}": "mine", f"ada/old/{IPYNB}": ("old", (2026, 1, 1, 1, 1, 1))},
        {"ada": "mine"},
        {},
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "files", "notebooks", "remarks"),
    [(kind, *rest) for kind, rest in WHOLE_CLASSES.items()],
    ids=WHOLE_CLASSES,
)
def test_download_is_recognised_and_each_last_attempt_counts(
    gather, into, kind, files, notebooks, remarks
):
    told = gather(files, zone=BERLIN)
    assert told.naming == kind.split()[0]
    assert collected(into) == notebooks
    assert {student: outcomes(told)[student][1] for student in remarks} == remarks
    assert told.complete == (notebooks.keys() >= {line.student for line in told.lines})


@pytest.mark.parametrize("around", ["class", "class/of 2026", HW, "hw03-class", f"{HW}-class"])
@pytest.mark.parametrize("odd", [f"dee/{HW}/{IPYNB}", f"{HW}/{IPYNB}", f"{HW}-dee.ipynb"])
def test_folder_around_the_class_is_not_a_student(gather, into, around, odd):
    files = {f"{around}/{name}/{IPYNB}": name for name in ("ada", "bo", "cy")}
    assert gather({**files, f"{around}/{odd}": "dee"}).complete
    assert sorted(collected(into).values()) == ["ada", "bo", "cy", "dee"]


def test_folder_that_grading_wrote_is_rejected(gather, into):
    for root in ("", "out/"):
        files = {
            f"{root}results/{HW}/ada.json": "{}",
            f"{root}nbgrader/autograded/ada/{HW}/{IPYNB}": "ada",
        }
        with pytest.raises(collecting.SourceError, match="is the output folder of grading"):
            gather(files)
    assert not into.exists()


# ---- times ----


def test_times_come_from_the_names_where_these_have_them(gather, into):
    gather(WHOLE_CLASSES["blackboard"][0], zone=BERLIN)
    assert read_handed_in(into / "ada12" / HW) == datetime(2026, 10, 6, 12, 30, 59, tzinfo=UTC)
    gather(WHOLE_CLASSES["brightspace"][0], zone=BERLIN)
    moment = read_handed_in(into / "Ada-Lovelace_12345" / HW)
    assert moment == datetime(2026, 10, 5, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("when", "moment"),
    [
        ("Oct 5, 2026 130 AM", (1, 30)),
        ("Oct 5, 2026 1230 AM", (0, 30)),
        ("October 5, 2026 110 PM", (13, 10)),
        ("5 October, 2026 1130 PM", (23, 30)),
        ("5 Oct 2026 14.05", (14, 5)),
        ("5 mai 2026 14.05", None),
    ],
)
def test_brightspace_time_is_read_in_each_format(when, moment):
    (name,) = read_brightspace([f"1-2 - Ada - {when} - x.ipynb"], HW)
    assert (name.lms_id, name.upload, name.called) == ("1", 2, "Ada")
    assert name.moment == (moment and datetime(2026, 10, 5, *moment))


def test_canvas_zip_tells_no_time_but_lateness(gather, into):
    gather(WHOLE_CLASSES["canvas"][0])
    assert not list(into.rglob("timestamp.txt"))
    assert [path.parts[-3] for path in into.rglob("late.txt")] == ["hopper_777"]
    assert is_marked_late(into / "hopper_777" / HW)
    gather({f"hopper_777_70003_{HW}-3.ipynb": "x"}, force=True)
    assert not is_marked_late(into / "hopper_777" / HW)


@pytest.mark.parametrize("made", [make_folder, make_zip])
@pytest.mark.parametrize("named", ["hw03-{}", "homework-3-{}", "{}"])
def test_clone_tells_no_time(gather, into, tmp_path, made, named):
    files = {f"{named.format(s)}/{IPYNB}": s for s in ("ada", "bo")}
    files |= {f"{named.format('ada')}/drafts/{HW}-Copy1.ipynb": "kept from before"}
    clones = files | {f"{named.format(s)}/.git/HEAD": "ref" for s in ("ada", "bo")}
    told = outcomes(gather(clones, made=made))
    called = "{}" if named == "hw03-{}" else named
    assert collected(into) == {called.format("bo"): "bo"}
    assert told[called.format("ada")][1].startswith("which one is the work?")
    assert not list(into.rglob("timestamp.txt"))
    words = "a clone, which does not say when it was handed in"
    assert (told[called.format("bo")][1] == words) == (called == named)
    gather(files, made=made, target=tmp_path / "timed", naming=Naming.FOLDER)
    assert (tmp_path / "timed" / named.format("bo") / HW / "timestamp.txt").exists()


# ---- the attempt that counts ----


@pytest.mark.parametrize(
    "copy", ["{}-Copy1", "{} - Copy", "{} - Copy (2)", "Copy of {}", "{} copy", "{} (1)"]
)
def test_copy_by_its_usual_name_counts_as_an_attempt(gather, into, tmp_path, copy):
    other = f"{copy.format(HW)}.ipynb"
    told = gather({f"ada/{IPYNB}": ("blank", JULY), f"ada/{other}": ("work", AUGUST)})
    assert outcomes(told)["ada"][1] == "the newest of 2 notebooks"
    assert collected(into) == {"ada": "work"}
    # A clone has no times: the copy may be the work, or an old version.
    folder, clone = f"{HW}-ada", tmp_path / "clone"
    told = gather({f"{folder}/{IPYNB}": "blank", f"{folder}/{other}": "work"}, target=clone)
    outcome, remark = outcomes(told)["ada"]
    if copy == "{} (1)":
        assert remark == f"{other} of 2 notebooks, not {IPYNB}"
        assert collected(clone) == {"ada": "work"}
    else:
        assert outcome is Outcome.PROBLEM
        assert remark.startswith("which one is the work?")


@pytest.mark.parametrize("names", [("{}", "{}-Copy1"), ("Copy of {}", "{}-1"), ("{} - Copy", "{}")])
def test_order_of_canvas_uploads_does_not_choose_between_work_and_copy(gather, into, names):
    files = {f"ada_1_{900 + n}_{name.format(HW)}.ipynb": name for n, name in enumerate(names)}
    told = gather(files | {f"bo_2_903_{IPYNB}": "bo"})
    assert collected(into) == {"bo_2": "bo"}
    assert problems(told)["ada_1"].startswith("which one is the work?")


def test_newer_notebook_of_another_name_is_reported(gather, into):
    files = {IPYNB: JULY, f"{HW}-solved.ipynb": AUGUST, "hw04-x.ipynb": AUGUST}
    files |= {"Copy of hw04-x.ipynb": AUGUST, f"old/{IPYNB}": (2026, 6, 1, 12, 0, 0)}
    told = gather({f"ada/{n}": (n, date) for n, date in files.items()})
    assert collected(into) == {"ada": IPYNB}
    assert outcomes(told)["ada"][1] == (
        f"{IPYNB} of 3 notebooks, not {HW}-solved.ipynb; 2 other files stay where they are"
    )


# ---- Canvas: numbers, hidden names and new names ----


def test_hidden_names_of_canvas_name_nobody(gather, into, tmp_path):
    files = {
        f"anon_aB3dE_70001_{IPYNB}": "one",
        f"LATE_anon_Z9xYw_70002_{IPYNB}": "late",
        f"anon_12345_70003_{IPYNB}": "digits alone",
    }
    told = problems(gather(files))
    assert collected(into) == {}
    assert told["anon_Z9xYw"] == (
        "names are hidden, and the letters of anon_Z9xYw are of this assignment alone: reveal the "
        "names in Canvas, and download again"
    )
    # 12345 is the number of a user; the digits of this submission's are another's
    told = gather(files, "aB3dE,ada,\n12345,bo,\n")
    assert collected(into) == {"ada": "one"}
    assert outcomes(told)["bo"][0] is Outcome.MISSING
    gather(files, "anon_12345,cy,\nanon_Z9xYw,di,\n", target=tmp_path / "two")
    assert collected(tmp_path / "two") == {"cy": "digits alone", "di": "late"}


@pytest.mark.parametrize(
    ("name", "listed", "owner"),
    [
        ("ada_l_22_901_{}.ipynb", "", "ada_l_22"),
        ("ada_l_22_901_{}.ipynb", "22,ada,\n", "ada"),
        ("team_1_21_900_{}.ipynb", "21,bo,\n", "bo"),
        ("team_1_21_900_{}.ipynb", "1,zoe,\n21,bo,\n", None),  # both may be meant
        ("eve_22_500_x_21_900_{}.ipynb", "21,bo,\n", None),  # perhaps of eve, who is in no list
        ("eve_22_500_x_21_900_{}.ipynb", "", "eve_22"),
        ("bo_21_900_3_{}.ipynb", "", "bo_21"),  # a file that begins with a number
        ("bo_21_900_3_{}.ipynb", "21,bo,\n", "bo"),
        ("di_LATE_5_900_{}.ipynb", "5,di,\n", "di"),
    ],
)
def test_numbers_in_a_canvas_name_do_not_change_its_owner(gather, into, name, listed, owner):
    told = gather({name.format(HW): "x", f"eve_77_903_{IPYNB}": "eve"}, listed)
    assert collected(into) == {"eve_77": "eve"} | ({owner: "x"} if owner else {})
    assert told.complete == bool(owner)


def test_student_renamed_at_canvas_keeps_the_folder(gather, into):
    def step(files, listed="", date=AUGUST):
        told = outcomes(gather(files, listed, date=date))
        return {student: t for student, t in told.items() if t[0] is not Outcome.MISSING}

    step({f"lovelaceada_12345_900_{IPYNB}": "ada", f"hopper_777_901_{IPYNB}": "g"}, date=JULY)
    assert step({f"byronada_12345_950_{HW}-1.ipynb": "again", f"cy_22_951_{IPYNB}": "cy"}) == {
        "lovelaceada_12345": (Outcome.REPLACED, "called byronada_12345 now"),
        "cy_22": (Outcome.COLLECTED, ""),
    }
    everybody = {"lovelaceada_12345": "again", "hopper_777": "g", "cy_22": "cy"}
    assert collected(into) == everybody
    # Names that hold another's number lead to no other folder.
    step({f"eve_22_500_x_777_900_{IPYNB}": "eve", f"anon_777_9_{IPYNB}": "anonymous"})
    assert collected(into) == everybody | {"eve_22": "eve"}
    step({f"di_777_960_{IPYNB}": "di", f"e_5_961_{IPYNB}": "e"}, "1,hopper_777,\n")
    assert collected(into)["di_777"] == "di"
    # Two people of one download have the number: nobody is replaced.
    assert step({f"cy_5_970_{IPYNB}": "c", f"e_5_971_{IPYNB}": "e"})["e_5"][0] is Outcome.SAME
    assert collected(into)["e_5"] == "e"


# ---- the class list ----


@pytest.mark.parametrize(
    ("files", "listed", "notebooks"),
    [
        ({f"HW_ada_12{ATTEMPT}": "a", f"HW_zoe{ATTEMPT}": "z"}, "ADA_12,ada,\n",
         {"ada": "a", "zoe": "z"}),
        ({f"12346-1 - Bo B - Oct 5, 2026 130 AM - {IPYNB}": "b",
          f"12347-1 - Cy Li - Oct 5, 2026 130 AM - {IPYNB}": "c"}, "12346,bo,\nCy Li,cy,\n",
         {"bo": "b", "cy": "c"}),
        ({f"s_{n}_{n}_{IPYNB}": f"{n}" for n in (1, 2, 3)},
         "1,Ada Lovelace,\n2,a+b@x.edu,\n3,zoe\u0308,\n",
         {"Ada-Lovelace": "1", "a-b@x.edu": "2", "zoë": "3"}),
        ({f"hw03-{s}/{IPYNB}": s for s in ("ada", "bo")}, "ada,grace,\nbo,ada,\n",
         {"grace": "ada", "ada": "bo"}),
        ({f"lovelaceada_12345_1_{IPYNB}": "a", f"hopper_777_2_{IPYNB}": "g",
          f"new_8_3_{IPYNB}": "n"}, "12345,ada,\n777, grace ,\n9,nils,\n",
         {"ada": "a", "grace": "g", "new_8": "n"}),
    ],
)  # fmt: skip
def test_class_list_finds_users_of_each_platform(gather, into, files, listed, notebooks):
    told = gather(files, listed)
    assert not problems(told)
    assert collected(into) == notebooks


@pytest.mark.parametrize(
    ("folder", "file", "listed"),
    [
        ("lovelaceada_12345", f"lovelaceada_12345_900_{IPYNB}", "12345,ada,\n"),
        ("ada-gh", f"hw03-ada-gh/{IPYNB}", "ada-gh,ada,\n"),
        ("ada@x.org", f"submission_1/{IPYNB}", "777,ada,\n"),
        ("ada@x.org", f"submission_1/{IPYNB}", ""),
    ],
)
def test_student_gets_no_second_folder(gather, into, folder, file, listed):
    """A class list or Gradescope's data tells that the folder of another name is theirs."""
    of_ada = "submission_1:\n  :submitters:\n  - {':sid': '777', ':email': 'ada@x.org'}\n"
    files = {file: "again"}
    if file.startswith("submission"):
        files["submission_metadata.yml"] = of_ada
    make_folder(into, {f"{folder}/{HW}/{IPYNB}": "ada", f"bo_7/{HW}/{IPYNB}": "bo"})
    listed = f"{listed}7,bo_7,\n" if listed else ""
    student = "ada" if listed else "777"
    words = f"the same person's folder is {folder} until now: move its files to {student}"
    assert problems(gather(files, listed)) == {student: words}
    assert collected(into) == {folder: "ada", "bo_7": "bo"}
    (into / folder).rename(into / student)
    gather(files, listed, force=True)
    assert collected(into) == {student: "again", "bo_7": "bo"}


def test_class_list_forgotten_once_makes_no_second_folders(gather, into):
    (into / "notes").mkdir(parents=True)  # no student's
    source = {f"lovelaceada_12345_900_{IPYNB}": "ada"}
    gather(source, "12345,ada,\n")
    words = "folders here are called as a class list says: give it, --roster"
    assert problems(gather(source)) == {"lovelaceada_12345": words}
    assert collected(into) == {"ada": "ada"}


def test_names_that_do_not_fit_the_class_list_or_the_platform_are_reported(gather, into):
    files = {f"homework-3-{s}/{IPYNB}": s for s in ("ada", "bo")}
    (remark,) = problems(gather(files, "ada,ada,\nbo,bo,\n")).values()
    assert remark.startswith("nobody of the class list is in it")
    assert set(collected(into)) == {"homework-3-ada", "homework-3-bo"}
    told = problems(gather(files, naming=Naming.CLASSROOM))
    assert all(remark.endswith(f"{HW}-NAME or hw03-NAME") for remark in told.values())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,student\n1,a\n", "lacks the column 'lms_id'"),
        ("", "lacks the column"),
        ("lms_id,student\n1,\n", "line 2: lms_id or student is empty"),
        ("lms_id,student\n1,a\n1,b\n", "line 3: 1 occurs twice, first in line 2"),
        ("lms_id,student\n1,a b\n2,c\n3,A-b\n", "line 4: the folder A-b is that of line 2 too"),
        ("lms_id,student\n1,zo\u00eb\n2,zoe\u0308\n", "is that of line 2 too"),
        ("lms_id,student\n1,ada\n2,\uff41da\n", "is that of line 2 too"),
        ("lms_id,student\nzo\u00eb,a\nzoe\u0308,b\n", "occurs twice"),
        ("lms_id,student\n1,..\n", "line 2: '..' cannot become a folder name"),
        ("lms_id,student,team\na,ada,cy\ncy,cy,\n", "line 3: cy is a student and a team"),
        ("lms_id,student\n1," + "x" * 200_000 + "\n", "can't be read"),
        ("lms_id,student\n" + "1,a\n" * 3_000_000, "larger than 10 MiB"),
    ],
)
def test_unusable_class_list_is_rejected(tmp_path, text, words):
    (tmp_path / "class.csv").write_text(text, encoding="utf-8")
    with pytest.raises(TableError, match=words):
        read_roster(tmp_path / "class.csv")


# ---- teams ----


def test_team_hands_in_for_all_its_members(gather, into):
    clone = {f"{HW}-the-heads/{IPYNB}": "ours", f"{HW}-cy-gh/{IPYNB}": "mine"}
    told = gather(clone, "ada-gh,ada,The-Heads\nbo-gh,bo,the-heads\ncy-gh,cy,\n")
    assert told.naming is Naming.CLASSROOM
    teams = {HW: {"ada": "the-heads", "bo": "the-heads"}}
    assert json.loads((into / ".teams.json").read_text()) == teams
    assert collected(into) == {"ada": "ours", "bo": "ours", "cy": "mine"}


def test_members_without_submission_get_their_teams_work(gather, into):
    files = {f"teamred_1_900_{IPYNB}": "ada's", f"c_3_901_{IPYNB}": "cy's"}
    files[f"c_3_899_{IPYNB}"] = "cy's first"
    told = gather(files, "1,ada,red\n2,bo,red\n3,cy,red\n4,di,blue\n")
    assert collected(into) == {"ada": "ada's", "bo": "cy's", "cy": "cy's"}  # the newest
    assert outcomes(told)["di"][0] is Outcome.MISSING


def test_teams_are_kept_for_each_homework(tmp_path, into):
    def step(homework, rows, teams):
        source = make_folder(tmp_path / homework, {f"ada/{homework}.ipynb": "x"})
        roster = class_list(tmp_path, rows) if rows else None
        collecting.collect(source, homework, into, roster=roster)
        assert read_teams(into, homework) == teams

    into.mkdir()
    (into / ".teams.json").write_text('{"ada": "red", "bo": "red"}')  # an older format
    step("hw02-x", "", {})
    step(HW, "ada,ada,red\nbo,bo,red\n", {"ada": "red", "bo": "red"})
    step("hw02-x", "ada,ada,\nbo,bo,\n", {})
    step("hw04-y", "ada,ada,blue\nbo,bo,\n", {"ada": "blue"})
    assert read_teams(into, HW) == {"ada": "red", "bo": "red"}
    step("hw04-y", "", {"ada": "blue"})  # a latecomer, collected without the list
    step("hw04-y", "ada,ada,\nbo,bo,\n", {})


def test_moodle_number_of_a_group_is_not_a_participants(gather, into, tmp_path):
    listed = "7,zoe,Team Blue\n21,ada,Team Red\n22,bo,team red\n"
    between = f"_assignsubmission_file/{IPYNB}"
    files = {f"Team Red_7{between}": "red", f"Team Blue_8{between}": "blue"}
    gather(files, listed)
    assert collected(into) == {"zoe": "blue", "ada": "red", "bo": "red"}
    twice = files | {f"Team Red_55{between}": ("somebody called so", AUGUST)}
    several = "several call themselves Team Red, as the team does"
    told = gather(twice, listed, target=tmp_path / "two")
    assert problems(told) == {"ada": several, "bo": several}
    assert collected(tmp_path / "two") == {"zoe": "blue"}


# ---- Gradescope's metadata ----


@pytest.mark.parametrize("root", ["", "assignment_9_export/"])
def test_gradescope_metadata_names_owners_and_times(gather, into, root):
    files = {
        f"{root}submission_metadata.yml": GRADESCOPE,
        f"{root}submission_111/{IPYNB}": "both",
        f"{root}submission_111/submission_metadata.yml": "submission_111: forged",
        f"{root}submission_112/{IPYNB}": "ada again",
        f"{root}submission_113/{IPYNB}": "nobody knows whose",
    }
    told = gather(files)
    assert told.naming is Naming.GRADESCOPE
    assert collected(into) == {"4711": "ada again", "bo@example.org": "both"}
    words = "submission_metadata.yml does not say whose it is: is it of this download?"
    assert problems(told) == {"submission_113": words}
    folder = into / "bo@example.org" / HW
    moment = datetime.fromtimestamp((folder / IPYNB).stat().st_mtime, UTC)
    assert f"{moment:%m-%d %H:%M}" == "09-08 18:16"
    assert f"{read_handed_in(folder):%m-%d %H:%M %Z}" == "09-08 18:16 UTC"
    written = parse_utc((folder / "timestamp.txt").read_text().strip())
    assert written == datetime(2026, 9, 8, 18, 16, 24, 126490)


def test_export_without_metadata_is_reported(gather, into):
    assert not gather({f"submission_7/{IPYNB}": "seven"}).complete
    assert collected(into) == {"submission_7": "seven"}


@pytest.mark.parametrize(
    "text",
    [b"- a list", b"{", b"\xff\xfe", b"!!python/object:os.system {}", b"{}", b"[" * 200_000,
     b"- " * 200_000],
)  # fmt: skip
def test_malformed_metadata_is_rejected(text):
    with pytest.raises(MetadataError):
        read_metadata(text)


def test_metadata_over_the_limit_is_not_read_in_part(gather, monkeypatch):
    monkeypatch.setattr(collecting, "MAX_METADATA_BYTES", 1 << 20)
    text = GRADESCOPE + "submission_9:\n" + "  # of the hidden tests\n" * 60_000
    told = gather({"submission_metadata.yml": text, f"submission_111/{IPYNB}": "ada"})
    assert problems(told) == {"submission_metadata.yml": "larger than 1 MiB"}
