"""What of a cell is Python: IPython reads it, and its magics then do nothing but run Python.

``%matplotlib inline`` is for a notebook's own kernel. In the judge, which runs setup cells too,
what IPython makes of it is ``None``; the rest of the cell means what it means to a student.
"""

import ast
import contextlib
import functools
import re
from typing import Any

_FOR_IPYTHON = re.compile(r"get_ipython|>>>|\.\.\.|In \[")  # in Python too, which it then changes
_RUN_PYTHON = ("capture", "prun", "time")  # cell magics whose body defines names in the notebook


def without_magics(source: str) -> ast.Module:
    """Read a cell as IPython does, and leave out what asks for IPython itself.

    Args:
        source: A cell's text.

    Returns:
        Its statements, in which ``None`` stands for every magic; lines keep their numbers.

    Raises:
        SyntaxError: It is no Python, whatever its magics are.
    """
    with contextlib.suppress(SyntaxError):  # most cells are Python as they stand
        if not _FOR_IPYTHON.search(source):
            return ast.parse(source)
    lines = source.splitlines(keepends=True)
    blank = next((n for n, line in enumerate(lines) if line.strip()), 0)  # IPython drops them
    # Its import takes as long as reading a class's homework: only who reads a cell waits for it.
    from autograder.sandbox.worker.cell_text import with_sign

    text = with_sign("".join(lines[blank:]))
    tree = ast.parse("\n" * blank + _transformer().transform_cell(text))
    match tree.body:
        case [
            ast.Expr(
                ast.Call(
                    func=ast.Attribute(attr="run_cell_magic"),
                    args=[ast.Constant(value=name), _, ast.Constant(value=str(inside))],
                )
            )
        ]:
            python = inside if name in _RUN_PYTHON else ""
            return without_magics("\n" * (blank + 1) + python)
    return ast.fix_missing_locations(_Silent().visit(tree))


class _Silent(ast.NodeTransformer):
    """Puts None for the shell, and for what it is asked."""

    def visit_Expr(self, node: ast.Expr) -> Any:
        """Leave what ``%time`` times, if it is a statement of a line's own."""
        match node.value:
            case ast.Call(
                func=ast.Attribute(attr="run_line_magic", value=shell),
                args=[ast.Constant(value="time"), ast.Constant(value=str(timed))],
            ) if _is_shell(shell) and timed.strip():
                return ast.increment_lineno(without_magics(timed), node.lineno - 1).body
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = node.func
        while isinstance(function, ast.Attribute):
            function = function.value
        if _is_shell(node) or _is_shell(function):
            return ast.copy_location(ast.Constant(None), node)
        self.generic_visit(node)
        return node


def _is_shell(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node) == "get_ipython()"


@functools.cache
def _transformer() -> Any:
    """Make IPython's reader of cells, which leaves as many lines as it finds."""
    from IPython.core.inputtransformer2 import TransformerManager

    class Transformer(TransformerManager):
        def do_one_token_transform(self, lines: list[str]) -> tuple[bool, list[str]]:
            """Fill up with empty lines where a magic went on over several."""
            changed, after = super().do_one_token_transform(lines)
            lost = len(lines) - len(after)
            if lost > 0:
                pairs = zip(lines, after, strict=False)
                first = next((n for n, (old, new) in enumerate(pairs) if old != new), 0)
                after[first + 1 : first + 1] = ["\n"] * lost
            return changed, after

    return Transformer()
