"""Is a GPT-2 that `transformers` saved read as it was written, and every other model rejected?"""

import pytest
import torch
import transformers

from course_lib.models.gpt import DecoderLMConfig
from course_lib.models.pretrained.gpt2 import from_huggingface
from tests.course_lib.parity import assert_equal_in_float64, output_and_gradients, randomise
from tests.course_lib.saved_folder import change_config, change_tensors

TOKEN_IDS = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8]])
LAYERS = 11  # so that layer 1 and layer 10 could be mixed up
OURS = {
    "vocab_size": 13,
    "max_length": 9,
    "d_model": 12,
    "num_heads": 3,
    "d_ff": 20,
    "num_layers": LAYERS,
    "dropout": 0.2,
}


@pytest.fixture(scope="module")
def theirs():
    config = transformers.GPT2Config(
        vocab_size=13,
        n_positions=9,
        n_embd=12,
        n_head=3,
        n_inner=20,
        n_layer=LAYERS,
        resid_pdrop=0.2,
        embd_pdrop=0.2,
        bos_token_id=None,
        eos_token_id=None,
    )
    return randomise(transformers.GPT2LMHeadModel(config).eval().double(), std=0.3)


def test_logits_and_gradients_are_those_of_transformers(theirs, folder):
    ours = from_huggingface(folder)
    assert ours.config == DecoderLMConfig(**OURS)
    assert not ours.training
    assert ours.output_projection.weight is ours.embedding.weight
    logits, *expected = output_and_gradients(
        theirs(TOKEN_IDS).logits,
        [theirs.transformer.wte.weight, theirs.transformer.h[10].attn.c_attn.bias],
    )
    query_bias = ours.layers[10].self_attention.query_projection.bias
    actual = output_and_gradients(ours(TOKEN_IDS), [ours.embedding.weight, query_bias])
    assert_equal_in_float64(actual, [logits, expected[0], expected[1][:12]])


def test_reads_the_names_that_the_hub_has(theirs, folder):
    def rename(tensors):
        old = {name.removeprefix("transformer."): tensor for name, tensor in tensors.items()}
        old |= {f"h.{layer}.attn.bias": torch.ones(1, 1, 9, 9).tril() for layer in range(LAYERS)}
        return old | {"h.0.attn.masked_bias": torch.tensor(-1e4)}

    change_tensors(folder, rename)
    torch.testing.assert_close(from_huggingface(folder)(TOKEN_IDS), theirs(TOKEN_IDS).logits)


def test_reads_pickled_tensors_with_the_head_written_out(theirs, folder):
    (folder / "model.safetensors").unlink()
    tensors = theirs.state_dict()
    assert "lm_head.weight" in tensors
    torch.save(tensors, folder / "pytorch_model.bin")
    torch.testing.assert_close(from_huggingface(folder)(TOKEN_IDS), theirs(TOKEN_IDS).logits)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model_type", "bert"),
        ("activation_function", "relu"),
        ("layer_norm_epsilon", 1e-6),
        ("scale_attn_by_inverse_layer_idx", True),
        ("embd_pdrop", 0.3),
        ("tie_word_embeddings", False),
    ],
)
def test_other_kinds_of_models_are_rejected(folder, name, value):
    change_config(folder, **{name: value})
    with pytest.raises(ValueError, match=f"{name} in .*config.json must be .*, got {value!r}"):
        from_huggingface(folder)
