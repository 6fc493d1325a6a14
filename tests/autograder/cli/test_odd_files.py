"""Files left in a class's folders by a full disk, a person or a program are named and kept."""

import dataclasses
from datetime import UTC, datetime

import pytest

from autograder.cli import class_results, grading
from autograder.gradebook import hand_grades
from autograder.gradebook.database import gradebook_url
from autograder.releasing.generated_assignment import create_tables
from autograder.term.dates import Dates
from tests.autograder.command_line import contents, refused, run
from tests.autograder.graded_class import HOMEWORK, make_class

HW = "hw03-self-attention"
COMMANDS = {
    "report": ("report", HW),
    "feedback": ("feedback", HW),
    "export": ("export", HW, "--to", "gradescope", "--file", "{}/g"),
    "forget": ("forget", "ada", "--yes"),
    "grade": ("grade", HW, "--submissions", "{}/class", "--no-sandbox"),
    "regrade": ("regrade", HW, "--submissions", "{}/class", "--no-sandbox"),
}


@pytest.fixture
def out(class_out):
    """Return the output folder of a graded class of nine, with an empty gradebook.

    The class's submissions are in the folder ``class`` beside it.
    """
    for made in make_class():
        (class_out.parent / "class" / made.student / HW).mkdir(parents=True)
    (class_out / "nbgrader" / "autograded" / "ada").mkdir(parents=True)
    create_tables(gradebook_url(class_out / "nbgrader"))
    return class_out


def run_in(out, command):
    """Run a command by its key in ``COMMANDS``; return its outcome."""
    arguments = [argument.format(out.parent) for argument in COMMANDS[command]]
    return run(*arguments, "--out", out)


BROKEN = {
    "half": lambda text: text[: len(text) // 2],
    "other types": lambda text: text.replace('"score": 2.0', '"score": "x"'),
    "nested": lambda text: "[" * 100_000,
}


@pytest.mark.parametrize("damage", BROKEN.values(), ids=BROKEN)
def test_a_result_that_cannot_be_read_is_named_and_everybody_else_is_done(out, damage):
    file = out / "results" / HW / "ada.json"
    broken = damage(file.read_text())
    assert broken != file.read_text()
    file.write_text(broken)
    outcome = run_in(out, "report")
    assert outcome.exit_code == 1
    (line,) = outcome.stderr.splitlines()
    assert line == f"Error: {file} can't be read, and is left out: grade that homework again"
    assert len((out / "grades.csv").read_text().splitlines()) == 25
    assert file.read_text() == broken


@pytest.mark.parametrize("command", ["report", "feedback", "export"])
@pytest.mark.parametrize("other", [False, True])
def test_every_command_names_a_result_that_it_cannot_read(out, command, other, monkeypatch):
    homework = "hw01-other" if other else HW
    monkeypatch.setattr(class_results, "all_homeworks", lambda root: ["hw01-other", HW])
    dates = Dates(due={"hw01-other": datetime(2026, 1, 1, tzinfo=UTC)}, grace_days=3)
    monkeypatch.setattr(class_results, "usable_dates", lambda file: dates)
    file = out / "results" / homework / "ben.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text("{")
    outcome = run_in(out, command)
    assert outcome.exit_code == 1
    assert f"Error: {file} can't be read" in outcome.stderr
    made = {"report": "report.html", "feedback": "feedback/cho/hw00-double.html"}
    assert (out / made.get(command, "../g/cho/results.json")).exists()


def test_nothing_is_written_without_a_readable_result(out):
    for file in (out / "results" / HW).iterdir():
        file.write_text("{")
    outcome = run_in(out, "export")
    assert outcome.exit_code == 2
    assert "holds no results of hw03-self-attention that can be read" in outcome.stderr


def test_forget_names_files_that_may_still_hold_the_student(out):
    store = out / "results" / HW
    for name in ("ada.json", "ben.json"):
        (store / name).write_text("{")
    outcome = run_in(out, "forget")
    assert outcome.exit_code == 1
    assert f"{store / 'ben.json'} can't be read: see whether it is about the student" in (
        outcome.stderr
    )
    assert "ada.json can't" not in outcome.stderr
    assert not (store / "ada.json").exists()
    assert (store / "ben.json").exists()


DAMAGED = {
    "junk": lambda data: b"junk\n",
    "cut": lambda data: data[:20_000],
    "overwritten": lambda data: data[:4096] + bytes(4096) + data[8192:],
    "emptied": lambda data: b"",
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_gradebook_is_refused_in_a_sentence(out, command, damage):
    gradebook = out / "nbgrader" / "gradebook.db"
    gradebook.write_bytes(damage(gradebook.read_bytes()))
    before = contents(out.parent)
    line = refused(run_in(out, command))
    assert line.startswith(f"Error: {gradebook} is damaged (")
    assert "restore a backup, or move it away and run grade again" in line
    assert contents(out.parent) == before


@pytest.mark.parametrize("command", ["report", "feedback", "export"])
def test_a_gradebook_that_is_gone_is_not_taken_for_none(out, command):
    """Without the gradebook a command can't know the points given by hand, so it stops."""
    gradebook = out / "nbgrader" / "gradebook.db"
    gradebook.unlink()
    gradebook.symlink_to("nowhere")
    line = refused(run_in(out, command))
    assert line.startswith(f"Error: {gradebook} is gone: is its disk there, is --db given?")


@pytest.mark.parametrize("command", ["report", "feedback", "export"])
def test_a_gradebook_that_fails_while_it_is_read_is_told_in_a_sentence(out, command, monkeypatch):
    from sqlalchemy.exc import OperationalError

    def fail(*given):
        raise OperationalError("SELECT x\nFROM y", {}, Exception("the server is gone"))

    monkeypatch.setattr(hand_grades, "_read", fail)
    before = contents(out.parent)
    line = refused(run_in(out, command))
    assert "the server is gone" in line
    assert "hand grades are unknown, so nothing is written" in line
    assert "SELECT" not in line
    assert "sqlalche.me" not in line
    assert contents(out.parent).keys() == before.keys()


def test_an_output_folder_of_grading_is_rejected_as_a_class(out, tmp_path):
    before = contents(tmp_path)
    for arguments in (
        ["grade", HW, "--submissions", out, "--out", tmp_path / "again"],
        ["collect", HW, tmp_path / "class", "--into", out],
    ):
        assert f"{out} is the output folder of grading" in refused(run(*arguments))
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("command", "place"),
    [("report", "out/report.html"), ("feedback", "out/course.csv"), ("export", "g"),
     ("export", "f")],
)  # fmt: skip
def test_a_folder_in_the_place_of_a_file_is_named(out, tmp_path, command, place):
    (tmp_path / place).mkdir()
    (tmp_path / "class.csv").write_text("lms_id,student\n1,ada\n")
    more = {
        "g": ("--to", "canvas", "--column", "x"),
        "f": ("--to", "canvas", "--column", "x", "--feedback", "{}/f"),
    }
    words = [*COMMANDS[command], *more.get(place, ())]
    words += ["--roster", "{}/class.csv"] if command == "export" else []
    outcome = run(*(word.format(tmp_path) for word in words), "--out", out)
    assert outcome.exit_code == 2
    line = outcome.stderr.splitlines()[-1]
    assert line == f"Error: {tmp_path / place} can't be written: Is a directory"


def test_a_file_with_none_of_the_tests_takes_nobody_s_marks_away(out, tmp_path, monkeypatch):
    other = dataclasses.replace(HOMEWORK.checks[0], grade_id="another")
    homework = dataclasses.replace(HOMEWORK, cells=(*HOMEWORK.cells[:3], other))
    monkeypatch.setattr(grading, "load_homework", lambda *given: homework)
    before = contents(tmp_path)
    line = refused(run_in(out, "grade"))
    assert "none of the tests that this class was graded with is in solutions/" in line
    assert contents(tmp_path) == before
