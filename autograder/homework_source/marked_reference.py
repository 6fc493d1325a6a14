"""Turns a layer of course_lib into a solution cell, with markers around the bodies."""

import ast
import importlib.util
from pathlib import Path

from autograder.homework_source.cell_text import BEGIN_SOLUTION, END_SOLUTION
from autograder.homework_source.homework import HomeworkError

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def marked_source(module_name: str, object_name: str, outline: str = "") -> str:
    """Return the source of a module's function or class, with solution markers around its bodies.

    Decorators, signatures, docstrings and ``super().__init__()`` stay outside the markers. Private
    methods, and private helper functions of the module, are part of the solution: they follow the
    last public body, inside its markers. An ``outline`` has shorter docstrings, see
    ``with_docstrings``.

    Raises:
        HomeworkError: There is no such module or object, it is neither a function nor a class, or
            its layout leaves no place for a stub.
    """
    text = _text_of(module_name)
    body = ast.parse(text).body
    definitions = [n for n in body if object_name in defined_by(n)]
    if not definitions:
        raise HomeworkError(f"{module_name} has no {object_name!r}")
    node = definitions[-1]  # earlier ones are overloads
    if not isinstance(node, _Function | ast.ClassDef):
        raise HomeworkError(f"{module_name}.{object_name} is no function or class defined there")
    source = _source_of(node, text)
    if outline:
        source = with_docstrings(source, outline)
    marked = mark_solution(source)
    helpers = _private_helpers(text, source)
    if not helpers:
        return marked
    lines = marked.split("\n")
    last = max(i for i, line in enumerate(lines) if line.strip() == END_SOLUTION)
    return "\n".join([*lines[:last], *(f"\n\n{h}" for h in helpers), *lines[last:]])


def with_docstrings(source: str, outline: str) -> str:
    """Return the source of a function or class with the docstrings of an outline.

    An outline is the function, or the class with its methods, with docstrings alone; parameters are
    left out. A docstring that the outline leaves out is left out.

    Raises:
        HomeworkError: The outline holds code, or names a function that the library has not.
    """
    if not _is_outline(ast.parse(outline).body):
        raise HomeworkError("an outline holds functions and classes with docstrings, and no code")
    given, found = _docstrings(outline), _docstrings(source)
    unknown = given.keys() - found.keys()
    if unknown:
        raise HomeworkError(f"the outline has {', '.join(sorted(unknown))}, the library has not")
    lines, own = source.split("\n"), outline.split("\n")
    for name, span in sorted(found.items(), key=lambda item: -item[1].start):
        lines[span.start : span.stop] = (
            own[given[name].start : given[name].stop] if name in given else []
        )
    return "\n".join(lines)


def _is_outline(body: list[ast.stmt]) -> bool:
    return all(
        _is_docstring(node)
        or (isinstance(node, _Function | ast.ClassDef) and _is_outline(node.body))
        for node in body
    )


def _docstrings(source: str) -> dict[str, range]:
    """Return the lines, from 0, of the docstring of each function and class, by its full name.

    The range of one without a docstring is empty, and begins where it would stand.
    """
    found: dict[str, range] = {}
    waiting: list[tuple[str, ast.stmt]] = [("", node) for node in ast.parse(source).body]
    while waiting:
        prefix, node = waiting.pop()
        if isinstance(node, _Function | ast.ClassDef):
            first = node.body[0]
            end = first.end_lineno if _is_docstring(first) else _first_line(first) - 1
            begin = (first.lineno if _is_docstring(first) else _first_line(first)) - 1
            found[prefix + node.name] = range(begin, end or 0)
            waiting += [(f"{prefix}{node.name}.", child) for child in node.body]
    return found


def defined_by(statement: ast.stmt) -> set[str]:
    """Return the names that a top-level statement defines or assigns, imports excluded."""
    if isinstance(statement, _Function | ast.ClassDef):
        return {statement.name}
    stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
    return {node.id for node in stored if isinstance(node.ctx, ast.Store)}


def _text_of(module_name: str) -> str:
    """Read a module's source without importing it, because that would import PyTorch."""
    try:
        spec = importlib.util.find_spec(module_name)
        path = spec.origin if spec else None
    except (ImportError, ValueError):  # a parent is not a package
        path = None
    if path is None or not path.endswith(".py"):
        raise HomeworkError(f"no module {module_name!r} can be read")
    return Path(path).read_text(encoding="utf-8")


def _source_of(node: ast.stmt, text: str) -> str:
    """Return a definition's lines in the source ``text``, and indented comments that follow it."""
    lines = text.split("\n")
    last = node.end_lineno or node.lineno
    end = last
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith(" ")):
        end += 1
        last = end if lines[end - 1].strip() else last
    return "\n".join(lines[_first_line(node) - 1 : last])


def mark_solution(source: str) -> str:
    """Return the source of a function or class with solution markers around each body.

    Raises:
        HomeworkError: No body is left to write, a body is on its ``def`` line, or a private method
            does not directly follow a public one.
    """
    node = ast.parse(source).body[0]
    lines = source.split("\n")
    regions: list[tuple[int, int, int]] = []  # first line, last line (from 1), indent
    if isinstance(node, _Function):
        regions = [region for region in [_body_region(node, lines)] if region]
    elif isinstance(node, ast.ClassDef):
        regions = _method_regions(node, lines)
    if not regions:
        raise HomeworkError(f"nothing is left to write in {getattr(node, 'name', 'the cell')!r}")
    for first, last, indent in reversed(regions):
        lines.insert(last, " " * indent + END_SOLUTION)
        lines.insert(first - 1, " " * indent + BEGIN_SOLUTION)
    return "\n".join(lines)


def _method_regions(node: ast.ClassDef, lines: list[str]) -> list[tuple[int, int, int]]:
    regions: list[tuple[int, int, int]] = []
    previous: ast.stmt | None = None  # the member of the last region
    for member in node.body:
        if not isinstance(member, _Function):
            previous = None
        elif _is_private(member.name):
            if previous is None or not regions:
                raise HomeworkError(
                    f"{node.name}.{member.name} must follow a public method with a body: a private "
                    "method vanishes from the stub together with the body before it"
                )
            first, _, indent = regions[-1]
            regions[-1] = (first, _last_line(member, lines), indent)
        else:
            region = _body_region(member, lines)
            regions += [region] if region else []
            previous = member if region else None
    return regions


def _body_region(function: _Function, lines: list[str]) -> tuple[int, int, int] | None:
    body = [s for i, s in enumerate(function.body) if not (i == 0 and _is_docstring(s))]
    if body and ast.unparse(body[0]) == "super().__init__()":
        body = body[1:]
    if all(isinstance(s, ast.Pass) or ast.unparse(s) == "..." for s in body):
        return None  # students get it unchanged
    first = _first_line(body[0])
    if first == function.lineno:
        raise HomeworkError(f"the body of {function.name!r} must stand on lines of its own")
    while lines[first - 2].lstrip().startswith("#"):  # comments above belong to the body
        first -= 1
    return first, _last_line(function, lines), body[0].col_offset


def _last_line(function: _Function, lines: list[str]) -> int:
    last = function.end_lineno or function.lineno
    while last < len(lines) and lines[last].startswith(" " * (function.col_offset + 1) + " "):
        last += 1  # an indented comment after the last statement
    return last


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _private_helpers(text: str, source: str) -> list[str]:
    """Return the private definitions of the module ``text`` that a piece of its ``source`` needs.

    Each is given by its lines, in the module's order.
    """
    helpers = {
        name: statement for statement in ast.parse(text).body for name in defined_by(statement)
    }
    wanted: set[str] = set()
    waiting = ast.parse(source).body
    while waiting:
        used = {node.id for node in ast.walk(waiting.pop()) if isinstance(node, ast.Name)}
        new = {n for n in used if _is_private(n) and n in helpers} - wanted
        wanted |= new
        waiting += [helpers[name] for name in new]
    lines = text.split("\n")
    spans = {
        (_first_line(helpers[name]), helpers[name].end_lineno or helpers[name].lineno)
        for name in wanted
    }
    return ["\n".join(lines[first - 1 : last]) for first, last in sorted(spans)]


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
