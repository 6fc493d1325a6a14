"""Does the residual add, and normalise where it says?"""

import pytest
import torch
from torch import nn

from course_lib.layers.normalization import LayerNorm
from course_lib.layers.residual import LayerStack, Residual, check_norm_position, final_norm
from tests.course_lib.parity import randomise

D_MODEL = 4


def build(norm_position, dropout=0.0):
    norm = randomise(LayerNorm(D_MODEL)).double()
    return Residual(norm, norm_position=norm_position, dropout=dropout)


def draw():
    return torch.randn(2, 3, D_MODEL, dtype=torch.float64, requires_grad=True)


def sublayer(x):
    return (2.0 * x + 1.0).tanh()


def test_post_normalises_the_sum():
    residual, x = build("post"), draw()
    torch.testing.assert_close(residual(x, sublayer), residual.norm(x + sublayer(x)))


def test_pre_normalises_what_the_sublayer_reads():
    residual, x = build("pre"), draw()
    torch.testing.assert_close(residual(x, sublayer), x + sublayer(residual.norm(x)))


@pytest.mark.parametrize("norm_position", ["pre", "post"])
def test_dropout_falls_on_the_sublayer_and_never_on_the_road(norm_position):
    torch.manual_seed(0)
    residual, x = build(norm_position, dropout=1.0), draw()
    expected = x if norm_position == "pre" else residual.norm(x)
    torch.testing.assert_close(residual(x, sublayer), expected)
    residual.eval()
    assert not torch.allclose(residual(x, sublayer), expected)


def test_a_stack_of_pre_norm_layers_ends_in_a_norm():
    norm = LayerNorm(D_MODEL)
    assert final_norm(norm, "pre") is norm
    assert isinstance(final_norm(norm, "post"), nn.Identity)


@pytest.mark.parametrize(
    "refuse",
    [
        lambda: build("before"),
        lambda: final_norm(LayerNorm(D_MODEL), "before"),
        lambda: check_norm_position("before"),
    ],
)
def test_other_positions_are_refused(refuse):
    with pytest.raises(ValueError, match="norm_position must be 'pre' or 'post', got 'before'"):
        refuse()


def test_dropout_must_be_a_share():
    with pytest.raises(ValueError, match=r"between 0 and 1, but got -0\.1"):
        build("pre", dropout=-0.1)


def test_a_stack_hands_on_what_comes_beside_x():
    class Scaled(nn.Module):
        def forward(self, x, factor, *, plus=0.0):
            return factor * x + plus

    stack = LayerStack([Scaled(), Scaled()], nn.Identity())
    assert torch.equal(stack(torch.ones(2), 3.0, plus=1.0), torch.full((2,), 13.0))
    assert "layers.0.weight" in LayerStack([nn.Linear(2, 2)], nn.LayerNorm(2)).state_dict()
