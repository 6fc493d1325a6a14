"""Takes away what computes in PyTorch without operators that anybody dispatches.

Nobody could note what runs there, see ``recorder``, and no homework asks for it. What carries
gradients back is kept, and says so.
"""

import contextlib
import ctypes
import functools
import pkgutil
import re
import sys
from typing import Any

import torch

from .calls import Note, functions, noting, watch_functions
from .replacing import put, take_away
from .tracing import replace_method

_UNDISPATCHED = (  # what lets a script compute so
    *("_te", "_jit_override_can_fuse_on_cpu", "_jit_set_te_must_use_llvm_cpu"),  # NNC
    *("_jit_override_can_fuse_on_cpu_legacy", "_jit_pass_fuse", "_jit_pass_fuse_tensorexprs"),
    *("_fuse_to_static_module", "_jit_to_static_module"),  # the static runtime
    "_jit_set_llga_enabled",  # oneDNN Graph
    *("_jit_pass_optimize_for_inference", "_jit_pass_convert_frozen_ops_to_mkldnn"),  # MKL-DNN's
    *("parse_ir", "_create_function_from_graph", "_jit_interpret_graph"),  # a graph from a text
    *("_lazy_ts_backend._init", "_lazy_ts_backend._run_cached_graph"),  # keeps graphs
)
_OTHER_ENGINES = (  # of autograd, for several machines
    *("torch._C._distributed_autograd.backward", "torch.distributed.autograd.backward"),
    *("torch._C._distributed_rpc.PyRRef.backward", "torch._C._dist_autograd_init"),
    "torch._C._rpc_init",
)
# Where a class keeps what C calls for its instances: CPython's ``PyTypeObject.tp_call``, the 14th
# field behind those of every object of variable size.
_POINTER = ctypes.sizeof(ctypes.c_void_p)
_TP_CALL = object.__basicsize__ + (1 + 13) * _POINTER
_OF_SCRIPTS = frozenset(  # operators that are a script's alone, which Python can call too
    {"aten::backward", "aten::dist_backward", "aten::grad"}
    | {"prim::MKLDNNLayerNorm", "prim::MKLDNNLayerNorm_"}
)


def take_away_undispatched() -> None:
    """Take away the engines of scripts, and what finds scripts' own operators for Python."""
    for name in _UNDISPATCHED:
        _take_away(f"torch._C.{name}")
    _hide_operators("_jit_get_operation", (None, None))
    _hide_operators("_get_operation_overload", None)


def watch_gradients(note: Note) -> None:
    """Note that gradients are carried back, whichever way is found, or that it is done without.

    Args:
        note: As for ``watch_calls``.
    """
    for name in _OTHER_ENGINES:
        _take_away(name)
    _refuse_compilers()
    differences = functions(None, "", sys.modules["torch.autograd.gradcheck"])
    watch_functions("torch.autograd.gradcheck", "grad", differences, note)
    noted = functools.partial(note, "torch.autograd.backward", re.compile("backward"))
    engine = type(torch.autograd.Variable._execution_engine)
    replace_method(engine, "run_backward", noting(engine.run_backward, noted))
    for kind in _kinds_of_nodes():  # one step each, without any engine
        replace_method(kind, "__call__", noting(kind.__call__, noted))
        ctypes.c_void_p.from_address(id(kind) + _TP_CALL).value = _calls_method()


def _refuse_compilers() -> None:
    """Have autograd compiled by nobody: its nodes' formulas would be handed to who compiles."""
    compiled = torch._C._dynamo.compiled_autograd
    set_compiler = compiled.set_autograd_compiler

    def setting(compiler: Any, dynamic: Any) -> Any:
        if compiler is not None:
            raise RuntimeError("autograd can't be compiled here")
        return set_compiler(None, dynamic)

    put(compiled, set_compiler.__name__, setting)


def _kinds_of_nodes() -> list[type]:
    """Return the classes of the nodes of autograd's graph, but for those written in Python."""
    leaf = torch.zeros((), requires_grad=True)
    usual = type(leaf.exp().grad_fn)
    other = type(torch._foreach_exp([leaf])[0].grad_fn)  # of all that have none: made only now
    kinds = [kind for kind in object.__subclasses__() if _tp_call(kind) == _tp_call(usual)]
    if not {usual, other} <= {*kinds}:
        raise RuntimeError("this PyTorch's nodes of autograd are called in another way")
    return kinds


def _calls_method() -> int | None:
    """Return what C calls for an instance whose class has a ``__call__`` of Python's."""

    class Called:
        def __call__(self) -> None: ...

    return _tp_call(Called)


def _tp_call(kind: type) -> int | None:
    return ctypes.c_void_p.from_address(id(kind) + _TP_CALL).value


def _take_away(name: str) -> None:
    """Remove what has this full name, if it is there, as in the edition that the course pins."""
    path, _, attribute = name.rpartition(".")
    with contextlib.suppress(ImportError, AttributeError):
        take_away(pkgutil.resolve_name(path), attribute)


def _hide_operators(name: str, none: Any) -> None:
    """Have what finds operators for Python find none of those that are a script's alone."""
    find = getattr(torch._C, name)

    def finding(operator: str, *overload: str) -> Any:
        if any(type(text) is not str for text in (operator, *overload)):
            raise TypeError("an operator's name is a text")  # C++ would take bytes too
        return none if operator in _OF_SCRIPTS else find(operator, *overload)

    put(torch._C, name, finding)
