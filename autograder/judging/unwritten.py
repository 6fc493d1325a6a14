"""What is told where a check called a stub: which exercise is not written, or where its code is."""

import ast
import re
import warnings
from collections.abc import Mapping

from autograder.judging.results import UNWRITTEN

_CELL = re.compile(r"^Cell ([\w-]{1,60}), line \d+", re.MULTILINE)
_ABOVE = (
    "The line `raise NotImplementedError(...)` still stands above your code and ends it: delete it."
)
_ELSEWHERE = (
    "Another cell defines {0}, but its own cell still holds what was handed out: write it there."
)


def unwritten(traceback: str, exercise: str, cells: Mapping[str, str]) -> dict[str, str]:
    """Say which exercise's stub was called: not always the one that is checked.

    Args:
        traceback: Of the NotImplementedError.
        exercise: What is checked.
        cells: Label to source of each cell that has run.

    Returns:
        ``message``, and a ``hint``, which may be empty.
    """
    called = [label for label in _CELL.findall(traceback) if label in cells]
    stub = called[-1] if called else exercise
    needed = "" if stub == exercise else f", and {exercise} needs it here"
    return {"message": f"{stub} {UNWRITTEN}{needed}.", "hint": _where_it_is(stub, cells)}


def _where_it_is(stub: str, cells: Mapping[str, str]) -> str:
    if _has_code_below(cells.get(stub, "")):
        return _ABOVE
    defines = re.compile(rf"^(?:def|class) {re.escape(stub)}\b", re.MULTILINE)
    if any(defines.search(source) for label, source in cells.items() if label != stub):
        return _ELSEWHERE.format(stub)
    return ""


def _has_code_below(source: str) -> bool:
    """Say whether something stands below a ``raise NotImplementedError``, where nothing runs."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of escapes that are none
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    bodies = [n.body for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    return any(_is_stubs(statement) for body in bodies for statement in body[:-1])


def _is_stubs(statement: ast.stmt) -> bool:
    match statement:
        case ast.Raise(exc=ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
    return False
