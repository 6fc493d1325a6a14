"""What a statement consists of: those in its blocks, names that it binds, what it puts where."""

import ast
from collections.abc import Iterator

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
ANYWHERE = "[]"
"""Stands for some item of a collection, one can't tell which, after the collection's name."""

_PUT = ("add", "append", "appendleft", "extend", "insert", "setdefault", "update")
_COLLECTIONS = ("Counter", "OrderedDict", "SimpleNamespace", "defaultdict", "deque", "dict", "list",
                "set")  # fmt: skip
_BLOCKS = ("body", "orelse", "finalbody")


def has_blocks(node: ast.stmt) -> bool:
    """Whether it is made of others, which may run often or never: ``if``, ``for``, ``try``."""
    return hasattr(node, "body") and not isinstance(node, DEFINITIONS)


def take_apart(node: ast.stmt) -> Iterator[ast.stmt]:
    """Yield what a statement is made of: of ``a, b = 1, 2`` two assignments, of a loop its parts.

    Args:
        node: Its blocks are empty afterwards.
    """
    if has_blocks(node):
        inside = _take_blocks(node)
        yield node
        for part in inside:
            yield from take_apart(part)
    elif not isinstance(node, ast.Break | ast.Continue):  # they are nothing alone
        yield from _assignments(node)


def _take_blocks(node: ast.stmt) -> list[ast.stmt]:
    inside: list[ast.stmt] = []
    for owner in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        for block in _BLOCKS:
            if getattr(owner, block, None):
                inside += getattr(owner, block)
                setattr(owner, block, [ast.copy_location(ast.Pass(), node)])
    return sorted(inside, key=lambda part: part.lineno)


def _assignments(node: ast.stmt) -> Iterator[ast.stmt]:
    match node:
        case ast.Assign(
            targets=[ast.Tuple(elts=targets) | ast.List(elts=targets)],
            value=ast.Tuple(elts=values) | ast.List(elts=values),
        ) if len(targets) == len(values) and not _depend(targets, values):
            for target, value in zip(targets, values, strict=True):
                alone = ast.Assign(targets=[target], value=value)
                yield from _assignments(ast.copy_location(alone, node))
        case _:
            yield node


def _depend(targets: list[ast.expr], values: list[ast.expr]) -> bool:
    """Whether it matters that all happens at once, or which belongs to which is not certain."""
    inner = [part for value in values for part in ast.walk(value)]
    read = {part.id for part in inner if isinstance(part, ast.Name)}
    starred = any(isinstance(part, ast.Starred) for part in (*targets, *values))
    return starred or not read.isdisjoint(name for target in targets for name in _stored(target))


def surely_bound(node: ast.stmt) -> set[str]:
    """Return the names that stand for something new once a statement without blocks has run."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return {node.name}
        case ast.Assign(targets=targets):
            return {name for target in targets for name in _stored(target)}
        case ast.AnnAssign(target=target, value=ast.expr()):
            return set(_stored(target))
    return set()


def _stored(target: ast.expr) -> Iterator[str]:
    for part in ast.walk(target):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id


def changed(node: ast.stmt) -> Iterator[str]:
    """Yield the names whose attributes or items a statement sets or adds, outside of functions."""
    for part in outside_definitions(node):
        if owner := put_into(part):
            yield owner.id
        stored = part if isinstance(getattr(part, "ctx", None), ast.Store) else None
        if isinstance(part, ast.Call) and called(part) == "setattr" and part.args:
            stored = part.args[0]
        if name := root_of(stored):
            yield name.id


def filled(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield, of those, the ones that it puts something into, ``seen["theirs"] = 1``, and where."""
    for part in outside_definitions(node):
        if owner := put_into(part):
            yield owner.id, owner.id + ANYWHERE
        match part:
            case ast.Attribute(attr=attribute) if attribute in _PUT or attribute.startswith("__"):
                pass  # what an object does when it is used is made another
            case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                if name := root_of(part):
                    yield name.id, place_in(name, part)


def plain(node: ast.stmt) -> set[str]:
    """Return the names to which a statement gives a collection that does nothing of its own."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return {name} if _is_plain(value) else set()
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            return {name} if _is_plain(value) else set()
        case ast.ClassDef(name=name, bases=[], keywords=[], decorator_list=[], body=body):
            kinds = ast.Pass | ast.Assign | ast.AnnAssign
            return {name} if all(isinstance(inner, kinds) for inner in body) else set()
    return set()


def _is_plain(value: ast.expr) -> bool:
    made = called(value) in _COLLECTIONS if isinstance(value, ast.Call) else False
    return made or isinstance(value, ast.Dict | ast.List | ast.Set)


def put_into(node: ast.AST) -> ast.Name | None:
    """Return what a statement puts something into, and does nothing else: ``seen.append(1)``."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name() as owner, attr=method))):
            return owner if method in _PUT else None
    return None


def root_of(node: ast.AST | None) -> ast.Name | None:
    """Return the name that an attribute, an item, or one of those of one of those begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def place_in(root: ast.Name, node: ast.Attribute | ast.Subscript) -> str:
    """Name the item of a collection that an expression is in, if one can tell, or ``ANYWHERE``."""
    while node.value is not root:
        assert isinstance(node.value, ast.Attribute | ast.Subscript)
        node = node.value
    match node:
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            return f"{root.id}[{key!r}]"
    return root.id + ANYWHERE  # numbers go by many names: -1, True


def owner_of(place: str) -> str:
    """Return the name of the collection that a place is in, or the name itself."""
    return place.partition("[")[0]


def outside_definitions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all in it but what stands in functions and classes."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if not isinstance(current, DEFINITIONS):
            yield current
            waiting += ast.iter_child_nodes(current)


def called(call: ast.Call) -> str:
    """Return the last part of a called function's name, or nothing."""
    return str(getattr(call.func, "id", getattr(call.func, "attr", "")))
