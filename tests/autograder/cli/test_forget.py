"""``forget``: nothing of a person is left, and nothing of anybody else is lost."""

import json
import shutil

import pytest

from autograder.class_run.result_store import ResultStore
from autograder.cli.commands import forget as forget_module
from autograder.gradebook.course_config import write_course_config
from autograder.judging.results import Flag, FlagKind
from tests.autograder.command_line import contents, refused, run
from tests.autograder.conftest import ROOT
from tests.autograder.gradebook.recording import write_graded_class
from tests.autograder.graded_class import HOMEWORK, result, store_results

ALIKE = Flag(kind=FlagKind.SIMILAR, text="99% the same as ada_1: double")
OTHER = Flag(kind=FlagKind.SIMILAR, text="99% the same as ada_12: double")


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Return a folder with all that grading writes about ada_1, ada_12 and ben."""
    flags = {"ada_1": (), "ada_12": (ALIKE,), "ben": (OTHER,)}
    results = [result(student, flags=of) for student, of in flags.items()]
    out = write_graded_class(tmp_path_factory.mktemp("graded"), results)
    store_results(out, results, "hw09-other").set_aside(["ben"])
    return out.parent


@pytest.fixture
def out(graded, tmp_path):
    shutil.copytree(graded, tmp_path, dirs_exist_ok=True)
    return tmp_path / "out"


def forget(*arguments, **options):
    return run("forget", *arguments, **options)


def traces(folder, name: str) -> list[str]:
    """Return the files that contain a student's name in path or content; ada_12 is not ada_1."""
    found = []
    for path in folder.rglob("*"):
        held = path.read_bytes() if path.is_file() else b""
        here = str(path.relative_to(folder))
        if name.encode() in (here.encode() + held).replace(b"ada_12", b""):
            found.append(here)
    return found


def test_nothing_is_left_and_nobody_else_is_touched(out, tmp_path):
    assert len(traces(tmp_path, "ada_1")) > 10
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file() and "ben" in str(p)}
    outcome = forget("ada_1", "--out", out, "--submissions", tmp_path / "class", "--yes")
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
    assert forget("ada_1", "--out", out, "--yes").exit_code == 2


def test_a_course_folder_of_nbgraders_holds_nothing_any_more(out, tmp_path):
    course = out / "nbgrader"
    write_course_config(course, ROOT)
    (course / "feedback" / "ada_1").mkdir(parents=True)
    table = "assignment,duedate,timestamp,student_id\nhw00,,,ada_1\nhw00,,,ada_12\n"
    (course / "grades.csv").write_text(table)
    others = course / "submitted" / "ada_12"
    outcome = forget("ada_1", "--out", course, "--yes")
    assert outcome.exit_code == 0, outcome.output
    assert traces(course, "ada_1") == []
    assert others.exists()
    assert (course / "grades.csv").read_text() == table.replace("hw00,,,ada_1\n", "", 1)


def test_forget_removes_one_member_of_a_team(out, tmp_path):
    teams = tmp_path / "class" / ".teams.json"
    teams.write_text('{"hw01": {"ada_1": "heads", "ada_12": "heads"}, "hw02": {"zoë": "tails"}}')
    outcome = forget("ada_1", "--out", out, "--submissions", tmp_path / "class", "--yes")
    assert outcome.exit_code == 0, outcome.output
    assert "lines in" in outcome.stdout
    assert ".teams.json" in outcome.stdout
    assert json.loads(teams.read_text()) == {"hw01": {"ada_12": "heads"}, "hw02": {"zoë": "tails"}}
    assert traces(tmp_path, "ada_1") == []


def test_a_name_as_long_as_a_folders_may_be_is_forgotten_too(tmp_path):
    long, other = "é" * 127, "é" * 126 + "e"
    store = store_results(tmp_path, [result(long), result(other)])
    assert store.fingerprints().keys() == {long, other}
    assert forget(long, "--out", tmp_path, "--yes").exit_code == 0
    assert [kept.student for kept in store.read_all()] == [other]


def test_it_asks_and_no_is_no(out):
    before = traces(out, "ada_1")
    outcome = forget("ada_1", "--out", out, input="n\n")
    assert outcome.exit_code == 1
    assert "for ever?" in outcome.output
    assert traces(out, "ada_1") == before
    assert forget("ada_1", "--out", out, input="y\n").exit_code == 0
    assert traces(out, "ada_1") == []


@pytest.mark.parametrize("name", ["ad", "adda", "*", "..", "", "a/b", "ADA_1", "ada_?"])
def test_unknown_student_is_rejected(out, name):
    before = contents(out)
    assert repr(name) in refused(forget(name, "--out", out, "--yes"))
    assert contents(out) == before


def test_interrupted_forget_is_completed_by_the_next(out, monkeypatch):
    with monkeypatch.context() as patched:

        def full(places, folder):
            raise OSError(28, "No space left on device")

        patched.setattr(forget_module, "_remove", full)
        outcome = forget("ada_1", "--out", out, "--yes")
    assert outcome.exit_code == 2
    assert "not all is removed, run it again" in outcome.stderr
    assert forget("ada_1", "--out", out, "--yes").exit_code == 0
    assert traces(out, "ada_1") == []
