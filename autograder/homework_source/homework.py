"""A homework as the judge sees it: the cells of the instructor's notebook, by kind."""

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode


class HomeworkError(ValueError):
    """A homework that does not exist, or whose source is not well formed."""


class CellKind(enum.StrEnum):
    """What a cell is for, and so where it runs when a submission is graded."""

    TEXT = "text"  # prose: never runs
    SETUP = "setup"  # the instructor's, locked: runs in the judge and in the student's process
    SOLUTION = "solution"  # the student's answer: runs in the student's process
    TEST = "test"  # a check worth points: runs in the judge
    WRITTEN = "written"  # an answer in words: graded by hand
    DEMO = "demo"  # the instructor's, for fun: does not run when grading


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One cell of the instructor's notebook.

    Attributes:
        kind: What it is for.
        grade_id: Its name in the notebook, unique; empty for text.
        source: Its whole text, solutions and hidden tests included.
        points: What it is worth; 0 for a cell that is not graded.
        exercise: grade_id of the solution cell that a test belongs to; empty otherwise.
        title: What a test checks, in words; for a written answer its heading.
        read: Where in the book to read on, as ``chapter#anchor``; may be empty.
        forbids: For a solution, the full names that it may not lead to, such as
            ``torch.nn.LayerNorm``: with one of them the checks of the exercise are lost.
    """

    kind: CellKind
    grade_id: str
    source: str
    points: float = 0.0
    exercise: str = ""
    title: str = ""
    read: str = ""
    forbids: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Homework:
    """The instructor's notebook.

    Attributes:
        id: Name of the nbgrader assignment and of the notebook, such as ``hw03-self-attention``.
        title: The notebook's first heading.
        cells: All cells, in order.
        headings: Those of the chapter and of the section of each ``read``; a place that is missing
            is called by its name.
    """

    id: str
    title: str
    cells: tuple[Cell, ...]
    headings: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def checks(self) -> tuple[Cell, ...]:
        """The cells that are worth points, in order: tests and written answers."""
        return tuple(c for c in self.cells if c.kind in (CellKind.TEST, CellKind.WRITTEN))


def resolve_homework(name: str, root: Path) -> str:
    """Find the homework that a short name stands for.

    Args:
        name: An id such as ``hw03-self-attention``, or its number alone, ``hw03``.
        root: The project's folder, which holds ``solutions``.

    Returns:
        The id.

    Raises:
        HomeworkError: No homework, or more than one, has that name; the message lists the known.
    """
    known = sorted(path.stem for path in (root / "solutions").glob("hw[0-9][0-9]-*.py"))
    found = [homework for homework in known if name in (homework, homework.split("-")[0])]
    if len(found) != 1:
        problem = f"{name!r} stands for several homeworks" if found else f"no homework {name!r}"
        files = sorted(path.name for path in (root / "solutions").glob("*.py"))
        misnamed = [file for file in files if file.startswith(name) and file[:-3] not in known]
        if name and misnamed and not found:
            problem += f": its file must be solutions/hwNN-name.py, not {misnamed[0]}"
        raise HomeworkError(f"{problem}; known: {', '.join(known) or 'none in ' + str(root)}")
    return found[0]


def read_source_notebook(path: Path) -> Homework:
    """Read the instructor's notebook.

    Args:
        path: The notebook that ``source.build_source_notebook`` wrote.

    Returns:
        The homework.

    Raises:
        HomeworkError: It is no notebook, or two cells share a grade_id.
    """
    try:
        notebook = nbformat.read(path, as_version=4)
    except (OSError, ValueError, nbformat.reader.NotJSONError) as error:
        raise HomeworkError(f"{path} cannot be read as a notebook: {error}") from error
    cells = tuple(_read_cell(cell) for cell in notebook.cells)
    seen: set[str] = set()
    for cell in cells:
        if cell.grade_id in seen:
            raise HomeworkError(f"{path}: two cells have the grade_id {cell.grade_id!r}")
        seen |= {cell.grade_id} - {""}
    return Homework(id=path.stem, title=_first_heading(cells) or path.stem, cells=cells)


def _read_cell(cell: NotebookNode) -> Cell:
    ours = cell.metadata.get("course", {})
    nbgrader = cell.metadata.get("nbgrader", {})
    kind = CellKind(ours.get("kind", CellKind.TEXT))
    title = _first_comment(cell.source) if kind is CellKind.TEST else _heading(cell.source)
    return Cell(
        kind=kind,
        grade_id=nbgrader.get("grade_id", ""),
        source=cell.source,
        points=float(nbgrader.get("points", 0) or 0),
        exercise=ours.get("exercise", ""),
        title=title or nbgrader.get("grade_id", ""),
        read=ours.get("read", ""),
        forbids=tuple(ours.get("forbids", ())),
    )


def _first_comment(source: str) -> str:
    first = source.lstrip().partition("\n")[0]
    return first.lstrip("# ").strip() if first.startswith("#") else ""


def _heading(source: str) -> str:
    match = re.search(r"^#+ +(?!(?:BEGIN|END) SOLUTION\b)(.+)$", source, re.MULTILINE)
    return match.group(1).strip() if match else ""


def _first_heading(cells: tuple[Cell, ...]) -> str:
    return next((_heading(c.source) for c in cells if _heading(c.source)), "")
