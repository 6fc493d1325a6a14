"""What other systems read: their columns, points given by hand, and nothing that runs."""

import csv
import html
import json
import os
import re
import zipfile

import pytest

from autograder.exports.canvas import canvas_csv
from autograder.exports.gradescope import gradescope_results
from autograder.exports.mark import Mark, guess_lms_id
from autograder.exports.moodle import moodle_csv
from autograder.gradebook import hand_grades
from autograder.judging.results import Status
from autograder.marks.standing import HandGrades, stand
from tests.autograder.command_line import refused, run
from tests.autograder.graded_class import INTERRUPTED, TRACEBACK, make_class, result, store_results

HW = "hw03-self-attention"
FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "＝1"]


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_canvas_finds_its_columns():
    text = canvas_csv(
        [Mark(student="ada_42", score=7.5, max_score=12, lms_id="42")], "Homework 3 (9)"
    )
    assert text.splitlines()[0] == "Student,ID,SIS User ID,SIS Login ID,Section,Homework 3 (9)"
    assert rows(text)[0] | {"Student": ""} == {
        "Student": "", "ID": "42", "SIS User ID": "", "SIS Login ID": "", "Section": "",
        "Homework 3 (9)": "7.5",
    }  # fmt: skip


def test_moodle_feedback_escapes_code():
    """Moodle takes every feedback comment for HTML."""
    said = "a loop while i<=n and len(x)>0,\nsee <your line 3> & 'so on'"
    (row,) = rows(moodle_csv([Mark(student="a", score=1, max_score=2, lms_id="4", comment=said)]))
    shown = row["Feedback comments"]
    plain = shown.replace("<br>", "\n").replace("<wbr>", "")
    assert html.unescape(plain) == f"1 of 2 points. {said}"
    assert re.findall("<[^>]*>", shown) == ["<wbr>", "<br>"]
    assert not [cell for cell in shown.split(";") if cell.lstrip(" '").startswith("=")]


def worksheet(tmp_path, *rows):
    """Write a Moodle grading worksheet with rows of number, full name, ID number and e-mail."""
    heads = 'Identifier,"Full name","ID number","Email address","Last modified (submission)"'
    lines = [",".join([f"Participant {number}", *rest, "-"]) for number, *rest in rows]
    (tmp_path / "w.csv").write_text("\n".join([heads, *lines]), encoding="utf-8")
    return tmp_path / "w.csv"


def written(file, feedback):
    """Return a worksheet's grades by participant number, and the numbers in the zip ``feedback``.

    The zip's files must not contain the word index.html.
    """
    with zipfile.ZipFile(feedback) as archive:
        numbers = [name.split("_")[1] for name in archive.namelist()]
        assert not [name for name in archive.namelist() if b"index.html" in archive.read(name)]
    grades = {row["Identifier"]: row["Grade"] for row in rows(file.read_text("utf-8"))}
    return grades, numbers


MAXIMUM = [
    ("Maximum grade", "100.00", "50", "scaled from 6 points to 100"),
    ("Maximum Grade", "3.00", "1.5", "scaled from 6 points to 3"),
    ("Maximum grade", "6.00", "3", ""),
    ("Status", "Submitted", "3", "the worksheet tells no maximum: see that Moodle's is 6 points"),
]


@pytest.mark.parametrize(("column", "cell", "grade", "words"), MAXIMUM)
def test_points_are_scaled_to_the_maximum_of_moodles_assignment(
    class_out, tmp_path, column, cell, grade, words
):
    people, file = worksheet(tmp_path, (311, "ada", "", "")), tmp_path / "marks.csv"
    heads, *lines = people.read_text().splitlines()
    people.write_text("\n".join([f"{heads},{column}", *(f"{line},{cell}" for line in lines)]))
    arguments = ["--worksheet", people, "--file", file]
    outcome = run("export", "hw03", "--out", class_out, "--to", "moodle", *arguments)
    assert f"Points: {words}" in outcome.stdout if words else "Points:" not in outcome.stdout
    (row,) = rows(file.read_text("utf-8"))
    assert row["Grade"] == grade
    assert float(row["Maximum Grade"]) == (float(cell) if "grade" in column.lower() else 6)
    assert row["Feedback comments"].startswith("3 of 6 points")


@pytest.mark.parametrize("column", ["Scale,Fail-Pass", "Maximum grade,0.00", "Maximum grade,none"])
def test_moodles_assignment_without_points_is_rejected(class_out, tmp_path, column):
    people, file = worksheet(tmp_path, (311, "ada", "", "")), tmp_path / "marks.csv"
    head, cell = column.split(",")
    heads, line = people.read_text().splitlines()
    people.write_text(f"{heads},{head}\n{line},{cell}\n")
    arguments = ["--worksheet", people, "--file", file]
    line = refused(run("export", "hw03", "--out", class_out, "--to", "moodle", *arguments))
    assert f"Moodle's assignment has no maximum grade, but '{cell}'" in line
    assert not file.exists()


@pytest.mark.parametrize("lms_id", ["s7", "ada@x.org", "Ada L", None])
def test_moodle_is_given_the_numbers_of_this_assignment(class_out, tmp_path, lms_id):
    file, told, roster = tmp_path / "marks.csv", tmp_path / "told.zip", tmp_path / "class.csv"
    roster.write_text(f"lms_id,student\n{lms_id},ada\n498,cho\n")
    people = worksheet(
        tmp_path, (311, "Ada L" if lms_id else "ada", "S7", "Ada@x.org"), (312, "Ben", "", ""),
        (313, "ben", "", ""), (498, "Zoe", "", ""), (7, "Olu", "", ""),
    )  # fmt: skip
    options = ["--worksheet", people, "--file", file, "--feedback", told]
    options += ["--roster", roster] if lms_id else []
    outcome = run("export", "hw03", "--out", class_out, "--to", "moodle", *options)
    assert outcome.exit_code == 1
    # two are called as ben is; nobody is found by a number of another assignment
    assert "no id there is known (--worksheet and --roster tell it): ben, cho" in outcome.stderr
    assert written(file, told) == ({"Participant 311": "3", "Participant 7": "0"}, ["311", "7"])


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_are_inert_in_every_csv(text):
    mark = Mark(student=text, score=1, max_score=2, lms_id=text, name=text, section=text)
    cells = [
        *next(iter(csv.reader([canvas_csv([mark], text).splitlines()[0]])))[5:],
        *rows(canvas_csv([mark], "x"))[0].values(),
        *rows(moodle_csv([mark]))[0].values(),
    ]
    live = tuple("=+-@\t\r＝")
    assert not [cell for cell in cells if cell.lstrip(' "').startswith(live)]
    assert sum(cell.startswith("'") for cell in cells) >= 5


@pytest.mark.parametrize(
    ("student", "number"),
    [("ada_12345", "12345"), ("ada", ""), ("_1", ""), ("ada_1_77", "77"), ("anon_12345", "")],
)
def test_the_number_that_collect_left_is_read(student, number):
    assert guess_lms_id(student) == number


def test_two_students_never_have_one_id(class_out, tmp_path):
    store_results(class_out, [result("mallory_1234"), result("victim_1234")])
    file = tmp_path / "m.csv"
    how = ("--to", "canvas", "--column", "x", "--file", file)
    line = refused(run("export", "hw03", "--out", class_out, *how))
    assert "mallory_1234 and victim_1234 have one id, 1234" in line
    assert not file.exists()


@pytest.mark.parametrize(("to", "count"), [("moodle", 0), ("gradescope", 9)])
def test_points_of_an_interrupted_grading_are_not_written(class_out, tmp_path, to, count):
    lost = result("zoe_77", Status.INVALID, Status.INVALID, flags=(INTERRUPTED,), error="again")
    store_results(class_out, [lost])
    file = tmp_path / "points"
    more = ["--worksheet", worksheet(tmp_path, (77, "zoe_77", "", ""))] if to == "moodle" else []
    outcome = run("export", "hw03", "--out", class_out, "--to", to, "--file", file, *more)
    assert outcome.exit_code == 1
    assert "Left out, for grading was interrupted (grade again): zoe_77" in outcome.stderr
    assert f"{file}: {count} students" in outcome.stdout
    assert "77" not in (file.read_text() if file.is_file() else str(sorted(os.listdir(file))))


def test_gradescope_gets_every_check_and_nothing_of_the_staffs():
    made = make_class()
    results = {r.student: gradescope_results(stand(r)) for r in made}
    flagged = json.dumps(results["hal"])
    assert "patches" not in flagged
    assert "987654321" not in json.dumps(results["ada"])
    assert "HIDDEN" not in json.dumps(results)
    eli = results["eli"]
    assert [t["name"] for t in eli["tests"]] == ["The shape stays", "It doubles", "Why twice?"]
    assert TRACEBACK in eli["tests"][0]["output"]
    assert "extra cell 1: NameError" in eli["output"]
    assert [t.get("status") for t in results["ben"]["tests"]] == ["passed", "failed", None]
    assert results["olu"]["output"] == "The file is not JSON."
    for one in results.values():
        assert {t["output_format"] for t in one["tests"]} == {"text"}
        assert sum(t["score"] for t in one["tests"]) == one["score"]


def test_points_given_by_hand_count(class_out, tmp_path, monkeypatch):
    roster = tmp_path / "class.csv"
    roster.write_text("lms_id,student,name\n1,ada,=Ada()\n2,ben,Ben\n")
    given = {
        "ada": HandGrades(points={"why": 2.5}, comments={"why": "=Well\nput"}),
        "ben": HandGrades(waiting=frozenset({"why"})),
    }
    monkeypatch.setattr(hand_grades, "read_hand_grades", lambda *arguments: given)
    outcome = run("export", "hw03", "--out", class_out, "--to", "canvas", "--roster", roster,
                  "--file", tmp_path / "c.csv", "--column", "HW (1)")  # fmt: skip
    assert outcome.exit_code == 1
    assert "Left out, for no id there is known" in outcome.stderr
    assert "cho" in outcome.stderr
    assert "8 submissions still wait" in outcome.stderr  # all but ada, known there or not
    found = rows((tmp_path / "c.csv").read_text())
    assert [(row["Student"], row["HW (1)"]) for row in found] == [("'=Ada()", "5.5"), ("Ben", "1")]


@pytest.mark.parametrize("command", ["report", "export"])
def test_students_with_one_notebook_and_different_points_are_named(
    class_out, tmp_path, monkeypatch, command
):
    seeds = {"red_1": 5, "red_2": 5, "blue_3": 6, "blue_4": 6}
    teams = [result(student, seed=n, seconds=0.1 * n) for student, n in seeds.items()]
    store_results(class_out, teams)
    given = {s: HandGrades(points={"why": 2.0}) for s in ("blue_3", "blue_4", "red_1")}
    given |= {r.student: HandGrades(points={"why": 0.0}) for r in make_class()}
    given["red_2"] = HandGrades(points={"why": 2.0}, extra={"why": 0.5})
    monkeypatch.setattr(hand_grades, "read_hand_grades", lambda *arguments: given)
    more = {"report": [], "export": ["--to", "gradescope", "--file", tmp_path / "g"]}[command]
    outcome = run(command, "hw03", "--out", class_out, *more)
    assert outcome.exit_code == 1
    assert outcome.stderr == (
        "One notebook, handed in together, and other points by hand: red_1 5, red_2 5.5\n"
    )
    given["red_2"] = given["red_1"]
    assert run(command, "hw03", "--out", class_out, *more).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("feedback hw03 --out {}", "grade it first"),
        ("report hw03 --out {}", "grade it first"),
        ("regrade hw03 --submissions {}/class --out {}", "grade it first"),
        ("export hw03 --out {} --to canvas --file {}/x", "--column"),
        ("export hw03 --out {} --to gradescope --file {}/x", "grade it"),
        ("export hw03 --out {} --to moodle --file {}/x", "Download grading"),
        ("export hw03 --out {} --to moodle --file w --worksheet ./w", "take the place of --work"),
        ("export hw03 --out {} --to gradescope --file x --worksheet w", "--worksheet is Moodle's"),
    ],
)
def test_impossible_arguments_are_rejected_in_one_line(tmp_path, arguments, words):
    assert words in refused(run(*arguments.format(*[tmp_path] * 2).split()))
    assert list(tmp_path.iterdir()) == []
