"""Does the cache hold what the real ones hold, and note each computation?"""

import torch

from course_lib.analysis.recorders import RecordingCache
from course_lib.layers.attention import CachedAttention
from course_lib.layers.kv_cache import FixedCache, GrowingCache
from course_lib.layers.masks import causal_mask


def draw(length):
    """Stand in for a layer's projections."""
    return torch.randn(2, 3, length, 4), torch.randn(2, 3, length, 4)


def test_it_holds_what_the_growing_cache_holds():
    torch.manual_seed(0)
    ours, theirs = RecordingCache(), GrowingCache(capacity=2)
    for length in (1, 3, 2):
        new = draw(length)
        for mine, other in zip(ours.update(*new), theirs.update(*new), strict=True):
            assert torch.equal(mine, other)
        assert ours.length == theirs.length
        assert ours.final is theirs.final is None
    assert ours.shapes == [((2, 3, n, 4),) * 2 for n in (1, 3, 2)]


def test_what_a_fixed_one_gets_is_final_as_in_the_fixed_cache():
    ours, theirs, new = RecordingCache(fixed=True), FixedCache(), draw(5)
    assert ours.final is theirs.final is None
    for cache in (ours, theirs):
        for given in (cache.update(*new), cache.final):
            for mine, other in zip(given, new, strict=True):
                assert torch.equal(mine, other)
    assert ours.length == theirs.length == 5
    assert len(ours.shapes) == 1


def test_an_attention_layer_computes_the_new_tokens_alone():
    torch.manual_seed(0)
    layer, cache, tokens = CachedAttention(8, 2), RecordingCache(), torch.randn(1, 6, 8)
    chunks = [
        layer(x, x, x, causal_mask(x.size(1), end), cache=cache)
        for x, end in ((tokens[:, :4], 4), (tokens[:, 4:], 6))
    ]
    whole = layer(tokens, tokens, tokens, causal_mask(6))
    torch.testing.assert_close(torch.cat(chunks, dim=1), whole)
    assert [keys for keys, _ in cache.shapes] == [(1, 2, 4, 4), (1, 2, 2, 4)]
