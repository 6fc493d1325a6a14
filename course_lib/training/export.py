"""Export: a trained model as text, for a page that runs the model in the reader's browser.

Dimensions: src_len, tgt_len (tokens); d_model; d_ff.
"""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

import torch
from torch import Tensor, nn

from course_lib.training.exported_file import (
    check_words,
    checked_heads,
    evaluating,
    finite_sizes,
    size_of,
    write_json,
)

TRANSLATOR_FORMAT = "course translator, version 1"
"""What a translator's file says of itself; the page takes no other."""
LONGEST = 20
"""Tokens that are written at most, in the page as here."""


class ExportedParameters(TypedDict):
    """Parameters as JSON holds them.

    Attributes:
        shapes: For each parameter's name its sizes, in the order in which the numbers follow.
        float32: All numbers, row by row, float32 with the smallest byte first, in base64.
        float16: Likewise in half precision, where that was asked for.
    """

    shapes: dict[str, list[int]]
    float32: NotRequired[str]
    float16: NotRequired[str]


def export_parameters(
    model: nn.Module, dtype: Literal["float32", "float16"] = "float32"
) -> ExportedParameters:
    """Write a model's parameters as text.

    Args:
        model: Any model; it is left as it is.
        dtype: How exactly; half precision takes half the bytes, and keeps three digits.

    Returns:
        The parameters. What several modules share is there once, under the name that comes first.

    Source: chapter "A Transformer to take apart".

    Example:
        >>> exported = export_parameters(nn.LayerNorm(2))
        >>> exported["shapes"]
        {'weight': [2], 'bias': [2]}
        >>> len(exported["float32"])  # 4 numbers of 4 bytes; 3 bytes are 4 letters
        24
    """
    named = dict(model.named_parameters())
    numbers = torch.cat([p.detach().to("cpu", torch.float32).flatten() for p in named.values()])
    data = numbers.numpy().astype("<f4" if dtype == "float32" else "<f2").tobytes()
    shapes = {name: list(parameter.shape) for name, parameter in named.items()}
    written = base64.b64encode(data).decode("ascii")
    if dtype == "float16":
        return {"shapes": shapes, "float16": written}
    return {"shapes": shapes, "float32": written}


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

    The model's code does not travel, only its parameters; the page computes with formulas of its
    own. So the file also holds what *your* code makes of the sentences, and the page says how far
    both are apart.

    Args:
        model: A ``Transformer`` with the attributes of that in ``course_lib.models.transformer``,
            called as ``model(src, tgt)``, with ReLU and sinusoidal positions. It is left as it is.
        path: The file, such as ``my-model.json``.
        src_words: The source vocabulary, the id of each word being its place; it holds ``<end>``.
        tgt_words: The target vocabulary, likewise; it holds ``<start>`` and ``<end>``.
        sentences: Sentences of the source, words with spaces between; at least one.
        num_heads: The model's attention heads, which its parameters do not show.

    Returns:
        The file that was written.

    Raises:
        ValueError: A parameter is missing or holds numbers that are not finite, the vocabularies
            are not those of the model, or a sentence has a word outside of them.

    Source: chapter "A Transformer to take apart".
    """
    config = _translator_config(model, num_heads)
    check_words("src_words", src_words, config["src_vocab_size"], ["<end>"])
    check_words("tgt_words", tgt_words, config["tgt_vocab_size"], ["<start>", "<end>"])
    sources = _read_sentences(sentences, src_words)
    with evaluating(model):
        runs = [_translate(model, src, list(tgt_words)) for src in sources]
    written = {
        "format": TRANSLATOR_FORMAT,
        "config": config,
        "words": {"src": list(src_words), "tgt": list(tgt_words)},
        "parameters": export_parameters(model),
        "sentences": [
            {"src": src, "read": tokens, "logits": logits.tolist()}
            for src, (tokens, logits) in zip(sources, runs, strict=True)
        ],
    }
    return write_json(path, written)


def _translator_config(model: nn.Module, num_heads: int) -> dict[str, Any]:
    """Read a Transformer's sizes and choices off its parameters."""
    sizes = finite_sizes(model)
    tgt_vocab_size, d_model = size_of(sizes, "tgt_embedding.weight")
    source = "src_embedding.weight" if "src_embedding.weight" in sizes else "tgt_embedding.weight"
    layers = {
        side: sum(
            name.startswith(f"{side}.layers.")
            and name.endswith("feed_forward.up_projection.weight")
            for name in sizes
        )
        for side in ("encoder", "decoder")
    }
    d_ff, _ = size_of(sizes, "encoder.layers.0.feed_forward.up_projection.weight")
    return {
        "src_vocab_size": size_of(sizes, source)[0],
        "tgt_vocab_size": tgt_vocab_size,
        "d_model": d_model,
        "num_heads": checked_heads(num_heads, d_model),
        "d_ff": d_ff,
        "num_encoder_layers": layers["encoder"],
        "num_decoder_layers": layers["decoder"],
        "norm_position": "pre" if "encoder.norm.weight" in sizes else "post",
        "positions": "sinusoidal",
        "activation": "relu",
    }


def _read_sentences(sentences: Sequence[str], words: Sequence[str]) -> list[list[int]]:
    if not sentences:
        raise ValueError("sentences must hold at least 1 sentence, got none")
    ids = {word: i for i, word in enumerate(words)}
    read = [sentence.split() for sentence in sentences]
    for sentence in read:
        if not sentence:
            raise ValueError("sentences must hold words, got an empty one")
        if unknown := [word for word in sentence if word not in ids]:
            raise ValueError(f"sentences must hold words of src_words, got {unknown}")
    return [[*(ids[word] for word in sentence), ids["<end>"]] for sentence in read]


@torch.no_grad()
def _translate(model: nn.Module, src: list[int], words: list[str]) -> tuple[list[int], Tensor]:
    """Write the likeliest word each time; return what was read and the logits of the last time."""
    device = next(model.parameters()).device
    source = torch.tensor([src], device=device)
    read, end = [words.index("<start>")], words.index("<end>")
    while True:
        logits = model(source, torch.tensor([read], device=device))[0]  # (tgt_len, tgt_vocab_size)
        chosen = int(logits[-1].argmax())
        if chosen == end or len(read) == LONGEST:
            return read, logits.to("cpu", torch.float32)
        read.append(chosen)
