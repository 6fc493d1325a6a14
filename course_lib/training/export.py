"""Export: a trained model as JSON, for a page of the book that runs it in the reader's browser.

A file holds parameters and no code; the page has formulas of its own. So a file also holds the
logits of the reader's model for some texts, and the page shows how much its own differ. Sizes are
read off the parameters, because a model from a homework has no config.

Dimensions: length, src_len, tgt_len (tokens); vocab_size; d_model; d_ff.
"""

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

import torch
from torch import Tensor, nn

TRANSLATOR_FORMAT = "course translator, version 1"
LANGUAGE_MODEL_FORMAT = "course language model, version 1"
MASKED_LANGUAGE_MODEL_FORMAT = "course masked language model, version 1"
"""Names of the file formats, which the page checks."""
MAX_LENGTH = 20
"""Maximum length of a translation (tokens), here and in the page."""

_UP = "feed_forward.up_projection.weight"


class ExportedParameters(TypedDict):
    """Parameters as JSON holds them.

    Attributes:
        shapes: From each parameter's name to its shape, in the order of the numbers.
        float32: All numbers, row by row, as little-endian float32 in base64.
        float16: All numbers as little-endian float16; instead of ``float32``.
    """

    shapes: dict[str, list[int]]
    float32: NotRequired[str]
    float16: NotRequired[str]


def export_parameters(
    model: nn.Module, dtype: Literal["float32", "float16"] = "float32"
) -> ExportedParameters:
    """Return a model's parameters as text; a shared one once, under its first name.

    >>> exported = export_parameters(nn.LayerNorm(2))
    >>> exported["shapes"]
    {'weight': [2], 'bias': [2]}
    >>> len(exported["float32"])  # 4 numbers of 4 bytes; 3 bytes are 4 letters
    24

    Source: chapter "A Transformer to take apart".
    """
    named = dict(model.named_parameters())
    numbers = torch.cat([p.detach().to("cpu", torch.float32).flatten() for p in named.values()])
    data = numbers.numpy().astype("<f4" if dtype == "float32" else "<f2").tobytes()
    shapes = {name: list(parameter.shape) for name, parameter in named.items()}
    written = base64.b64encode(data).decode("ascii")
    if dtype == "float16":
        return {"shapes": shapes, "float16": written}
    return {"shapes": shapes, "float32": written}


# ---- translators ----


def export_translator(
    model: nn.Module,
    path: str | Path,
    *,
    src_words: Sequence[str],
    tgt_words: Sequence[str],
    sentences: Sequence[str],
    num_heads: int,
) -> Path:
    """Write a translator that you have trained to a file, to open it in the book.

    Args:
        model: A ``Transformer`` with the attributes of that in ``course_lib.models.transformer``,
            called as ``model(src, tgt)``, with ReLU and sinusoidal positions.
        path: The file, such as ``my-model.json``.
        src_words: The source vocabulary, in the order of the ids, with ``<end>``.
        tgt_words: The target vocabulary, in the order of the ids, with ``<start>`` and ``<end>``.
        sentences: Source sentences, words with spaces between; at least one.
        num_heads: Number of attention heads, which the parameters do not show.

    Returns:
        The path of the file.

    Raises:
        ValueError: A parameter is missing, infinite or NaN, a vocabulary does not fit the model, or
            a sentence has an unknown word.

    Source: chapter "A Transformer to take apart".
    """
    config = _translator_config(model, num_heads)
    _check_words("src_words", src_words, config["src_vocab_size"], ["<end>"])
    _check_words("tgt_words", tgt_words, config["tgt_vocab_size"], ["<start>", "<end>"])
    sources = _encode("sentences", "src_words", sentences, src_words)
    end = src_words.index("<end>")
    with _evaluating(model):
        runs = [_translate(model, [*src, end], list(tgt_words)) for src in sources]
    return _write(
        path,
        TRANSLATOR_FORMAT,
        {
            "config": config,
            "words": {"src": list(src_words), "tgt": list(tgt_words)},
            "parameters": export_parameters(model),
        },
        runs,
    )


def _translator_config(model: nn.Module, num_heads: int) -> dict[str, Any]:
    """Return a Transformer's sizes and choices by name, read off its parameters."""
    sizes = _finite_sizes(model)
    tgt_vocab_size, d_model = _size(sizes, "tgt_embedding.weight")
    source = "src_embedding.weight" if "src_embedding.weight" in sizes else "tgt_embedding.weight"
    return {
        "src_vocab_size": _size(sizes, source)[0],
        "tgt_vocab_size": tgt_vocab_size,
        "d_model": d_model,
        "num_heads": _checked_heads(num_heads, d_model),
        "d_ff": _size(sizes, f"encoder.layers.0.{_UP}")[0],
        "num_encoder_layers": _num_layers(sizes, "encoder."),
        "num_decoder_layers": _num_layers(sizes, "decoder."),
        "norm_position": "pre" if "encoder.norm.weight" in sizes else "post",
        "positions": "sinusoidal",
        "activation": "relu",
    }


@torch.no_grad()
def _translate(model: nn.Module, src: list[int], words: list[str]) -> dict[str, Any]:
    """Translate source ids greedily; ``words`` is the target vocabulary.

    Return the source ids, the target ids ``read`` by the decoder, and their ``logits``.
    """
    read, end = [words.index("<start>")], words.index("<end>")
    while True:
        logits = model(_row(src, model), _row(read, model))[0]  # (tgt_len, tgt_vocab_size)
        chosen = int(logits[-1].argmax())
        if chosen == end or len(read) == MAX_LENGTH:
            return {"src": src, "read": read, "logits": logits.float().tolist()}
        read.append(chosen)


# ---- language models ----


def language_model_data(
    model: nn.Module, *, words: Sequence[str], start: str, end: str, num_heads: int
) -> dict[str, Any]:
    """Return a decoder's ``config``, ``words`` and ``parameters``, ready for JSON.

    Args:
        model: A ``DecoderLM`` with learned positions, or one with its attributes.
        words: The vocabulary, in the order of the ids.
        start: The word with which a text begins.
        end: The word with which it ends.
        num_heads: Attention heads, which the parameters do not show.

    Returns:
        The data.

    Raises:
        ValueError: A parameter is missing, infinite or NaN, or another argument does not fit the
            model.

    Source: chapter "Decoder-only language models".
    """
    sizes = _finite_sizes(model)
    vocab_size, d_model = _size(sizes, "embedding.weight")
    _check_words("words", words, vocab_size, (start, end))
    config = {
        "vocab_size": vocab_size,
        "max_length": _size(sizes, "positions.weight")[0],
        "d_model": d_model,
        "num_heads": _checked_heads(num_heads, d_model),
        "d_ff": _size(sizes, f"layers.0.{_UP}")[0],
        "num_layers": _num_layers(sizes),
        "start": words.index(start),
        "end": words.index(end),
    }
    return {"config": config, "words": list(words), "parameters": export_parameters(model)}


def masked_language_model_data(
    model: nn.Module, *, words: Sequence[str], num_heads: int, causal: bool = False
) -> dict[str, Any]:
    """Return a BERT's ``config``, ``words`` and ``parameters``, ready for JSON.

    ``model`` has the submodules ``embeddings`` and ``encoder`` of a BERT, and a
    ``MaskedLanguageModelHead`` named ``head``; with ``causal`` a position attends only to itself
    and to earlier ones. ``words``, ``num_heads`` and errors are as in ``language_model_data``.

    Source: chapter "BERT".
    """
    sizes = _finite_sizes(model)
    vocab_size, d_model = _size(sizes, "embeddings.tokens.weight")
    _check_words("words", words, vocab_size, ("[CLS]", "[SEP]", "[MASK]"))
    _size(sizes, "head.output_projection.bias")
    parts = dict(model.named_modules())
    config = {
        "vocab_size": vocab_size,
        "max_length": _size(sizes, "embeddings.positions.weight")[0],
        "num_segments": _size(sizes, "embeddings.segments.weight")[0],
        "d_model": d_model,
        "num_heads": _checked_heads(num_heads, d_model),
        "d_ff": _size(sizes, f"encoder.layers.0.{_UP}")[0],
        "num_layers": _num_layers(sizes),
        "norm_position": "pre" if "encoder.norm.weight" in sizes else "post",
        "causal": causal,
        "eps_embeddings": _epsilon(parts, "embeddings.norm"),
        "eps_layers": _epsilon(parts, "encoder.layers.0.attention_residual.norm"),
        "eps_head": _epsilon(parts, "head.norm"),
    }
    return {"config": config, "words": list(words), "parameters": export_parameters(model)}


def export_language_model(
    model: nn.Module,
    path: str | Path,
    *,
    words: Sequence[str],
    start: str,
    end: str,
    num_heads: int,
    begin: Callable[[], Callable[[Tensor], Tensor]],
    texts: Sequence[str],
) -> Path:
    """Write a language model that you have trained to a file, to open it in the book.

    ``model``, ``words``, ``start``, ``end`` and ``num_heads`` are those of ``language_model_data``.
    ``begin`` starts a text: it returns a function that reads further tokens ``(1, length)`` and
    returns the logits ``(1, vocab_size)`` of the next, such as the ``advance`` of a ``StepModel``.
    ``texts`` are words with spaces between, at least one text. Return the path of the file; wrong
    arguments raise a ``ValueError``.

    Source: chapter "Decoder-only language models".
    """
    data = language_model_data(model, words=words, start=start, end=end, num_heads=num_heads)
    runs = []
    for read in _encode("texts", "words", texts, words):
        with torch.no_grad(), _evaluating(model):
            advance = begin()
            for token in read:
                logits = advance(_row([token], model))
        runs.append({"read": read, "logits": logits[0].float().tolist()})
    return _write(path, LANGUAGE_MODEL_FORMAT, data, runs)


def export_masked_language_model(
    model: nn.Module,
    path: str | Path,
    *,
    words: Sequence[str],
    num_heads: int,
    texts: Sequence[Sequence[int]],
) -> Path:
    """Write a BERT that you have trained to a file, to open it in the book.

    ``model``, ``words`` and ``num_heads`` are those of ``masked_language_model_data``; called with
    token ids ``(1, length)`` the model returns logits ``(1, length, vocab_size)``. ``texts`` are
    token ids without padding, ``[CLS]`` first and ``[SEP]`` last, at least one text. Return the
    path of the file; wrong arguments raise a ``ValueError``.

    Source: chapter "BERT".
    """
    data = masked_language_model_data(model, words=words, num_heads=num_heads)
    if not texts:
        raise ValueError("texts must hold at least 1 text, got none")
    with torch.no_grad(), _evaluating(model):
        runs = [
            {"read": list(read), "logits": model(_row(read, model))[0].float().tolist()}
            for read in texts
        ]
    return _write(path, MASKED_LANGUAGE_MODEL_FORMAT, data, runs)


# ---- parts ----


def _finite_sizes(model: nn.Module) -> dict[str, torch.Size]:
    """Return the shapes of a model's parameters by name; reject infinite or NaN parameters."""
    for name, parameter in model.named_parameters():
        if not parameter.isfinite().all():
            raise ValueError(f"model must hold finite numbers, {name!r} has others")
    return {name: parameter.shape for name, parameter in model.named_parameters()}


def _size(sizes: dict[str, torch.Size], name: str) -> torch.Size:
    """Return the shape of a parameter; a missing one raises a ``ValueError``."""
    if name not in sizes:
        raise ValueError(f"model must be a Transformer, its parameter {name!r} is missing")
    return sizes[name]


def _num_layers(sizes: dict[str, torch.Size], prefix: str = "") -> int:
    """Count layers by their parameters' names; ``sizes`` maps these to shapes."""
    return sum(name.startswith(prefix) and name.endswith(_UP) for name in sizes)


def _checked_heads(num_heads: int, d_model: int) -> int:
    """Return ``num_heads`` if it divides ``d_model``, otherwise raise a ``ValueError``."""
    if num_heads < 1 or d_model % num_heads != 0:
        raise ValueError(f"num_heads must divide the width {d_model}, got {num_heads}")
    return num_heads


def _epsilon(parts: dict[str, nn.Module], name: str) -> float:
    """Return the ``eps`` of the normalisation ``name``; ``parts`` are all submodules by name."""
    epsilon = getattr(parts.get(name), "eps", None)
    if not isinstance(epsilon, float):
        raise ValueError(f"model must have a normalisation {name!r} that says its eps")
    return epsilon


def _check_words(name: str, words: Sequence[str], size: int, specials: Sequence[str]) -> None:
    """Check that a vocabulary has ``size`` different words, the special ones among them.

    ``name`` is the argument to name in an error.
    """
    if len(words) != size or len(set(words)) != size:
        raise ValueError(f"{name} must hold {size} different words, got {len(words)}")
    if missing := sorted({*specials} - {*words}):
        raise ValueError(f"{name} must hold {missing}")


def _encode(
    name: str, words_name: str, texts: Sequence[str], words: Sequence[str]
) -> list[list[int]]:
    """Turn texts into ids of ``words``; raise a ValueError for no or empty texts or unknown words.

    ``name`` and ``words_name`` are the arguments to name in an error.
    """
    split = [text.split() for text in texts]
    if not split or not all(split):
        raise ValueError(f"{name} must hold at least 1 text, each of words, got {list(texts)}")
    if unknown := [word for text in split for word in text if word not in words]:
        raise ValueError(f"{name} must hold words of {words_name}, got {unknown}")
    return [[words.index(word) for word in text] for text in split]


def _row(token_ids: Sequence[int], model: nn.Module) -> Tensor:
    """Return token ids as a tensor ``(1, length)`` on the model's device."""
    return torch.tensor([list(token_ids)], device=next(model.parameters()).device)


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation mode inside a ``with`` block."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def _write(
    path: str | Path, file_format: str, data: dict[str, Any], runs: list[dict[str, Any]]
) -> Path:
    """Write as JSON a format's name, a model's data and ``runs``, the logits for each text.

    Return the path. Infinite or NaN logits raise a ``ValueError``.
    """
    path = Path(path)
    written = {"format": file_format} | data | {"sentences": runs}
    path.write_text(json.dumps(written, allow_nan=False), encoding="ascii")
    return path
