"""Are the norms PyTorch's, in formula and kernel?"""

import pytest
import torch
from torch import nn

from course_lib.layers.normalization import LayerNorm, RMSNorm, layer_norm, rms_norm
from tests.course_lib.parity import assert_parity, output_and_gradients, randomise

D_MODEL = 5  # few dimensions, so that dividing by d_model - 1 shows
EPSILON = 0.1  # large, so that a misplaced one shows
PEERS = {LayerNorm: nn.LayerNorm, RMSNorm: nn.RMSNorm}
with_each_norm = pytest.mark.parametrize("kind", PEERS)
by_kernel_and_formula = pytest.mark.parametrize("by_formula", [False, True])


def draw(dtype=torch.float64):
    x = torch.randn(2, 3, D_MODEL, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return (1.5 * x + 0.7).to(dtype).requires_grad_()


def normalise(layer, x, by_formula, **settings):
    """Return the layer's output, or if ``by_formula`` that of the function with its formula."""
    if not by_formula:
        return layer(x)
    if isinstance(layer, LayerNorm):
        return layer_norm(x, layer.weight, layer.bias, **settings)
    return rms_norm(x, layer.weight, **settings)


@by_kernel_and_formula
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@with_each_norm
def test_equals_torch_forward_and_backward(kind, dtype, by_formula):
    def ours(dtype):
        layer, x = randomise(kind(D_MODEL, eps=EPSILON)).to(dtype), draw(dtype)
        output = normalise(layer, x, by_formula, eps=EPSILON)
        return output_and_gradients(output, [x, *layer.parameters()])

    def theirs(dtype):
        layer, x = randomise(PEERS[kind](D_MODEL, eps=EPSILON)).to(dtype), draw(dtype)
        return output_and_gradients(layer(x), [x, *layer.parameters()])

    assert_parity(ours, theirs, dtype)


@by_kernel_and_formula
@with_each_norm
def test_starts_as_the_bare_norm_with_the_documented_epsilon(kind, by_formula):
    x = 1e-3 * draw().detach()  # so small that eps counts
    shifted = x - x.mean(-1, keepdim=True) if kind is LayerNorm else x
    eps = {LayerNorm: 1e-5, RMSNorm: 1e-6}[kind]
    expected = shifted / (shifted.square().mean(-1, keepdim=True) + eps).sqrt()
    torch.testing.assert_close(normalise(kind(D_MODEL).double(), x, by_formula), expected)


@by_kernel_and_formula
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@with_each_norm
def test_half_precision_keeps_its_dtype_and_holds_what_it_could_not_square(kind, dtype, by_formula):
    x = torch.tensor([300.0, -300.0, 300.0, -300.0], dtype=dtype)
    expected = torch.tensor([1.0, -1.0, 1.0, -1.0], dtype=dtype)
    torch.testing.assert_close(normalise(kind(4).to(dtype), x, by_formula), expected)


@with_each_norm
@pytest.mark.parametrize("eps", [0.0, -1])
def test_epsilon_must_be_positive(kind, eps):
    with pytest.raises(ValueError, match="eps must be positive"):
        kind(4, eps=eps)


@pytest.mark.parametrize("width", [1, D_MODEL + 1])
def test_a_weight_of_another_width_is_rejected_even_if_it_broadcasts(width):
    message = rf"x must have shape \(..., d_model={width}\), got \(2, {D_MODEL}\)"
    x, weight = torch.zeros(2, D_MODEL), torch.ones(width)
    with pytest.raises(ValueError, match=message):
        layer_norm(x, weight, weight)
    with pytest.raises(ValueError, match=message):
        rms_norm(x, weight)
