"""Are cells and networks those of PyTorch, packing included, and does padding change nothing?

Dimensions: BATCH, LEN, D_INPUT, D_HIDDEN all differ, so that no mix-up of two goes unseen.
"""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from course_lib.layers.recurrent import FusedRecurrent, Recurrent, State
from course_lib.layers.recurrent_cells import GRUCell, LSTMCell, RNNCell
from tests.course_lib.parity import (
    assert_equal_in_float64,
    assert_parity,
    output_and_gradients,
    randomise,
)
from tests.course_lib.weights import copy_cell

BATCH, LEN, D_INPUT, D_HIDDEN = 4, 6, 3, 5
LENGTHS = torch.tensor([4, 6, 1, 3])  # in no order
PEERS = {RNNCell: nn.RNN, GRUCell: nn.GRU, LSTMCell: nn.LSTM}
PEER_CELLS = {RNNCell: nn.RNNCell, GRUCell: nn.GRUCell, LSTMCell: nn.LSTMCell}
with_each_cell = pytest.mark.parametrize("cell", PEERS, ids=lambda cell: cell.__name__)
with_both_networks = pytest.mark.parametrize("kind", [Recurrent, FusedRecurrent])
with_lengths_or_not = pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["full", "lengths"])


def build(kind, *, cell=GRUCell, num_layers=2, bidirectional=True, bias=True) -> Recurrent:
    """Return a network with random weights, in float64."""
    settings = {"num_layers": num_layers, "bidirectional": bidirectional, "bias": bias}
    return randomise(kind(D_INPUT, D_HIDDEN, cell=cell, **settings)).double()


def build_peer(network: Recurrent, cell) -> nn.RNNBase:
    """Return PyTorch's network with the same weights."""
    peer = PEERS[cell](
        D_INPUT,
        D_HIDDEN,
        num_layers=network.num_layers,
        bidirectional=network.directions == 2,
        bias=network.cells[0].input_projection.bias is not None,
        batch_first=True,
    ).double()
    for index, ours in enumerate(network.cells):
        layer, direction = divmod(index, network.directions)
        copy_cell(ours, peer, f"_l{layer}" + ("_reverse" if direction else ""))
    return peer


def draw(network: Recurrent, cell, dtype=torch.float64) -> tuple[Tensor, State]:
    """Return an input and an initial state that ask for gradients."""
    generator = torch.Generator().manual_seed(1)
    state = (len(network.cells), BATCH, D_HIDDEN)
    x, hidden, memory = (
        torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
        for shape in [(BATCH, LEN, D_INPUT), state, state]
    )
    return x, (hidden, memory) if cell is LSTMCell else hidden


def run_peer(peer: nn.RNNBase, x: Tensor, initial: State | None, lengths: Tensor | None):
    if lengths is None:
        return peer(x, initial)
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    outputs, final = peer(packed, initial)
    return pad_packed_sequence(outputs, batch_first=True, total_length=x.size(1))[0], final


def listed(state: State | None) -> list[Tensor]:
    """Return a state's tensors as a list: empty for None, two for an LSTM, else one."""
    if state is None:
        return []
    return list(state) if isinstance(state, tuple) else [state]


def weights_in_torchs_order(cells) -> list[Tensor]:
    return [
        getattr(projection, name)
        for cell in cells
        for name in ("weight", "bias")
        for projection in (cell.input_projection, cell.hidden_projection)
        if getattr(projection, name) is not None
    ]


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@with_each_cell
def test_cell_equals_torchs_forward_and_backward(cell, bias):
    ours = randomise(cell(D_INPUT, D_HIDDEN, bias=bias)).double()
    theirs = PEER_CELLS[cell](D_INPUT, D_HIDDEN, bias=bias).double()
    copy_cell(ours, theirs)
    x, *states = torch.randn(3, BATCH, D_HIDDEN, dtype=torch.float64, requires_grad=True)
    x, state = x[:, :D_INPUT], tuple(states) if cell is LSTMCell else states[0]
    inputs = [x, *listed(state)]
    assert_equal_in_float64(
        output_and_gradients(listed(ours(x, state)), [*inputs, *weights_in_torchs_order([ours])]),
        output_and_gradients(listed(theirs(x, state)), [*inputs, *theirs.parameters()]),
    )


@with_lengths_or_not
@pytest.mark.parametrize(
    ("num_layers", "bidirectional", "bias"),
    [(1, False, True), (1, True, False), (3, False, True), (2, True, True)],
)
@with_each_cell
@with_both_networks
def test_equals_torch_forward_and_backward(kind, cell, num_layers, bidirectional, bias, lengths):
    network = build(kind, cell=cell, num_layers=num_layers, bidirectional=bidirectional, bias=bias)
    peer = build_peer(network, cell)
    x, initial = draw(network, cell) if bias else (draw(network, cell)[0], None)
    ours, our_final = network(x, initial, lengths=lengths)
    theirs, their_final = run_peer(peer, x, initial, lengths)
    assert isinstance(our_final, tuple) == (cell is LSTMCell)
    inputs = [x, *listed(initial)]
    assert_equal_in_float64(
        output_and_gradients(
            [ours, *listed(our_final)], [*inputs, *weights_in_torchs_order(network.cells)]
        ),
        output_and_gradients([theirs, *listed(their_final)], [*inputs, *peer.parameters()]),
    )


@with_each_cell
def test_float32_is_as_exact_as_torch(cell):
    network = build(Recurrent, cell=cell)
    peer = build_peer(network, cell)

    def run(kind):
        return lambda dtype: [kind.to(dtype)(*draw(network, cell, dtype))[0]]

    assert_parity(run(network), run(peer), torch.float32)


def test_state_dicts_are_interchangeable():
    written_out, fused = (
        build(Recurrent),
        FusedRecurrent(D_INPUT, D_HIDDEN, num_layers=2, bidirectional=True).double(),
    )
    fused.load_state_dict(written_out.state_dict())
    x, initial = draw(fused, GRUCell)
    assert_equal_in_float64(
        fused(x, initial, lengths=LENGTHS), written_out(x, initial, lengths=LENGTHS)
    )


# --- padding and order ---------------------------------------------------------------------------


@with_each_cell
@with_both_networks
def test_inputs_at_padded_steps_change_nothing(kind, cell):
    network = build(kind, cell=cell)
    x, initial = draw(network, cell)
    is_padding = torch.arange(LEN) >= LENGTHS[:, None]

    def run(x, inputs):
        outputs, final = network(x, initial, lengths=LENGTHS)
        assert (outputs[is_padding] == 0).all()
        return output_and_gradients([outputs, *listed(final)], inputs)

    expected = run(x, network.parameters())
    for filling in (7.0, math.nan):
        other = x.detach().masked_fill(is_padding[:, :, None], filling)
        assert_equal_in_float64(run(other, network.parameters()), expected)
    gradient = run(x, [x])[-1]
    assert (gradient[is_padding] == 0).all()
    assert (gradient[~is_padding] != 0).any(-1).all()


@with_both_networks
def test_a_batch_may_be_padded_beyond_its_longest_sequence(kind):
    network = build(kind)
    x, initial = draw(network, GRUCell)
    inputs = (x, initial, torch.tensor([3, 4, 1, 2]))
    before = [tensor.detach().clone() for tensor in inputs]
    outputs, final = network(x, initial, lengths=inputs[2])
    tight, tight_final = network(x[:, :4], initial, lengths=inputs[2])
    assert outputs.shape[:2] == (BATCH, LEN)
    assert_equal_in_float64([outputs[:, :4], final], [tight, tight_final])
    assert (outputs[:, 4:] == 0).all()
    assert all(map(torch.equal, inputs, before))


def test_layers_start_different():
    cells = Recurrent(D_INPUT, D_HIDDEN, num_layers=3).cells
    assert not torch.equal(cells[1].hidden_projection.weight, cells[2].hidden_projection.weight)


def test_written_out_network_takes_a_cell_of_the_readers_own():
    class Sum(GRUCell):
        def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
            return hidden + x.sum(-1, keepdim=True)

    network = Recurrent(D_INPUT, D_HIDDEN, cell=Sum)
    outputs, final = network(torch.ones(2, 4, D_INPUT), lengths=torch.tensor([4, 2]))
    assert outputs[:, :, 0].tolist() == [[3, 6, 9, 12], [3, 6, 0, 0]]
    assert final[0, :, 0].tolist() == [12, 6]


@with_lengths_or_not
@pytest.mark.parametrize("training", [True, False])
def test_kernel_keeps_what_backward_needs_whenever_gradients_are_wanted(lengths, training):
    """Otherwise backward fails in evaluation mode with cuDNN, but not with our Python loop."""
    network = build(FusedRecurrent).train(training)
    x, _ = draw(network, GRUCell)
    kernel, keeps = network._kernel, []

    def recording(*args):
        keeps.append(args[6 if lengths is None else 7])
        return kernel(*args)

    network._kernel = recording
    network(x, lengths=lengths)
    with torch.no_grad():
        network(x, lengths=lengths)
    assert keeps == [True, False]


# --- errors --------------------------------------------------------------------------------------


@with_both_networks
@pytest.mark.parametrize(
    ("lengths", "error", "message"),
    [
        *(
            (torch.tensor(lengths), ValueError, "lengths must")
            for lengths in ([0, 6, 1, 3], [4, 7, 1, 3], [-1, 6, 1, 3], [4, 6, 1], [[4]])
        ),
        (LENGTHS.float(), TypeError, "lengths must hold integers"),
        (LENGTHS.bool(), TypeError, "lengths must hold integers"),
        (LENGTHS.tolist(), TypeError, "lengths must be a tensor of integers, got"),
        (4, TypeError, "lengths must be a tensor of integers, got"),
    ],
)
def test_wrong_lengths_are_rejected(kind, lengths, error, message):
    network = build(kind)
    with pytest.raises(error, match=message):
        network(draw(network, GRUCell)[0], lengths=lengths)


@with_both_networks
@pytest.mark.parametrize(
    ("shape", "message"),
    [
        *(((shape), "x must be") for shape in [(LEN, D_INPUT), (0, LEN, D_INPUT), (2, 0, D_INPUT)]),
        ((2, LEN, D_INPUT + 1), f"x must have d_input={D_INPUT}, got {D_INPUT + 1}"),
    ],
)
def test_input_of_another_shape_is_rejected(kind, shape, message):
    with pytest.raises(ValueError, match=message):
        build(kind)(torch.zeros(shape).double())


@with_both_networks
@pytest.mark.parametrize("cell", [GRUCell, LSTMCell])
def test_state_of_another_shape_or_kind_is_rejected(kind, cell):
    network = build(kind, cell=cell)
    x, initial = draw(network, cell)
    with pytest.raises(ValueError, match="initial must be"):
        network(x, (initial, initial) if cell is GRUCell else initial[0])
    cut = tuple(t[:, :2] for t in initial) if cell is LSTMCell else initial[:, :2]
    with pytest.raises(ValueError, match="initial must have shape"):
        network(x, cut)


def test_lstm_cell_rejects_a_memory_of_another_shape():
    with pytest.raises(ValueError, match="hidden state and memory must be of one shape"):
        LSTMCell(2, 3)(torch.zeros(1, 2), (torch.zeros(1, 3), torch.zeros(2, 3)))


def test_fused_network_rejects_other_cells():
    with pytest.raises(ValueError, match="RNNCell, GRUCell or LSTMCell"):
        FusedRecurrent(D_INPUT, D_HIDDEN, cell=nn.GRUCell)
