"""Are all weights seen, and is the model left as it was?"""

import pytest
import torch

from course_lib.analysis.recorders import recorded_attention
from course_lib.layers.attention import MultiHeadAttention
from course_lib.models.gpt import DecoderLM, DecoderLMConfig
from course_lib.models.transformer import Transformer, TransformerConfig

SRC, TGT = torch.tensor([[3, 1, 4, 0]]), torch.tensor([[1, 2, 5]])


def build() -> Transformer:
    torch.manual_seed(0)
    sizes = {"d_model": 8, "num_heads": 2, "d_ff": 8}
    layers = {"num_encoder_layers": 2, "num_decoder_layers": 1}
    return Transformer(
        TransformerConfig(src_vocab_size=6, tgt_vocab_size=6, **sizes, **layers)
    ).eval()


def test_records_every_attention_by_name():
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


def test_the_weights_are_those_of_the_layer():
    layer = torch.nn.ModuleDict({"reader": MultiHeadAttention(8, 2)})
    x = torch.randn(2, 3, 8)
    _, expected = layer["reader"](x, x, x, return_weights=True)
    with recorded_attention(layer) as weights:
        layer["reader"](x, x, x)
    assert torch.equal(weights["reader"], expected)


def test_a_caller_who_asks_for_weights_still_gets_them():
    layer = MultiHeadAttention(8, 2)
    x = torch.randn(2, 3, 8)
    expected = layer(x, x, x, return_weights=True)
    with recorded_attention(layer) as weights:
        output, own = layer(x, x, x, return_weights=True)
        alone = layer(x, x, x)
    assert torch.equal(output, expected[0])
    assert torch.equal(alone, expected[0])
    assert torch.equal(own, expected[1])
    assert torch.equal(weights[""], expected[1])


def test_records_a_language_model():
    sizes = {"d_model": 8, "num_heads": 2, "d_ff": 8, "num_layers": 1}
    model = DecoderLM(DecoderLMConfig(vocab_size=6, max_length=4, **sizes))
    with recorded_attention(model) as weights:
        model(TGT)
    assert list(weights) == ["layers.0.self_attention"]


def test_leaves_no_trace_even_after_an_error():
    model = build()
    with recorded_attention(model) as weights:
        model(SRC, TGT)
    weights.clear()
    with pytest.raises(IndexError), recorded_attention(model):
        model(SRC + 6, TGT)
    model(SRC, TGT)
    assert not weights
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
