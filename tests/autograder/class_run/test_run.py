"""Grading a class: everybody gets a result, whatever lies in their folder."""

import contextlib
import dataclasses
import os
import threading
import types
from pathlib import Path

import psutil
import pytest

from autograder.class_run import run as class_run
from autograder.class_run import submissions
from autograder.class_run.course import Course
from autograder.class_run.judges import JudgePool
from autograder.class_run.options import GradingOptions
from autograder.class_run.result_store import ResultStore, fingerprint, result_file
from autograder.class_run.run import grade_class
from autograder.homework_source.homework import Homework, HomeworkError
from autograder.judging.check_limits import TimeLimits
from autograder.judging.results import Flag, FlagKind, Status, interrupted, ungraded
from tests.autograder.conftest import DOUBLE, ROOT, notebook

RIGHT = notebook(("double", "def double(x):\n    return x + x"))
WRONG = notebook(("double", "def double(x):\n    return x"))


@pytest.fixture
def course(monkeypatch):
    files = ("course_lib/__init__.py", "course_lib/testing.py")
    library = {name: (ROOT / name).read_text() for name in files}
    small = Course(homework=DOUBLE, library=library)
    monkeypatch.setattr(Course, "load", classmethod(lambda cls, homework, root: small))


def hand_in(folder: Path, student: str, data: bytes) -> Path:
    path = folder / student / DOUBLE.id / f"{DOUBLE.id}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    return path


@pytest.fixture(scope="module")
def judges():
    """What grades here, started once for all tests."""
    with contextlib.closing(JudgePool()) as made:
        yield made


@pytest.fixture
def grade(judges):
    def grade(folder, **how):
        places = {name: how.pop(name) for name in ("store", "on_result", "judges") if name in how}
        limits = TimeLimits(check_seconds=5.0, submission_seconds=600.0)
        options = GradingOptions(**{"limits": limits, "workers": 1} | how)
        return grade_class(DOUBLE, folder, options, root=ROOT, **{"judges": judges} | places)

    return grade


@pytest.mark.sandbox
@pytest.mark.usefixtures("course")
def test_a_class_is_graded_and_nobody_is_left_out(grade, tmp_path):
    hand_in(tmp_path, "ada", RIGHT)
    hand_in(tmp_path, "bo", WRONG)
    hand_in(tmp_path, "cy", b"{not json")
    (tmp_path / "dee" / DOUBLE.id).mkdir(parents=True)
    link = tmp_path / "eve" / DOUBLE.id / f"{DOUBLE.id}.ipynb"
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "ada" / DOUBLE.id / f"{DOUBLE.id}.ipynb")
    pipe = tmp_path / "fay" / DOUBLE.id / f"{DOUBLE.id}.ipynb"
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)
    folder = tmp_path / "gil" / DOUBLE.id / f"{DOUBLE.id}.ipynb"
    folder.mkdir(parents=True)
    with hand_in(tmp_path, "hal", b"").open("wb") as file:
        file.truncate(2 << 30)
    (tmp_path / "notes.txt").write_text("not a student")
    seen = []
    results = grade(tmp_path, on_result=lambda result: seen.append(result.student))
    assert {result.student: result.score for result in results} == {
        "ada": 5.0,
        **dict.fromkeys(("bo", "cy", "dee", "eve", "fay", "gil", "hal"), 0.0),
    }
    assert sorted(seen) == [result.student for result in results]
    errors = {result.student: result.error for result in results}
    assert "not valid JSON" in errors["cy"]
    assert "missing" in errors["dee"]
    assert "is a link" in errors["eve"]
    assert "not a regular file" in errors["fay"]
    assert "not a regular file" in errors["gil"]
    assert "2048 MiB" in errors["hal"]
    assert errors["bo"] == ""


@pytest.mark.sandbox
@pytest.mark.usefixtures("course")
def test_only_what_is_missing_or_has_changed_is_graded(grade, tmp_path, monkeypatch):
    folder, store = tmp_path / "class", ResultStore(tmp_path / "results")
    ada = hand_in(folder, "ada", RIGHT)
    hand_in(folder, "bo", WRONG)
    first = grade(folder, store=store)

    with monkeypatch.context() as context:
        context.setattr(class_run, "_grade_all", lambda c, missing, *a: list(missing))
        assert grade(folder, store=store) == first  # would fail on any that is missing
    ada.write_bytes(WRONG)
    (tmp_path / "results" / "bo.json").write_text('{"made_from": "half')
    kept = grade(folder, store=store)
    assert {result.student: result.score for result in kept} == {"ada": 0.0, "bo": 0.0}
    with monkeypatch.context() as context:
        context.setattr(store, "find", None)  # would fail if asked
        again = grade(folder, store=store, force=True)
    assert [result.seed for result in again] == [result.seed for result in kept]


def test_when_it_was_handed_in_is_kept_and_told_anew(tmp_path, monkeypatch):
    course = Course(homework=DOUBLE, library={}, digest="one")
    store, path = ResultStore(tmp_path / "results"), hand_in(tmp_path / "class", "ada", RIGHT)
    monkeypatch.setattr(class_run, "_grade_all", lambda c, missing, *a: list(missing))
    store.keep(ungraded(DOUBLE, "ada", ""), fingerprint(course, RIGHT))
    for name, text, handed_in, late in (
        ("timestamp.txt", "2026-10-01 12:00:00.5 UTC\n", "2026-10-01T12:00:00.500000+00:00", False),
        ("timestamp.txt", "2026-10-01 12:00:00 Europe/Berlin", "2026-10-01T10:00:00+00:00", False),
        ("timestamp.txt", "2026-10-01T14:00:00+02:00", "2026-10-01T12:00:00+00:00", False),
        ("timestamp.txt", "soon", "", False),
        ("late.txt", "Marked as late.", "", True),
    ):
        path.with_name(name).write_text(text)
        (result,) = class_run.grade_notebooks(
            course, {"ada": path}, GradingOptions(), judges=None, store=store
        )
        assert (result.handed_in, result.marked_late) == (handed_in, late)
        assert store.read_all() == [result]
        assert store.find("ada", fingerprint(course, RIGHT)) == result


def test_the_one_notebook_of_a_team_is_graded_once(tmp_path, monkeypatch):
    course = Course(homework=DOUBLE, library={}, digest="one")
    handed_in = {"ada": RIGHT, "bo": RIGHT, "cy": WRONG, "dee": RIGHT}
    notebooks = {name: hand_in(tmp_path / "class", name, data) for name, data in handed_in.items()}
    notebooks["bo"].with_name("late.txt").write_text("Marked as late.")
    asked = []

    def grade(course, missing, *others):
        for student, (path, _) in missing.items():
            asked.append(student)
            result = ungraded(DOUBLE, student, "", seed=len(asked))
            yield [(result, fingerprint(course, path.read_bytes()))]

    monkeypatch.setattr(class_run, "_grade_all", grade)
    store = ResultStore(tmp_path / "results")
    results = list(
        class_run.grade_notebooks(
            course, notebooks, GradingOptions(), judges=None, store=store,
            teams=dict.fromkeys(("ada", "bo", "cy"), "the-three"),
        )
    )  # fmt: skip
    assert asked == ["ada", "cy", "dee"]  # cy has another notebook, and dee no team
    assert {result.student: result.seed for result in results} == {
        "ada": 1, "bo": 1, "cy": 2, "dee": 3
    }  # fmt: skip
    assert [r.student for r in results if r.marked_late] == ["bo"]
    assert sorted(store.read_all(), key=lambda r: r.student) == sorted(
        results, key=lambda r: r.student
    )


def test_who_hands_in_a_teams_notebook_later_has_the_teams_marks(tmp_path, monkeypatch):
    course = Course(homework=DOUBLE, library={}, digest="one")
    monkeypatch.setattr(class_run, "_grade_all", lambda c, missing, *a: list(missing))
    store = ResultStore(tmp_path / "results")
    store.keep(ungraded(DOUBLE, "ada", "", seed=7), fingerprint(course, RIGHT))
    path = hand_in(tmp_path / "class", "bo", RIGHT)
    (result,) = class_run.grade_notebooks(
        course, {"bo": path}, GradingOptions(), judges=None, store=store,
        teams=dict.fromkeys(("ada", "bo"), "the-two"),
    )  # fmt: skip
    assert (result.student, result.seed) == ("bo", 7)
    assert store.find("bo", fingerprint(course, RIGHT)) == result


def test_who_comes_later_is_graded_beside_who_takes_long(tmp_path):
    course = Course(homework=DOUBLE, library={}, digest="one")
    places = {name: hand_in(tmp_path / "class", name, RIGHT) for name in ("eve", "bo", "cy")}
    come = [{"bo": places["bo"]}, {"cy": places["cy"]}, {"nobody": tmp_path / "none"}]
    come += [{}, {"nobody either": tmp_path / "none"}]
    over = threading.Event()

    def grade(notebook, student, seed):
        assert student != "eve" or over.wait(60)
        return ungraded(DOUBLE, student, "")

    judge = types.SimpleNamespace(grade=grade)
    judges = types.SimpleNamespace(acquire=lambda *a, **k: [judge] * 2, close=lambda: None)
    graded = class_run.grade_notebooks(
        course, {"eve": places["eve"]}, GradingOptions(workers=2), judges=judges,
        more=lambda: come.pop(0) if come else {},
    )  # fmt: skip
    assert [next(graded).student for _ in range(3)] == ["bo", "cy", "nobody"]
    over.set()
    assert sorted(result.student for result in graded) == ["eve", "nobody either"]
    assert come == []


def broken(exercise: str, old: str, new: str) -> Homework:
    """The small homework with one cell changed by an instructor."""
    cells = tuple(
        dataclasses.replace(cell, source=cell.source.replace(old, new))
        if cell.grade_id == exercise
        else cell
        for cell in DOUBLE.cells
    )
    assert cells != DOUBLE.cells
    return dataclasses.replace(DOUBLE, cells=cells)


@pytest.mark.parametrize(
    ("cell", "old", "new", "words"),
    [
        (
            "double-values",
            "factor * secret",
            "3 * secret",
            "pass double-values; double-values says",
        ),
        ("double-values", "factor * secret", "no_such_name", "does not pass double-values"),
        ("double-gradient", "torch.randn(5", "torch.rand(-5", "does not pass double-gradient"),
        ("double-gradient", "x.grad", "0.5", "does not pass double-gradient"),
        ("double", "2 * x", "3 * x", "does not pass double-values, double-gradient"),
        ("imports", "factor = 2.0", "factor = two", "the setup cell imports raised NameError: "),
    ],
)
@pytest.mark.usefixtures("course")
def test_a_broken_test_or_solution_is_named_and_nobody_is_graded(
    judges, tmp_path, monkeypatch, cell, old, new, words
):
    hand_in(tmp_path / "class", "ada", RIGHT)
    homework = broken(cell, old, new)
    small = Course(homework=homework, library=Course.load(DOUBLE, ROOT).library)
    monkeypatch.setattr(Course, "load", classmethod(lambda cls, homework, root: small))
    monkeypatch.setattr(class_run, "_PAUSE_SECONDS", 0.01)
    store, begun = ResultStore(tmp_path / "results"), []
    limits = TimeLimits(check_seconds=5.0, submission_seconds=600.0)
    options = GradingOptions(limits=limits, workers=1, isolated=False)
    with pytest.raises(HomeworkError, match=words) as refused:
        grade_class(
            homework, tmp_path / "class", options,
            root=ROOT, judges=judges, store=store, on_start=begun.append,
        )  # fmt: skip
    assert str(refused.value).startswith("nobody was graded: the reference solution of hw00-double")
    assert begun == store.read_all() == []


def test_the_reference_is_tried_once_for_the_same_tests(tmp_path, monkeypatch):
    one, two = (Course(homework=DOUBLE, library={}, digest=digest) for digest in ("one", "two"))
    hand_in(tmp_path / "class", "ada", RIGHT)
    store, tried = ResultStore(tmp_path / "results"), []

    def grade(course, missing, *others):
        for student, (path, _) in missing.items():
            if student == "reference":
                tried.append(course.digest)
                yield []
            else:
                made_from = fingerprint(course, path.read_bytes())
                yield [(dataclasses.replace(ungraded(DOUBLE, student, ""), seed=7), made_from)]

    monkeypatch.setattr(class_run, "_grade_all", grade)
    for course, how in ((one, {}), (one, {}), (two, {}), (two, {"force": True})):
        monkeypatch.setattr(Course, "load", classmethod(lambda *given, course=course: course))
        options = GradingOptions(isolated=False, **how)
        judges = types.SimpleNamespace()
        grade_class(DOUBLE, tmp_path / "class", options, root=ROOT, judges=judges, store=store)
    assert tried == ["one", "two", "two"]


def test_a_notebook_that_gets_its_right_name_is_flagged_no_more(tmp_path, monkeypatch):
    course = Course(homework=DOUBLE, library={}, digest="one")
    path = hand_in(tmp_path / "class", "ada", RIGHT)
    monkeypatch.setattr(class_run, "_grade_all", lambda c, missing, *a: list(missing))
    store = ResultStore(tmp_path / "results")
    similar = Flag(kind=FlagKind.SIMILAR, text="as another's")
    found = dataclasses.replace(ungraded(DOUBLE, "ada", ""), flags=(similar,))
    store.keep(found, fingerprint(course, RIGHT))
    other = path.rename(path.with_name("mine.ipynb"))
    for where, kinds in ((other, ["misnamed", "similar"]), (other, ["misnamed", "similar"])):
        (result,) = class_run.grade_notebooks(
            course, {"ada": where}, GradingOptions(), judges=None, store=store
        )
        assert [flag.kind for flag in result.flags] == kinds
    path = other.rename(path)
    (result,) = class_run.grade_notebooks(
        course, {"ada": path}, GradingOptions(), judges=None, store=store
    )
    assert result.flags == (similar,)
    assert store.read_all() == [result]


def test_an_interrupted_grading_does_not_lose_the_seed(tmp_path):
    course = Course(homework=DOUBLE, library={}, digest="one")
    store = ResultStore(tmp_path)
    store.keep(dataclasses.replace(ungraded(DOUBLE, "ada", ""), seed=7), fingerprint(course, RIGHT))
    for _ in range(2):
        store.keep_ungraded(interrupted(DOUBLE, "ada", "the disk is away"))
        assert store.find("ada", fingerprint(course, RIGHT)) is None
        assert store.find_seed("ada", fingerprint(course, RIGHT)) == 7
        assert store.find_seed("ada", fingerprint(course, WRONG)) is None
    assert not store.has_graded(course)


@pytest.mark.usefixtures("course")
@pytest.mark.parametrize("readable", [0, 1], ids=["at once", "while others are graded"])
def test_a_notebook_that_cant_be_read_stops_nobody_else(grade, tmp_path, monkeypatch, readable):
    for student in ("ada", "bo", "cy"):
        hand_in(tmp_path, student, RIGHT)
    read, times = submissions._read_file, []

    def refuse(path):
        if "bo" in path.parts:
            times.append(path)
            if len(times) > readable:
                raise PermissionError(13, "Permission denied")
        return read(path)

    monkeypatch.setattr(submissions, "_read_file", refuse)
    results = {result.student: result for result in grade(tmp_path, isolated=False)}
    assert {student: result.score for student, result in results.items()} == {
        "ada": 5.0, "bo": 0.0, "cy": 5.0,
    }  # fmt: skip
    assert [student for student, made in results.items() if made.interrupted] == ["bo"]
    assert (
        results["bo"]
        .flags[0]
        .text.endswith("bo/hw00-double/hw00-double.ipynb can't be read: Permission denied")
    )


@pytest.mark.usefixtures("course")
def test_a_folder_that_cant_be_opened_stops_nobody_else(grade, tmp_path, monkeypatch):
    closed = hand_in(tmp_path, "ada", RIGHT).parent.parent  # looked at first
    hand_in(tmp_path, "bo", RIGHT)
    ask = Path.stat

    def refuse(path, **options):
        if closed in path.parents:
            raise PermissionError(13, "Permission denied")
        return ask(path, **options)

    monkeypatch.setattr(Path, "stat", refuse)
    ada, bo = grade(tmp_path, isolated=False)
    assert (ada.score, bo.score) == (0.0, 5.0)
    assert ada.interrupted
    assert ada.flags[0].text.endswith(
        "ada/hw00-double/hw00-double.ipynb can't be read: Permission denied"
    )


@pytest.mark.usefixtures("course")
@pytest.mark.parametrize("name", ["y" * 251, "é" * 127, "a\udcff"])
def test_odd_folder_name_stops_nobody(grade, tmp_path, name):
    for student in ("ada", name):
        hand_in(tmp_path / "class", student, RIGHT)
    store = ResultStore(tmp_path / "results")
    results = grade(tmp_path / "class", store=store, isolated=False)
    assert {r.student: r.score for r in results} == {"ada": 5.0, name: 5.0}
    assert {r.student for r in store.read_all()} == {"ada", name}
    assert store.set_aside(["ada", name]) == []


def test_who_is_called_as_anothers_result_keeps_a_file_of_its_own():
    long = "é" * 127
    another = result_file(long).removesuffix(".json")
    assert result_file(another) != result_file(long)
    assert result_file("y" * 184) == "y" * 184 + ".json"


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_a_notebook_that_turns_into_something_else_is_not_followed(tmp_path, monkeypatch, kind):
    path = hand_in(tmp_path, "ada", RIGHT)
    secret = hand_in(tmp_path, "staff", RIGHT)
    monkeypatch.setattr(Path, "is_symlink", lambda path: False)  # nor was it when it was asked
    path.unlink()
    os.mkfifo(path) if kind == "pipe" else path.symlink_to(secret)
    with pytest.raises(submissions.UnreadableError, match="not a regular file"):
        submissions.read_notebook(path)


@pytest.mark.parametrize(
    "words", ["1" * 50 + "m/UTC", "9" * 30, "٣" * 9, "nan UTC", "\0", "9999-12-31"]
)
def test_words_that_are_no_time_are_none(tmp_path, words):
    (tmp_path / "timestamp.txt").write_text(words)
    assert submissions.read_handed_in(tmp_path) is None


@pytest.mark.usefixtures("course")
def test_a_mark_made_without_protection_counts_for_no_run_with_it(grade, tmp_path, monkeypatch):
    folder, store = tmp_path / "class", ResultStore(tmp_path / "results")
    hand_in(folder, "ada", RIGHT)
    first = grade(folder, store=store, isolated=False)
    graded = []
    monkeypatch.setattr(class_run, "_grade_all", lambda c, m, *a: graded.extend(m) or [])
    monkeypatch.setattr(class_run, "check_sandbox", lambda: None)
    assert grade(folder, store=store, isolated=False) == first
    assert graded == []
    grade(folder, store=store)
    assert graded == ["ada"]


@pytest.mark.usefixtures("course")
def test_a_class_graded_here_opens_no_port(grade, tmp_path):
    for student in ("ada", "bo", "cy"):
        hand_in(tmp_path, student, RIGHT)
    listening = []

    def look(result):
        for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                listening.extend(c for c in process.net_connections("inet"))

    before = psutil.Process().net_connections("inet")
    assert len(grade(tmp_path, workers=2, isolated=False, on_result=look)) == 3
    assert not set(listening) - set(before)


class CrashesOnce:
    """A judge whose first run of a notebook crashes; each run notices something of its own."""

    runs = 0

    def grade(self, notebook, student, *, seed):
        self.runs += 1
        result = ungraded(DOUBLE, student, "")
        status = Status.CRASH if self.runs == 1 else Status.PASS
        checks = tuple(dataclasses.replace(check, status=status) for check in result.checks)
        noticed = ["in both", f"in run {self.runs}"]
        flags = tuple(Flag(kind=FlagKind.HOSTILE, text=text) for text in noticed)
        return dataclasses.replace(result, checks=checks, flags=flags, seed=seed)


def test_what_was_noticed_before_a_crash_stays_noticed():
    result = class_run.grade_patiently(CrashesOnce(), RIGHT, "ada", 1)
    assert {check.status for check in result.checks} == {Status.PASS}
    assert [flag.text for flag in result.flags] == ["in both", "in run 1", "in run 2"]
