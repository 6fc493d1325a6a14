"""Do encoder and both decoders compute what their formulas say, and step by step the same?

Dimensions: BATCH, SRC_LEN, TGT_LEN and all widths differ, so that no mix-up goes unseen.
"""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.generation.step_models import RecurrentStepModel
from course_lib.layers.recurrent_cells import GRUCell, LSTMCell, RNNCell
from course_lib.models.bahdanau import AttentionDecoder
from course_lib.models.seq2seq import RecurrentDecoder, RecurrentEncoder, Seq2Seq
from tests.course_lib.parity import (
    assert_equal_in_float64,
    assert_every_parameter_gets_a_gradient,
    logits_of_steps,
    output_and_gradients,
)
from tests.course_lib.weights import copy_cell

BATCH, SRC_LEN, TGT_LEN = 3, 5, 4
SRC_VOCAB, TGT_VOCAB, D_EMBEDDING, D_HIDDEN, D_TGT_HIDDEN = 11, 13, 6, 7, 8
LENGTHS = torch.tensor([3, 5, 1])
CELLS = {"RNN": RNNCell, "GRU": GRUCell, "LSTM": LSTMCell}
with_each_cell = pytest.mark.parametrize("cell", CELLS)
with_each_decoder = pytest.mark.parametrize("kind", [*CELLS, "attention"])


def build(kind: str = "GRU", *, num_layers: int = 2, bidirectional: bool = True) -> Seq2Seq:
    """Return a model in float64; its decoder has cells of this kind, or ``attention``."""
    torch.manual_seed(0)
    settings = {"cell": CELLS.get(kind, GRUCell), "num_layers": num_layers}
    encoder = RecurrentEncoder(
        SRC_VOCAB, D_EMBEDDING, D_HIDDEN, bidirectional=bidirectional, **settings
    )
    sizes = (TGT_VOCAB, D_EMBEDDING, D_TGT_HIDDEN, encoder.d_memory)
    if kind == "attention":
        return Seq2Seq(encoder, AttentionDecoder(*sizes, d_attention=9)).double()
    return Seq2Seq(encoder, RecurrentDecoder(*sizes, **settings)).double()


def draw() -> tuple[Tensor, Tensor]:
    """Return source and target token ids."""
    generator = torch.Generator().manual_seed(1)
    src = torch.randint(SRC_VOCAB, (BATCH, SRC_LEN), generator=generator)
    return src, torch.randint(TGT_VOCAB, (BATCH, TGT_LEN), generator=generator)


# --- encoder -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bidirectional", [True, False])
@with_each_cell
def test_context_is_made_of_the_memorys_ends(cell, bidirectional):
    encoder, (src, _) = build(cell, bidirectional=bidirectional).encoder, draw()
    encoded = encoder(src, LENGTHS)
    assert encoder.d_memory == D_HIDDEN * (2 if bidirectional else 1)
    assert encoded.memory.shape == (BATCH, SRC_LEN, encoder.d_memory)
    outputs, _ = encoder.recurrent(encoder.embedding.weight[src], lengths=LENGTHS)
    assert torch.equal(encoded.memory, outputs)
    for memory, context, length in zip(encoded.memory, encoded.context, LENGTHS, strict=True):
        ends = [memory[length - 1, :D_HIDDEN], memory[0, D_HIDDEN:]]
        assert_equal_in_float64(context, torch.cat(ends))


def test_mask_is_true_at_real_tokens():
    encoder, (src, _) = build().encoder, draw()
    assert encoder(src).mask.tolist() == [[True] * SRC_LEN] * BATCH
    assert encoder(src, LENGTHS).mask.tolist() == [
        [True, True, True, False, False],
        [True] * 5,
        [True, False, False, False, False],
    ]


@with_each_decoder
def test_padding_changes_nothing(kind):
    model, (src, tgt) = build(kind), draw()
    expected = model(src, tgt, LENGTHS)
    other = src.masked_fill(torch.arange(SRC_LEN) >= LENGTHS[:, None], 2)
    for padded in (other, F.pad(src, (0, 3), value=4)):
        assert_equal_in_float64(model(padded, tgt, LENGTHS), expected)
    assert not torch.allclose(model(src, tgt), expected)


# --- decoders ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["GRU", "attention"])
def test_decoder_equals_a_loop_over_torch_cells(kind):
    model, (src, tgt) = build(kind, num_layers=1), draw()
    decoder, encoded = model.decoder, model.encoder(src, LENGTHS)
    looks = kind == "attention"
    result = decoder(tgt, encoded, return_weights=True) if looks else decoder(tgt, encoded)
    logits, weights = result if looks else (result, None)
    assert logits.shape == (BATCH, TGT_LEN, TGT_VOCAB)
    peer = nn.GRUCell(D_EMBEDDING + 2 * D_HIDDEN, D_TGT_HIDDEN).double()
    copy_cell(decoder.cell if looks else decoder.recurrent.cells[0], peer)
    context = encoded.context
    hidden = torch.tanh(decoder.bridge(context))
    for t in range(TGT_LEN):
        if looks:  # the state before step t is the query of step t
            contexts, expected = decoder.attention(
                hidden[:, None], encoded.memory, encoded.mask[:, None], return_weights=True
            )
            context = contexts[:, 0]
            assert_equal_in_float64(weights[:, t], expected[:, 0])
        written = torch.cat([decoder.embedding.weight[tgt[:, t]], context], dim=-1)
        hidden = peer(written, hidden)
        expected = decoder.output(torch.cat([hidden, written], dim=-1))
        assert_equal_in_float64(logits[:, t], expected)


@with_each_cell
@pytest.mark.parametrize("num_layers", [1, 3])
def test_first_state_is_the_bridge_and_an_lstms_memory_starts_at_zero(cell, num_layers):
    model = build(cell, num_layers=num_layers)
    encoded = model.encoder(draw()[0])
    state = model.decoder.start(encoded).recurrent
    hidden = state[0] if cell == "LSTM" else state
    bridged = torch.tanh(model.decoder.bridge(encoded.context))
    assert torch.equal(torch.cat(list(hidden), dim=-1), bridged)
    if cell == "LSTM":
        assert (state[1] == 0).all()


@with_each_decoder
@pytest.mark.parametrize("chunks", [[1] * TGT_LEN, [3, 1], [1, 3]], ids=str)
def test_steps_equal_teacher_forcing(kind, chunks):
    model, (src, tgt) = build(kind), draw()
    steps = logits_of_steps(model.decoder, model.encoder(src, LENGTHS), tgt, chunks)
    assert_equal_in_float64(steps, model(src, tgt, LENGTHS))


@with_each_decoder
def test_step_model_gives_the_last_logits_and_reorders_states_and_sources(kind):
    model, (src, tgt) = build(kind), draw()
    steps = RecurrentStepModel(model.decoder, model.encoder(src, LENGTHS))
    assert_equal_in_float64(steps.advance(tgt[:, :2]), model(src, tgt[:, :2], LENGTHS)[:, -1])
    rows = torch.tensor([2, 0, 0, 1, 2])
    steps.reorder(rows)
    expected = model(src[rows], tgt[rows], LENGTHS[rows])
    assert_equal_in_float64(steps.advance(tgt[rows, 2:3]), expected[:, 2])
    assert_equal_in_float64(steps.advance(tgt[rows, 3:4]), expected[:, 3])


@pytest.mark.parametrize("kind", ["LSTM", "attention"])
def test_every_parameter_gets_a_gradient(kind):
    model, (src, tgt) = build(kind), draw()
    assert_every_parameter_gets_a_gradient(model, model(src, tgt, LENGTHS), tgt)


def test_attention_decoder_does_not_see_nan_behind_the_mask():
    model, (src, tgt) = build("attention"), draw()
    with torch.no_grad():
        encoded = model.encoder(src, LENGTHS)

    def run(filling):
        memory = encoded.memory.masked_fill(~encoded.mask[:, :, None], filling)
        logits = model.decoder(tgt, replace(encoded, memory=memory))
        return output_and_gradients(logits, model.decoder.parameters())

    assert_equal_in_float64(run(math.nan), run(0.0))


def test_alignment_model_is_as_wide_as_the_state_by_default():
    for choice, width in (({}, D_HIDDEN), ({"d_attention": 5}, 5)):
        decoder = AttentionDecoder(TGT_VOCAB, D_EMBEDDING, D_HIDDEN, d_memory=9, **choice)
        assert decoder.attention.query_projection.weight.shape == (width, D_HIDDEN)


@pytest.mark.parametrize(
    ("kind", "rows", "empty"),
    [("GRU", "batch of 2", "x must be"), ("attention", "tgt must have 3 rows", "at least one")],
)
def test_sentences_that_do_not_fit_are_rejected(kind, rows, empty):
    model, (src, tgt) = build(kind), draw()
    with pytest.raises(ValueError, match=rows):
        model(src, tgt[:2])
    with pytest.raises(ValueError, match=empty):
        model(src, tgt[:, :0])
    with pytest.raises(ValueError, match="x must be"):
        model(src[:0], tgt[:0])
    with pytest.raises(ValueError, match="lengths must"):
        model(src, tgt, torch.tensor([1, 2, 6]))
    for bad in (torch.full_like(src, SRC_VOCAB), torch.full_like(src, -1)):
        with pytest.raises(IndexError):
            model(bad, tgt)
    with pytest.raises(IndexError):
        model(src, torch.full_like(tgt, TGT_VOCAB))
