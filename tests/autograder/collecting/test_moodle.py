"""Moodle: a student stays one in all homeworks, whatever number an assignment gives."""

from datetime import UTC, datetime

import pytest

from autograder.class_run.submissions import read_handed_in
from autograder.collecting.collect import Outcome
from autograder.collecting.moodle import read_worksheet
from autograder.collecting.roster import TableError
from tests.autograder.collecting.downloads import (
    BERLIN,
    HW,
    collected,
    make_zip,
    outcomes,
    problems,
)
from tests.autograder.command_line import run

HEADS = 'Identifier,"Full name","ID number","Email address",Grade,"Last modified (submission)"\n'
TIMES = """\ufeffIdentifier,"Full name","Last modified (submission)"
"Participant 5",Ada,"Monday, 23 November 2026, 11:59 PM"
"Participant 6",Bo,"Tuesday, November 24, 2026, 00:01"
"Participant 7",Cy,-
"""


def files_of(*people):
    """Return the files of a Moodle download, contents by path, for people ``name_number``."""
    return {f"{person}_assignsubmission_file/{HW}.ipynb": person for person in people}


@pytest.fixture
def worksheet(tmp_path):
    def write(*rows):
        """Write a worksheet with rows of number, full name, ID number and e-mail."""
        lines = [
            f'"Participant {number}","{name}",{sid},{mail},-,"Monday, 23 November 2026, 9:00 AM"\n'
            for number, name, sid, mail in rows
        ]
        (tmp_path / "w.csv").write_text(HEADS + "".join(lines), encoding="utf-8")
        return read_worksheet(tmp_path / "w.csv", BERLIN)

    return write


def test_student_is_the_same_in_all_homeworks(gather, into):
    for number in (311, 498):
        gather(files_of(f"Ada Lovelace_{number}"), force=True)
    assert collected(into) == {"Ada-Lovelace": "Ada Lovelace_498"}


APART = "(--roster), and Moodle's grading worksheet (--worksheet), tell them apart"
# people in the zip; class list; notebooks by student; problems by student
WITHOUT_WORKSHEET = {
    "two of one name, and one with their folder": (
        ["Ada L_1", "Ada L_2", "Ada-L_4", "Bo_3"], "", {"Bo": "Bo_3"}, {"Ada-L": APART},
    ),
    "two whose names differ in case": (
        ["Ada L_1", "ada l_2", "Bo_3"], "Ada L,ada,\n", {"Bo": "Bo_3"}, {"ada": APART},
    ),
    "full names as Moodle writes them": (
        ["Bo ONeil_7", "Ann L. Li_8", "Cy_311", "311_9", "o@x.org_3"],
        "Bo O'Neil,bo,\nANN_L. Li,ann,\n311,zoe,\no@x.org,oz,\n",  # 311 and o@x.org are no names
        {"bo": "Bo ONeil_7", "ann": "Ann L. Li_8", "Cy": "Cy_311", "311": "311_9",
         "o@x.org": "o@x.org_3"},
        {},
    ),
    "a name that looks like another's": (
        ["ada \u00a0_9"], "ada,lovelace,\n", {"ada": "ada \u00a0_9"}, {},
    ),
    "a name that is another's folder": (
        ["Ada_9", "Bo_3"], "4711,ada,\n", {"Bo": "Bo_3"},
        {"Ada": "not found in it by what --worksheet says of them"},
    ),
    "hidden names": (["Participant_1", "Participant_2"], "", {}, {"Participant": APART}),
}  # fmt: skip


@pytest.mark.parametrize(
    ("people", "listed", "notebooks", "told"), WITHOUT_WORKSHEET.values(), ids=WITHOUT_WORKSHEET
)
def test_names_without_a_worksheet(gather, into, people, listed, notebooks, told):
    found = problems(gather(files_of(*people), listed))
    assert collected(into) == notebooks
    assert found.keys() >= told.keys()
    assert all(words in found[student] for student, words in told.items())


ADA, BO = (1, "Ada Lovelace", "s4711", "ada@x.org"), (2, "Bo", "s4712", "bo@x.org")
# rows of the worksheet; people in the zip; class list; notebooks by student; problems by student
WITH_WORKSHEET = {
    **{
        f"class list by {kind}": (
            [ADA, BO], ["Ada Lovelace_1", "Bo_2"], f"{lms_id},ada,\n2,zoe,\n",
            {"ada": "Ada Lovelace_1", "Bo": "Bo_2"}, {},
        )
        for kind, lms_id in (("ID", "S4711"), ("address", "ADA@x.org"), ("name", "Ada Lovelace"))
    },
    "two of one name with IDs": (
        [(1, "Ada L", "s1", ""), (2, "Ada L", "s2", "")], ["Ada L_1", "Ada L_2"],
        "s1,ada,\ns2,adina,\n", {"ada": "Ada L_1", "adina": "Ada L_2"}, {},
    ),
    "an ID counts more than names": (
        [(1, "Ada L", "s1", ""), (2, "s1", "s2", ""), (3, "Ada L", "", ""), (4, "ada", "", "")],
        ["Ada L_1", "s1_2", "Ada L_3", "ada_4"], "s1,ada,\n",
        {"ada": "Ada L_1", "s1": "s1_2", "Ada-L": "Ada L_3"}, {"ada": "same folder name as ada"},
    ),
    "a name of the class list that is another's ID": (
        [(1, "Ada L", "Ada King", ""), (2, "Ada King", "s2", "")], ["Ada L_1", "Ada King_2"],
        "Ada King,ada,\n", {"ada": "Ada L_1"},
        {"ada": "has the name that the class list gives ada, another person"},
    ),
    "one ID twice": (
        [(1, "Ada L", "s1", ""), (2, "Eve", "S1", ""), (3, "Bo", "", "")],
        ["Ada L_1", "Eve_2", "Bo_3"], "s1,ada,\nBo,bo,\n", {"bo": "Bo_3"},
        {"ada": "Participants 1 and 2 would all be ada"},
    ),
    "a namesake who handed in nothing": (
        [(1, "Ada L", "", ""), (2, "Ada L", "", "")], ["Ada L_1"], "", {},
        {"Ada-L": "Participants 1 and 2 would all be Ada-L"},
    ),
    "another assignment's worksheet": (
        [(1, "Zoë d'Arc_", "", ""), (2, "Eve", "", "")], ["Zoë dArc _1", "Bo_2", "Cy_3"], "",
        {"Zoë-dArc": "Zoë dArc _1"},
        {"Bo": "the worksheet calls Participant 2 Eve: is it of this assignment",
         "Cy": "the worksheet does not have them"},
    ),
    "hidden names": (
        [ADA, BO], ["Participant_1", "Participant_2"], "",
        {"Ada-Lovelace": "Participant_1", "Bo": "Participant_2"}, {},
    ),
    "a team, and somebody with another team's name": (
        [(7, "Zoe", "s7", ""), (8, "Ada", "s8", ""), (9, "Team B", "", "")],
        ["Team A_7", "Team B_9"], "s8,ada,Team A\ns7,zoe,Team B\n",
        {"ada": "Team A_7", "Team-B": "Team B_9"}, {},
    ),
    "a team that the class list does not name": (
        [(7, "Zoe", "s7", "")], ["Team A_7"], "", {},
        {"Team-A": "calls Participant 7 Zoe: is it of this assignment, and of all? Is this a"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "people", "listed", "notebooks", "told"), WITH_WORKSHEET.values(), ids=WITH_WORKSHEET
)
def test_names_with_a_worksheet(gather, into, worksheet, rows, people, listed, notebooks, told):
    collection = gather(files_of(*people), listed, worksheet=worksheet(*rows))
    found = problems(collection)
    assert collected(into) == notebooks
    assert found.keys() == told.keys()
    assert all(words in found[student] for student, words in told.items())
    listed_only = {row.split(",")[1] for row in listed.splitlines()} - notebooks.keys() - set(found)
    assert all(outcomes(collection)[student][0] is Outcome.MISSING for student in listed_only)


def test_marker_in_a_file_name_does_not_change_its_owner(gather, into):
    forged = f"Aaron Mallory_5_assignsubmission_file_x_999_assignsubmission_file_{HW}.ipynb"
    files = {forged: "mallory", f"Ada_999_assignsubmission_file_{HW}.ipynb": "ada"}
    gather(files, "Ada,ada,\nAaron Mallory,aaron,\n")
    assert collected(into) == {"ada": "ada", "aaron": "mallory"}


def test_worksheet_tells_times_and_the_zip_does_not(gather, into, tmp_path, worksheet):
    gather(files_of("Ada_5", "Bo_6", "Cy_7"))
    assert not list(into.rglob("timestamp.txt"))
    (tmp_path / "w.csv").write_text(TIMES, encoding="utf-8")
    people = read_worksheet(tmp_path / "w.csv", BERLIN)
    gather(files_of("Ada_5", "Bo_6", "Cy_7"), worksheet=people)
    assert {name: read_handed_in(into / name / HW) for name in sorted(collected(into))} == {
        "Ada": datetime(2026, 11, 23, 22, 59, tzinfo=UTC),
        "Bo": datetime(2026, 11, 23, 23, 1, tzinfo=UTC),
        "Cy": None,
    }
    of_team = worksheet((7, "Zoe", "s7", ""), (8, "Ada", "s8", ""))
    gather(files_of("Team A_7"), "s8,eve,Team A\n", worksheet=of_team)
    assert read_handed_in(into / "eve" / HW) == datetime(2026, 11, 23, 8, tzinfo=UTC)


def test_command_reads_the_worksheet_in_the_courses_zone(tmp_path, into):
    make_zip(tmp_path / "m.zip", files_of("Ada_5"))
    (tmp_path / "w.csv").write_text(TIMES, encoding="utf-8")
    (tmp_path / "d.toml").write_text("time_zone = 'America/New_York'")
    said = ["collect", "hw03", tmp_path / "m.zip", "--into", into]
    assert "Moodle says so with --worksheet" in " ".join(run(*said).stdout.split())
    said += ["--worksheet", tmp_path / "w.csv", "--dates", tmp_path / "d.toml"]
    assert run(*said).exit_code == 0
    assert read_handed_in(into / "Ada" / HW) == datetime(2026, 11, 24, 4, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("Last modified (submission)", "Zuletzt"), "lacks the column 'Last modified"),
        (("Full name", "Status"), "lacks the column 'Full name': .* with names shown"),
        (("Monday, 23", "Montag, 23."), "line 2: .* expected, in English, Thursday"),
        (('"Monday, 23', '"23'), "line 2: .* expected, in English"),
        (("Participant 5", "Teilnehmer/in 5"), "line 2: .* expected, in English, Participant"),
        (("Participant 5", "Participant 007"), "line 2: .* expected, in English, Participant"),
        (("Participant 6", "Participant 5"), "line 3: Participant 5 occurs twice"),
    ],
)
def test_unusable_worksheet_is_rejected(tmp_path, change, words):
    (tmp_path / "w.csv").write_text(TIMES.replace(*change), encoding="utf-8")
    with pytest.raises(TableError, match=words):
        read_worksheet(tmp_path / "w.csv", BERLIN)
