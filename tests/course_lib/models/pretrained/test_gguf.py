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


def to_neighbours(rows: np.ndarray, heads: int) -> np.ndarray:
    """Reorder a projection's rows as llama.cpp stores them: the pairs of rotary positions adjacent.

    Copied from llama.cpp, convert_hf_to_gguf.py, ``LlamaModel.permute``.
    """
    pairs = rows.reshape(heads, 2, rows.shape[0] // heads // 2, -1)
    return pairs.swapaxes(1, 2).reshape(rows.shape)


def from_neighbours(rows: np.ndarray, heads: int) -> np.ndarray:
    """Undo ``to_neighbours``."""
    pairs = rows.reshape(heads, rows.shape[0] // heads // 2, 2, -1)
    return pairs.swapaxes(1, 2).reshape(rows.shape)


@torch.no_grad()
def write_gguf(path, model, architecture, type_name="F32", *, reorder=True, **settings) -> None:
    """Write a GGUF file as llama.cpp does; round the model's weights to the numbers in the file.

    Args:
        path: The file to write.
        model: A model of `transformers`; its weights change in place.
        architecture: The architecture that the file names, such as ``llama``.
        type_name: The type of the stored matrices, such as ``Q4_0``.
        reorder: Whether the rows of queries and keys are stored as by ``to_neighbours``.
        settings: Replace metadata of the file by name; None leaves an entry out.
    """
    writer = gguf.GGUFWriter(path, architecture)
    settings = {
        "context_length": 32,
        "embedding_length": D_MODEL,
        "block_count": LAYERS,
        "feed_forward_length": 96,
        "attention.head_count": HEADS,
        "attention.head_count_kv": KV_HEADS,
        "rope.dimension_count": 16,
        "attention.key_length": 16,
    } | settings
    for name, value in settings.items():
        if isinstance(value, str):
            writer.add_string(f"{architecture}.{name}", value)
        elif value is not None:
            writer.add_uint32(f"{architecture}.{name}", value)
    writer.add_rope_freq_base(500.0)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([f"t{i}" for i in range(13)])
    for name, parameter in model.named_parameters():
        heads = {"q_proj": HEADS, "k_proj": KV_HEADS}.get(name.split(".")[-2]) if reorder else None
        numbers = parameter.numpy().copy()
        stored_type = gguf.GGMLQuantizationType["F32" if numbers.ndim == 1 else type_name]
        data = gguf.quantize(to_neighbours(numbers, heads) if heads else numbers, stored_type)
        rounded = np.array(gguf.dequantize(data, stored_type)).reshape(numbers.shape)
        parameter.copy_(torch.from_numpy(from_neighbours(rounded, heads) if heads else rounded))
        for hugging_face, short in NAMES.items():
            name = name.replace(hugging_face, short)
        writer.add_tensor(name, data, raw_dtype=stored_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.gguf"


@pytest.mark.parametrize("type_name", ["Q4_0", "Q4_1", "Q8_0", "F16", "F32"])
@torch.no_grad()
def test_logits_are_those_of_transformers_on_the_rounded_weights(type_name, path):
    theirs = build("Llama")
    exact = theirs(TOKEN_IDS).logits
    write_gguf(path, theirs, "llama", type_name)
    file = ours.GGUFFile(path)
    model, (config, weights) = file.load_model(), file.load_weights()
    assert model.config == config
    assert model.config.tied
    assert not model.training
    logits = theirs(TOKEN_IDS).logits
    torch.testing.assert_close(model(TOKEN_IDS), logits, rtol=0, atol=2e-5)
    assert torch.equal(logits, exact) == (type_name == "F32")
    expected = model.state_dict()
    assert weights.keys() == expected.keys()
    assert all(torch.equal(weights[name], expected[name]) for name in expected)


@pytest.mark.parametrize("kind", ["Qwen2", "Qwen3"])
@torch.no_grad()
def test_rows_of_other_architectures_stay(kind, path):
    theirs = build(kind)
    write_gguf(path, theirs, kind.lower(), reorder=False)
    model = ours.GGUFFile(path).load_model()
    assert not model.config.tied
    torch.testing.assert_close(model(TOKEN_IDS), theirs(TOKEN_IDS).logits, rtol=0, atol=2e-5)


@pytest.mark.parametrize(
    ("architecture", "settings", "message"),
    [
        ("bert", {}, r"general\.architecture in .* must be one of .*, got 'bert'"),
        ("llama", {"rope.scaling.type": "yarn"}, r"llama\.rope\.scaling\.type in .*, got 'yarn'"),
        ("llama", {"expert_count": 8}, r"llama\.expert_count in .* must be 0, got 8"),
        ("llama", {"rope.dimension_count": 8}, r"dimension_count in .* must be 16, got 8"),
        ("llama", {"block_count": None}, r"must say llama\.block_count"),
        ("llama", {"block_count": 4}, "lacks layers.3"),
    ],
)
def test_unsupported_setting_is_named(architecture, settings, message, path):
    write_gguf(path, build("Llama"), architecture, **settings)
    with pytest.raises(ValueError, match=message):
        ours.GGUFFile(path).load_model()


def test_broken_and_missing_files_are_rejected(path):
    with pytest.raises(FileNotFoundError, match=r"model\.gguf is none"):
        ours.GGUFFile(path)
    write_gguf(path, build("Llama"), "llama")
    whole = path.read_bytes()
    for kept in (0, 3, 200, 2000):
        path.write_bytes(whole[:kept])
        with pytest.raises(ValueError, match="must be a whole GGUF file"):
            ours.GGUFFile(path)
