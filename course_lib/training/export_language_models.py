"""Export of models of text, a decoder's or a BERT's, for a page that runs them in the browser.

Dimensions: length (tokens); vocab_size; d_model; d_ff.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.training.export import export_parameters
from course_lib.training.exported_file import (
    check_words,
    checked_heads,
    evaluating,
    finite_sizes,
    size_of,
    write_json,
)

LANGUAGE_MODEL_FORMAT = "course language model, version 1"
"""What a decoder's file says of itself; the page takes no other."""
MASKED_LANGUAGE_MODEL_FORMAT = "course masked language model, version 1"
"""What a BERT's file says of itself, likewise."""

_UP = "feed_forward.up_projection.weight"


def language_model_data(
    model: nn.Module, *, words: Sequence[str], start: str, end: str, num_heads: int
) -> dict[str, Any]:
    """Say what a decoder is, so that a page can run it: sizes, words, parameters.

    Args:
        model: A ``DecoderLM`` with learned positions, or one with its attributes. It is left as
            it is.
        words: The vocabulary, the id of each word being its place.
        start: The word with which a text begins.
        end: The word with which it ends.
        num_heads: Attention heads, which the parameters do not show.

    Returns:
        ``config``, ``words`` and ``parameters``, ready for JSON.

    Raises:
        ValueError: A parameter is missing or holds numbers that are not finite, or ``words``,
            ``start``, ``end`` or ``num_heads`` do not go with the model.

    Source: chapter "Transformer families".
    """
    sizes = finite_sizes(model)
    vocab_size, d_model = size_of(sizes, "embedding.weight")
    check_words("words", words, vocab_size, (start, end))
    config = {
        "vocab_size": vocab_size,
        "max_length": size_of(sizes, "positions.weight")[0],
        "d_model": d_model,
        "num_heads": checked_heads(num_heads, d_model),
        "d_ff": size_of(sizes, f"layers.0.{_UP}")[0],
        "num_layers": sum(name.endswith(_UP) for name in sizes),
        "start": words.index(start),
        "end": words.index(end),
    }
    return {"config": config, "words": list(words), "parameters": export_parameters(model)}


def masked_language_model_data(
    model: nn.Module, *, words: Sequence[str], num_heads: int, causal: bool = False
) -> dict[str, Any]:
    """Say what a BERT is, so that a page can run it: sizes, words, parameters.

    Args:
        model: Its parts ``embeddings``, ``encoder`` and ``head`` are those of a BERT with a
            ``MaskedLanguageModelHead``. It is left as it is.
        words: The vocabulary, the id of each token being its place.
        num_heads: Attention heads, which the parameters do not show.
        causal: Whether each place sees itself and what stands to its left alone.

    Returns:
        ``config``, ``words`` and ``parameters``, ready for JSON.

    Raises:
        ValueError: A parameter is missing or holds numbers that are not finite, or ``words`` or
            ``num_heads`` do not go with the model.

    Source: chapter "BERT".
    """
    sizes = finite_sizes(model)
    vocab_size, d_model = size_of(sizes, "embeddings.tokens.weight")
    check_words("words", words, vocab_size, ("[CLS]", "[SEP]", "[MASK]"))
    size_of(sizes, "head.output_projection.bias")
    parts = dict(model.named_modules())
    config = {
        "vocab_size": vocab_size,
        "max_length": size_of(sizes, "embeddings.positions.weight")[0],
        "num_segments": size_of(sizes, "embeddings.segments.weight")[0],
        "d_model": d_model,
        "num_heads": checked_heads(num_heads, d_model),
        "d_ff": size_of(sizes, f"encoder.layers.0.{_UP}")[0],
        "num_layers": sum(name.endswith(_UP) for name in sizes),
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

    The model's code does not travel, only its parameters; the page computes with formulas of its
    own. So the file also holds what *your* code makes of a few texts, read one token at a time,
    and the page says how far both are apart.

    Args:
        model: As for ``language_model_data``.
        path: The file, such as ``my-language-model.json``.
        words: As for ``language_model_data``.
        start: As for ``language_model_data``.
        end: As for ``language_model_data``.
        num_heads: As for ``language_model_data``.
        begin: Begins a text: gives a function that reads further tokens ``(1, length)`` and
            returns the logits ``(1, vocab_size)`` of what may follow, such as the ``advance`` of
            a ``StepModel``.
        texts: Words with spaces between; at least one.

    Returns:
        The file that was written.

    Raises:
        ValueError: As for ``language_model_data``, or a text has a word outside of ``words``.

    Source: chapter "Transformer families".
    """
    data = language_model_data(model, words=words, start=start, end=end, num_heads=num_heads)
    runs = []
    for read in _read_texts(texts, words):
        with torch.no_grad(), evaluating(model):
            advance = begin()
            for token in read:
                logits = advance(_row([token], model))
        runs.append({"read": read, "logits": logits[0].float().tolist()})
    return write_json(path, {"format": LANGUAGE_MODEL_FORMAT} | data | {"sentences": runs})


def export_masked_language_model(
    model: nn.Module,
    path: str | Path,
    *,
    words: Sequence[str],
    num_heads: int,
    texts: Sequence[Sequence[int]],
) -> Path:
    """Write a BERT that you have trained to a file, to open it in the book.

    As with ``export_language_model``, the file also holds what *your* code makes of a few texts.

    Args:
        model: As for ``masked_language_model_data``; called with token ids ``(1, length)`` it
            returns logits ``(1, length, vocab_size)``.
        path: The file, such as ``my-bert.json``.
        words: As for ``masked_language_model_data``.
        num_heads: As for ``masked_language_model_data``.
        texts: Token ids without padding, ``[CLS]`` first and ``[SEP]`` last; at least one.

    Returns:
        The file that was written.

    Raises:
        ValueError: As for ``masked_language_model_data``, or there is no text.

    Source: chapter "BERT".
    """
    data = masked_language_model_data(model, words=words, num_heads=num_heads)
    if not texts:
        raise ValueError("texts must hold at least 1 text, got none")
    with torch.no_grad(), evaluating(model):
        runs = [
            {"read": list(read), "logits": model(_row(read, model))[0].float().tolist()}
            for read in texts
        ]
    return write_json(path, {"format": MASKED_LANGUAGE_MODEL_FORMAT} | data | {"sentences": runs})


def _epsilon(parts: dict[str, nn.Module], name: str) -> float:
    epsilon = getattr(parts.get(name), "eps", None)
    if not isinstance(epsilon, float):
        raise ValueError(f"model must have a normalisation {name!r} that says its eps")
    return epsilon


def _read_texts(texts: Sequence[str], words: Sequence[str]) -> list[list[int]]:
    read = [text.split() for text in texts]
    if not read or not all(read):
        raise ValueError(f"texts must hold at least 1 text, each of words, got {list(texts)}")
    if unknown := [word for text in read for word in text if word not in words]:
        raise ValueError(f"texts must be of words in the vocabulary, got {unknown}")
    return [[words.index(word) for word in text] for text in read]


def _row(read: Sequence[int], model: nn.Module) -> Tensor:
    """Put a text's tokens where the model is, ``(1, length)``."""
    return torch.tensor([list(read)], device=next(model.parameters()).device)
