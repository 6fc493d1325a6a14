"""Reads a submitted notebook: the text of its solution cells, answers and added cells.

The instructor's notebook provides the order, the points and the text of all other cells.
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

MAX_CODE_CHARACTERS = 300_000  # sent to a worker in one message
MAX_CODE_CELLS = 1_000
MAX_CELLS = 10_000
_CODE = (CellKind.SOLUTION, *LOCKED)


@dataclass(frozen=True, kw_only=True)
class Step:
    """A cell to run when a submission is graded.

    Attributes:
        kind: SETUP, SOLUTION (also for cells that the student added) or TEST.
        label: grade_id, or ``extra cell N`` for a cell that the student added.
        source: The instructor's text, or for a SOLUTION the student's.
        cell: The instructor's cell; None for a cell that the student added.
        is_added: Whether the student added this code to an instructor's cell.
        is_early: Whether this is the first of two runs; the second is in the cell's own place.
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
        source: Its text.
        is_code: Whether it is code, and so one of the steps; else it is a note.
        is_added: Whether it was added to an instructor's cell.
    """

    source: str
    is_code: bool
    is_added: bool = False


@dataclass(frozen=True, kw_only=True)
class Submission:
    """The parts of a submitted notebook that grading uses.

    Attributes:
        steps: Cells to run, in the instructor's order. The student's own cells follow the
            instructor's cell that they follow in the notebook. Code added to later instructor's
            cells also runs before the first exercise, which may need it.
        flags: Remarks for the staff.
        answers: The student's text by grade_id, for each written answer in the notebook.
        own_cells: The student's own cells, by grade_id of the instructor's cell before them; an
            empty id if there is none.
        unanswered: grade_ids of the questions without any text that could be an answer.
        elsewhere: grade_ids of the questions whose cell is blank, in a notebook with other student
            text.
        locked: The submitted text of the instructor's code cells, by grade_id.
    """

    steps: tuple[Step, ...]
    flags: tuple[Flag, ...]
    answers: dict[str, str]
    own_cells: dict[str, list[OwnCell]]
    unanswered: frozenset[str]
    elsewhere: frozenset[str]
    locked: dict[str, str]


def read_submission(data: bytes, homework: Homework) -> Submission:
    """Read the student's parts of a notebook from the untrusted bytes of the submitted file.

    Raises:
        SubmissionError: The file or its code is too large, or is not a notebook of format 4.
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
    """Return the step that runs a code cell as the instructor wrote it."""
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
    """Return whether the student wrote text anywhere, or code beside a question."""
    beside = ""
    for cell in itertools.takewhile(lambda cell: cell.grade_id != question, homework.cells):
        beside = cell.grade_id if cell.kind in _CODE else beside
    texts = (not cell.is_code or is_text(cell.source) for cells in own.values() for cell in cells)
    return bool(own.get(beside)) or any(texts)


@dataclass(frozen=True, kw_only=True)
class _SubmittedCell:
    """A submitted cell; texts may be empty, and the metadata may be anything.

    Attributes:
        is_code: Whether its type is code.
        grade_id: nbgrader's id.
        cell_id: The notebook format's id.
        source: Its text.
        metadata: Its metadata.
        official: The matching instructor's cell; None for a cell that the student added.
        counts: Whether it is the last copy of its cell, which counts as in nbgrader.
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
    """Match each cell to the instructor's cell, even if its type was changed.

    A cell without a grade_id is matched by its id, a locked one by its text, a solution by the name
    that it defines. Unchanged copies of locked cells without metadata are removed.
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
    """Find the student's text outside of solution cells and answers.

    It may be in an added cell, in a copy of an instructor's cell (such as half of a split cell), in
    a locked cell, or in a changed text cell. Code follows the instructor's code cell before it, so
    that it is in the order of the steps. Code added to a test precedes the first test of its
    exercise.

    Returns:
        The student's own cells, as in ``Submission``, and flags on the instructor's.
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
    # Half a surrogate pair is valid JSON, but can't be encoded, so it is replaced.
    return source.encode(errors="replace").decode() if isinstance(source, str) else ""
