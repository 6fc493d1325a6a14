"""Notes when the student's code calls a forbidden function while the judge asks it for something.

What it notes only adds remarks for the staff: the student's code runs in the same process, and
could keep it from noting anything.
"""

import functools
import pkgutil
import sys
from pathlib import Path
from typing import Any

import torch

from . import shell

_TORCH = str(Path(torch.__file__).parent)
_RUNS_CELLS = shell.run_cell.__code__
_MOST = 20

_seen: dict[tuple[str, str, int, str], None] = {}


def watch(names: list[str]) -> None:
    """Note calls of these functions from now on; a class is noted when its forward is called.

    Args:
        names: Full names such as ``torch.nn.LayerNorm``; those that are not here are passed over.
    """
    for name in names:
        path, _, attribute = name.rpartition(".")
        try:
            owner = pkgutil.resolve_name(path)
            found = getattr(owner, attribute)
        except (ImportError, AttributeError):
            continue  # withheld from this edition
        if isinstance(found, type):
            owner, attribute = found, "forward" if hasattr(found, "forward") else "__init__"
            found = getattr(owner, attribute)
        setattr(owner, attribute, _noting(found, name))


def seen() -> list[tuple[str, str, int, str]]:
    """Return what was noted: name, cell and line of the student's call, and whom the judge asked.

    That is the cell of the student's function that was called first: a rule binds one exercise,
    and the others may well use what it forbids.
    """
    return list(_seen)[:_MOST]


def _noting(function: Any, name: str) -> Any:
    @functools.wraps(function)
    def noting(*args: Any, **kwargs: Any) -> Any:
        _note(name)
        return function(*args, **kwargs)

    return noting


def _note(name: str) -> None:
    frame = sys._getframe(2)
    while frame.f_back and frame.f_code.co_filename.startswith((_TORCH, __file__)):
        frame = frame.f_back
    label = shell.cell_of(frame.f_code.co_filename)
    if label is None:
        return  # called by the course's library, not by the student
    line, asked = frame.f_lineno, label
    above = frame.f_back
    while above:
        if above.f_code is _RUNS_CELLS:
            return  # a cell runs: a comparison of the student's own
        asked = shell.cell_of(above.f_code.co_filename) or asked
        above = above.f_back
    _seen[name, label, line, asked] = None
