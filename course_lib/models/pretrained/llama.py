"""Pre-trained Llama, Mistral, Qwen2, Qwen3, SmolLM2 and SmolLM3, from Hugging Face's folders."""

import re
from pathlib import Path
from typing import Any, Literal

import torch

from course_lib.models.llama import Biases, Llama, LlamaConfig
from course_lib.models.pretrained.huggingface import (
    drop_repeated,
    in_order,
    load_exactly,
    read_config,
    read_json_object,
    read_tensors,
    read_tokenizer_json,
    rename,
    require,
)
from course_lib.tokenization.byte_level import ByteLevelTokenizer, PreTokenizer

# Names in the checkpoint, as patterns, and in a ``Llama``.
_NAMES = {
    r"model\.embed_tokens\.weight": "embedding.weight",
    r"model\.norm\.weight": "norm.weight",
    r"lm_head\.weight": "output_projection.weight",
    r"model\.layers\.(\d+)\.input_layernorm\.": r"layers.\1.attention_residual.norm.",
    r"model\.layers\.(\d+)\.post_attention_layernorm\.": r"layers.\1.feed_forward_residual.norm.",
    r"model\.layers\.(\d+)\.self_attn\.q_proj\.": r"layers.\1.self_attention.query_projection.",
    r"model\.layers\.(\d+)\.self_attn\.k_proj\.": r"layers.\1.self_attention.key_projection.",
    r"model\.layers\.(\d+)\.self_attn\.v_proj\.": r"layers.\1.self_attention.value_projection.",
    r"model\.layers\.(\d+)\.self_attn\.o_proj\.": r"layers.\1.self_attention.output_projection.",
    r"model\.layers\.(\d+)\.self_attn\.q_norm\.": (
        r"layers.\1.self_attention.query_projection.norm."
    ),
    r"model\.layers\.(\d+)\.self_attn\.k_norm\.": r"layers.\1.self_attention.key_projection.norm.",
    r"model\.layers\.(\d+)\.mlp\.(gate|up|down)_proj\.": r"layers.\1.feed_forward.\2_projection.",
}
_NOT_LEARNED = re.compile(r".*\.rotary_emb\.inv_freq")

_SIZES = {
    "vocab_size": "vocab_size",
    "max_position_embeddings": "max_length",
    "hidden_size": "d_model",
    "num_attention_heads": "num_heads",
    "intermediate_size": "d_ff",
    "num_hidden_layers": "num_layers",
}
_FEED_FORWARD: dict[str, Literal["swiglu", "geglu"]] = {"silu": "swiglu", "gelu": "geglu"}
# Settings that a file may omit, by type of model, whose default differs from ours below.
_DEFAULTS: dict[str, dict[str, Any]] = {
    "llama": {},
    "mistral": {"num_key_value_heads": 8, "sliding_window": 4096},
    "qwen2": {"use_sliding_window": False},
    "qwen3": {"use_sliding_window": False, "head_dim": 128},
    "smollm3": {"tie_word_embeddings": True, "rope_theta": 2e6, "use_sliding_window": False},
}

_WORDS, _BYTES = (("ByteLevel", use_regex) for use_regex in (True, False))
_MODERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|DIGITS"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# Pre-tokenizers of the package ``tokenizers``, by the result of ``_outline``.
_PRE_TOKENIZERS: dict[tuple[object, ...], PreTokenizer] = {
    (_WORDS,): "gpt-2",
    (("Digits", True), _WORDS): "smollm",
    (("Split", _MODERN.replace("DIGITS", r"\p{N}{1,3}")), _BYTES): "llama-bpe",
    (("Split", _MODERN.replace("DIGITS", r"\p{N}")), _BYTES): "qwen2",
}


def from_huggingface(folder: Path | str) -> Llama:
    """Load a pre-trained language model in the shape of Llama; see the package's docstring.

    The folder is as ``save_pretrained`` of ``transformers`` writes it, and as the hub has it, for
    models of the types llama (SmolLM2 too), mistral, qwen2, qwen3 and smollm3. A setting that
    ``Llama`` does not support, such as ``sliding_window`` or scaled rotary positions, raises a
    ValueError with its name.

    Source: ``transformers``, models/llama/modeling_llama.py.
    """
    folder = Path(folder)
    config = _our_config(read_config(folder), folder)
    theirs = read_tensors(folder)
    if config.tied:
        drop_repeated(theirs, {"lm_head.weight": "model.embed_tokens.weight"})
    ours = {
        rename(name, _NAMES): t for name, t in theirs.items() if not _NOT_LEARNED.fullmatch(name)
    }
    if config.tied and "embedding.weight" in ours:
        ours["output_projection.weight"] = ours["embedding.weight"]
    model = empty_model(config)
    load_exactly(model, ours, folder)
    return model


def empty_model(config: LlamaConfig) -> Llama:
    """Return a model on the CPU with undefined weights: to draw weights would take long."""
    with torch.device("meta"):
        model = Llama(config)
    return model.to_empty(device="cpu")


def read_tokenizer(folder: Path | str) -> ByteLevelTokenizer:
    """Read a language model's byte-level tokenizer from ``tokenizer.json``.

    It adds no special tokens to a text; all added tokens are special. The package ``tokenizers``
    writes the file. A missing file is a FileNotFoundError. Another kind of tokenizer, or a setting
    that ``ByteLevelTokenizer`` does not support, such as a normalizer, is a ValueError.

    Source: huggingface/tokenizers, models/bpe/model.rs.
    """
    path, content = read_tokenizer_json(folder)
    model = content.get("model") or {}
    require(content, {"normalizer": None}, path)
    require(model, {"type": "BPE", "byte_fallback": False, "ignore_merges": False}, path)
    parts = content.get("pre_tokenizer") or {}
    outline = tuple(_outline(part) for part in parts.get("pretokenizers", [parts]))
    if outline not in _PRE_TOKENIZERS:
        raise ValueError(
            f"pre_tokenizer in {path} must be one of {(*_PRE_TOKENIZERS.values(),)}, got {parts}"
        )
    added = {token["content"]: token["id"] for token in content.get("added_tokens", ())}
    merges = (pair.split(" ") if isinstance(pair, str) else pair for pair in model["merges"])
    return ByteLevelTokenizer(
        tokens=in_order(model["vocab"] | added, path),
        merges=tuple((left, right) for left, right in merges),
        specials=tuple(added),
        pre_tokenizer=_PRE_TOKENIZERS[outline],
    )


def read_chat_template(folder: Path | str) -> str:
    """Read a model's chat template, for ``render_chat``.

    It is in ``chat_template.jinja`` or ``tokenizer_config.json``, as ``save_pretrained`` of
    ``transformers`` writes them. A folder with neither file is a FileNotFoundError, a model without
    a template a ValueError.

    Source: ``transformers``, tokenization_utils_base.py.
    """
    path = Path(folder) / "chat_template.jinja"
    if path.is_file():
        return path.read_text(encoding="utf-8")
    path = path.with_name("tokenizer_config.json")
    if not path.is_file():
        raise FileNotFoundError(f"folder must hold tokenizer_config.json, {folder} does not")
    template = read_json_object(path).get("chat_template")
    if not isinstance(template, str):
        raise ValueError(f"chat_template in {path} must be a template, got {template!r}")
    return template


def _outline(part: dict[str, Any]) -> tuple[object, ...]:
    """Return what decides how a pre-tokenizer of ``tokenizer.json`` splits text, to compare."""
    match part:
        case {"type": "ByteLevel", "add_prefix_space": False}:
            return "ByteLevel", part.get("use_regex", True)
        case {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated"}:
            return "Split", pattern
    return part.get("type"), part.get("individual_digits")


def _our_config(theirs: dict[str, Any], folder: Path) -> LlamaConfig:
    """Return the settings of ``config.json`` as ours; an unsupported one is a ValueError."""
    kind = theirs.get("model_type")
    if kind not in _DEFAULTS:
        raise ValueError(
            f"model_type in {folder / 'config.json'} must be one of {tuple(_DEFAULTS)}, "
            f"got {kind!r}"
        )
    settings = _DEFAULTS[kind] | theirs
    missing = [name for name in _SIZES if name not in settings]
    if missing:
        raise ValueError(f"{folder / 'config.json'} must say {missing[0]}, it does not")
    sizes = {ours: settings[name] for name, ours in _SIZES.items()}
    activation = settings.get("hidden_act", "silu")
    require(settings, {"hidden_act": activation if activation in _FEED_FORWARD else "silu"}, folder)
    if settings.get("use_sliding_window", True):
        window = settings.get("sliding_window")
        wide = window is not None and window >= sizes["max_length"]  # hides nothing
        require(settings, {"sliding_window": window if wide else None}, folder)
    attention_bias = settings.get("attention_bias", False)
    mlp_bias = settings.get("mlp_bias", False)
    require(settings, {"mlp_bias": attention_bias and mlp_bias}, folder)
    biases: Biases = "all" if mlp_bias else "attention" if attention_bias else "none"
    return LlamaConfig(
        **sizes,
        num_kv_heads=settings.get("num_key_value_heads") or sizes["num_heads"],
        head_dim=settings.get("head_dim"),
        eps=settings.get("rms_norm_eps", 1e-6),
        feed_forward=_FEED_FORWARD[activation],
        rotary_base=_rotary_base(settings, folder),
        no_rope_layer_interval=_no_rope_layer_interval(settings, folder)
        if kind == "smollm3"
        else 0,
        query_key_norm=kind == "qwen3",
        biases="query_key_value" if kind == "qwen2" else biases,
        tied=settings.get("tie_word_embeddings", False),
    )


def _rotary_base(settings: dict[str, Any], folder: Path) -> float:
    """Read the base of plain rotary positions; older files have it outside ``rope_parameters``."""
    for name in ("rope_parameters", "rope_scaling"):
        scaling = settings.get(name) or {}
        kind = scaling.get("rope_type", scaling.get("type", "default"))
        if kind != "default":
            raise ValueError(
                f"{name} in {folder / 'config.json'} must be of type 'default', got {kind!r}"
            )
    rope = settings.get("rope_parameters") or {}
    require(rope, {"partial_rotary_factor": 1.0}, folder)
    return float(rope.get("rope_theta", settings.get("rope_theta", 10_000.0)))


def _no_rope_layer_interval(settings: dict[str, Any], folder: Path) -> int:
    """Return n if each n-th layer of SmolLM3 has no rotary positions, 0 if all layers have them."""
    interval: int = settings.get("no_rope_layer_interval", 4)
    layers = range(1, settings["num_hidden_layers"] + 1)
    listed = settings.get("no_rope_layers")
    if listed is not None and 0 not in listed:
        return 0
    regular = [int(number % interval != 0) for number in layers]
    require(settings, {"no_rope_layers": listed if listed is None else regular}, folder)
    return interval
