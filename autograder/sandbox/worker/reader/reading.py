"""Reads a student's code for what an exercise forbids and for what no solution has business with.

Called in a fresh worker, before any of the student's code runs in it: so its answer can be trusted,
and a text that brings Python's parser down brings down nothing else.
"""

import contextlib
import copy
import re
import sys
from collections.abc import Iterator, Mapping, Sequence

from .. import shell
from .delegation import find_breaches, find_hidden_packages, find_unreadable
from .hostility import find_suspicious
from .names_used import Notebook
from .uses import Statement

_PROGRAM = re.compile(r"import|\n[^\n]*[=(]|[=(][^\n]*\n")
_DEPTH = 50_000  # of nested expressions; Python refuses to run far fewer

Cell = tuple[str, str | None, bool]
"""A label, the source, and whether it is the student's; without source: an exercise is checked."""

Finding = tuple[str, str, str, int]
"""An exercise or a kind, a name, a cell's label, a line."""

Unread = tuple[str, str, str]
"""A cell's label, what Python says of it, and where."""


_begun: dict[Cell, Notebook] = {}  # what is known after a cell, by that cell


def begin(cell: Cell) -> None:
    """Read the instructor's cell that notebooks begin with: once, for all that are read later."""
    label, source, students = cell
    notebook = Notebook()
    try:
        notebook.read(label, source or "", students=students)
    except (RuntimeError, SyntaxError, ValueError):
        return  # whoever reads a whole notebook is told
    _begun[cell] = notebook


def read(
    cells: Sequence[Cell], rules: Mapping[str, Sequence[str]]
) -> tuple[list[Finding], list[Finding], list[Unread]]:
    """Read a notebook.

    Args:
        cells: What runs, and which exercise is checked when, in this order.
        rules: For each exercise the full names that its code must not lead to.

    Returns:
        First, for each exercise and forbidden name, where the exercise's code leads to it. Then
        what is suspicious: ``changes``, ``pries`` or ``hides behind``, a name, and where. Last, the
        cells that are no Python: they must not run, for a student can change what Python is.

    Raises:
        RecursionError: Something is nested deeper than Python would run.
    """
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(_DEPTH)
    try:
        return _read(cells, rules)
    finally:
        sys.setrecursionlimit(usual)


def _read(
    cells: Sequence[Cell], rules: Mapping[str, Sequence[str]]
) -> tuple[list[Finding], list[Finding], list[Unread]]:
    begun = _begun.get(cells[0]) if cells else None
    notebook = copy.deepcopy(begun) if begun else Notebook()
    cells = cells[1:] if begun else cells
    unread: list[Unread] = []
    for label, source, students in cells:
        if source is None:
            notebook.check(label)
            continue
        try:
            notebook.read(label, source, students=students)
        except RecursionError:
            raise
        except (RuntimeError, SyntaxError, ValueError) as error:  # the first: too many magics
            said = shell.describe_error(error)
            unread.append((label, f"{said['type_name']}: {said['message']}", said["traceback"]))
    forbidden = [
        (exercise, name, use.cell, use.line)
        for exercise, names in rules.items()
        for name, use in find_breaches(exercise, names, notebook).items()
    ]
    hidden = {
        name: ("hides behind", name, use.cell, use.line)
        for exercise, names in rules.items()
        if names
        for name, use in find_unreadable(exercise, notebook).items()
    }
    programs = list(_programs(notebook.statements))
    packages = [name for names in rules.values() for name in names if "." not in name]
    for name, use in find_hidden_packages(notebook.statements, programs, packages).items():
        hidden[name] = ("hides behind", name, use.cell, use.line)
    suspicious = find_suspicious([*notebook.statements, *programs])
    return forbidden, [*suspicious, *hidden.values()], unread


def _programs(statements: Sequence[Statement]) -> Iterator[Statement]:
    """Yield what stands in texts that are programs: they may be written to a file, and imported."""
    for statement in statements:
        for text, label, line in statement.texts:
            if _PROGRAM.search(text):
                program = Notebook()
                with contextlib.suppress(MemoryError, RuntimeError, SyntaxError, ValueError):
                    program.read(label, "\n" * (line - 1) + text)
                yield from program.statements
                yield from _programs(program.statements)
