"""Do the formulas give what is counted?"""

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from course_lib.analysis import complexity
from course_lib.generation.step_models import CachedDecoder, CachedTransformer
from course_lib.layers.attention import MultiHeadAttention
from course_lib.layers.feed_forward import FeedForward
from course_lib.layers.transformer_layers import DecoderLayer, EncoderLayer
from course_lib.models.gpt import DecoderBlock, DecoderLM, DecoderLMConfig
from course_lib.models.transformer import Transformer, TransformerConfig

BATCH, SRC_LEN, TGT_LEN, D_MODEL, HEADS, D_FF = 2, 5, 3, 12, 3, 20
TRANSFORMER = {
    "src_vocab_size": 17,
    "tgt_vocab_size": 19,
    "d_model": D_MODEL,
    "num_heads": HEADS,
    "d_ff": D_FF,
    "num_encoder_layers": 3,
    "num_decoder_layers": 2,
}
DECODER = {
    "vocab_size": 17,
    "max_length": 40,
    "d_model": D_MODEL,
    "num_heads": HEADS,
    "d_ff": D_FF,
    "num_layers": 3,
}


def parameters_of(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def counted_flops(run) -> int:
    # The counter does not know the CPU's fused attention, but the products that it is made of.
    with FlopCounterMode(display=False) as counter, torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        run()
    return counter.get_total_flops()


def ids(length):
    return torch.ones(BATCH, length, dtype=torch.int64)


# --- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "layer"),
    [
        (complexity.attention_parameters(D_MODEL), MultiHeadAttention(D_MODEL, HEADS)),
        (complexity.feed_forward_parameters(D_MODEL, D_FF), FeedForward(D_MODEL, D_FF)),
        (complexity.encoder_layer_parameters(D_MODEL, D_FF), EncoderLayer(D_MODEL, HEADS, D_FF)),
        (complexity.encoder_layer_parameters(D_MODEL, D_FF), DecoderBlock(D_MODEL, HEADS, D_FF)),
        (complexity.decoder_layer_parameters(D_MODEL, D_FF), DecoderLayer(D_MODEL, HEADS, D_FF)),
    ],
)
def test_parameters_of_layers(formula, layer):
    assert formula == parameters_of(layer)


@pytest.mark.parametrize("norm_position", ["pre", "post"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@pytest.mark.parametrize("tied", ["none", "output", "all"])
@pytest.mark.parametrize("output_bias", [False, True])
def test_parameters_of_the_transformer(tied, positions, norm_position, output_bias):
    sizes = TRANSFORMER | ({"src_vocab_size": 19} if tied == "all" else {}) | {"max_length": 9}
    options = {"positions": positions, "norm_position": norm_position, "output_bias": output_bias}
    config = TransformerConfig(**sizes, **options, tied=tied)
    assert complexity.transformer_parameters(config) == parameters_of(Transformer(config))


# --- operations ----------------------------------------------------------------------------------


def test_flops_of_layers_and_bytes_of_attention_weights():
    layer, feed_forward = MultiHeadAttention(D_MODEL, HEADS), FeedForward(D_MODEL, D_FF)
    query, key = torch.zeros(BATCH, TGT_LEN, D_MODEL), torch.zeros(BATCH, SRC_LEN, D_MODEL)
    counted = counted_flops(lambda: layer(query, key, key))
    assert complexity.attention_flops(BATCH, TGT_LEN, SRC_LEN, D_MODEL) == counted
    counted = counted_flops(lambda: feed_forward(key))
    assert complexity.feed_forward_flops(BATCH, SRC_LEN, D_MODEL, D_FF) == counted
    _, weights = layer(query, key, key, return_weights=True)
    assert weights.nbytes == complexity.attention_weights_bytes(BATCH, HEADS, TGT_LEN, SRC_LEN)


@pytest.mark.parametrize(("kind", "gates"), [(nn.RNNCell, 1), (nn.GRUCell, 3), (nn.LSTMCell, 4)])
def test_flops_of_recurrent_layers(kind, gates):
    cell, x = kind(7, 9), torch.zeros(SRC_LEN, BATCH, 7)

    def run():
        state = None
        for step in x:
            state = cell(step, state)

    formula = complexity.recurrent_flops(BATCH, SRC_LEN, 7, 9, gates=gates)
    matrices = 2 * BATCH * SRC_LEN * (cell.weight_ih.numel() + cell.weight_hh.numel())
    assert formula == matrices
    if counted := counted_flops(run):  # fused cells are not counted everywhere
        assert formula == counted


def test_flops_of_the_language_model_with_and_without_a_cache():
    config = DecoderLMConfig(**DECODER)
    model = DecoderLM(config).eval()
    counted = counted_flops(lambda: model(ids(TGT_LEN)))
    assert complexity.decoder_lm_flops(config, BATCH, TGT_LEN) == counted
    steps = CachedDecoder(model)
    steps.advance(ids(SRC_LEN))
    counted = counted_flops(lambda: steps.advance(ids(1)))
    assert complexity.decoder_lm_flops(config, BATCH, 1, past=SRC_LEN) == counted


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_bytes_of_the_cache(dtype):
    model = DecoderLM(DecoderLMConfig(**DECODER)).eval().to(dtype)
    steps = CachedDecoder(model, capacity=16)
    steps.advance(ids(9))
    expected = complexity.kv_cache_bytes(BATCH, 16, 3, D_MODEL, bytes_per_number=dtype.itemsize)
    assert steps.cache.num_bytes == expected

    transformer = Transformer(TransformerConfig(**TRANSFORMER)).eval()
    steps = CachedTransformer(transformer, *transformer.encode(ids(SRC_LEN)), capacity=16)
    steps.advance(ids(2))
    assert steps.cache.num_bytes == complexity.kv_cache_bytes(BATCH, 16 + SRC_LEN, 2, D_MODEL)
