"""Comparisons for the parity tests: outputs and gradients."""

from collections.abc import Callable, Iterable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def output_and_gradients(
    outputs: Tensor | Iterable[Tensor], inputs: Iterable[Tensor]
) -> list[Tensor]:
    """Return the outputs, then the gradients of a fixed random projection of them at the inputs."""
    outputs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    # A plain sum would hide mistakes that cancel in it.
    generator = torch.Generator().manual_seed(9)
    directions = [
        torch.randn(output.shape, generator=generator, dtype=torch.float64).to(output)
        for output in outputs
    ]
    loss = sum((o * d).sum() for o, d in zip(outputs, directions, strict=True))
    return [*outputs, *torch.autograd.grad(loss, list(inputs))]


def assert_parity(
    ours: Callable[[torch.dtype], Sequence[Tensor]],
    theirs: Callable[[torch.dtype], Sequence[Tensor]],
    dtype: torch.dtype,
):
    """Check that ``ours`` and ``theirs`` return the same tensors, each called with ``dtype``.

    In float64 the numbers must be equal; in lower precision ours must be as exact as theirs.
    """
    exact = theirs(torch.float64)
    if dtype == torch.float64:
        assert_equal_in_float64(ours(dtype), exact)
    else:
        assert_as_exact_as(theirs(dtype), ours(dtype), exact)


def assert_as_exact_as(
    reference: Sequence[Tensor], actual: Sequence[Tensor], exact: Sequence[Tensor]
):
    """Check that the error of ``actual`` is at most 4 times that of ``reference``, by tensor.

    ``exact`` has the true values in float64. A few units in the last place of the largest number
    are allowed as well, as the reference may be exact by luck.
    """
    largest = max(truth.abs().max() for truth in exact)
    for got, peer, truth in zip(actual, reference, exact, strict=True):
        assert got.dtype == peer.dtype
        allowed = 4 * (peer.double() - truth).abs().max() + 8 * torch.finfo(got.dtype).eps * largest
        assert (got.double() - truth).abs().max() <= allowed


def assert_equal_in_float64(actual: Tensor | Sequence[Tensor], expected: Tensor | Sequence[Tensor]):
    """Check that float64 tensors are equal but for the order of summation."""
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-10)


def assert_every_parameter_gets_a_gradient(model: nn.Module, logits: Tensor, tgt: Tensor):
    """Backpropagate a loss, and check that every parameter has a gradient that is not 0."""
    F.cross_entropy(logits.flatten(0, 1), tgt.flatten()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name


def logits_of_steps(decoder: nn.Module, encoded, tgt: Tensor, chunks: list[int]) -> Tensor:
    """Return a recurrent decoder's logits for ``tgt``, read in pieces of lengths ``chunks``.

    ``encoded`` is what its ``start`` takes.
    """
    state, steps = decoder.start(encoded), []
    for part in tgt.split(chunks, dim=1):
        logits, state = decoder.step(part, state)
        steps.append(logits)
    return torch.cat(steps, dim=1)


def randomise(module: nn.Module, seed: int = 3, std: float = 0.4) -> nn.Module:
    """Draw every parameter anew, and return the module.

    Gains of 1 and biases of 0 would hide mistakes.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            is_gain = parameter.dim() == 1 and not name.endswith("bias")
            parameter.copy_(std * noise + (1.0 if is_gain else 0.0))
    return module
