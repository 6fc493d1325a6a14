"""Are both recurrent networks PyTorch's, with packing, and does padding change nothing?

Dimensions: BATCH, LEN, D_INPUT, D_HIDDEN all differ, so that no mix-up of two goes unseen.
"""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from course_lib.layers.recurrent import FusedRecurrent, Recurrent
from course_lib.layers.recurrent_cells import GRUCell, LSTMCell, RNNCell
from tests.course_lib.parity import assert_as_exact_as

BATCH, LEN, D_INPUT, D_HIDDEN = 4, 6, 3, 5
LENGTHS = torch.tensor([4, 6, 1, 3])  # in no order
PEERS = {RNNCell: nn.RNN, GRUCell: nn.GRU, LSTMCell: nn.LSTM}
with_each_cell = pytest.mark.parametrize("cell", PEERS, ids=lambda cell: cell.__name__)
in_both_ways = pytest.mark.parametrize(
    "kind", [Recurrent, FusedRecurrent], ids=["formula", "fused"]
)
with_lengths_or_not = pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["full", "lengths"])
with_each_shape = pytest.mark.parametrize(
    ("num_layers", "bidirectional"), [(1, False), (1, True), (3, False), (2, True)]
)


def build(kind, *, cell=GRUCell, num_layers=2, bidirectional=True, bias=True):
    torch.manual_seed(0)
    network = kind(
        D_INPUT,
        D_HIDDEN,
        cell=cell,
        num_layers=num_layers,
        bidirectional=bidirectional,
        bias=bias,
    )
    return network.double()


def build_peer(network: Recurrent, cell, *, bias=True) -> nn.RNNBase:
    peer = PEERS[cell](
        D_INPUT,
        D_HIDDEN,
        num_layers=network.num_layers,
        bidirectional=network.directions == 2,
        bias=bias,
        batch_first=True,
    ).double()
    with torch.no_grad():  # both list their parameters in the same order, but for this
        for index, ours in enumerate(network.cells):
            layer, direction = divmod(index, network.directions)
            suffix = f"_l{layer}" + ("_reverse" if direction else "")
            for short in ("ih", "hh"):
                projection = ours.input_projection if short == "ih" else ours.hidden_projection
                getattr(peer, f"weight_{short}{suffix}").copy_(projection.weight)
                if bias:
                    getattr(peer, f"bias_{short}{suffix}").copy_(projection.bias)
    return peer


def draw(network: Recurrent, cell, seed=1):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(BATCH, LEN, D_INPUT, generator=generator, dtype=torch.float64)
    shape = (len(network.cells), BATCH, D_HIDDEN)
    parts = [torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(2)]
    for tensor in (x, *parts):
        tensor.requires_grad_()
    return x, tuple(parts) if cell is LSTMCell else parts[0]


def run_peer(peer, x, initial, lengths):
    if lengths is None:
        return peer(x, initial)
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    outputs, final = peer(packed, initial)
    return pad_packed_sequence(outputs, batch_first=True, total_length=x.size(1))[0], final


def listed(state) -> list[Tensor]:
    return list(state) if isinstance(state, tuple) else [state]


def random_sum(tensors: list[Tensor]) -> Tensor:
    generator = torch.Generator().manual_seed(9)
    directions = [torch.randn(t.shape, generator=generator).to(t) for t in tensors]
    return sum((t * d).sum() for t, d in zip(tensors, directions, strict=True))


def assert_all_close(actual, expected):
    for got, wanted in zip(actual, expected, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-11, atol=1e-12)


@with_lengths_or_not
@with_each_shape
@with_each_cell
@in_both_ways
def test_equals_torch_forward_and_backward(kind, cell, num_layers, bidirectional, lengths):
    network = build(kind, cell=cell, num_layers=num_layers, bidirectional=bidirectional)
    peer = build_peer(network, cell)
    x, initial = draw(network, cell)

    ours, our_final = network(x, initial, lengths=lengths)
    theirs, their_final = run_peer(peer, x, initial, lengths)
    assert isinstance(our_final, tuple) == (cell is LSTMCell)
    assert ours.shape == (BATCH, LEN, D_HIDDEN * (2 if bidirectional else 1))
    results, expected = [ours, *listed(our_final)], [theirs, *listed(their_final)]
    assert_all_close(results, expected)

    our_weights = [
        getattr(projection, name)
        for each in network.cells
        for name in ("weight", "bias")
        for projection in (each.input_projection, each.hidden_projection)
    ]
    inputs = [x, *listed(initial)]
    assert_all_close(
        torch.autograd.grad(random_sum(results), [*inputs, *our_weights]),
        torch.autograd.grad(random_sum(expected), [*inputs, *peer.parameters()]),
    )


@with_each_cell
@in_both_ways
def test_without_biases_and_from_zero(kind, cell):
    network = build(kind, cell=cell, bias=False)
    assert all("bias" not in name for name, _ in network.named_parameters())
    x, _ = draw(network, cell)
    ours, our_final = network(x)
    theirs, their_final = build_peer(network, cell, bias=False)(x)
    assert_all_close([ours, *listed(our_final)], [theirs, *listed(their_final)])


@with_each_cell
def test_float32_is_as_exact_as_torch(cell):
    network = build(Recurrent, cell=cell)
    peer = build_peer(network, cell)
    x, initial = draw(network, cell)
    truth, _ = peer(x, initial)
    single = [t.float() for t in listed(initial)]
    state = tuple(single) if cell is LSTMCell else single[0]
    theirs, _ = peer.float()(x.float(), state)
    ours, _ = network.float()(x.float(), state)
    assert_as_exact_as([theirs], [ours], [truth])


def test_state_dicts_are_interchangeable():
    written_out, fused = build(Recurrent), build(FusedRecurrent)
    with torch.no_grad():
        for parameter in fused.parameters():
            parameter.add_(1.0)
    fused.load_state_dict(written_out.state_dict())
    x, initial = draw(fused, GRUCell)
    assert_all_close(fused(x, initial, lengths=LENGTHS), written_out(x, initial, lengths=LENGTHS))


# --- padding and order ---------------------------------------------------------------------------


@with_each_cell
@in_both_ways
def test_inputs_at_padded_steps_change_nothing(kind, cell):
    network = build(kind, cell=cell)
    x, initial = draw(network, cell)
    outputs, final = network(x, initial, lengths=LENGTHS)
    is_padding = torch.arange(LEN) >= LENGTHS[:, None]
    parameters = list(network.parameters())
    gradients = torch.autograd.grad(
        random_sum([outputs, *listed(final)]), parameters, retain_graph=True
    )
    for filling in (7.0, float("nan")):
        other = x.detach().masked_fill(is_padding[:, :, None], filling)
        other_outputs, other_final = network(other, initial, lengths=LENGTHS)
        assert_all_close([outputs, *listed(final)], [other_outputs, *listed(other_final)])
        loss = random_sum([other_outputs, *listed(other_final)])
        assert_all_close(gradients, torch.autograd.grad(loss, parameters))
    assert (outputs[is_padding] == 0).all()
    (gradient,) = torch.autograd.grad(random_sum([outputs, *listed(final)]), x)
    assert (gradient[is_padding] == 0).all()
    assert (gradient[~is_padding] != 0).any(-1).all()


@in_both_ways
def test_a_batch_may_be_padded_beyond_its_longest_sequence(kind):
    network = build(kind)
    x, initial = draw(network, GRUCell)
    lengths = torch.tensor([3, 4, 1, 2])
    outputs, final = network(x, initial, lengths=lengths)
    tight, tight_final = network(x[:, :4], initial, lengths=lengths)
    assert outputs.shape[:2] == (BATCH, LEN)
    assert_all_close([outputs[:, :4], final], [tight, tight_final])
    assert (outputs[:, 4:] == 0).all()


@in_both_ways
def test_keeps_inputs(kind):
    network = build(kind)
    x, initial = draw(network, GRUCell)
    kept = [t.detach().clone() for t in (x, initial, LENGTHS)]
    network(x, initial, lengths=LENGTHS)
    for now, before in zip((x, initial, LENGTHS), kept, strict=True):
        assert torch.equal(now, before)


def test_layers_start_different():
    cells = build(Recurrent, num_layers=3, bidirectional=False).cells
    assert not torch.equal(cells[1].hidden_projection.weight, cells[2].hidden_projection.weight)


def test_written_out_network_takes_a_cell_of_the_readers_own():
    class Sum(GRUCell):
        def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
            return hidden + x.sum(-1, keepdim=True)

    network = Recurrent(D_INPUT, D_HIDDEN, cell=Sum)
    x = torch.ones(2, 4, D_INPUT)
    outputs, final = network(x, lengths=torch.tensor([4, 2]))
    assert outputs[:, :, 0].tolist() == [[3, 6, 9, 12], [3, 6, 0, 0]]
    assert final[0, :, 0].tolist() == [12, 6]


# --- errors --------------------------------------------------------------------------------------


@in_both_ways
@pytest.mark.parametrize("lengths", [[0, 6, 1, 3], [4, 7, 1, 3], [-1, 6, 1, 3], [4, 6, 1], [[4]]])
def test_refuses_lengths_that_cannot_be(kind, lengths):
    network = build(kind)
    x, _ = draw(network, GRUCell)
    with pytest.raises(ValueError, match="lengths must"):
        network(x, lengths=torch.tensor(lengths))


@in_both_ways
@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        (LENGTHS.float(), "lengths must hold integers"),
        (LENGTHS.bool(), "lengths must hold integers"),
        (LENGTHS.tolist(), "lengths must be a tensor of integers, got"),
        (4, "lengths must be a tensor of integers, got"),
    ],
)
def test_lengths_of_another_type_are_rejected(kind, lengths, message):
    network = build(kind)
    with pytest.raises(TypeError, match=message):
        network(draw(network, GRUCell)[0], lengths=lengths)


@in_both_ways
@pytest.mark.parametrize("shape", [(LEN, D_INPUT), (0, LEN, D_INPUT), (BATCH, 0, D_INPUT)])
def test_refuses_empty_or_flat_input(kind, shape):
    with pytest.raises(ValueError, match="x must be"):
        build(kind)(torch.zeros(shape).double())


@in_both_ways
def test_refuses_input_of_another_width(kind):
    with pytest.raises(ValueError, match=f"x must have d_input={D_INPUT}, got {D_INPUT + 1}"):
        build(kind)(torch.zeros(BATCH, LEN, D_INPUT + 1).double())


@in_both_ways
@pytest.mark.parametrize("cell", [GRUCell, LSTMCell])
def test_refuses_a_state_of_another_shape_or_kind(kind, cell):
    network = build(kind, cell=cell)
    x, initial = draw(network, cell)
    other_kind = (initial, initial) if cell is GRUCell else initial[0]
    with pytest.raises(ValueError, match="initial must be"):
        network(x, other_kind)
    cut = tuple(t[:, :2] for t in initial) if cell is LSTMCell else initial[:, :2]
    with pytest.raises(ValueError, match="initial must have shape"):
        network(x, cut)


@with_lengths_or_not
@pytest.mark.parametrize("training", [True, False])
def test_the_kernel_keeps_what_gradients_need_whenever_they_are_wanted(lengths, training):
    """On a GPU it could not go back in evaluation mode, as the written-out network can."""
    network = build(FusedRecurrent).train(training)
    x, _ = draw(network, GRUCell)
    kernel, told = network._kernel, []

    def noted(*args):
        told.append(args[6 if lengths is None else 7])
        return kernel(*args)

    network._kernel = noted
    network(x, lengths=lengths)
    with torch.no_grad():
        network(x, lengths=lengths)
    assert told == [True, False]


def test_fused_network_refuses_other_cells():
    with pytest.raises(ValueError, match="RNNCell, GRUCell or LSTMCell"):
        FusedRecurrent(D_INPUT, D_HIDDEN, cell=nn.GRUCell)
