"""A chapter's code without what only the book needs: ``glue`` and the data of live figures."""

import ast
from collections.abc import Iterator


def plain_code(source: str) -> str:
    """Return a cell's code for a notebook of its own.

    Args:
        source: Python. Cells that are not (magics of IPython) stay as they are.

    Returns:
        The code without values handed to the text and without the scripts that hold a figure's
        data; empty if nothing else was there.
    """
    try:
        statements = ast.parse(source).body
    except SyntaxError:
        return source
    lines = source.splitlines()
    for statement in sorted(_unwanted(statements, source), key=lambda s: -s.lineno):
        del lines[statement.lineno - 1 : statement.end_lineno]
    kept = "\n".join(lines).strip()
    return kept if any(line.strip() and not line.startswith("#") for line in lines) else ""


def imported_packages(source: str) -> set[str]:
    """Return the packages that a cell imports.

    Args:
        source: Python.

    Returns:
        Top-level names; none for a cell that is not Python.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    return names


def _unwanted(statements: list[ast.stmt], source: str) -> Iterator[ast.stmt]:
    for statement in statements:
        if _is_for_the_book(statement, source):
            yield statement
            continue
        inner = getattr(statement, "body", [])
        if not isinstance(inner, list) or isinstance(statement, ast.FunctionDef | ast.ClassDef):
            continue
        unwanted = list(_unwanted(inner, source))
        if inner and unwanted == inner and not getattr(statement, "orelse", []):
            yield statement  # a loop that did nothing else
        else:
            yield from unwanted


def _is_for_the_book(statement: ast.stmt, source: str) -> bool:
    if isinstance(statement, ast.ImportFrom):
        return statement.module == "myst_nb"
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    function = statement.value.func
    if not isinstance(function, ast.Name):
        return False
    if function.id == "HTML":
        return "application/json" in (ast.get_source_segment(source, statement) or "")
    return function.id == "glue"
