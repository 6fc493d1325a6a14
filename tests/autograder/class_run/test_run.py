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
from autograder.homework_source.homework import HomeworkError
from autograder.judging.check_limits import TimeLimits
from autograder.judging.results import Flag, FlagKind, Status, interrupted, ungraded
from tests.autograder.conftest import DOUBLE, ROOT, notebook, with_sources

RIGHT = notebook(("double", "def double(x):\n    return x + x"))
WRONG = notebook(("double", "def double(x):\n    return x"))
FILES = ("course_lib/__init__.py", "course_lib/testing.py")
LIBRARY = {name: (ROOT / name).read_text() for name in FILES}
NO_JUDGES = types.SimpleNamespace(seed=1)
ONE, TWO = (Course(homework=DOUBLE, library={}, digest=digest) for digest in ("one", "two"))
DENIED = "{}/hw00-double/hw00-double.ipynb can't be read: Permission denied"


def hand_in(folder: Path, student: str, data: bytes) -> Path:
    path = folder / student / DOUBLE.id / f"{DOUBLE.id}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    return path


@pytest.fixture(scope="module")
def judges():
    with contextlib.closing(JudgePool()) as made:
        yield made


@pytest.fixture
def store(tmp_path):
    return ResultStore(tmp_path / "results")


@pytest.fixture
def grade(judges, monkeypatch):
    """Return a function that grades the class in a folder and returns the results.

    Further arguments are those of ``GradingOptions`` and ``grade_class``.
    """

    def grade(folder, homework=DOUBLE, **how):
        course = Course(homework=homework, library=LIBRARY)
        monkeypatch.setattr(Course, "load", classmethod(lambda cls, homework, root: course))
        names = ("store", "on_result", "on_start")
        places = {name: how.pop(name) for name in names if name in how}
        limits = TimeLimits(check_seconds=5.0, submission_seconds=600.0)
        options = GradingOptions(**{"limits": limits, "workers": 1} | how)
        return grade_class(homework, folder, options, root=ROOT, judges=judges, **places)

    return grade


@pytest.fixture
def stored_results(store, monkeypatch):
    """Return a function from notebooks by student to a list of their results in the store.

    No notebook is graded. Further arguments are those of ``grade_notebooks``.
    """

    def stored_results(notebooks, **how):
        monkeypatch.setattr(class_run, "_grade_all", lambda c, missing, *a: list(missing))
        options = GradingOptions()
        return list(
            class_run.grade_notebooks(ONE, notebooks, options, judges=NO_JUDGES, store=store, **how)
        )

    return stored_results


@pytest.mark.sandbox
def test_a_class_is_graded_and_nobody_is_left_out(grade, tmp_path):
    hand_in(tmp_path, "ada", RIGHT)
    hand_in(tmp_path, "bo", WRONG)
    hand_in(tmp_path, "cy", b"{not json")
    (tmp_path / "dee" / DOUBLE.id).mkdir(parents=True)
    eve, fay, gil = (hand_in(tmp_path, student, b"") for student in ("eve", "fay", "gil"))
    for path in (eve, fay, gil):
        path.unlink()
    eve.symlink_to(tmp_path / "ada" / DOUBLE.id / f"{DOUBLE.id}.ipynb")
    os.mkfifo(fay)
    gil.mkdir()
    with hand_in(tmp_path, "hal", b"").open("wb") as file:
        file.truncate(2 << 30)
    (tmp_path / "notes.txt").write_text("not a student")
    seen = []
    results = grade(tmp_path, on_result=lambda result: seen.append(result.student))
    assert sorted(seen) == [result.student for result in results]
    errors = {
        "ada": "", "bo": "", "cy": "not valid JSON", "dee": "missing", "eve": "is a link",
        "fay": "not a regular file", "gil": "not a regular file", "hal": "2048 MiB",
    }  # fmt: skip
    for result in results:
        assert result.score == (5.0 if result.student == "ada" else 0.0)
        assert errors[result.student] in result.error
        assert bool(errors[result.student]) == bool(result.error)
    assert len(results) == len(errors)


@pytest.mark.sandbox
def test_only_missing_or_changed_submissions_are_graded(grade, store, tmp_path, monkeypatch):
    ada = hand_in(tmp_path / "class", "ada", RIGHT)
    hand_in(tmp_path / "class", "bo", WRONG)
    first = grade(tmp_path / "class", store=store)
    assert first[0].seed == first[1].seed != JudgePool().seed
    with monkeypatch.context() as context:
        context.setattr(class_run, "_grade_all", lambda c, missing, *a: list(missing))
        assert grade(tmp_path / "class", store=store) == first  # would fail on any that is missing
    ada.write_bytes(WRONG)
    (tmp_path / "results" / "bo.json").write_text('{"made_from": "half')
    kept = grade(tmp_path / "class", store=store)
    assert {result.student: result.score for result in kept} == {"ada": 0.0, "bo": 0.0}
    with monkeypatch.context() as context:
        context.setattr(store, "find", None)  # would fail if asked
        again = grade(tmp_path / "class", store=store, force=True)
    assert [result.seed for result in again] == [result.seed for result in kept]


@pytest.mark.parametrize(
    ("name", "text", "handed_in", "late"),
    [
        ("timestamp.txt", "2026-10-01 12:00:00.5 UTC\n", "2026-10-01T12:00:00.500000+00:00", False),
        ("timestamp.txt", "2026-10-01 12:00:00 Europe/Berlin", "2026-10-01T10:00:00+00:00", False),
        ("timestamp.txt", "2026-10-01T14:00:00+02:00", "2026-10-01T12:00:00+00:00", False),
        *(
            ("timestamp.txt", text, "", False)
            for text in ("soon", "1" * 50 + "m/UTC", "9" * 30, "nan UTC", "\0", "9999-12-31")
        ),
        ("late.txt", "Marked as late.", "", True),
    ],
)
def test_time_of_submission_is_read_again(
    stored_results, store, tmp_path, name, text, handed_in, late
):
    path = hand_in(tmp_path / "class", "ada", RIGHT)
    store.keep(ungraded(DOUBLE, "ada", ""), fingerprint(ONE, RIGHT))
    path.with_name(name).write_text(text)
    (result,) = stored_results({"ada": path})
    assert (result.handed_in, result.marked_late) == (handed_in, late)
    assert store.find("ada", fingerprint(ONE, RIGHT)) == result


def test_the_one_notebook_of_a_team_is_graded_once(store, tmp_path, monkeypatch):
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
    teams = dict.fromkeys(("ada", "bo", "cy"), "the-three")
    graded = class_run.grade_notebooks(
        ONE, notebooks, GradingOptions(), judges=NO_JUDGES, store=store, teams=teams
    )
    results = sorted(graded, key=lambda result: result.student)
    assert asked == ["ada", "cy", "dee"]  # cy has another notebook, and dee no team
    assert [result.seed for result in results] == [1, 1, 2, 3]
    assert [r.student for r in results if r.marked_late] == ["bo"]
    assert store.read_all() == results


def test_teams_marks_hold_for_a_member_who_hands_in_later(stored_results, store, tmp_path):
    store.keep(ungraded(DOUBLE, "ada", "", seed=7), fingerprint(ONE, RIGHT))
    path = hand_in(tmp_path / "class", "bo", RIGHT)
    (result,) = stored_results({"bo": path}, teams=dict.fromkeys(("ada", "bo"), "the-two"))
    assert (result.student, result.seed) == ("bo", 7)
    assert store.find("bo", fingerprint(ONE, RIGHT)) == result


def test_arrivals_are_graded_beside_a_slow_notebook(tmp_path):
    places = {name: hand_in(tmp_path / "class", name, RIGHT) for name in ("eve", "bo", "cy")}
    come = [{"bo": places["bo"]}, {"cy": places["cy"]}, {"nobody": tmp_path / "none"}]
    come += [{}, {"nobody either": tmp_path / "none"}]
    over = threading.Event()

    def grade(notebook, student, seed):
        assert student != "eve" or over.wait(60)
        return ungraded(DOUBLE, student, "")

    judge = types.SimpleNamespace(grade=grade)
    judges = types.SimpleNamespace(seed=1, acquire=lambda *a, **k: [judge] * 2, close=lambda: None)
    graded = class_run.grade_notebooks(
        ONE, {"eve": places["eve"]}, GradingOptions(workers=2), judges=judges,
        more=lambda: come.pop(0) if come else {},
    )  # fmt: skip
    assert [next(graded).student for _ in range(3)] == ["bo", "cy", "nobody"]
    over.set()
    assert sorted(result.student for result in graded) == ["eve", "nobody either"]
    assert come == []


@pytest.mark.parametrize(
    ("changed", "old", "new", "words"),
    [
        ("double-values", "factor *", "3 *", "does not pass double-values; double-values says: "),
        ("double", "2 * x", "3 * x", "does not pass double-values, double-gradient"),
        ("imports", "factor = 2.0", "factor = two", "the setup cell imports raised NameError: "),
    ],
)
def test_a_broken_test_or_solution_is_named_and_nobody_is_graded(
    grade, store, tmp_path, monkeypatch, changed, old, new, words
):
    hand_in(tmp_path / "class", "ada", RIGHT)
    (cell,) = (cell for cell in DOUBLE.cells if cell.grade_id == changed)
    homework = with_sources({changed: cell.source.replace(old, new)})
    assert homework != DOUBLE
    monkeypatch.setattr(class_run, "_PAUSE_SECONDS", 0.01)
    begun = []
    how = {"store": store, "on_start": begun.append, "isolated": False}
    with pytest.raises(HomeworkError, match=words) as refused:
        grade(tmp_path / "class", homework, **how)
    assert str(refused.value).startswith("nobody was graded: the reference solution of hw00-double")
    assert begun == store.read_all() == []


def test_the_reference_is_tried_once_for_the_same_tests(store, tmp_path, monkeypatch):
    hand_in(tmp_path / "class", "ada", RIGHT)
    tried = []

    def grade(course, missing, *others):
        for student, (path, _) in missing.items():
            if student == "reference":
                tried.append(course.digest)
                yield []
            else:
                made_from = fingerprint(course, path.read_bytes())
                yield [(dataclasses.replace(ungraded(DOUBLE, student, ""), seed=7), made_from)]

    monkeypatch.setattr(class_run, "_grade_all", grade)
    for course, how in ((ONE, {}), (ONE, {}), (TWO, {}), (TWO, {"force": True})):
        monkeypatch.setattr(Course, "load", classmethod(lambda *given, course=course: course))
        options = GradingOptions(isolated=False, **how)
        grade_class(DOUBLE, tmp_path / "class", options, root=ROOT, judges=NO_JUDGES, store=store)
    assert tried == ["one", "two", "two"]


def test_a_notebook_that_gets_its_right_name_is_flagged_no_more(stored_results, store, tmp_path):
    path = hand_in(tmp_path / "class", "ada", RIGHT)
    similar = Flag(kind=FlagKind.SIMILAR, text="as another's")
    found = dataclasses.replace(ungraded(DOUBLE, "ada", ""), flags=(similar,))
    store.keep(found, fingerprint(ONE, RIGHT))
    other = path.rename(path.with_name("mine.ipynb"))
    for _ in range(2):
        (result,) = stored_results({"ada": other})
        assert [flag.kind for flag in result.flags] == ["misnamed", "similar"]
    (result,) = stored_results({"ada": other.rename(path)})
    assert result.flags == (similar,)
    assert store.read_all() == [result]


def test_an_interrupted_grading_does_not_lose_the_seed(store):
    store.keep(dataclasses.replace(ungraded(DOUBLE, "ada", ""), seed=7), fingerprint(ONE, RIGHT))
    for _ in range(2):
        store.keep_ungraded(interrupted(DOUBLE, "ada", "the disk is away"))
        assert store.find("ada", fingerprint(ONE, RIGHT)) is None
        assert store.find_seed("ada", fingerprint(ONE, RIGHT)) == 7
        assert store.find_seed("ada", fingerprint(ONE, WRONG)) is None
    assert not store.has_graded(ONE)


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
    results = grade(tmp_path, isolated=False)
    assert [result.score for result in results] == [5.0, 0.0, 5.0]
    assert [result.interrupted for result in results] == [False, True, False]
    assert results[1].flags[0].text.endswith(DENIED.format("bo"))


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
    assert (ada.score, ada.interrupted, bo.score) == (0.0, True, 5.0)
    assert ada.flags[0].text.endswith(DENIED.format("ada"))


@pytest.mark.parametrize("name", ["y" * 251, "é" * 127, "a\udcff"])
def test_odd_folder_name_stops_nobody(grade, store, tmp_path, name):
    for student in ("ada", name):
        hand_in(tmp_path / "class", student, RIGHT)
    results = grade(tmp_path / "class", store=store, isolated=False)
    assert {r.student: r.score for r in results} == {"ada": 5.0, name: 5.0}
    assert {r.student for r in store.read_all()} == {"ada", name}
    assert store.set_aside(["ada", name]) == []
    another = result_file(name).removesuffix(".json")
    assert result_file(another) != result_file(name) or another == name


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_a_notebook_that_turns_into_something_else_is_not_followed(tmp_path, monkeypatch, kind):
    path = hand_in(tmp_path, "ada", RIGHT)
    secret = hand_in(tmp_path, "staff", RIGHT)
    monkeypatch.setattr(Path, "is_symlink", lambda path: False)  # nor was it when it was asked
    path.unlink()
    os.mkfifo(path) if kind == "pipe" else path.symlink_to(secret)
    with pytest.raises(submissions.UnreadableError, match="not a regular file"):
        submissions.read_notebook(path)


def test_a_mark_made_without_protection_counts_for_no_run_with_it(
    grade, store, tmp_path, monkeypatch
):
    hand_in(tmp_path / "class", "ada", RIGHT)
    first = grade(tmp_path / "class", store=store, isolated=False)
    assert not first[0].sandboxed
    graded = []
    monkeypatch.setattr(class_run, "_grade_all", lambda c, m, *a: graded.extend(m) or [])
    monkeypatch.setattr(class_run, "check_sandbox", lambda: None)
    assert grade(tmp_path / "class", store=store, isolated=False) == first
    assert graded == []
    grade(tmp_path / "class", store=store)
    assert graded == ["ada"]


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


def test_flags_from_before_a_crash_are_kept():
    runs = []

    def grade(notebook, student, *, seed):
        runs.append(seed)
        result = ungraded(DOUBLE, student, "")
        status = Status.CRASH if len(runs) == 1 else Status.PASS
        checks = tuple(dataclasses.replace(check, status=status) for check in result.checks)
        noticed = ("in both", f"in run {len(runs)}")
        flags = tuple(Flag(kind=FlagKind.HOSTILE, text=text) for text in noticed)
        return dataclasses.replace(result, checks=checks, flags=flags, seed=seed)

    result = class_run.grade_patiently(types.SimpleNamespace(grade=grade), RIGHT, "ada", 1)
    assert runs == [1, 1]
    assert {check.status for check in result.checks} == {Status.PASS}
    assert [flag.text for flag in result.flags] == ["in both", "in run 1", "in run 2"]
