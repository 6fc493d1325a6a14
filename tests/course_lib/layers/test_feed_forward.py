"""Is the feed-forward layer two matrices around the right bend, alike for each token?"""

import pytest
import torch
from torch import nn

from course_lib.layers.feed_forward import FeedForward
from tests.course_lib.parity import assert_equal_in_float64, output_and_gradients, randomise

D_MODEL, D_FF = 3, 7
TORCH_ACTIVATIONS = {
    "relu": nn.ReLU(),
    "gelu": nn.GELU(),
    "gelu_tanh": nn.GELU(approximate="tanh"),
    "silu": nn.SiLU(),
}


def build(**settings) -> FeedForward:
    return randomise(FeedForward(D_MODEL, D_FF, **settings)).double()


def draw():
    generator = torch.Generator().manual_seed(0)
    return torch.randn(2, 4, D_MODEL, generator=generator).double().requires_grad_()


@pytest.mark.parametrize("activation", TORCH_ACTIVATIONS)
def test_equals_torch_forward_and_backward(activation):
    ours, x = build(activation=activation), draw()
    theirs = nn.Sequential(
        nn.Linear(D_MODEL, D_FF), TORCH_ACTIVATIONS[activation], nn.Linear(D_FF, D_MODEL)
    ).double()
    theirs[0].load_state_dict(ours.up_projection.state_dict())
    theirs[2].load_state_dict(ours.down_projection.state_dict())
    assert_equal_in_float64(
        output_and_gradients(ours(x), [x, *ours.parameters()]),
        output_and_gradients(theirs(x), [x, *theirs.parameters()]),
    )


def test_the_activations_differ_and_relu_is_the_default():
    x = draw()
    outputs = [build(activation=name)(x) for name in TORCH_ACTIVATIONS]
    assert not torch.allclose(outputs[0], outputs[1])
    assert not torch.equal(outputs[1], outputs[2])
    assert torch.equal(build()(x), outputs[0])


def test_passes_gradcheck():
    assert torch.autograd.gradcheck(build(activation="gelu"), draw())


def test_each_token_alone():
    layer, x = build(), draw()
    torch.testing.assert_close(layer(x)[1, 2], layer(x[1, 2]))


def test_dropout_works_on_the_inner_activations_in_training_alone():
    torch.manual_seed(0)
    layer = build(dropout=0.5)
    x = torch.randn(1, D_MODEL, dtype=torch.float64).expand(4000, -1)
    outputs = layer(x)
    assert len(outputs.unique(dim=0)) > 4
    # What is dropped is scaled up elsewhere, and the second matrix is linear: the mean stays.
    expected = layer.eval()(x)
    torch.testing.assert_close(outputs.mean(0), expected[0], rtol=0.1, atol=0.15)
    assert torch.equal(layer(x)[0], layer(x)[1])
    # With everything dropped only the outer bias is left: the dropout stands before it.
    everything_dropped = build(dropout=1.0).train()
    torch.testing.assert_close(
        everything_dropped(x)[0], everything_dropped.down_projection.bias, rtol=0, atol=0
    )


@pytest.mark.parametrize(
    ("sizes", "settings", "message"),
    [
        ((0, 4), {}, "d_model must be at least 1, got 0"),
        ((4, 0), {}, "d_ff must be at least 1, got 0"),
        ((4, 4), {"activation": "swish"}, "activation must be one of .*relu.* got swish"),
        ((4, 4), {"dropout": 1.5}, "dropout probability has to be between 0 and 1, but got 1.5"),
    ],
)
def test_bad_settings_are_refused(sizes, settings, message):
    with pytest.raises(ValueError, match=message):
        FeedForward(*sizes, **settings)
