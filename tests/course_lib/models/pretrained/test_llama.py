"""Is a Llama-shaped model that `transformers` saved read as it was written, and others rejected?"""

import json

import pytest
import torch
import transformers

from course_lib.models.llama import LlamaConfig
from course_lib.models.pretrained.llama import from_huggingface, read_chat_template, read_tokenizer
from course_lib.tokenization.chat_template import render_chat
from tests.course_lib.parity import randomise
from tests.course_lib.saved_folder import change_config, change_tensors
from tests.course_lib.tokenization.trained_pairs import PEERS, trained_pair

TOKEN_IDS = torch.randint(13, (2, 17), generator=torch.Generator().manual_seed(5))
SIZES = {
    "vocab_size": 13,
    "hidden_size": 24,
    "intermediate_size": 20,
    "num_hidden_layers": 11,  # so that layer 1 and layer 10 could be mixed up
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
}
OURS = {
    "vocab_size": 13,
    "d_model": 24,
    "d_ff": 20,
    "num_layers": 11,
    "num_heads": 6,
    "num_kv_heads": 2,
    "head_dim": 4,
    "max_length": 32,
    "eps": 1e-6,
    "rotary_base": 500.0,
    "tied": False,
}
ROPE = {"rope_type": "default", "rope_theta": 500.0}
KINDS = {
    "Llama": ({}, {}),
    "Llama, all biases": (
        {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True},
        {"biases": "all", "tied": True},
    ),
    "Llama, another width of heads": (
        {"head_dim": 6, "hidden_act": "gelu", "rms_norm_eps": 1e-3},
        {"head_dim": 6, "feed_forward": "geglu", "eps": 1e-3},
    ),
    "Mistral": ({"sliding_window": None}, {}),
    "Qwen2": ({}, {"head_dim": None, "biases": "query_key_value"}),
    "Qwen3": (
        {"head_dim": 8, "rms_norm_eps": 1e-3},
        {"head_dim": 8, "eps": 1e-3, "query_key_norm": True},
    ),
    "SmolLM3": ({}, {"head_dim": None, "no_rope_layer_interval": 4, "tied": True}),
}


def build(kind: str):
    name = kind.partition(",")[0]
    config = getattr(transformers, f"{name}Config")(**SIZES, **KINDS[kind][0], rope_parameters=ROPE)
    return randomise(getattr(transformers, f"{name}ForCausalLM")(config).eval().double())


@pytest.fixture
def folder(tmp_path):
    build("Llama").save_pretrained(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_logits_are_those_of_transformers(kind, tmp_path):
    theirs = build(kind)
    theirs.save_pretrained(tmp_path)
    ours = from_huggingface(tmp_path)
    assert ours.config == LlamaConfig(**(OURS | KINDS[kind][1]))
    assert not ours.training
    assert ours.embedding.weight.dtype == torch.float64
    assert (ours.output_projection.weight is ours.embedding.weight) == ours.config.tied
    logits = theirs(TOKEN_IDS).logits
    assert logits.abs().max() > 1
    torch.testing.assert_close(ours(TOKEN_IDS), logits, rtol=0, atol=1e-4)  # their angles: float32
    if ours.config.tied:
        change_tensors(
            tmp_path, lambda t: t | {"lm_head.weight": t["model.embed_tokens.weight"] + 1}
        )
        with pytest.raises(ValueError, match=r"lm_head\.weight must equal model\.embed_tokens"):
            from_huggingface(tmp_path)


@torch.no_grad()
def test_old_files_are_read_as_new_ones(folder):
    expected = from_huggingface(folder)(TOKEN_IDS)
    change_config(folder, rope_parameters=None, rope_theta=500.0, rope_scaling=None)
    change_tensors(
        folder, lambda t: t | {"model.layers.3.self_attn.rotary_emb.inv_freq": torch.ones(2)}
    )
    assert torch.equal(from_huggingface(folder)(TOKEN_IDS), expected)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model_type", "gpt2"),
        ("hidden_act", "relu"),
        ("sliding_window", 16),
        ("rope_scaling", {"type": "linear", "factor": 2.0}),
        ("rope_parameters", {"rope_type": "llama3", "rope_theta": 500.0}),
        ("rope_parameters", ROPE | {"partial_rotary_factor": 0.5}),
        ("mlp_bias", True),
    ],
)
def test_unsupported_setting_is_named(folder, name, value):
    change_config(folder, **{name: value})
    expected = "partial_rotary_factor" if "partial_rotary_factor" in str(value) else name
    with pytest.raises(ValueError, match=f"{expected} in .*config.json must be "):
        from_huggingface(folder)
    if name == "sliding_window":  # one as wide as the longest sequence hides nothing
        change_config(folder, sliding_window=32)
        from_huggingface(folder)


def test_irregular_layers_without_positions_are_rejected(tmp_path):
    build("SmolLM3").save_pretrained(tmp_path)
    change_config(tmp_path, no_rope_layers=[1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1])
    with pytest.raises(ValueError, match=r"no_rope_layers in .* must be \[1, 1, 1, 0, 1"):
        from_huggingface(tmp_path)
    change_config(tmp_path, no_rope_layers=[1] * 11)
    assert from_huggingface(tmp_path).config.no_rope_layer_interval == 0


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("Llama", "hidden_size", "must say hidden_size"),
        ("Llama", "num_hidden_layers", "must say num_hidden_layers"),
        ("Qwen3", "head_dim", r"must have shape \(768, 24\) by config.json, got \(48, 24\)"),
    ],
)
def test_missing_size_is_named_or_has_its_default(kind, name, message, tmp_path):
    build(kind).save_pretrained(tmp_path)
    text = (tmp_path / "config.json").read_text()
    (tmp_path / "config.json").write_text(text.replace(f'"{name}"', '"another"'))
    with pytest.raises(ValueError, match=message):
        from_huggingface(tmp_path)


TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }} {{ m.content }}<|im_end|>{% endfor %}"
MESSAGES = [{"role": "user", "content": "Hello, 42!"}]


def save_tokenizer(folder, name="gpt-2", **changes):
    """Save `tokenizers`' tokenizer of ``trained_pair(name)``, with ``changes`` to its BPE settings.

    Return ours of the pair.
    """
    ours, peer = trained_pair(name)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=peer, chat_template=TEMPLATE
    ).save_pretrained(folder)
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    content["model"] |= changes
    path.write_text(json.dumps(content))
    return ours


@pytest.mark.parametrize("name", PEERS)
def test_tokenizer_is_read_as_saved(name, tmp_path):
    ours = save_tokenizer(tmp_path, name)
    read = read_tokenizer(tmp_path)
    assert (read.tokens, read.merges) == (ours.tokens, ours.merges)
    assert set(read.specials) == set(ours.specials)
    assert read.pre_tokenizer == ours.pre_tokenizer
    pairs = [" ".join(pair) for pair in ours.merges]  # as older versions write them
    save_tokenizer(tmp_path, name, merges=pairs)
    assert read_tokenizer(tmp_path) == read


@pytest.mark.parametrize("name", ["normalizer", "pre_tokenizer"])
def test_unsupported_part_of_a_tokenizer_is_named(name, tmp_path):
    save_tokenizer(tmp_path, ignore_merges=True)
    with pytest.raises(ValueError, match=r"ignore_merges in .*tokenizer\.json must be False"):
        read_tokenizer(tmp_path)
    save_tokenizer(tmp_path)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: {"type": "NFC"}}))
    with pytest.raises(ValueError, match=f"{name} in .*tokenizer.json must be .*, got .*NFC"):
        read_tokenizer(tmp_path)


def test_chat_template_is_that_of_transformers(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"must hold tokenizer_config\.json"):
        read_chat_template(tmp_path)
    save_tokenizer(tmp_path)
    peer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    rendered = render_chat(read_chat_template(tmp_path), MESSAGES)
    assert rendered == peer.apply_chat_template(MESSAGES, tokenize=False)
    (tmp_path / "chat_template.jinja").unlink()
    path = tmp_path / "tokenizer_config.json"  # the only file in older versions
    path.write_text(json.dumps({"chat_template": TEMPLATE}))
    assert read_chat_template(tmp_path) == TEMPLATE
    path.write_text("{}")
    with pytest.raises(ValueError, match=r"chat_template in .* must be a template, got None"):
        read_chat_template(tmp_path)
