"""Judges in processes of their own: an error that ends one of them costs a single check."""

import contextlib
import dataclasses
import multiprocessing
import os
import subprocess
import time

import psutil
import pytest

from autograder.class_run import judge_process
from autograder.class_run.course import Course
from autograder.class_run.judge_process import JudgeProcess, Started
from autograder.class_run.judges import JudgePool
from autograder.class_run.options import GradingOptions
from autograder.homework_source.homework import Cell, CellKind
from autograder.judging.check_limits import TimeLimits
from autograder.judging.results import FlagKind, Status
from autograder.sandbox.worker.isolation import Limits
from autograder.sandbox.zygote import SandboxError
from tests.autograder.conftest import DOUBLE, ROOT, notebook

pytestmark = pytest.mark.sandbox

FILES = ("course_lib/__init__.py", "course_lib/testing.py")
COURSE = Course(homework=DOUBLE, library={name: (ROOT / name).read_text() for name in FILES})
RIGHT = notebook(("double", "def double(x):\n    return x + x"))


@pytest.fixture(scope="module")
def judges(tmp_path_factory):
    made = JudgePool(scratch=tmp_path_factory.mktemp("judges"))
    yield made
    made.close()


def course_with(*sources: str) -> Course:
    """Return the small course with one check, of 1 point, for each source."""
    checks = [
        Cell(kind=CellKind.TEST, grade_id=f"double-{n}", exercise="double", points=1.0, source=text)
        for n, text in enumerate(sources)
    ]
    return dataclasses.replace(
        COURSE, homework=dataclasses.replace(DOUBLE, cells=(*DOUBLE.cells[:2], *checks))
    )


AHEAD = (
    Cell(kind=CellKind.SETUP, grade_id="imports", source="import fractions, json"),
    Cell(kind=CellKind.TEST, grade_id="double-0", source="from turtle import Pen"),
    Cell(kind=CellKind.DEMO, grade_id="demo", source="import matplotlib.pyplot"),
)


def test_judges_serve_until_closed_and_import_ahead(tmp_path):
    others = set(psutil.Process().children(recursive=True))
    judges = JudgePool(scratch=tmp_path)
    judges.prepare(isolated=True, device="cpu")
    judges.preload(dataclasses.replace(DOUBLE, cells=AHEAD))
    (server,) = judges._servers.values()
    end = time.monotonic() + 300
    while not server._preloaded:  # until it has begun
        assert time.monotonic() < end
        time.sleep(0.01)
    with server._lock:  # and has ended
        assert server._preloaded == ["fractions", "turtle"]
    judge = judges.open(COURSE, GradingOptions())
    other = judges.open(COURSE, GradingOptions(worker_limits=Limits(memory_mb=512)))
    assert judge.grade(RIGHT, "ada", seed=1).score == other.grade(RIGHT, "bo", seed=1).score == 5.0
    started = set(psutil.Process().children(recursive=True)) - others
    assert started
    judges.close()
    _, alive = psutil.wait_procs(started, timeout=20)
    assert not alive
    with pytest.raises(SandboxError, match="closed"):
        judge.grade(RIGHT, "ada", seed=1)
    assert list(tmp_path.iterdir()) == []


def test_failed_preparation_is_raised_by_the_next_request(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))  # no bubblewrap
    with contextlib.closing(JudgePool(scratch=tmp_path)) as judges:
        judges.prepare(isolated=True, device="cpu")
        judges.preload(DOUBLE)
        with pytest.raises(SandboxError, match="bubblewrap is not installed; install it with: "):
            judges.open(COURSE, GradingOptions())
    assert capfd.readouterr().err == ""


def test_pool_keeps_judges_of_two_homeworks_ready(tmp_path):
    others = {process.pid for process in psutil.Process().children()}
    with contextlib.closing(JudgePool(scratch=tmp_path)) as judges:
        for n in range(4):
            library = {"course_lib/__init__.py": "", "course_lib/mine.py": f"n = {n}"}
            course = dataclasses.replace(COURSE, library=library)
            judge = judges.acquire_one(course, GradingOptions(seed=n))
            assert judge.grade(RIGHT, "ada", seed=1).score == 5.0
            started = {process.pid for process in psutil.Process().children()} - others
            assert len(started) <= 2
        assert len(list(tmp_path.glob("student-edition-*"))) == 2
    assert list(tmp_path.iterdir()) == []


GOOD = "assert double(2) == 4"
DEADLY = {
    "dies": "import os\nos.kill(os.getpid(), 9)",
    "never ends in one call": "(1 << 40_000_000) % 1_000_003 ** 1_000_000",
    "holds too much": "x = [bytearray(1 << 20) for _ in range(1 << 20)]",
    "grows as it meets another": "torch.ones(1 << 20, 1) - torch.ones(1, 1 << 20)",
}


@pytest.mark.parametrize("source", DEADLY.values(), ids=DEADLY)
def test_a_check_that_costs_too_much_is_lost_alone(judges, monkeypatch, source):
    monkeypatch.setattr(judge_process, "_MOST_SECONDS", 0.7)
    monkeypatch.setattr(judge_process, "_LATER_SECONDS", 0.7)
    small = GradingOptions(worker_limits=Limits(memory_mb=512))
    judge = judges.open(course_with(GOOD, source, GOOD), small)
    before, lost, after = judge.grade(RIGHT, "ada", seed=1).checks
    assert (before.status, lost.status, after.status) == (Status.PASS, Status.FAIL, Status.PASS)
    assert lost.message.startswith("Your code returned a value that the check could not use")
    assert judge.grade(RIGHT, "bo", seed=1).checks[2].status is Status.PASS


def test_a_judge_that_waits_for_ever_costs_one_check(judges, monkeypatch):
    limits = TimeLimits(submission_seconds=600.0)
    monkeypatch.setattr(judge_process, "_SILENT_SECONDS", 3.0 - limits.submission_seconds)
    waits = "import time\ntime.sleep(3600)"
    judge = judges.open(course_with(GOOD, waits, GOOD), GradingOptions(limits=limits))
    found = judge.grade(RIGHT, "ada", seed=1).checks
    assert [check.status for check in found] == [Status.PASS, Status.FAIL, Status.PASS]


def test_submission_that_ends_judges_gets_no_extra_time(judges, monkeypatch):
    monkeypatch.setattr(judge_process, "_MOST_SECONDS", 0.7)
    monkeypatch.setattr(judge_process, "_LATER_SECONDS", 0.7)
    limits = TimeLimits(check_seconds=30.0, submission_seconds=4.0)
    endless = f"if double(1) == 3:\n    {DEADLY['never ends in one call']}"
    source = "import time\ntime.sleep(2)\ndef double(x):\n    return 3 * x"
    judge = judges.open(course_with(*[endless] * 4), GradingOptions(limits=limits))
    results = judge.grade(notebook(("double", source)), "ada", seed=1).checks
    assert results[0].status is Status.FAIL
    assert results[-1].status is Status.TIMEOUT
    assert "the whole notebook may take 4 s" in results[-1].message


FORBIDDEN = "getattr(torch.nn, 'Iden' + 'tity')()"


def test_recorded_results_outlive_their_judge(judges):
    course = course_with(GOOD, "assert double(3) == 6", DEADLY["dies"], GOOD)
    setup, solution, *checks = course.homework.cells
    forbids = dataclasses.replace(solution, forbids=("torch.nn.Identity",))
    homework = dataclasses.replace(course.homework, cells=(setup, forbids, *checks))
    judge = judges.open(dataclasses.replace(course, homework=homework), GradingOptions())
    once = f"def double(x):\n    return {FORBIDDEN}(x + x) if x == 3 else x + x"
    result = judge.grade(notebook(("double", once)), "ada", seed=1)
    assert [check.score for check in result.checks] == [0.0] * 4
    flags = [flag.text for flag in result.flags if flag.kind is FlagKind.DELEGATION]
    words = "double uses torch.nn.Identity, which it forbids: its checks are lost"
    assert flags == [words]


FLOOD = """import gc
peer = next(each for each in gc.get_objects() if type(each).__name__ == "Peer")
while True:
    peer.wire.send({"call": 1, "released": [1] * 1_000_000})"""
DOUBLED = ("double", "def double(x):\n    return x + x")


def test_a_cell_that_floods_the_wire_is_stopped_by_its_time_limit(judges):
    judge = judges.open(COURSE, GradingOptions(limits=TimeLimits(check_seconds=1.0)))
    result = judge.grade(notebook(DOUBLED, FLOOD), "ada", seed=1)
    (failure,) = result.cell_failures
    assert (failure.status, result.score) == (Status.TIMEOUT, 5.0)


def test_a_cell_that_keeps_the_judge_busy_is_no_fault_of_the_courses(judges, monkeypatch):
    monkeypatch.setattr(judge_process, "_MOST_SECONDS", 0.1)
    monkeypatch.setattr(judge_process, "_LOOK_SECONDS", 0.02)  # before the wire's own limit
    judge = judges.open(course_with(GOOD, GOOD), GradingOptions())
    result = judge.grade(notebook(DOUBLED, ("double-0", GOOD), FLOOD), "ada", seed=1)
    assert [check.status for check in result.checks] == [Status.PASS, Status.INVALID]
    assert "kept the judge itself busy while its cell extra cell 1 ran" in result.checks[1].message
    (flag,) = [flag for flag in result.flags if "busy" in flag.text]
    assert (flag.kind, flag.cell, result.interrupted) == (FlagKind.HOSTILE, "extra cell 1", False)


def test_a_check_that_costs_too_much_the_second_time_stays_as_it_was(judges, monkeypatch):
    monkeypatch.setattr(judge_process, "_MOST_SECONDS", 0.7)
    monkeypatch.setattr(judge_process, "_LATER_SECONDS", 0.7)
    course = course_with("assert double(2) == 4", "assert next_one(2) == 5")
    first, own = course.homework.checks
    endless = "x = next_one(2)\nassert x < 5\nwhile x == 5:\n    pass"
    solution = Cell(kind=CellKind.SOLUTION, grade_id="next_one", source="")
    checks = [dataclasses.replace(own, exercise="next_one", grade_id=f"next_one-{n}") for n in "ab"]
    checks[0] = dataclasses.replace(checks[0], source=endless)
    cells = (*course.homework.cells[:2], first, solution, *checks)
    homework = dataclasses.replace(course.homework, cells=cells)
    judge = judges.open(dataclasses.replace(course, homework=homework), GradingOptions())
    wrong = ("double", "def double(x):\n    return 3 * x")
    right = ("next_one", "def next_one(x):\n    return double(x) + 1")
    results = judge.grade(notebook(wrong, right), "ada", seed=1).checks
    assert [check.status for check in results] == [Status.FAIL, Status.FAIL, Status.PASS]
    assert [check.tried_with for check in results] == [(), ("double",), ("double",)]
    assert results[1].message == "Not so: ."


@pytest.mark.parametrize("said", ["ImportError: No module named 'psutil'", ""])
def test_why_no_judge_can_be_had_is_said(said):
    theirs = []

    def start():
        ours, other = multiprocessing.Pipe()
        theirs.append(other)
        if said:
            other.send(("broken", said))
        else:
            other.close()
        sleeper = subprocess.Popen(["sleep", "600"])
        return Started(connection=ours, process=psutil.Process(sleeper.pid), most_bytes=1 << 40)

    with pytest.raises(SandboxError) as raised:
        JudgeProcess(DOUBLE, GradingOptions(), start).grade(RIGHT, "ada", seed=1)
    assert str(raised.value).startswith("a judge ended: " + (said or "it was killed from outside"))
    assert len(theirs) == 3


def test_a_server_that_is_killed_is_started_again(judges):
    judge = judges.open(COURSE, GradingOptions())
    assert judge.grade(RIGHT, "ada", seed=1).score == 5.0
    (server,) = judges._servers.values()
    server._process.kill()
    server._process.wait()
    assert judge.grade(RIGHT, "ada", seed=1).score == 5.0


def test_setup_cells_are_told_the_device_and_nobody_else_is(judges, monkeypatch):
    monkeypatch.setenv("COURSE_DEVICE", "mine")
    asks = Cell(
        kind=CellKind.SETUP, grade_id="device", source='import os\nd = os.environ["COURSE_DEVICE"]'
    )
    test = Cell(kind=CellKind.TEST, grade_id="double-x", points=1.0, source='assert d == "cpu", d')
    homework = dataclasses.replace(DOUBLE, cells=(asks, test))
    judge = judges.open(dataclasses.replace(COURSE, homework=homework), GradingOptions())
    assert [check.message for check in judge.grade(RIGHT, "ada", seed=1).checks] == [""]
    assert os.environ["COURSE_DEVICE"] == "mine"
