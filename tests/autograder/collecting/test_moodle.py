"""Moodle: one student in all homeworks, whatever number an assignment gives, and nobody another."""

from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from autograder.class_run.submissions import read_handed_in
from autograder.cli.app import app
from autograder.collecting.collect import Outcome, collect
from autograder.collecting.handed_in import SourceError
from autograder.collecting.moodle import read_worksheet
from autograder.collecting.roster import TableError, read_roster
from tests.autograder.collecting.downloads import (
    BERLIN,
    HW,
    class_list,
    collected,
    make_folder,
    make_zip,
    outcomes,
)

HEADS = 'Identifier,"Full name","ID number","Email address",Grade,"Last modified (submission)"\n'
TIMES = """\ufeffIdentifier,"Full name","Last modified (submission)"
"Participant 5",Ada,"Monday, 23 November 2026, 11:59 PM"
"Participant 6",Bo,"Tuesday, November 24, 2026, 00:01"
"Participant 7",Cy,-
"""


def moodle_zip(tmp_path, *people):
    """A zip in which everybody hands in what they are called there."""
    return make_zip(
        tmp_path / "m.zip", {f"{p}_assignsubmission_file/{HW}.ipynb": p for p in people}
    )


def worksheet(tmp_path, *rows):
    """A worksheet: number, full name, ID number and e-mail of each."""
    lines = [
        f'"Participant {number}","{name}",{sid},{mail},-,"Monday, 23 November 2026, 9:00 AM"\n'
        for number, name, sid, mail in rows
    ]
    (tmp_path / "w.csv").write_text(HEADS + "".join(lines), encoding="utf-8")
    return read_worksheet(tmp_path / "w.csv", BERLIN)


def problems(collection):
    return {
        line.source.split("_")[1]: line.remark
        for line in collection.lines
        if line.outcome is Outcome.PROBLEM
    }


# ---- without a worksheet ----


def test_a_student_is_one_in_all_homeworks(tmp_path, into):
    for number in (311, 498):
        collect(moodle_zip(tmp_path, f"Ada Lovelace_{number}"), HW, into, force=True)
    assert collected(into) == {"Ada-Lovelace": "Ada Lovelace_498"}


@pytest.mark.parametrize("other", ["Ada Lovelace", "ada lovelace", "Ada-Lovelace"])
@pytest.mark.parametrize("listed", [False, True])
def test_of_two_of_one_name_nothing_is_taken(tmp_path, into, listed, other):
    roster = class_list(tmp_path, "Ada Lovelace,ada,\n") if listed and "-" not in other else None
    source = moodle_zip(tmp_path, "Ada Lovelace_311", f"{other}_312", "Bo_313")
    told = collect(source, HW, into, roster=roster)
    assert collected(into) == {"Bo": "Bo_313"}
    assert set(problems(told)) == {"311", "312"}
    for remark in problems(told).values():
        assert "(--roster), and Moodle's grading worksheet (--worksheet), tell them apart" in remark


def test_the_class_list_finds_full_names_as_moodle_writes_them(tmp_path, into):
    people = tmp_path / "class.csv"
    people.write_text("lms_id,student\nBo O'Neil,bo\nANN_L. Li,ann\n311,zoe\n")
    source = moodle_zip(tmp_path, "Bo ONeil_7", "Ann L. Li_8", "Cy_311", "311_9", "o@x.org_3")
    told = collect(source, HW, into, roster=read_roster(people))
    assert collected(into) == {
        "bo": "Bo ONeil_7", "ann": "Ann L. Li_8", "Cy": "Cy_311", "311": "311_9",
        "o@x.org": "o@x.org_3",
    }  # fmt: skip
    assert outcomes(told)["zoe"][0] is Outcome.MISSING


@pytest.mark.parametrize(
    ("lms_id", "name"), [("4711", "4711"), ("ada@x.org", "ada@x.org"), ("ada", "ada \u00a0")]
)
def test_nobody_is_another_by_being_called_as_their_id(tmp_path, into, lms_id, name):
    roster = class_list(tmp_path, f"{lms_id},lovelace,\n")
    collect(moodle_zip(tmp_path, f"{name}_9", "Bo_3"), HW, into, roster=roster)
    assert "lovelace" not in collected(into)


def test_nobody_is_another_by_being_called_as_their_folder(tmp_path, into):
    roster = class_list(tmp_path, "4711,ada,\n")
    told = collect(moodle_zip(tmp_path, "Ada_9", "Bo_3"), HW, into, roster=roster)
    assert collected(into) == {"Bo": "Bo_3"}
    assert "same folder name as ada in the class list" in problems(told)["9"]
    assert "not found in it by what --worksheet says of them" in problems(told)["9"]


# ---- with a worksheet ----


@pytest.mark.parametrize("lms_id", ["S4711", "ADA@x.org", "Ada Lovelace"])
def test_the_class_list_finds_id_numbers_addresses_and_names(tmp_path, into, lms_id):
    people = worksheet(
        tmp_path, (311, "Ada Lovelace", "s4711", "ada@x.org"), (312, "Bo", "s4712", "bo@x.org")
    )
    roster = class_list(tmp_path, f"{lms_id},ada,\n312,zoe,\n")
    source = moodle_zip(tmp_path, "Ada Lovelace_311", "Bo_312")
    told = collect(source, HW, into, roster=roster, worksheet=people)
    assert collected(into) == {"ada": "Ada Lovelace_311", "Bo": "Bo_312"}
    assert outcomes(told)["zoe"][0] is Outcome.MISSING  # 312 is a number of this assignment alone
    assert told.complete


def test_list_and_worksheet_tell_two_of_one_name_apart(tmp_path, into):
    people = worksheet(tmp_path, (1, "Ada L", "s1", ""), (2, "Ada L", "s2", ""))
    roster = class_list(tmp_path, "s1,ada,\ns2,adina,\n")
    source = moodle_zip(tmp_path, "Ada L_1", "Ada L_2")
    collect(source, HW, into, roster=roster, worksheet=people)
    assert collected(into) == {"ada": "Ada L_1", "adina": "Ada L_2"}


def test_who_is_known_by_an_id_keeps_what_is_theirs_whatever_others_are_called(tmp_path, into):
    people = worksheet(
        tmp_path,
        (1, "Ada L", "s1", ""),
        (2, "s1", "s2", ""),
        (3, "Ada L", "", ""),
        (4, "ada", "", ""),
    )
    roster = class_list(tmp_path, "s1,ada,\n")
    source = moodle_zip(tmp_path, "Ada L_1", "s1_2", "Ada L_3", "ada_4")
    told = collect(source, HW, into, roster=roster, worksheet=people)
    assert collected(into) == {"ada": "Ada L_1", "s1": "s1_2", "Ada-L": "Ada L_3"}
    assert set(problems(told)) == {"4"}


def test_who_is_called_as_the_list_calls_another_is_told(tmp_path, into):
    people = worksheet(tmp_path, (1, "Ada L", "Ada King", ""), (2, "Ada King", "s2", ""))
    roster = class_list(tmp_path, "Ada King,ada,\n")
    source = moodle_zip(tmp_path, "Ada L_1", "Ada King_2")
    told = collect(source, HW, into, roster=roster, worksheet=people)
    assert collected(into) == {"ada": "Ada L_1"}
    assert problems(told)["2"].endswith("called as the class list calls ada, who is another one")


def test_two_rows_that_lead_to_one_student_are_nobodys(tmp_path, into):
    people = worksheet(tmp_path, (1, "Ada L", "s1", ""), (2, "Eve", "S1", ""), (3, "Bo", "", ""))
    roster = class_list(tmp_path, "s1,ada,\nBo,bo,\n")
    source = moodle_zip(tmp_path, "Ada L_1", "Eve_2", "Bo_3")
    told = collect(source, HW, into, roster=roster, worksheet=people)
    assert collected(into) == {"bo": "Bo_3"}
    assert {n: r.split(":")[0] for n, r in problems(told).items()} == dict.fromkeys(
        ("1", "2"), "Participants 1 and 2 would all be ada"
    )


def test_a_namesake_who_handed_in_nothing_counts_too(tmp_path, into):
    people = worksheet(tmp_path, (1, "Ada L", "", ""), (2, "Ada L", "", ""))
    told = collect(moodle_zip(tmp_path, "Ada L_1"), HW, into, worksheet=people)
    assert collected(into) == {}
    assert "Participants 1 and 2 would all be Ada-L" in problems(told)["1"]


def test_a_worksheet_of_another_assignment_names_nobody(tmp_path, into):
    people = worksheet(tmp_path, (1, "Zoë d'Arc_", "", ""), (2, "Eve", "", ""))
    source = moodle_zip(tmp_path, "Zoë dArc _1", "Bo_2", "Cy_3")
    told = collect(source, HW, into, worksheet=people)
    assert collected(into) == {"Zoë-dArc": "Zoë dArc _1"}
    assert "the worksheet calls Participant 2 Eve: is it of this assignment" in problems(told)["2"]
    assert "the worksheet does not have them" in problems(told)["3"]


def test_where_names_are_hidden_the_worksheet_tells_them(tmp_path, into):
    source = moodle_zip(tmp_path, "Participant_1", "Participant_2")
    assert set(problems(collect(source, HW, into))) == {"1", "2"}
    people = worksheet(tmp_path, (1, "Ada", "", ""), (2, "Bo", "", ""))
    collect(source, HW, into, worksheet=people)
    assert collected(into) == {"Ada": "Participant_1", "Bo": "Participant_2"}


def test_a_team_is_no_participant_and_has_its_members_times(tmp_path, into):
    people = worksheet(tmp_path, (7, "Zoe", "s7", ""), (8, "Ada", "s8", ""), (9, "Team B", "", ""))
    roster = class_list(tmp_path, "s8,ada,Team A\ns7,zoe,Team B\n")
    source = moodle_zip(tmp_path, "Team A_7", "Team B_9")
    told = collect(source, HW, into, roster=roster, worksheet=people)
    (into / ".teams.json").unlink()
    assert collected(into) == {"ada": "Team A_7", "Team-B": "Team B_9"}  # somebody called so
    assert read_handed_in(into / "ada" / HW) == datetime(2026, 11, 23, 8, tzinfo=UTC)
    assert outcomes(told)["zoe"][0] is Outcome.MISSING
    source = moodle_zip(tmp_path, "Team A_7", "Team B_9", "Team B_7")
    assert collect(source, HW, tmp_path / "2", roster=roster, worksheet=people).complete
    assert (tmp_path / "2" / "zoe" / HW / f"{HW}.ipynb").read_text() == "Team B_7"
    told = collect(source, HW, into, worksheet=people, force=True)
    assert "calls Participant 7 Zoe" in problems(told)["7"]
    assert "Is this a team?" in problems(told)["7"]


def test_a_forged_file_name_makes_nobody_another_student(tmp_path, into):
    forged = f"Aaron Mallory_5_assignsubmission_file_x_999_assignsubmission_file_{HW}.ipynb"
    files = {forged: "mallory", f"Ada_999_assignsubmission_file_{HW}.ipynb": "ada"}
    roster = class_list(tmp_path, "Ada,ada,\nAaron Mallory,aaron,\n")
    collect(make_zip(tmp_path / "moodle.zip", files), HW, into, roster=roster)
    assert collected(into) == {"ada": "ada", "aaron": "mallory"}


def test_when_they_handed_in_is_in_the_worksheet_alone(tmp_path, into):
    source = moodle_zip(tmp_path, "Ada_5", "Bo_6", "Cy_7")
    collect(source, HW, into)
    assert not list(into.rglob("timestamp.txt"))  # the zip's is that of the download
    (tmp_path / "w.csv").write_text(TIMES, encoding="utf-8")
    collect(source, HW, into, worksheet=read_worksheet(tmp_path / "w.csv", BERLIN))
    moments = {name: read_handed_in(into / name / HW) for name in sorted(collected(into))}
    assert moments == {
        "Ada": datetime(2026, 11, 23, 22, 59, tzinfo=UTC),
        "Bo": datetime(2026, 11, 23, 23, 1, tzinfo=UTC),
        "Cy": None,
    }


def test_the_command_reads_the_worksheet_in_the_courses_zone(tmp_path, into):
    moodle_zip(tmp_path, "Ada_5")
    (tmp_path / "w.csv").write_text(TIMES, encoding="utf-8")
    (tmp_path / "d.toml").write_text("time_zone = 'America/New_York'")
    said = ["collect", "hw03", str(tmp_path / "m.zip"), "--into", str(into)]
    outcome = CliRunner().invoke(app, said)
    assert "Moodle says so with --worksheet" in " ".join(outcome.stdout.split())
    said += ["--worksheet", str(tmp_path / "w.csv"), "--dates", str(tmp_path / "d.toml")]
    assert CliRunner().invoke(app, said).exit_code == 0
    expected = datetime(2026, 11, 24, 4, 59, tzinfo=UTC)
    assert read_handed_in(into / "Ada" / HW) == expected


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
def test_a_worksheet_that_cannot_be_used_is_refused(tmp_path, change, words):
    (tmp_path / "w.csv").write_text(TIMES.replace(*change), encoding="utf-8")
    with pytest.raises(TableError, match=words):
        read_worksheet(tmp_path / "w.csv", BERLIN)


def test_a_worksheet_for_what_is_not_moodles_is_refused(tmp_path, into):
    source = make_folder(tmp_path / "in", {f"ada/{HW}.ipynb": "a", f"bo/{HW}.ipynb": "b"})
    with pytest.raises(SourceError, match="a worksheet is Moodle's"):
        collect(source, HW, into, worksheet={})
