"""Are the norms PyTorch's, in formula and kernel, and each token's own affair?"""

import pytest
import torch
from torch import nn

from course_lib.layers.normalization import LayerNorm, RMSNorm, layer_norm, rms_norm
from tests.course_lib.parity import (
    assert_as_exact_as,
    assert_equal_in_float64,
    output_and_gradients,
    randomise,
)

D_MODEL = 5  # few dimensions, so that dividing by d_model - 1 shows
EPSILON = 0.1  # large, so that a misplaced one shows


def draw(dtype=torch.float64):
    x = torch.randn(2, 3, D_MODEL, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return (1.5 * x + 0.7).to(dtype).requires_grad_()


def formula_of(norm):
    if isinstance(norm, LayerNorm):
        return lambda x: layer_norm(x, norm.weight, norm.bias, eps=norm.eps)
    return lambda x: rms_norm(x, norm.weight, eps=norm.eps)


def build_pair(kind, dtype):
    torchs = randomise((nn.LayerNorm if kind is LayerNorm else nn.RMSNorm)(D_MODEL, eps=EPSILON))
    ours = kind(D_MODEL, eps=EPSILON)
    names = {"weight": "weight", "bias": "bias"}
    ours.load_state_dict({names[name]: value for name, value in torchs.state_dict().items()})
    return ours.to(dtype), torchs.to(dtype)


@pytest.mark.parametrize("way", ["kernel", "formula"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("kind", [LayerNorm, RMSNorm])
def test_equals_torch_forward_and_backward(kind, dtype, way):
    def run_torch(dtype):
        _, layer = build_pair(kind, dtype)
        x = draw(dtype)
        return output_and_gradients(layer(x), [x, *layer.parameters()])

    layer, _ = build_pair(kind, dtype)
    x = draw(dtype)
    function = layer if way == "kernel" else formula_of(layer)
    actual = output_and_gradients(function(x), [x, *layer.parameters()])
    exact, reference = run_torch(torch.float64), run_torch(dtype)
    if dtype == torch.float32:
        assert_as_exact_as(reference, actual, exact)
    else:
        assert_equal_in_float64(actual, reference)


@pytest.mark.parametrize("way", ["kernel", "formula"])
@pytest.mark.parametrize("kind", [LayerNorm, RMSNorm])
def test_default_epsilon_is_the_one_documented(kind, way):
    layer = kind(D_MODEL).double()
    x = 1e-3 * draw().detach()  # so small that eps counts
    squares = (x - x.mean(-1, keepdim=True)).square() if kind is LayerNorm else x.square()
    shifted = x - x.mean(-1, keepdim=True) if kind is LayerNorm else x
    eps = {LayerNorm: 1e-5, RMSNorm: 1e-6}[kind]
    expected = shifted / (squares.mean(-1, keepdim=True) + eps).sqrt()
    if way == "kernel":
        actual = layer(x)
    else:
        actual = (
            layer_norm(x, layer.weight, layer.bias)
            if kind is LayerNorm
            else rms_norm(x, layer.weight)
        )
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("way", ["kernel", "formula"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("kind", [LayerNorm, RMSNorm])
def test_half_precision_keeps_its_dtype_and_holds_what_it_could_not_square(kind, dtype, way):
    x = torch.tensor([300.0, -300.0, 300.0, -300.0], dtype=dtype)
    layer = kind(4).to(dtype)
    function = layer if way == "kernel" else formula_of(layer)
    torch.testing.assert_close(function(x), torch.tensor([1.0, -1.0, 1.0, -1.0], dtype=dtype))


@pytest.mark.parametrize("kind", [LayerNorm, RMSNorm])
def test_a_constant_vector_stays_finite(kind):
    assert kind(D_MODEL)(torch.zeros(1, D_MODEL)).isfinite().all()


@pytest.mark.parametrize("kind", [LayerNorm, RMSNorm])
def test_starts_as_the_bare_norm(kind):
    layer = kind(D_MODEL)
    assert torch.equal(layer.weight, torch.ones(D_MODEL))
    assert kind is RMSNorm or torch.equal(layer.bias, torch.zeros(D_MODEL))


@pytest.mark.parametrize("kind", [LayerNorm, RMSNorm])
@pytest.mark.parametrize(
    ("name", "d_model", "eps"), [("d_model", 0, 1e-5), ("eps", 4, 0.0), ("eps", 4, -1)]
)
def test_values_must_be_positive(kind, name, d_model, eps):
    with pytest.raises(ValueError, match=f"{name} must be (positive|at least 1)"):
        kind(d_model, eps=eps)


@pytest.mark.parametrize("width", [1, D_MODEL + 1])
def test_a_weight_of_another_width_is_refused_even_if_it_broadcasts(width):
    message = rf"x must have shape \(..., d_model={width}\), got \(2, {D_MODEL}\)"
    weight = torch.ones(width)
    with pytest.raises(ValueError, match=message):
        layer_norm(torch.zeros(2, D_MODEL), weight, weight)
    with pytest.raises(ValueError, match=message):
        rms_norm(torch.zeros(2, D_MODEL), weight)
