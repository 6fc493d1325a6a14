"""Reads a student's code for what an exercise forbids and for what no solution has business with.

Called in a fresh worker, before any of the student's code runs in it: so its answer can be trusted,
and a text that brings Python's parser down brings down nothing else.
"""

import re
import sys
from collections.abc import Mapping, Sequence

from . import shell
from .names_used import Notebook, Statement, Use

_DEPTH = 50_000  # of nested expressions; Python refuses to run far fewer

# Where an assignment changes what others stand on.
_NOT_THEIRS = ("torch", "builtins", "course_lib", "IPython", "sys", "unittest", "numpy")
_SETTINGS = ("torch.backends", "sys.path", "sys.argv")
_PRYING = (
    "ctypes", "gc.get_objects", "gc.get_referrers", "inspect.currentframe", "inspect.stack",
    "os._exit", "os.abort", "os.fork", "os.kill", "socket", "subprocess", "sys._getframe",
    "sys.displayhook", "sys.settrace", "torch.ops", "torch._C", "torch._VF", "worker",
)  # fmt: skip
# What torch adds to the name of one thing: _native_layer_norm, _thnn_fused_gru_cell.
_AFFIXES = ("", "forward", "fused", "fwd", "loss", "native", "quantized", "thnn")
_PRYING_TEXTS = ("gradebook.db", "/proc/", "HIDDEN TESTS", "nbgrader", "_WITHHELD")

Finding = tuple[str, str, str, int]
"""An exercise or a kind, a name, a cell's label, a line."""

Unread = tuple[str, str, str]
"""A cell's label, what Python says of it, and where."""


def read(
    cells: Sequence[tuple[str, str, bool]], rules: Mapping[str, Sequence[str]]
) -> tuple[list[Finding], list[Finding], list[Unread]]:
    """Read a notebook.

    Args:
        cells: Label, source, and whether it is the student's, in the order in which they run.
        rules: For each exercise the full names that its code must not lead to.

    Returns:
        First, for each exercise and forbidden name, where the exercise's code leads to it. Then
        what is suspicious: ``changes`` or ``pries``, a name, and where. Last, the cells that are no
        Python: they must not run, for a student can change what Python is.

    Raises:
        RecursionError: Something is nested deeper than Python would run.
    """
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(_DEPTH)
    try:
        return _read(cells, rules)
    finally:
        sys.setrecursionlimit(usual)


def _read(
    cells: Sequence[tuple[str, str, bool]], rules: Mapping[str, Sequence[str]]
) -> tuple[list[Finding], list[Finding], list[Unread]]:
    notebook = Notebook()
    unread: list[Unread] = []
    for label, source, students in cells:
        try:
            notebook.read(label, source, students=students)
        except (SyntaxError, ValueError) as error:
            said = shell.describe_error(error)
            unread.append((label, f"{said['type_name']}: {said['message']}", said["traceback"]))
    forbidden = [
        (exercise, name, use.cell, use.line)
        for exercise, names in rules.items()
        for name, use in _breaches(exercise, names, notebook).items()
    ]
    return forbidden, _suspicious(notebook.statements), unread


def _breaches(exercise: str, names: Sequence[str], notebook: Notebook) -> dict[str, Use]:
    """Find the first place for each forbidden name to which the exercise's object leads."""
    found: dict[str, Use] = {}
    whole = notebook.imported.get(exercise)
    uses = [whole] if whole else []
    for statement in _led_to(exercise, notebook.statements):
        uses += statement.uses
    for use in uses:
        named = [name for name in names if _is_in(use.name, name)]
        for name in named or [name for name in names if _is_kin(use.name, name)][:1]:
            found.setdefault(name, use)
    return found


def _led_to(name: str, statements: Sequence[Statement]) -> list[Statement]:
    """Return the statements that define an object, and those that define what they read."""
    led: list[Statement] = []
    waiting, seen = [name], {name}
    while waiting:
        wanted = waiting.pop(0)
        for statement in statements:
            if wanted in statement.binds and statement not in led:
                led.append(statement)
                waiting += sorted(statement.reads - seen)
                seen |= statement.reads
    return led


def _is_in(used: str, forbidden: str) -> bool:
    """Whether a used name is the forbidden one, by whatever path: torch.nn.modules..., .forward."""
    parts = used.split(".")
    return parts[0] == forbidden.partition(".")[0] and forbidden.rpartition(".")[2] in parts


def _is_kin(used: str, forbidden: str) -> bool:
    """Whether a used name is torch's other name for the forbidden thing."""
    if not (_below(used, ["torch"]) and _below(forbidden, ["torch"])):
        return False
    return _kernel(forbidden.rpartition(".")[2]) in map(_kernel, used.split("."))


def _kernel(name: str) -> str:
    """Return what torch's names for one thing share: ``LayerNorm``, ``native_layer_norm``.

    A name of one word is too common to go by: ``torch.nn.utils.rnn`` is no RNN.
    """
    words = re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_")
    words = [word for word in words if word not in _AFFIXES]
    return "_".join(words) if len(words) > 1 else name


def _suspicious(statements: Sequence[Statement]) -> list[Finding]:
    found: dict[str, Finding] = {}
    for statement in statements:
        for use in statement.uses:
            if use.changes and _below(use.name, _NOT_THEIRS) and not _below(use.name, _SETTINGS):
                found.setdefault(use.name, ("changes", use.name, use.cell, use.line))
            elif _below(use.name, _PRYING):
                found.setdefault(use.name, ("pries", use.name, use.cell, use.line))
        for text, cell, line in statement.texts:
            for word in _PRYING_TEXTS:
                if word in text:
                    found.setdefault(word, ("pries", word, cell, line))
    return list(found.values())


def _below(name: str, roots: Sequence[str]) -> bool:
    return any(name == root or name.startswith(f"{root}.") for root in roots)
