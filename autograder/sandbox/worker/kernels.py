"""Has PyTorch's operators say that they run: kernels that note come before their own.

An operator is one wherever it is asked for, but it has a kernel for each backend, and what is
composed of others one for all of them.
"""

import contextlib
import functools
import importlib
import re
from collections.abc import Callable
from typing import Any

import torch

from .calls import noting
from .operators import FAMILIES
from .replacing import put

with contextlib.suppress(ImportError):  # PyTorch 2.13 and later: registers operators when asked for
    importlib.import_module("torch.nn.modules.linear_cross_entropy")
_NAMES = "\n".join(torch._C._dispatch_get_all_op_names())
# What each pattern matches, found once for all workers.
OPERATORS = {
    pattern: [found[0] for found in re.finditer(f"^.*?(?:{pattern}).*$", _NAMES, re.MULTILINE)]
    if pattern
    else []
    for family in FAMILIES
    for pattern in (family.operators, family.shared)
}
# A kernel's key, where it was registered, and its kind, as a line of PyTorch's table tells them.
_KERNEL = re.compile(r"^(\w+): (.*) \[(.*)\]", re.MULTILINE)
# Whose kernels compute nothing by themselves: they dispatch what they are made of anew.
_HAND_ON = re.compile(
    "ADInplaceOrView|Autocast.*|AutogradNestedTensor|(FuncTorch)?Batched|FuncTorchVmapMode"
    "|Functionalize|Tracer"
)
# Where each kind of kernel is registered that stands at many keys, other machines' among them: who
# asks for one of those has PyTorch's own code for all machines run on this one.
_FOR_MANY = {
    "math kernel": ("CompositeImplicitAutograd",),
    "default backend kernel": (
        "CompositeExplicitAutograd",
        "CompositeExplicitAutogradNonFunctional",
    ),
    "autograd kernel": ("Autograd",),
}
_HERE = re.compile("(|Mkldnn|NestedTensor|Quantized|Sparse|SparseCsr)(CPU|CUDA)")
_asked: dict[tuple[str, str], Callable[..., Any]] = {}  # for the kernel of one key, by operator
_ALWAYS = "BackendSelect"  # a key at which each watched operator has a kernel of ours
_watched: list[str] = []
_has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
_BELOW = torch._C._dispatch_keyset_full_after(torch._C.DispatchKey.BackendSelect)


def watch_operator(operator: str, note: Callable[[], object]) -> None:
    """Put a kernel that notes before each of an operator's own.

    Args:
        operator: Its name and overload: ``aten::native_layer_norm``.
        note: Called by the kernel, so one frame lies between it and who asked for the operator.
    """
    # All before the first is replaced: they depend on another.
    kernels = {place: _kernel(operator, key) for place, key in _places(operator).items()}
    namespace, _, rest = operator.partition("::")
    for place, kernel in kernels.items():
        _register(operator, place, functools.partial(_note_and_run, note, kernel))
    name, _, overload = rest.partition(".")
    dispatched = getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")
    own = {torch._C._dispatch_key_parse(key) for key in _kinds(operator) if _HERE.fullmatch(key)}
    _register(operator, _ALWAYS, functools.partial(_note_others, note, own, dispatched))
    _watched.append(operator)
    # The kernel of one key: of several backends' too, as what ``decompose`` runs, or ``vmap``.
    dispatched._op_dk = noting(dispatched._op_dk, note)
    _asked[f"{namespace}::{name}", overload] = dispatched._op_dk


@functools.cache
def _kinds(operator: str) -> dict[str, str]:
    """Return the dispatch keys at which an operator has kernels, and of which kind each is."""
    kernels = _KERNEL.findall(torch._C._dispatch_dump_table(operator))
    return {
        key: f"{kind} in Python" if ".py:" in place else kind
        for key, place, kind in kernels
        if "fallback" not in kind
    }


def _places(operator: str) -> dict[str, str]:
    """Return where kernels are to be replaced, each with a key at which it is found."""
    kinds = _kinds(operator)
    places = {k: k for k, kind in kinds.items() if _is_alone(k, kind)}
    first = {kind: key for key, kind in reversed(kinds.items())}
    if kinds.get("CPU") == "kernel":  # which is what autograd's kernels dispatch
        first.pop("autograd kernel", None)
    for kind, key in first.items():
        for alias in _FOR_MANY.get(kind, ()):
            if torch._C._dispatch_has_kernel_for_dispatch_key(operator, alias):
                places[alias] = key
    return places


def _is_alone(key: str, kind: str) -> bool:
    """Whether a kernel is to be replaced at this key."""
    if kind == "kernel":
        return not _HAND_ON.fullmatch(key)
    # Under a mode PyTorch finds a kernel in Python by its place, where it is to stay what it is.
    return kind == "batched kernel" or (kind.endswith("in Python") and bool(_HERE.fullmatch(key)))


def _kernel(operator: str, key: str) -> Any:
    """Return an operator's kernel; by the key's number, as Python has no name for MKL-DNN's."""
    number = torch._C._dispatch_key_parse(key)
    return torch._C._dispatch_get_computed_kernel_for_dispatch_key(operator, number)


def are_all_there() -> bool:
    """Whether each operator that is watched still has the kernel that says so."""
    return all(_has_kernel(operator, _ALWAYS) for operator in _watched)


def _register(operator: str, key: str, kernel: Callable[..., Any]) -> None:
    namespace, _, rest = operator.partition("::")
    _library(namespace).impl(rest, key, kernel, True)  # handed the keys
    torch.library._impls.add(f"{namespace}/{rest}/{key}")  # nobody else may


@functools.cache
def _library(namespace: str) -> Any:
    """Return what keeps kernels registered: they are gone when it is.

    PyTorch's own class for it would tell the standard library, whom anybody may ask, how to end it.
    """
    return torch._C._dispatch_library("IMPL", namespace, "", __file__, 0)


_get_overload = torch._C._get_operation_overload


@functools.wraps(_get_overload)
def _watched_overload(name: str, overload: str) -> Any:
    """Find an operator for who makes its object anew, with what notes there too."""
    if not type(name) is type(overload) is str:  # C++ would take bytes too, and other classes
        raise TypeError("an operator's name is a text")
    found = _get_overload(name, overload)
    if not found or (name, overload) not in _asked:
        return found
    run, _, tags = found
    return run, _asked[name, overload], tags


del _watched_overload.__wrapped__
put(torch._C, _get_overload.__name__, _watched_overload)


def _note_and_run(note: Callable[[], object], kernel: Any, keys: Any, *args: Any, **kw: Any) -> Any:
    note()
    return kernel.call_boxed(keys, *args, **kw)


def _note_others(
    note: Callable[[], object], own: set[Any], operator: Any, keys: Any, *args: Any, **kw: Any
) -> Any:
    """Note where another backend's kernel will run, a lazy one's say."""
    if (keys & _BELOW).highestPriorityTypeId() not in own:
        note()
    return operator.redispatch(keys & _BELOW, *args, **kw)
