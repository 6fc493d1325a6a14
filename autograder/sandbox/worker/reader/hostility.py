"""Finds in a student's code what no solution has business with."""

import re
import sys
from collections.abc import Iterable, Sequence
from types import ModuleType

from .uses import Statement, is_below

# Where an assignment changes what others stand on.
_NOT_THEIRS = sys.stdlib_module_names | {
    "IPython", "course_lib", "matplotlib", "numpy", "safetensors", "torch", "tqdm", "traitlets",
}  # fmt: skip
SETTINGS = (
    "torch.backends", "torch._dynamo.config", "torch._functorch.config", "torch._inductor.config",
    "sys.argv", "sys.dont_write_bytecode", "sys.path", "sys.tracebacklimit",
    "json.JSONEncoder.default", "logging.raiseExceptions", "matplotlib",
    "ssl._create_default_https_context", "tqdm.monitor_interval", "tqdm.tqdm.monitor_interval",
    "unittest.TestCase.maxDiff", "warnings.formatwarning", "warnings.showwarning",
    "IPython.core.interactiveshell.InteractiveShell.ast_node_interactivity",
)  # fmt: skip
"""Where anybody may assign."""

_PRYING = (
    "IPython.core.debugger", "_ctypes", "_posixsubprocess", "_socket", "atexit._run_exitfuncs",
    "bdb", "cgitb", "course_worker", "ctypes", "gc.get_objects", "gc.get_referents",
    "gc.get_referrers", "inspect.currentframe", "inspect.get_annotations", "inspect.getargvalues",
    "inspect.getasyncgenlocals", "inspect.getclosurevars", "inspect.getcoroutinelocals",
    "inspect.getgeneratorlocals", "inspect.getinnerframes", "inspect.getmembers",
    "inspect.getmembers_static", "inspect.getouterframes", "inspect.stack", "inspect.trace",
    "logging.currentframe", "os._exit", "os.abort", "os.fork", "os.kill", "pdb.Pdb", "posix",
    "socket", "subprocess", "sys._current_frames", "sys._getframe", "sys.displayhook",
    "sys.setprofile", "sys.settrace", "threading.settrace", "threading.settrace_all_threads",
    "torch.fx.experimental.sym_node", "torch.fx.experimental.symbolic_shapes", "torch.library",
    "torch.ops", "torch.utils._sympy", "traceback.walk_stack", "traceback.walk_tb",
    "typing.get_type_hints", "weakref.finalize._exitfunc", "weakref.finalize._registry",
)  # fmt: skip
# PyTorch's own modules that nobody names but PyTorch, a few apart.
_PRIVATE = re.compile(
    r"torch\._(?!_|assert|dynamo|foreach|logging|(functorch|inductor)\.config)\w+\b"
)
_PRYING_TEXTS = (
    "gradebook.db", "/proc/", "HIDDEN TESTS", "nbgrader", "_WITHHELD", "__builtins__",
    "__closure__", "__code__", "__globals__", "__subclasses__", "_execution_engine",
    "cell_contents", "course_worker",
)  # fmt: skip
# Of frames, and what evaluates texts where a function has its names.
_PRYING_WORDS = {
    "__wrapped__", "ag_frame", "cr_frame", "curframe", "curframe_locals", "eval_str", "f_builtins",
    "f_globals", "f_locals", "f_trace", "get_stack", "gi_frame", "tb_frame",
}  # fmt: skip


def pries(names: Iterable[str]) -> bool:
    """Whether code that uses these names, attributes among them, pries into what is not its own."""
    return not _PRYING_WORDS.union(_PRYING_TEXTS).isdisjoint(names)


def find_suspicious(statements: Sequence[Statement]) -> list[tuple[str, str, str, int]]:
    """Look for what changes the ground that others stand on, and for what pries.

    Args:
        statements: What was read.

    Returns:
        ``changes`` or ``pries``, a name, a cell's label and a line: the first place of each name.
    """
    found: dict[str, tuple[str, str, str, int]] = {}
    for statement in statements:
        for use in statement.uses:
            changes = use.changes and not is_below(use.name, SETTINGS)
            changes = changes and not _is_own_module(use.name)
            if changes and use.name.partition(".")[0] in _NOT_THEIRS and not _is_new(use.name):
                found.setdefault(use.name, ("changes", use.name, use.cell, use.line))
            elif _is_prying(use.name):
                found.setdefault(use.name, ("pries", use.name, use.cell, use.line))
        for text, cell, line in statement.texts:
            for word in (*_PRYING_TEXTS, *_PRYING_WORDS & {text}):
                if word in text:
                    found.setdefault(word, ("pries", word, cell, line))
    return list(found.values())


def _is_new(name: str) -> bool:
    """Whether nothing of a module has this name, so that nobody stands on it: ``time.clock``."""
    owner, _, attribute = name.rpartition(".")
    module = sys.modules.get(owner)  # as the course has it: none of a student's runs here
    return isinstance(module, ModuleType) and attribute not in vars(module)


def _is_own_module(name: str) -> bool:
    """Whether it is a place in the list of modules of one that is nobody else's."""
    owner, _, module = name.partition("sys.modules.")
    return not owner and module.partition(".")[0] not in {"", "__dict__", *_NOT_THEIRS}


def _is_prying(name: str) -> bool:
    return (
        is_below(name, _PRYING)
        or _PRIVATE.match(name) is not None
        or not _PRYING_WORDS.isdisjoint(name.split("."))
        or any(f".{text}" in name for text in _PRYING_TEXTS)
    )
