"""Are the stacks PyTorch's, and do choices and padding reach every layer?

``pretrained/test_marian.py`` compares the whole model with MarianMT.
"""

import copy
import math

import pytest
import torch
from torch import nn

from course_lib.layers.feed_forward import FeedForward
from course_lib.layers.masks import causal_mask, padding_mask
from course_lib.layers.normalization import LayerNorm
from course_lib.layers.residual import Residual
from course_lib.layers.transformer_layers import Decoder, DecoderLayer, Encoder, EncoderLayer
from course_lib.models.transformer import Transformer, TransformerConfig
from tests.course_lib.parity import assert_parity, output_and_gradients, randomise
from tests.course_lib.weights import copy_torch_transformer

BATCH, SRC_LEN, TGT_LEN, D_MODEL, HEADS, D_FF, LAYERS = 2, 5, 4, 12, 3, 20, 2
SRC_VOCAB, TGT_VOCAB, PAD = 11, 13, 0
SRC = torch.tensor([[3, 1, 4, 1, 5], [2, 7, 1, PAD, PAD]])
TGT = torch.tensor([[1, 6, 12, 2], [1, 9, 2, PAD]])
SMALL = {
    "src_vocab_size": SRC_VOCAB,
    "tgt_vocab_size": TGT_VOCAB,
    "d_model": D_MODEL,
    "num_heads": HEADS,
    "d_ff": D_FF,
    "num_encoder_layers": LAYERS,
    "num_decoder_layers": LAYERS,
}
at_each_norm_position = pytest.mark.parametrize("norm_position", ["pre", "post"])
in_both_dtypes = pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)


def build(*, random_weights=True, **changes) -> Transformer:
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(**(SMALL | {"dropout": 0.0} | changes)))
    return (randomise(model, std=0.3) if random_weights else model).double()


def draw_vectors(length, dtype, seed):
    generator = torch.Generator().manual_seed(seed)
    shape = (BATCH, length, D_MODEL)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()


# --- parity with torch.nn ------------------------------------------------------------------------


def build_torch_transformer(norm_position, activation) -> nn.Transformer:
    settings = {
        "dropout": 0.0,
        "activation": activation,
        "batch_first": True,
        "norm_first": norm_position == "pre",
    }
    # PyTorch's own stacks end in a norm even after post-norm layers; the paper's do not.
    norms = [nn.LayerNorm(D_MODEL) if norm_position == "pre" else None for _ in range(2)]
    encoder_layer = nn.TransformerEncoderLayer(D_MODEL, HEADS, D_FF, **settings)
    decoder_layer = nn.TransformerDecoderLayer(D_MODEL, HEADS, D_FF, **settings)
    model = nn.Transformer(
        D_MODEL,
        HEADS,
        custom_encoder=nn.TransformerEncoder(
            encoder_layer, LAYERS, norms[0], enable_nested_tensor=False
        ),
        custom_decoder=nn.TransformerDecoder(decoder_layer, LAYERS, norms[1]),
        **settings,
    )
    return randomise(model)


@in_both_dtypes
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@at_each_norm_position
def test_stacks_equal_torchs_forward_and_backward(norm_position, activation, dtype):
    torchs = build_torch_transformer(norm_position, activation)
    settings = {"norm_position": norm_position, "activation": activation}
    encoder = Encoder(LAYERS, D_MODEL, HEADS, D_FF, **settings)
    decoder = Decoder(LAYERS, D_MODEL, HEADS, D_FF, **settings)
    copy_torch_transformer(encoder, decoder, torchs)

    def theirs(dtype):
        src, tgt = draw_vectors(SRC_LEN, dtype, 1), draw_vectors(TGT_LEN, dtype, 2)
        output = copy.deepcopy(torchs).to(dtype)(
            src,
            tgt,
            tgt_mask=~causal_mask(TGT_LEN)[0, 0],
            src_key_padding_mask=SRC == PAD,
            memory_key_padding_mask=SRC == PAD,
        )
        return output_and_gradients(output, [src, tgt])

    def ours(dtype):
        src, tgt = draw_vectors(SRC_LEN, dtype, 1), draw_vectors(TGT_LEN, dtype, 2)
        mask = padding_mask(SRC, PAD)
        memory = encoder.to(dtype)(src, mask)
        output = decoder.to(dtype)(tgt, memory, causal_mask(TGT_LEN), mask)
        return output_and_gradients(output, [src, tgt])

    assert_parity(ours, theirs, dtype)


@pytest.mark.parametrize("kind", [EncoderLayer, DecoderLayer])
def test_layer_has_the_defaults_of_torch(kind):
    layer = kind(D_MODEL, HEADS, D_FF)
    residuals = [module for module in layer.modules() if isinstance(module, Residual)]
    assert {(r.norm_position, r.norm.eps, r.dropout.p) for r in residuals} == {("post", 1e-5, 0.0)}
    assert layer.feed_forward.activation is nn.functional.relu


@pytest.mark.parametrize(("stack", "sublayers"), [(Encoder, 2), (Decoder, 3)])
def test_choices_reach_every_layer(stack, sublayers):
    choices = {"norm_position": "pre", "eps": 0.25, "activation": "gelu", "dropout": 0.125}
    modules = list(stack(2, D_MODEL, HEADS, D_FF, **choices).modules())
    norms = [module for module in modules if isinstance(module, LayerNorm)]
    residuals = [module for module in modules if isinstance(module, Residual)]
    feed_forwards = [module for module in modules if isinstance(module, FeedForward)]
    dropouts = [module for module in modules if isinstance(module, nn.Dropout)]
    assert [norm.eps for norm in norms] == [0.25] * (2 * sublayers + 1)
    assert [residual.norm_position for residual in residuals] == ["pre"] * 2 * sublayers
    assert [layer.activation for layer in feed_forwards] == [nn.functional.gelu] * 2
    assert [dropout.p for dropout in dropouts] == [0.125] * 2 * (sublayers + 1)


def test_choices_of_the_configuration_reach_both_stacks():
    modules = list(build(norm_position="pre", activation="gelu").modules())
    residuals = [module.norm_position for module in modules if isinstance(module, Residual)]
    assert residuals == ["pre"] * (2 + 3) * LAYERS
    activations = [module.activation for module in modules if isinstance(module, FeedForward)]
    assert activations == [nn.functional.gelu] * 2 * LAYERS


# --- padding -------------------------------------------------------------------------------------


def test_tokens_with_the_pad_id_are_padding():
    model = build(pad_id=5)
    assert SRC[0, -1] == 5
    shortened = model(SRC[:1, :-1], TGT[:1])
    torch.testing.assert_close(model(SRC, TGT)[:1], shortened, rtol=0, atol=1e-12)


def test_a_source_of_padding_alone_gives_no_nan():
    logits = build()(torch.full_like(SRC, PAD), TGT)
    assert logits.isfinite().all()


# --- the parts together --------------------------------------------------------------------------


def test_forward_is_encode_then_decode():
    model = build()
    memory, mask = model.encode(SRC)
    assert memory.shape == (BATCH, SRC_LEN, D_MODEL)
    assert torch.equal(mask, padding_mask(SRC, PAD))
    logits = model.output_projection(model.hidden(TGT, memory, mask))
    assert torch.equal(logits, model(SRC, TGT))
    assert logits.shape == (BATCH, TGT_LEN, TGT_VOCAB)


@pytest.mark.parametrize(
    ("tied", "src_vocab", "source_shared", "output_shared"),
    [
        ("none", SRC_VOCAB, False, False),
        ("output", SRC_VOCAB, False, True),
        ("all", TGT_VOCAB, True, True),
    ],
)
def test_weights_are_tied_as_asked_and_positions_never(
    tied, src_vocab, source_shared, output_shared
):
    model = build(tied=tied, src_vocab_size=src_vocab, positions="learned", max_length=7)
    assert model.src_positions.weight.shape == (7, D_MODEL)
    assert model.src_positions.weight is not model.tgt_positions.weight
    target = model.tgt_embedding.weight
    assert (model.src_embedding.weight is target) == source_shared
    assert (model.output_projection.weight is target) == output_shared
    assert model.src_embedding.weight.shape == (src_vocab, D_MODEL)


def test_starts_with_vectors_of_about_unit_size_and_different_layers():
    model = build(random_weights=False, d_model=96, num_heads=4, src_vocab_size=500)
    embedded = model.src_embedding(torch.arange(500)[None])
    assert embedded.std().item() == pytest.approx(1.0, rel=0.05)
    up_projection = model.encoder.layers[0].feed_forward.up_projection
    bound = math.sqrt(6 / (96 + D_FF))  # Glorot's
    assert up_projection.weight.abs().max().item() == pytest.approx(bound, rel=0.02)
    assert (up_projection.bias == 0).all()
    first, second = (layer.self_attention.query_projection.weight for layer in model.encoder.layers)
    assert not torch.equal(first, second)


def test_the_base_model_is_the_papers():
    config = TransformerConfig(src_vocab_size=37_000, tgt_vocab_size=37_000, tied="all")
    with torch.device("meta"):
        model = Transformer(config)
    millions = sum(p.numel() for p in model.parameters()) / 1e6
    assert millions == pytest.approx(65, rel=0.04)  # table 3 says 65 million
    assert config.norm_position == "post"
    assert config.activation == "relu"


def test_dropout_falls_on_source_and_target_embeddings():
    model = build(dropout=0.25)
    for module in model.modules():
        if isinstance(module, nn.Dropout) and module is not model.dropout:
            module.p = 0.0
    memory, mask = model.encode(SRC)
    assert not torch.equal(model.encode(SRC)[0], memory)
    assert not torch.equal(model.hidden(TGT, memory, mask), model.hidden(TGT, memory, mask))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_heads": 5}, "d_model=12 must be divisible by num_heads=5"),
        ({"d_model": 9}, "sinusoidal positions need an even d_model, got 9"),
        ({"tied": "all"}, "src_vocab_size=11 and tgt_vocab_size=13"),
        ({"pad_id": 11}, "pad_id must be a token id of both vocabularies, got 11"),
    ],
)
def test_bad_configurations_are_rejected(change, message):
    with pytest.raises(ValueError, match=message):
        TransformerConfig(**(SMALL | change))


def test_bad_batches_are_rejected():
    model = build()
    with pytest.raises(ValueError, match="src and tgt must agree in batch, got 2 and 1"):
        model(SRC, TGT[:1])
    with pytest.raises(IndexError, match="must lie in 0 to 10, got 0 to 12"):
        model(TGT, TGT)
    with pytest.raises(IndexError, match="must lie in 0 to 12"):
        model(SRC, TGT + 1)
    with pytest.raises(ValueError, match="positions end at max_length=4, got a sequence of 5"):
        build(positions="learned", max_length=4)(SRC, TGT)
    for rows, sources in [(2, 1), (1, 2)]:
        message = f"tgt and memory must agree in batch, got {rows} and {sources}"
        with pytest.raises(ValueError, match=message):
            model.hidden(TGT[:rows], torch.zeros(sources, 4, D_MODEL))
