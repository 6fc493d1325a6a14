"""Notes what Python's own audit events tell: processes, tracing, prying, code of unread files."""

import gc
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any

import torch

from . import shell
from .calls import noting
from .frames import running_frames
from .inspection import file_of, names_in
from .installed_code import is_forged, is_installed, is_loaded
from .notes import keep
from .operators import FORGED, LEFT, PROCESS, PRYING, RELOADED, TRACES, UNDONE
from .reader.hostility import pries

RUNS_CELLS = shell.run_cell.__code__
_IMPORTS = "<frozen importlib"
_STARTS_PROCESS = {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system",
                   "subprocess.Popen"}  # fmt: skip
_TRACES = {"sys.setprofile", "sys.settrace", "sys.monitoring.register_callback"}
_PRIES = {"gc.get_objects", "gc.get_referents", "gc.get_referrers", "sys.addaudithook"}
# What makes code, or functions of it, and by what names it is called.
_MAKES = {"code.__new__": {"CodeType", "replace"}, "function.__new__": {"FunctionType"},
          "marshal.load": {"load"}, "marshal.loads": {"loads"}}  # fmt: skip
_CHANGES = ("object.__setattr__", "object.__delattr__")
_OWN = f"{Path(__file__).parent}/"
_EVALUATES = f"{Path(torch.__file__).parent}/_guards.py"
_COMPILES = f"{Path(torch.__file__).parent}/_dynamo/"
_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
# As they were before any of the student's code ran, which may put others in their place.
_current_frames, _get_frame = sys._current_frames, sys._getframe
_tracing, _profiling, _timer = sys.gettrace, sys.getprofile, signal.getitimer
_tool = sys.monitoring.get_tool if hasattr(sys, "monitoring") else None  # since Python 3.12


def note_events(note: Callable[[str], bool], event: str, arguments: tuple[Any, ...]) -> None:
    """Note what starts another process, in which nothing is seen; who pries; what cells leave.

    Args:
        note: Notes a name, unless a cell runs it, and says whether it did.
        event: Its name.
        arguments: What Python tells of it.

    Raises:
        RuntimeError: A check would have itself traced.
    """
    if event in _STARTS_PROCESS:
        note(PROCESS)
    elif event == "exec":
        if type(arguments[0]) is CodeType:  # anybody may say that something is
            _note_execution(arguments[0], _get_frame(1))
    elif event == shell.BEGINS_CELL:
        if _is_anything_left():
            keep(LEFT, (arguments[0], 1))
    elif event in _TRACES and note(TRACES):  # who traces can have what notes go on elsewhere
        raise RuntimeError("while your code is checked it can't be traced")
    elif event in _CHANGES and _is_own(arguments[0]):
        keep(UNDONE)
    elif event == "object.__getattr__" and _is_what_notes(arguments, _get_frame(1)):
        keep(PRYING)
    elif event in _MAKES or event in _PRIES or _reads_code(event, arguments):
        frame = _get_frame(1)
        if event in _MAKES and _MAKES[event].isdisjoint(frame.f_code.co_names):
            # It was handed what makes code: by a cell, perhaps.
            cells = (f for f, _ in running_frames() if shell.cell_of(file_of(f.f_code)))
            frame = next(cells, frame)
        _note_prying(frame)


def _note_execution(code: CodeType, asker: FrameType) -> None:
    if code.co_name == "<module>" and is_loaded(file_of(code)):
        keep(RELOADED)
    if is_forged(code):
        keep(FORGED)
    if _is_unread(code, asker) and pries(names_in(code)):
        keep(PRYING)


def _note_prying(frame: FrameType) -> None:
    """Note who reads the code of functions: Python's own modules do all day."""
    file = file_of(frame.f_code)
    if frame.f_back and file_of(frame.f_back.f_code) == _EVALUATES:
        return  # what its graphs are guarded by, when one is compiled
    label = shell.cell_of(file)
    if label is not None or not is_installed(file):  # a file of the student's
        keep(PRYING, (label or "", frame.f_lineno or 0))


def _is_unread(code: CodeType, asker: FrameType) -> bool:
    """Whether it is the student's, in no cell: of a file, say, whose text was put together."""
    file, asked_by = file_of(code), file_of(asker.f_code)
    of_library = is_installed(asked_by) and not asked_by.startswith(_IMPORTS)  # dataclasses', say
    return not of_library and shell.cell_of(file) is None and not is_installed(file)


def _reads_code(event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether a function's code is read or replaced, or by a traceback a frame is read."""
    if event != "object.__getattr__" and event not in _CHANGES:
        return False
    is_code = arguments[1] in ("__code__", "tb_frame")
    return is_code and type(arguments[0]) in (FunctionType, TracebackType)


def _is_own(thing: Any) -> bool:
    """Whether it is a function of the worker's: who changes it changes what notes."""
    return type(thing) is FunctionType and file_of(thing.__code__).startswith(_OWN)


def _is_what_notes(arguments: tuple[Any, ...], asker: FrameType) -> bool:
    """Whether one reads the code of the worker's functions, of those apart that anybody may see.

    A compiler looks at all that the code calls which it compiles.
    """
    if arguments[1] != "__code__" or file_of(asker.f_code).startswith(_OWN):
        return False
    function = arguments[0]
    if not _is_own(function) or function.__code__.co_name == noting.__name__:
        return False
    return not any(file_of(frame.f_code).startswith(_COMPILES) for frame, _ in running_frames())


def _is_anything_left() -> bool:
    """Whether something could act while a cell is read: a thread, a timer, what Python calls.

    Or an earlier cell that has not ended.
    """
    return (
        len(_current_frames()) > 1
        or sum(frame.f_code is RUNS_CELLS for frame, _ in running_frames()) > 1
        or bool(_tracing() or _profiling() or gc.callbacks)
        or any(_timer(timer)[0] for timer in _TIMERS)
        or any(_tool(number) for number in range(6) if _tool)
    )


def is_traced() -> bool:
    """Whether a trace or profile function is set."""
    return bool(_tracing() or _profiling())
