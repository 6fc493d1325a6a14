"""Finds code that accesses internals of Python or PyTorch, so that a person looks at it.

It reads imports and dotted names with ``ast``; its findings change no marks.
"""

import ast
from collections.abc import Iterator, Sequence

from IPython.core.inputtransformer2 import TransformerManager

PRYING = (
    "ctypes", "gc.get_objects", "gc.get_referents", "gc.get_referrers", "gc.callbacks", "torch._C",
    "torch._dynamo", "torch._library", "torch.library", "torch.overrides",
    "torch.utils._python_dispatch", "torch.cuda.CUDAGraph", "sys.settrace", "sys.setprofile",
    "sys.addaudithook", "sys._getframe", "sys._current_frames", "sys.meta_path",
    "inspect.currentframe", "inspect.stack", "inspect.trace", "inspect.getouterframes",
    "traceback.walk_stack", "traceback.walk_tb", "threading.settrace", "threading.setprofile",
    "os.fork", "os.kill", "socket", "types.CodeType", "types.FunctionType", "importlib.reload",
    "course_worker",
)  # fmt: skip
"""Full names of modules and functions that no homework asks for."""

PRYING_ATTRIBUTES = frozenset({
    "__closure__", "__code__", "__globals__", "__subclasses__", "__builtins__", "__wrapped__",
    "__torch_function__", "__torch_dispatch__", "f_back", "f_globals", "f_locals", "gi_frame",
    "cell_contents", "tb_frame", "run_backward",
})  # fmt: skip
"""Attributes that lead to frames, code and globals of other functions, or to autograd's engine."""

Finding = tuple[str, str, int]
"""A name, the label of a cell, and a line in it."""


def read(cells: Sequence[tuple[str, str]]) -> list[Finding]:
    """Return the names of internals that cells use, each name once a cell.

    ``cells`` are pairs of label and source.
    """
    aliases = {"torch": "torch"}  # imported by every homework
    return [finding for label, source in cells for finding in _read_cell(label, source, aliases)]


def _read_cell(label: str, source: str, aliases: dict[str, str]) -> list[Finding]:
    try:
        tree = ast.parse(TransformerManager().transform_cell(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError, RuntimeError):
        return []
    found: dict[str, int] = {}
    for node in ast.walk(tree):  # imports first: a name may be used in a function above its import
        if isinstance(node, ast.Import | ast.ImportFrom):
            for full, alias in _imported(node):
                aliases[alias] = full
                _add(found, full, node.lineno)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            if node.attr in PRYING_ATTRIBUTES:
                found.setdefault(node.attr, node.lineno)
            _add(found, _dotted(node, aliases), node.lineno)
        elif isinstance(node, ast.Call) and _dotted(node.func, aliases) == "getattr":
            for name in node.args[1:2]:
                if isinstance(name, ast.Constant) and name.value in PRYING_ATTRIBUTES:
                    found.setdefault(str(name.value), node.lineno)
    return [(name, label, line) for name, line in found.items()]


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """Yield the full name and the local name of each import."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield f"{node.module}.{alias.name}", alias.asname or alias.name
        elif alias.asname:
            yield alias.name, alias.asname
        else:
            first = alias.name.partition(".")[0]
            yield first, first
            yield alias.name, alias.name


def _dotted(node: ast.expr, aliases: dict[str, str]) -> str:
    """Return the full name of an expression such as ``nn.functional.gelu``; else "".

    ``aliases`` maps imported names to full ones.
    """
    if isinstance(node, ast.Name):
        return aliases.get(node.id, "getattr" if node.id == "getattr" else "")
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value, aliases)
        return f"{base}.{node.attr}" if base else ""
    return ""


def _add(found: dict[str, int], name: str, line: int) -> None:
    prying = next((p for p in PRYING if name == p or name.startswith(f"{p}.")), None)
    if prying:
        found.setdefault(prying, line)
