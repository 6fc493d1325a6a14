"""Reads a submitted notebook: only the source of its solution cells and of the student's own cells.

Order and text of all other cells come from the instructor's notebook, and so do points and flags.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from autograder.homework_source.homework import Cell, CellKind, Homework
from autograder.judging.added_text import (
    LOCKED,
    NOTHING_ADDED,
    added_code,
    added_lines,
    defined_names,
    find_added,
    find_locked,
    is_text,
)
from autograder.judging.forgery import (
    changed_cell,
    copied_cell,
    is_released,
    lost_metadata,
    missing_cells,
)
from autograder.judging.notebook_file import SubmissionError, read_json
from autograder.judging.results import NOTHING_HANDED_IN, Flag

MAX_CODE_CHARACTERS = 300_000  # a worker is sent them all at once
MAX_CODE_CELLS = 1_000
MAX_CELLS = 10_000
_CODE = (CellKind.SOLUTION, *LOCKED)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing to do when a submission is graded.

    Attributes:
        kind: SETUP, SOLUTION (also for cells that the student added) or TEST.
        label: grade_id, or ``extra cell N`` for a cell that the student added.
        source: What runs: the instructor's text, or for a SOLUTION the student's.
        cell: The instructor's cell; None for a cell that the student added.
        is_added: Whether the student added it to a cell of the instructor's.
        is_early: Whether it runs again, where it stands.
    """

    kind: CellKind
    label: str
    source: str
    cell: Cell | None = None
    is_added: bool = False
    is_early: bool = False


@dataclass(frozen=True, kw_only=True)
class OwnCell:
    """A cell that the student added.

    Attributes:
        source: What stands in it.
        is_code: Whether it runs, as one of the steps; else it is a note.
        is_added: Whether it was added to a cell of the instructor's.
    """

    source: str
    is_code: bool
    is_added: bool = False


@dataclass(frozen=True, kw_only=True)
class Submission:
    """What is taken from a submitted notebook.

    Attributes:
        steps: What to run, in the instructor's order, each of the student's own cells after the
            known cell that it follows; code that was added to later cells of the instructor's runs
            before the first exercise, too, which may need it.
        flags: Remarks for the staff.
        answers: grade_id to the student's text, for each written answer that the notebook holds.
        own_cells: grade_id of the known cell that they follow to the student's own cells; they
            follow none where it is empty.
        unanswered: grade_ids of the questions to which nothing in the notebook can be the answer.
        elsewhere: grade_ids of the questions whose cell is blank, in a notebook with other text of
            the student's.
        locked: grade_id to the submitted text of each of the instructor's code cells.
    """

    steps: tuple[Step, ...]
    flags: tuple[Flag, ...]
    answers: dict[str, str]
    own_cells: dict[str, list[OwnCell]]
    unanswered: frozenset[str]
    elsewhere: frozenset[str]
    locked: dict[str, str]


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
    cells = _with_official(list(_cells(data)), homework)
    _check_amount([cell for cell in cells if cell.is_code or cell.kind in _CODE])
    own, flags = _sort(cells, homework)
    sources = {cell.name: cell.source for cell in cells if cell.official and cell.counts}
    steps = _own_steps(own, "")
    for official in homework.cells:
        steps += _steps(official, sources)
        steps += _own_steps(own, official.grade_id) if official.grade_id else []
    numbers = itertools.count(1)
    steps = [s if s.cell else replace(s, label=f"extra cell {next(numbers)}") for s in steps]
    first = next((n for n, s in enumerate(steps) if s.cell and s.kind is CellKind.SOLUTION), 0)
    steps[first:first] = [replace(s, is_early=True) for s in steps[first:] if s.is_added]
    flags += lost_metadata([cell.name for cell in cells if cell.name and not cell.grade_id])
    flags += missing_cells(homework, sources)
    kinds = {cell.grade_id: cell.kind for cell in homework.cells}
    answers = {name: text for name, text in sources.items() if kinds[name] is CellKind.WRITTEN}
    blank = _blank_questions(answers, homework)
    elsewhere = frozenset(question for question in blank if _has_text(own, question, homework))
    return Submission(
        steps=tuple(steps),
        flags=tuple(dict.fromkeys(flags)),
        answers=answers,
        own_cells=own,
        unanswered=blank - elsewhere,
        elsewhere=elsewhere,
        locked={name: text for name, text in sources.items() if kinds[name] in LOCKED},
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
        Step(kind=CellKind.SOLUTION, label="", source=cell.source, is_added=cell.is_added)
        for cell in own_cells.get(place, [])
        if cell.is_code
    ]


def _blank_questions(answers: Mapping[str, str], homework: Homework) -> frozenset[str]:
    return frozenset(
        cell.grade_id
        for cell in homework.cells
        if cell.kind is CellKind.WRITTEN
        and not added_lines(answers.get(cell.grade_id, ""), homework)
    )


def _has_text(own: Mapping[str, list[OwnCell]], question: str, homework: Homework) -> bool:
    """Return whether a notebook holds text anywhere, or an own cell of code beside a question."""
    beside = ""
    for cell in itertools.takewhile(lambda cell: cell.grade_id != question, homework.cells):
        beside = cell.grade_id if cell.kind in _CODE else beside
    texts = (not cell.is_code or is_text(cell.source) for cells in own.values() for cell in cells)
    return bool(own.get(beside)) or any(texts)


@dataclass(frozen=True, kw_only=True)
class _SubmittedCell:
    """A cell as handed in; the texts may be empty, the metadata anything.

    Attributes:
        is_code: Whether its type is code.
        grade_id: nbgrader's name for it.
        cell_id: The notebook format's.
        source: Its text.
        metadata: Its metadata.
        official: The instructor's cell that it is; None for a cell that the student added.
        counts: Whether it does: of a copied cell the last one, as in nbgrader.
    """

    is_code: bool
    grade_id: str
    cell_id: str
    source: str
    metadata: dict[str, Any]
    official: Cell | None = None
    counts: bool = False

    @property
    def name(self) -> str:
        """The instructor's grade_id; empty for a cell that the student added."""
        return self.official.grade_id if self.official else ""

    @property
    def kind(self) -> CellKind | None:
        """The instructor's kind."""
        return self.official.kind if self.official else None


def _with_official(cells: list[_SubmittedCell], homework: Homework) -> list[_SubmittedCell]:
    """Find the instructor's cell that each cell is, whatever its type is by now.

    One without a grade_id is known by its id, a locked one by its text, a solution that is missing
    otherwise by its name. Copies of locked cells, without metadata, are left out.
    """
    known = {cell.grade_id: cell for cell in homework.cells if cell.grade_id}
    cells = [replace(cell, official=known.get(cell.grade_id)) for cell in cells]
    missing = known.keys() - {cell.name for cell in cells}
    found: list[_SubmittedCell] = []
    for cell in cells:
        if not cell.official and not cell.grade_id:
            locked = find_locked(cell.source, homework)
            cell = _recognised(cell, locked, {name: known[name] for name in missing}, homework)
            missing -= {cell.name}
            added = find_added(cell.source, locked, homework) if locked else None
            if not cell.official and added == NOTHING_ADDED:
                continue
        found.append(cell)
    last = {cell.name: place for place, cell in enumerate(found)}
    last |= {
        cell.name: place
        for place, cell in enumerate(found)
        if cell.is_code and cell.kind is not CellKind.WRITTEN
    }
    return [replace(cell, counts=last[cell.name] == place) for place, cell in enumerate(found)]


def _recognised(
    cell: _SubmittedCell, locked: Cell | None, missing: Mapping[str, Cell], homework: Homework
) -> _SubmittedCell:
    if cell.cell_id in missing:
        return replace(cell, official=missing[cell.cell_id])
    if locked and locked.grade_id in missing:
        return replace(cell, official=locked)
    for name in defined_names(cell.source) if len(cell.source) <= MAX_CODE_CHARACTERS else ():
        if name in missing and missing[name].kind is CellKind.SOLUTION:
            source = cell.source if cell.is_code else added_code(cell.source, homework)
            return replace(cell, official=missing[name], source=source)
    return cell


def _sort(
    cells: list[_SubmittedCell], homework: Homework
) -> tuple[dict[str, list[OwnCell]], list[Flag]]:
    """Find what the student wrote elsewhere than where the instructor asked for it.

    That includes what stands in a copy of the instructor's cell, as splitting one leaves it, what
    was added to a locked cell, and texts of the instructor's that were changed. Code is put behind
    cells that run alone, so that it is in the order of the steps; what was added to a test, before
    the first test of its exercise.

    Returns:
        The student's own cells, as in ``Submission``, and remarks on the instructor's.
    """
    before_tests = _before_tests(homework)
    own: dict[str, list[OwnCell]] = defaultdict(list)
    flags: list[Flag] = []
    behind = behind_code = ""
    for cell in cells:
        official, code, text = cell.official, "", ""
        if official and cell.counts:
            behind = cell.name
            behind_code = behind_code if official.kind is CellKind.WRITTEN else cell.name
        place = behind_code
        if official and official.kind in LOCKED:
            added = find_added(cell.source, official, homework)
            if added != NOTHING_ADDED and not is_released(cell.source, cell.metadata):
                code, text = added.code, added.words
            code = code and f"# Added to the cell {cell.name}\n{code}"
            place = before_tests.get(official.exercise, cell.name)
        elif not (official and cell.counts):
            is_code = cell.is_code and cell.kind is not CellKind.WRITTEN
            code, text = (cell.source, "") if is_code else ("", cell.source)
        if code.strip():
            is_added = official is not None and official.kind in LOCKED
            own[place].append(OwnCell(source=code, is_code=True, is_added=is_added))
        if added_lines(text, homework):
            own[behind].append(OwnCell(source=text, is_code=False))
        if official and official.kind is not CellKind.WRITTEN:
            remarks = changed_cell(official, cell.source, cell.metadata, runs=bool(code))
            flags += remarks if cell.counts else [copied_cell(official)]
    return dict(own), flags


def _before_tests(homework: Homework) -> dict[str, str]:
    """Return for each exercise the grade_id of the cell before its first test."""
    before, found = "", dict[str, str]()
    for cell in homework.cells:
        if cell.kind is CellKind.TEST:
            found.setdefault(cell.exercise, before)
        before = cell.grade_id or before
    return found


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


def _cells(data: bytes) -> Iterator[_SubmittedCell]:
    notebook = read_json(data)
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
            cell_id = cell.get("id")
            yield _SubmittedCell(
                is_code=cell.get("cell_type") == "code",
                grade_id=_grade_id(metadata),
                cell_id=cell_id if isinstance(cell_id, str) else "",
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
