"""The notebook that formgrader shows: the student's sources, the instructor's cells, the outcomes.

It is built from the released notebook. Only the sources of the student's own cells come from the
submission; no metadata or output of it reaches nbgrader.
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
# A cell as it was handed out gets 0 points from nbgrader: this one is for a person to read.
_ELSEWHERE = "\n\n*Nothing is written here; text of the student's stands in other cells.*"


def transplant(released: NotebookNode, handed_in: bytes, homework: Homework) -> NotebookNode:
    """Return the ``released`` notebook with the sources of the student's own cells.

    They are solutions, written answers and added cells of ``handed_in``, the submitted file.
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
        cell.source += _ELSEWHERE if grade_id in submission.elsewhere else ""
        cells.append(cell)
        if grade_id:
            cells += own_cells(grade_id)
    return nbformat.v4.new_notebook(cells=cells, metadata=released.metadata)


def restore_instructors_cells(
    notebook: NotebookNode, sources: Mapping[str, tuple[str | None, str]]
) -> None:
    """Restore hidden tests and checksums in a notebook, in place.

    ``sources`` maps grade_id to a cell's source, or None to leave it, and its checksum.
    """
    for cell in notebook.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        if grade_id in sources:
            source, cell.metadata.nbgrader["checksum"] = sources[grade_id]
            cell.source = cell.source if source is None else source


def write_outcomes(notebook: NotebookNode, result: SubmissionResult, homework: Homework) -> None:
    """Write into each test cell, in place, the output from which nbgrader reads its score.

    No output means a pass, an error a fail, a number partial credit. The student's own cells get
    their output from the judge's run. Markup that the student wrote is made inert, because
    formgrader would run it. The result is stored in the metadata, for ``kept_result``.
    """
    make_inert(notebook, {cell.source for cell in homework.cells if cell.kind is CellKind.TEXT})
    own = replace(result, outputs=(), flags=(), seed=0)  # safe for the student to read
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
    """Return the result that ``write_outcomes`` stored; None if another program graded it."""
    try:
        return SubmissionResult.from_json(notebook.metadata[_KEPT])
    except (KeyError, TypeError, ValueError):
        return None


def _cleaned(data: Any) -> Any:
    """Return a copy of plain data, with ``clean_text`` applied to every string."""
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
    parts = (check.message, check.hint, second_try.explain_second_try(check), check.traceback)
    lines = [clean_text(part) for part in parts if part]
    message = clean_text(check.message)
    return [
        nbformat.v4.new_output("error", ename=check.status.value, evalue=message, traceback=lines)
    ]


def _as_notebook_outputs(outputs: list[CellOutput]) -> list[NotebookNode]:
    """Return a cell's outputs in MIME types that no page executes."""
    return [
        nbformat.v4.new_output("display_data", {"image/png": output.png})
        if output.png
        else nbformat.v4.new_output("stream", name="stdout", text=output.text)
        for output in outputs
    ]
