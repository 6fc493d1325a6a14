"""Runs a notebook's cells in one process, one after the other, as a student's own kernel does.

No judge, no sandbox: it shows that the test cells are ordinary Python. Only for code that we wrote.
"""

import contextlib
import io
import traceback
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import matplotlib
import torch

from autograder.homework_source.homework import Cell, CellKind, Homework
from autograder.judging.forgiven import charge_unpaid
from autograder.judging.results import CheckResult, Forgiven, Status, not_earned
from autograder.judging.second_try import SecondTry, to_try_again, unpaid
from course_lib.testing import noting_forgiven
from course_lib.usual_errors import is_unwritten
from tests.homework.in_process import Kernel, lost
from tests.processor_time import OutOfTimeError, limited_to


@dataclass(frozen=True, kw_only=True)
class CellRun:
    """How a cell ended.

    Attributes:
        cell: The cell.
        error: What it raised, or None.
        forgave: As ``CheckResult``.
    """

    cell: Cell
    error: BaseException | None
    forgave: Forgiven = ()


def run_cells(
    cells: Sequence[Cell],
    *,
    seed: int = 0,
    seconds: int = 20,
    stop_when_lost: bool = False,
    after: Mapping[str, Cell] = MappingProxyType({}),
    names: Mapping[str, Any] = MappingProxyType({}),
) -> list[CellRun]:
    """Run the code cells in order, demos left out; one that raises does not stop the others.

    Args:
        cells: The cells of a notebook.
        seed: Handed to ``torch.manual_seed``, with the cell's index added, before each test cell.
        seconds: Most CPU time that a cell may take: a busy machine makes no difference.
        stop_when_lost: Run nothing after the first test cell that raises.
        after: Cells of the solution that run after some test cells, by these.
        names: What hidden tests can name besides, see ``names_of_checks``.

    Returns:
        One entry for each code cell that ran.
    """
    matplotlib.use("agg")
    wanted = {CellKind.SETUP, CellKind.SOLUTION, CellKind.TEST}
    namespace: dict[str, object] = {**names, "__name__": "__main__"}
    runs = []
    for index, cell in enumerate(cells):
        if cell.kind not in wanted:
            continue
        if cell.kind is CellKind.TEST:
            torch.manual_seed(seed * 1000 + index)
        error: BaseException | None = None
        try:
            with (
                limited_to(seconds),
                contextlib.redirect_stdout(io.StringIO()),
                noting_forgiven() as forgiven,
            ):
                exec(compile(cell.source, f"<{cell.grade_id}>", "exec"), namespace)
        except (Exception, OutOfTimeError) as raised:
            error = raised
        runs.append(CellRun(cell=cell, error=error, forgave=tuple(sorted(forgiven))))
        if stop_when_lost and lost_checks(runs[-1:]):
            break
        if cell.grade_id in after:
            exec(after[cell.grade_id].source, namespace)
    return runs


def run_twice(cells: Sequence[Cell], homework: Homework, **how: Any) -> list[CellRun]:
    """Run the cells as ``run_cells``; then, as the judge, what others may have failed once more.

    Returns:
        As ``run_cells``; of what ran twice, the better run.
    """
    if homework.variants:
        return _graded(cells, homework, **how)
    solutions = {f"<{c.grade_id}>" for c in homework.cells if c.kind is CellKind.SOLUTION}
    first, results = _charged(run_cells(cells, **how), solutions)
    named = {check for run in first for _, paid_in in run.forgave for check in paid_in}
    checks = {cell.grade_id for cell in homework.checks}
    assert named <= checks, f"no such checks: {named - checks}"
    again = to_try_again(homework, results)
    if not again:
        return first
    second_try = SecondTry(homework, results, again)
    after = {run.cell.grade_id: second_try.stand_in(run.cell.grade_id) for run in first}
    kept = [
        cell
        if cell.kind is not CellKind.TEST or cell.grade_id in again
        else replace(cell, source="")
        for cell in cells
    ]
    second = run_cells(kept, after={check: cell for check, cell in after.items() if cell}, **how)
    pairs = zip(first, second, strict=True)
    passed = [b.cell.grade_id for b in second if b.cell.grade_id in again and not b.error]
    charged = [check for check in passed if check in unpaid(results, again)][:1]
    earned = set(passed).difference(charged)
    better = [b if b.cell.grade_id in earned else a for a, b in pairs]
    return _charged(better, solutions)[0]


def _graded(
    cells: Sequence[Cell], homework: Homework, *, seed: int = 0, seconds: int = 60
) -> list[CellRun]:
    """Grade a homework with variants; a check that is lost has an error with its words."""
    run = [cell for cell in cells if cell.kind is CellKind.TEST and cell.source]
    sources = {c.grade_id: c.source for c in cells if c.kind is CellKind.SOLUTION}
    tests = {cell.grade_id: cell for cell in run}
    changed = replace(homework, cells=tuple(tests.get(c.grade_id, c) for c in homework.cells))
    results = kernel(changed, seed, seconds).grade(sources, {cell.grade_id for cell in run})
    words = {check: f"{found.message}\n{found.hint}" for check, found in results.items()}
    errors = {check: AssertionError(words[check]) for check in lost(results)}
    return [CellRun(cell=cell, error=errors.get(cell.grade_id)) for cell in run]


_kernels: dict[Any, Kernel] = {}


def kernel(homework: Homework, seed: int, seconds: int) -> Kernel:
    """Return a kernel for a homework's tests; transcripts of variants are made once."""
    tests = tuple(cell for cell in homework.cells if cell.kind is CellKind.TEST)
    key = (homework.id, tests, seed, seconds)
    if key not in _kernels:
        _kernels[key] = Kernel(homework, seed, seconds=seconds)
    return _kernels[key]


def _charged(
    runs: Sequence[CellRun], solutions: Collection[str]
) -> tuple[list[CellRun], dict[str, CheckResult]]:
    """Charge, as the judge does, what was forgiven and not paid for elsewhere."""
    results = charge_unpaid(
        {
            run.cell.grade_id: _result(run, solutions)
            for run in runs
            if run.cell.kind is CellKind.TEST and run.cell.source
        }
    )
    charged = {check: AssertionError(r.message) for check, r in results.items() if r.message}
    return [replace(run, error=charged.get(run.cell.grade_id, run.error)) for run in runs], results


def _result(run: CellRun, solutions: Collection[str]) -> CheckResult:
    """Tell apart, as the judge does, a check that fails from one that code of theirs breaks off."""
    status = Status.FAIL if run.error else Status.PASS
    is_stub = isinstance(run.error, NotImplementedError) and is_unwritten(str(run.error))
    if run.error and not is_stub and not isinstance(run.error, AssertionError):
        frames = traceback.extract_tb(run.error.__traceback__)
        if any(frame.filename in solutions for frame in frames):
            status = Status.ERROR
    return replace(not_earned(run.cell, status), forgave=run.forgave)


def with_checks_of(
    cells: Sequence[Cell], exercises: Collection[str], left_out: Collection[str] = ()
) -> list[Cell]:
    """Empty all other test cells; each cell keeps its place, and with it its seed.

    Args:
        cells: The cells of a notebook.
        exercises: Whose test cells stay.
        left_out: Of these, the test cells that are emptied all the same.
    """
    return [
        cell
        if cell.kind is not CellKind.TEST
        or (cell.exercise in exercises and cell.grade_id not in left_out)
        else replace(cell, source="")
        for cell in cells
    ]


def lost_checks(runs: Sequence[CellRun]) -> set[str]:
    """Return the grade_ids of the test cells that raised."""
    return {r.cell.grade_id for r in runs if r.cell.kind is CellKind.TEST and r.error is not None}
