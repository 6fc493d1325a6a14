"""Keeps trace and profile functions out of checks: they could have what notes what runs jump."""

import _lsprof
import ctypes
import functools
import gc
import sys
from collections.abc import Callable
from typing import Any

# As they were before any of the student's code ran, which may put others in their place.
_FUNCTIONS = ((sys.gettrace, sys.settrace), (sys.getprofile, sys.setprofile))


def end_tracing() -> None:
    """Have a cell's trace and profile functions end with it."""
    for get, put in _FUNCTIONS:
        if get():
            put(None)


def let_nobody_profile(unless: Callable[[], bool]) -> None:
    """Have C's profiler do nothing: it may ask a clock of the student's while others run.

    Args:
        unless: Whether it may now.
    """
    for name in ("enable", "disable"):
        replace_method(_lsprof.Profiler, name, _only_if(unless, getattr(_lsprof.Profiler, name)))


def _only_if(may: Callable[[], bool], method: Any) -> Any:
    @functools.wraps(method)
    def calling(*args: Any, **kwargs: Any) -> None:
        if may():
            method(*args, **kwargs)

    return calling


def replace_method(kind: type, method: str, by: Any) -> None:
    """Replace a method of one of C's classes, to which nobody can assign."""
    (methods,) = gc.get_referents(vars(kind))
    methods[method] = by
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))  # else the old one is remembered
