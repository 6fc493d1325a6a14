"""A definition's code without its contract and without the checks of its arguments."""

import ast
import re
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

_CHECK = re.compile(r"_?(check|require)_?\w*")


class CondensedCode(NamedTuple):
    """A condensed definition of a function or class.

    Attributes:
        shown: The signature, the first line of each docstring, and the code without checks.
        checks: The statements that check arguments, not indented; may be empty.
        has_contract: Whether a docstring has more than one line.
    """

    shown: str
    checks: str
    has_contract: bool


def condensed(code: str) -> CondensedCode:
    """Return the condensed source of a definition; other code, Python or not, stays as it is."""
    lines = textwrap.dedent(code).splitlines()
    try:
        tree = ast.parse("\n".join(lines))
    except SyntaxError:
        return CondensedCode(code, "", has_contract=False)
    definitions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    checks = [_lines(check) for definition in definitions for check in _checks(definition)]
    docstrings = (_lines(d.body[0]) for d in definitions if ast.get_docstring(d))
    contracts = [docstring for docstring in docstrings if len(docstring) > 1]
    left_out = {number for check in checks for number in _with_comment(check, lines)}
    for contract in contracts:
        lines[contract.start] = f'{lines[contract.start].rstrip()}"""'
        left_out |= set(contract[1:])
    kept = [line for number, line in enumerate(lines) if number not in left_out]
    return CondensedCode(
        shown=_without_gaps(kept).replace("``", "`"),
        checks="\n".join(textwrap.dedent("\n".join(lines[c.start : c.stop])) for c in checks),
        has_contract=bool(contracts),
    )


def _lines(statement: ast.stmt) -> range:
    """Return the line numbers of a statement, counted from 0."""
    assert statement.end_lineno is not None
    return range(statement.lineno - 1, statement.end_lineno)


def _checks(definition: ast.FunctionDef | ast.ClassDef) -> Iterator[ast.stmt]:
    if isinstance(definition, ast.FunctionDef):
        yield from (statement for statement in definition.body if _is_check(statement))


def _is_check(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.If):
        return isinstance(statement.body[-1], ast.Raise) and not statement.orelse
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return False
    name = ast.unparse(statement.value.func).rpartition(".")[2]
    return bool(_CHECK.fullmatch(name))


def _with_comment(statement: range, lines: list[str]) -> range:
    """Return the line numbers of a statement and of the comment directly above it."""
    start = statement.start
    while lines[start - 1].lstrip().startswith("#"):
        start -= 1
    return range(start, statement.stop)


def _without_gaps(lines: list[str]) -> str:
    """Join lines into a text in which no two blank lines follow each other."""
    kept: list[str] = []
    for line in lines:
        if line.strip() or (kept and kept[-1].strip()):
            kept.append(line)
    return "\n".join(kept).rstrip() + "\n"
