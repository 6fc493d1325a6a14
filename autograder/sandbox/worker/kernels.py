"""Has PyTorch's operators say that they run: kernels that note come before their own.

An operator is one wherever it is asked for, but it has a kernel for each backend, and what is
composed of others one for all of them.
"""

import contextlib
import functools
import importlib
import os
import re
from collections.abc import Callable
from typing import Any

import torch

from .calls import noting
from .operators import FAMILIES

with contextlib.suppress(ImportError):  # PyTorch 2.13 and later: registers operators when asked for
    importlib.import_module("torch.nn.modules.linear_cross_entropy")
# What each pattern matches, found once for all workers.
OPERATORS = {
    pattern: [
        operator
        for operator in torch._C._dispatch_get_all_op_names()
        if re.search(pattern or "$^", operator)
    ]
    for family in FAMILIES
    for pattern in (family.operators, family.shared)
}
# A kernel's key and kind, as a line of PyTorch's table of an operator tells them.
_KERNEL = re.compile(r"^(\w+): .*\[(.*)\]", re.MULTILINE)
_BACKENDS = "(|Mkldnn|NestedTensor|Quantized|Sparse|SparseCsr)(CPU|CUDA)"
_OUTER = "Autograd(CPU|CUDA|NestedTensor|Other)|FuncTorchBatched"
_asked: dict[tuple[str, str], Callable[..., Any]] = {}  # for the kernel of one key, by operator
_BELOW = torch._C._dispatch_keyset_full_after(torch._C.DispatchKey.BackendSelect)


def watch_operator(operator: str, note: Callable[[], None]) -> None:
    """Put a kernel that notes before each of an operator's own.

    Args:
        operator: Its name and overload: ``aten::native_layer_norm``.
        note: Called by the kernel, so one frame lies between it and who asked for the operator.
    """
    kernels = {}
    for key in _keys(operator):  # all before the first is replaced: they depend on another
        if "CUDA" not in key or os.environ.get("COURSE_DEVICE") == "cuda":
            kernels[key] = _kernel(operator, key)
    namespace, _, rest = operator.partition("::")
    register = functools.partial(_library(namespace).impl, rest, with_keyset=True)
    for key, kernel in kernels.items():
        register(functools.partial(_note_and_run, note, kernel), key)
    name, _, overload = rest.partition(".")
    dispatched = getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")
    own = {torch._C._dispatch_key_parse(key) for key in kernels}
    register(functools.partial(_note_others, note, own, dispatched), "BackendSelect")
    # The kernel of one key: of several backends' too, as what ``decompose`` runs, or ``vmap``.
    dispatched._op_dk = noting(dispatched._op_dk, note)
    _asked[f"{namespace}::{name}", overload] = dispatched._op_dk


@functools.cache
def _kinds(operator: str) -> dict[str, str]:
    """Return the dispatch keys at which an operator has kernels, and of which kind each is."""
    return dict(_KERNEL.findall(torch._C._dispatch_dump_table(operator)))


def _keys(operator: str) -> list[str]:
    """Return the dispatch keys at which a kernel is to be replaced."""
    kinds = _kinds(operator)
    # What has no kernel of its own there runs as other operators: it is seen further out alone.
    wanted = _BACKENDS if kinds.get("CPU") == "kernel" else f"{_BACKENDS}|{_OUTER}"
    return [k for k, kind in kinds.items() if re.fullmatch(wanted, k) and "fallback" not in kind]


def _kernel(operator: str, key: str) -> Any:
    """Return an operator's kernel; by the key's number, as Python has no name for MKL-DNN's."""
    number = torch._C._dispatch_key_parse(key)
    return torch._C._dispatch_get_computed_kernel_for_dispatch_key(operator, number)


@functools.cache
def _library(namespace: str) -> torch.library.Library:
    """Return what keeps kernels registered: they are gone when it is."""
    return torch.library.Library(namespace, "IMPL")


_get_overload = torch._C._get_operation_overload


@functools.wraps(_get_overload)
def _watched_overload(name: str, overload: str) -> Any:
    """Find an operator for who makes its object anew, with what notes there too."""
    found = _get_overload(name, overload)
    if not found or (name, overload) not in _asked:
        return found
    run, _, tags = found
    return run, _asked[name, overload], tags


del _watched_overload.__wrapped__
setattr(torch._C, _get_overload.__name__, _watched_overload)


def _note_and_run(note: Callable[[], None], kernel: Any, keys: Any, *args: Any, **kw: Any) -> Any:
    note()
    return kernel.call_boxed(keys, *args, **kw)


def _note_others(
    note: Callable[[], None], own: set[Any], operator: Any, keys: Any, *args: Any, **kw: Any
) -> Any:
    """Note where another backend's kernel will run, a lazy one's say."""
    if (keys & _BELOW).highestPriorityTypeId() not in own:
        note()
    return operator.redispatch(keys & _BELOW, *args, **kw)
