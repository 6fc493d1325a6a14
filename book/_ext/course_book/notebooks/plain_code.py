"""A chapter's code without the statements that only the book needs: ``glue``, data of figures."""

import ast
from collections.abc import Iterator

from course_book.notebooks.used_files import imported_names


def plain_code(source: str) -> str:
    """Return a cell's code without statements that only the book needs; empty if no code is left.

    A cell with IPython's magics stays as it is.
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
    """Return the top-level packages that a cell imports; none for a cell with magics."""
    try:
        return {name.partition(".")[0] for name in imported_names(ast.parse(source))}
    except SyntaxError:
        return set()


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
            yield statement  # a loop with nothing else in it
        else:
            yield from unwanted


def _is_for_the_book(statement: ast.stmt, source: str) -> bool:
    if isinstance(statement, ast.ImportFrom):
        return statement.module == "myst_nb"
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id="glue"))):
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id="HTML"))):
            return "application/json" in (ast.get_source_segment(source, statement) or "")
    return False
