"""A definition's code without what only its callers need: its contract, and checks of arguments."""

import ast
import re
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

_CHECK = re.compile(r"_?(check|require)_?\w*")


class CondensedCode(NamedTuple):
    """A definition in short.

    Attributes:
        shown: The signature, each docstring's first line, and the lines that carry the idea.
        checks: The checks of arguments that are left out, each at the margin; may be empty.
        has_contract: Whether a docstring says more than is shown of it.
    """

    shown: str
    checks: str
    has_contract: bool


def condensed(code: str) -> CondensedCode:
    """Leave out of a definition what tells little of its idea.

    Args:
        code: Python; what is not, or defines nothing, stays as it is.

    Returns:
        The code in short, and what was left out.
    """
    lines = textwrap.dedent(code).splitlines()
    try:
        definitions = list(_definitions(ast.parse("\n".join(lines))))
    except SyntaxError:
        return CondensedCode(code, "", has_contract=False)
    checks = [_lines(check) for function in definitions for check in _checks(function)]
    contracts = [
        _lines(text) for definition in definitions for text in _long_docstrings(definition)
    ]
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


def _definitions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node


def _lines(statement: ast.stmt) -> range:
    """Return the numbers of a statement's lines, counted from 0."""
    assert statement.end_lineno is not None
    return range(statement.lineno - 1, statement.end_lineno)


def _long_docstrings(definition: ast.FunctionDef | ast.ClassDef) -> Iterator[ast.stmt]:
    if ast.get_docstring(definition) and len(_lines(definition.body[0])) > 1:
        yield definition.body[0]


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
    """Return a statement's lines and those of the comment above it."""
    start = statement.start
    while lines[start - 1].lstrip().startswith("#"):
        start -= 1
    return range(start, statement.stop)


def _without_gaps(lines: list[str]) -> str:
    """Join lines, with no blank one after another."""
    kept: list[str] = []
    for line in lines:
        if line.strip() or (kept and kept[-1].strip()):
            kept.append(line)
    return "\n".join(kept).rstrip() + "\n"
