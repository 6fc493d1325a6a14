"""Does the language model start as GPT-2, know positions, and classify as GPT-2 does?

``pretrained/test_gpt2.py`` compares its logits and gradients with GPT-2.
"""

import pytest
import torch
from transformers import GPT2Config, GPT2ForSequenceClassification, GPT2LMHeadModel

from course_lib.models.gpt import DecoderLM, DecoderLMConfig, SequenceClassifier
from tests.course_lib.parity import assert_equal_in_float64, output_and_gradients, randomise
from tests.course_lib.weights import copy_gpt2, copy_linear

VOCAB, MAX_LENGTH, D_MODEL, HEADS, LAYERS, PAD = 11, 9, 12, 3, 2, 0
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
    model = build(positions=positions, num_layers=1)  # later layers see order by the causal mask
    other = IDS[:, [1, 0, 2, 3, 4, 5]]
    assert not torch.allclose(model(other)[:, -1], model(IDS)[:, -1])


def test_rotary_positions_have_no_parameters_and_no_longest_sequence():
    learned, rotary = build(), build(positions="rotary")
    assert set(learned.state_dict()) - set(rotary.state_dict()) == {"positions.weight"}
    long = torch.ones(1, MAX_LENGTH + 4, dtype=torch.int64)
    assert rotary(long).shape == (1, MAX_LENGTH + 4, VOCAB)
    with pytest.raises(ValueError, match="positions end at max_length=9, got a sequence of 13"):
        learned(long)


# --- the classifier ------------------------------------------------------------------------------


def test_classifier_equals_gpt2s():
    config = GPT2Config(
        vocab_size=VOCAB, n_positions=MAX_LENGTH, n_embd=D_MODEL, n_layer=LAYERS, n_head=HEADS,
        bos_token_id=None, eos_token_id=None, pad_token_id=PAD, num_labels=4,
    )  # fmt: skip
    gpt2 = randomise(GPT2ForSequenceClassification(config).eval().double(), std=0.3)
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_heads": 5}, "d_model=12 must be divisible by num_heads=5"),
        ({"positions": "rotary", "num_heads": 4}, "rotary positions need an even head_dim, got 3"),
    ],
)
def test_bad_configurations_are_rejected(change, message):
    with pytest.raises(ValueError, match=message):
        DecoderLMConfig(**(SMALL | change))
