"""Weights of a pre-trained BERT, from a folder as Hugging Face's hub has it.

Only plain data is read: JSON, and tensors by safetensors or ``torch.load(weights_only=True)``.
"""

import json
import pickle
import re
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from course_lib.bert import BertConfig
from course_lib.bert_heads import BertForPreTraining

# Their names, as patterns, and ours.
_NAMES = {
    r"bert\.embeddings\.word_embeddings\.": "bert.embeddings.tokens.",
    r"bert\.embeddings\.token_type_embeddings\.": "bert.embeddings.segments.",
    r"bert\.embeddings\.position_embeddings\.": "bert.embeddings.positions.",
    r"bert\.embeddings\.LayerNorm\.": "bert.embeddings.norm.",
    r"bert\.encoder\.layer\.(\d+)\.attention\.self\.(query|key|value)\.": (
        r"bert.encoder.layers.\1.self_attention.\2_projection."
    ),
    r"bert\.encoder\.layer\.(\d+)\.attention\.output\.dense\.": (
        r"bert.encoder.layers.\1.self_attention.output_projection."
    ),
    r"bert\.encoder\.layer\.(\d+)\.attention\.output\.LayerNorm\.": (
        r"bert.encoder.layers.\1.attention_residual.norm."
    ),
    r"bert\.encoder\.layer\.(\d+)\.intermediate\.dense\.": (
        r"bert.encoder.layers.\1.feed_forward.expansion."
    ),
    r"bert\.encoder\.layer\.(\d+)\.output\.dense\.": (
        r"bert.encoder.layers.\1.feed_forward.contraction."
    ),
    r"bert\.encoder\.layer\.(\d+)\.output\.LayerNorm\.": (
        r"bert.encoder.layers.\1.feed_forward_residual.norm."
    ),
    r"bert\.pooler\.dense\.": "bert.pooler.projection.",
    r"cls\.predictions\.transform\.dense\.": "masked_language_model.projection.",
    r"cls\.predictions\.transform\.LayerNorm\.": "masked_language_model.norm.",
    r"cls\.predictions\.bias$": "masked_language_model.output_projection.bias",
    r"cls\.seq_relationship\.": "next_sentence.projection.",
}

# Theirs, which say again what other tensors say.
_REPEATED = {
    "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}
_NOT_LEARNED = {"bert.embeddings.position_ids"}


def from_huggingface(folder: Path | str) -> BertForPreTraining:
    """Load a pre-trained BERT with both of its heads.

    Args:
        folder: Holds ``config.json`` and ``model.safetensors``, or else ``pytorch_model.bin``, as
            ``transformers.BertForPreTraining.save_pretrained`` writes them and as the hub has
            them for ``bert-base-uncased``.

    Returns:
        The model, in evaluation mode and in the dtype of the checkpoint.

    Raises:
        FileNotFoundError: A file is missing.
        ValueError: The checkpoint is of another kind of model, or lacks a tensor, or has one that
            BERT has no place for, or holds more than tensors.

    Source: chapter "BERT".
    """
    folder = Path(folder)
    config = _read_config(folder)
    theirs = _read_tensors(folder)
    for repeated, original in _REPEATED.items():
        copy = theirs.pop(repeated, None)
        if copy is not None and original in theirs and not torch.equal(copy, theirs[original]):
            raise ValueError(f"{repeated} must equal {original}, as BERT shares them; they differ")
    ours = {_our_name(name): tensor for name, tensor in theirs.items() if name not in _NOT_LEARNED}

    model = BertForPreTraining(config)
    ours["masked_language_model.output_projection.weight"] = ours.get(
        "bert.embeddings.tokens.weight", torch.empty(0)
    )
    expected = {name: tensor.shape for name, tensor in model.state_dict().items()}
    for problem, names in (
        ("lacks", expected.keys() - ours.keys()),
        ("has no place in BertForPreTraining for", ours.keys() - expected.keys()),
    ):
        if names:
            raise ValueError(f"the checkpoint in {folder} {problem} {', '.join(sorted(names)[:4])}")
    for name, shape in expected.items():
        if ours[name].shape != shape:
            raise ValueError(
                f"{name} must have shape {tuple(shape)} by config.json, "
                f"got {tuple(ours[name].shape)}"
            )
    model.to(ours["bert.embeddings.tokens.weight"].dtype).load_state_dict(ours)
    return model.eval()


def _our_name(name: str) -> str:
    for pattern, ours in _NAMES.items():
        renamed, count = re.subn(f"^{pattern}", ours, name)
        if count:
            break
    else:
        return name  # reported by its own name
    # Checkpoints converted from TensorFlow call the gain gamma and the bias beta.
    ending = {"gamma": "gain", "beta": "bias"}
    if ".norm." in renamed:
        ending["weight"] = "gain"
    stem, _, last = renamed.rpartition(".")
    return f"{stem}.{ending.get(last, last)}"


def _read_config(folder: Path) -> BertConfig:
    path = folder / "config.json"
    if not path.is_file():
        raise FileNotFoundError(f"folder must hold config.json, {folder} does not")
    theirs: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for name, supported in (
        ("model_type", "bert"),
        ("hidden_act", "gelu"),
        ("position_embedding_type", "absolute"),
        ("is_decoder", False),
        ("tie_word_embeddings", True),
    ):
        if theirs.get(name, supported) != supported:
            raise ValueError(f"{name} in {path} must be {supported!r}, got {theirs[name]!r}")
    names = {
        "vocab_size": "vocab_size",
        "max_position_embeddings": "max_length",
        "type_vocab_size": "num_segments",
        "num_hidden_layers": "num_layers",
        "hidden_size": "d_model",
        "num_attention_heads": "num_heads",
        "intermediate_size": "d_ff",
        "hidden_dropout_prob": "dropout",
        "layer_norm_eps": "epsilon",
        "initializer_range": "initial_std",
        "pad_token_id": "pad_id",
    }
    return BertConfig(**{ours: theirs[name] for name, ours in names.items() if name in theirs})


def _read_tensors(folder: Path) -> dict[str, Tensor]:
    safe, pickled = folder / "model.safetensors", folder / "pytorch_model.bin"
    try:
        if safe.is_file():
            return dict(load_file(safe))
        if pickled.is_file():
            return dict(torch.load(pickled, map_location="cpu", weights_only=True))
    except (SafetensorError, pickle.UnpicklingError) as error:
        raise ValueError(f"the weights in {folder} must be plain tensors: {error}") from error
    raise FileNotFoundError(f"folder must hold {safe.name} or {pickled.name}, {folder} does not")
