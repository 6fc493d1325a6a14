"""Flags changes to the instructor's cells. A flag costs no points."""

import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from autograder.homework_source.cell_text import students_text
from autograder.homework_source.homework import Cell, CellKind, Homework
from autograder.judging.added_text import bare
from autograder.judging.results import Flag, FlagKind

_RUNNERS_TAGS = {"skip-execution", "raises-exception", "nbval-skip"}


def changed_cell(
    official: Cell, source: str, metadata: Mapping[str, Any], *, runs: bool = False
) -> Iterator[Flag]:
    """Compare a submitted cell with the instructor's; yield a flag for each difference.

    Args:
        official: The instructor's cell.
        source: The submitted text.
        metadata: The submitted metadata, which may be anything.
        runs: Whether the student added code to the text, which runs in a cell of its own.
    """
    if runs:
        yield _forged(
            official, "its text was changed: the code added to it runs as the student's own"
        )
    elif official.kind in (CellKind.TEST, CellKind.SETUP):
        texts = _its_texts(official)
        if source not in texts and bare(source) not in texts:
            yield _forged(official, f"its text was changed{_perhaps_earlier(source, metadata)}")
    nbgrader = metadata.get("nbgrader")
    nbgrader = nbgrader if isinstance(nbgrader, dict) else {}
    expected: dict[str, float] = {
        "grade": official.kind is CellKind.TEST,
        "locked": official.kind is not CellKind.SOLUTION,
        "solution": official.kind is CellKind.SOLUTION,
        "task": False,
        "schema_version": 3,
    }
    if official.kind is CellKind.TEST:
        expected["points"] = official.points
    changed = [key for key, value in expected.items() if nbgrader.get(key, value) != value]
    tags = metadata.get("tags")
    if isinstance(tags, list) and any(tag in tags for tag in _RUNNERS_TAGS):
        changed.append("tags")
    if changed:
        earlier = _perhaps_earlier(source, metadata)
        yield _forged(official, f"its metadata was changed: {', '.join(changed)}{earlier}")


def copied_cell(official: Cell) -> Flag:
    """Return the flag for a copied cell; only the last copy counts, as in nbgrader."""
    text = f"the cell {official.grade_id} occurs more than once"
    return Flag(kind=FlagKind.FORGED, text=text, cell=official.grade_id)


def missing_cells(homework: Homework, found: Collection[str]) -> Iterator[Flag]:
    """Yield a flag for each missing cell, or one flag if no cell is of this homework.

    ``found`` contains the grade_ids of the submitted code cells.
    """
    kinds = (CellKind.SOLUTION, CellKind.TEST, CellKind.SETUP)
    cells = [cell for cell in homework.cells if cell.kind in kinds]
    if not any(cell.grade_id in found for cell in cells):
        yield Flag(kind=FlagKind.FORGED, text="none of its cells is of this homework")
        return
    for cell in cells:
        if cell.grade_id not in found:
            newer = ", or newer than this notebook" if cell.kind is not CellKind.SOLUTION else ""
            text = f"the cell {cell.grade_id} is missing{newer}"
            yield Flag(kind=FlagKind.FORGED, text=text, cell=cell.grade_id)


def lost_metadata(names: Sequence[str]) -> Iterator[Flag]:
    """Yield a flag if the instructor's cells with these grade_ids have lost their metadata."""
    if names:
        cells = f"{len(names)} of the instructor's cells"
        yield Flag(kind=FlagKind.FORGED, text=f"{cells} have lost their metadata: {names[0]} first")


def is_released(source: str, metadata: Mapping[str, Any]) -> bool:
    """Return whether a text has the checksum in its metadata, as the text of any release does.

    The student can forge the checksum too; the flag only mentions it.
    """
    from nbformat import NotebookNode
    from nbgrader.utils import compute_checksum  # importing takes a second and is rarely needed

    try:
        nbgrader = NotebookNode(nbgrader=metadata["nbgrader"])
        cell = NotebookNode(source=source, cell_type="code", metadata=nbgrader)
        return bool(metadata["nbgrader"].get("checksum") == compute_checksum(cell))
    except Exception:  # the metadata may contain anything
        return False


def _perhaps_earlier(source: str, metadata: Mapping[str, Any]) -> str:
    is_earlier = is_released(source, metadata)
    return ", or is of another release: it fits its own checksum" if is_earlier else ""


@functools.lru_cache(maxsize=1_000)  # shared by all students
def _its_texts(official: Cell) -> frozenset[str]:
    """Return a cell's text in the instructor's notebook and as released, and both made ``bare``."""
    texts = {official.source, students_text(official)}
    return frozenset(texts | {bare(text) for text in texts})


def _forged(cell: Cell, what: str) -> Flag:
    return Flag(
        kind=FlagKind.FORGED,
        text=f"the {cell.kind} cell {cell.grade_id}: {what}",
        cell=cell.grade_id,
    )
