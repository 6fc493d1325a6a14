"""Is Bahdanau attention what the paper's formulas say, number by number?

Dimensions: BATCH, QUERIES, KEYS and all widths differ, so that no mix-up of two goes unseen.
"""

import math
from dataclasses import replace

import pytest
import torch

from course_lib.generation.step_models import RecurrentStepModel
from course_lib.layers.additive_attention import AdditiveAttention
from course_lib.models.bahdanau import AttentionDecoder
from course_lib.models.seq2seq import RecurrentEncoder, Seq2Seq
from tests.course_lib.parity import assert_every_parameter_gets_a_gradient, logits_of_steps

BATCH, QUERIES, KEYS, D_QUERY, D_MEMORY, D_ATTENTION = 2, 3, 4, 5, 6, 7
LENGTHS = torch.tensor([2, 4])
MASKS = {
    "none": None,
    "padding": (torch.arange(KEYS) < LENGTHS[:, None])[:, None],
    "each pair": torch.rand(BATCH, QUERIES, KEYS, generator=torch.Generator().manual_seed(3)) > 0.5,
}
with_each_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())


def draw() -> tuple[AdditiveAttention, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    attention = AdditiveAttention(D_QUERY, D_MEMORY, D_ATTENTION).double()
    query = torch.randn(BATCH, QUERIES, D_QUERY, dtype=torch.float64, requires_grad=True)
    memory = torch.randn(BATCH, KEYS, D_MEMORY, dtype=torch.float64, requires_grad=True)
    return attention, query, memory


def by_hand(w, u, v, query, memory, allowed):
    """Return the context and the weights of one query, computed with plain Python numbers."""
    scores = []
    for h in memory:
        total = 0.0
        for a in range(len(v)):
            inner = sum(w[a][j] * query[j] for j in range(len(query)))
            inner += sum(u[a][j] * h[j] for j in range(len(h)))
            total += v[a] * math.tanh(inner)
        scores.append(total)
    exponentials = [math.exp(s) if ok else 0.0 for s, ok in zip(scores, allowed, strict=True)]
    weights = [e / sum(exponentials) if e else 0.0 for e in exponentials]
    context = [
        sum(w * h[j] for w, h in zip(weights, memory, strict=True)) for j in range(len(memory[0]))
    ]
    return context, weights


def assert_equal(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-11, atol=1e-12)


@with_each_mask
def test_equals_a_loop_over_plain_numbers(mask):
    attention, query, memory = draw()
    context, weights = attention(query, memory, mask, return_weights=True)
    assert context.shape == (BATCH, QUERIES, D_MEMORY)
    assert weights.shape == (BATCH, QUERIES, KEYS)
    allowed = torch.ones(BATCH, QUERIES, KEYS, dtype=torch.bool) if mask is None else mask
    allowed = allowed.expand(BATCH, QUERIES, KEYS)
    parameters = [
        attention.query_projection.weight.tolist(),
        attention.key_projection.weight.tolist(),
        attention.score.weight[0].tolist(),
    ]
    for b in range(BATCH):
        for q in range(QUERIES):
            wanted_context, wanted_weights = by_hand(
                *parameters, query[b, q].tolist(), memory[b].tolist(), allowed[b, q].tolist()
            )
            assert_equal(context[b, q], torch.tensor(wanted_context, dtype=torch.float64))
            assert_equal(weights[b, q], torch.tensor(wanted_weights, dtype=torch.float64))
    assert torch.equal(attention(query, memory, mask), context)


def test_float32_is_as_exact_as_float32_can_be():
    attention, query, memory = draw()
    truth = attention(query, memory)
    single = attention.float()(query.float(), memory.float())
    assert single.dtype == torch.float32
    # A sum over d_attention terms and one over keys, each off by half a unit at most.
    allowed = torch.finfo(torch.float32).eps * (D_ATTENTION + D_MEMORY + KEYS)
    assert (single.double() - truth).abs().max() <= allowed


def test_a_query_that_may_see_nothing_gets_zeros_and_finite_gradients():
    attention, query, memory = draw()
    mask = torch.ones(BATCH, QUERIES, KEYS, dtype=torch.bool)
    mask[0, 1] = False
    mask[1] = False
    context, weights = attention(query, memory, mask, return_weights=True)
    for got in (context, weights):
        assert (got[0, 1] == 0).all()
        assert (got[1] == 0).all()
        assert (got[0, 0] != 0).all()
    inputs = [query, memory, *attention.parameters()]
    for gradient in torch.autograd.grad(context.square().sum(), inputs):
        assert gradient.isfinite().all()


@pytest.mark.parametrize("filling", [9.0, math.nan, math.inf])
def test_masked_memory_changes_nothing(filling):
    attention, query, memory = draw()
    mask = MASKS["padding"]
    results = []
    for source in (memory, memory.detach().masked_fill(~mask.transpose(1, 2), filling)):
        context = attention(query, source, mask)
        gradients = torch.autograd.grad(context.square().sum(), [query, *attention.parameters()])
        results.append([context, *gradients])
    for expected, actual in zip(*results, strict=True):
        assert_equal(actual, expected)


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_a_query_that_may_see_nothing_passes_anomaly_detection():
    attention, query, memory = draw()
    mask = MASKS["padding"].expand(BATCH, QUERIES, KEYS).clone()
    mask[:, 1] = False
    with torch.autograd.detect_anomaly(check_nan=True):
        attention(query, memory, mask).square().sum().backward()


def test_keys_made_once_give_the_same():
    attention, query, memory = draw()
    keys = attention.key_projection(memory)
    assert torch.equal(attention(query, memory, keys=keys), attention(query, memory))
    assert not torch.allclose(attention(query, memory, keys=keys + 1), attention(query, memory))


def test_has_no_biases():
    assert {name for name, _ in draw()[0].named_parameters()} == {
        "query_projection.weight",
        "key_projection.weight",
        "score.weight",
    }


def test_keeps_inputs():
    attention, query, memory = draw()
    mask = MASKS["padding"]
    kept = [t.detach().clone() for t in (query, memory, mask)]
    attention(query, memory, mask, return_weights=True)
    for now, before in zip((query, memory, mask), kept, strict=True):
        assert torch.equal(now, before)


def test_errors():
    attention, query, memory = draw()
    with pytest.raises(TypeError, match="boolean"):
        attention(query, memory, torch.ones(BATCH, 1, KEYS))
    for shape in [(BATCH, KEYS), (KEYS,), (BATCH, QUERIES + 1, KEYS), (BATCH, 1, 1, KEYS)]:
        with pytest.raises(ValueError, match=r"mask must have shape \(2, 3, 4\)"):
            attention(query, memory, torch.ones(shape, dtype=torch.bool))
    with pytest.raises(ValueError, match="mask must have shape"):  # it would enlarge the contexts
        attention(query[:1], memory[:1], MASKS["padding"])
    with pytest.raises(ValueError, match="agree in batch"):
        attention(query[:1], memory)


# --- the decoder ---------------------------------------------------------------------------------

VOCAB, D_EMBEDDING, D_HIDDEN, D_ENCODER, TGT_LEN = 11, 3, 5, 4, 6


def build() -> tuple[Seq2Seq, torch.Tensor, torch.Tensor]:
    torch.manual_seed(2)
    encoder = RecurrentEncoder(VOCAB, D_EMBEDDING, D_ENCODER)
    decoder = AttentionDecoder(
        VOCAB, D_EMBEDDING, D_HIDDEN, encoder.d_memory, d_attention=D_ATTENTION
    )
    src, tgt = torch.randint(VOCAB, (BATCH, KEYS)), torch.randint(VOCAB, (BATCH, TGT_LEN))
    return Seq2Seq(encoder, decoder).double(), src, tgt


def test_decoder_equals_a_loop_over_torch_cells():
    model, src, tgt = build()
    decoder, encoded = model.decoder, model.encoder(src, LENGTHS)
    logits, weights = decoder(tgt, encoded, return_weights=True)
    assert logits.shape == (BATCH, TGT_LEN, VOCAB)
    assert weights.shape == (BATCH, TGT_LEN, KEYS)
    peer = torch.nn.GRUCell(D_EMBEDDING + 2 * D_ENCODER, D_HIDDEN).double()
    with torch.no_grad():
        for short, projection in [
            ("ih", decoder.cell.input_projection),
            ("hh", decoder.cell.hidden_projection),
        ]:
            getattr(peer, f"weight_{short}").copy_(projection.weight)
            getattr(peer, f"bias_{short}").copy_(projection.bias)
    parameters = [
        decoder.attention.query_projection.weight.tolist(),
        decoder.attention.key_projection.weight.tolist(),
        decoder.attention.score.weight[0].tolist(),
    ]
    for b in range(BATCH):
        memory, allowed = encoded.memory[b].tolist(), encoded.mask[b].tolist()
        hidden = torch.tanh(decoder.bridge.weight @ encoded.context[b] + decoder.bridge.bias)
        for t in range(TGT_LEN):
            # The context of step t is asked for by the state before step t.
            context, alphas = by_hand(*parameters, hidden.tolist(), memory, allowed)
            assert_equal(weights[b, t], torch.tensor(alphas, dtype=torch.float64))
            embedded = decoder.embedding.weight[tgt[b, t]]
            written = torch.cat([embedded, torch.tensor(context, dtype=torch.float64)])
            hidden = peer(written, hidden)
            expected = decoder.output.weight @ torch.cat([hidden, written]) + decoder.output.bias
            assert_equal(logits[b, t], expected)


@pytest.mark.parametrize("chunks", [[1] * TGT_LEN, [4, 2], [1, 5]], ids=str)
def test_steps_equal_teacher_forcing(chunks):
    model, src, tgt = build()
    steps = logits_of_steps(model.decoder, model.encoder(src, LENGTHS), tgt, chunks)
    assert_equal(steps, model(src, tgt, LENGTHS))


def test_stepping_reorders_states_and_sources():
    model, src, tgt = build()
    stepped = RecurrentStepModel(model.decoder, model.encoder(src, LENGTHS))
    assert_equal(stepped.advance(tgt[:, :3]), model(src, tgt[:, :3], LENGTHS)[:, -1])
    rows = torch.tensor([1, 1, 0])
    stepped.reorder(rows)
    expected = model(src[rows], tgt[rows], LENGTHS[rows])
    assert_equal(stepped.advance(tgt[rows, 3:5]), expected[:, 4])


def test_decoder_does_not_see_nan_behind_the_mask():
    model, src, tgt = build()
    encoded = model.encoder(src, LENGTHS)
    results = []
    for filling in (0.0, math.nan):
        memory = encoded.memory.detach().masked_fill(~encoded.mask[:, :, None], filling)
        logits = model.decoder(tgt, replace(encoded, memory=memory))
        model.decoder.zero_grad()
        logits.square().sum().backward(retain_graph=True)
        results.append([logits, *(p.grad.clone() for p in model.decoder.parameters())])
    for expected, actual in zip(*results, strict=True):
        assert_equal(actual, expected)


def test_every_parameter_gets_a_gradient():
    model, src, tgt = build()
    assert_every_parameter_gets_a_gradient(model, model(src, tgt, LENGTHS), tgt)


def test_alignment_model_is_as_wide_as_the_state_unless_told():
    decoder = AttentionDecoder(VOCAB, D_EMBEDDING, D_HIDDEN, 2 * D_ENCODER)
    assert decoder.attention.query_projection.weight.shape == (D_HIDDEN, D_HIDDEN)


def test_decoder_errors():
    model, src, tgt = build()
    with pytest.raises(ValueError, match="tgt must have 2 rows"):
        model(src, tgt[:1])
    with pytest.raises(ValueError, match="at least one token"):
        model(src, tgt[:, :0])
    with pytest.raises(IndexError):
        model(src, tgt.clone().fill_(VOCAB))
