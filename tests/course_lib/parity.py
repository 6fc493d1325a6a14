"""Comparisons for the parity tests: outputs and gradients."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def output_and_gradients(output: Tensor, inputs) -> list[Tensor]:
    """Return the output, and the gradients of a fixed random projection of it at the inputs."""
    # A plain sum would hide mistakes that cancel in it.
    generator = torch.Generator().manual_seed(9)
    direction = torch.randn(output.shape, generator=generator, dtype=torch.float64).to(output.dtype)
    return [output, *torch.autograd.grad((output * direction).sum(), inputs)]


def assert_as_exact_as(reference: list[Tensor], actual: list[Tensor], exact: list[Tensor]):
    """Check that ``actual`` is as near to ``exact`` as the reference, up to a small factor.

    The reference may by luck be exact, and a gradient be zero but for rounding, so a few units in
    the last place of the largest number are allowed as well.
    """
    largest = max(truth.abs().max() for truth in exact)
    for got, peer, truth in zip(actual, reference, exact, strict=True):
        assert got.dtype == peer.dtype
        allowed = 4 * (peer.double() - truth).abs().max() + 8 * torch.finfo(got.dtype).eps * largest
        assert (got.double() - truth).abs().max() <= allowed


def assert_equal_in_float64(actual: list[Tensor], expected: list[Tensor]):
    for got, peer in zip(actual, expected, strict=True):
        torch.testing.assert_close(got, peer, rtol=1e-9, atol=1e-10)


def assert_every_parameter_gets_a_gradient(model: nn.Module, logits: Tensor, tgt: Tensor):
    """Backpropagate a loss, and check that every parameter has a gradient that is not 0."""
    F.cross_entropy(logits.flatten(0, 1), tgt.flatten()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name


def logits_of_steps(decoder: nn.Module, encoded, tgt: Tensor, chunks: list[int]) -> Tensor:
    """Return a decoder's logits for a target that it reads in pieces."""
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
