"""Does the cache hold what the real ones hold, and note each computation?"""

import torch

from course_lib.analysis.recorders import RecordingCache
from course_lib.layers.attention import CachedAttention
from course_lib.layers.kv_cache import FixedCache, GrowingCache
from course_lib.layers.masks import causal_mask


def project(length):
    """Stand in for a layer's projections: always the same random keys and values."""
    made = torch.randn(2, 3, length, 4), torch.randn(2, 3, length, 4)
    return lambda: made


def test_it_holds_what_the_growing_cache_holds():
    torch.manual_seed(0)
    ours, theirs = RecordingCache(), GrowingCache(capacity=2)
    for length in (1, 3, 2):
        new = project(length)
        for mine, other in zip(ours.update(new), theirs.update(new), strict=True):
            assert torch.equal(mine, other)
        assert ours.length == theirs.length
    assert ours.shapes == [((2, 3, n, 4),) * 2 for n in (1, 3, 2)]


def test_a_fixed_one_computes_once_as_the_fixed_cache_does():
    ours, theirs = RecordingCache(fixed=True), FixedCache()
    for new in (project(5), project(2)):
        for mine, other in zip(ours.update(new), theirs.update(new), strict=True):
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
