"""Pre-trained MarianMT translators: weights, from a folder as Hugging Face's hub has it.

The OPUS-MT project trained them for more than a thousand pairs of languages,
and in the shape of the first Transformer. BART and mBART are not: they normalise their embeddings
before the first layer, which ``Transformer`` does not.
"""

import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from course_lib.layers.feed_forward import Activation
from course_lib.layers.positional import position_angles
from course_lib.models.pretrained.huggingface import (
    drop_repeated,
    load_exactly,
    read_config,
    read_tensors,
    require,
)
from course_lib.models.transformer import Transformer, TransformerConfig

# Names in the checkpoint, as patterns, and in a ``Transformer``.
_NAMES = {
    r"(encoder|decoder)\.layers\.(\d+)\.self_attn\.(q|k|v|out)_proj\.": (
        r"\1.layers.\2.self_attention.\3_projection."
    ),
    r"decoder\.layers\.(\d+)\.encoder_attn\.(q|k|v|out)_proj\.": (
        r"decoder.layers.\1.cross_attention.\2_projection."
    ),
    r"(encoder|decoder)\.layers\.(\d+)\.fc1\.": r"\1.layers.\2.feed_forward.up_projection.",
    r"(encoder|decoder)\.layers\.(\d+)\.fc2\.": r"\1.layers.\2.feed_forward.down_projection.",
    r"encoder\.layers\.(\d+)\.self_attn_layer_norm\.": (
        r"encoder.layers.\1.attention_residual.norm."
    ),
    r"decoder\.layers\.(\d+)\.self_attn_layer_norm\.": (
        r"decoder.layers.\1.self_attention_residual.norm."
    ),
    r"decoder\.layers\.(\d+)\.encoder_attn_layer_norm\.": (
        r"decoder.layers.\1.cross_attention_residual.norm."
    ),
    r"(encoder|decoder)\.layers\.(\d+)\.final_layer_norm\.": (
        r"\1.layers.\2.feed_forward_residual.norm."
    ),
}
_PROJECTIONS = {"q": "query", "k": "key", "v": "value", "out": "output"}
_EMBEDDINGS = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")
_REPEATED = dict.fromkeys(_EMBEDDINGS, "shared.weight")
_POSITIONS = ("encoder.embed_positions.weight", "decoder.embed_positions.weight")  # sinusoids

_SUPPORTED = {
    "model_type": "marian",
    "scale_embedding": True,
    "share_encoder_decoder_embeddings": True,
    "tie_word_embeddings": True,
    "static_position_embeddings": True,
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
}
_ACTIVATIONS: dict[str, Activation] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "swish": "silu",
    "silu": "silu",
}


def from_huggingface(folder: Path | str) -> Transformer:
    """Load a pre-trained translator from a folder; see the package's docstring.

    The folder is as ``transformers.MarianMTModel.save_pretrained`` writes it and as the hub has it
    for ``Helsinki-NLP/opus-mt-en-de`` and the like. Translations begin with ``pad_id``: these
    models have no start symbol of their own. Sources end with the end symbol. The sinusoids are in
    another order, first all sines, then all cosines, so they become learned positions.

    Source: Junczys-Dowmunt et al. (2018) for Marian; Tiedemann and Thottingal (2020) for OPUS-MT;
        chapter "Decoder-only language models".
    """
    folder = Path(folder)
    theirs_config = read_config(folder)
    theirs_config.setdefault("scale_embedding", False)  # the default of ``transformers``
    require(theirs_config, _SUPPORTED, folder)
    config = _our_config(theirs_config, folder)
    theirs = {name.removeprefix("model."): tensor for name, tensor in read_tensors(folder).items()}
    drop_repeated(theirs, _REPEATED)
    ours = {_our_name(name): tensor for name, tensor in theirs.items() if name not in _POSITIONS}
    _share_embedding(ours)
    _put_positions(ours, config)

    ours["output_projection.bias"] = ours.get(
        "output_projection.bias", torch.zeros(1, config.tgt_vocab_size)
    ).squeeze(0)
    model = Transformer(config)
    load_exactly(model, ours, folder)
    return model


def _our_name(name: str) -> str:
    """Return the name of a checkpoint's tensor in ``Transformer``; keep an unknown one."""
    if name == "final_logits_bias":
        return "output_projection.bias"
    for pattern, ours in _NAMES.items():
        match = re.match(pattern, name)
        if match:
            stem, ending = match.expand(ours), name[match.end() :]
            stem = re.sub(r"\.(q|k|v|out)_proj", lambda m: f".{_PROJECTIONS[m[1]]}_proj", stem)
            return stem + ending
    return name  # reported by its own name


def _share_embedding(ours: dict[str, Tensor]) -> None:
    """Replace ``shared.weight``, if there is one, by the three weights that share it."""
    shared = ours.pop("shared.weight", None)
    if shared is not None:
        for name in ("src_embedding", "tgt_embedding", "output_projection"):
            ours[f"{name}.weight"] = shared


def _put_positions(ours: dict[str, Tensor], config: TransformerConfig) -> None:
    """Add the sinusoids, all sines before all cosines; newer checkpoints leave them out."""
    angles = position_angles(
        torch.arange(config.max_length), config.d_model, dtype=torch.float64
    )  # (max_length, d_model / 2)
    dtype = next(iter(ours.values())).dtype if ours else torch.float32
    table = torch.cat([angles.sin(), angles.cos()], dim=1).to(dtype)  # (max_length, d_model)
    for name in ("src_positions", "tgt_positions"):
        ours[f"{name}.weight"] = table


def _our_config(theirs: dict[str, Any], folder: Path) -> TransformerConfig:
    """Return the settings of ``config.json`` as ours; an unsupported one is a ValueError."""
    for name in ("attention_heads", "ffn_dim"):  # ours has one number for both stacks
        require(theirs, {f"decoder_{name}": theirs.get(f"encoder_{name}")}, folder)
    if theirs.get("activation_function") not in _ACTIVATIONS:
        raise ValueError(
            f"activation_function in {folder / 'config.json'} must be one of "
            f"{tuple(_ACTIVATIONS)}, got {theirs.get('activation_function')!r}"
        )
    names = {
        "vocab_size": "src_vocab_size",
        "d_model": "d_model",
        "encoder_attention_heads": "num_heads",
        "encoder_ffn_dim": "d_ff",
        "encoder_layers": "num_encoder_layers",
        "decoder_layers": "num_decoder_layers",
        "dropout": "dropout",
        "max_position_embeddings": "max_length",
        "pad_token_id": "pad_id",
    }
    missing = [name for name in names if name not in theirs]
    if missing:
        raise ValueError(f"{folder / 'config.json'} must say {missing[0]}, it does not")
    given = {ours: theirs[name] for name, ours in names.items()}
    return TransformerConfig(
        **given,
        tgt_vocab_size=theirs["vocab_size"],
        activation=_ACTIVATIONS[theirs["activation_function"]],
        norm_position="post",
        positions="learned",
        tied="all",
        output_bias=True,
    )
