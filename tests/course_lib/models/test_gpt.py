"""Does the language model start as GPT-2, know positions, and classify as GPT-2 does?

``pretrained/test_gpt2.py`` compares its logits and gradients with GPT-2.
"""

import pytest
import torch
from transformers import GPT2Config, GPT2ForSequenceClassification, GPT2LMHeadModel

from course_lib.layers.masks import causal_mask
from course_lib.layers.positional import RotaryPositions
from course_lib.models.gpt import DecoderBlock, DecoderLM, DecoderLMConfig, SequenceClassifier
from tests.course_lib.parity import (
    assert_equal_in_float64,
    output_and_gradients,
    randomise,
)
from tests.course_lib.weights import copy_gpt2, copy_linear

BATCH, LENGTH, VOCAB, MAX_LENGTH, D_MODEL, HEADS, LAYERS, PAD = 2, 6, 11, 9, 12, 3, 2, 0
IDS = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 7, 1, 8, PAD, PAD]])
SMALL = {
    "vocab_size": VOCAB,
    "max_length": MAX_LENGTH,
    "d_model": D_MODEL,
    "num_heads": HEADS,
    "d_ff": 4 * D_MODEL,
    "num_layers": LAYERS,
}
with_each_kind_of_position = pytest.mark.parametrize("positions", ["learned", "rotary"])


def build(*, random_weights=True, **changes) -> DecoderLM:
    torch.manual_seed(0)
    model = DecoderLM(DecoderLMConfig(**(SMALL | {"dropout": 0.0} | changes))).double()
    return randomise(model, std=0.3) if random_weights else model


def build_gpt2(kind=GPT2LMHeadModel, **settings):
    config = GPT2Config(
        vocab_size=VOCAB,
        n_positions=MAX_LENGTH,
        n_embd=D_MODEL,
        n_layer=LAYERS,
        n_head=HEADS,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=PAD,
        **settings,
    )
    torch.manual_seed(1)
    return randomise(kind(config).eval().double(), std=0.3)


def test_starts_as_gpt2_does():
    sizes = {"d_model": 192, "d_ff": 768, "num_layers": 8, "vocab_size": 500}
    ours = build(random_weights=False, **sizes)
    layer = ours.layers[3]
    for weight, std in (
        (ours.embedding.weight, 0.02),
        (ours.positions.weight, 0.02),
        (layer.self_attention.query_projection.weight, 0.02),
        (layer.feed_forward.up_projection.weight, 0.02),
        (layer.self_attention.output_projection.weight, 0.02 / 4),  # the root of 2 * 8 layers
        (layer.feed_forward.down_projection.weight, 0.02 / 4),
    ):
        assert weight.std().item() == pytest.approx(std, rel=0.05)
    for name, parameter in ours.named_parameters():
        if parameter.dim() == 1:
            assert (parameter == (1 if name.endswith("weight") else 0)).all()


def test_is_as_large_as_gpt2():
    with torch.device("meta"):
        ours, theirs = DecoderLM(DecoderLMConfig()), GPT2LMHeadModel(GPT2Config())
    count = sum(p.numel() for p in ours.parameters())
    assert count == sum(p.numel() for p in theirs.parameters()) == 124_439_808


@with_each_kind_of_position
def test_order_matters(positions):
    model = build(positions=positions)
    other = IDS[:, [1, 0, 2, 3, 4, 5]]
    assert not torch.allclose(model(other)[:, -1], model(IDS)[:, -1])


def test_rotary_positions_know_distances_alone():
    model = build(positions="rotary", num_layers=1)
    assert model.positions is None
    # Seen from the last token, what stood before is where it was, wherever the text began: its
    # own layer's keys and values are those of the tokens, which the start does not touch.
    layer, mask = model.layers[0], causal_mask(3)
    x = torch.randn(1, 3, D_MODEL, dtype=torch.float64)
    shifted = RotaryPositions(D_MODEL // HEADS)
    moved = DecoderBlock(D_MODEL, HEADS, 4 * D_MODEL, rotary=MovedRotary(shifted, 5)).double()
    moved.load_state_dict(layer.state_dict())
    torch.testing.assert_close(moved(x, mask), layer(x, mask))


class MovedRotary(torch.nn.Module):
    """Rotary positions that are all moved by ``distance``."""

    def __init__(self, rotary, distance):
        super().__init__()
        self.rotary, self.distance = rotary, distance

    def forward(self, x, *, offset=0):
        return self.rotary(x, offset=offset + self.distance)


def test_rotary_positions_have_no_longest_sequence():
    long = torch.ones(1, MAX_LENGTH + 4, dtype=torch.int64)
    assert build(positions="rotary")(long).shape == (1, MAX_LENGTH + 4, VOCAB)


def test_rotary_positions_add_no_parameters():
    learned, rotary = build(), build(positions="rotary")
    assert set(learned.state_dict()) - set(rotary.state_dict()) == {"positions.weight"}


def test_output_projection_is_the_embedding():
    model = build()
    assert model.output_projection.weight is model.embedding.weight
    assert torch.equal(model(IDS), model.hidden(IDS) @ model.embedding.weight.T)


def test_every_dropout_has_the_share_asked_for_and_training_feels_it():
    model = build(dropout=0.25)
    shares = [m.p for m in model.modules() if isinstance(m, torch.nn.Dropout)]
    assert shares.count(0.25) == 1 + 2 * LAYERS
    assert not torch.equal(model(IDS), model(IDS))
    model.eval()
    assert torch.equal(model(IDS), model(IDS))
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout) and module is not model.dropout:
            module.p = 0.0
    assert not torch.equal(model(IDS), model(IDS))


def test_every_parameter_gets_a_gradient():
    model = build()
    model(IDS).square().sum().backward()
    assert all((p.grad != 0).any() for p in model.parameters())


# --- the classifier ------------------------------------------------------------------------------


def test_classifier_equals_gpt2s():
    gpt2 = build_gpt2(GPT2ForSequenceClassification, num_labels=4)
    ours = SequenceClassifier(build(), 4, pad_id=PAD).double()
    copy_gpt2(ours.decoder, gpt2)
    copy_linear(ours.classifier, gpt2.score.weight)
    mask = (IDS != PAD).long()
    assert_equal_in_float64(
        output_and_gradients(ours(IDS), [ours.decoder.embedding.weight]),
        output_and_gradients(gpt2(IDS, attention_mask=mask).logits, [gpt2.transformer.wte.weight]),
    )


def test_classifier_starts_small_and_keeps_the_decoder():
    decoder = build(d_model=120)
    classifier = SequenceClassifier(decoder, 50, pad_id=PAD)
    assert classifier.decoder is decoder
    assert classifier.classifier.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert classifier.classifier.bias is None


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        *(({name: 0}, f"{name} must be at least 1, got 0") for name in SMALL),
        ({"num_heads": 5}, "d_model=12 must be divisible by num_heads=5"),
        ({"dropout": 1.0}, r"dropout must be at least 0 and below 1, got 1\.0"),
        ({"dropout": -0.1}, r"dropout must be at least 0 and below 1, got -0\.1"),
        ({"positions": "sine"}, "positions must be one of .* got 'sine'"),
        ({"positions": "rotary", "num_heads": 4}, "rotary positions need an even head_dim, got 3"),
    ],
)
def test_bad_configurations_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        DecoderLMConfig(**(SMALL | change))


@pytest.mark.parametrize(
    ("sizes", "settings", "message"),
    [
        ((12, 5, 8), {}, "d_model=12 must be divisible by num_heads=5"),
        ((12, 3, 0), {}, "d_ff must be at least 1, got 0"),
        ((12, 3, 8), {"dropout": 2.0}, r"between 0 and 1, but got 2\.0"),
    ],
)
def test_bad_layers_are_refused(sizes, settings, message):
    with pytest.raises(ValueError, match=message):
        DecoderBlock(*sizes, **settings)


@pytest.mark.parametrize("call", ["forward", "hidden", "classifier"])
def test_bad_batches_are_refused(call):
    decoder = build()
    model = {
        "forward": decoder,
        "hidden": decoder.hidden,
        "classifier": SequenceClassifier(decoder, 2, pad_id=PAD).double(),
    }[call]
    with pytest.raises(ValueError, match="hold at least one token"):
        model(IDS[:0])
    with pytest.raises(IndexError, match="must lie in 0 to 10, got 5 to 13"):
        model(torch.tensor([[5, 13]]))
    with pytest.raises(TypeError, match="token_ids must be int64 or int32"):
        model(IDS.double())
    with pytest.raises(ValueError, match="positions end at max_length=9, got a sequence of 10"):
        model(torch.ones(1, 10, dtype=torch.int64))
