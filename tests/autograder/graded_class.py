"""A small graded class, with every status in it, for tests of reports."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from autograder.class_run.result_store import ResultStore
from autograder.homework_source.homework import Cell, CellKind, Homework
from autograder.judging.results import (
    CellFailure,
    CheckResult,
    Flag,
    FlagKind,
    Status,
    SubmissionResult,
)
from autograder.marks.standing import Standing, stand

HOMEWORK = Homework(
    id="hw00-double",
    title="Homework 0: doubling",
    cells=(
        Cell(kind=CellKind.TEXT, grade_id="", source="", title="Homework 0: doubling"),
        Cell(kind=CellKind.TEXT, grade_id="", source="", title="Exercise 1: twice as much"),
        Cell(kind=CellKind.SOLUTION, grade_id="double", source="def double(x): return 2 * x"),
        Cell(
            kind=CellKind.TEST,
            grade_id="double-shape",
            exercise="double",
            points=1.0,
            title="The shape stays",
            source="HIDDEN_LINE = 1",
        ),
        Cell(
            kind=CellKind.TEST,
            grade_id="double-values",
            exercise="double",
            points=2.0,
            title="It doubles",
            read="doubling#twice-as-much",
            source="HIDDEN_LINE = 2",
        ),
        Cell(kind=CellKind.WRITTEN, grade_id="why", points=3.0, title="Why twice?", source=""),
    ),
)

TRACEBACK = 'Traceback (most recent call last):\n  File "double", line 3\nValueError: no'

PATCHES = Flag(kind=FlagKind.HOSTILE, text="patches IPython", cell="double", line=3)
INTERRUPTED = Flag(kind=FlagKind.INTERRUPTED, text="grading failed: KilledWorker")


def result(
    student: str,
    shape: Status = Status.PASS,
    values: Status = Status.PASS,
    *,
    message: str = "result differs in 3 of 4 places",
    hint: str = "",
    traceback: str = "",
    **rest,
) -> SubmissionResult:
    """Return a submission's result, with the statuses ``shape`` and ``values`` of its two tests.

    Each test that did not pass gets the message, hint and traceback. ``rest`` are other fields of
    ``SubmissionResult``.
    """
    scores = {Status.PASS: 1.0, Status.PARTIAL: 0.5}
    checks = []
    for cell in HOMEWORK.checks:
        status = {"double-shape": shape, "double-values": values}.get(cell.grade_id, Status.MANUAL)
        told = {} if status in (Status.PASS, Status.MANUAL) else {
            "message": message, "hint": hint, "traceback": traceback,
        }  # fmt: skip
        checks.append(
            CheckResult(
                check=cell.grade_id,
                exercise=cell.exercise,
                title=cell.title,
                status=status,
                score=scores.get(status, 0.0) * cell.points,
                max_score=cell.points,
                read=cell.read,
                **told,
            )
        )
    return SubmissionResult(student=student, homework=HOMEWORK.id, checks=tuple(checks), **rest)


def make_class() -> list[SubmissionResult]:
    """Return the results of nine students, ada to olu, which together have every status."""
    unread = result("olu", Status.INVALID, Status.INVALID, message="The file is not JSON.")
    return [
        result("ada", seconds=0.4, seed=987_654_321),
        result("ben", values=Status.FAIL, hint="Multiply by two.", seconds=0.8),
        result("cho", values=Status.FAIL, hint="Multiply by two.", seconds=0.9),
        result("dee", values=Status.PARTIAL, message="half of it is right"),
        result(
            "eli",
            Status.ERROR,
            Status.ERROR,
            message="ValueError: no",
            traceback=TRACEBACK,
            cell_failures=(
                CellFailure(
                    cell="extra cell 1", status=Status.ERROR, message="NameError: name 'y'"
                ),
            ),
        ),
        result("fay", values=Status.TIMEOUT, message="longer than 30 s", seconds=61.0),
        result("gus", values=Status.CRASH, message="your process ended"),
        result("hal", Status.FAIL, Status.FAIL, flags=(PATCHES,), message="no tensor"),
        dataclasses.replace(unread, error="The file is not JSON."),
    ]


def standings_of(results: Iterable[SubmissionResult]) -> list[Standing]:
    """Return the marks that results give, as if nobody graded by hand or was late."""
    return [stand(made) for made in results]


def store_results(
    out: Path, results: Iterable[SubmissionResult], homework: str = "hw03-self-attention"
) -> ResultStore:
    """Store results in an output folder as those of a homework; return its store."""
    store = ResultStore(out / "results" / homework)
    for made in results:
        store.keep(made, made_from="")
    return store
