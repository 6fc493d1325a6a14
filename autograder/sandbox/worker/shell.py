"""Runs a student's cells as a notebook would, and describes the errors that they raise."""

import builtins
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

from IPython.core.compilerop import CachingCompiler, PyCF_MASK
from IPython.core.displayhook import DisplayHook
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from .outputs import Publisher, begin_cell, capture_streams

MAX_MESSAGE = 2_000
MAX_TRACEBACK = 6_000

FRONT_ENDS_MAGICS = (
    "autosave", "clear", "connect_info", "ed", "edit", "less", "man", "more", "qtconsole",
    "subshell",
)  # fmt: skip
"""Line magics of a notebook's front end; here they do nothing."""

_FILE_PREFIX = 'cell "'


class _CellCompiler(CachingCompiler):
    """Uses the cell's label as the file name of its code, for readable tracebacks."""

    def __init__(self, label: str = "") -> None:
        super().__init__()
        self.label = label

    def get_code_name(self, raw_code: str, transformed_code: str, number: int) -> str:
        return f'{_FILE_PREFIX}{self.label}"'


class _LastValue(DisplayHook):
    """Shows the value of a cell's last line, as a notebook does, without keeping it in ``Out``."""

    def __call__(self, result: Any = None) -> None:
        """Show the value, unless it is None."""
        if result is not None:
            forms = ("text/plain", "image/png")
            self.shell.display_pub.publish(*self.shell.display_formatter.format(result, forms))


class _QuietShell(InteractiveShell):
    """IPython without a terminal: magics work, and outputs are collected within limits."""

    display_pub_class = Publisher
    displayhook_class = _LastValue

    def enable_gui(self, gui: Any = None) -> None:
        """Ignore the choice of a window system, as by ``%gui``; there is none."""

    def enable_matplotlib(self, gui: Any = None) -> Any:
        """Use the backend ``inline`` for every ``%matplotlib``; ``gui`` may be missing here."""
        return super().enable_matplotlib("inline")

    def ask_exit(self) -> None:
        """Ignore ``exit``: the judge decides what runs next."""

    def showtraceback(self, *args: Any, **kwargs: Any) -> None:
        """Print nothing: the judge reports the error."""

    def showsyntaxerror(self, *args: Any, **kwargs: Any) -> None:
        """Print nothing: the judge reports the error."""


def make_shell() -> InteractiveShell:
    """Return a new IPython shell, whose namespace will hold the student's objects.

    It keeps no history, so it starts no thread and writes no file.
    """
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    shell = _QuietShell.instance(config=config)
    shell.compile = _CellCompiler()
    for magic in FRONT_ENDS_MAGICS:
        shell.register_magic_function(lambda line: None, "line", magic)
    shell.extension_manager.load_extension("storemagic")  # as an IPython kernel does
    if (here := str(Path.cwd())) in sys.path:
        sys.path.remove(here)  # a kernel looks in the current folder, after Python's own
        packages = (i for i, path in enumerate(sys.path) if path.endswith("-packages"))
        sys.path.insert(next(packages, 0), "")
    capture_streams()
    return shell


def run_cell(label: str, source: str) -> None:
    """Run one cell in the shell of this process; raise the error that it raised."""
    shell = InteractiveShell.instance()
    flags = getattr(shell.compile, "flags", 0)
    shell.compile = _CellCompiler(label)
    shell.compile.flags |= flags & PyCF_MASK  # keeps ``from __future__`` of earlier cells
    begin_cell()
    shell.ast_node_interactivity = "none" if source.rstrip().endswith(";") else "last_expr"
    result = shell.run_cell(source, store_history=False)
    error = result.error_before_exec or result.error_in_exec
    if error is not None:
        raise error


def lookup(name: str) -> Any:
    """Return the student's object with this name; a ``NameError`` if there is none."""
    namespace = InteractiveShell.instance().user_ns
    if name not in namespace:
        raise NameError(f"name {name!r} is not defined")
    return namespace[name]


def cell_of(file: str) -> str | None:
    """Return the label of the cell whose code has this file name; None for other code."""
    if not file.startswith(_FILE_PREFIX):
        return None
    return file.removeprefix(_FILE_PREFIX).removesuffix('"')


def describe_error(error: BaseException) -> dict[str, Any]:
    """Return an exception's type name, builtin bases, message and traceback, for the judge.

    The traceback is cut to frames in the student's cells.
    """
    kind = type(error)
    bases = [c.__name__ for c in kind.__mro__ if getattr(builtins, c.__name__, None) is c]
    try:
        message = str(error)
    except BaseException:
        message = "(its text could not be made)"
    return {
        "type_name": kind.__name__,
        "bases": bases,
        "message": message[:MAX_MESSAGE],
        "traceback": _student_traceback(error, error.__traceback__)[-MAX_TRACEBACK:],
    }


def _student_traceback(error: BaseException, trace: TracebackType | None) -> str:
    try:
        frames = [f for f in traceback.extract_tb(trace) if cell_of(f.filename) is not None]
        lines = []
        for frame in frames:
            name = cell_of(frame.filename)
            where = "" if frame.name == "<module>" else f", in {frame.name}"
            lines.append(f"Cell {name}, line {frame.lineno}{where}\n    {frame.line}")
        if isinstance(error, SyntaxError) and not frames:
            lines.append(f"line {error.lineno}\n    {(error.text or '').strip()}")
        return "\n".join(lines)
    except Exception:
        return ""
