"""Reads a submitted notebook: only the source of its solution cells and of the student's own.

Tags, flags, points, outputs and schema versions of a submission count for nothing; the order and
the text of everything that is the instructor's come from the instructor's notebook.
"""

import itertools
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from autograder.homework_source.cell_text import ANSWER_STUB, students_text
from autograder.homework_source.homework import Cell, CellKind, Homework
from autograder.judging.forgery import changed_cell, missing_cells
from autograder.judging.results import NOTHING_HANDED_IN, Flag, FlagKind

MAX_NOTEBOOK_BYTES = 20 << 20
MAX_CODE_CHARACTERS = 300_000  # a worker is sent them all at once
MAX_CODE_CELLS = 1_000
MAX_CELLS = 10_000
MAX_PARTS = 500_000
"""Strings, lists, objects and commas of a notebook's JSON: each costs far more once it is read."""

_PART = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{,]', re.DOTALL)  # a string is one, however long


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
class OwnCell:
    """A cell that the student added.

    Attributes:
        source: What stands in it.
        is_code: Whether it runs, as one of the steps; else it is a note.
    """

    source: str
    is_code: bool


@dataclass(frozen=True, kw_only=True)
class Submission:
    """What is taken from a submitted notebook.

    Attributes:
        steps: What to run, in the instructor's order, each of the student's own cells after the
            known cell that it follows.
        flags: Remarks for the staff.
        answers: grade_id to the student's text, for each written answer that the notebook holds.
        own_cells: grade_id of the known cell that they follow to the student's own cells; they
            follow none where it is empty.
    """

    steps: tuple[Step, ...]
    flags: tuple[Flag, ...]
    answers: dict[str, str]
    own_cells: dict[str, list[OwnCell]]


def read_submission(data: bytes, homework: Homework) -> Submission:
    """Take from a notebook what is the student's.

    Args:
        data: The file's bytes, as handed in; nothing about them is trusted.
        homework: The instructor's notebook.

    Returns:
        The steps that grade it, the written answers, and what else the student wrote.

    Raises:
        SubmissionError: The bytes or the code are too many, or it is no notebook of format 4.
    """
    known = {cell.grade_id: cell for cell in homework.cells if cell.grade_id}
    flags: list[Flag] = []
    sources: dict[str, str] = {}
    all_cells = list(_cells(data))
    cells = [cell for cell in all_cells if cell.kind == "code"]
    _check_amount(cells)
    last_place = {cell.grade_id: place for place, cell in enumerate(cells)}
    for place, cell in enumerate(cells):
        official = known.get(cell.grade_id)
        if official and last_place[cell.grade_id] == place:
            sources[cell.grade_id] = cell.source
            flags += changed_cell(official, cell.source, cell.metadata)
        elif official:  # a copied cell: the last one counts, as in nbgrader
            text = f"the cell {cell.grade_id} occurs more than once"
            flags.append(Flag(kind=FlagKind.FORGED, text=text, cell=cell.grade_id))

    own_cells = _own_cells(all_cells, homework)
    steps = _own_steps(own_cells, "")
    for official in homework.cells:
        steps += _steps(official, sources)
        steps += _own_steps(own_cells, official.grade_id) if official.grade_id else []
    numbers = itertools.count(1)
    steps = [s if s.cell else replace(s, label=f"extra cell {next(numbers)}") for s in steps]
    flags += missing_cells(homework, sources)
    questions = {cell.grade_id for cell in homework.cells if cell.kind is CellKind.WRITTEN}
    answers = {cell.grade_id: cell.source for cell in all_cells if cell.grade_id in questions}
    return Submission(
        steps=tuple(steps),
        flags=tuple(dict.fromkeys(flags)),
        answers=answers,
        own_cells=own_cells,
    )


def too_large(what: str, size: int) -> str:
    """Tell a student that a notebook has too many bytes.

    Args:
        what: The notebook, to begin the sentence.
        size: How many bytes it has.
    """
    return (
        f"{what} has {math.ceil(size / 2**20 * 10) / 10:g} MiB; the limit is "
        f"{MAX_NOTEBOOK_BYTES >> 20} MiB. Clear the outputs, save, and hand it in again."
    )


def instructors_step(cell: Cell) -> Step:
    """Return what to do with a code cell as the instructor wrote it."""
    return Step(kind=cell.kind, label=cell.grade_id, source=cell.source, cell=cell)


def _steps(cell: Cell, sources: dict[str, str]) -> Iterator[Step]:
    if cell.kind in (CellKind.SETUP, CellKind.TEST):
        yield instructors_step(cell)
    elif cell.kind is CellKind.SOLUTION:
        source = sources.get(cell.grade_id, "")
        yield Step(kind=cell.kind, label=cell.grade_id, source=source, cell=cell)


def _own_steps(own_cells: dict[str, list[OwnCell]], place: str) -> list[Step]:
    return [
        Step(kind=CellKind.SOLUTION, label="", source=cell.source)
        for cell in own_cells.get(place, [])
        if cell.is_code
    ]


def unanswered_questions(submission: Submission, homework: Homework) -> set[str]:
    """Find the written questions under which the student has put nothing.

    Args:
        submission: The notebook.
        homework: The instructor's.

    Returns:
        Their grade_ids.
    """
    return {
        cell.grade_id
        for cell in homework.cells
        if cell.kind is CellKind.WRITTEN
        and _lines(submission.answers.get(cell.grade_id, ""))
        <= _lines(students_text(cell)) | {ANSWER_STUB}
    }


def _lines(text: str) -> set[str]:
    return {line.strip() for line in text.split("\n")} - {""}


@dataclass(frozen=True, kw_only=True)
class _SubmittedCell:
    """A cell as handed in; the texts may be empty, the metadata anything."""

    kind: str
    grade_id: str
    source: str
    metadata: dict[str, Any]


def _own_cells(cells: list[_SubmittedCell], homework: Homework) -> dict[str, list[OwnCell]]:
    """Find what the student wrote elsewhere than where the instructor asked for it.

    That includes what stands in a copy of the instructor's cell, as splitting one leaves it, and
    texts of the instructor's that were changed. Code is put behind cells that run alone, so that
    it is in the order of the steps.
    """
    kinds = {cell.grade_id: cell.kind for cell in homework.cells if cell.grade_id}
    texts = {cell.source.strip() for cell in homework.cells if cell.kind is CellKind.TEXT} | {""}
    last = {cell.grade_id: place for place, cell in enumerate(cells)}
    last_code = {c.grade_id: place for place, c in enumerate(cells) if c.kind == "code"}
    own: dict[str, list[OwnCell]] = defaultdict(list)
    behind = behind_code = ""
    for place, cell in enumerate(cells):
        kind = kinds.get(cell.grade_id)
        is_last = last[cell.grade_id] == place
        behind = cell.grade_id if kind and is_last else behind
        is_answer = kind is CellKind.WRITTEN and is_last
        if cell.kind == "code" and kind is not CellKind.WRITTEN:
            if kind and last_code[cell.grade_id] == place:
                behind_code = cell.grade_id
            elif kind in (None, CellKind.SOLUTION):
                own[behind_code].append(OwnCell(source=cell.source, is_code=True))
        elif not is_answer and cell.source.strip() not in texts:
            own[behind].append(OwnCell(source=cell.source, is_code=False))
    return dict(own)


def _check_amount(cells: list[_SubmittedCell]) -> None:
    if len(cells) > MAX_CODE_CELLS:
        raise SubmissionError(
            f"The notebook has {len(cells):,} code cells; the limit is {MAX_CODE_CELLS:,}."
        )
    amount = sum(len(cell.source) for cell in cells)
    if amount > MAX_CODE_CHARACTERS:
        raise SubmissionError(
            f"The code has {amount:,} characters; the limit is {MAX_CODE_CHARACTERS:,}. Keep data "
            "out of the code cells, save, and hand it in again."
        )


def _read_json(data: bytes) -> Any:
    """Read the JSON of a notebook, whatever it would like to cost.

    Args:
        data: The file's bytes, as handed in.

    Returns:
        What it holds.

    Raises:
        SubmissionError: The bytes, or what they hold, are too many, or they are no JSON.
    """
    if len(data) > MAX_NOTEBOOK_BYTES:
        raise SubmissionError(too_large("The file", len(data)))
    if not data.strip():
        raise SubmissionError(
            f"{NOTHING_HANDED_IN}: the file is empty. Save your notebook in Jupyter, and hand it "
            "in again."
        )
    try:
        text = data.decode(json.detect_encoding(data), "surrogatepass")
    except ValueError:
        raise _no_json(data) from None
    if any(itertools.islice(_PART.finditer(text), MAX_PARTS, None)):
        raise SubmissionError(
            f"The notebook holds more than {MAX_PARTS:,} values, those of its outputs included. "
            "Clear the outputs, save, and hand it in again."
        )
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise _no_json(data) from None


def _no_json(data: bytes) -> SubmissionError:
    why = "Was it cut off, or saved in another format?"
    if re.search(rb"^<{7} ", data, re.MULTILINE):
        why = "Git left a conflict in it, at each line that begins with <<<<<<<: keep one version."
    return SubmissionError(
        f"The file is not a Jupyter notebook: it is not valid JSON. {why} Open it in Jupyter, save "
        "it, and hand it in again."
    )


def _cells(data: bytes) -> Iterator[_SubmittedCell]:
    notebook = _read_json(data)
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise SubmissionError(
            "The file is JSON, but not a Jupyter notebook of format 4: it has no list of cells. "
            "Open it in a current Jupyter, save it, and hand it in again."
        )
    if not cells:
        raise SubmissionError(
            f"{NOTHING_HANDED_IN}: the notebook has no cells. Begin with the one you were given."
        )
    if len(cells) > MAX_CELLS:
        raise SubmissionError(
            f"The notebook has {len(cells):,} cells; the limit is {MAX_CELLS:,}. Delete those that "
            "are empty, save, and hand it in again."
        )
    for cell in cells:
        if isinstance(cell, dict):
            metadata = cell.get("metadata")
            metadata = metadata if isinstance(metadata, dict) else {}
            yield _SubmittedCell(
                kind=str(cell.get("cell_type")),
                grade_id=_grade_id(metadata),
                source=_source(cell),
                metadata=metadata,
            )


def _grade_id(metadata: dict[str, Any]) -> str:
    nbgrader = metadata.get("nbgrader")
    grade_id = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
    return grade_id if isinstance(grade_id, str) else ""


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", "")
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    # Half a surrogate pair is valid JSON, but no text: it could be written nowhere.
    return source.encode(errors="replace").decode() if isinstance(source, str) else ""
