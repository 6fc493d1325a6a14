"""What the shell reads and runs a cell with, kept as it was before any of the student's code ran.

A cell can put something else in its place, and so have a later cell read another way than the judge
has read it. So it is put right before each cell.
"""

import ast
import builtins
import codeop
import contextlib
from types import ModuleType
from typing import Any

from IPython.core import (
    builtin_trap,
    compilerop,
    display_trap,
    events,
    inputtransformer2,
    interactiveshell,
    prefilter,
)

_MODULES = (ast, codeop, builtin_trap, compilerop, display_trap, events, inputtransformer2,
            interactiveshell, prefilter)  # fmt: skip
_BUILTINS = ("compile", "eval", "exec")


class Machinery:
    """Modules and classes as they are now.

    Args:
        classes: Of ours, beside those that IPython's modules for it hold.
    """

    def __init__(self, *classes: type) -> None:
        found = [v for module in _MODULES for v in vars(module).values() if isinstance(v, type)]
        bases = [base for kind in (*found, *classes) for base in kind.__mro__]
        changeable = [kind for kind in dict.fromkeys(bases) if kind.__flags__ & 1 << 9]  # a heap's
        values = [v for m in _MODULES for name, v in vars(m).items() if not name.startswith("__")]
        theirs = [v for v in values if type(v).__module__.startswith("IPython.")]
        objects = [v for v in theirs if not isinstance(v, type) and hasattr(v, "__dict__")]
        self._kept: list[tuple[Any, dict[str, Any]]] = [
            (owner, dict(vars(owner))) for owner in (*_MODULES, *changeable, *objects)
        ]
        # What is in them can be changed in place.
        self._held = [(v, v.copy()) for v in values if type(v) in (dict, list, set)]
        self._builtins = {name: getattr(builtins, name) for name in _BUILTINS}

    def put_right(self) -> None:
        """Give each of them back what it had, and take away what it had not."""
        for name, value in self._builtins.items():
            setattr(builtins, name, value)
        for holder, content in self._held:
            holder.clear()
            (holder.extend if type(holder) is list else holder.update)(content)
        for owner, kept in self._kept:
            now = vars(owner)
            for name in [name for name in now if now[name] is not kept.get(name, now)]:
                with contextlib.suppress(AttributeError, TypeError):  # Python's own of a class
                    if name in kept:
                        setattr(owner, name, kept[name])
                    elif not (isinstance(owner, ModuleType) and name.startswith("__")):
                        delattr(owner, name)
            for name in kept.keys() - now.keys():
                setattr(owner, name, kept[name])
