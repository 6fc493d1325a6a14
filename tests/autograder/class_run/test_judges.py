"""A process keeps its sandboxes until it closes them, and setup cells are told their device."""

import dataclasses
import os

import pytest

from autograder.class_run.course import Course
from autograder.class_run.judges import Judges
from autograder.class_run.options import GradingOptions
from autograder.homework_source.homework import Cell, CellKind
from autograder.sandbox.sandbox import SandboxError
from autograder.sandbox.worker.isolation import Limits
from tests.autograder.conftest import DOUBLE, ROOT, notebook

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("sandbox")]

FILES = ("course_lib/__init__.py", "course_lib/testing.py")
COURSE = Course(homework=DOUBLE, library={name: (ROOT / name).read_text() for name in FILES})
RIGHT = notebook(("double", "def double(x):\n    return x + x"))


@pytest.fixture
def judges(tmp_path):
    made = Judges(scratch=tmp_path)
    yield made
    made.close()


def test_a_sandbox_serves_until_it_is_closed(judges, tmp_path):
    judge = judges.open(COURSE, GradingOptions())
    assert judges.open(COURSE, GradingOptions(seed=3))._sandbox is judge._sandbox
    other = judges.open(COURSE, GradingOptions(worker_limits=Limits(memory_mb=512)))
    assert other._sandbox is not judge._sandbox
    assert judge.grade(RIGHT, "ada").score == 5.0
    judges.close()
    with pytest.raises(SandboxError, match="closed"):
        judge._sandbox.start()
    assert list(tmp_path.iterdir()) == []


def test_setup_cells_are_told_the_device_and_nobody_else_is(judges, monkeypatch):
    monkeypatch.setenv("COURSE_DEVICE", "mine")
    asks = Cell(
        kind=CellKind.SETUP, grade_id="device", source='import os\nd = os.environ["COURSE_DEVICE"]'
    )
    test = Cell(kind=CellKind.TEST, grade_id="double-x", points=1.0, source='assert d == "cpu", d')
    homework = dataclasses.replace(DOUBLE, cells=(asks, test))
    judge = judges.open(dataclasses.replace(COURSE, homework=homework), GradingOptions())
    assert [check.message for check in judge.grade(RIGHT, "ada").checks] == [""]
    assert os.environ["COURSE_DEVICE"] == "mine"
