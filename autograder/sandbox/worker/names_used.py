"""Finds the full names that a cell of code uses, without running it.

``import torch.nn.functional as F`` followed by ``F.layer_norm(x)`` uses
``torch.nn.functional.layer_norm``. Python's own parser does the reading, so this runs where a text
that brings the parser down does no harm: in a worker, before any of the student's code.
"""

import ast
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from string import Formatter

from IPython.core.inputtransformer2 import TransformerManager

from .definitions import names_of

SHELL = "IPython.core.interactiveshell.InteractiveShell"
"""The name that stands for what ``get_ipython()`` returns."""

_FILLED_IN = ("getoutput", "run_cell_magic", "run_line_magic", "system")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Use:
    """A place where a full name is used.

    Attributes:
        name: Such as ``torch.nn.LayerNorm``.
        cell: Label of the cell.
        line: Line in the cell, from 1.
        changes: Whether something is assigned to it.
    """

    name: str
    cell: str
    line: int
    changes: bool = False


@dataclass(eq=False)
class Statement:
    """One statement of a cell's top level.

    Attributes:
        binds: Global names that it defines, or whose attributes it sets.
        reads: Global names that it reads, in functions that it defines too.
        uses: Full names that it uses.
        place: Its cell and line.
        texts: Its string constants and names of attributes, each with the cell and the line.
    """

    binds: set[str] = field(default_factory=set)
    reads: set[str] = field(default_factory=set)
    uses: list[Use] = field(default_factory=list)
    place: tuple[str, int] = ("", 0)
    texts: list[tuple[str, str, int]] = field(default_factory=list)


def is_below(name: str, roots: Sequence[str]) -> bool:
    """Whether a full name is one of these, or an attribute of one of these."""
    return any(name == root or name.startswith(f"{root}.") for root in roots)


class Notebook:
    """Reads cells in the order in which they would run.

    Attributes:
        statements: What was read, in order; imports and the instructor's cells left out.
        imported: For each name that stands for something imported, as things are now, that thing.
    """

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self.imported: dict[str, Use] = {}
        self._stars: list[str] = []

    def read(self, label: str, source: str, *, students: bool = True) -> None:
        """Read one cell.

        Args:
            label: What to call it.
            source: Its text, magics included.
            students: Whether its statements are kept, not only what it imports.

        Raises:
            SyntaxError: It is no Python.
            RecursionError: It is nested too deep.
        """
        for code, offset in _code_of(source):
            for node in ast.parse(code, f'cell "{label}"').body:
                statement = self._read_statement(node, label, offset)
                if students and not isinstance(node, ast.Import | ast.ImportFrom):
                    self.statements.append(statement)

    def _read_statement(self, node: ast.stmt, label: str, offset: int) -> Statement:
        local = isinstance(node, _DEFINITIONS)
        known = dict(self.imported) if local else self.imported
        imports: dict[str, Use] = {}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Import | ast.ImportFrom):
                imports.update(self._imports(inner, label, offset))
        known.update(imports)
        reader = _Reader(known, self._stars, label, offset)
        reader.visit(node)
        found = reader.found
        found.place = (label, node.lineno + offset)
        defined, found.reads = names_of(node)
        found.binds = defined | set(_changed(node))
        alias = reader.resolve(node.value) if isinstance(node, ast.Assign) else None
        for name in defined if local else defined - imports.keys():
            self.imported.pop(name, None)
            if alias:
                self.imported[name] = Use(alias, label, node.lineno + offset)
        return found

    def _imports(
        self, node: ast.Import | ast.ImportFrom, label: str, offset: int
    ) -> Iterator[tuple[str, Use]]:
        for alias in node.names:
            if isinstance(node, ast.Import):
                full = alias.name if alias.asname else alias.name.partition(".")[0]
                name = alias.asname or full
            elif alias.name == "*":
                self._stars.append(node.module or "")
                continue
            elif node.module == "__future__" and alias.name == "barry_as_FLUFL":
                raise SyntaxError("another grammar for later cells is no Python")
            else:
                full = f"{node.module}.{alias.name}"
                name = alias.asname or alias.name
            yield name, Use(full, label, node.lineno + offset)


class _Reader(ast.NodeVisitor):
    """Collects what one statement reads and uses."""

    def __init__(self, known: dict[str, Use], stars: list[str], label: str, offset: int) -> None:
        self.found = Statement()
        self._known = known
        self._stars = stars
        self._label = label
        self._offset = offset

    def resolve(self, node: ast.expr) -> str | None:
        """Return the full name that an expression stands for, if it is one."""
        if isinstance(node, ast.Name):
            return self._known[node.id].name if node.id in self._known else None
        if isinstance(node, ast.Attribute):
            owner = self.resolve(node.value)
            return f"{owner}.{node.attr}" if owner else None
        if isinstance(node, ast.Call) and _called(node) == "get_ipython":
            return SHELL
        if isinstance(node, ast.Call) and _called(node) == "getattr" and len(node.args) > 1:
            owner, attribute = self.resolve(node.args[0]), node.args[1]
            if owner and isinstance(attribute, ast.Constant):
                return f"{owner}.{attribute.value!s}"
        return None

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Note a dotted name, or go on into what the attribute is read from."""
        if not self._note(node, changes=isinstance(node.ctx, ast.Store | ast.Del)):
            self._add_text(node.attr, node)
            self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        """Note a name; one that nobody defined may come from a star import."""
        if isinstance(node.ctx, ast.Load) and not self._note(node):
            for module in self._stars:
                self._add(f"{module}.{node.id}", node)

    def visit_Call(self, node: ast.Call) -> None:
        """Asking what an object is an instance of uses nothing."""
        if _called(node) == "isinstance" and node.args:
            self.visit(node.args[0])
        elif _called(node) == "setattr" and len(node.args) > 1:
            owner, name = self.resolve(node.args[0]), node.args[1]
            if owner and isinstance(name, ast.Constant):
                self._add(f"{owner}.{name.value!s}", node, changes=True)
            self.generic_visit(node)
        elif not self._note(node):
            self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> None:
        """A type hint that calls nothing, and gives nothing a name, uses nothing."""
        self._visit_hint(node.annotation)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Likewise."""
        self._visit_hint(node.annotation)
        for part in (node.target, node.value):
            if part is not None:
                self.visit(part)

    def _visit_hint(self, hint: ast.expr | None) -> None:
        runs = ast.Call | ast.NamedExpr
        if hint is not None and any(isinstance(inner, runs) for inner in ast.walk(hint)):
            self.visit(hint)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._visit_hint(node.returns)
        for part in (*node.decorator_list, node.args, *node.body):
            self.visit(part)

    visit_FunctionDef = visit_AsyncFunctionDef = _visit_function  # noqa: N815

    def visit_Constant(self, node: ast.Constant) -> None:
        """Keep texts."""
        if isinstance(node.value, str):
            self._add_text(node.value, node)

    def _add_text(self, text: str, node: ast.expr) -> None:
        self.found.texts.append((text, self._label, node.lineno + self._offset))

    def _note(self, node: ast.expr, *, changes: bool = False) -> bool:
        name = self.resolve(node)
        if name:
            self._add(name, node, changes=changes)
        return bool(name)

    def _add(self, name: str, node: ast.expr, *, changes: bool = False) -> None:
        self.found.uses.append(Use(name, self._label, node.lineno + self._offset, changes))


def _called(call: ast.Call) -> str:
    """Return the last part of a called function's name, or nothing."""
    return str(getattr(call.func, "id", getattr(call.func, "attr", "")))


def _code_of(source: str) -> Iterator[tuple[str, int]]:
    """Yield a cell as the Python that IPython makes of it, then what its magics would run.

    With each comes how many lines of the cell stand before it.
    """
    before = len(source) - len(source.lstrip("\n"))
    code = TransformerManager().transform_cell(source)
    yield code, before
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and _called(node) in ("run_cell_magic", "run_line_magic"):
            body = node.args[-1] if node.args else None
            if isinstance(body, ast.Constant) and isinstance(body.value, str):
                inside = 1 if _called(node) == "run_cell_magic" else node.lineno - 1
                yield from _if_python(body.value, before + inside)
        if isinstance(node, ast.Call) and _called(node) in _FILLED_IN:
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
        pieces = list(_code_of(source))  # magics in it too
    except SyntaxError:
        return
    for code, before in pieces:
        yield code, offset + before


def _changed(node: ast.stmt) -> Iterator[str]:
    """Yield the names whose attributes or items a statement sets, outside of functions."""
    waiting: list[ast.AST] = [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current, _DEFINITIONS):
            continue
        waiting += ast.iter_child_nodes(current)
        root = current if isinstance(getattr(current, "ctx", None), ast.Store) else None
        if isinstance(current, ast.Call) and _called(current) == "setattr" and current.args:
            root = current.args[0]
        while isinstance(root, ast.Attribute | ast.Subscript):
            root = root.value
        if isinstance(root, ast.Name):
            yield root.id
