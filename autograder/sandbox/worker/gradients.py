"""Tensors received over the wire, and the gradients that are sent back.

A call is one node of the caller's autograd graph. The node's backward pass asks the process that
ran the call for the backward pass of the call.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from . import recorder
from .wire import WireError


class Backward:
    """The backward pass of one call, kept by the process that ran the call.

    Args:
        inputs: Leaves made from the caller's tensors.
        outputs: The tensors of the result that require a gradient.
    """

    def __init__(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
        self._inputs = inputs
        self._outputs = outputs

    def __call__(self, grad_outputs: list[Tensor]) -> list[Tensor | None]:
        """Return the inputs' gradients, and add to the gradients of this process's parameters.

        ``grad_outputs`` are the gradients of the outputs.
        """
        for leaf in self._inputs:
            leaf.grad = None
        begin: Callable[..., Tensor] = _Begin.apply
        with torch.set_grad_enabled(True):
            start = begin(grad_outputs, *self._outputs)
        # A cell may have left anomaly detection on; NaN that is multiplied away is no error here.
        with recorder.paused(), torch.autograd.set_detect_anomaly(False):
            start.backward(retain_graph=True)
        return [leaf.grad for leaf in self._inputs]


class _Begin(torch.autograd.Function):
    """A scalar node over ``outputs`` whose backward pass gives them the ``gradients``.

    ``torch.autograd.backward`` with gradients would import SymPy to check their shapes.
    """

    @staticmethod
    def forward(ctx: Any, gradients: list[Tensor], *outputs: Tensor) -> Tensor:
        ctx.gradients = gradients
        return torch.zeros(())

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        return (None, *ctx.gradients)


class _RemoteGradient(torch.autograd.Function):
    """A call that ran in the other process, as a node of this process's autograd graph."""

    @staticmethod
    def forward(ctx: Any, backward: Any, outputs: list[Tensor], *inputs: Tensor) -> Any:
        ctx.remote_backward = backward
        return tuple(outputs)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> Any:
        gradients = ctx.remote_backward([gradient.clone() for gradient in grad_outputs])
        return (None, None, None, *gradients)  # for the proxy, the outputs and the anchor


class ReceivedTensors:
    """Restores the tensors of a message: their device, their gradients and which are the same.

    Args:
        tensors: The received tensors, on the CPU.
        most: Maximum number of their entries, counted at each occurrence; None for no limit.
        as_leaves: Whether tensors with gradients become leaves, as in the process that is called.

    Attributes:
        leaves: The tensors that became leaves.
    """

    def __init__(self, tensors: list[Tensor], most: int | None, *, as_leaves: bool) -> None:
        self._tensors = tensors
        self._most = most
        self._entries = 0
        self._as_leaves = as_leaves
        self._made: dict[int, Tensor] = {}
        self.leaves: list[Tensor] = []

    def __call__(self, code: dict[str, Any]) -> Tensor:
        """Return the tensor that a code of ``encode`` refers to; the same object each time."""
        index = code["tensor"]
        self._count(self._tensors[index])
        if index not in self._made:
            self._made[index] = self._make(code)
        return self._made[index]

    def _count(self, tensor: Tensor) -> None:
        self._entries += max(tensor.numel(), *tensor.shape, 0)  # an empty tensor may have many rows
        if self._most is not None and self._entries > self._most:
            raise WireError(f"one message brought over {self._most:,} entries of tensors")

    def _make(self, code: dict[str, Any]) -> Tensor:
        tensor = self._at_home(code)
        if self._as_leaves and "grad" in code:
            leaf = tensor.requires_grad_()
            self.leaves.append(leaf)
            return leaf if code["grad"] == "leaf" else leaf.clone()
        if code.get("parameter"):
            parameter = torch.nn.Parameter(tensor, requires_grad=tensor.is_floating_point())
            if "grad_of" in code:
                parameter.grad = self._tensors[code["grad_of"]].to(parameter.device)
            return parameter
        return tensor

    def _at_home(self, code: dict[str, Any]) -> Tensor:
        """Return the tensor that a code of ``encode`` refers to, moved to the code's device."""
        device = torch.device(code.get("device", "cpu"))
        if device.type not in ("cpu", "cuda"):
            raise WireError(f"a tensor on {device} can't cross")
        return self._tensors[code["tensor"]].to(device)

    def attach_gradient(self, codes: Any, backward: Any, inputs: list[Tensor]) -> None:
        """Make tensors outputs of an autograd node, whose backward pass calls ``backward``.

        ``codes`` are their codes from ``encode``; ``inputs`` are the node's inputs.
        """
        if not isinstance(codes, list) or len(codes) > len(self._tensors):
            raise WireError("the outputs of a call are malformed")
        try:
            indices = [code["tensor"] for code in codes]
            for index in indices:  # before any is moved to a GPU
                self._count(self._tensors[index])
            if len({*indices}) < len(indices):
                raise WireError("an output of a call is there twice")
            outputs = [self._at_home(code) for code in codes]
            anchor = torch.zeros((), requires_grad=True)  # makes a node even without inputs
            apply: Callable[..., tuple[Tensor, ...]] = _RemoteGradient.apply
            # The caller may change them in place, like any function's results.
            attached = [output.clone() for output in apply(backward, outputs, anchor, *inputs)]
        except WireError:
            raise
        except Exception as error:  # hostile data can raise any exception
            raise WireError("the outputs of a call are malformed") from error
        self._made.update(zip(indices, attached, strict=True))
