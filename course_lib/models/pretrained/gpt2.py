"""Pre-trained GPT-2: weights, from a folder as Hugging Face's hub has it."""

import re
from pathlib import Path

from torch import Tensor

from course_lib.models.gpt import DecoderLM, DecoderLMConfig
from course_lib.models.pretrained.huggingface import (
    drop_repeated,
    load_exactly,
    read_config,
    read_tensors,
    require,
)

# Names in the checkpoint, as patterns, and in a ``DecoderLM``.
_NAMES = {
    r"wte\.weight": "embedding.weight",
    r"wpe\.weight": "positions.weight",
    r"ln_f\.(weight|bias)": r"norm.\1",
    r"h\.(\d+)\.ln_1\.(weight|bias)": r"layers.\1.attention_residual.norm.\2",
    r"h\.(\d+)\.ln_2\.(weight|bias)": r"layers.\1.feed_forward_residual.norm.\2",
    r"h\.(\d+)\.attn\.c_proj\.(weight|bias)": r"layers.\1.self_attention.output_projection.\2",
    r"h\.(\d+)\.mlp\.c_fc\.(weight|bias)": r"layers.\1.feed_forward.up_projection.\2",
    r"h\.(\d+)\.mlp\.c_proj\.(weight|bias)": r"layers.\1.feed_forward.down_projection.\2",
}
_JOINED = re.compile(r"h\.(\d+)\.attn\.c_attn\.(weight|bias)")
_NOT_LEARNED = re.compile(r"h\.\d+\.attn\.(masked_)?bias")  # the causal mask, and its filling
_TRANSPOSED = re.compile(r"h\.\d+\.(attn|mlp)\.c_\w+\.weight")

_SUPPORTED = {
    "model_type": "gpt2",
    "activation_function": "gelu_new",
    "layer_norm_epsilon": 1e-5,
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "add_cross_attention": False,
    "tie_word_embeddings": True,
}


def from_huggingface(folder: Path | str) -> DecoderLM:
    """Load a pre-trained GPT-2 from a folder; see the package's docstring.

    The folder is as ``transformers.GPT2LMHeadModel.save_pretrained`` writes it and as the hub has
    it for ``gpt2``, ``gpt2-medium``, ``gpt2-large`` and ``gpt2-xl``. GPT-2 stores its matrices
    transposed, ``(in_features, out_features)``, and those of queries, keys and values side by side
    in one.

    Source: Radford et al. (2019); openai/gpt-2, model.py; chapter "Decoder-only language models".
    """
    folder = Path(folder)
    config = _read_gpt2_config(folder)
    theirs = {
        name.removeprefix("transformer."): tensor for name, tensor in read_tensors(folder).items()
    }
    drop_repeated(theirs, {"lm_head.weight": "wte.weight"})
    ours: dict[str, Tensor] = {}
    for name, tensor in theirs.items():
        if not _NOT_LEARNED.fullmatch(name):
            ours |= _ours(name, tensor.T if _TRANSPOSED.fullmatch(name) else tensor)
    if "embedding.weight" in ours:
        ours["output_projection.weight"] = ours["embedding.weight"]
    model = DecoderLM(config)
    load_exactly(model, ours, folder)
    return model


def _ours(name: str, tensor: Tensor) -> dict[str, Tensor]:
    """Return a tensor of the checkpoint under its name in ``DecoderLM``.

    The joint tensor of queries, keys and values becomes three. Matrices are ``(out_features,
    in_features)``. An unknown name is kept.
    """
    joined = _JOINED.fullmatch(name)
    if joined:
        parts = zip(("query", "key", "value"), tensor.chunk(3), strict=True)
        stem = f"layers.{joined[1]}.self_attention"
        return {f"{stem}.{part}_projection.{joined[2]}": third for part, third in parts}
    for pattern, ours in _NAMES.items():
        match = re.fullmatch(pattern, name)
        if match:
            return {match.expand(ours): tensor}
    return {name: tensor}  # reported by its own name


def _read_gpt2_config(folder: Path) -> DecoderLMConfig:
    """Read ``config.json``; an unsupported setting is a ValueError."""
    theirs = read_config(folder)
    require(theirs, _SUPPORTED, folder)
    # Ours drops embeddings and sublayers' outputs alike.
    if "resid_pdrop" in theirs:
        require(theirs, {"embd_pdrop": theirs["resid_pdrop"]}, folder)
    names = {
        "vocab_size": "vocab_size",
        "n_positions": "max_length",
        "n_embd": "d_model",
        "n_head": "num_heads",
        "n_layer": "num_layers",
        "resid_pdrop": "dropout",
    }
    given = {ours: theirs[name] for name, ours in names.items() if name in theirs}
    width = given.get("d_model", DecoderLMConfig.d_model)
    return DecoderLMConfig(**given, d_ff=theirs.get("n_inner") or 4 * width)
