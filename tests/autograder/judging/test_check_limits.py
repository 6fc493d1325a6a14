"""Time limits of checks; after a timeout an exercise gets short limits until a check ends."""

import dataclasses

import pytest

from autograder.homework_source.homework import Cell, CellKind
from autograder.judging.check_limits import CheckLimits
from autograder.judging.results import STOPPED, Status, not_earned
from tests.autograder.conftest import DOUBLE, with_sources

FAST, SLOW = 0.001, 2.0  # seconds of the reference


def cell(exercise="f", name="f-values"):
    return Cell(kind=CellKind.TEST, grade_id=name, exercise=exercise, points=1.0, source="")


class Attempts:
    """A fake check that takes ``needs`` seconds; ``given`` lists the time limits of its runs."""

    def __init__(self, needs):
        self.needs = needs
        self.given = []

    def __call__(self, seconds):
        self.given.append(seconds)
        if self.needs <= seconds:
            return not_earned(cell(), Status.PASS)
        return not_earned(cell(), Status.TIMEOUT, f"{STOPPED} {seconds} s.")


@pytest.mark.parametrize(
    ("needs", "reference", "most", "given", "status"),
    [
        (2.9, FAST, 30.0, [3.0], Status.PASS),
        (4.0, FAST, 30.0, [3.0], Status.TIMEOUT),
        (4.0, 0.05, 30.0, [3.0, 5.0], Status.PASS),
        (99.0, SLOW, 30.0, [3.0, 30.0], Status.TIMEOUT),
        (99.0, SLOW, 2.0, [2.0], Status.TIMEOUT),
    ],
)
def test_limit_is_a_hundred_times_the_references_time(needs, reference, most, given, status):
    attempts = Attempts(needs)
    assert CheckLimits(most, lambda check: reference).run(cell(), attempts).status is status
    assert attempts.given == given


def test_stopped_exercise_gets_short_limits_until_a_check_ends():
    limits = CheckLimits(30.0, lambda check: FAST)
    attempts = Attempts(99.0)
    first, second = limits.run(cell(), attempts), limits.run(cell(), attempts)
    assert attempts.given == [3.0, 0.15]
    assert first.message == f"{STOPPED} 3.0 s."
    assert second.message.startswith(
        f"{STOPPED} 0.15 s. It got no longer, because an earlier check of f"
    )
    attempts.needs, attempts.given = 0.1, []
    assert limits.run(cell(), attempts).status is Status.PASS
    assert limits.run(cell("g"), attempts).status is Status.PASS
    attempts.needs = 2.0
    assert limits.run(cell(), attempts).status is Status.PASS
    assert attempts.given == [0.15, 3.0, 3.0]


def test_other_exercises_get_short_limits_until_the_second_try():
    limits, attempts = CheckLimits(30.0, lambda check: FAST), Attempts(99.0)
    limits.run(cell(), attempts)
    attempts.needs = 1.0
    assert limits.run(cell("g"), attempts).status is Status.TIMEOUT
    limits.is_second_try = True
    assert limits.run(cell("h"), attempts).status is Status.PASS
    assert attempts.given == [3.0, 0.15, 3.0]


def test_short_limit_is_ten_times_the_references_time():
    limits, attempts = CheckLimits(30.0, lambda check: 0.2), Attempts(99.0)
    limits.run(cell(), attempts)
    limits.run(cell(), attempts)
    assert attempts.given == [3.0, 20.0, 2.0]


ENDLESS = ("double", "def double(x):\n    while True:\n        pass")


@pytest.mark.usefixtures("patient")
def test_endless_function_delays_grading_only_once(grade, monkeypatch):
    # Independent of the time that a busy machine needs for the reference.
    limits = {"FIRST_SECONDS": 0.5, "GENEROSITY": 0, "SHORT_GENEROSITY": 0}
    for name, value in limits.items():
        monkeypatch.setattr(f"autograder.judging.check_limits.{name}", value)
    checks = [dataclasses.replace(DOUBLE.cells[2], grade_id=f"double-{n}") for n in range(4)]
    homework = dataclasses.replace(DOUBLE, cells=(*DOUBLE.cells[:2], *checks))
    first, *later = grade(ENDLESS, homework=homework).checks
    assert first.message.startswith(f"{STOPPED} 0.5 s.")
    assert all(check.message.startswith(f"{STOPPED} 0.15 s.") for check in later)


BUSY = """
import time
def double(x):
    end = time.process_time() + {}
    while time.process_time() < end:
        pass
    return 2 * x
"""


@pytest.mark.usefixtures("patient")
def test_waiting_of_the_reference_does_not_raise_the_limit(grade, monkeypatch):
    monkeypatch.setattr("autograder.judging.check_limits.FIRST_SECONDS", 0.3)
    waits = "import time\ndef double(x):\n    time.sleep(0.2)\n    return 2 * x"
    homework = with_sources({"double": waits, "double-gradient": ""})
    check = grade(ENDLESS, homework=homework, seconds=10.0).checks[0]
    assert float(check.message.removeprefix(STOPPED).split()[0]) < 8


@pytest.mark.usefixtures("patient")
@pytest.mark.proof
def test_slow_reference_raises_the_students_limit(grade, monkeypatch):
    monkeypatch.setattr("autograder.judging.check_limits.FIRST_SECONDS", 0.3)
    monkeypatch.setattr("autograder.judging.check_limits.GENEROSITY", 20)
    homework = with_sources({"double": BUSY.format(0.2)})
    statuses = [c.status for c in grade(("double", BUSY.format(0.6)), homework=homework).checks]
    assert statuses[:2] == [Status.PASS, Status.PASS]


@pytest.mark.usefixtures("patient")
def test_stopped_reference_raises_the_limit_to_check_seconds(grade):
    homework = with_sources({"double": BUSY.format(99)})
    found = grade(("double", BUSY.format(99)), homework=homework, seconds=0.4).checks
    late = [check.message for check in found if check.status is Status.TIMEOUT]
    assert len(late) == 2
    assert all(message.startswith(f"{STOPPED} 0.4 s.") for message in late)
