"""Reads one statement for the full names that it uses, and the global names that it reads."""

import ast
import contextlib
import functools
from collections.abc import Iterator, Sequence

from .definitions import reads_at
from .imports import Import, Known, imports, own_name
from .statements import ANYWHERE, called, outside_definitions, place_in, put_into
from .uses import Statement, Use

SHELL = "IPython.core.interactiveshell.InteractiveShell"
"""The name that stands for what ``get_ipython()`` returns."""

_TEXTS = ("__doc__", "__module__", "__name__", "__qualname__")  # who reads these uses nothing else
_IMPORT = ("import_module", "locate", "resolve_name")
_ASK = ("isinstance", "issubclass")


class StatementReader(ast.NodeVisitor):
    """Collects what one statement reads and uses.

    Args:
        known: What global names stand for before it; by the time of reading, after its cell.
        statement: The statement.
        label: Its cell.
        offset: How many lines of the cell stand before the code that it is in.
        often: Whether it may run again once others have run.
    """

    def __init__(
        self, known: Known, statement: ast.stmt, label: str, offset: int, *, often: bool
    ) -> None:
        self.found = Statement(place=(label, statement.lineno + offset))
        self._known = known
        self._imported = dict(known.imported)
        self._in_function: dict[str, Use] = {}  # imported there, or around it
        self._statement = statement
        self._label = label
        self._offset = offset
        self._often = often

    def resolve(self, node: ast.expr) -> str | None:
        """Return the full name that an expression stands for, if it is one."""
        name = self._spelt_out(node)
        return own_name(name) if name else None

    def _spelt_out(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return self._resolve_name(node)
        if isinstance(node, ast.Attribute) and not _is_text(node):
            owner = self.resolve(node.value)
            return f"{owner}.{node.attr}" if owner else None
        if isinstance(node, ast.Call) and called(node) == "get_ipython":
            return SHELL
        if isinstance(node, ast.Call) and called(node) == "getattr" and len(node.args) > 1:
            owner, attribute = self.resolve(node.args[0]), node.args[1]
            if owner and isinstance(attribute, ast.Constant):
                return f"{owner}.{attribute.value!s}"
        return self._imported_by_text(node)

    def _imported_by_text(self, node: ast.expr) -> str | None:
        """Return what a call, a module's names or the list of modules are asked for by a text."""
        owner: str | None = ""
        if isinstance(node, ast.Call) and self._imports(node):
            named = [word.value for word in node.keywords if word.arg == "name"]
            text = [*node.args, *named, None][0]
        elif isinstance(node, ast.Subscript) and (owner := self._whose_attributes(node.value)):
            text = node.slice
        else:
            return None
        name = text.value if isinstance(text, ast.Constant) else None
        if not isinstance(name, str):
            return None
        name = name.replace(":", ".")
        return name if owner in ("", "sys.modules") else f"{owner}.{name}"

    def _imports(self, call: ast.Call) -> bool:
        name = self.resolve(call.func) or called(call) or ""
        return name.rpartition(".")[2] in _IMPORT

    def _resolve_name(self, node: ast.Name) -> str | None:
        use = self._in_function.get(node.id)
        late = self._is_late(node)
        if late is not None:
            imported = self._known.imported if late else self._imported
            use = imported.get(node.id, use)
        return use.name if use else None

    @functools.cached_property
    def _reads_at(self) -> dict[tuple[int, int], bool]:
        return reads_at(self._statement)

    def _is_late(self, node: ast.Name) -> bool | None:
        """Whether a global name is read only when a function is called; None: it is not global."""
        return self._reads_at.get((node.lineno, node.col_offset))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Note a dotted name, or go on into what the attribute is read from."""
        if _is_text(node) and self.resolve(node.value):
            self._visit_mention(node.value)
        elif not self._note(node, changes=isinstance(node.ctx, ast.Store | ast.Del)):
            if node.attr != "__wrapped__" or not isinstance(node.ctx, ast.Load):  # asking is usual
                self._add_text(node.attr, node)
            if not self._puts_into_own(node):
                self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        """Note a name; one that nobody defined may come from a star import."""
        if not isinstance(node.ctx, ast.Load) or self._note(node):
            return
        self._read(node)
        if self._is_late(node) is not None and node.id not in self._known.defined:
            for module in self._known.stars:
                self._add(f"{module}.{node.id}", node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """Who reads an item of a collection of one's own reads no other."""
        owner = self._whose_attributes(node.value)
        if owner and not isinstance(node.ctx, ast.Load):
            key = node.slice.value if isinstance(node.slice, ast.Constant) else "__dict__"
            self._add(f"{owner}.{key!s}", node, changes=True)
        if isinstance(node.ctx, ast.Load) and self._note(node):
            return
        if not self._puts_into_own(node) and not self._reads_one_item(node):
            self.generic_visit(node)

    def _whose_attributes(self, node: ast.expr) -> str | None:
        """Return the full name of what this is the dictionary of: ``vars(json)``."""
        if isinstance(node, ast.Attribute) and node.attr == "__dict__":
            return self.resolve(node.value)
        if (name := self.resolve(node)) == "sys.modules":
            return name
        if isinstance(node, ast.Call) and called(node) == "vars" and node.args:
            return self.resolve(node.args[0])
        return None

    def visit_Expr(self, node: ast.Expr) -> None:
        """Who adds something to a collection of one's own reads nothing that is in it either."""
        owner = put_into(node)
        if owner and self._is_own(owner):
            self._read(owner, self.found.puts)
            assert isinstance(node.value, ast.Call)
            for part in (*node.value.args, *node.value.keywords):
                self.visit(part)
        else:
            self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Who adds to an item, or an attribute, has read it."""
        target = node.target
        if not isinstance(target, ast.Name) and not self._reads_one_item(target):
            self.visit(target.value)
        self.generic_visit(node)

    def _puts_into_own(self, node: ast.Attribute | ast.Subscript) -> bool:
        """Read whoever puts something into an object of one's own: it reads nothing that is in."""
        owner = node.value
        if not isinstance(node.ctx, ast.Store):
            return False
        if isinstance(owner, ast.Name) and self._is_own(owner):
            self._read(owner, self.found.puts)
        elif not self._reads_one_item(owner):
            return False
        if isinstance(node, ast.Subscript):
            self.visit(node.slice)
        return True

    def _reads_one_item(self, node: ast.expr) -> bool:
        """Read ``seen["mine"]``: what was put there, or where one can't tell."""
        if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)):
            return False
        owner, place = node.value, place_in(node.value, node)
        if not self._is_own(owner) or place == owner.id + ANYWHERE:
            return False
        self._read(owner, self.found.puts)
        for name in (place, owner.id + ANYWHERE):
            self._read(owner, name=name)
        self.visit(node.slice)
        return True

    def _is_own(self, node: ast.Name) -> bool:
        return node.id in self._known.defined and not self.resolve(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Asking what an object is an instance of uses nothing."""
        if called(node) in _ASK and self._is_builtin(node.func):
            self._visit_asking([*node.args[:1], *node.keywords], node.args[1:])
        elif self.resolve(node.func) == "typing.cast":
            self._visit_asking([*node.args[1:], *node.keywords], node.args[:1])
        elif called(node) == "setattr" and len(node.args) > 1:
            owner, name = self.resolve(node.args[0]), node.args[1]
            if owner and isinstance(name, ast.Constant):
                self._add(f"{owner}.{name.value!s}", node, changes=True)
            self.generic_visit(node)
        elif not self._note(node):
            self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Likewise: ``type(x) is nn.Linear``."""
        sides = [node.left, *node.comparators]
        types = [side for side in sides if _is_type_of(side)]
        self._visit_asking(types or sides, [side for side in sides if types and side not in types])

    def visit_MatchClass(self, node: ast.MatchClass) -> None:
        """Likewise: ``case nn.Linear():``."""
        self._visit_asking([*node.patterns, *node.kwd_patterns], [node.cls])

    def _visit_asking(self, used: Sequence[ast.AST], mentioned: Sequence[ast.expr]) -> None:
        for part in used:
            self.visit(part)
        for part in mentioned:
            self._visit_mention(part)

    def _is_builtin(self, node: ast.expr) -> bool:
        return (
            isinstance(node, ast.Name)
            and self._is_late(node) is not None
            and node.id not in self._known.defined | self._known.imported.keys()
        )

    def visit_arg(self, node: ast.arg) -> None:
        """A type hint uses nothing either."""
        self._visit_mention(node.annotation)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Likewise."""
        self._visit_mention(node.annotation)
        for part in (node.target, node.value):
            if part is not None:
                self.visit(part)

    def _visit_mention(self, node: ast.expr | None) -> None:
        """Visit what is only mentioned if it calls something, or gives something a name."""
        runs = ast.Call | ast.NamedExpr
        if node is not None and any(isinstance(inner, runs) for inner in ast.walk(node)):
            self.visit(node)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._visit_mention(node.returns)
        self._visit_body(node, *node.decorator_list, node.args)

    visit_FunctionDef = visit_AsyncFunctionDef = _visit_function  # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Read what stands around a class's body, then that."""
        self._visit_body(node, *node.decorator_list, *node.bases, *node.keywords)

    def _visit_body(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, *around: ast.AST
    ) -> None:
        for part in around:
            self.visit(part)
        with self._inside(node):
            for statement in node.body:
                for inner in outside_definitions(statement):
                    if isinstance(inner, Import):
                        self._in_function |= imports(inner, self._label, self._offset)
            for statement in node.body:
                self.visit(statement)

    def _visit_inner(self, node: ast.AST) -> None:
        with self._inside(node):
            self.generic_visit(node)

    visit_DictComp = visit_GeneratorExp = visit_Lambda = visit_ListComp = visit_SetComp = (  # noqa: N815
        _visit_inner
    )

    @contextlib.contextmanager
    def _inside(self, node: ast.AST) -> Iterator[None]:
        """Leave out what has the name of one's own in there."""
        outer = self._in_function
        own = _stored_in(node) if outer else set()
        self._in_function = {name: use for name, use in outer.items() if name not in own}
        yield
        self._in_function = outer

    def _visit_import(self, node: Import) -> None:
        """Note what a function imports as a global name."""
        found = imports(node, self._label, self._offset)
        self.found.uses += [use for name, use in found if name in self.found.binds]

    visit_Import = visit_ImportFrom = _visit_import  # noqa: N815

    def visit_keyword(self, node: ast.keyword) -> None:
        """Keep what arguments are called."""
        if node.arg:
            self._add_text(node.arg, node.value)
        self.visit(node.value)

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
            for inner in ast.walk(node):
                if isinstance(inner, ast.Name):
                    self._read(inner)
        return bool(name)

    def _read(self, node: ast.Name, names: set[str] | None = None, name: str = "") -> None:
        late, name = self._is_late(node), name or node.id
        if late is not None:
            (self.found.reads if names is None else names).add(name)
        if late or (late is not None and self._often):
            self.found.late.add(name)

    def _add(self, name: str, node: ast.expr, *, changes: bool = False) -> None:
        self.found.uses.append(Use(name, self._label, node.lineno + self._offset, changes))


def _stored_in(node: ast.AST) -> set[str]:
    """Return the names that a function, or one within it, has of its own."""
    found: set[str] = set()
    outer: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.arg):
            found.add(inner.arg)
        elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            found.add(inner.id)
        elif isinstance(inner, ast.Global | ast.Nonlocal):
            outer.update(inner.names)
    return found - outer


def _is_text(node: ast.Attribute) -> bool:
    return node.attr in _TEXTS and isinstance(node.ctx, ast.Load)


def _is_type_of(node: ast.expr) -> bool:
    """Whether it asks for the type of something: ``type(x)``, ``x.__class__``."""
    if isinstance(node, ast.Attribute):
        return node.attr == "__class__"
    return isinstance(node, ast.Call) and called(node) == "type"
