"""Makes the instructor's notebook for nbgrader, with all solutions and hidden tests."""

import nbformat
from nbformat import NotebookNode

from autograder.homework_source.cell_text import regions, without_markers
from autograder.homework_source.homework import Cell, CellKind, Homework

_LONG_TEST = 12  # visible lines; the notebook folds a longer test
_METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}


def instructors_notebook(homework: Homework) -> str:
    """Return the text of the instructor's notebook file; equal homeworks give equal text."""
    cells = [_notebook_cell(cell, index) for index, cell in enumerate(homework.cells)]
    return nbformat.writes(nbformat.v4.new_notebook(metadata=_METADATA, cells=cells)) + "\n"


def self_contained_notebook(homework: Homework) -> str:
    """Return the instructor's notebook for a kernel of its own, as nbgrader and nbval run it.

    Its setup cell also defines ``reference`` and the names of ``course_lib.testing``, which the
    judge gives to hidden tests.
    """
    solutions = {
        cell.grade_id: without_markers(cell.source)
        for cell in homework.cells
        if cell.kind is CellKind.SOLUTION
    }
    notebook = nbformat.reads(instructors_notebook(homework), as_version=4)
    setup = next(c for c in notebook.cells if c.metadata.get("course", {}).get("kind") == "setup")
    code = "\n".join(solutions.values())
    setup.source += (
        "\n\nfrom types import SimpleNamespace\n\nfrom course_lib.testing import *\n\n"
        f"names = dict(globals())\nexec({code!r}, names)\n"
        f"reference = SimpleNamespace(**{{name: names[name] for name in {list(solutions)}}})"
    )
    return nbformat.writes(notebook) + "\n"


def _notebook_cell(cell: Cell, index: int) -> NotebookNode:
    if cell.kind in (CellKind.TEXT, CellKind.WRITTEN):
        made = nbformat.v4.new_markdown_cell(cell.source)
    else:
        made = nbformat.v4.new_code_cell(cell.source)
    made.id = cell.grade_id or f"text-{index:02d}"
    if cell.kind is CellKind.TEXT:
        return made
    graded = cell.kind in (CellKind.TEST, CellKind.WRITTEN)
    answered = cell.kind in (CellKind.SOLUTION, CellKind.WRITTEN)
    points = int(cell.points) if cell.points.is_integer() else cell.points
    made.metadata["nbgrader"] = {
        "grade": graded,
        "grade_id": cell.grade_id,
        "locked": not answered,
        "schema_version": 3,
        "solution": answered,
        "task": False,
        **({"points": points} if graded else {}),
    }
    ours = {
        "kind": str(cell.kind),
        "exercise": cell.exercise,
        "read": cell.read,
        "forbids": list(cell.forbids),
    }
    made.metadata["course"] = {key: value for key, value in ours.items() if value}
    if cell.kind is CellKind.TEST:
        shown = cell.source.count("\n") + 1 - sum(map(len, regions(cell)))
        if shown > _LONG_TEST:
            made.metadata["jupyter"] = {"source_hidden": True}
    if cell.kind is CellKind.FETCH:
        made.metadata |= {"jupyter": {"source_hidden": True}, "cellView": "form"}  # Colab's word
    return made
