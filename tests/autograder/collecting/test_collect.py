"""Collecting: each platform's names, the newest attempt, and nothing that escapes or is lost."""

import json
import os
from datetime import UTC, datetime

import pytest
from nbgrader.utils import parse_utc
from typer.testing import CliRunner

from autograder.atomic_write import write_atomically
from autograder.class_run.submissions import is_marked_late, read_handed_in
from autograder.cli.app import app
from autograder.collecting import collect as collecting
from autograder.collecting import placing
from autograder.collecting.collect import Outcome, collect
from autograder.collecting.handed_in import SourceError
from autograder.collecting.lms_names import Naming
from autograder.collecting.owners import MetadataError, read_metadata
from autograder.collecting.roster import TableError, folder_name, read_roster
from autograder.teams import read_teams
from tests.autograder.collecting.downloads import (
    AUGUST,
    HW,
    JULY,
    class_list,
    collected,
    make_folder,
    make_zip,
    outcomes,
)

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


def test_canvas_without_names(tmp_path, into):
    """Its letters are a submission's, others in each assignment: nobody is called by them."""
    files = {
        f"anon_aB3dE_70001_{HW}.ipynb": "one",
        f"LATE_anon_Z9xYw_70002_{HW}.ipynb": "late",
        f"anon_12345_70003_{HW}.ipynb": "digits alone",
    }
    source = make_zip(tmp_path / "submissions.zip", files)
    collection = collect(source, HW, into)
    assert collection.naming is Naming.CANVAS
    assert collected(into) == {}
    assert {line.outcome for line in collection.lines} == {Outcome.PROBLEM}
    assert outcomes(collection)["anon_Z9xYw"][1] == (
        "names are hidden, and the letters of anon_Z9xYw are of this assignment alone: reveal the "
        "names in Canvas, and download again"
    )
    # 12345 is the number of a user; the digits of this submission's are another's
    listed = class_list(tmp_path, "aB3dE,ada,\n12345,bo,\n")
    collection = collect(source, HW, into, roster=listed)
    assert collected(into) == {"ada": "one"}
    assert outcomes(collection)["bo"][0] is Outcome.MISSING
    listed = class_list(tmp_path, "anon_12345,cy,\nanon_Z9xYw,di,\n")
    assert outcomes(collect(source, HW, tmp_path / "two", roster=listed))["di"][1] == "late"
    assert collected(tmp_path / "two") == {"cy": "digits alone", "di": "late"}


def test_a_team_hands_in_for_all_its_members(tmp_path, into):
    people = tmp_path / "class.csv"
    people.write_text("lms_id,student,team\nada-gh,ada,The-Heads\nbo-gh,bo,the-heads\ncy-gh,cy,\n")
    clone = {f"{HW}-the-heads/{HW}.ipynb": "ours", f"{HW}-cy-gh/{HW}.ipynb": "mine"}
    collection = collect(make_zip(tmp_path / "x.zip", clone), HW, into, roster=read_roster(people))
    assert collection.naming is Naming.CLASSROOM
    teams = into / ".teams.json"
    assert json.loads(teams.read_text()) == {HW: {"ada": "the-heads", "bo": "the-heads"}}
    teams.unlink()
    assert collected(into) == {"ada": "ours", "bo": "ours", "cy": "mine"}
    people.write_text("lms_id,student,team\nada-gh,ada,cy-gh\ncy-gh,cy,\n")
    with pytest.raises(TableError, match="line 3: cy-gh is a student and a team"):
        read_roster(people)


@pytest.mark.parametrize(
    "copy", ["{}-Copy1", "{} - Copy", "{} - Copy (2)", "Copy of {}", "{} copy", "{} (1)"]
)
def test_a_copy_by_its_usual_name_counts_as_an_attempt(tmp_path, into, copy):
    name, folder = f"{HW}.ipynb", f"{HW}-ada"
    other = f"{copy.format(HW)}.ipynb"
    later = {f"ada/{name}": ("blank", JULY), f"ada/{other}": ("work", AUGUST)}
    told = collect(make_zip(tmp_path / "f.zip", later), HW, into)
    assert outcomes(told)["ada"][1] == "the newest of 2 notebooks"
    assert collected(into) == {"ada": "work"}
    # A clone's times are those of cloning: is the copy the work, or what was kept before it?
    clone = {f"{folder}/{name}": ("blank", AUGUST), f"{folder}/{other}": ("work", JULY)}
    told = collect(make_zip(tmp_path / "c.zip", clone), HW, tmp_path / "clone")
    outcome, remark = outcomes(told)["ada"][:2]
    if copy == "{} (1)":
        assert remark == f"{other} of 2 notebooks, not {name}"
        assert collected(tmp_path / "clone") == {"ada": "work"}
    else:
        assert outcome is Outcome.PROBLEM
        assert remark.startswith("which one is the work?")


@pytest.mark.parametrize("copy", ["{}-Copy1", "Copy of {}", "{} - Copy"])
@pytest.mark.parametrize("work", ["{}", "{}-1"])
@pytest.mark.parametrize("first", ["work", "copy"])
def test_which_of_two_files_of_canvas_was_attached_first_says_nothing(
    tmp_path, into, copy, work, first
):
    names = [work.format(HW), copy.format(HW)]
    uploads = names if first == "work" else reversed(names)
    files = {f"ada_1_{900 + n}_{name}.ipynb": name for n, name in enumerate(uploads)}
    files[f"bo_2_903_{HW}.ipynb"] = "bo"
    told = collect(make_zip(tmp_path / "c.zip", files), HW, into)
    assert collected(into) == {"bo_2": "bo"}
    assert outcomes(told)["ada_1"][0] is Outcome.PROBLEM
    assert outcomes(told)["ada_1"][1].startswith("which one is the work?")


def test_a_newer_notebook_of_another_name_is_told(tmp_path, into):
    files = {f"{HW}.ipynb": JULY, f"{HW}-solved.ipynb": AUGUST, "hw04-x.ipynb": AUGUST}
    files |= {"Copy of hw04-x.ipynb": AUGUST, f"old/{HW}.ipynb": (2026, 6, 1, 12, 0, 0)}
    source = make_zip(tmp_path / "f.zip", {f"ada/{n}": (n, date) for n, date in files.items()})
    told = collect(source, HW, into)
    assert collected(into) == {"ada": f"{HW}.ipynb"}
    assert outcomes(told)["ada"][1] == (
        f"{HW}.ipynb of 3 notebooks, not {HW}-solved.ipynb; 2 other files stay where they are"
    )


def test_teams_are_of_one_homework(tmp_path, into):
    def step(homework, rows, teams):
        source = make_folder(tmp_path / homework, {f"ada/{homework}.ipynb": "x"})
        collect(source, homework, into, roster=class_list(tmp_path, rows) if rows else None)
        assert read_teams(into, homework) == teams

    into.mkdir()
    (into / ".teams.json").write_text('{"ada": "red", "bo": "red"}')  # as it was once written
    step("hw02-x", "", {})
    step(HW, "ada,ada,red\nbo,bo,red\n", {"ada": "red", "bo": "red"})
    step("hw02-x", "ada,ada,\nbo,bo,\n", {})
    step("hw04-y", "ada,ada,blue\nbo,bo,\n", {"ada": "blue"})
    assert read_teams(into, HW) == {"ada": "red", "bo": "red"}
    step("hw04-y", "", {"ada": "blue"})  # who comes late, without the list
    step("hw04-y", "ada,ada,\nbo,bo,\n", {})


def test_a_group_of_moodles_is_no_participant_of_its_number(tmp_path, into):
    roster = class_list(tmp_path, "7,zoe,Team Blue\n21,ada,Team Red\n22,bo,team red\n")
    between = f"_assignsubmission_file/{HW}.ipynb"
    files = {f"Team Red_7{between}": "red", f"Team Blue_8{between}": "blue"}
    collect(make_zip(tmp_path / "m.zip", files), HW, into, roster=roster)
    (into / ".teams.json").unlink()
    assert collected(into) == {"zoe": "blue", "ada": "red", "bo": "red"}
    twice = files | {f"Team Red_55{between}": ("somebody called so", AUGUST)}
    told = collect(make_zip(tmp_path / "n.zip", twice), HW, tmp_path / "two", roster=roster)
    problems = [x for x in told.lines if x.outcome is Outcome.PROBLEM]
    assert [x.student for x in problems] == ["ada", "bo"] * 2
    assert {x.remark for x in problems} == {"several call themselves Team Red, as the team does"}
    (tmp_path / "two" / ".teams.json").unlink()
    assert collected(tmp_path / "two") == {"zoe": "blue"}


def test_what_one_of_a_team_hands_in_is_the_others_who_handed_in_nothing(tmp_path, into):
    roster = class_list(tmp_path, "1,ada,red\n2,bo,red\n3,cy,red\n4,di,blue\n")
    files = {f"teamred_1_900_{HW}.ipynb": "ada's", f"c_3_901_{HW}.ipynb": "cy's"}
    files[f"c_3_899_{HW}.ipynb"] = "cy's first"
    told = collect(make_zip(tmp_path / "c.zip", files), HW, into, roster=roster)
    (into / ".teams.json").unlink()
    assert collected(into) == {"ada": "ada's", "bo": "cy's", "cy": "cy's"}  # the newest
    assert outcomes(told)["di"][0] is Outcome.MISSING


@pytest.mark.parametrize(
    ("name", "listed", "owner"),
    [
        ("ada_l_22_901_{}.ipynb", "", "ada_l_22"),
        ("ada_l_22_901_{}.ipynb", "22,ada,\n", "ada"),
        ("team_1_21_900_{}.ipynb", "21,bo,\n", "bo"),
        ("team_1_21_900_{}.ipynb", "1,zoe,\n21,bo,\n", None),  # both may be meant
        ("eve_22_500_x_21_900_{}.ipynb", "21,bo,\n", None),  # perhaps eve's, who is not listed
        ("eve_22_500_x_21_900_{}.ipynb", "", "eve_22"),
        ("bo_21_900_3_{}.ipynb", "", "bo_21"),  # a file that begins with a number
        ("bo_21_900_3_{}.ipynb", "21,bo,\n", "bo"),
        ("di_LATE_5_900_{}.ipynb", "5,di,\n", "di"),
    ],
)
def test_numbers_in_a_name_of_canvas_make_nobody_another(tmp_path, into, name, listed, owner):
    roster = class_list(tmp_path, listed) if listed else None
    files = {name.format(HW): "x", f"eve_77_903_{HW}.ipynb": "eve"}
    told = collect(make_zip(tmp_path / "c.zip", files), HW, into, roster=roster)
    assert collected(into) == {"eve_77": "eve"} | ({owner: "x"} if owner else {})
    assert told.complete == bool(owner)


def test_who_is_called_otherwise_at_canvas_is_still_the_same(tmp_path, into):
    def step(files, moment=AUGUST, roster=None):
        told = collect(make_zip(tmp_path / "c.zip", files, moment), HW, into, roster=roster)
        return {s: t for s, t in outcomes(told).items() if t[0] is not Outcome.MISSING}

    step({f"lovelaceada_12345_900_{HW}.ipynb": "ada", f"hopper_777_901_{HW}.ipynb": "g"}, JULY)
    assert step({f"byronada_12345_950_{HW}-1.ipynb": "again", f"cy_22_951_{HW}.ipynb": "cy"}) == {
        "lovelaceada_12345": (Outcome.REPLACED, "called byronada_12345 now"),
        "cy_22": (Outcome.COLLECTED, ""),
    }
    everybody = {"lovelaceada_12345": "again", "hopper_777": "g", "cy_22": "cy"}
    assert collected(into) == everybody
    # Names that hold another's number make nobody another.
    step({f"eve_22_500_x_777_900_{HW}.ipynb": "eve", f"anon_777_9_{HW}.ipynb": "anonymous"})
    assert collected(into) == everybody | {"eve_22": "eve"}
    listed = class_list(tmp_path, "1,hopper_777,\n")
    step({f"di_777_960_{HW}.ipynb": "di", f"e_5_961_{HW}.ipynb": "e"}, roster=listed)
    assert collected(into)["di_777"] == "di"
    # In one download both have it: nobody is replaced.
    both = {f"cy_5_970_{HW}.ipynb": "c", f"e_5_971_{HW}.ipynb": "e"}
    assert step(both)["e_5"][0] is Outcome.SAME
    assert collected(into)["e_5"] == "e"


@pytest.mark.parametrize(
    ("folder", "file", "listed"),
    [
        ("lovelaceada_12345", f"lovelaceada_12345_900_{HW}.ipynb", "12345,ada,\n"),
        ("ada-gh", f"hw03-ada-gh/{HW}.ipynb", "ada-gh,ada,\n"),
        ("ada@x.org", f"submission_1/{HW}.ipynb", "777,ada,\n"),
        ("ada@x.org", f"submission_1/{HW}.ipynb", ""),
    ],
)
def test_nobody_gets_a_second_folder_by_what_is_known_later(tmp_path, into, folder, file, listed):
    """By a class list, or by a number that Gradescope did not know before."""
    of_ada = "submission_1:\n  :submitters:\n  - {':sid': '777', ':email': 'ada@x.org'}\n"
    files = {file: "again"} | ({"submission_metadata.yml": of_ada} if "/" in file else {})
    make_folder(into, {f"{folder}/{HW}/{HW}.ipynb": "ada", f"bo_7/{HW}/{HW}.ipynb": "bo"})
    people = class_list(tmp_path, f"{listed}7,bo_7,\n") if listed else None
    source = make_zip(tmp_path / "s.zip", files)
    told = collect(source, HW, into, roster=people)
    student = "ada" if listed else "777"
    assert outcomes(told)[student] == (
        Outcome.PROBLEM,
        f"the same person's folder is {folder} until now: move what is in it to {student}",
    )
    assert collected(into) == {folder: "ada", "bo_7": "bo"}
    (into / folder).rename(into / student)
    collect(source, HW, into, roster=people, force=True)
    assert collected(into) == {student: "again", "bo_7": "bo"}


def test_another_one_of_the_list_may_be_called_as_somebody_is_at_github(tmp_path, into):
    people = class_list(tmp_path, "ada,grace,\nbo,ada,\n")
    source = make_folder(tmp_path / "in", {f"hw03-{s}/{HW}.ipynb": s for s in ("ada", "bo")})
    for _ in range(2):
        assert collect(source, HW, into, roster=people).complete
        (into / "grace" / HW / f"{HW}.ipynb").unlink()
        (into / "grace" / HW).rmdir()


def test_a_folder_without_homework_is_no_students(tmp_path, into):
    (into / "notes").mkdir(parents=True)
    source = make_zip(tmp_path / "c.zip", {f"lovelaceada_12345_900_{HW}.ipynb": "ada"})
    assert collect(source, HW, into).complete


def test_a_class_list_that_is_forgotten_once_makes_no_second_folders(tmp_path, into):
    source = make_zip(tmp_path / "c.zip", {f"lovelaceada_12345_900_{HW}.ipynb": "ada"})
    collect(source, HW, into, roster=class_list(tmp_path, "12345,ada,\n"))
    assert outcomes(collect(source, HW, into))["lovelaceada_12345"] == (
        Outcome.PROBLEM,
        "folders here are called as a class list says: give it, --roster",
    )
    assert collected(into) == {"ada": "ada"}


def test_canvas(tmp_path, into):
    files = {
        f"lovelaceada_12345_67890_{HW}.ipynb": "first",
        f"lovelaceada_12345_70001_{HW}-1.ipynb": "second",
        f"hopper_LATE_777_70002_{HW}-2.ipynb": "late",
        "hopper_LATE_777_70003_notes.pdf": "%PDF",
        "noether_42_70004_photo.jpg": "jpg",
    }
    collection = collect(make_zip(tmp_path / "submissions.zip", files), HW, into)
    assert collection.naming is Naming.CANVAS
    assert collected(into) == {"lovelaceada_12345": "second", "hopper_777": "late"}
    told = outcomes(collection)
    last = f"{HW}-1.ipynb of 2 notebooks, not {HW}.ipynb"
    assert told["lovelaceada_12345"] == (Outcome.COLLECTED, last)
    assert told["hopper_777"][1] == "1 other files stay where they are; late"
    # Canvas's zip bears the time when it was made: it makes nobody late, and nobody in time
    assert not list(into.rglob("timestamp.txt"))
    assert [path.parts[-3] for path in into.rglob("late.txt")] == ["hopper_777"]
    assert is_marked_late(into / "hopper_777" / HW)
    in_time = make_zip(tmp_path / "in-time.zip", {f"hopper_777_70003_{HW}-3.ipynb": "x"})
    collect(in_time, HW, into, force=True)
    assert not is_marked_late(into / "hopper_777" / HW)
    assert told["noether_42"] == (Outcome.PROBLEM, "no notebook of this homework, only photo.jpg")
    assert not collection.complete


@pytest.mark.parametrize("flat", [False, True])
def test_moodle(tmp_path, into, flat):
    between = "" if flat else "/"
    folder = "Zoë de la Cruz_123456_assignsubmission_file_"
    files = {f"{folder}{between}{HW}.ipynb": "zoë"}
    if not flat:
        files["Bo ONeil_123457_assignsubmission_onlinetext_/onlinetext.html"] = "<p>see mail</p>"
    collection = collect(make_zip(tmp_path / "moodle.zip", files), HW, into)
    assert collection.naming is Naming.MOODLE
    assert collected(into) == {"Zoë-de-la-Cruz": "zoë"}
    if not flat:
        expected = (Outcome.PROBLEM, "no notebook of this homework, only onlinetext.html")
        assert outcomes(collection)["Bo-ONeil"] == expected


@pytest.mark.parametrize("root", ["", "assignment_9_export/"])
def test_gradescope(tmp_path, into, root):
    files = {
        f"{root}submission_metadata.yml": GRADESCOPE,
        f"{root}submission_111/{HW}.ipynb": "both",
        f"{root}submission_111/submission_metadata.yml": "submission_111: forged",
        f"{root}submission_112/{HW}.ipynb": "ada again",
        f"{root}submission_113/{HW}.ipynb": "nobody knows whose",
    }
    collection = collect(make_zip(tmp_path / "export.zip", files), HW, into)
    assert collection.naming is Naming.GRADESCOPE
    assert collected(into) == {"4711": "ada again", "bo@example.org": "both"}
    outcome, remark = outcomes(collection)["submission_113"]
    assert outcome is Outcome.PROBLEM
    assert remark == "submission_metadata.yml does not say whose it is: is it of this download?"
    folder = into / "bo@example.org" / HW
    moment = datetime.fromtimestamp((folder / f"{HW}.ipynb").stat().st_mtime, UTC)
    assert f"{moment:%m-%d %H:%M}" == "09-08 18:16"
    assert f"{read_handed_in(folder):%m-%d %H:%M %Z}" == "09-08 18:16 UTC"
    assert parse_utc((folder / "timestamp.txt").read_text().strip()) == datetime(
        2026, 9, 8, 18, 16, 24, 126490
    )


@pytest.mark.parametrize(
    "text",
    [
        b"- a list",
        b"{",
        b"\xff\xfe",
        b"!!python/object:os.system {}",
        b"{}",
        b"[" * 200_000,
        b"- " * 200_000,
    ],
)
def test_metadata_that_is_none_is_refused(text):
    with pytest.raises(MetadataError):
        read_metadata(text)


def test_metadata_that_is_too_large_is_not_read_in_part(tmp_path, into, monkeypatch):
    monkeypatch.setattr(collecting, "MAX_METADATA_BYTES", 1 << 20)
    text = GRADESCOPE + "submission_9:\n" + "  # what was found\n" * 60_000
    files = {"submission_metadata.yml": text, f"submission_111/{HW}.ipynb": "ada"}
    told = collect(make_zip(tmp_path / "export.zip", files), HW, into)
    (problem,) = [line for line in told.lines if line.outcome is Outcome.PROBLEM]
    assert (problem.source, problem.remark) == ("submission_metadata.yml", "larger than 1 MiB")


def test_metadata_of_a_large_class_is_read_whole(tmp_path, into):
    of_one = "submission_{0}:\n  :submitters:\n  - :sid: '{0}'\n  :results:\n    output: {1}\n"
    text = "".join(of_one.format(number, "x" * (1 << 20)) for number in range(22))
    files = {"submission_metadata.yml": text}
    files |= {f"submission_{number}/{HW}.ipynb": "x" for number in range(22)}
    told = collect(make_zip(tmp_path / "export.zip", files), HW, into)
    assert set(collected(into)) == {str(number) for number in range(22)}
    assert told.complete


def test_an_export_without_metadata_is_told(tmp_path, into):
    source = make_folder(tmp_path / "export", {f"submission_7/{HW}.ipynb": "seven"})
    collection = collect(source, HW, into)
    assert collected(into) == {"submission_7": "seven"}
    assert not collection.complete


def test_github_classroom(tmp_path, into):
    source = make_folder(
        tmp_path / f"{HW}-submissions",
        {
            f"{HW}-octocat/{HW}.ipynb": "cat",
            f"{HW}-octocat/README.md": "text",
            f"{HW}-octocat/.git/config": "[core]",
            f"{HW}-octocat/.ipynb_checkpoints/{HW}-checkpoint.ipynb": "old",
            f"{HW}-ada-l/work/{HW}.ipynb": "ada",
            f"{HW}-ada-l/hw02-decoding.ipynb": "another homework",
        },
    )
    collection = collect(source, HW, into)
    assert collection.naming is Naming.CLASSROOM
    assert collected(into) == {"octocat": "cat", "ada-l": "ada"}


def test_github_classrooms_folder_of_all_is_nobodys(tmp_path, into):
    files = {f"{HW}-submissions/{HW}-{user}/{HW}.ipynb": user for user in ("octocat", "ada-l")}
    collection = collect(make_zip(tmp_path / "clones.zip", files), HW, into)
    assert collection.naming is Naming.CLASSROOM
    assert collected(into) == {"octocat": "octocat", "ada-l": "ada-l"}


@pytest.mark.parametrize("made", [make_folder, make_zip])
@pytest.mark.parametrize("named", ["hw03-{}", "homework-3-{}", "{}"])
def test_a_clone_tells_no_time_whatever_it_is_called(tmp_path, into, made, named):
    files = {f"{named.format(s)}/{HW}.ipynb": s for s in ("ada", "bo")}
    files |= {f"{named.format('ada')}/drafts/{HW}-Copy1.ipynb": "kept from before"}
    clones = files | {f"{named.format(s)}/.git/HEAD": "ref" for s in ("ada", "bo")}
    told = collect(made(tmp_path / "clones", clones), HW, into)
    called = "{}" if named == "hw03-{}" else named
    assert collected(into) == {called.format("bo"): "bo"}
    assert outcomes(told)[called.format("ada")][1].startswith("which one is the work?")
    assert not list(into.rglob("timestamp.txt"))
    words = "a clone, which does not say when it was handed in"
    assert (outcomes(told)[called.format("bo")][1] == words) == (called == named)
    collect(made(tmp_path / "folders", files), HW, tmp_path / "timed", naming=Naming.FOLDER)
    assert (tmp_path / "timed" / named.format("bo") / HW / "timestamp.txt").exists()


def test_what_is_cloned_again_takes_the_place_of_what_was_cloned_before(tmp_path, into):
    source = make_folder(tmp_path / "in", {f"ada/{HW}.ipynb": "first", "ada/.git": "gitdir: x"})
    collect(source, HW, into)
    (source / "ada" / f"{HW}.ipynb").write_text("second")
    later = (into / "ada" / HW / f"{HW}.ipynb").stat().st_mtime + 60
    os.utime(source / "ada" / f"{HW}.ipynb", (later, later))
    assert outcomes(collect(source, HW, into))["ada"][0] is Outcome.REPLACED
    assert collected(into) == {"ada": "second"}


def test_classrooms_names_are_told_where_they_are_others(tmp_path, into):
    source = make_folder(tmp_path / "in", {f"homework-3-ada/{HW}.ipynb": "ada"})
    told = collect(source, HW, into, naming=Naming.CLASSROOM)
    (line,) = told.lines
    assert line.remark.endswith(f"names what is handed in: {HW}-NAME or hw03-NAME")


def test_a_class_list_that_has_nobody_of_a_class_is_told(tmp_path, into):
    source = make_folder(tmp_path / "in", {f"homework-3-{s}/{HW}.ipynb": s for s in ("ada", "bo")})
    told = collect(source, HW, into, roster=class_list(tmp_path, "ada,ada,\nbo,bo,\n"))
    (problem,) = [line for line in told.lines if line.outcome is Outcome.PROBLEM]
    assert problem.remark.startswith("nobody of the class list is in it")
    assert set(collected(into)) == {"homework-3-ada", "homework-3-bo"}


@pytest.mark.parametrize("odd", [f"{HW}-eve/{HW}.ipynb", "eve_1_2_x.ipynb"])
def test_one_name_says_nothing_of_the_others(tmp_path, into, odd):
    files = {f"ada/{HW}.ipynb": "ada", "bo.ipynb": "bo", odd: "eve"}
    collection = collect(make_folder(tmp_path / "handed-in", files), HW, into)
    assert collection.naming is Naming.FOLDER
    assert sorted(collected(into).values()) == ["ada", "bo", "eve"]


def test_clones_of_other_homework_beside_it_are_no_students(tmp_path, into):
    files = {f"{hw}-ada/{hw}.ipynb": hw for hw in ("hw01-sequences", "hw02-decoding", HW)}
    collection = collect(make_folder(tmp_path / "clones", files), HW, into)
    assert collection.naming is Naming.CLASSROOM
    assert collected(into) == {"ada": HW}


def test_a_folder_for_each_student(tmp_path, into):
    source = make_folder(
        tmp_path / "handed-in",
        {
            f"ada/{HW}/{HW}.ipynb": "ada",
            "bo/anything.ipynb": "bo",
            f"cy/{HW}.ipynb": "cy",
            f"cy/{HW} (1).ipynb": "cy",
            "dee.ipynb": "dee",
            "eve/one.ipynb": "1",
            "eve/two.ipynb": "2",
            "fay/hw04-transformer.ipynb": "other",
            f"gil/{HW.replace('hw0', 'hw')}.ipynb": "gil",
        },
    )
    for name, when in ((f"cy/{HW}.ipynb", 100), (f"cy/{HW} (1).ipynb", 50)):
        os.utime(source / name, (when, when))
    (source / f"cy/{HW}.ipynb").write_text("cy newest")
    collection = collect(source, HW, into)
    assert collection.naming is Naming.FOLDER
    found = {"ada": "ada", "bo": "bo", "cy": "cy newest", "dee": "dee", "gil": "gil"}
    assert collected(into) == found
    told = outcomes(collection)
    assert told["eve"][1].startswith("several notebooks, none called")
    assert told["fay"][1] == "no notebook of this homework, only hw04-transformer.ipynb"


@pytest.mark.parametrize("around", ["hw03-class", f"{HW}-class"])
def test_a_folder_around_the_clones_is_no_clone(tmp_path, into, around):
    files = {f"{around}/hw03-{name}/{HW}.ipynb": name for name in ("ada", "bo")}
    told = collect(make_zip(tmp_path / "c.zip", {**files, f"{around}/README": ""}), HW, into)
    assert told.naming is Naming.CLASSROOM
    assert collected(into) == {"ada": "ada", "bo": "bo"}


@pytest.mark.parametrize("around", ["class", "class/of 2026", HW, "hw03-class", f"{HW}-class"])
def test_a_folder_around_the_class_is_no_student(tmp_path, into, around):
    files = {f"{around}/{name}/{HW}.ipynb": name for name in ("ada", "bo", "cy")}
    files[f"{around}/dee/{HW}/{HW}.ipynb"] = "dee"
    collection = collect(make_zip(tmp_path / "class.zip", files), HW, into)
    assert collected(into) == {name: name for name in ("ada", "bo", "cy", "dee")}
    assert collection.complete


@pytest.mark.parametrize("odd", [f"{HW}/{HW}.ipynb", f"{HW}-eve.ipynb"])
def test_one_name_says_nothing_of_the_class_in_a_folder(tmp_path, into, odd):
    files = {f"class/{name}/{HW}.ipynb": name for name in ("ada", "bo", "cy")}
    collect(make_zip(tmp_path / "class.zip", {**files, f"class/{odd}": "eve"}), HW, into)
    assert sorted(collected(into).values()) == ["ada", "bo", "cy", "eve"]


def test_a_single_students_folders_are_no_students(tmp_path, into):
    files = {f"ada/{HW}/{HW}.ipynb": "mine", f"ada/old/{HW}.ipynb": ("old", (2026, 1, 1, 1, 1, 1))}
    collect(make_zip(tmp_path / "class.zip", files), HW, into)
    assert collected(into) == {"ada": "mine"}


def test_of_two_notebooks_alike_the_one_less_deep_counts(tmp_path, into):
    files = {
        f"ada/old/copy/{HW}.ipynb": "deep",
        f"ada/{HW}.ipynb": "here",
        f"ada/b/{HW}.ipynb": "b",
    }
    source = make_folder(tmp_path / "handed-in", files)
    for name in files:
        os.utime(source / name, (100, 100))
    collect(source, HW, into)
    assert collected(into) == {"ada": "here"}


def test_a_notebook_may_be_named_in_capitals(tmp_path, into):
    files = {f"ada/{HW.upper()}.ipynb": "mine", "ada/notes.ipynb": "notes"}
    collect(make_folder(tmp_path / "handed-in", files), HW, into)
    assert collected(into) == {"ada": "mine"}


def test_the_class_list_names_students_and_who_is_missing(tmp_path, into):
    roster = tmp_path / "class.csv"
    roster.write_text("\ufefflms_id,student,name\n12345,ada,Ada L.\n777, grace ,\n9,nils,\n")
    files = {
        f"lovelaceada_12345_1_{HW}.ipynb": "a",
        f"hopper_777_2_{HW}.ipynb": "g",
        f"new_8_3_{HW}.ipynb": "n",
    }
    collection = collect(make_zip(tmp_path / "s.zip", files), HW, into, roster=read_roster(roster))
    assert collected(into) == {"ada": "a", "grace": "g", "new_8": "n"}
    assert outcomes(collection)["nils"][0] is Outcome.MISSING


def test_the_class_list_calls_students_what_their_folders_are_called(tmp_path, into):
    listed = {"1": "Ada Lovelace", "2": "a+b@x.edu", "3": "zoe\u0308"}
    rows = "".join(f"{lms_id},{student}\n" for lms_id, student in listed.items())
    (tmp_path / "class.csv").write_text(f"lms_id,student\n{rows}", encoding="utf-8")
    roster = read_roster(tmp_path / "class.csv")
    files = {f"s_{lms_id}_{lms_id}_{HW}.ipynb": "x" for lms_id in listed}
    collection = collect(make_zip(tmp_path / "s.zip", files), HW, into, roster=roster)
    assert [line.outcome for line in collection.lines] == [Outcome.COLLECTED] * 3
    found = {student: roster.of(student) for student in collected(into)}
    assert {student: person and person.lms_id for student, person in found.items()} == {
        "Ada-Lovelace": "1", "a-b@x.edu": "2", "zoë": "3",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,student\n1,a\n", "lacks the column 'lms_id'"),
        ("lms_id,student\n1,\n", "line 2: lms_id or student is empty"),
        ("lms_id,student\n1,a\n1,b\n", "line 3: 1 occurs twice, first in line 2"),
        ("lms_id,student\n1,a b\n2,c\n3,A-b\n", "line 4: the folder A-b is that of line 2 too"),
        ("lms_id,student\n1,..\n", "line 2: '..' cannot become a folder name"),
        ("", "lacks the column"),
    ],
)
def test_a_class_list_that_cannot_be_used_is_refused(tmp_path, text, words):
    (tmp_path / "class.csv").write_text(text)
    with pytest.raises(TableError, match=words):
        read_roster(tmp_path / "class.csv")


def test_a_newer_notebook_is_never_overwritten_without_being_told(tmp_path, into):
    old = make_zip(tmp_path / "old.zip", {f"a_1_1_{HW}.ipynb": "old"}, JULY)
    new = make_zip(tmp_path / "new.zip", {f"a_1_2_{HW}.ipynb": "new"}, AUGUST)
    timeless = make_zip(tmp_path / "0.zip", {f"a_1_2_{HW}.ipynb": "when?"}, (1980, 1, 1, 0, 0, 0))

    def step(source, **options):
        (line,) = collect(source, HW, into, **options).lines
        return line.outcome, collected(into)["a_1"]

    assert step(old) == (Outcome.COLLECTED, "old")
    assert step(old) == (Outcome.SAME, "old")
    assert step(new) == (Outcome.REPLACED, "new")
    assert step(old) == (Outcome.KEPT, "new")
    assert step(timeless) == (Outcome.KEPT, "new")
    assert step(old, force=True) == (Outcome.REPLACED, "old")


@pytest.mark.parametrize("kind", ["pipe", "link", "sparse"])
def test_what_is_no_notebook_in_the_class_is_replaced_and_nobody_waits(tmp_path, into, kind):
    there = into / "a_1" / HW / f"{HW}.ipynb"
    there.parent.mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("another's")
    if kind == "pipe":
        os.mkfifo(there)
    elif kind == "link":
        there.symlink_to(elsewhere)
    else:
        with there.open("wb") as file:
            file.truncate(1 << 50)
        os.utime(there, (0, 0))
    class_ = {f"a_1_1_{HW}.ipynb": "ada", f"b_2_2_{HW}.ipynb": "bo"}
    lines = collect(make_zip(tmp_path / "class.zip", class_), HW, into).lines
    assert [line.outcome for line in lines] == [Outcome.REPLACED, Outcome.COLLECTED]
    assert collected(into) == {"a_1": "ada", "b_2": "bo"}
    assert elsewhere.read_text() == "another's"


@pytest.mark.parametrize("whose", ["a_1", f"a_1/{HW}"])
def test_a_link_in_the_class_leads_nobodys_notebook_elsewhere(tmp_path, into, whose):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (into / whose).parent.mkdir(parents=True)
    (into / whose).symlink_to(elsewhere)
    class_ = {f"a_1_1_{HW}.ipynb": "ada", f"b_2_2_{HW}.ipynb": "bo"}
    ada, bo = collect(make_zip(tmp_path / "class.zip", class_), HW, into, force=True).lines
    assert (ada.outcome, bo.outcome) == (Outcome.PROBLEM, Outcome.COLLECTED)
    assert "is a link" in ada.remark
    assert not list(elsewhere.iterdir())


def test_an_unchanged_notebook_was_handed_in_when_it_was_first_seen(tmp_path, into):
    def step(date, content="same", **options):
        source = make_zip(tmp_path / "class.zip", {f"ada/{HW}.ipynb": content}, date)
        collect(source, HW, into, zone=UTC, **options)
        moment = read_handed_in(into / "ada" / HW)
        return moment and (moment.month, moment.day)

    assert step(AUGUST) == (8, 1)
    assert step(JULY) == (7, 1)
    assert step(AUGUST) == (7, 1)
    assert step((1980, 1, 1, 0, 0, 0)) == (7, 1)  # a zip that knows no time
    assert step(AUGUST, force=True) == (8, 1)
    assert step((2026, 8, 2, 12, 0, 0), "changed") == (8, 2)
    (into / "ada" / HW / "timestamp.txt").write_text("no time")
    assert step(JULY, "changed") == (7, 1)


def test_an_unchanged_notebook_that_was_in_time_is_not_late_by_being_handed_in_again(
    tmp_path, into
):
    def step(name):
        collect(make_zip(tmp_path / "c.zip", {f"{name}_{HW}.ipynb": "same"}), HW, into)
        return is_marked_late(into / "ada_1" / HW)

    assert [step("ada_1_2"), step("ada_LATE_1_3")] == [False, False]
    (into / "ada_1" / HW / f"{HW}.ipynb").unlink()
    assert [step("ada_LATE_1_3"), step("ada_LATE_1_3"), step("ada_1_3")] == [True, True, False]


@pytest.mark.parametrize("name", ["ada/{}.ipynb", "ada_LATE_1_3_{}.ipynb"])
@pytest.mark.parametrize("writes", [0, 1])
def test_a_run_that_is_ended_leaves_no_new_notebook_with_an_old_time(
    tmp_path, into, monkeypatch, name, writes
):
    old = make_zip(tmp_path / "old.zip", {name.replace("_LATE", "").format(HW): "old"}, JULY)
    new = make_zip(tmp_path / "new.zip", {name.format(HW): "new"}, AUGUST)
    collect(old, HW, into, zone=UTC)
    left = writes

    def write(path, data):
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        write_atomically(path, data)

    with monkeypatch.context() as patched:
        patched.setattr(placing, "write_atomically", write)
        with pytest.raises(KeyboardInterrupt):
            collect(new, HW, into, zone=UTC)
    collect(new, HW, into, zone=UTC)
    ((student, text),) = collected(into).items()
    assert text == "new"
    moment = read_handed_in(into / student / HW)
    assert (moment and moment.month, is_marked_late(into / student / HW)) in [
        (8, False), (None, True),
    ]  # fmt: skip


@pytest.mark.parametrize("made", [make_folder, make_zip])
@pytest.mark.parametrize("root", ["", "out/"])
def test_what_grading_wrote_is_no_class(tmp_path, into, made, root):
    files = {
        f"{root}results/{HW}/ada.json": "{}",
        f"{root}nbgrader/autograded/ada/{HW}/{HW}.ipynb": "ada",
    }
    with pytest.raises(SourceError, match="is where grading wrote: give what was handed in"):
        collect(made(tmp_path / "graded", files), HW, into)
    assert not into.exists()


def test_a_long_name_is_cut_but_not_its_number():
    assert folder_name("x" * 75 + "_1234567") == "x" * 72 + "_1234567"
    assert folder_name("x" * 71 + " Y_1234567") == "x" * 71 + "_1234567"
    assert folder_name("x" * 75 + "_1234567 and more") == "x" * 75
    assert folder_name("x" * 75 + "_" + "1" * 30) == "x" * 75
    long = folder_name("\u00e9a" * 60 + "_12")
    assert len(long) == 80
    assert folder_name(long) == long


def test_two_students_never_share_a_folder(tmp_path, into):
    source = make_folder(tmp_path / "in", {f"a b/{HW}.ipynb": "1", f"a-b/{HW}.ipynb": "2"})
    collection = collect(source, HW, into)
    assert len(collected(into)) == 1
    assert [line.outcome for line in collection.lines].count(Outcome.PROBLEM) == 1
    nameless = make_folder(tmp_path / "dots", {f"---/{HW}.ipynb": "1", f"ok/{HW}.ipynb": "2"})
    (problem,) = [x for x in collect(nameless, HW, into).lines if x.outcome is Outcome.PROBLEM]
    assert "cannot become a folder name" in problem.remark


def run(*arguments):
    return CliRunner().invoke(app, ["collect", *map(str, arguments)])


def test_the_command_shows_trouble_first_and_says_so_by_its_exit_code(tmp_path, into):
    files = {f"s{number}_{number}_{number}_{HW}.ipynb": "x" for number in range(80)}
    path = make_zip(tmp_path / "s.zip", files | {"zed\x1b[2J_99_99_notes.txt": "x"})
    outcome = run("hw03", path, "--into", into)
    assert outcome.exit_code == 1
    lines = outcome.stdout.splitlines()
    assert "no notebook of this homework, only notes.txt" in lines[1]
    assert "... and 20 more without trouble" in outcome.stdout
    assert "Names as of canvas: 80 collected, 1 problem" in outcome.stdout
    assert "\x1b" not in outcome.output
    assert len(collected(into)) == 80
    del files
    good = make_zip(tmp_path / "good.zip", {f"s_100_1_{HW}.ipynb": "y"})
    assert run("hw03", good, "--into", into).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["hw99", ".", "--into", "x"], "no homework 'hw99'"),
        (["hw03", "no-such.zip", "--into", "x"], "there is no no-such.zip"),
        (["hw03", ".", "--into", "./x"], "which is collected from"),
        (["hw03", ".", "--into", "/proc/x", "--roster", "no.csv"], "no.csv can't be read"),
    ],
)
def test_what_cannot_work_is_refused_in_one_line(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    outcome = run(*arguments)
    assert outcome.exit_code == 2
    (line,) = outcome.stderr.splitlines()
    assert words in line
