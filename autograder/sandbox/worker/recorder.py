"""Records which forbidden functions and layers run while a check calls the student's code.

It runs in the student's own process, so code that knows PyTorch's internals can evade it, see
SECURITY.md. A recorded name costs an exercise its points; a missing one proves nothing.
"""

import contextlib
import functools
import pkgutil
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_AFFIXES = re.compile(r"^_?(?:native_|fused_)?|\.\w+$")  # aten::native_layer_norm.default
_WORDS = re.compile("(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_recorded: dict[str, None] = {}
_patched: set[str] = set()
_mode: "_FunctionMode | None" = None  # while a check with a rule runs
_is_paused = False


def prepare(names: Iterable[str]) -> None:
    """Patch the forbidden classes and modules to record their calls; call it before forking."""
    for name in set(names) - _patched:
        with contextlib.suppress(ImportError, AttributeError):
            _patch(name, pkgutil.resolve_name(name))
            _patched.add(name)


def begin(names: list[str]) -> None:
    """Start to record which of these names run; drop earlier records."""
    global _mode
    prepare(names)
    end()
    _recorded.clear()
    _mode = _FunctionMode(names)
    _mode.__enter__()  # type: ignore[no-untyped-call]


def end() -> list[str]:
    """Stop recording, and return the names that ran since ``begin``."""
    global _mode
    mode, _mode = _mode, None
    if mode is not None:
        mode.__exit__(None, None, None)  # type: ignore[no-untyped-call]
    return list(_recorded)


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Do not record patched calls inside the block, where the judge runs a backward pass."""
    global _is_paused
    before, _is_paused = _is_paused, True
    try:
        yield
    finally:
        _is_paused = before


class _FunctionMode(TorchFunctionMode):
    """Records the calls of PyTorch's functions and operators while it is active.

    Args:
        names: Full names to record. A function is recognised by the last part of a name, in
            snake case: both ``torch.nn.LayerNorm`` and ``torch.layer_norm`` stand for the function
            and for the operator ``layer_norm``.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = set(names)
        self._by_function = {
            _WORDS.sub("_", name.rpartition(".")[2]).lower(): name for name in names
        }

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        name = getattr(func, "__name__", "")
        found = self._by_function.get(name) or self._by_function.get(_AFFIXES.sub("", name))
        if found:
            _recorded[found] = None
        return func(*args, **(kwargs or {}))


def _patch(name: str, found: Any) -> None:
    """Patch the class of a layer, or the functions of a module, to record their calls as ``name``.

    ``found`` is that class or module; anything else is left as it is.
    """
    if isinstance(found, type) and issubclass(found, torch.nn.Module):
        if "forward" in vars(found):
            found.forward = _recording(name, found.forward)
    elif isinstance(found, ModuleType):
        for member in getattr(found, "__all__", ()):
            value = getattr(found, member)
            if callable(value) and not isinstance(value, type):
                setattr(found, member, _recording(name, value))


def _recording(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def recording(*args: Any, **kwargs: Any) -> Any:
        if _mode is not None and name in _mode.names and not _is_paused:
            _recorded[name] = None
        return function(*args, **kwargs)

    return recording


def _run_in_mode(run: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    """Return ``Thread.run`` wrapped to record too: a PyTorch mode is active in one thread only."""

    @functools.wraps(run)
    def run_in_mode(thread: threading.Thread) -> None:
        with _FunctionMode(_mode.names) if _mode else contextlib.nullcontext():
            run(thread)

    return run_in_mode


setattr(threading.Thread, "run", _run_in_mode(threading.Thread.run))  # noqa: B010
