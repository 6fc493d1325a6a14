"""Pre-trained BERT: weights, from a folder as Hugging Face's hub has it."""

import re
from pathlib import Path

from course_lib.models.bert import BertConfig
from course_lib.models.bert_heads import BertForPreTraining
from course_lib.models.pretrained.huggingface import (
    drop_repeated,
    load_exactly,
    read_config,
    read_tensors,
    require,
)

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
        r"bert.encoder.layers.\1.feed_forward.up_projection."
    ),
    r"bert\.encoder\.layer\.(\d+)\.output\.dense\.": (
        r"bert.encoder.layers.\1.feed_forward.down_projection."
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
_SUPPORTED = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "tie_word_embeddings": True,
}
_SETTINGS = {
    "vocab_size": "vocab_size",
    "max_position_embeddings": "max_length",
    "type_vocab_size": "num_segments",
    "num_hidden_layers": "num_layers",
    "hidden_size": "d_model",
    "num_attention_heads": "num_heads",
    "intermediate_size": "d_ff",
    "hidden_dropout_prob": "dropout",
    "layer_norm_eps": "eps",
    "initializer_range": "init_std",
    "pad_token_id": "pad_id",
}


def from_huggingface(folder: Path | str) -> BertForPreTraining:
    """Load a pre-trained BERT with both of its heads from a folder; see the room's docstring.

    The folder is as ``transformers.BertForPreTraining.save_pretrained`` writes it and as the hub
    has it for ``bert-base-uncased``.

    Source: chapter "BERT".
    """
    folder = Path(folder)
    config = _read_bert_config(folder)
    theirs = read_tensors(folder)
    drop_repeated(theirs, _REPEATED)
    ours = {_our_name(name): tensor for name, tensor in theirs.items() if name not in _NOT_LEARNED}
    if "bert.embeddings.tokens.weight" in ours:
        ours["masked_language_model.output_projection.weight"] = ours[
            "bert.embeddings.tokens.weight"
        ]
    model = BertForPreTraining(config)
    load_exactly(model, ours, folder)
    return model


def _read_bert_config(folder: Path) -> BertConfig:
    theirs = read_config(folder)
    require(theirs, _SUPPORTED, folder)
    return BertConfig(**{ours: theirs[name] for name, ours in _SETTINGS.items() if name in theirs})


def _our_name(name: str) -> str:
    for pattern, ours in _NAMES.items():
        renamed, count = re.subn(f"^{pattern}", ours, name)
        if count:
            break
    else:
        return name  # reported by its own name
    # Checkpoints converted from TensorFlow call the weight gamma and the bias beta.
    ending = {"gamma": "weight", "beta": "bias"}
    if ".norm." in renamed:
        ending["weight"] = "weight"
    stem, _, last = renamed.rpartition(".")
    return f"{stem}.{ending.get(last, last)}"
