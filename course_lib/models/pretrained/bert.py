"""Pre-trained BERT: weights and tokenizer, from a folder as Hugging Face's hub has it."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar, overload

from torch import Tensor, nn

from course_lib.models.bert import BertConfig, BertModel
from course_lib.models.bert_heads import (
    BertForMaskedLM,
    BertForPreTraining,
    BertForSequenceClassification,
)
from course_lib.models.pretrained.huggingface import (
    drop_repeated,
    in_order,
    load_exactly,
    read_config,
    read_tensors,
    read_tokenizer_json,
    rename,
    require,
)
from course_lib.tokenization.vocabulary import Vocabulary
from course_lib.tokenization.wordpiece import WordPiece

# Names in the checkpoint, as patterns, and in ``BertForPreTraining``.
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

# Tensors that repeat others: their names, and those of the originals.
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


Model = TypeVar(
    "Model", BertModel, BertForMaskedLM, BertForPreTraining, BertForSequenceClassification
)

# Prefixes of tensors that a model has no use for: heads of other models.
_LEFT_OUT: dict[type[nn.Module], tuple[str, ...]] = {
    BertModel: ("cls.", "classifier."),
    BertForMaskedLM: ("cls.seq_relationship.",),
    BertForPreTraining: (),
    BertForSequenceClassification: ("cls.",),
}


@overload
def from_huggingface(folder: Path | str) -> BertForPreTraining: ...


@overload
def from_huggingface(folder: Path | str, kind: type[Model]) -> Model: ...


def from_huggingface(folder: Path | str, kind: type[nn.Module] = BertForPreTraining) -> nn.Module:
    """Load a pre-trained BERT from a folder; see the package's docstring.

    The folder is as ``save_pretrained`` of a BERT of ``transformers`` writes it and as the hub has
    it: ``bert-base-uncased`` with both heads of its training, most others as an encoder alone, a
    masked-language model or a classifier, with or without ``bert.`` before the encoder's names.

    Args:
        folder: Holds ``config.json`` and the weights.
        kind: The model's class: ``BertForPreTraining``, ``BertModel``, ``BertForMaskedLM`` or
            ``BertForSequenceClassification``. The checkpoint must have its heads; other heads are
            skipped. A missing pooler is zero in ``BertModel`` and ``BertForMaskedLM``.

    Returns:
        The model, in evaluation mode.

    Source: chapter "BERT".
    """
    folder = Path(folder)
    config = _read_bert_config(folder)
    theirs = {
        name: tensor
        for name, tensor in _with_prefix(read_tensors(folder)).items()
        if name not in _NOT_LEARNED and not name.startswith(_LEFT_OUT[kind])
    }
    if kind in (BertForPreTraining, BertForMaskedLM):
        drop_repeated(theirs, _REPEATED)
    ours = {_our_name(name): tensor for name, tensor in theirs.items()}
    embedding = ours.get("bert.embeddings.tokens.weight")
    if embedding is not None and kind in (BertForPreTraining, BertForMaskedLM):
        ours["masked_language_model.output_projection.weight"] = embedding
    if embedding is not None and kind in (BertModel, BertForMaskedLM):
        width = config.d_model
        ours.setdefault("bert.pooler.projection.weight", embedding.new_zeros(width, width))
        ours.setdefault("bert.pooler.projection.bias", embedding.new_zeros(width))
    if kind is BertModel:
        ours = {name.removeprefix("bert."): tensor for name, tensor in ours.items()}
    model = _make(kind, config, ours)
    load_exactly(model, ours, folder)
    return model


def read_tokenizer(folder: Path | str) -> WordPiece:
    """Read the tokenizer of a pre-trained BERT from ``tokenizer.json``; it adds no special tokens.

    The package ``tokenizers`` writes this file. A missing one is a FileNotFoundError, another kind
    of tokenizer a ValueError.

    Source: chapter "BERT".
    """
    path, content = read_tokenizer_json(folder)
    model, normalizer = content.get("model") or {}, content.get("normalizer") or {}
    require(model, {"type": "WordPiece", "continuing_subword_prefix": "##"}, path)
    require(
        normalizer,
        {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True},
        path,
    )
    if not isinstance(model.get("vocab"), dict) or model.get("unk_token") not in model["vocab"]:
        raise ValueError(f"model in {path} must have a vocab with its unk_token in it")
    tokens = in_order(model["vocab"], path)
    specials = tuple(t["content"] for t in content.get("added_tokens", ()) if t["special"])
    return WordPiece(
        vocabulary=Vocabulary(tokens=tokens, specials=specials, unknown=model["unk_token"]),
        lowercase=normalizer.get("lowercase", True),
        strip_accents=normalizer.get("strip_accents"),
        max_characters=model.get("max_input_chars_per_word", 100),
    )


def _with_prefix(theirs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Put ``bert.`` before the names of an encoder that was saved alone."""
    if any(name.startswith("bert.") for name in theirs):
        return theirs
    encoder = ("embeddings.", "encoder.", "pooler.")
    return {f"bert.{n}" if n.startswith(encoder) else n: t for n, t in theirs.items()}


def _make(kind: type[nn.Module], config: BertConfig, ours: Mapping[str, Tensor]) -> nn.Module:
    """Return a new model of a class; ``ours``, named tensors, give a classifier's num_labels."""
    if kind is BertForSequenceClassification:
        head = ours.get("classifier.weight")
        return kind(config, num_labels=1 if head is None else head.size(0))
    return kind(config)


def _read_bert_config(folder: Path) -> BertConfig:
    """Read ``config.json``; an unsupported setting is a ValueError."""
    theirs = read_config(folder)
    require(theirs, _SUPPORTED, folder)
    return BertConfig(**{ours: theirs[name] for name, ours in _SETTINGS.items() if name in theirs})


def _our_name(name: str) -> str:
    """Return the name of a checkpoint's tensor in ``BertForPreTraining``; keep an unknown one."""
    renamed = rename(name, _NAMES)
    if renamed == name:
        return name
    # Checkpoints converted from TensorFlow call the weight gamma and the bias beta.
    ending = {"gamma": "weight", "beta": "bias"}
    if ".norm." in renamed:
        ending["weight"] = "weight"
    stem, _, last = renamed.rpartition(".")
    return f"{stem}.{ending.get(last, last)}"
