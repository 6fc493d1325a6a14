"""What of a cell is Python, as Jupyter reads it: also what its magics would run."""

import ast
import contextlib
from collections.abc import Iterator
from string import Formatter

from IPython.core.inputtransformer2 import TransformerManager

from .statements import called

_FILLED_IN = ("getoutput", "run_cell_magic", "run_line_magic", "system")


def code_of(source: str) -> Iterator[tuple[str, int]]:
    """Yield a cell as the Python that IPython makes of it, then what its magics would run.

    With each comes how many lines of the cell stand before it.
    """
    before = len(source) - len(source.lstrip("\n"))
    code = TransformerManager().transform_cell(source)
    yield code, before
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and called(node) in ("run_cell_magic", "run_line_magic"):
            body = node.args[-1] if node.args else None
            if isinstance(body, ast.Constant) and isinstance(body.value, str):
                inside = 1 if called(node) == "run_cell_magic" else node.lineno - 1
                yield from _if_python(body.value, before + inside)
        if isinstance(node, ast.Call) and called(node) in _FILLED_IN:
            for value in _filled_in(node):
                yield from _if_python(value, before + node.lineno - 1)


def _filled_in(asked: ast.Call) -> Iterator[str]:
    """Yield what IPython computes to fill it into a magic or a command: ``%cd {folder}``."""
    for given in asked.args:
        if isinstance(given, ast.Constant) and isinstance(given.value, str):
            with contextlib.suppress(ValueError):  # as IPython, which then fills in nothing
                for _, code, after_colon, _ in Formatter().parse(given.value):
                    yield ":".join(filter(None, (code, after_colon)))


def _if_python(source: str, offset: int) -> Iterator[tuple[str, int]]:
    try:
        pieces = list(code_of(source))  # magics in it too
    except SyntaxError:
        return
    for code, before in pieces:
        yield code, offset + before
