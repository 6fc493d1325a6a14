"""Checks that gradients belong to what a function computes, whether or not that is right.

A gradient is held against the slope that the function itself shows when its inputs are moved a
little. So a wrong formula fails the checks of its values alone, and a cut gradient those of its
gradients. Where the values are known to be right, a reference's gradients will do.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.testing import CheckFailure, assert_shape, call_beside

_STEP = 3e-3  # small beside inputs of about 1, and float32 still tells the two sides apart
_DIRECTIONS = 3  # along one alone, what a cut gradient lacks could be small by chance
_NOTHING = 1e-5  # so much of the largest gradient is rounding, where there should be none
_TOLERANCE = 3e-3  # several times what rounding and the step's size come to
_NAN = "NaN comes of what has no slope: sqrt() or log() of 0, a softmax over -inf alone"
_ROUNDING = 2 * torch.finfo(torch.float32).eps  # of a sum of many numbers, as a share of its size


def assert_gradients(
    loss: Callable[..., Tensor], inputs: Mapping[str, Tensor], *, hint: str = ""
) -> None:
    """Check that backward() gives the slopes of a function.

    Args:
        loss: Takes the inputs by position, and returns a number as a tensor.
        inputs: By name, floating point, with entries of about 1.
        hint: What to look at where a gradient is wrong.

    Raises:
        CheckFailure: What the function returns is no finite number, a gradient is not its slope, or
            it is the same wherever all inputs are: then there is none to look at.
    """
    leaves = {name: tensor.detach().clone().requires_grad_() for name, tensor in inputs.items()}
    output = loss(*(leaf.clone() for leaf in leaves.values()))  # changed in place, it won't raise
    if output.requires_grad:
        output.backward()
    gradients = {name: leaf.grad for name, leaf in leaves.items()}
    assert_slopes(loss, inputs, gradients, hint=hint)


def assert_slopes(
    loss: Callable[..., Tensor],
    inputs: Mapping[str, Tensor],
    gradients: Mapping[str, Tensor | None],
    *,
    hint: str = "",
) -> None:
    """Check that gradients are the slopes of a function.

    Args:
        loss: As for ``assert_gradients``; it may put the inputs into a layer first.
        inputs: As for ``assert_gradients``.
        gradients: By the same names; None stands for zeros.
        hint: As for ``assert_gradients``.

    Raises:
        CheckFailure: As for ``assert_gradients``.
    """
    for name, tensor in inputs.items():
        gradient = gradients[name]
        if gradient is not None:
            assert_shape(gradient, tensor.shape, what=f"gradient of {name}", hint=hint)
    is_constant = bool(inputs)
    for _ in range(_DIRECTIONS):
        directions = {name: torch.randn_like(tensor) for name, tensor in inputs.items()}
        # All are moved at once, as far as one would be: to ask a student's function takes long.
        # Where these seem wrong, each is moved by half a step: what a step's size comes to is less.
        together = {name: along / len(inputs) ** 0.5 for name, along in directions.items()}
        compared = _compare(loss, inputs, gradients, together)
        is_constant = is_constant and not compared.slope
        if compared.is_close:
            continue
        alone = {
            name: _compare(loss, inputs, gradients, {name: along}, step=_STEP / 2)
            for name, along in directions.items()
        }
        wrong = [name for name, found in alone.items() if not found.is_close]
        if not wrong:  # no input is to blame
            continue
        worst = max(wrong, key=lambda name: alone[name].difference)
        carried, slope = alone[worst].carried, alone[worst].slope
        raise CheckFailure(
            f"what flows back to {worst} is not how the result changes with it",
            detail=f"along a direction: gradient {carried:.4g}, slope {slope:.4g}",
            hint=hint,
        )
    if is_constant:
        raise CheckFailure(f"the result is the same whatever {' and '.join(inputs)} are", hint=hint)


def assert_gradients_like(
    reference: Callable[..., Tensor],
    layer: Callable[..., Tensor],
    inputs: Mapping[str, Tensor],
    *,
    modules: Mapping[str, tuple[Any, Any]] | None = None,
    hint: str = "detach(), .data, .item(), float() and no_grad() cut the gradient",
) -> None:
    """Check that backward() gives what it gives for a reference that computes the same.

    Args:
        reference: Takes the inputs by position.
        layer: Likewise.
        inputs: By name; the gradients of those in floating point are looked at.
        modules: By name, what holds parameters in the two, with the same names and values: the
            gradients of these count too. If not given, the two themselves, if they are modules.
        hint: What to look at where a gradient is wrong.

    Raises:
        CheckFailure: A gradient does not reach an input or a parameter, or is another one there.
    """
    share = torch.randn_like(reference(*inputs.values()))
    if modules is None:
        modules = {"": (reference, layer)} if isinstance(reference, nn.Module) else {}
    ours, theirs = ({name: pair[i] for name, pair in modules.items()} for i in (0, 1))
    expected = _gradients(reference, inputs, share, ours)
    found = _gradients(layer, inputs, share, theirs)
    largest = max(gradient.norm() for gradient in expected.values())
    for name, gradient in expected.items():
        own = found.get(name, torch.zeros_like(gradient))
        assert_shape(own, gradient.shape, what=f"gradient of {name}", hint=hint)
        if own.isnan().any():
            raise CheckFailure(f"the gradient of {name} is NaN", hint=_NAN)
        if not (own - gradient).norm() <= _TOLERANCE * gradient.norm() + _NOTHING * largest:
            is_cut = "no gradient flows" if not own.any() else "not all that should flows"
            raise CheckFailure(f"{is_cut} back to {name}", hint=hint)


def take_gradients(module: nn.Module) -> dict[str, Tensor]:
    """Return the gradients of a module's parameters, by name, and clear them."""
    named = dict(nn.Module.named_parameters(module, remove_duplicate=False))
    gradients = {name: p.grad for name, p in named.items() if p.grad is not None}
    for parameter in named.values():
        parameter.grad = None
    return gradients


def _gradients(
    function: Callable[..., Tensor],
    inputs: Mapping[str, Tensor],
    share: Tensor,
    modules: Mapping[str, Any],
) -> dict[str, Tensor]:
    for module in modules.values():
        call_beside(take_gradients, module)  # of whatever was done before
    leaves = {
        name: tensor.detach().clone().requires_grad_(tensor.is_floating_point())
        for name, tensor in inputs.items()
    }
    output = function(*(leaf.clone() for leaf in leaves.values()))
    assert_shape(output, share.shape, what="the output")
    if output.requires_grad:
        (output * share).sum().backward()
    found = {name: leaf.grad for name, leaf in leaves.items() if leaf.grad is not None}
    for part, module in modules.items():
        taken = call_beside(take_gradients, module)
        found |= {f"{part}.{name}".strip("."): gradient for name, gradient in taken.items()}
    return found


@dataclass(frozen=True)
class _Compared:
    """What a gradient says of a direction, and what the function shows there."""

    carried: float
    slope: float
    rounding: float  # by so much the slope may be off

    @property
    def difference(self) -> float:
        return abs(self.carried - self.slope) / max(1.0, abs(self.slope))

    @property
    def is_close(self) -> bool:
        return self.difference <= _TOLERANCE + self.rounding / max(1.0, abs(self.slope))


@torch.no_grad()
def _compare(
    loss: Callable[..., Tensor],
    inputs: Mapping[str, Tensor],
    gradients: Mapping[str, Tensor | None],
    directions: Mapping[str, Tensor],
    *,
    step: float = _STEP,
) -> _Compared:
    """Move inputs, each along its direction, and look at what becomes of the result."""
    sides = []
    for far in (step, -step):
        moved = {**inputs, **{name: inputs[name] + far * d for name, d in directions.items()}}
        side = loss(*(tensor.clone() for tensor in moved.values()))
        assert_shape(side, (), what="the result")
        if not side.isfinite():
            raise CheckFailure("the result holds NaN or infinity")
        sides.append(side.item())
    carried = [
        (gradient * directions[name]).sum().item()
        for name, gradient in gradients.items()
        if gradient is not None and name in directions
    ]
    return _Compared(
        carried=sum(carried),
        slope=(sides[0] - sides[1]) / (2 * step),
        rounding=_ROUNDING * max(map(abs, sides)) / (2 * step),
    )


__all__ = ["assert_gradients", "assert_gradients_like", "assert_slopes", "take_gradients"]
