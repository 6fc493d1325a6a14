"""Is a model read from a GGUF file as `transformers` and llama.cpp's own package wrote it?"""

import gguf
import numpy as np
import pytest
import torch
import transformers

from course_lib.models.pretrained import gguf as ours
from tests.course_lib.parity import randomise

TOKEN_IDS = torch.randint(13, (2, 17), generator=torch.Generator().manual_seed(5))
HEADS, KV_HEADS, D_MODEL, LAYERS = 4, 2, 64, 3  # rows of whole blocks: 32 numbers
NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "model.layers": "blk",
}
TYPES = ("Q4_0", "Q4_1", "Q8_0", "F16", "F32")


def build(kind: str):
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=13,
        hidden_size=D_MODEL,
        intermediate_size=96,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        head_dim=16,
        max_position_embeddings=32,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
        tie_word_embeddings=kind == "Llama",
        rope_parameters={"rope_type": "default", "rope_theta": 500.0},
    )
    return randomise(getattr(transformers, f"{kind}ForCausalLM")(config).eval(), std=0.2)


def permute(rows: np.ndarray, heads: int) -> np.ndarray:
    """Return a projection's rows in llama.cpp's order for rotary positions.

    Copied from llama.cpp, convert_hf_to_gguf.py, ``LlamaModel.permute``.
    """
    return (
        rows.reshape(heads, 2, rows.shape[0] // heads // 2, *rows.shape[1:])
        .swapaxes(1, 2)
        .reshape(rows.shape)
    )


@torch.no_grad()
def write(path, model, kind: str, type_name="F32", permuted=True, **changes) -> None:
    """Write a model as llama.cpp does, and round the model's weights to those of the file."""
    writer = gguf.GGUFWriter(path, kind.lower())
    settings = {
        "context_length": 32,
        "embedding_length": D_MODEL,
        "block_count": LAYERS,
        "feed_forward_length": 96,
        "attention.head_count": HEADS,
        "attention.head_count_kv": KV_HEADS,
        "rope.dimension_count": 16,
        "attention.key_length": 16,
    } | changes
    for name, value in settings.items():
        if isinstance(value, str):
            writer.add_string(f"{kind.lower()}.{name}", value)
        elif value is not None:
            writer.add_uint32(f"{kind.lower()}.{name}", value)
    writer.add_rope_freq_base(500.0)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([f"t{i}" for i in range(13)])
    for name, parameter in model.named_parameters():
        numbers = parameter.numpy().copy()
        heads = {"q_proj": HEADS, "k_proj": KV_HEADS}.get(name.split(".")[-2])
        if heads and permuted:
            numbers = permute(numbers, heads)
        kept = gguf.GGMLQuantizationType["F32" if numbers.ndim == 1 else type_name]
        data = gguf.quantize(numbers, kept)
        rounded = gguf.dequantize(data, kept).reshape(numbers.shape)
        if heads and permuted:
            rounded = (
                rounded.reshape(heads, rounded.shape[0] // heads // 2, 2, -1)
                .swapaxes(1, 2)
                .reshape(rounded.shape)
            )
        parameter.copy_(torch.from_numpy(np.array(rounded)))
        theirs = name
        for hugging_face, short in NAMES.items():
            theirs = theirs.replace(hugging_face, short)
        writer.add_tensor(theirs, data, raw_dtype=kept)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.mark.parametrize("type_name", TYPES)
@torch.no_grad()
def test_logits_are_those_of_transformers_on_the_rounded_weights(type_name, tmp_path):
    theirs = build("Llama")
    exact = theirs(TOKEN_IDS).logits
    write(tmp_path / "model.gguf", theirs, "Llama", type_name)
    model = ours.GGUFFile(tmp_path / "model.gguf").load_model()
    assert model.config.tied
    assert not model.training
    logits = theirs(TOKEN_IDS).logits
    torch.testing.assert_close(model(TOKEN_IDS), logits, rtol=0, atol=2e-5)
    assert torch.equal(logits, exact) == (type_name == "F32")


@torch.no_grad()
def test_weights_have_the_names_and_values_of_the_model(tmp_path):
    write(tmp_path / "model.gguf", build("Llama"), "Llama")
    file = ours.GGUFFile(tmp_path / "model.gguf")
    config, weights = file.load_weights()
    model = file.load_model()
    assert config == model.config
    expected = model.state_dict()
    assert weights.keys() == expected.keys()
    assert all(torch.equal(weights[name], expected[name]) for name in expected)


@pytest.mark.parametrize("kind", ["Qwen2", "Qwen3"])
@torch.no_grad()
def test_rows_of_other_architectures_stay(kind, tmp_path):
    theirs = build(kind)
    write(tmp_path / "model.gguf", theirs, kind, permuted=False)
    model = ours.GGUFFile(tmp_path / "model.gguf").load_model()
    assert not model.config.tied
    torch.testing.assert_close(model(TOKEN_IDS), theirs(TOKEN_IDS).logits, rtol=0, atol=2e-5)


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("Bert", {}, r"general\.architecture in .* must be one of .*, got 'bert'"),
        ("Llama", {"rope.scaling.type": "yarn"}, r"llama\.rope\.scaling\.type in .*, got 'yarn'"),
        ("Llama", {"expert_count": 8}, r"llama\.expert_count in .* must be 0, got 8"),
        ("Llama", {"rope.dimension_count": 8}, r"dimension_count in .* must be 16, got 8"),
        ("Llama", {"block_count": None}, r"must say llama\.block_count"),
        ("Llama", {"block_count": 4}, "lacks layers.3"),
    ],
)
def test_unsupported_setting_is_named(kind, changes, message, tmp_path):
    write(tmp_path / "model.gguf", build("Llama"), kind, **changes)
    with pytest.raises(ValueError, match=message):
        ours.GGUFFile(tmp_path / "model.gguf").load_model()


@pytest.mark.parametrize("kept", [0, 3, 200, 2000])
def test_broken_file_is_rejected(kept, tmp_path):
    write(tmp_path / "model.gguf", build("Llama"), "Llama")
    whole = (tmp_path / "model.gguf").read_bytes()
    (tmp_path / "model.gguf").write_bytes(whole[:kept])
    with pytest.raises(ValueError, match="must be a whole GGUF file"):
        ours.GGUFFile(tmp_path / "model.gguf")


def test_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.gguf is none"):
        ours.GGUFFile(tmp_path / "none.gguf")
