"""Is a MarianMT model saved by `transformers` read as it was written, and every other rejected?"""

import json

import pytest
import torch
import transformers

from course_lib.generation.greedy_search import greedy
from course_lib.generation.step_models import CachedTransformer
from course_lib.models.pretrained.marian import from_huggingface
from tests.course_lib.parity import randomise
from tests.course_lib.saved_folder import change_config

PAD, EOS = 12, 0
SRC = torch.tensor([[3, 1, 4, 1, EOS], [2, 7, EOS, PAD, PAD]])
TGT = torch.tensor([[PAD, 6, 11, 2], [PAD, 1, 9, 2]])


@pytest.fixture(scope="module")
def theirs():
    config = transformers.MarianConfig(
        vocab_size=13,
        d_model=12,
        encoder_layers=2,
        decoder_layers=3,
        encoder_attention_heads=3,
        decoder_attention_heads=3,
        encoder_ffn_dim=20,
        decoder_ffn_dim=20,
        activation_function="swish",
        scale_embedding=True,
        max_position_embeddings=9,
        pad_token_id=PAD,
        eos_token_id=EOS,
        forced_eos_token_id=None,
        decoder_start_token_id=PAD,
        bos_token_id=None,
    )
    model = randomise(transformers.MarianMTModel(config).eval().double(), std=0.3)
    for stack in (model.model.encoder, model.model.decoder):  # they are no parameters to learn
        stack.embed_positions.weight.data = stack.embed_positions.create_weight().double()
    model.final_logits_bias = torch.randn(1, 13, dtype=torch.float64)
    return model


def run_theirs(model):
    mask = (SRC != PAD).long()
    with torch.no_grad():
        return model(input_ids=SRC, attention_mask=mask, decoder_input_ids=TGT).logits


@pytest.mark.parametrize("activation", ["swish", "relu", "gelu", "gelu_new"])
def test_logits_are_those_of_transformers(theirs, folder, activation):
    change_config(folder, activation_function=activation)
    if activation != "swish":
        theirs = transformers.MarianMTModel.from_pretrained(folder, dtype=torch.float64).eval()
    ours = from_huggingface(folder)
    assert not ours.training
    # `transformers` computes its sinusoids in float32.
    torch.testing.assert_close(ours(SRC, TGT), run_theirs(theirs), rtol=1e-5, atol=1e-5)
    assert ours.src_embedding.weight is ours.output_projection.weight


def test_reads_what_older_versions_wrote(theirs, folder):
    tensors = theirs.state_dict()
    assert {"lm_head.weight", "model.encoder.embed_positions.weight"} <= tensors.keys()
    (folder / "model.safetensors").unlink()
    torch.save(tensors, folder / "pytorch_model.bin")
    ours = from_huggingface(folder)
    torch.testing.assert_close(ours(SRC, TGT), run_theirs(theirs), rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_translates_with_the_bias_of_its_logits(theirs, folder):
    ours = from_huggingface(folder)
    memory, memory_mask = ours.encode(SRC[:1])
    steps = CachedTransformer(ours, memory, memory_mask)
    (found,) = greedy(steps, TGT[:1, :1], eos_id=None, max_new_tokens=6)
    written = theirs.generate(
        SRC[:1], max_new_tokens=6, min_new_tokens=6, num_beams=1, do_sample=False, eos_token_id=99
    )
    assert list(found.tokens) == written[0, 1:].tolist()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model_type", "bart"),
        ("scale_embedding", False),
        ("share_encoder_decoder_embeddings", False),
        ("normalize_before", True),
        ("decoder_ffn_dim", 24),
        ("activation_function", "tanh"),
    ],
)
def test_other_kinds_of_models_are_rejected(folder, name, value):
    change_config(folder, **{name: value})
    with pytest.raises(ValueError, match=f"{name} in .*config.json must be .*, got {value!r}"):
        from_huggingface(folder)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("vocab_size", "config.json must say vocab_size, it does not"),
        ("pad_token_id", "config.json must say pad_token_id, it does not"),
        ("scale_embedding", "scale_embedding in .*config.json must be True, got False"),
    ],
)
def test_a_setting_missing_in_the_configuration_is_named(folder, name, message):
    path = folder / "config.json"
    config = json.loads(path.read_text())
    del config[name]
    path.write_text(json.dumps(config))
    with pytest.raises(ValueError, match=message):
        from_huggingface(folder)
