"""Does the encoder-decoder compute what its formulas say, and go step by step to the same end?

Dimensions: BATCH, SRC_LEN, TGT_LEN and all widths differ, so that no mix-up goes unseen.
"""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from course_lib.generation.step_models import RecurrentStepModel
from course_lib.layers.recurrent_cells import GRUCell, LSTMCell, RNNCell
from course_lib.models.seq2seq import RecurrentDecoder, RecurrentEncoder, Seq2Seq
from tests.course_lib.parity import assert_every_parameter_gets_a_gradient, logits_of_steps

BATCH, SRC_LEN, TGT_LEN = 3, 5, 4
SRC_VOCAB, TGT_VOCAB, D_EMBEDDING, D_HIDDEN, D_TGT_HIDDEN = 11, 13, 6, 7, 8
LENGTHS = torch.tensor([3, 5, 1])
with_each_cell = pytest.mark.parametrize(
    "cell", [RNNCell, GRUCell, LSTMCell], ids=lambda cell: cell.__name__
)


def build(*, cell=GRUCell, num_layers=2, bidirectional=True) -> Seq2Seq:
    torch.manual_seed(0)
    encoder = RecurrentEncoder(
        SRC_VOCAB,
        D_EMBEDDING,
        D_HIDDEN,
        cell=cell,
        num_layers=num_layers,
        bidirectional=bidirectional,
    )
    decoder = RecurrentDecoder(
        TGT_VOCAB, D_EMBEDDING, D_TGT_HIDDEN, encoder.d_memory, cell=cell, num_layers=num_layers
    )
    return Seq2Seq(encoder, decoder).double()


def draw() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    src = torch.randint(SRC_VOCAB, (BATCH, SRC_LEN), generator=generator)
    return src, torch.randint(TGT_VOCAB, (BATCH, TGT_LEN), generator=generator)


def assert_equal(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-11, atol=1e-12)


# --- encoder -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bidirectional", [True, False])
def test_encoder_equals_torch_on_packed_sentences(bidirectional):
    encoder = build(num_layers=2, bidirectional=bidirectional).encoder
    peer = nn.GRU(
        D_EMBEDDING, D_HIDDEN, num_layers=2, bidirectional=bidirectional, batch_first=True
    ).double()
    with torch.no_grad():
        ours = [
            getattr(projection, name)
            for cell in encoder.recurrent.cells
            for name in ("weight", "bias")
            for projection in (cell.input_projection, cell.hidden_projection)
        ]
        for parameter, source in zip(peer.parameters(), ours, strict=True):
            parameter.copy_(source)
    src, _ = draw()
    packed = pack_padded_sequence(
        encoder.embedding(src), LENGTHS, batch_first=True, enforce_sorted=False
    )
    _, final = peer(packed)
    expected = torch.cat([final[-2], final[-1]], dim=-1) if bidirectional else final[-1]
    encoded = encoder(src, LENGTHS)
    assert encoder.d_memory == D_HIDDEN * (2 if bidirectional else 1)
    assert encoded.memory.shape == (BATCH, SRC_LEN, encoder.d_memory)
    assert_equal(encoded.context, expected)


@with_each_cell
def test_context_is_made_of_the_memorys_ends(cell):
    src, _ = draw()
    encoded = build(cell=cell).encoder(src, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        assert_equal(encoded.context[row, :D_HIDDEN], encoded.memory[row, length - 1, :D_HIDDEN])
        assert_equal(encoded.context[row, D_HIDDEN:], encoded.memory[row, 0, D_HIDDEN:])


def test_mask_says_what_is_real():
    encoder = build().encoder
    src, _ = draw()
    assert encoder(src).mask.tolist() == [[True] * SRC_LEN] * BATCH
    assert encoder(src, LENGTHS).mask.tolist() == [
        [True, True, True, False, False],
        [True] * 5,
        [True, False, False, False, False],
    ]


def test_padding_changes_nothing():
    model = build()
    src, tgt = draw()
    other = src.masked_fill(torch.arange(SRC_LEN) >= LENGTHS[:, None], 2)
    longer = F.pad(src, (0, 3), value=4)
    expected = model(src, tgt, LENGTHS)
    assert_equal(model(other, tgt, LENGTHS), expected)
    assert_equal(model(longer, tgt, LENGTHS), expected)
    assert not torch.allclose(model(src, tgt), expected)


# --- decoder -------------------------------------------------------------------------------------


def test_decoder_equals_a_loop_over_torch_cells():
    decoder = build(num_layers=1).decoder
    peer = nn.GRUCell(D_EMBEDDING + 2 * D_HIDDEN, D_TGT_HIDDEN).double()
    cell = decoder.recurrent.cells[0]
    with torch.no_grad():
        peer.weight_ih.copy_(cell.input_projection.weight)
        peer.weight_hh.copy_(cell.hidden_projection.weight)
        peer.bias_ih.copy_(cell.input_projection.bias)
        peer.bias_hh.copy_(cell.hidden_projection.bias)
    src, tgt = draw()
    encoded = build().encoder(src, LENGTHS)
    logits = decoder(tgt, encoded)
    assert logits.shape == (BATCH, TGT_LEN, TGT_VOCAB)
    context = encoded.context
    hidden = torch.tanh(context @ decoder.bridge.weight.T + decoder.bridge.bias)
    for t in range(TGT_LEN):
        embedded = decoder.embedding.weight[tgt[:, t]]
        hidden = peer(torch.cat([embedded, context], dim=1), hidden)
        everything = torch.cat([hidden, embedded, context], dim=1)
        assert_equal(logits[:, t], everything @ decoder.output.weight.T + decoder.output.bias)


@with_each_cell
@pytest.mark.parametrize("num_layers", [1, 3])
def test_first_state_is_the_bridge_and_an_lstms_memory_starts_at_zero(cell, num_layers):
    model = build(cell=cell, num_layers=num_layers)
    encoded = model.encoder(draw()[0])
    state = model.decoder.start(encoded).recurrent
    hidden = state[0] if cell is LSTMCell else state
    bridged = torch.tanh(model.decoder.bridge(encoded.context))
    for layer in range(num_layers):
        part = bridged[:, layer * D_TGT_HIDDEN : (layer + 1) * D_TGT_HIDDEN]
        assert_equal(hidden[layer], part)
    if cell is LSTMCell:
        assert (state[1] == 0).all()


@with_each_cell
@pytest.mark.parametrize("chunks", [[1, 1, 1, 1], [3, 1], [1, 3], [2, 2]], ids=str)
def test_steps_equal_teacher_forcing(cell, chunks):
    model = build(cell=cell)
    src, tgt = draw()
    steps = logits_of_steps(model.decoder, model.encoder(src, LENGTHS), tgt, chunks)
    assert_equal(steps, model(src, tgt, LENGTHS))


def test_every_parameter_gets_a_gradient():
    model = build(cell=LSTMCell)
    src, tgt = draw()
    assert_every_parameter_gets_a_gradient(model, model(src, tgt, LENGTHS), tgt)


# --- as a step model -----------------------------------------------------------------------------


@with_each_cell
def test_stepping_gives_the_last_logits_and_reorders(cell):
    model = build(cell=cell)
    src, tgt = draw()
    stepped = RecurrentStepModel(model.decoder, model.encoder(src, LENGTHS))
    assert isinstance(stepped, RecurrentStepModel)
    assert_equal(stepped.advance(tgt[:, :2]), model(src, tgt[:, :2], LENGTHS)[:, -1])
    rows = torch.tensor([2, 0, 0, 1, 2])
    stepped.reorder(rows)
    expected = model(src[rows], tgt[rows], LENGTHS[rows])
    assert_equal(stepped.advance(tgt[rows, 2:3]), expected[:, 2])
    assert_equal(stepped.advance(tgt[rows, 3:4]), expected[:, 3])


# --- errors --------------------------------------------------------------------------------------


def test_errors():
    model = build()
    src, tgt = draw()
    with pytest.raises(ValueError, match="batch of 2"):
        model(src, tgt[:2])
    with pytest.raises(ValueError, match="x must be"):
        model(src, tgt[:, :0])
    with pytest.raises(ValueError, match="x must be"):
        model(src[:0], tgt[:0])
    with pytest.raises(ValueError, match="lengths must"):
        model(src, tgt, torch.tensor([1, 2, 6]))
    for bad in (SRC_VOCAB, -1):
        with pytest.raises(IndexError):
            model(src.clone().fill_(bad), tgt)
    with pytest.raises(IndexError):
        model(src, tgt.clone().fill_(TGT_VOCAB))
