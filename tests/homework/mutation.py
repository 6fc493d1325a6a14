"""Makes mutants of Python source: copies that differ in one small thing.

Mutating works on the syntax tree, so a mutant has no comments. Docstrings, annotations and raised
errors stay as they are: no test should depend on the words of an error.
"""

import ast
import copy
from collections.abc import Iterator

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_TWINS = (
    ("tril", "triu"), ("min", "max"), ("argmin", "argmax"), ("any", "all"), ("zeros", "ones"),
    ("sum", "mean"), ("sin", "cos"), ("softmax", "log_softmax"), ("sigmoid", "tanh"),
    ("gelu", "relu"), ("sqrt", "square"), ("exp", "log"), ("rand", "randn"), ("append", "extend"),
    ("zeros_like", "ones_like"), ("masked_fill", "masked_fill_"),
)  # fmt: skip
_NAMES = {a: b for pair in _TWINS for a, b in (pair, pair[::-1])}


def mutants(source: str) -> Iterator[str]:
    """Yield all mutants of some source of functions and classes, each once.

    They differ in one thing from ``plain(source)``.
    """
    tree = ast.parse(source)
    seen = {ast.unparse(tree)}
    for index, node in enumerate(_mutable_nodes(tree)):
        for change in range(len(_changes(node))):
            mutant = copy.deepcopy(tree)
            _changes(_mutable_nodes(mutant)[index])[change]()
            text = ast.unparse(ast.fix_missing_locations(mutant))
            if text not in seen:
                seen.add(text)
                yield text


def plain(source: str) -> str:
    """Return source in the form that mutants have: without comments, formatted by ``ast``."""
    return ast.unparse(ast.parse(source))


def _mutable_nodes(tree: ast.AST) -> list[ast.AST]:
    """Return the nodes of a syntax tree that may change, always in the same order."""
    found: list[ast.AST] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop(0)
        found.append(node)
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns") or _is_words(node):
                continue
            children = value if isinstance(value, list) else [value]
            waiting += [child for child in children if isinstance(child, ast.AST)]
    return found


def _changes(node: ast.AST) -> list:
    """Return functions that each change one thing of a node, in place."""
    changes: list = []

    def offer(field: str, value: object) -> None:
        changes.append(lambda: setattr(node, field, value))

    match node:
        case ast.Compare(ops=[operator]):
            for other in _COMPARISONS[type(operator)]:
                offer("ops", [other()])
        case ast.BoolOp():
            offer("op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
        case ast.BinOp() | ast.AugAssign() if type(node.op) in _OPERATORS:
            offer("op", _OPERATORS[type(node.op)]())
        case ast.UnaryOp():  # twice is as good as not at all
            offer("operand", ast.UnaryOp(node.op, node.operand))
        case ast.Constant(value=bool()):
            offer("value", not node.value)
        case ast.Constant(value=int()):
            offer("value", node.value + 1)
            offer("value", node.value - 1)
        case ast.Constant(value=float()):
            offer("value", node.value * 2)
            offer("value", node.value / 2)
        case ast.Constant(value=str()):
            offer("value", "" if node.value else "x")
        case ast.Call():
            swaps = 0 if getattr(node.func, "attr", "") == "transpose" else len(node.args) - 1
            for i in range(swaps):
                offer("args", [*node.args[:i], node.args[i + 1], node.args[i], *node.args[i + 2 :]])
            for i in range(len(node.keywords)):
                offer("keywords", node.keywords[:i] + node.keywords[i + 1 :])
        case ast.Attribute() if node.attr in _NAMES:
            offer("attr", _NAMES[node.attr])
        case ast.Name() if node.id in _NAMES:
            offer("id", _NAMES[node.id])
        case ast.Slice():
            for field in ("lower", "upper", "step"):
                if getattr(node, field) is not None:
                    offer(field, None)
        case ast.If() | ast.IfExp() | ast.While():
            offer("test", ast.UnaryOp(ast.Not(), node.test))
    for field, value in ast.iter_fields(node):
        if field in ("body", "orelse") and isinstance(value, list):
            for i, statement in enumerate(value):
                if not isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Import):
                    offer(field, [*value[:i], *_instead(statement, value), *value[i + 1 :]])
    return changes


def _instead(statement: ast.stmt, block: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements that replace ``statement`` in its block when a mutant leaves it out."""
    if _is_words(statement) and not isinstance(statement, ast.Raise):
        return [statement]
    return [ast.Pass()] if len(block) == 1 else []


def _is_words(node: ast.AST) -> bool:
    """Return whether a node is text for readers: a docstring, an f-string, an error."""
    is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_docstring or isinstance(node, ast.Raise | ast.JoinedStr)
