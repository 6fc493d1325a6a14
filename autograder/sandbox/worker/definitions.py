"""Which global names a statement defines, and which it reads: asked of Python's own compiler."""

import ast
import dis
from collections.abc import Iterator
from types import CodeType


def names_of(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """Tell what a statement defines from what it reads.

    Args:
        statement: Of a module's or a cell's top level.

    Returns:
        The global names that it defines, an import none; and those that it reads. Functions and
        classes in it count, their own names do not.

    Raises:
        SyntaxError: Python refuses it.
        RecursionError: It is nested too deep.
    """
    code = _compile(statement)
    return _defined(statement, code), {n for part in _parts(code) for n in _names(part, "LOAD")}


def defined_by(statement: ast.stmt) -> set[str]:
    """Return the first half of ``names_of``, which is found sooner alone."""
    return _defined(statement, _compile(statement))


def _compile(statement: ast.stmt) -> CodeType:
    module = ast.Module([statement], [])
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # as IPython does
    code: CodeType = compile(module, "", "exec", flags=flags, dont_inherit=True)
    return code


def _defined(statement: ast.stmt, code: CodeType) -> set[str]:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return set()
    return {name for part in _parts(code) for name in _names(part, "STORE", part is code)}


def _parts(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those of all functions and classes in it."""
    waiting = [code]
    while waiting:
        current = waiting.pop()
        yield current
        waiting += [constant for constant in current.co_consts if isinstance(constant, CodeType)]


def _names(code: CodeType, verb: str, top: bool = True) -> Iterator[str]:
    """Yield the names that a code object loads from, or stores to, the global ones."""
    wanted = {f"{verb}_GLOBAL", *([f"{verb}_NAME"] if top else [])}
    if {dis.opmap[name] for name in wanted}.isdisjoint(code.co_code[::2]):
        return  # to disassemble takes long
    for instruction in dis.get_instructions(code):
        if instruction.opname in wanted:
            yield str(instruction.argval)
