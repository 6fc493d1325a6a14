"""From a homework's source, a py:percent file, to the instructor's nbgrader notebook."""

import pkgutil
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbformat import NotebookNode

from autograder.atomic_write import write_atomically
from autograder.homework_source.book_links import expand_book_links
from autograder.homework_source.cell_text import without_hidden_tests, without_magics
from autograder.homework_source.homework import CellKind, HomeworkError, resolve_homework
from autograder.homework_source.marked_reference import BEGIN_SOLUTION, END_SOLUTION, marked_source

BEGIN_HIDDEN_TESTS = "### BEGIN HIDDEN TESTS"
END_HIDDEN_TESTS = "### END HIDDEN TESTS"

_KINDS = ("setup", "solution", "test", "written", "demo")
_OPTIONS = {
    CellKind.TEXT: set[str](),
    CellKind.SETUP: set[str](),
    CellKind.SOLUTION: {"of", "forbids"},
    CellKind.TEST: {"points", "read"},
    CellKind.WRITTEN: {"points", "read"},
    CellKind.DEMO: set[str](),
}
_MARKERS = {
    CellKind.SOLUTION: (BEGIN_SOLUTION, END_SOLUTION),
    CellKind.WRITTEN: (BEGIN_SOLUTION, END_SOLUTION),
    CellKind.TEST: (BEGIN_HIDDEN_TESTS, END_HIDDEN_TESTS),
}
_LAYOUT = {"lines_to_next_cell", "lines_to_end_of_cell_marker", "cell_marker"}  # jupytext's own
_GRADE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, kw_only=True)
class SourceCell:
    """One cell of a homework's source.

    Attributes:
        where: File and line of its ``# %%``, for messages.
        kind: What it is for.
        grade_id: Its label; empty for text.
        source: Its text as it stands in the file.
        of: For a solution that course_lib holds, the module; else empty.
        points: What a test or a written answer is worth.
        read: Where in the book to read on, as ``chapter#anchor``; may be empty.
        exercise: For a test, the label of its solution cell; else empty.
        forbids: For a solution, the full names that it may not lead to.
    """

    where: str
    kind: CellKind
    grade_id: str
    source: str
    of: str = ""
    points: float = 0
    read: str = ""
    exercise: str = ""
    forbids: tuple[str, ...] = ()


def read_source(path: Path) -> tuple[SourceCell, ...]:
    """Read a homework's source and check its labels, its markers and the judge's own code.

    Args:
        path: A file such as ``solutions/hw03-self-attention.py``.

    Returns:
        Its cells, in order.

    Raises:
        HomeworkError: The file cannot be read or breaks the grammar; the message names the line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise HomeworkError(f"{path} cannot be read: {error}") from error
    notebook = jupytext.reads(text, fmt="py:percent")
    cells: list[SourceCell] = []
    for cell, line in zip(notebook.cells, _cell_lines(text, notebook.cells), strict=True):
        cells.append(_read_cell(cell, f"{path}:{line}", cells))
    for cell in cells:
        _check_markers(cell)
        _check_syntax(cell)
        _check_rule(cell, cells)
    _check_unique(cells)
    return tuple(cells)


def build_source_notebook(homework_id: str, root: Path) -> Path:
    """Write the instructor's notebook: every solution and every hidden test in it.

    The same source gives the same bytes.

    Args:
        homework_id: A homework in ``solutions``, such as ``hw03-self-attention``.
        root: The project's folder.

    Returns:
        ``build/source/<id>/<id>.ipynb``.

    Raises:
        HomeworkError: There is no such homework, or its source is not well formed.
    """
    homework = resolve_homework(homework_id, root)
    cells = read_source(root / "solutions" / f"{homework}.py")
    notebook = nbformat.v4.new_notebook(
        metadata={
            "kernelspec": {
                "display_name": "Python 3 (ipykernel)",
                "language": "python",
                "name": "python3",
            },
            "language_info": {"name": "python"},
        },
        cells=[_notebook_cell(cell, index, root) for index, cell in enumerate(cells)],
    )
    target = root / "build" / "source" / homework / f"{homework}.ipynb"
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(target, nbformat.writes(notebook) + "\n")
    return target


def _cell_lines(text: str, cells: list[NotebookNode]) -> list[int]:
    """Return the line of each cell's ``# %%``, passing over those that stand inside a string."""
    lines = text.split("\n")
    headers = [i for i, line in enumerate(lines, start=1) if re.match(r"# %%( |$)", line)]
    found: list[int] = []
    beyond = 0
    for cell in cells:
        line = next((header for header in headers if header > beyond), len(lines))
        found.append(line)
        beyond = line + cell.source.count("\n")
    return found


def _read_cell(cell: NotebookNode, where: str, before: list[SourceCell]) -> SourceCell:
    labels = {key: value for key, value in cell.metadata.items() if key not in _LAYOUT}
    given = [kind for kind in _KINDS if kind in labels]
    if len(given) > 1:
        raise HomeworkError(f"{where}: a cell is of one kind, got {' and '.join(given)}")
    kind = CellKind(given[0]) if given else CellKind.TEXT
    unknown = sorted(set(labels) - {kind} - _OPTIONS[kind])
    if unknown:
        shown = ", ".join(str(labels.get("incorrectly_encoded_metadata", u)) for u in unknown)
        raise HomeworkError(
            f"{where}: unknown label {shown}; a {kind} cell may have: "
            f"{', '.join(sorted(_OPTIONS[kind])) or 'none'}"
        )
    if cell.cell_type == "markdown" and kind not in (CellKind.TEXT, CellKind.WRITTEN):
        raise HomeworkError(f"{where}: a {kind} cell holds code, not markdown")
    if cell.cell_type == "code" and kind is CellKind.WRITTEN:
        raise HomeworkError(f"{where}: a written answer is a markdown cell: '# %% [markdown]'")
    if cell.cell_type == "code" and kind is CellKind.TEXT:
        raise HomeworkError(
            f"{where}: a code cell needs one of the labels setup, solution, test, demo"
        )
    grade_id = str(labels.get(kind, ""))
    if kind is not CellKind.TEXT and not _GRADE_ID.fullmatch(grade_id):
        raise HomeworkError(f"{where}: a label is made of A-Z a-z 0-9 _ -, got {grade_id!r}")
    return SourceCell(
        where=where,
        kind=kind,
        grade_id=grade_id,
        source=cell.source,
        of=str(labels.get("of", "")),
        points=_points(labels, where) if "points" in _OPTIONS[kind] else 0,
        read=str(labels.get("read", "")),
        exercise=_exercise(grade_id, where, before) if kind is CellKind.TEST else "",
        forbids=tuple(str(labels.get("forbids", "")).split()),
    )


def _points(labels: dict[str, Any], where: str) -> float:
    points = labels.get("points")
    if isinstance(points, bool) or not isinstance(points, int | float) or not 0 < points < 1e6:
        raise HomeworkError(f"{where}: points must be a positive number, got {points!r}")
    return points


def _exercise(grade_id: str, where: str, before: list[SourceCell]) -> str:
    known = [cell.grade_id for cell in before if cell.kind is CellKind.SOLUTION]
    fitting = [label for label in known if grade_id.startswith(f"{label}-")]
    if not fitting:
        raise HomeworkError(
            f"{where}: test {grade_id!r} must be named <solution>-<what is checked>, after a "
            f"solution cell that stands before it; those are: {', '.join(known) or 'none'}"
        )
    return max(fitting, key=len)


def _check_markers(cell: SourceCell) -> None:
    begin, end = _MARKERS.get(cell.kind, ("", ""))
    open_since = ""
    regions = 0
    for offset, line in enumerate(cell.source.split("\n"), start=1):
        where = _later(cell.where, offset)
        word = re.search(r"\b(BEGIN|END) (SOLUTION|HIDDEN TESTS|MARK SCHEME)\b", line)
        if word is None:
            continue
        if line.strip() not in (begin, end):
            fitting = f"'{begin}' or '{end}'" if begin else "no marker"
            raise HomeworkError(
                f"{where}: {line.strip()!r} in a {cell.kind} cell; expected {fitting}"
            )
        if line.strip() == begin:
            if open_since:
                raise HomeworkError(f"{where}: '{begin}' inside the one opened at {open_since}")
            open_since = where
            regions += 1
        elif not open_since:
            raise HomeworkError(f"{where}: '{end}' without a '{begin}' before it")
        else:
            open_since = ""
    if open_since:
        raise HomeworkError(f"{open_since}: '{begin}' without an '{end}' in its cell")
    if cell.of and _code_lines(cell.source):
        raise HomeworkError(f"{cell.where}: a solution taken from {cell.of} holds comments alone")
    if not cell.of and not regions and cell.kind in (CellKind.SOLUTION, CellKind.WRITTEN):
        raise HomeworkError(f"{cell.where}: a {cell.kind} cell needs '{begin}' and '{end}'")


def _check_syntax(cell: SourceCell) -> None:
    """Refuse what every student would lose points by: code of ours that is no Python."""
    if cell.kind is CellKind.SETUP:
        texts = {"": without_magics(cell.source)}
    elif cell.kind is CellKind.TEST:
        texts = {"": cell.source, " without its hidden part": without_hidden_tests(cell.source)}
    else:
        return
    path, _, line = cell.where.rpartition(":")
    for version, text in texts.items():
        try:
            compile("\n" * int(line) + text, path, "exec")  # its lines are those of the file
        except SyntaxError as error:
            raise HomeworkError(
                f"{path}:{error.lineno}: the {cell.kind} cell {cell.grade_id}{version} "
                f"is no Python: {error.msg}"
            ) from error


def _check_rule(cell: SourceCell, cells: list[SourceCell]) -> None:
    """Refuse a rule that can't be broken, or that students are not told."""
    told = "\n".join(c.source for c in cells if c.kind is CellKind.TEXT)
    for name in cell.forbids:
        try:
            pkgutil.resolve_name(name)
        except (ImportError, AttributeError, ValueError):
            raise HomeworkError(
                f"{cell.where}: forbids names {name!r}, which does not exist; expected a full name "
                "such as torch.nn.LayerNorm"
            ) from None
        short = name.rpartition(".")[2]
        if not re.search(rf"\b{short}\b", told):
            raise HomeworkError(
                f"{cell.where}: forbids {name}, but no text of the notebook tells students about "
                f"{short}"
            )


def _forbidden(cell: SourceCell) -> list[str]:
    """Return the names that a solution may not lead to; what course_lib holds of it is one."""
    return [*cell.forbids, *([f"{cell.of}.{cell.grade_id}"] if cell.of else [])]


def _later(where: str, offset: int) -> str:
    path, _, line = where.rpartition(":")
    return f"{path}:{int(line) + offset}"


def _code_lines(source: str) -> list[str]:
    return [line for line in source.split("\n") if line.strip() and not line.startswith("#")]


def _check_unique(cells: list[SourceCell]) -> None:
    first: dict[str, str] = {}
    for cell in cells:
        if cell.grade_id and cell.grade_id in first:
            raise HomeworkError(
                f"{cell.where}: duplicate grade_id {cell.grade_id!r}, first at "
                f"{first[cell.grade_id]}"
            )
        first[cell.grade_id] = cell.where


def _notebook_cell(cell: SourceCell, index: int, root: Path) -> NotebookNode:
    source = _filled(cell) if cell.of else cell.source
    if cell.kind in (CellKind.TEXT, CellKind.WRITTEN):
        made = nbformat.v4.new_markdown_cell(expand_book_links(source, root))
    else:
        made = nbformat.v4.new_code_cell(source)
    made.id = cell.grade_id or f"text-{index:02d}"
    if cell.kind is CellKind.TEXT:
        return made
    graded = cell.kind in (CellKind.TEST, CellKind.WRITTEN)
    answered = cell.kind in (CellKind.SOLUTION, CellKind.WRITTEN)
    made.metadata["nbgrader"] = {
        "grade": graded,
        "grade_id": cell.grade_id,
        "locked": not answered,
        "schema_version": 3,
        "solution": answered,
        "task": False,
        **({"points": cell.points} if graded else {}),
    }
    ours = {
        "kind": str(cell.kind),
        "exercise": cell.exercise,
        "read": cell.read,
        "forbids": _forbidden(cell),
    }
    made.metadata["course"] = {key: value for key, value in ours.items() if value}
    return made


def _filled(cell: SourceCell) -> str:
    try:
        marked = marked_source(cell.of, cell.grade_id)
    except HomeworkError as error:
        raise HomeworkError(f"{cell.where}: {error}") from error
    return f"{cell.source}\n{marked}" if cell.source else marked
