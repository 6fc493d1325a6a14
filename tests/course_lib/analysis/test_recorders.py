"""Do recorders see all, and leave what they watch as it was?"""

import pytest
import torch
from torch import nn

from course_lib.analysis.recorders import (
    RecordingCache,
    count_places,
    projected_tokens,
    recorded_attention,
    recorded_outputs,
)
from course_lib.layers.attention import CachedAttention, MultiHeadAttention
from course_lib.layers.kv_cache import FixedCache, GrowingCache
from course_lib.models.transformer import Transformer, TransformerConfig

SRC, TGT = torch.tensor([[3, 1, 4, 0]]), torch.tensor([[1, 2, 5]])

# ---- keys and values ----


def draw(length):
    """Return random keys and values, ``(2, 3, length, 4)`` each: batch, heads, tokens, width."""
    return torch.randn(2, 3, length, 4), torch.randn(2, 3, length, 4)


def test_recording_cache_equals_growing_cache():
    ours, theirs = RecordingCache(), GrowingCache(capacity=2)
    for length in (1, 3, 2):
        new = draw(length)
        for mine, other in zip(ours.update(*new), theirs.update(*new), strict=True):
            assert torch.equal(mine, other)
        assert ours.length == theirs.length
        assert ours.final is None
    assert ours.shapes == [((2, 3, n, 4),) * 2 for n in (1, 3, 2)]


def test_fixed_recording_cache_equals_fixed_cache():
    ours, new = RecordingCache(fixed=True), draw(5)
    assert ours.final is None
    for given in (ours.update(*new), ours.final):
        for mine, other in zip(given, new, strict=True):
            assert torch.equal(mine, other)
    assert ours.length == 5


def test_tokens_of_each_projection_are_counted_over_all_its_calls():
    class Twice(MultiHeadAttention):
        def forward(self, query, key, value):
            super().forward(key, key, value)
            return super().forward(query, key, value)

    layer, new, old = Twice(8, 2), torch.randn(2, 1, 8), torch.randn(2, 5, 8)
    counts = projected_tokens(layer, new, old, old)
    assert counts == {
        "query_projection": 12,
        "key_projection": 20,
        "value_projection": 20,
        "output_projection": 12,
    }
    assert not layer.query_projection._forward_hooks


def test_unused_projection_counts_nothing():
    layer, cache, tokens = CachedAttention(8, 2), FixedCache(), torch.randn(1, 3, 8)
    layer(tokens, tokens, tokens, cache=cache)
    counts = projected_tokens(layer, tokens, tokens, tokens, cache=cache)
    assert (counts["query_projection"], counts["key_projection"]) == (3, 0)


def test_views_of_a_buffer_are_counted_once():
    one = draw(1)
    assert count_places(GrowingCache(capacity=2), *one, updates=8) == 2 * 3  # of 2, 4 and 8 tokens
    assert count_places(RecordingCache(), *one, updates=8) == 2 * 8


# ---- attention weights ----


def build() -> Transformer:
    torch.manual_seed(0)
    sizes = {"d_model": 8, "num_heads": 2, "d_ff": 8}
    layers = {"num_encoder_layers": 2, "num_decoder_layers": 1}
    return Transformer(
        TransformerConfig(src_vocab_size=6, tgt_vocab_size=6, **sizes, **layers)
    ).eval()


def test_weights_of_every_attention_are_recorded_by_name_inside_the_block_only():
    model = build()
    before = model(SRC, TGT)
    with recorded_attention(model) as weights:
        during = model(SRC, TGT)
    torch.testing.assert_close(during, before)
    assert {name: tuple(w.shape) for name, w in weights.items()} == {
        "encoder.layers.0.self_attention": (1, 2, 4, 4),
        "encoder.layers.1.self_attention": (1, 2, 4, 4),
        "decoder.layers.0.self_attention": (1, 2, 3, 3),
        "decoder.layers.0.cross_attention": (1, 2, 3, 4),
    }
    for recorded in weights.values():
        torch.testing.assert_close(recorded.sum(-1), torch.ones(recorded.shape[:-1]))
    assert (weights["decoder.layers.0.self_attention"].triu(1) == 0).all()
    assert (weights["decoder.layers.0.cross_attention"][..., 3] == 0).all()  # padding
    weights.clear()
    with pytest.raises(IndexError), recorded_attention(model):
        model(SRC + 6, TGT)
    model(SRC, TGT)
    assert not weights
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


@pytest.mark.parametrize("batch", [2, 3])
@pytest.mark.parametrize("return_weights", [False, True])
def test_nested_recorders_record_the_same_and_leave_results_alone(batch, return_weights):
    layer, x = nn.Sequential(MultiHeadAttention(8, 2)), torch.randn(batch, 4, 8)
    seen = []
    layer[0].register_forward_hook(lambda *call: seen.append(call[-1]))
    with (
        recorded_attention(layer) as outer,
        recorded_outputs(layer) as outputs,
        recorded_attention(layer) as inner,
    ):
        result = layer[0](x, x, x, return_weights=return_weights)
    output, weights = layer[0](x, x, x, return_weights=True)
    for recorded in (outer, inner):
        torch.testing.assert_close(recorded, {"0": weights})
    if return_weights:
        torch.testing.assert_close(result, (output, weights))
    else:
        torch.testing.assert_close(result, output)
        torch.testing.assert_close(outputs["0"], output)
    assert seen[0] is result


def test_tensor_outputs_of_each_submodule_are_recorded():
    model = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2)))
    x = torch.randn(5, 3)
    with recorded_outputs(model) as outputs:
        result = model(x)
    assert list(outputs) == ["0", "1.0", "1.1", "1"]
    assert torch.equal(outputs["1.0"], outputs["0"].relu())
    assert torch.equal(outputs["1"], result)
    model(2 * x)
    assert torch.equal(outputs["1"], result)  # nothing is recorded after the block
    model = nn.ModuleDict({"recurrent": nn.GRU(2, 2)})
    with recorded_outputs(model) as outputs:
        model["recurrent"](torch.zeros(1, 1, 2))
    assert outputs == {}
