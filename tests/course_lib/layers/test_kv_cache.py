"""Does a model with a cache compute what it computes without one, and what does the cache cost?"""

import random

import pytest
import torch
from torch import Tensor

from course_lib.generation.step_models import CachedDecoder, CachedTransformer
from course_lib.layers.attention import CachedAttention
from course_lib.layers.kv_cache import FixedCache, GrowingCache, KVCache
from course_lib.layers.masks import causal_mask
from course_lib.layers.positional import RotaryPositions
from course_lib.models.gpt import DecoderLM, DecoderLMConfig
from course_lib.models.transformer import Transformer, TransformerConfig
from tests.course_lib.parity import assert_equal_in_float64, randomise

BATCH, LENGTH, VOCAB, D_MODEL, HEADS, LAYERS, PAD = 3, 12, 11, 12, 3, 2, 0
HEAD_DIM = D_MODEL // HEADS
SIZES = {"max_length": LENGTH, "d_model": D_MODEL, "num_heads": HEADS, "d_ff": 20}
IDS = torch.randint(1, VOCAB, (BATCH, LENGTH), generator=torch.Generator().manual_seed(0))
SRC = torch.tensor([[3, 1, 4, 1, 5], [2, 7, 1, PAD, PAD], [8, 2, 8, 1, PAD]])


def build_decoder(**choices) -> DecoderLM:
    config = DecoderLMConfig(vocab_size=VOCAB, num_layers=LAYERS, **SIZES, **choices)
    return randomise(DecoderLM(config), std=0.3).double().eval()


def build_transformer(**choices) -> Transformer:
    vocabularies = {"src_vocab_size": VOCAB, "tgt_vocab_size": VOCAB}
    layers = {"num_encoder_layers": 1, "num_decoder_layers": LAYERS}
    config = TransformerConfig(**vocabularies, **layers, **SIZES, **choices)
    return randomise(Transformer(config), std=0.3).double().eval()


def draw_chunk_lengths(seed: int) -> list[int]:
    """Return random chunk lengths that sum to LENGTH, many of them 1 or 2."""
    rng, lengths = random.Random(seed), []
    while (left := LENGTH - sum(lengths)) > 0:
        lengths.append(min(rng.choice([1, 1, 2, rng.randint(1, left)]), left))
    return lengths


CHUNKINGS = [[LENGTH], [1] * LENGTH, [5, 7], [11, 1], *map(draw_chunk_lengths, range(3))]
with_each_chunking = pytest.mark.parametrize("chunks", CHUNKINGS, ids=str)


# --- cached equals uncached ----------------------------------------------------------------------


@torch.no_grad()
@pytest.mark.parametrize("positions", ["learned", "rotary"])
@with_each_chunking
def test_decoder_in_chunks_equals_decoder_at_once(chunks, positions):
    model, cache = build_decoder(positions=positions), KVCache(LAYERS, capacity=2)
    parts = [model(piece, cache=cache) for piece in IDS.split(chunks, dim=1)]
    assert_equal_in_float64(torch.cat(parts, dim=1), model(IDS))
    assert cache.length == LENGTH


@torch.no_grad()
@pytest.mark.parametrize("norm_position", ["pre", "post"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@with_each_chunking
def test_transformer_in_chunks_equals_transformer_at_once(chunks, positions, norm_position):
    model = build_transformer(positions=positions, norm_position=norm_position)
    cache, (memory, mask) = KVCache(LAYERS, capacity=2), model.encode(SRC)
    expected = model.hidden(IDS, memory, mask)
    for _ in range(2):
        parts = [model.hidden(part, memory, mask, cache=cache) for part in IDS.split(chunks, dim=1)]
        assert_equal_in_float64(torch.cat(parts, dim=1), expected)
        cache.reset()
        assert (cache.length, cache.num_bytes) == (0, 0)


@torch.no_grad()
def test_cached_transformer_without_padding_needs_no_mask():
    model = build_transformer()
    memory, _ = model.encode(SRC[:1])
    expected = model(SRC[:1], IDS[:1])[:, -1]
    assert_equal_in_float64(CachedTransformer(model, memory).advance(IDS[:1]), expected)


@torch.no_grad()
@pytest.mark.parametrize("when", [0, 4])
@pytest.mark.parametrize("indices", [[2, 0, 0], [1], [0, 0, 1, 1, 2, 2], [2, 1, 0]], ids=str)
@pytest.mark.parametrize("kind", ["decoder", "transformer"])
def test_reordered_model_goes_on_with_the_chosen_rows(kind, indices, when):
    indices = torch.tensor(indices)
    if kind == "decoder":
        model = build_decoder()
        steps, expected = CachedDecoder(model, capacity=1), model
    else:
        model = build_transformer()
        steps = CachedTransformer(model, *model.encode(SRC), capacity=1)
        expected = lambda tokens: model(SRC[indices], tokens)
    if when:
        steps.advance(IDS[:, :when])
    steps.reorder(indices)
    rows = torch.cat([IDS[indices, :when], torch.randint(1, VOCAB, (len(indices), 3))], dim=1)
    for end in range(when + 1, when + 4):
        logits = steps.advance(rows[:, end - 1 : end])
        assert_equal_in_float64(logits, expected(rows[:, :end])[:, -1])


def test_steps_build_no_graph():
    assert not CachedDecoder(build_decoder()).advance(IDS).requires_grad
    model = build_transformer()
    assert not CachedTransformer(model, *model.encode(SRC)).advance(IDS).requires_grad


# --- the caching layer ---------------------------------------------------------------------------


@torch.no_grad()
def test_layer_returns_weights_over_all_that_is_cached():
    layer = randomise(CachedAttention(D_MODEL, HEADS)).double()
    x, cache = torch.randn(2, 5, D_MODEL).double(), GrowingCache()
    layer(x[:, :3], x[:, :3], x[:, :3], cache=cache)
    new = x[:, 3:]
    output, weights = layer(new, new, new, causal_mask(2, 5), cache=cache, return_weights=True)
    whole, whole_weights = layer(x, x, x, causal_mask(5), return_weights=True)
    assert_equal_in_float64([output, weights], [whole[:, 3:], whole_weights[:, :, 3:]])


@torch.no_grad()
def test_rotary_layer_rejects_the_cache_of_cross_attention():
    layer = CachedAttention(D_MODEL, HEADS, rotary=RotaryPositions(HEAD_DIM))
    query, memory, cache = torch.randn(2, 1, D_MODEL), torch.randn(2, 5, D_MODEL), FixedCache()
    for _ in range(2):  # filling it, and filled
        with pytest.raises(ValueError, match="rotary positions are for self-attention"):
            layer(query, memory, memory, cache=cache)


@torch.no_grad()
def test_cache_of_another_number_of_layers_is_rejected():
    cache = KVCache(LAYERS + 1)
    with pytest.raises(ValueError, match=f"the cache has {LAYERS + 1} layers, got {LAYERS}"):
        build_decoder()(IDS, cache=cache)
    assert cache.length == 0


# --- the caches themselves -----------------------------------------------------------------------


def draw(length, *, batch=2, dtype=torch.float32) -> tuple[Tensor, Tensor]:
    """Return random keys and values, ``(batch, HEADS, length, HEAD_DIM)`` each."""
    keys, values = torch.randn(2, batch, HEADS, length, HEAD_DIM, dtype=dtype)
    return keys, values


def test_growing_cache_appends():
    cache, pieces = GrowingCache(capacity=1), [draw(n) for n in (2, 1, 1, 4, 1)]
    for count, piece in enumerate(pieces, start=1):
        keys, values = cache.update(*piece)
        assert torch.equal(keys, torch.cat([k for k, _ in pieces[:count]], dim=2))
        assert torch.equal(values, torch.cat([v for _, v in pieces[:count]], dim=2))
        assert cache.length == keys.size(2)


def count_reallocations(steps: int, capacity: int) -> tuple[int, int]:
    """Append ``steps`` tokens, one by one, to a new ``GrowingCache`` of this capacity.

    Return how often it moved to new memory, and how many tokens it copied in all these moves.
    """
    cache, address, reallocations, copied = GrowingCache(capacity=capacity), None, 0, 0
    for _ in range(steps):
        before = cache.length
        keys, _ = cache.update(*draw(1))
        if address is not None and keys.data_ptr() != address:
            reallocations, copied = reallocations + 1, copied + before
        address = keys.data_ptr()
    return reallocations, copied


def test_growing_cache_copies_only_when_full():
    assert count_reallocations(100, capacity=100) == (0, 0)
    assert count_reallocations(101, capacity=100) == (1, 100)
    reallocations, copied = count_reallocations(512, capacity=1)
    assert reallocations == 9
    assert copied < 2 * 512


@torch.no_grad()
def test_bytes_are_those_of_the_buffers():
    one_token = 2 * 2 * HEADS * HEAD_DIM * 4  # keys and values, 2 rows, float32
    cache, fixed = GrowingCache(capacity=8), FixedCache()
    assert cache.num_bytes == fixed.num_bytes == 0
    for new, held in ((1, 8), (7, 8), (1, 16), (30, 39)):
        cache.update(*draw(new))
        assert cache.num_bytes == held * one_token
    fixed.update(*draw(5))
    assert fixed.num_bytes == 5 * one_token
    model = build_transformer()
    steps = CachedTransformer(model, *model.encode(SRC), capacity=16)
    steps.advance(IDS[:, :1])
    one_token = 2 * BATCH * D_MODEL * 8  # float64
    assert steps.cache.num_bytes == LAYERS * one_token * (16 + SRC.size(1))


@torch.no_grad()
def test_fixed_cache_is_filled_once():
    cache, first = FixedCache(), draw(4)
    assert (cache.length, cache.final) == (0, None)
    for given, held in zip(cache.update(*first), first, strict=True):
        assert given is held
    with pytest.raises(ValueError, match="the cache is filled: read final, or call reset"):
        cache.update(*draw(2))
    assert all(held is given for held, given in zip(cache.final, first, strict=True))
    assert cache.length == 4
    model, calls = build_transformer(), []
    steps = CachedTransformer(model, *model.encode(SRC))
    for layer in model.decoder.layers:
        layer.cross_attention.key_projection.register_forward_hook(lambda *_: calls.append(1))
    for token in IDS.split(1, dim=1):
        steps.advance(token)
    assert len(calls) == LAYERS  # the source's keys were computed once


@pytest.mark.parametrize("build", [lambda: GrowingCache(capacity=2), FixedCache])
def test_reorder_and_reset(build):
    cache, first = build(), draw(3)
    cache.reorder(torch.tensor([1, 0]))  # nothing to reorder yet
    cache.update(*first)
    cache.reorder(torch.tensor([1, 1, 0]))
    assert cache.length == 3
    keys, values = cache.final or cache.update(*draw(0, batch=3))
    assert torch.equal(keys, first[0][[1, 1, 0]])
    assert torch.equal(values, first[1][[1, 1, 0]])
    cache.reset()
    assert (cache.length, cache.num_bytes) == (0, 0)
    again = draw(2, batch=1)
    assert torch.equal(cache.update(*again)[0], again[0])


(KEYS, VALUES), (LONGER, _) = draw(1), draw(3)


@pytest.mark.parametrize(
    ("keys", "values", "message"),
    [
        (*draw(1, batch=3), r"holds rows, heads and width \(2, 3, 4\) of torch.float32"),
        (*draw(1, batch=1), r"got \(1, 3, 4\) of torch.float32"),
        (*draw(1, dtype=torch.float64), r"got \(2, 3, 4\) of torch.float64"),
        (KEYS, VALUES.double(), r"got \(2, 3, 4\) of torch.float64"),
        (KEYS, VALUES[:1], r"of one shape, got \(2, 3, 1, 4\) and \(1, 3, 1, 4\)"),
        (LONGER, VALUES, r"of one shape, got \(2, 3, 3, 4\) and \(2, 3, 1, 4\)"),
        (KEYS.clone().requires_grad_(), VALUES, r"use it under torch\.no_grad\(\)"),
        (KEYS, VALUES.clone().requires_grad_(), r"use it under torch\.no_grad\(\)"),
    ],
)
def test_keys_and_values_that_do_not_fit_are_rejected(keys, values, message):
    cache = GrowingCache()
    cache.update(*draw(2))
    with pytest.raises(ValueError, match=message):
        cache.update(keys, values)
    assert cache.length == 2
