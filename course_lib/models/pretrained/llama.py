"""Pre-trained Llama, Mistral, Qwen2, Qwen3, SmolLM2 and SmolLM3, from Hugging Face's folders."""

import re
from pathlib import Path
from typing import Any, Literal

import torch

from course_lib.models.llama import Biases, Llama, LlamaConfig
from course_lib.models.pretrained.huggingface import (
    drop_repeated,
    load_exactly,
    read_config,
    read_tensors,
    rename,
    require,
)

# Their names, as patterns, and ours.
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
    """Make a model without initialising its weights, which takes as long as reading them.

    Args:
        config: Sizes and choices.

    Returns:
        The model on the CPU, its weights undefined.
    """
    with torch.device("meta"):
        model = Llama(config)
    return model.to_empty(device="cpu")


def _our_config(theirs: dict[str, Any], folder: Path) -> LlamaConfig:
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
    """Read how often a layer of SmolLM3 has no rotary positions; ``no_rope_layers`` has 0 there."""
    interval: int = settings.get("no_rope_layer_interval", 4)
    layers = range(1, settings["num_hidden_layers"] + 1)
    listed = settings.get("no_rope_layers")
    if listed is not None and 0 not in listed:
        return 0
    regular = [int(number % interval != 0) for number in layers]
    require(settings, {"no_rope_layers": listed if listed is None else regular}, folder)
    return interval
