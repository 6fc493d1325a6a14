"""Is each cell the same function as PyTorch's, and the formula that is taught?

Dimensions: BATCH, D_INPUT, D_HIDDEN all differ, so that no mix-up of two goes unseen.
"""

import pytest
import torch
from torch import Tensor, nn

from course_lib.layers.recurrent_cells import GRUCell, LSTMCell, RNNCell

BATCH, D_INPUT, D_HIDDEN = 3, 4, 5
PEERS = {RNNCell: nn.RNNCell, GRUCell: nn.GRUCell, LSTMCell: nn.LSTMCell}
with_each_cell = pytest.mark.parametrize("kind", PEERS, ids=lambda kind: kind.__name__)
with_or_without_bias = pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])


def copy_weights(cell: nn.Module, peer: nn.Module, suffix: str = "") -> None:
    """Copy a cell of ours into the cell (or the layer with that suffix) of PyTorch's."""
    with torch.no_grad():
        for short, projection in [("ih", cell.input_projection), ("hh", cell.hidden_projection)]:
            getattr(peer, f"weight_{short}{suffix}").copy_(projection.weight)
            if projection.bias is not None:
                getattr(peer, f"bias_{short}{suffix}").copy_(projection.bias)


def draw(kind, *, bias=True, dtype=torch.float64, seed=0):
    """Return a cell, its peer with the same weights, an input, and a state with gradients."""
    generator = torch.Generator().manual_seed(seed)
    cell, peer = kind(D_INPUT, D_HIDDEN, bias=bias), PEERS[kind](D_INPUT, D_HIDDEN, bias=bias)
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.7)
    copy_weights(cell, peer)
    shapes = [(BATCH, D_INPUT), (BATCH, D_HIDDEN), (BATCH, D_HIDDEN)]
    x, hidden, memory = (
        torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
        for shape in shapes
    )
    return cell.to(dtype), peer.to(dtype), x, (hidden, memory) if kind is LSTMCell else hidden


def flat(state) -> Tensor:
    return torch.cat(state, dim=-1) if isinstance(state, tuple) else state


def gradients(output: Tensor, inputs) -> list[Tensor]:
    generator = torch.Generator().manual_seed(9)
    direction = torch.randn(output.shape, generator=generator).to(output)
    return list(torch.autograd.grad((output * direction).sum(), inputs))


@with_or_without_bias
@with_each_cell
def test_equals_torch_forward_and_backward(kind, bias):
    cell, peer, x, state = draw(kind, bias=bias)
    inputs = [x, *(state if isinstance(state, tuple) else [state])]
    ours, theirs = flat(cell(x, state)), flat(peer(x, state))
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    weights = [cell.input_projection.weight, cell.hidden_projection.weight]
    biases = [cell.input_projection.bias, cell.hidden_projection.bias] if bias else []
    for got, expected in zip(
        gradients(ours, [*inputs, *weights, *biases]),
        gradients(theirs, [*inputs, *peer.parameters()]),
        strict=True,
    ):
        torch.testing.assert_close(got, expected, rtol=1e-12, atol=1e-12)
