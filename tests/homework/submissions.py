"""Submissions made from a homework's solved notebook by small named edits."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.homework_source.cell_text import without_markers
from autograder.homework_source.homework import Cell, CellKind, Homework
from autograder.judging.results import Status

Edit = str | tuple[tuple[str, str], ...]
"""A change of a cell's solution: a whole new text, or pairs of a piece and its replacement."""

BLANK = ""
"""The edit that leaves a cell as students get it."""

RUN_NOTEBOOK = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
try:
    nbclient.NotebookClient(notebook, timeout=1800, kernel_name="python3").execute()
finally:
    nbformat.write(notebook, sys.argv[1])
"""
"""A program that runs the notebook of a file from top to bottom, and writes its outputs to it."""


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A student's notebook, made from the solutions by edits, and the marks that it must get.

    Attributes:
        student: Name of the student's folder.
        what: What is special about it, in words.
        edits: The edits of the cells that differ from the solution, by the cell's id.
        extra: Source of a cell that the student added at the top; empty for none.
        lost: For each exercise, the names of the checks that must fail, separated by spaces; ``*``
            for all. Every other check must pass.
        hint: Words that the message of a failed check must have: the hint for this mistake.
        status: The status of the failed checks; None for any.
        judge_only: Whether its code would end or alter the process that it runs in.
    """

    student: str
    what: str
    edits: Mapping[str, Edit] = field(default_factory=dict)
    extra: str = ""
    lost: Mapping[str, str] = field(default_factory=dict)
    hint: str = ""
    status: Status | None = None
    judge_only: bool = False

    def lost_checks(self, homework: Homework) -> set[str]:
        """Return the ids of the homework's checks that must fail.

        Raises:
            ValueError: ``lost`` names a check that the homework does not have.
        """
        tests = [cell for cell in homework.checks if cell.kind is CellKind.TEST]
        lost: set[str] = set()
        for exercise, names in self.lost.items():
            of_exercise = {cell.grade_id for cell in tests if cell.exercise == exercise}
            named = {f"{exercise}-{name}" for name in names.split()}
            lost |= of_exercise if names == "*" else named
            if not of_exercise or not lost <= {cell.grade_id for cell in tests}:
                raise ValueError(f"{self.student}: {homework.id} has no check {exercise}: {names}")
        return lost

    @property
    def is_right(self) -> bool:
        """Whether no check may fail."""
        return not self.lost

    def score(self, homework: Homework) -> float:
        """Return the points that the submission must get before anything is graded by hand."""
        lost = self.lost_checks(homework)
        tests = [cell for cell in homework.checks if cell.kind is CellKind.TEST]
        return sum(cell.points for cell in tests if cell.grade_id not in lost)


WRAP = """
def _wrap(target, wrapped):
    import functools, inspect

    if not isinstance(target, type):
        return functools.wraps(target)(wrapped(target))
    for name, method in list(vars(target).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(target, name, functools.wraps(method)(wrapped(method)))
    return target
"""


def wrapped_cell(cell: Cell, wrapper: str, how: str) -> Cell:
    """Return a solution cell whose function, or each public method of its class, is wrapped.

    Args:
        cell: The solution cell.
        wrapper: Source that defines ``_wrapped(function, how)``, which returns the new function.
        how: The second argument of ``_wrapped``.
    """
    name = cell.grade_id
    call = f"{name} = _wrap({name}, lambda function: _wrapped(function, {how!r}))"
    return replace(cell, source=f"{cell.source}\n{WRAP}\n{wrapper}\n{call}")


def nothing_written(homework: Homework) -> Submission:
    """Return the submission of the notebook as students get it, which must fail every check."""
    solutions = [cell.grade_id for cell in homework.cells if cell.kind is CellKind.SOLUTION]
    return Submission(
        student="nobody",
        what="as released",
        edits=dict.fromkeys(solutions, BLANK),
        lost=dict.fromkeys(solutions, "*"),
    )


def answered_cells(
    submission: Submission, homework: Homework, released: NotebookNode
) -> list[Cell]:
    """Return a homework's cells, with a submission's answers in the solution cells.

    ``released`` is the student notebook.
    """
    notebook = make_notebook(submission, homework, released)
    sources = {c.metadata.get("nbgrader", {}).get("grade_id"): c.source for c in notebook.cells}
    return [
        replace(cell, source=sources[cell.grade_id]) if cell.kind is CellKind.SOLUTION else cell
        for cell in homework.cells
    ]


def solved_sources(homework: Homework) -> dict[str, str]:
    """Return the reference solutions without markers, as students would write them, by cell id."""
    return {
        cell.grade_id: without_markers(cell.source)
        for cell in homework.cells
        if cell.kind is CellKind.SOLUTION
    }


def solved_cells(homework: Homework) -> list[Cell]:
    """Return a homework's cells, with the reference solutions as students would write them."""
    sources = solved_sources(homework)
    return [
        replace(cell, source=sources.get(cell.grade_id, cell.source)) for cell in homework.cells
    ]


def solve_notebook(path: Path, homework: Homework, extra: str = "") -> NotebookNode:
    """Fill the reference solutions into the file of a student notebook, and return the notebook.

    ``extra`` is the source of a further cell at the top.
    """
    solved = Submission(student="staff", what="as solved", extra=extra)
    notebook = make_notebook(solved, homework, nbformat.read(path, as_version=4))
    nbformat.write(notebook, path)
    return notebook


def make_notebook(
    submission: Submission, homework: Homework, released: NotebookNode
) -> NotebookNode:
    """Return a copy of the student notebook (``released``) with a submission's answers.

    Raises:
        ValueError: An edit names no cell, or a piece that does not occur exactly once.
    """
    notebook: NotebookNode = nbformat.from_dict(released)
    solved = solved_sources(homework)
    waiting = dict(submission.edits)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        edit = waiting.pop(name, None)
        if edit is None:
            cell.source = solved.get(name, cell.source)
        elif isinstance(edit, tuple):
            cell.source = _replace(solved.get(name, cell.source), edit, submission.student)
        elif edit != BLANK:
            cell.source = edit.strip("\n")
    if waiting:
        raise ValueError(f"{submission.student}: no cell is called {', '.join(waiting)}")
    if submission.extra:
        extra = nbformat.v4.new_code_cell(submission.extra.strip("\n"), id="a-cell-of-my-own")
        notebook.cells.insert(0, extra)
    return notebook


def write_class(
    submissions: tuple[Submission, ...], homework: Homework, released: Path, folder: Path
) -> list[Path]:
    """Write the notebooks of a class, ``<student>/<homework>/<homework>.ipynb``, into a folder.

    ``released`` is the file of the student notebook. Returns the written files.
    """
    original = nbformat.read(released, as_version=4)
    written = []
    for submission in submissions:
        path = folder / submission.student / homework.id / f"{homework.id}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(make_notebook(submission, homework, original), path)
        written.append(path)
    return written


def _replace(source: str, pieces: tuple[tuple[str, str], ...], student: str) -> str:
    for old, new in pieces:
        if source.count(old) != 1:
            raise ValueError(f"{student}: {old!r} occurs {source.count(old)} times, not once")
        source = source.replace(old, new)
    return source


def slug(words: str) -> str:
    """Return the name of a folder made from words: small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
