"""Finds nbgrader's solution and hidden-test regions, and removes them for students."""

import ast
import contextlib
import re

from autograder.homework_source.homework import Cell, CellKind, HomeworkError

# nbgrader's own delimiters, as lines.
BEGIN_SOLUTION, END_SOLUTION = "### BEGIN SOLUTION", "### END SOLUTION"
BEGIN_HIDDEN_TESTS, END_HIDDEN_TESTS = "### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS"
ANSWER_STUB = "*Your answer goes here: replace this line.*"
"""Replaces the model answer of a written question in the released notebook."""

_DELIMITERS = {
    CellKind.SOLUTION: (BEGIN_SOLUTION, END_SOLUTION),
    CellKind.WRITTEN: (BEGIN_SOLUTION, END_SOLUTION),
    CellKind.TEST: (BEGIN_HIDDEN_TESTS, END_HIDDEN_TESTS),
}
_ANY_DELIMITER = re.compile(r"\b(BEGIN|END) (SOLUTION|HIDDEN TESTS|MARK SCHEME)\b")


def regions(cell: Cell) -> list[range]:
    """Return the line numbers, from 1, of each solution or hidden test, with its delimiters.

    nbgrader removes these regions for students.

    Raises:
        HomeworkError: A delimiter is misplaced or unknown.
    """
    begin, end = _DELIMITERS.get(cell.kind, ("", ""))
    found: list[range] = []
    opened = 0
    for number, text in enumerate(cell.source.split("\n"), start=1):
        if not _ANY_DELIMITER.search(text):
            continue
        line, where = text.strip(), cell.place(number)
        if line not in (begin, end):
            fitting = f"'{begin}' or '{end}'" if begin else "no marker"
            raise HomeworkError(f"{where}: {line!r} in a {cell.kind} cell; expected {fitting}")
        if line == begin and opened:
            raise HomeworkError(f"{where}: '{begin}' inside the one opened at {cell.place(opened)}")
        if line == begin:
            opened = number
        elif not opened:
            raise HomeworkError(f"{where}: '{end}' without a '{begin}' before it")
        else:
            found.append(range(opened, number + 1))
            opened = 0
    if opened:
        raise HomeworkError(f"{cell.place(opened)}: '{begin}' without an '{end}' in its cell")
    return found


def students_text(cell: Cell) -> str:
    """Return a cell's text with ``pass`` for a solution, and empty lines for hidden tests.

    Line numbers stay.
    """
    lines = cell.source.split("\n")
    for region in regions(cell):
        first = lines[region.start - 1]
        stub = "" if cell.kind is CellKind.TEST else first.replace(first.lstrip(), "pass")
        lines[region.start - 1 : region.stop - 1] = [stub, *[""] * (len(region) - 1)]
    return "\n".join(lines)


_MAGIC = re.compile(r"^([ \t]*)[%!].*", re.MULTILINE)


def without_magics(source: str) -> ast.Module:
    """Parse an instructor's cell, with ``None`` for each magic, such as ``%matplotlib inline``.

    Raises:
        SyntaxError: The other lines are not valid Python.
    """
    with contextlib.suppress(SyntaxError):  # most cells contain no magic
        return ast.parse(source)
    return ast.parse(_MAGIC.sub(r"\1None", source))


_MARKER = re.compile(r"^ *### (BEGIN|END) (SOLUTION|HIDDEN TESTS)\n?", re.MULTILINE)


def without_markers(source: str) -> str:
    """Return a cell's text without the lines that mark solutions and hidden tests."""
    return _MARKER.sub("", source).rstrip()
