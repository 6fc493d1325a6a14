"""Messages for exercises that are not written yet, in the wrong place, or not Python."""

import ast
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

from autograder.judging.results import UNREAD, UNWRITTEN, CellFailure, CheckResult, Status

_CELL = re.compile(r"^Cell ([\w-]{1,60}), line \d+", re.MULTILINE)
_ABOVE = (
    "The line `raise NotImplementedError(...)` is still above your code and ends it: delete it."
)
_ELSEWHERE = "Another cell defines {0}, but its own cell still contains the stub: write it there."
_UNREAD = re.compile(r"(?:Syntax|Indentation|Tab)Error: (.+) \(.+, line (\d+)\)")
_MISSING = re.compile(rf"^(\w+) {UNWRITTEN}|NameError: name '(\w+)' is not defined", re.MULTILINE)
_IN_LOCKED = (
    "`{0}` is in the cell {1}, which grading replaces by the instructor's: move "
    "it into its own cell, or into a cell that you add."
)


def name_place(found: CheckResult, locked: Mapping[str, str]) -> CheckResult:
    """Return a check's result, with a hint if it misses a name that a locked cell defines.

    ``locked`` is the submitted text of the locked cells, by grade_id.
    """
    missing = _MISSING.search(found.message)
    if not missing:
        return found
    name = missing[1] or missing[2]
    makes = _making(name)
    places = (label for label, text in locked.items() if makes.search(text))
    place = next(places, "")
    return replace(found, hint=_IN_LOCKED.format(name, place)) if place else found


def _making(name: str) -> re.Pattern[str]:
    """Return a pattern that matches lines which define or import a name."""
    return re.compile(
        rf"^[ \t]*(?:(?:async )?(?:def|class) {name}\b|{name}[ \t]*(?::[^=\n]+)?=[^=]"
        rf"|(?:from \S+ )?import [^\n]*\b{name}\b)",
        re.MULTILINE,
    )


def name_unread_cells(
    checks: Sequence[CheckResult], failures: Sequence[CellFailure], sources: Mapping[str, str]
) -> tuple[tuple[CheckResult, ...], tuple[CellFailure, ...]]:
    """Return the checks and failures, with messages about cells with syntax errors.

    Each check that needs a cell with a syntax error names the cell; the cell's failure lists these
    checks by number.

    Args:
        checks: All checks, in the notebook's order.
        failures: The student's cells that failed.
        sources: The student's cells by label.
    """
    unread = {f.cell: found for f in failures if (found := _UNREAD.match(f.message))}
    waiting: dict[str, list[str]] = {cell: [] for cell in unread}
    changed = []
    for number, check in enumerate(checks, start=1):
        missing = _MISSING.search(check.message) if check.status is Status.ERROR else None
        made = _making(missing[1] or missing[2]) if missing else None
        cell = next((cell for cell in unread if made and made.search(sources[cell])), "")
        if cell:
            waiting[cell].append(str(number))
            message = f"{UNREAD} the cell {cell}, which this check needs: {_place(unread[cell])}."
            is_own = cell == check.exercise
            check = replace(
                check, message=message, hint="", traceback="",
                tried_with=() if is_own else check.tried_with,
            )  # fmt: skip
        changed.append(check)
    told = tuple(
        replace(f, message=_unread_message(unread[f.cell], waiting[f.cell]))
        if f.cell in unread
        else f
        for f in failures
    )
    return tuple(changed), told


def _place(found: re.Match[str]) -> str:
    return f"{found[1]}, in line {found[2]}"


def _unread_message(found: re.Match[str], waiting: Sequence[str]) -> str:
    message = f"{UNREAD} this cell: {_place(found)}."
    if not waiting:
        return message
    noun, verb = ("Check", "needs") if len(waiting) == 1 else ("Checks", "need")
    return f"{message} {noun} {', '.join(waiting)} {verb} it."


def unwritten(traceback: str, exercise: str, cells: Mapping[str, str]) -> dict[str, str]:
    """Return the ``message`` and ``hint`` for a check that called an unwritten stub.

    The stub belongs to ``exercise``, or to another cell in ``traceback``; ``cells`` are the sources
    by label.
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
    """Return whether a function has code below ``raise NotImplementedError``."""
    try:
        with warnings.catch_warnings(action="ignore"):  # about invalid escapes
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
