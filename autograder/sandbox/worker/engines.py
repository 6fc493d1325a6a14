"""Takes away what computes in PyTorch without operators that anybody dispatches.

Nobody could note what runs there, see ``recorder``, and no homework asks for it.
"""

import contextlib
import pkgutil
from typing import Any

import torch

_UNDISPATCHED = (  # what lets a script compute so
    *("_te", "_jit_override_can_fuse_on_cpu", "_jit_set_te_must_use_llvm_cpu"),  # NNC
    *("_jit_override_can_fuse_on_cpu_legacy", "_jit_pass_fuse", "_jit_pass_fuse_tensorexprs"),
    *("_fuse_to_static_module", "_jit_to_static_module"),  # the static runtime
    "_jit_set_llga_enabled",  # oneDNN Graph
    *("_jit_pass_optimize_for_inference", "_jit_pass_convert_frozen_ops_to_mkldnn"),  # MKL-DNN's
    *("parse_ir", "_create_function_from_graph", "_jit_interpret_graph"),  # a graph from a text
)
_OTHER_ENGINES = (  # of autograd, for several machines
    *("torch._C._distributed_autograd.backward", "torch.distributed.autograd.backward"),
    *("torch._C._distributed_rpc.PyRRef.backward", "torch._C._dist_autograd_init"),
    "torch._C._rpc_init",
)
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


def take_away_other_engines() -> None:
    """Take away the engines that carry gradients back, but for the one that is watched."""
    for name in _OTHER_ENGINES:
        _take_away(name)


def _take_away(name: str) -> None:
    """Remove what has this full name, if it is there, as in the edition that the course pins."""
    path, _, attribute = name.rpartition(".")
    with contextlib.suppress(ImportError, AttributeError):
        delattr(pkgutil.resolve_name(path), attribute)


def _hide_operators(name: str, none: Any) -> None:
    """Have what finds operators for Python find none of those that are a script's alone."""
    find = getattr(torch._C, name)

    def finding(operator: str, *overload: str) -> Any:
        return none if operator in _OF_SCRIPTS else find(operator, *overload)

    setattr(torch._C, name, finding)
