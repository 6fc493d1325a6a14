"""Reads and checks a homework's source, a py:percent file."""

import ast
import functools
import pkgutil
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.files import TextFileError, text_of
from autograder.homework_source.book_links import expand_book_links
from autograder.homework_source.cell_text import (
    BEGIN_SOLUTION,
    END_SOLUTION,
    regions,
    students_text,
    without_magics,
)
from autograder.homework_source.fetch_edition import FOLDED, fetch_cell, needs
from autograder.homework_source.homework import (
    Cell,
    CellKind,
    Homework,
    HomeworkError,
    Variant,
    resolve_homework,
)
from autograder.homework_source.marked_reference import marked_source
from autograder.homework_source.variants import read_variants

if TYPE_CHECKING:
    from nbformat import NotebookNode

_WORDS = (CellKind.TEXT, CellKind.WRITTEN)
_KINDS = ("setup", "solution", "test", "written", "demo", "variants")
_OPTIONS = {
    CellKind.TEXT: set[str](),
    CellKind.SETUP: {"installs"},
    CellKind.SOLUTION: {"of", "forbids", "withholds"},
    CellKind.TEST: {"points", "read"},
    CellKind.WRITTEN: {"points", "read"},
    CellKind.DEMO: {"prints"},
    CellKind.VARIANTS: set[str](),
}
_LAYOUT = {"lines_to_next_cell", "lines_to_end_of_cell_marker", "cell_marker"}  # jupytext's own
_GRADE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def load_homework(name: str, root: Path) -> Homework:
    """Read a homework, with the solutions from course_lib and the cell that installs course_lib.

    ``name`` is its id or number, such as ``hw03``; ``root`` is the project's folder.

    Raises:
        HomeworkError: There is no such homework, or its source is invalid.
    """
    homework_id = resolve_homework(name, root)
    source = root / "solutions" / f"{homework_id}.py"
    cells = [_complete(cell, root) for cell in read_source(source)]
    title = next(filter(None, (_heading(cell.source) for cell in cells)), homework_id)
    code = next((i for i, cell in enumerate(cells) if cell.kind not in _WORDS), len(cells))
    if code and cells[code - 1].kind is CellKind.TEXT:
        before = cells[code - 1]
        folded = FOLDED.format(packages=", ".join(needs(cells)))
        cells[code - 1] = replace(before, source=f"{before.source}\n\n{folded}")
    cells.insert(code, fetch_cell(homework_id))
    _check_unique(cells)
    given = tuple(cell for cell in cells if cell.kind is not CellKind.VARIANTS)
    homework = Homework(
        id=homework_id, title=title, cells=given, variants=_read_all_variants(cells)
    )
    if not homework.checks:
        raise HomeworkError(f"{source} holds no test and no written question: is the file whole?")
    _check_table(homework, source)
    return homework


_TABLE = re.compile(r"^\|.*\| *points *\|\n((?:\|.*\|(?:\n|$))+)", re.MULTILINE)
_POINTS = re.compile(r"\| *(\d+(?:\.\d+)?) *\|$", re.MULTILINE)


def _check_table(homework: Homework, source: Path) -> None:
    """Reject a table of points in the text whose sum differs from that of the checks."""
    points: dict[str, float] = {}
    for check in homework.checks:
        name = check.exercise or check.grade_id
        points[name] = points.get(name, 0.0) + check.points
    for cell in homework.cells:
        table = _TABLE.search(cell.source) if cell.kind is CellKind.TEXT else None
        told = sum(map(float, _POINTS.findall(table[1]))) if table else 0.0
        if table and told != sum(points.values()):
            each = ", ".join(f"{name} {of:g}" for name, of in points.items())
            raise HomeworkError(
                f"{source}: the table in the introduction adds up to {told:g} points, the checks "
                f"to {sum(points.values()):g}: {each}"
            )


def _read_all_variants(cells: list[Cell]) -> tuple[Variant, ...]:
    solutions = {cell.grade_id: cell for cell in cells if cell.kind is CellKind.SOLUTION}
    found: list[Variant] = []
    for cell in (cell for cell in cells if cell.kind is CellKind.VARIANTS):
        tests = (c for c in cells if c.kind is CellKind.TEST)
        checks = [test.grade_id for test in tests if test.exercise == cell.exercise]
        found += read_variants(cell, solutions[cell.exercise], checks)
    return tuple(found)


def read_source(path: Path) -> tuple[Cell, ...]:
    """Return the cells of a file in ``solutions``, with their labels, markers and code checked.

    Solutions from course_lib are not inserted, see ``load_homework``.

    Raises:
        HomeworkError: The file can't be read or is invalid; the message names the line.
    """
    try:
        text = text_of(path.read_bytes())
    except (OSError, TextFileError) as error:
        raise HomeworkError(f"{path} cannot be read: {error}") from error
    return _parse(text, path)


@functools.lru_cache(maxsize=32)  # a command reads the same source several times
def _parse(text: str, path: Path) -> tuple[Cell, ...]:
    import jupytext  # a slow import, which would delay the start of the judges

    notebook = jupytext.reads(text, fmt="py:percent")
    cells: list[Cell] = []
    for cell, line in zip(notebook.cells, _cell_lines(text, notebook.cells), strict=True):
        cells.append(_read_cell(cell, f"{path}:{line}", cells))
    for cell in cells:
        _check_markers(cell)
        _check_syntax(cell)
        _check_identity(cell)
        _check_rule(cell, cells)
    _check_unique(cells)
    return tuple(cells)


def _cell_lines(text: str, cells: "list[NotebookNode]") -> list[int]:
    """Return the line of each cell's ``# %%``; those inside strings don't count."""
    lines = text.split("\n")
    headers = [i for i, line in enumerate(lines, start=1) if re.match(r"# %%( |$)", line)]
    found: list[int] = []
    beyond = 0
    for cell in cells:
        line = next((header for header in headers if header > beyond), len(lines))
        found.append(line)
        beyond = line + cell.source.count("\n")
    return found


def _read_cell(cell: "NotebookNode", where: str, before: list[Cell]) -> Cell:
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
        raise HomeworkError(f"{where}: a code cell needs one of the labels {', '.join(_KINDS)}")
    grade_id = str(labels.get(kind, ""))
    if kind is CellKind.VARIANTS:
        grade_id += "-variants"  # a name of its own
    if kind is not CellKind.TEXT and not _GRADE_ID.fullmatch(grade_id):
        raise HomeworkError(f"{where}: a label is made of A-Z a-z 0-9 _ -, got {grade_id!r}")
    return Cell(
        where=where,
        kind=kind,
        grade_id=grade_id,
        source=cell.source,
        of=str(labels.get("of", "")),
        prints=str(labels.get("prints", "")),
        points=_points(labels, where) if "points" in _OPTIONS[kind] else 0.0,
        read=str(labels.get("read", "")),
        exercise=_exercise(grade_id, kind, where, before),
        forbids=tuple(str(labels.get("forbids", "")).split()),
        installs=tuple(str(labels.get("installs", "")).split()),
    )


def _points(labels: dict[str, Any], where: str) -> float:
    points = labels.get("points")
    if isinstance(points, bool) or not isinstance(points, int | float) or not 0 < points < 1e6:
        raise HomeworkError(
            f"{where}: points must be a positive number, got {points!r}; expected, for "
            "example, points=2"
        )
    return float(points)


def _exercise(grade_id: str, kind: CellKind, where: str, before: list[Cell]) -> str:
    known = [cell.grade_id for cell in before if cell.kind is CellKind.SOLUTION]
    if kind is CellKind.VARIANTS:
        exercise = grade_id.removesuffix("-variants")
        if exercise not in known:
            raise HomeworkError(f"{where}: variants of {exercise!r}, which is no solution above")
        return exercise
    if kind is not CellKind.TEST:
        return ""
    fitting = [label for label in known if grade_id.startswith(f"{label}-")]
    if not fitting:
        raise HomeworkError(
            f"{where}: test {grade_id!r} must be named <solution>-<topic>, after a "
            f"solution cell above it; those are: {', '.join(known) or 'none'}"
        )
    return max(fitting, key=len)


def _check_markers(cell: Cell) -> None:
    found = regions(cell)
    if cell.of and found:
        raise HomeworkError(f"{cell.where}: a solution taken from {cell.of} has no markers")
    if not cell.of and not found and cell.kind in (CellKind.SOLUTION, CellKind.WRITTEN):
        raise HomeworkError(
            f"{cell.where}: a {cell.kind} cell needs '{BEGIN_SOLUTION}' and '{END_SOLUTION}'"
        )


def _check_syntax(cell: Cell) -> None:
    """Reject an instructor's cell that is not valid Python."""
    read: Callable[[str], ast.Module]
    if cell.kind in (CellKind.SETUP, CellKind.SOLUTION):
        texts, read = {"": cell.source}, without_magics
    elif cell.kind is CellKind.TEST:
        texts, read = {"": cell.source, " without its hidden part": students_text(cell)}, ast.parse
    else:
        return
    path, _, line = cell.where.rpartition(":")
    for version, text in texts.items():
        try:
            compile(read("\n" * int(line) + text), path, "exec")  # its lines are the file's
        except SyntaxError as error:
            raise HomeworkError(
                f"{path}:{error.lineno}: the {cell.kind} cell {cell.grade_id}{version} "
                f"is no Python: {error.msg}"
            ) from error


def _check_identity(cell: Cell) -> None:
    """Reject a test that calls ``id``: in the judge, each access to an object makes a new proxy."""
    if cell.kind is not CellKind.TEST:
        return
    for node in ast.walk(ast.parse(cell.source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "id":
            raise HomeworkError(
                f"{cell.place(node.lineno)}: the test cell {cell.grade_id} calls id(), which says "
                "nothing of what lies in the student's process: compare values"
            )


def _check_rule(cell: Cell, cells: list[Cell]) -> None:
    """Reject a forbidden name of the solution ``cell`` that no text in ``cells`` mentions."""
    texts = "\n".join(c.source for c in cells if c.kind is CellKind.TEXT)
    for name in cell.forbids:
        short = name.rpartition(".")[2]
        if not re.search(rf"\b{short}\b", texts):
            raise HomeworkError(
                f"{cell.where}: forbids {name}, but no text of the notebook tells students about "
                f"{short}"
            )


def check_rules(homework: Homework) -> None:
    """Raise ``HomeworkError`` if a solution forbids a name that does not exist.

    It imports PyTorch, so only ``release`` calls it.
    """
    for cell in homework.cells:
        for name in cell.forbids:
            try:
                pkgutil.resolve_name(name)
            except (ImportError, AttributeError, ValueError):
                raise HomeworkError(
                    f"{cell.where}: forbids names {name!r}, which does not exist; expected a full "
                    "name such as torch.nn.LayerNorm"
                ) from None


def _check_unique(cells: list[Cell]) -> None:
    first: dict[str, str] = {}
    for cell in cells:
        if cell.grade_id and cell.grade_id in first:
            raise HomeworkError(
                f"{cell.where}: duplicate grade_id {cell.grade_id!r}, first at "
                f"{first[cell.grade_id]}"
            )
        first[cell.grade_id] = cell.where


def _complete(cell: Cell, root: Path) -> Cell:
    """Add to a cell its links into the book, its solution from course_lib and its title."""
    if cell.kind in _WORDS:
        cell = replace(cell, source=expand_book_links(cell.source, root))
    if cell.of:
        cell = replace(cell, source=_filled(cell))
    title = _first_comment(cell.source) if cell.kind is CellKind.TEST else _heading(cell.source)
    return replace(cell, title=title or cell.grade_id)


def _filled(cell: Cell) -> str:
    """Return the text of a solution cell that is taken from course_lib.

    It is the cell's comments, then the library's source with markers. An outline below the comments
    replaces its docstrings, see ``with_docstrings``.
    """
    lines = cell.source.split("\n")
    first = next((n for n, line in enumerate(lines) if line and line[0] not in "# "), len(lines))
    comments, outline = "\n".join(lines[:first]).strip(), "\n".join(lines[first:])
    try:
        marked = marked_source(cell.of, cell.grade_id, outline)
    except HomeworkError as error:
        raise HomeworkError(f"{cell.where}: {error}") from error
    return f"{comments}\n{marked}" if comments else marked


def _first_comment(source: str) -> str:
    first = source.lstrip().partition("\n")[0]
    return first.lstrip("# ").strip() if first.startswith("#") else ""


def _heading(source: str) -> str:
    match = re.search(r"^#+ +(?!(?:BEGIN|END) SOLUTION\b)(.+)$", source, re.MULTILINE)
    return match.group(1).strip() if match else ""
