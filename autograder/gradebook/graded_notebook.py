"""The notebook that formgrader shows: the student's sources, the instructor's cells, outcomes.

It is made from the released notebook, in which only the sources of the student's cells are theirs:
whatever else was handed in never reaches nbgrader.
"""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.clean_text import clean_text
from autograder.gradebook.inert_markup import make_inert
from autograder.homework_source.homework import CellKind, Homework
from autograder.judging import second_try
from autograder.judging.results import CellOutput, CheckResult, Status, SubmissionResult
from autograder.judging.submission import read_submission

_KEPT = "course_result"  # in the metadata of a graded notebook


def transplant(released: NotebookNode, handed_in: bytes, homework: Homework) -> NotebookNode:
    """Put a student's sources into a copy of the released notebook.

    Args:
        released: The student notebook as released.
        handed_in: The bytes of the student's notebook; nothing about them is trusted.
        homework: The instructor's notebook.

    Returns:
        The released notebook with the student's solutions, written answers and own cells; what is
        no code is Markdown.

    Raises:
        SubmissionError: The bytes are no notebook.
    """
    submission = read_submission(handed_in, homework)
    answers = submission.answers | {
        s.label: s.source for s in submission.steps if s.cell and s.kind is CellKind.SOLUTION
    }
    numbers = itertools.count(1)

    def own_cells(place: str) -> list[NotebookNode]:
        new = {True: nbformat.v4.new_code_cell, False: nbformat.v4.new_markdown_cell}
        own = submission.own_cells.get(place, [])
        return [new[cell.is_code](cell.source, id=f"own-{next(numbers)}") for cell in own]

    cells = own_cells("")
    for cell in nbformat.from_dict(released).cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        cell.source = answers.get(grade_id, cell.source)
        cells.append(cell)
        if grade_id:
            cells += own_cells(grade_id)
    return nbformat.v4.new_notebook(cells=cells, metadata=released.metadata)


def restore_instructors_cells(
    notebook: NotebookNode, sources: Mapping[str, tuple[str | None, str]]
) -> None:
    """Bring back what was taken out for students: hidden tests and checksums.

    Args:
        notebook: A transplanted notebook, changed in place.
        sources: grade_id to text (None if it is the student's) and checksum of the cell.
    """
    for cell in notebook.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        if grade_id in sources:
            source, cell.metadata.nbgrader["checksum"] = sources[grade_id]
            cell.source = cell.source if source is None else source


def write_outcomes(notebook: NotebookNode, result: SubmissionResult, homework: Homework) -> None:
    """Leave in each test cell the outputs that nbgrader reads marks from.

    Nothing stands for a pass, an error for a fail, a number for partial credit. In the student's
    own cells is left what they showed when the judge had them run. What the student wrote is made
    inert: formgrader would run it. What was found is kept for ``kept_result``.

    Args:
        notebook: The student's notebook, changed in place.
        result: What grading it found.
        homework: The instructor's notebook.
    """
    make_inert(notebook, {cell.source for cell in homework.cells if cell.kind is CellKind.TEXT})
    own = replace(result, outputs=(), flags=(), seed=0)  # what may be told to its student
    notebook.metadata[_KEPT] = _cleaned(own.to_json())
    checks = {check.check: check for check in result.checks}
    numbers = itertools.count(1)
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        label = grade_id or f"extra cell {next(numbers)}"
        if grade_id in checks:
            cell.outputs = _outputs(checks[grade_id])
        else:
            shown = [output for output in result.outputs if output.cell == label]
            cell.outputs = _as_notebook_outputs(shown)


def kept_result(notebook: NotebookNode) -> SubmissionResult | None:
    """Return what ``write_outcomes`` wrote, but for flags, seed and outputs.

    Args:
        notebook: A graded notebook.

    Returns:
        The result; None if another program has graded it.
    """
    try:
        return SubmissionResult.from_json(notebook.metadata[_KEPT])
    except (KeyError, TypeError, ValueError):
        return None


def _cleaned(data: Any) -> Any:
    """Return plain data whose texts can stand in a file."""
    if isinstance(data, Mapping):
        return {key: _cleaned(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_cleaned(value) for value in data]
    return clean_text(data) if isinstance(data, str) else data


def _outputs(check: CheckResult) -> list[NotebookNode]:
    if check.status in (Status.PASS, Status.MANUAL):
        return []
    if check.status is Status.PARTIAL:
        data = {"text/plain": f"{check.score:g}"}
        return [nbformat.v4.new_output("execute_result", data, execution_count=None)]
    parts = (check.message, check.hint, second_try.told(check), check.traceback)
    lines = [clean_text(part) for part in parts if part]  # a page of them must be text
    message = clean_text(check.message)
    return [
        nbformat.v4.new_output("error", ename=check.status.value, evalue=message, traceback=lines)
    ]


def _as_notebook_outputs(outputs: list[CellOutput]) -> list[NotebookNode]:
    """Return what a cell showed as a notebook holds it, in forms that no page can run."""
    return [
        nbformat.v4.new_output("display_data", {"image/png": output.png})
        if output.png
        else nbformat.v4.new_output("stream", name="stdout", text=output.text)
        for output in outputs
    ]
