"""Has a Llama the properties of a decoder, and is each difference from GPT-2 a setting?"""

import pytest
import torch

from course_lib.layers.kv_cache import KVCache
from course_lib.models.gpt import DecoderLM, DecoderLMConfig
from course_lib.models.llama import GPT2, QWEN3_0_6B, SMOLLM2_135M, TINYLLAMA_1B, Llama, LlamaConfig
from tests.course_lib.parity import assert_every_parameter_gets_a_gradient, randomise

SIZES = {"vocab_size": 11, "d_model": 24, "num_heads": 6, "num_kv_heads": 2, "d_ff": 20}
TOKEN_IDS = torch.tensor([[3, 1, 4, 1, 5, 9, 2], [6, 5, 3, 5, 8, 9, 7]])
SETTINGS = {
    "default": {},
    "LayerNorm": {"norm": "layer"},
    "post-norm": {"norm_position": "post"},
    "GeGLU": {"feed_forward": "geglu"},
    "ReLU": {"feed_forward": "relu"},
    "learned": {"positions": "learned", "max_length": 12},
    "one key-value head": {"num_kv_heads": 1},
    "query-key norm": {"query_key_norm": True, "head_dim": 6},
    "layers without positions": {"no_rope_layer_interval": 2},
    "biases": {"biases": "all"},
    "untied": {"tied": False},
}
with_each_setting = pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)


def build(**setting) -> Llama:
    config = LlamaConfig(**(SIZES | {"num_layers": 3} | setting))
    return randomise(Llama(config), std=0.3).double().eval()


@torch.no_grad()
@with_each_setting
def test_cached_decoder_equals_reading_at_once(setting):
    model, cache = build(**setting), KVCache(num_layers=3)
    parts = [model(part, cache=cache) for part in TOKEN_IDS.split([3, 1, 2, 1], dim=1)]
    torch.testing.assert_close(torch.cat(parts, dim=1), model(TOKEN_IDS))
    keys, _ = cache.layers[0].self_attention.update(
        *(torch.zeros(2, model.config.num_kv_heads, 1, model.config.width_of_head).double(),) * 2
    )
    assert keys.shape == (2, model.config.num_kv_heads, 8, model.config.width_of_head)


@torch.no_grad()
@with_each_setting
def test_left_padding_changes_nothing(setting):
    model = build(**setting)
    padded = torch.cat([torch.zeros(2, 2, dtype=torch.int64), TOKEN_IDS], dim=1)
    logits = model(padded, padding=torch.tensor([2, 2]))
    torch.testing.assert_close(logits[:, 2:], model(TOKEN_IDS))


@with_each_setting
def test_every_parameter_gets_a_gradient(setting):
    model = build(**setting)
    assert_every_parameter_gets_a_gradient(model, model(TOKEN_IDS)[:, :-1], TOKEN_IDS[:, 1:])


@torch.no_grad()
def test_order_matters_unless_layers_have_no_positions():
    sizes = {"num_layers": 1}
    swapped = TOKEN_IDS[:, [1, 0, *range(2, 7)]]
    for setting, same in (({}, False), ({"no_rope_layer_interval": 1}, True)):
        model = build(**sizes, **setting)
        last, other = model(TOKEN_IDS)[:, -1], model(swapped)[:, -1]
        assert torch.allclose(last, other) == same


@torch.no_grad()
def test_gpt2_is_a_configuration():
    sizes = {"vocab_size": 11, "max_length": 9, "d_model": 24, "num_heads": 6, "d_ff": 20}
    gpt2 = randomise(DecoderLM(DecoderLMConfig(**sizes, num_layers=2)).eval())
    settings = vars(GPT2) | sizes | {"num_layers": 2, "num_kv_heads": 6}
    model = Llama(LlamaConfig(**settings)).eval()
    model.load_state_dict(gpt2.state_dict())
    torch.testing.assert_close(model(TOKEN_IDS), gpt2(TOKEN_IDS))


@pytest.mark.parametrize(
    ("config", "millions"),
    [(SMOLLM2_135M, 134.515), (TINYLLAMA_1B, 1100.048), (QWEN3_0_6B, 596.050), (GPT2, 124.440)],
)
def test_known_models_have_their_number_of_parameters(config, millions):
    with torch.device("meta"):
        count = sum(p.numel() for p in Llama(config).parameters())
    assert round(count / 1e6, 3) == millions


def test_starts_small():
    torch.manual_seed(0)
    model = Llama(LlamaConfig(**SIZES, num_layers=8, biases="all"))
    layer = model.layers[0]
    assert abs(model.embedding.weight.std() - 0.02) < 0.004
    assert abs(layer.feed_forward.up_projection.weight.std() - 0.02) < 0.004
    for last in (layer.feed_forward.down_projection, layer.self_attention.output_projection):
        assert abs(last.weight.std() - 0.005) < 0.001
        assert not last.bias.any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_kv_heads": 4}, "num_heads=6 must be divisible by num_kv_heads=4"),
        ({"d_model": 25}, "d_model=25 must be divisible by num_heads=6"),
        ({"head_dim": 5}, "head_dim must be positive and even, got 5"),
    ],
)
def test_bad_configuration_is_rejected(change, message):
    with pytest.raises(ValueError, match=message):
        LlamaConfig(**(SIZES | change))
