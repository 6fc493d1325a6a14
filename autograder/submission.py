"""Reads a submitted notebook: only the source of its solution cells and of the student's own.

Tags, flags, points, outputs and schema versions of a submission count for nothing; the order and
the text of everything that is the instructor's come from the instructor's notebook.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .homework import Cell, CellKind, Homework

MAX_NOTEBOOK_BYTES = 20 << 20


class SubmissionError(ValueError):
    """A file that is no notebook; the message tells the student what to do."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing to do when a submission is graded.

    Attributes:
        kind: SETUP, SOLUTION (also for cells that the student added) or TEST.
        label: grade_id, or ``extra cell N`` for a cell that the student added.
        source: What runs: the instructor's text, or for a SOLUTION the student's.
        cell: The instructor's cell; None for a cell that the student added.
    """

    kind: CellKind
    label: str
    source: str
    cell: Cell | None = None


@dataclass(frozen=True, kw_only=True)
class Submission:
    """What is taken from a submitted notebook.

    Attributes:
        steps: What to run, in the instructor's order, each of the student's own cells after the
            known cell that it follows.
        flags: Remarks for the staff.
    """

    steps: tuple[Step, ...]
    flags: tuple[str, ...]


def read_submission(data: bytes, homework: Homework) -> Submission:
    """Take from a notebook what is the student's.

    Args:
        data: The file's bytes, as handed in; nothing about them is trusted.
        homework: The instructor's notebook.

    Returns:
        The steps that grade it.

    Raises:
        SubmissionError: The bytes are too many, or no notebook of format 4.
    """
    known = {cell.grade_id: cell for cell in homework.cells if cell.grade_id}
    flags: list[str] = []
    sources: dict[str, str] = {}
    extras: dict[str, list[Step]] = defaultdict(list)
    last_seen = ""
    cells = [(grade_id, source) for kind, grade_id, source in _cells(data) if kind == "code"]
    last_place = {grade_id: place for place, (grade_id, _) in enumerate(cells)}
    for place, (grade_id, source) in enumerate(cells):
        if grade_id in known and last_place[grade_id] == place:
            last_seen = grade_id
            sources[grade_id] = source
            continue
        if grade_id in known:  # a copied cell: the last one counts, as in nbgrader
            flags.append(f"the cell {grade_id} occurs more than once")
            if known[grade_id].kind is not CellKind.SOLUTION:
                continue
        number = 1 + sum(len(steps) for steps in extras.values())
        extra = Step(kind=CellKind.SOLUTION, label=f"extra cell {number}", source=source)
        extras[last_seen].append(extra)

    steps = extras[""]
    for cell in homework.cells:
        steps += _steps(cell, sources, flags)
        steps += extras.get(cell.grade_id, []) if cell.grade_id else []
    return Submission(steps=tuple(steps), flags=tuple(dict.fromkeys(flags)))


def _steps(cell: Cell, sources: dict[str, str], flags: list[str]) -> Iterator[Step]:
    if cell.kind in (CellKind.SETUP, CellKind.TEST):
        yield Step(kind=cell.kind, label=cell.grade_id, source=cell.source, cell=cell)
    elif cell.kind is CellKind.SOLUTION:
        if cell.grade_id not in sources:
            flags.append(f"the cell {cell.grade_id} is missing")
        source = sources.get(cell.grade_id, "")
        yield Step(kind=cell.kind, label=cell.grade_id, source=source, cell=cell)


def read_written_answers(data: bytes, homework: Homework) -> dict[str, str]:
    """Take the written answers from a notebook.

    Args:
        data: The file's bytes, as handed in.
        homework: The instructor's notebook.

    Returns:
        grade_id to the student's text, for each written answer that the notebook holds.

    Raises:
        SubmissionError: As ``read_submission``.
    """
    wanted = {cell.grade_id for cell in homework.cells if cell.kind is CellKind.WRITTEN}
    return {grade_id: source for _, grade_id, source in _cells(data) if grade_id in wanted}


def _cells(data: bytes) -> Iterator[tuple[str, str, str]]:
    """Yield type, grade_id (may be empty) and source of each cell."""
    if len(data) > MAX_NOTEBOOK_BYTES:
        raise SubmissionError(
            f"The file has {len(data) >> 20} MiB; the limit is {MAX_NOTEBOOK_BYTES >> 20} MiB. "
            "Clear the outputs, save, and hand it in again."
        )
    try:
        notebook = json.loads(data)
    except (ValueError, RecursionError):
        raise SubmissionError(
            "The file is not a Jupyter notebook: it is not valid JSON. Was it cut off, or saved "
            "in another format? Open it in Jupyter, save it, and hand it in again."
        ) from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise SubmissionError(
            "The file is JSON, but not a Jupyter notebook of format 4: it has no list of cells. "
            "Open it in a current Jupyter, save it, and hand it in again."
        )
    for cell in cells:
        if isinstance(cell, dict):
            yield str(cell.get("cell_type")), _grade_id(cell), _source(cell)


def _grade_id(cell: dict[str, Any]) -> str:
    metadata = cell.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
    return grade_id if isinstance(grade_id, str) else ""


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", "")
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    # Half a surrogate pair is valid JSON, but no text: it could be written nowhere.
    return source.encode(errors="replace").decode() if isinstance(source, str) else ""
