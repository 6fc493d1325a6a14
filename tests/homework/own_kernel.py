"""Runs a notebook's cells in one process, one after the other, as a student's own kernel does.

No judge, no sandbox: it shows that the test cells are ordinary Python. Only for code that we wrote.
"""

import contextlib
import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import matplotlib

from autograder.homework_source.homework import Cell, CellKind, Homework
from autograder.judging.check import seed_everything
from tests.homework.in_process import Kernel, lost
from tests.processor_time import OutOfTimeError, limited_to


@dataclass(frozen=True, kw_only=True)
class CellRun:
    """The end of a cell's run: the exception ``error`` that the cell raised, or None."""

    cell: Cell
    error: BaseException | None


def run_cells(
    cells: Sequence[Cell],
    *,
    seed: int = 0,
    seconds: int = 20,
    stop_when_lost: bool = False,
    names: Mapping[str, Any] = MappingProxyType({}),
) -> list[CellRun]:
    """Run the code cells of a notebook in order, without demos, even after one that raises.

    Args:
        cells: The cells.
        seed: Seeds every random generator before each test cell.
        seconds: Most processor seconds that a cell may take.
        stop_when_lost: Whether to stop after the first test cell that raises.
        names: Further names for hidden tests, see ``names_of_checks``.

    Returns:
        One entry for each code cell that ran.
    """
    matplotlib.use("agg")
    wanted = {CellKind.SETUP, CellKind.SOLUTION, CellKind.TEST}
    namespace: dict[str, object] = {**names, "__name__": "__main__"}
    runs = []
    for cell in cells:
        if cell.kind not in wanted:
            continue
        if cell.kind is CellKind.TEST:
            seed_everything(seed, cell.grade_id)
        error: BaseException | None = None
        try:
            with limited_to(seconds), contextlib.redirect_stdout(io.StringIO()):
                exec(compile(cell.source, f"<{cell.grade_id}>", "exec"), namespace)
        except (Exception, OutOfTimeError) as raised:
            error = raised
        runs.append(CellRun(cell=cell, error=error))
        if stop_when_lost and lost_checks(runs):
            break
    return runs


def grade_cells(
    cells: Sequence[Cell], homework: Homework, *, seed: int = 0, seconds: int = 60
) -> list[CellRun]:
    """Grade a notebook's cells as the judge does, with hidden inputs drawn by a seed.

    Returns an entry for each test cell that is not empty; ``error`` of a failed one has the message
    and the hint. ``seconds`` is the most processor time of a check.
    """
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
    """Return a ``Kernel`` for a homework, the same one for the same tests, seed and seconds."""
    tests = tuple(cell for cell in homework.cells if cell.kind is CellKind.TEST)
    key = (homework.id, tests, seed, seconds)
    if key not in _kernels:
        _kernels[key] = Kernel(homework, seed, seconds=seconds)
    return _kernels[key]


def with_checks_of(
    cells: Sequence[Cell], exercises: Collection[str], left_out: Collection[str] = ()
) -> list[Cell]:
    """Return a notebook's cells, with all test cells emptied but those of these exercises.

    Args:
        cells: The cells.
        exercises: Ids of the exercises whose test cells stay.
        left_out: Ids of test cells of these exercises to empty all the same.
    """
    return [
        cell
        if cell.kind is not CellKind.TEST
        or (cell.exercise in exercises and cell.grade_id not in left_out)
        else replace(cell, source="")
        for cell in cells
    ]


def lost_checks(runs: Sequence[CellRun]) -> set[str]:
    """Return the ids of the test cells that raised."""
    return {r.cell.grade_id for r in runs if r.cell.kind is CellKind.TEST and r.error is not None}
