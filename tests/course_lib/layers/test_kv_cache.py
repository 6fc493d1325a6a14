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
from tests.course_lib.parity import randomise

BATCH, LENGTH, VOCAB, D_MODEL, HEADS, LAYERS, PAD = 3, 12, 11, 12, 3, 2, 0
HEAD_DIM = D_MODEL // HEADS
IDS = torch.randint(1, VOCAB, (BATCH, LENGTH), generator=torch.Generator().manual_seed(0))
SRC = torch.tensor([[3, 1, 4, 1, 5], [2, 7, 1, PAD, PAD], [8, 2, 8, 1, PAD]])
with_each_kind_of_position = pytest.mark.parametrize("positions", ["learned", "rotary"])


def build_decoder(positions="learned") -> DecoderLM:
    config = DecoderLMConfig(
        vocab_size=VOCAB,
        max_length=LENGTH,
        d_model=D_MODEL,
        num_heads=HEADS,
        d_ff=20,
        num_layers=LAYERS,
        positions=positions,
    )
    return randomise(DecoderLM(config), std=0.3).double().eval()


def build_transformer(positions="sinusoidal", norm_position="post") -> Transformer:
    config = TransformerConfig(
        src_vocab_size=VOCAB,
        tgt_vocab_size=VOCAB,
        d_model=D_MODEL,
        num_heads=HEADS,
        d_ff=20,
        num_encoder_layers=1,
        num_decoder_layers=LAYERS,
        positions=positions,
        norm_position=norm_position,
        max_length=LENGTH,
    )
    return randomise(Transformer(config), std=0.3).double().eval()


def random_chunks(seed: int) -> list[int]:
    """Return the lengths of random pieces of LENGTH tokens, single ones and long ones."""
    draw, chunks = random.Random(seed), []
    while (left := LENGTH - sum(chunks)) > 0:
        chunks.append(draw.choice([1, 1, 2, draw.randint(1, left)]))
        chunks[-1] = min(chunks[-1], left)
    return chunks


CHUNKINGS = [[LENGTH], [1] * LENGTH, [5, 7], [11, 1], *(random_chunks(seed) for seed in range(3))]
with_each_chunking = pytest.mark.parametrize("chunks", CHUNKINGS, ids=str)


def assert_equal(actual: Tensor, expected: Tensor):
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-11)


# --- cached equals uncached ----------------------------------------------------------------------


@torch.no_grad()
@with_each_kind_of_position
@with_each_chunking
def test_decoder_in_chunks_equals_decoder_at_once(chunks, positions):
    model, cache = build_decoder(positions), KVCache(LAYERS, capacity=2)
    parts = [model(piece, cache=cache) for piece in IDS.split(chunks, dim=1)]
    assert_equal(torch.cat(parts, dim=1), model(IDS))
    assert cache.length == LENGTH


@torch.no_grad()
@pytest.mark.parametrize("norm_position", ["pre", "post"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@with_each_chunking
def test_transformer_in_chunks_equals_transformer_at_once(chunks, positions, norm_position):
    model, cache = build_transformer(positions, norm_position), KVCache(LAYERS, capacity=2)
    memory, mask = model.encode(SRC)
    parts = [model.hidden(piece, memory, mask, cache=cache) for piece in IDS.split(chunks, dim=1)]
    assert_equal(torch.cat(parts, dim=1), model.hidden(IDS, memory, mask))


@torch.no_grad()
def test_cached_transformer_without_padding_needs_no_mask():
    model = build_transformer()
    memory, _ = model.encode(SRC[:1])
    assert_equal(CachedTransformer(model, memory).advance(IDS[:1]), model(SRC[:1], IDS[:1])[:, -1])


@torch.no_grad()
@pytest.mark.parametrize("indices", [[2, 0, 0], [1], [0, 0, 1, 1, 2, 2], [2, 1, 0]], ids=str)
def test_reordered_decoder_goes_on_with_the_chosen_rows(indices):
    model, indices = build_decoder(), torch.tensor(indices)
    steps = CachedDecoder(model, capacity=1)
    steps.advance(IDS[:, :4])
    steps.reorder(indices)
    new = IDS[: len(indices), 4:7] if len(indices) <= BATCH else IDS[indices.flip(0), 4:7]
    for column in range(3):
        logits = steps.advance(new[:, column : column + 1])
        told = torch.cat((IDS[indices, :4], new[:, : column + 1]), dim=1)
        assert_equal(logits, model(told)[:, -1])


@torch.no_grad()
@pytest.mark.parametrize("when", [0, 3])
@pytest.mark.parametrize("indices", [[2, 0, 0], [1], [0, 0, 1, 1, 2, 2]], ids=str)
def test_reordered_transformer_takes_the_source_along(indices, when):
    model, indices = build_transformer(), torch.tensor(indices)
    steps = CachedTransformer(model, *model.encode(SRC), capacity=1)
    if when:
        steps.advance(IDS[:, :when])
    steps.reorder(indices)
    rows = IDS[indices]
    for end in range(when + 1, 6):
        logits = steps.advance(rows[:, end - 1 : end])
        assert_equal(logits, model(SRC[indices], rows[:, :end])[:, -1])


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
    assert_equal(output, whole[:, 3:])
    assert_equal(weights, whole_weights[:, :, 3:])


@torch.no_grad()
def test_a_rotary_layer_refuses_the_cache_of_cross_attention():
    layer = CachedAttention(D_MODEL, HEADS, rotary=RotaryPositions(HEAD_DIM))
    query, memory, cache = torch.randn(2, 1, D_MODEL), torch.randn(2, 5, D_MODEL), FixedCache()
    for _ in range(2):  # filling it, and filled
        with pytest.raises(ValueError, match="rotary positions are for self-attention"):
            layer(query, memory, memory, cache=cache)


@torch.no_grad()
def test_a_cache_of_another_number_of_layers_is_refused():
    cache = KVCache(LAYERS + 1)
    with pytest.raises(ValueError, match=f"the cache has {LAYERS + 1} layers, got {LAYERS}"):
        build_decoder()(IDS, cache=cache)
    assert cache.length == 0


def test_layer_passes_its_settings_on():
    assert CachedAttention(D_MODEL, HEADS, bias=False).query_projection.bias is None
    with pytest.raises(ValueError, match="d_model=12 must be divisible by num_heads=5"):
        CachedAttention(D_MODEL, 5)
    x = torch.zeros(1, 2, D_MODEL)
    with pytest.raises(TypeError, match="mask must be boolean"):
        CachedAttention(D_MODEL, HEADS)(x, x, x, torch.ones(2, 2))


# --- the caches themselves -----------------------------------------------------------------------


def draw(length, *, batch=2, dtype=torch.float32):
    keys = torch.randn(batch, HEADS, length, HEAD_DIM, dtype=dtype)
    return keys, torch.randn(batch, HEADS, length, HEAD_DIM, dtype=dtype)


def test_growing_cache_appends():
    cache, pieces = GrowingCache(capacity=1), [draw(n) for n in (2, 1, 1, 4, 1)]
    for count, piece in enumerate(pieces, start=1):
        keys, values = cache.update(*piece)
        assert torch.equal(keys, torch.cat([k for k, _ in pieces[:count]], dim=2))
        assert torch.equal(values, torch.cat([v for _, v in pieces[:count]], dim=2))
        assert cache.length == keys.size(2)


def count_replacements(steps: int, capacity: int) -> tuple[int, int]:
    """Append tokens one by one; return the number of reallocations and of copied keys."""
    cache, place, moves, moved = GrowingCache(capacity=capacity), None, 0, 0
    for _ in range(steps):
        before = cache.length
        keys, _ = cache.update(*draw(1))
        if place is not None and keys.data_ptr() != place:
            moves, moved = moves + 1, moved + before
        place = keys.data_ptr()
    return moves, moved


def test_growing_cache_copies_only_when_full():
    assert count_replacements(100, capacity=100) == (0, 0)
    assert count_replacements(101, capacity=100) == (1, 100)
    moves, moved = count_replacements(512, capacity=1)
    assert moves == 9
    assert moved < 2 * 512


def test_bytes_are_those_of_the_buffers():
    one_token = 2 * 2 * HEADS * HEAD_DIM * 4  # keys and values, 2 rows, float32
    cache = GrowingCache(capacity=8)
    assert cache.num_bytes == 0
    for _ in range(8):
        cache.update(*draw(1))
        assert cache.num_bytes == 8 * one_token
    cache.update(*draw(1))
    assert cache.num_bytes == 16 * one_token
    cache.update(*draw(30))
    assert cache.num_bytes == 39 * one_token
    fixed = FixedCache()
    assert fixed.num_bytes == 0
    fixed.update(*draw(5))
    assert fixed.num_bytes == 5 * one_token


@torch.no_grad()
def test_bytes_of_a_model_are_those_of_its_layers():
    model = build_transformer()
    steps = CachedTransformer(model, *model.encode(SRC), capacity=16)
    steps.advance(IDS[:, :1])
    per_token = 2 * BATCH * D_MODEL * 8  # float64
    assert steps.cache.num_bytes == LAYERS * per_token * (16 + SRC.size(1))


def test_fixed_cache_is_filled_once():
    cache, first = FixedCache(), draw(4)
    assert (cache.length, cache.final) == (0, None)
    for given, held in zip(cache.update(*first), first, strict=True):
        assert given is held
    with pytest.raises(ValueError, match="the cache is filled: read final, or call reset"):
        cache.update(*draw(2))
    assert cache.final[0] is first[0]
    assert cache.final[1] is first[1]
    assert cache.length == 4


@torch.no_grad()
def test_keys_and_values_of_the_source_are_computed_once():
    model = build_transformer()
    steps = CachedTransformer(model, *model.encode(SRC))
    calls = []
    for layer in model.decoder.layers:
        layer.cross_attention.key_projection.register_forward_hook(lambda *_: calls.append(1))
    for token in IDS.split(1, dim=1):
        steps.advance(token)
    assert len(calls) == LAYERS


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


@torch.no_grad()
def test_a_reset_cache_starts_anew():
    model, cache = build_transformer(), KVCache(LAYERS)
    memory, mask = model.encode(SRC)
    first = model.hidden(IDS, memory, mask, cache=cache)
    cache.reset()
    assert (cache.length, cache.num_bytes) == (0, 0)
    assert torch.equal(model.hidden(IDS, memory, mask, cache=cache), first)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda: draw(1, batch=3), r"holds rows, heads and width \(2, 3, 4\) of torch.float32"),
        (lambda: draw(1, batch=1), r"got \(1, 3, 4\) of torch.float32"),
        (lambda: draw(1, dtype=torch.float64), r"got \(2, 3, 4\) of torch.float64"),
    ],
)
def test_other_rows_or_dtypes_are_refused(other, message):
    cache = GrowingCache()
    cache.update(*draw(2))
    with pytest.raises(ValueError, match=message):
        cache.update(*other())
    assert cache.length == 2


def test_values_of_another_form_are_refused():
    cache = GrowingCache()
    cache.update(*draw(2))
    (keys, values), (longer, _) = draw(1), draw(3)
    for misfit in ((keys, values[:1]), (longer, values)):
        with pytest.raises(
            ValueError, match=r"of one shape, got \(2, 3, ., 4\) and \(., 3, 1, 4\)"
        ):
            cache.update(*misfit)
    with pytest.raises(ValueError, match=r"got \(2, 3, 4\) of torch.float64"):
        cache.update(keys, values.double())
    assert cache.length == 2


@pytest.mark.parametrize("which", [0, 1])
def test_gradients_are_refused(which):
    pair = draw(1)
    pair[which].requires_grad_()
    with pytest.raises(ValueError, match=r"use it under torch\.no_grad\(\)"):
        GrowingCache().update(*pair)
