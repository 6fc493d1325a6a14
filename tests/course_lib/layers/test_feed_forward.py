"""Are the feed-forward layers matrices around the right function, alike for each token?"""

import pytest
import torch
from torch import nn
from transformers.models.llama.configuration_llama import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaMLP

from course_lib.layers.feed_forward import FeedForward, GatedFeedForward
from tests.course_lib.parity import assert_equal_in_float64, output_and_gradients, randomise

D_MODEL, D_FF = 3, 7
NAMES = ("gate", "up", "down")
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


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation", TORCH_ACTIVATIONS)
def test_equals_torch_forward_and_backward(activation, bias):
    ours, x = build(activation=activation, bias=bias), draw()
    theirs = nn.Sequential(
        nn.Linear(D_MODEL, D_FF, bias=bias),
        TORCH_ACTIVATIONS[activation],
        nn.Linear(D_FF, D_MODEL, bias=bias),
    ).double()
    theirs[0].load_state_dict(ours.up_projection.state_dict())
    theirs[2].load_state_dict(ours.down_projection.state_dict())
    assert_equal_in_float64(
        output_and_gradients(ours(x), [x, *ours.parameters()]),
        output_and_gradients(theirs(x), [x, *theirs.parameters()]),
    )


def test_dropout_works_on_the_inner_activations_in_training_alone():
    torch.manual_seed(0)
    layer = build(dropout=0.5)
    x = torch.randn(1, D_MODEL, dtype=torch.float64).expand(4000, -1)
    outputs = layer(x)
    assert len(outputs.unique(dim=0)) > 4
    # Dropout scales the kept numbers up, and the second matrix is linear: the mean stays.
    expected = layer.eval()(x)
    torch.testing.assert_close(outputs.mean(0), expected[0], rtol=0.1, atol=0.15)
    assert torch.equal(layer(x)[0], layer(x)[1])
    # With everything dropped only the outer bias is left: the dropout stands before it.
    everything_dropped = build(dropout=1.0)
    bias = everything_dropped.down_projection.bias
    torch.testing.assert_close(everything_dropped(x)[0], bias, rtol=0, atol=0)


@pytest.mark.parametrize("kind", [FeedForward, GatedFeedForward])
def test_unknown_activation_is_rejected(kind):
    with pytest.raises(ValueError, match=r"activation must be one of .*relu.* got swish"):
        kind(4, 4, activation="swish")


def test_defaults_are_relu_with_biases_and_swiglu_without():
    assert len(FeedForward(D_MODEL, D_FF).state_dict()) == 4
    assert FeedForward(D_MODEL, D_FF).activation is nn.functional.relu
    gated = GatedFeedForward(D_MODEL, D_FF)
    assert set(gated.state_dict()) == {f"{name}_projection.weight" for name in NAMES}
    assert gated.activation is nn.functional.silu


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    ("ours", "theirs"), [("silu", "silu"), ("gelu", "gelu"), ("gelu_tanh", "gelu_pytorch_tanh")]
)
def test_gated_layer_equals_llamas_forward_and_backward(ours, theirs, bias):
    layer = randomise(GatedFeedForward(D_MODEL, D_FF, activation=ours, bias=bias)).double()
    config = LlamaConfig(
        hidden_size=D_MODEL, intermediate_size=D_FF, hidden_act=theirs, mlp_bias=bias,
        num_attention_heads=1,
    )  # fmt: skip
    peer, x = LlamaMLP(config).double(), draw()
    state = layer.state_dict()
    peer.load_state_dict({k.replace("_projection", "_proj"): v for k, v in state.items()})
    pairs = [(getattr(layer, f"{n}_projection"), getattr(peer, f"{n}_proj")) for n in NAMES]
    assert_equal_in_float64(
        output_and_gradients(layer(x), [x, *(mine.weight for mine, _ in pairs)]),
        output_and_gradients(peer(x), [x, *(other.weight for _, other in pairs)]),
    )
