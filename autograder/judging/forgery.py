"""What was changed in a notebook that is the instructor's.

It counts for nothing, as only the student's own cells are read: it is told to the staff.
"""

import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from autograder.homework_source.cell_text import students_text
from autograder.homework_source.homework import Cell, CellKind, Homework
from autograder.judging.added_text import bare
from autograder.judging.results import Flag, FlagKind

_FLAGS = ("grade", "locked", "solution", "task")
_RUNNERS_TAGS = ("skip-execution", "raises-exception", "nbval-skip")


def changed_cell(
    official: Cell, source: str, metadata: Mapping[str, Any], *, runs: bool = False
) -> Iterator[Flag]:
    """Compare a cell with the instructor's.

    Args:
        official: The instructor's cell.
        source: The text that was handed in.
        metadata: The metadata that was handed in.
        runs: Whether code was added to it that runs as the student's own.

    Yields:
        A remark for each thing that was changed and is not the student's.
    """
    locked = official.kind in (CellKind.TEST, CellKind.SETUP)
    if runs:
        yield _forged(
            official, "its text was changed: the code added to it runs as the student's own"
        )
    elif locked and source not in (texts := _its_texts(official)) and bare(source) not in texts:
        yield _forged(official, f"its text was changed{_perhaps_earlier(source, metadata)}")
    nbgrader = metadata.get("nbgrader")
    nbgrader = nbgrader if isinstance(nbgrader, dict) else {}
    points = nbgrader.get("points", official.points)
    kept = type(points) in (int, float) and points == official.points
    if official.kind is CellKind.TEST and not kept:
        earlier = _perhaps_earlier(source, metadata)
        yield _forged(official, f"its points were changed to {_brief(points)}{earlier}")
    if nbgrader.get("schema_version", 3) != 3:
        yield _forged(official, "its schema_version was changed")
    changed = [
        flag for flag in _FLAGS if nbgrader.get(flag, want := _wanted(official, flag)) != want
    ]
    if changed:
        yield _forged(official, f"it was marked anew: {', '.join(changed)}")
    tags = metadata.get("tags")
    runners = [tag for tag in _RUNNERS_TAGS if isinstance(tags, list) and tag in tags]
    if runners:
        yield _forged(official, f"it was tagged {', '.join(runners)}")


def copied_cell(official: Cell) -> Flag:
    """Return a remark on a cell of which only the last copy counts, as in nbgrader."""
    text = f"the cell {official.grade_id} occurs more than once"
    return Flag(kind=FlagKind.FORGED, text=text, cell=official.grade_id)


def missing_cells(homework: Homework, found: Collection[str]) -> Iterator[Flag]:
    """Look for the instructor's cells.

    Args:
        homework: The instructor's notebook.
        found: grade_ids of the code cells that were handed in.

    Yields:
        A remark for each cell that is missing, or one if nearly nothing of this homework is there.
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
    """Yield a remark if cells of the instructor's have no grade_id any more.

    Args:
        names: Their grade_ids, known by another sign.
    """
    if names:
        cells = f"{len(names)} of the instructor's cells"
        yield Flag(kind=FlagKind.FORGED, text=f"{cells} have lost their metadata: {names[0]} first")


def is_released(source: str, metadata: Mapping[str, Any]) -> bool:
    """Return whether a text fits the checksum that it carries, as that of any release does.

    Who forges a text can forge its checksum: this only tells where to look first.
    """
    from nbformat import NotebookNode
    from nbgrader.utils import compute_checksum  # it takes a second, and few need it

    try:
        nbgrader = NotebookNode(nbgrader=metadata["nbgrader"])
        cell = NotebookNode(source=source, cell_type="code", metadata=nbgrader)
        return bool(metadata["nbgrader"].get("checksum") == compute_checksum(cell))
    except Exception:  # it may hold anything, or lack what nbgrader writes
        return False


def _perhaps_earlier(source: str, metadata: Mapping[str, Any]) -> str:
    is_earlier = is_released(source, metadata)
    return ", or is of another release: it fits its own checksum" if is_earlier else ""


def _brief(value: Any) -> str:
    """Show a plain value; of lists in lists even the text may not come to an end."""
    return ascii(value)[:20] if isinstance(value, str | int | float | None) else "no number"


def _wanted(official: Cell, flag: str) -> bool:
    """Return what ``source`` wrote for a flag of this cell."""
    answered = official.kind is CellKind.SOLUTION
    graded = official.kind is CellKind.TEST
    return {"grade": graded, "locked": not answered, "solution": answered, "task": False}[flag]


@functools.lru_cache(maxsize=1_000)  # the same for each student
def _its_texts(official: Cell) -> frozenset[str]:
    """Return a cell's text as the instructor and as students have it, and both bare."""
    texts = {official.source, students_text(official)}
    return frozenset(texts | {bare(text) for text in texts})


def _forged(cell: Cell, what: str) -> Flag:
    return Flag(
        kind=FlagKind.FORGED,
        text=f"the {cell.kind} cell {cell.grade_id}: {what}",
        cell=cell.grade_id,
    )
