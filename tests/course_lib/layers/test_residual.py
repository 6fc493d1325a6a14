"""Does the residual add, and normalise where it says?"""

import pytest
import torch
from torch import nn

from course_lib.layers.normalization import LayerNorm
from course_lib.layers.residual import LayerStack, Residual, check_norm_position, final_norm
from tests.course_lib.parity import randomise

D_MODEL = 4
X = torch.randn(2, 3, D_MODEL, dtype=torch.float64)
at_each_norm_position = pytest.mark.parametrize("norm_position", ["pre", "post"])


def build(norm_position, dropout=0.0):
    norm = randomise(LayerNorm(D_MODEL)).double()
    return Residual(norm, norm_position=norm_position, dropout=dropout)


def sublayer(x):
    return (2.0 * x + 1.0).tanh()


@at_each_norm_position
def test_adds_and_normalises_in_its_place(norm_position):
    residual = build(norm_position)
    norm = residual.norm
    formulas = {"pre": X + sublayer(norm(X)), "post": norm(X + sublayer(X))}
    torch.testing.assert_close(residual(X, sublayer), formulas[norm_position])


@at_each_norm_position
def test_dropout_falls_on_the_sublayers_output_alone(norm_position):
    residual = build(norm_position, dropout=1.0)
    expected = X if norm_position == "pre" else residual.norm(X)
    torch.testing.assert_close(residual(X, sublayer), expected)
    residual.eval()
    assert not torch.allclose(residual(X, sublayer), expected)


def test_a_stack_of_pre_norm_layers_ends_in_a_norm():
    norm = LayerNorm(D_MODEL)
    assert final_norm(norm, "pre") is norm
    assert isinstance(final_norm(norm, "post"), nn.Identity)


@pytest.mark.parametrize(
    ("refuse", "message"),
    [
        (lambda: build("before"), "norm_position must be 'pre' or 'post', got 'before'"),
        (lambda: final_norm(nn.Identity(), "before"), "norm_position must be 'pre' or 'post'"),
        (lambda: check_norm_position("before"), "norm_position must be 'pre' or 'post'"),
        (lambda: build("pre", dropout=-0.1), r"between 0 and 1, but got -0\.1"),
    ],
)
def test_bad_settings_are_rejected(refuse, message):
    with pytest.raises(ValueError, match=message):
        refuse()


def test_a_stack_hands_further_arguments_to_each_layer():
    class Scaled(nn.Module):
        def forward(self, x, factor, *, plus=0.0):
            return factor * x + plus

    stack = LayerStack([Scaled(), Scaled()], nn.Identity())
    assert torch.equal(stack(torch.ones(2), 3.0, plus=1.0), torch.full((2,), 13.0))
    assert "layers.0.weight" in LayerStack([nn.Linear(2, 2)], nn.LayerNorm(2)).state_dict()
