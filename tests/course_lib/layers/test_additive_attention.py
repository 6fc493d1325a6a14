"""Is Bahdanau attention what the paper's formulas say, number by number?

Dimensions: BATCH, QUERIES, KEYS and all widths differ, so that no mix-up of two goes unseen.
"""

import math

import pytest
import torch
from torch import Tensor

from course_lib.layers.additive_attention import AdditiveAttention
from tests.course_lib.parity import assert_equal_in_float64, output_and_gradients

BATCH, QUERIES, KEYS, D_QUERY, D_MEMORY, D_ATTENTION = 2, 3, 4, 5, 6, 7
LENGTHS = torch.tensor([2, 4])
MASKS = {
    "none": None,
    "padding": (torch.arange(KEYS) < LENGTHS[:, None])[:, None],
    "each pair": torch.rand(BATCH, QUERIES, KEYS, generator=torch.Generator().manual_seed(3)) > 0.5,
}
with_each_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())


def draw() -> tuple[AdditiveAttention, Tensor, Tensor]:
    """Return a layer, a query and a memory, in float64."""
    torch.manual_seed(0)
    attention = AdditiveAttention(D_QUERY, D_MEMORY, D_ATTENTION).double()
    query = torch.randn(BATCH, QUERIES, D_QUERY, dtype=torch.float64, requires_grad=True)
    memory = torch.randn(BATCH, KEYS, D_MEMORY, dtype=torch.float64, requires_grad=True)
    return attention, query, memory


def by_hand(
    attention: AdditiveAttention, query: Tensor, memory: Tensor, allowed: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the context and the weights of one query, computed with plain Python numbers.

    ``allowed`` is boolean ``(src_len,)``, True where the query may attend.
    """
    w, u = attention.query_projection.weight.tolist(), attention.key_projection.weight.tolist()
    v, query, memory = attention.score.weight[0].tolist(), query.tolist(), memory.tolist()
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
    columns = zip(*memory, strict=True)
    context = [sum(w * x for w, x in zip(weights, xs, strict=True)) for xs in columns]
    return torch.tensor(context, dtype=torch.float64), torch.tensor(weights, dtype=torch.float64)


@with_each_mask
def test_equals_a_loop_over_plain_numbers(mask):
    attention, query, memory = draw()
    context, weights = attention(query, memory, mask, return_weights=True)
    assert context.shape == (BATCH, QUERIES, D_MEMORY)
    assert weights.shape == (BATCH, QUERIES, KEYS)
    allowed = torch.ones(BATCH, QUERIES, KEYS, dtype=torch.bool) if mask is None else mask
    allowed = allowed.expand(BATCH, QUERIES, KEYS)
    for b in range(BATCH):
        for q in range(QUERIES):
            expected = by_hand(attention, query[b, q], memory[b], allowed[b, q])
            assert_equal_in_float64((context[b, q], weights[b, q]), expected)
    assert torch.equal(attention(query, memory, mask), context)


def test_float32_is_as_exact_as_float32_can_be():
    attention, query, memory = draw()
    truth = attention(query, memory)
    single = attention.float()(query.float(), memory.float())
    assert single.dtype == torch.float32
    # A sum over d_attention terms and one over keys, each off by half a unit at most.
    allowed = torch.finfo(torch.float32).eps * (D_ATTENTION + D_MEMORY + KEYS)
    assert (single.double() - truth).abs().max() <= allowed


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_query_that_may_attend_to_nothing_gets_zeros_and_finite_gradients():
    attention, query, memory = draw()
    mask = torch.ones(BATCH, QUERIES, KEYS, dtype=torch.bool)
    mask[0, 1] = False
    mask[1] = False
    with torch.autograd.detect_anomaly(check_nan=True):
        context, weights = attention(query, memory, mask, return_weights=True)
        inputs = [query, memory, *attention.parameters()]
        gradients = torch.autograd.grad(context.square().sum(), inputs)
    for got in (context, weights):
        assert (got[0, 1] == 0).all()
        assert (got[1] == 0).all()
        assert (got[0, 0] != 0).all()
    assert all(gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("filling", [9.0, math.nan, math.inf])
def test_masked_memory_changes_nothing(filling):
    attention, query, memory = draw()
    mask = MASKS["padding"]

    def run(memory):
        return output_and_gradients(
            attention(query, memory, mask), [query, *attention.parameters()]
        )

    spoiled = memory.detach().masked_fill(~mask.transpose(1, 2), filling)
    assert_equal_in_float64(run(spoiled), run(memory))


def test_keys_given_take_the_place_of_the_memorys_projection():
    attention, query, memory = draw()
    keys = attention.key_projection(memory)
    assert torch.equal(attention(query, memory, keys=keys), attention(query, memory))
    assert not torch.allclose(attention(query, memory, keys=keys + 1), attention(query, memory))


def test_keeps_inputs_and_has_no_biases():
    attention, *inputs = (*draw(), MASKS["padding"])
    before = [x.detach().clone() for x in inputs]
    attention(*inputs, return_weights=True)
    assert all(map(torch.equal, inputs, before))
    assert set(attention.state_dict()) == {
        f"{name}.weight" for name in ("query_projection", "key_projection", "score")
    }


def test_arguments_that_do_not_fit_are_rejected():
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
