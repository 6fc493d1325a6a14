"""A sandbox and a small homework for the judge's tests."""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.homework_source.homework import Cell, CellKind, Homework
from autograder.judging.check_limits import TimeLimits
from autograder.judging.judge import Judge
from autograder.judging.results import SubmissionResult
from autograder.sandbox import time_limit
from autograder.sandbox.sandbox import Sandbox, check_sandbox
from autograder.sandbox.worker.isolation import Limits
from autograder.sandbox.worker.peer import Peer
from autograder.sandbox.worker.wire import Wire
from autograder.sandbox.zygote import SandboxError, Worker

ROOT = Path(__file__).parents[2]
READ = (
    *("assignments", "autograder", "course_lib", "examples", "nbgrader_config.py", "requirements"),
    *("scripts", "solutions", "tests/autograder", "tests/course_lib/*.py", "tests/homework"),
)


def pytest_itemcollected(item):
    """Mark each of the autograder's tests with patterns of the files that it depends on."""
    item.add_marker(pytest.mark.depends_on(*READ))
    if item.path.name == "test_gradescope_example.py":  # feedback on a real homework
        item.add_marker(pytest.mark.depends_on("book/*.md"))


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """Return a folder with the modules of ``course_lib`` that the homework ``DOUBLE`` uses."""
    library = tmp_path_factory.mktemp("library")
    (library / "course_lib").mkdir()
    for name in ("__init__.py", "testing.py"):
        shutil.copy(ROOT / "course_lib" / name, library / "course_lib" / name)
    return library


@pytest.fixture(scope="session")
def sandbox(library):
    """Yield one sandbox, shared by all tests, which starts workers for each test."""
    try:
        check_sandbox()
    except SandboxError as error:
        if os.environ.get("CI"):  # a skip would hide a broken sandbox in CI
            raise
        pytest.skip(f"no working sandbox: {error}")
    sandbox = Sandbox(library, limits=Limits(memory_mb=1024, scratch_mb=16, open_files=64))
    sandbox.preload(["course_lib.testing", "matplotlib.pyplot"])
    yield sandbox
    sandbox.close()


def peer_of(worker: Worker, seconds: float = 300) -> Peer:
    """Return a connection to a sandbox worker, with ``seconds`` for all its calls together."""
    peer = Peer(Wire(worker.connection), describe_error=lambda error: {})
    peer.wire.time_left = time_limit.by_the_clock(seconds)
    return peer


DOUBLE = Homework(
    id="hw00-double",
    title="Doubling",
    cells=(
        Cell(kind=CellKind.SETUP, grade_id="imports", source="import torch\nfactor = 2.0"),
        Cell(kind=CellKind.SOLUTION, grade_id="double", source="def double(x):\n    return 2 * x"),
        Cell(
            kind=CellKind.TEST,
            grade_id="double-values",
            exercise="double",
            points=2.0,
            title="It doubles",
            read="doubling#twice",
            source="""# It doubles
from course_lib.testing import assert_close
assert_close(double(torch.ones(2)), torch.full((2,), 2.0))
### BEGIN HIDDEN TESTS
secret = torch.randn(3, 4, dtype=torch.float64)
answer = double(secret)
tripled = isinstance(answer, torch.Tensor) and torch.equal(answer, 3 * secret)
assert_close(answer, factor * secret, hint="you tripled" if tripled else "")
### END HIDDEN TESTS
""",
        ),
        Cell(
            kind=CellKind.TEST,
            grade_id="double-gradient",
            exercise="double",
            points=3.0,
            title="Its gradient is 2",
            source="""# Its gradient is 2
### BEGIN HIDDEN TESTS
from course_lib.testing import assert_close
x = torch.randn(5, dtype=torch.float64, requires_grad=True)
weights = torch.randn(5, dtype=torch.float64)
(weights * double(x)).sum().backward()
assert_close(x.grad, 2 * weights, hint="keep the graph")
### END HIDDEN TESTS
""",
        ),
        Cell(kind=CellKind.WRITTEN, grade_id="why", points=1.0, title="Why?", source="## Why?"),
    ),
)


def with_sources(sources: Mapping[str, str], homework: Homework = DOUBLE) -> Homework:
    """Return a homework in which some cells, given by grade_id, have other sources."""
    cells = (
        replace(cell, source=sources.get(cell.grade_id, cell.source)) for cell in homework.cells
    )
    return replace(homework, cells=tuple(cells))


def notebook(*cells: tuple[str, str] | str, **metadata) -> bytes:
    """Return a submitted notebook, as JSON, with these cells.

    A cell is a pair (grade_id, source), or the source of a cell that the student added.
    """
    made = []
    for cell in cells:
        grade_id, source = cell if isinstance(cell, tuple) else ("", cell)
        nbgrader = {"nbgrader": {"grade_id": grade_id, "solution": True}} if grade_id else {}
        made.append(
            {"cell_type": "code", "metadata": nbgrader | metadata, "source": source, "outputs": []}
        )
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


@pytest.fixture
def class_out(tmp_path, monkeypatch):
    """Return an output folder with the results of nine students, stored as those of homework 3.

    Commands that load homework 3 to read it get ``graded_class.HOMEWORK`` instead.
    """
    from autograder.cli import class_results
    from tests.autograder.graded_class import HOMEWORK, make_class, store_results

    store_results(tmp_path / "out", make_class())
    monkeypatch.setattr(class_results, "load_homework", lambda *given: HOMEWORK)
    return tmp_path / "out"


@pytest.fixture
def patient(monkeypatch):
    """Make the limit of elapsed time so long that a busy machine does not reach it."""
    monkeypatch.setattr(time_limit, "PATIENCE", 1000)


@pytest.fixture
def grade(sandbox):
    """Return a function that grades a notebook, given as bytes or as cells for ``notebook``.

    ``seconds`` limits each check.
    """

    def grade(*cells, seconds=5.0, seed=4_185_921_337, homework=DOUBLE) -> SubmissionResult:
        data = cells[0] if cells and isinstance(cells[0], bytes) else notebook(*cells)
        limits = TimeLimits(check_seconds=seconds, submission_seconds=600.0)
        return Judge(homework, sandbox, limits=limits).grade(data, "ada", seed=seed)

    return grade
