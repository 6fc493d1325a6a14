"""Which global names a statement defines, and which it reads: asked of Python's own compiler."""

import ast
import dis
import inspect
from collections.abc import Iterator
from types import CodeType

_AT_ONCE = ("<listcomp>", "<setcomp>", "<dictcomp>", "<generic parameters")
_READS = ("LOAD_FROM_DICT_OR_GLOBALS", "LOAD_GLOBAL", "LOAD_NAME")


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


def reads_at(statement: ast.stmt) -> dict[tuple[int, int], bool]:
    """Tell where a statement reads a global name, and not one of a function's or a class's own.

    Args:
        statement: Of a module's or a cell's top level.

    Returns:
        Line and column of each such name, with whether that happens only later, in a function that
        the statement defines.
    """
    found: dict[tuple[int, int], bool] = {}
    module = _compile(statement)
    waiting = [(module, False)]
    while waiting:
        code, late = waiting.pop()
        own: set[str] = set()  # of a class, from when it has them
        for instruction in dis.get_instructions(code):
            place = instruction.positions
            if instruction.opname == "STORE_NAME" and code is not module:
                own.add(instruction.argval)
            elif instruction.opname in _READS and instruction.argval not in own and place:
                found[place.lineno or 0, place.col_offset or 0] = late
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                is_function = inner.co_flags & inspect.CO_OPTIMIZED
                at_once = not is_function or inner.co_name.startswith(_AT_ONCE)
                waiting.append((inner, late or not at_once))
    return found


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
