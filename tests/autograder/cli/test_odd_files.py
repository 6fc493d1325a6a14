"""What a full disk, a hand or a program has left in the folders of a class: named, never lost."""

import shutil

import pytest
from typer.testing import CliRunner

from autograder.class_run.result_store import ResultStore
from autograder.cli import plan, stored_results
from autograder.cli.app import app
from autograder.gradebook import hand_grades
from autograder.gradebook.database import gradebook_url
from autograder.releasing.generated_assignment import create_tables
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
def out(tmp_path, monkeypatch):
    """What grading wrote of a class of nine, and where they handed in."""
    for made in make_class():
        ResultStore(tmp_path / "out" / "results" / HW).keep(made, made_from="")
        (tmp_path / "class" / made.student / HW).mkdir(parents=True)
    (tmp_path / "out" / "nbgrader" / "autograded" / "ada").mkdir(parents=True)
    create_tables(gradebook_url(tmp_path / "out" / "nbgrader"))
    monkeypatch.setattr(stored_results, "load_homework", lambda *given: HOMEWORK)
    return tmp_path / "out"


def run(command, out):
    """Run a command by its name."""
    arguments = [argument.format(out.parent) for argument in COMMANDS[command]]
    return CliRunner().invoke(app, [*arguments, "--out", str(out)])


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def junk(gradebook):
    gradebook.write_text("junk\n")


def cut(gradebook):
    gradebook.write_bytes(gradebook.read_bytes()[:20_000])


def overwritten(gradebook):
    data = gradebook.read_bytes()
    gradebook.write_bytes(data[:4096] + bytes(4096) + data[8192:])


def emptied(gradebook):
    gradebook.write_text("")


def made_a_folder(gradebook):
    gradebook.unlink()
    gradebook.mkdir()


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("damage", [junk, cut, overwritten, emptied, made_a_folder])
def test_a_damaged_gradebook_is_refused_in_a_sentence(out, command, damage):
    gradebook = out / "nbgrader" / "gradebook.db"
    damage(gradebook)
    before = files(out.parent)
    outcome = run(command, out)
    assert outcome.exit_code == 2
    (line,) = outcome.stderr.splitlines()
    assert line.startswith(f"Error: {gradebook} is damaged (")
    assert "restore a backup, or move it away and run grade again" in line
    assert files(out.parent) == before


@pytest.mark.parametrize("command", ["report", "feedback", "export"])
def test_a_gradebook_that_fails_while_it_is_read_is_told_in_a_sentence(out, command, monkeypatch):
    from sqlalchemy.exc import OperationalError

    def fail(*given):
        raise OperationalError("SELECT x\nFROM y", {}, Exception("the server is gone"))

    monkeypatch.setattr(hand_grades, "_read", fail)
    before = files(out.parent)
    outcome = run(command, out)
    assert outcome.exit_code == 2
    (line,) = outcome.stderr.splitlines()
    assert "the server is gone" in line
    assert "what was given by hand is not known, so nothing is written" in line
    assert "SELECT" not in line
    assert "sqlalche.me" not in line
    assert files(out.parent).keys() == before.keys()


def test_a_new_gradebook_in_the_place_of_none_is_no_damage(out):
    shutil.rmtree(out / "nbgrader")
    assert run("report", out).exit_code == 0
    (out / "nbgrader").mkdir()
    (out / "nbgrader" / "gradebook.db").write_text("")  # as a run leaves it that is killed there
    plan.usable_gradebook("", out)
