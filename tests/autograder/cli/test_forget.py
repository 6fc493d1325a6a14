"""``forget``: nothing of a person is left, and nothing of anybody else is lost."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from autograder.class_run.result_store import ResultStore
from autograder.cli.app import app
from autograder.cli.commands import forget
from autograder.gradebook.course_config import write_course_config
from autograder.judging.results import Flag, FlagKind
from autograder.reports.class_outputs import write_outputs
from tests.autograder.conftest import ROOT, notebook
from tests.autograder.gradebook.recording import record_in_gradebook
from tests.autograder.graded_class import HOMEWORK, result, standings_of

ALIKE = Flag(kind=FlagKind.SIMILAR, text="99% the same as ada_1: double")
OTHER = Flag(kind=FlagKind.SIMILAR, text="99% the same as ada_12: double")


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Return a folder with all that grading writes about ada_1, ada_12 and ben."""
    folder = tmp_path_factory.mktemp("graded")
    out = folder / "out"
    results = [
        result("ada_1"), result("ada_12", flags=(ALIKE,)), result("ben", flags=(OTHER,)),
    ]  # fmt: skip
    for made in results:
        handed_in = folder / "class" / made.student / HOMEWORK.id
        handed_in.mkdir(parents=True)
        (handed_in / f"{HOMEWORK.id}.ipynb").write_bytes(notebook(("double", made.student)))
        for homework in (HOMEWORK.id, "hw09-other"):
            ResultStore(out / "results" / homework).keep(made, "x")
    ResultStore(out / "results" / "hw09-other").set_aside(["ben"])
    write_outputs(standings_of(results), HOMEWORK, out)
    record_in_gradebook(results, folder / "class", HOMEWORK, course_folder=out / "nbgrader")
    return folder


@pytest.fixture
def out(graded, tmp_path):
    shutil.copytree(graded, tmp_path, dirs_exist_ok=True)
    return tmp_path / "out"


def run(*arguments, **options):
    return CliRunner().invoke(app, ["forget", *map(str, arguments)], **options)


def traces(folder, name: str) -> list[str]:
    """Return the files whose path or content has the name, other than as a part of ada_12."""
    found = []
    for path in folder.rglob("*"):
        held = path.read_bytes().replace(b"ada_12", b"") if path.is_file() else b""
        if (
            name in path.relative_to(folder).as_posix().replace("ada_12", "")
            or name.encode() in held
        ):
            found.append(str(path.relative_to(folder)))
    return found


def test_nothing_is_left_and_nobody_else_is_touched(out, tmp_path):
    assert len(traces(tmp_path, "ada_1")) > 10
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file() and "ben" in str(p)}
    outcome = run("ada_1", "--out", out, "--submissions", tmp_path / "class", "--yes")
    assert outcome.exit_code == 0, outcome.output
    for told in (
        "results/hw00-double/ada_1.json", "results/hw09-other/left/ada_1.json", "feedback/ada_1",
        "nbgrader/submitted/ada_1", "nbgrader/autograded/ada_1", "lines in", "marks.log",
        "grades.csv", "rows of 1 submissions", "class/ada_1", "report.html",
    ):  # fmt: skip
        assert told in outcome.stdout
    assert traces(tmp_path, "ada_1") == []
    assert {p: p.read_bytes() for p in before} == before
    assert ResultStore(out / "results" / HOMEWORK.id).read_all()[0].flags == ()
    assert len(traces(out, "ben")) > 5
    assert (out / "marks.log").read_text().count("ada_12\t") == 4
    assert run("ada_1", "--out", out, "--yes").exit_code == 2


def test_a_course_folder_of_nbgraders_holds_nothing_any_more(out, tmp_path):
    course = out / "nbgrader"
    write_course_config(course, ROOT)
    (course / "feedback" / "ada_1").mkdir(parents=True)
    table = "assignment,duedate,timestamp,student_id\nhw00,,,ada_1\nhw00,,,ada_12\n"
    (course / "grades.csv").write_text(table)
    others = course / "submitted" / "ada_12"
    outcome = run("ada_1", "--out", course, "--yes")
    assert outcome.exit_code == 0, outcome.output
    assert traces(course, "ada_1") == []
    assert others.exists()
    assert (course / "grades.csv").read_text() == table.replace("hw00,,,ada_1\n", "", 1)


def test_forget_removes_one_member_of_a_team(out, tmp_path):
    teams = tmp_path / "class" / ".teams.json"
    teams.write_text('{"hw01": {"ada_1": "heads", "ada_12": "heads"}, "hw02": {"zoë": "tails"}}')
    outcome = run("ada_1", "--out", out, "--submissions", tmp_path / "class", "--yes")
    assert outcome.exit_code == 0, outcome.output
    assert "lines in" in outcome.stdout
    assert ".teams.json" in outcome.stdout
    assert json.loads(teams.read_text()) == {"hw01": {"ada_12": "heads"}, "hw02": {"zoë": "tails"}}
    assert traces(tmp_path, "ada_1") == []


def test_a_name_as_long_as_a_folders_may_be_is_forgotten_too(tmp_path):
    long, other = "é" * 127, "é" * 126 + "e"
    store = ResultStore(tmp_path / "results" / HOMEWORK.id)
    store.keep(result(long), "x")
    store.keep(result(other), "y")
    assert store.fingerprints() == {long: "x", other: "y"}
    assert run(long, "--out", tmp_path, "--yes").exit_code == 0
    assert [kept.student for kept in store.read_all()] == [other]


def test_it_asks_and_no_is_no(out):
    before = traces(out, "ada_1")
    outcome = run("ada_1", "--out", out, input="n\n")
    assert outcome.exit_code == 1
    assert "for ever?" in outcome.output
    assert traces(out, "ada_1") == before
    assert run("ada_1", "--out", out, input="y\n").exit_code == 0
    assert traces(out, "ada_1") == []


@pytest.mark.parametrize("name", ["ad", "adda", "*", "..", "", "a/b", "ADA_1", "ada_?"])
def test_unknown_student_is_rejected(out, name):
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    outcome = run(name, "--out", out, "--yes")
    assert outcome.exit_code == 2
    (line,) = outcome.stderr.splitlines()
    assert repr(name) in line
    assert {p: p.read_bytes() for p in out.rglob("*") if p.is_file()} == before


def test_interrupted_forget_is_completed_by_the_next(out, monkeypatch):
    with monkeypatch.context() as patched:

        def full(places, folder):
            raise OSError(28, "No space left on device")

        patched.setattr(forget, "_remove", full)
        outcome = run("ada_1", "--out", out, "--yes")
    assert outcome.exit_code == 2
    assert "not all is removed, run it again" in outcome.stderr
    assert run("ada_1", "--out", out, "--yes").exit_code == 0
    assert traces(out, "ada_1") == []
