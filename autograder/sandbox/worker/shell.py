"""Runs a student's cells as a notebook would, and describes what they raise."""

import ast
import builtins
import contextlib
import re
import sys
import traceback
from pathlib import Path
from types import CodeType, FunctionType, TracebackType
from typing import Any, NamedTuple

import torch
from IPython.core.compilerop import CachingCompiler, PyCF_MASK
from IPython.core.displayhook import DisplayHook
from IPython.core.inputtransformer2 import TransformerManager
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from .inspection import remember
from .machinery import Machinery
from .outputs import Publisher, begin_cell, capture_streams
from .reader.cell_code import FRONT_ENDS_MAGICS, python_of, with_sign
from .tracing import end_tracing

MAX_MESSAGE = 2_000
MAX_TRACEBACK = 6_000
BEGINS_CELL = "course.begins_cell"
"""The audit event before a cell is read, with its label."""

_FILE_PREFIX = 'cell "'
# As they were before any of the student's code ran, which may put others in their place.
_leave_level = torch._C._exit_dual_level
_levels = vars(torch.autograd.forward_ad)
_AWAITS = re.compile("await|async")
_made: list[tuple["_QuietShell", Machinery]] = []  # by ``make_shell``
_compiled: dict[tuple[str, str], "_Compiled"] = {}  # by label and source, until a first cell runs


class _CellCompiler(CachingCompiler):
    """Names the code of a cell after the cell, so that tracebacks can be read.

    Args:
        label: What the cell is called.
        compiled: What was compiled of it already.
    """

    def __init__(self, label: str = "", compiled: "_Compiled | None" = None) -> None:
        super().__init__()
        self.label = label
        self._compiled = compiled

    def get_code_name(self, raw_code: str, transformed_code: str, number: int) -> str:
        return _file_of(self.label)

    def ast_parse(self, source: str, *args: Any, **how: Any) -> ast.Module:
        """Parse a cell."""
        if self._compiled and source == self._compiled.python:
            return self._compiled.tree
        return super().ast_parse(source, *args, **how)

    def __call__(self, source: Any, *args: Any, **how: Any) -> CodeType:
        """Compile one of its statements."""
        if self._compiled and isinstance(source, ast.Module) and source.body:
            code = self._compiled.codes.get(id(source.body[0]))
            if code is not None:
                return code
        return super().__call__(source, *args, **how)


class _Compiled(NamedTuple):
    """A cell before it runs: its Python, that parsed, and the code of each statement."""

    python: str
    tree: ast.Module
    codes: dict[int, CodeType]


class _OneCell(TransformerManager):
    """Makes Python of cells as IPython does; of one it is handed what the reader made of it.

    It never asks the reader itself: what that remembers, no cell can have it make.
    """

    def __init__(self, cell: str, python: str) -> None:
        super().__init__()
        self._made = {cell: python}

    def transform_cell(self, cell: str) -> str:
        """Return a cell's Python."""
        return self._made.get(cell) or super().transform_cell(cell)


class _LastValue(DisplayHook):
    """Shows the value of a cell's last line, as a notebook does.

    It is kept nowhere: what went by ``_`` or ``Out`` would be a name that nobody can read.
    """

    def __call__(self, result: Any = None) -> None:
        """Show it, unless there is none."""
        if result is not None:
            forms = ("text/plain", "image/png")
            self.shell.display_pub.publish(*self.shell.display_formatter.format(result, forms))


class _QuietShell(InteractiveShell):
    """IPython without a screen: magics work, what is shown is kept for a while, within bounds."""

    display_pub_class = Publisher
    displayhook_class = _LastValue

    def enable_gui(self, gui: Any = None) -> None:
        """Accept ``%matplotlib`` and other choices of a window system; there is none."""

    def enable_matplotlib(self, gui: Any = None) -> Any:
        """Accept every backend, also one that only the student has: pictures are kept anyway."""
        return super().enable_matplotlib("inline")

    def should_run_async(self, raw_cell: str, *, transformed_cell: Any = None, **how: Any) -> bool:
        """Tell whether a cell awaits something; IPython compiles it to see, most say it at once."""
        if isinstance(transformed_cell, str) and not _AWAITS.search(transformed_cell):
            return False
        return super().should_run_async(raw_cell, transformed_cell=transformed_cell, **how)

    def ask_exit(self) -> None:
        """Go on after ``exit``, as the rest of a cell does; the judge runs the next one itself."""

    def showtraceback(self, *args: Any, **kwargs: Any) -> None:
        """Print nothing: the judge reports what was raised."""

    def showsyntaxerror(self, *args: Any, **kwargs: Any) -> None:
        """Print nothing: the judge reports what was raised."""


def make_shell() -> InteractiveShell:
    """Make the IPython shell whose namespace holds the student's objects.

    Returns:
        A shell without history, so that it starts no thread and writes no file.
    """
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    shell = _QuietShell.instance(config=config)
    shell.compile = _CellCompiler()
    for magic in FRONT_ENDS_MAGICS:
        shell.register_magic_function(lambda line: None, "line", magic)
    shell.extension_manager.load_extension("storemagic")  # as a kernel's application does
    if (here := str(Path.cwd())) in sys.path:
        sys.path.remove(here)  # in a kernel: wherever a cell has gone, but Python's own come first
        packages = (i for i, path in enumerate(sys.path) if path.endswith("-packages"))
        sys.path.insert(next(packages, 0), "")
    capture_streams()
    _made[:] = [(shell, Machinery(_QuietShell, _CellCompiler, _LastValue, _OneCell))]
    return shell


def compile_first(label: str, source: str) -> None:
    """Compile the cell that notebooks begin with: once, for all workers in which it runs first.

    Args:
        label: What it is called.
        source: Its text.
    """
    compiler = _CellCompiler(label)
    with contextlib.suppress(SyntaxError, RuntimeError, ValueError):  # raised where it runs
        python = python_of(with_sign(source))
        tree = compiler.ast_parse(python, _file_of(label))
        plain = compiler.flags
        with compiler.extra_flags(ast.PyCF_ALLOW_TOP_LEVEL_AWAIT):  # as IPython does
            codes = {
                id(statement): compiler(ast.Module([statement], []), _file_of(label), "exec")
                for statement in tree.body
            }
        if compiler.flags == plain:  # nothing is told ``from __future__``
            _compiled[label, source] = _Compiled(python, tree, codes)


def run_cell(label: str, source: str) -> None:
    """Run one cell in the shell of this process.

    Args:
        label: What to call the cell in tracebacks.
        source: Its text, magics included.

    Raises:
        BaseException: What the cell raised.
    """
    # What runs is what was read, whatever an earlier cell would have made of it.
    shell, machinery = _made[0]
    _load_again(shell)
    sys.audit(BEGINS_CELL, label)
    machinery.put_right()
    object.__setattr__(shell, "__class__", _QuietShell)
    for name in _replaced_methods(shell):
        delattr(shell, name)
    shell.compile = _compiler_after(shell.compile, label, _compiled.get((label, source)))
    _compiled.clear()  # from now on a cell could change it
    for moment in ("pre_execute", "pre_run_cell", "post_run_cell"):
        shell.events.callbacks[moment] = []
    shell.init_builtins()
    cell = with_sign(source)
    shell.input_transformer_manager = _transformer_of(cell)
    shell.input_transformers_post = []
    shell.ast_transformers = []
    shell.init_prefilter()  # reads cells of one line once more
    begin_cell()
    shell.ast_node_interactivity = "none" if source.rstrip().endswith(";") else "last_expr"
    try:
        result = shell.run_cell(cell, store_history=False)
    finally:
        _end_helpers(shell)
        end_tracing()
        leave_dual_level()
    error = result.error_before_exec or result.error_in_exec
    if error is not None:
        raise error


def _transformer_of(cell: str) -> TransformerManager:
    try:
        return _OneCell(cell, python_of(cell))
    except (SyntaxError, RuntimeError):
        return TransformerManager()  # raises it again where the cell runs


def _load_again(shell: InteractiveShell) -> None:
    """Have ``%autoreload`` do its work, if a cell has asked for it: it is no callback any more."""
    with contextlib.suppress(Exception):
        shell.magics_manager.registry.get("AutoreloadMagics").pre_run_cell(None)


def leave_dual_level() -> None:
    """Take the tangents of all dual numbers that were made before: what makes new ones is noted."""
    _levels["_current_level"] = -1  # what PyTorch's own Python knows of it; in no class's way
    try:  # noqa: SIM105 -- contextlib may be the student's by now
        _leave_level(level=0)
    except RuntimeError:  # there is one level at most, or none
        pass


def _end_helpers(shell: InteractiveShell) -> None:
    """End what IPython and Python keep from its first use on; it begins again when it is needed.

    The thread that waits for the scripts of ``%%bash``; the processes that start, and clean up
    after, those of ``multiprocessing``. Nobody has left them at work.
    """
    with contextlib.suppress(Exception):  # ``get``: what no cell has used is not there to be loaded
        shell.magics_manager.registry.get("ScriptMagics").stop_event_loop()
    for place, name in (("forkserver", "_forkserver"), ("resource_tracker", "_resource_tracker")):
        with contextlib.suppress(Exception):
            getattr(sys.modules[f"multiprocessing.{place}"], name)._stop()


def _compiler_after(last: Any, label: str, compiled: _Compiled | None) -> _CellCompiler:
    """Return a new compiler for a cell, with what the last one was told ``from __future__``."""
    compiler = _CellCompiler(label, compiled)
    told = getattr(last, "flags", 0)
    compiler.flags |= told & PyCF_MASK if type(told) is int else 0
    return compiler


def _replaced_methods(shell: InteractiveShell) -> list[str]:
    return [
        name for name in vars(shell) if isinstance(getattr(type(shell), name, None), FunctionType)
    ]


def lookup(name: str) -> Any:
    """Return what a name stands for in the student's namespace.

    Raises:
        NameError: No cell has defined it.
    """
    namespace = InteractiveShell.instance().user_ns
    # Under a text, and nothing that says that it is one.
    found = next((own for own in list(namespace) if type(own) is str and own == name), None)
    if found is None:
        raise NameError(f"name {name!r} is not defined")
    remember(name, namespace[found])
    return namespace[found]


def _file_of(label: str) -> str:
    return f'{_FILE_PREFIX}{label}"'


def cell_of(file: str) -> str | None:
    """Return the label of the cell whose code has this file name; None for other code."""
    if not file.startswith(_FILE_PREFIX):
        return None
    return file.removeprefix(_FILE_PREFIX).removesuffix('"')


def describe_error(error: BaseException) -> dict[str, Any]:
    """Turn an exception into what the judge is told: plain, short texts.

    Args:
        error: What was raised.

    Returns:
        ``type_name``, ``bases`` (names of its builtin classes, nearest first), ``message``, and
        ``traceback``, cut to frames in the student's cells.
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
