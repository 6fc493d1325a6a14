"""Runs a notebook's cells in one process, one after the other, as a student's own kernel does.

No judge, no sandbox: it shows that the test cells are ordinary Python. Only for code that we wrote.
"""

import contextlib
import io
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib
import torch

from autograder.homework_source.homework import Cell, CellKind
from tests.processor_time import OutOfTimeError, limited_to


@dataclass(frozen=True, kw_only=True)
class CellRun:
    """How a cell ended.

    Attributes:
        cell: The cell.
        error: What it raised, or None.
    """

    cell: Cell
    error: BaseException | None


def run_cells(
    cells: Sequence[Cell],
    *,
    seed: int = 0,
    seconds: int = 20,
    stop_when_lost: bool = False,
) -> list[CellRun]:
    """Run the code cells in order, demos left out; one that raises does not stop the others.

    Args:
        cells: The cells of a notebook.
        seed: Handed to ``torch.manual_seed``, with the cell's index added, before each test cell.
        seconds: Most CPU time that a cell may take: a busy machine makes no difference.
        stop_when_lost: Run nothing after the first test cell that raises.

    Returns:
        One entry for each code cell that ran.
    """
    matplotlib.use("agg")
    wanted = {CellKind.SETUP, CellKind.SOLUTION, CellKind.TEST}
    namespace: dict[str, object] = {"__name__": "__main__"}
    runs = []
    for index, cell in enumerate(cells):
        if cell.kind not in wanted:
            continue
        if cell.kind is CellKind.TEST:
            torch.manual_seed(seed * 1000 + index)
        error: BaseException | None = None
        try:
            with limited_to(seconds), contextlib.redirect_stdout(io.StringIO()):
                exec(compile(cell.source, f"<{cell.grade_id}>", "exec"), namespace)
        except (Exception, OutOfTimeError) as raised:
            error = raised
        runs.append(CellRun(cell=cell, error=error))
        if stop_when_lost and lost_checks(runs[-1:]):
            break
    return runs


def lost_checks(runs: Sequence[CellRun]) -> set[str]:
    """Return the grade_ids of the test cells that raised."""
    return {r.cell.grade_id for r in runs if r.cell.kind is CellKind.TEST and r.error is not None}
