"""What models that a page is to run have in common: sizes read off parameters, words, a file."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn


def finite_sizes(model: nn.Module) -> dict[str, torch.Size]:
    """Read the sizes of a model's parameters, once their numbers are known to be finite.

    Args:
        model: Any model.

    Returns:
        For each parameter's name its sizes.

    Raises:
        ValueError: A parameter holds other numbers; it is named.
    """
    for name, parameter in model.named_parameters():
        if not parameter.isfinite().all():
            raise ValueError(f"model must hold finite numbers, {name!r} has others")
    return {name: parameter.shape for name, parameter in model.named_parameters()}


def size_of(sizes: dict[str, torch.Size], name: str) -> torch.Size:
    """Return the sizes of a parameter that the page needs.

    Args:
        sizes: Of all parameters.
        name: Which.

    Returns:
        Its sizes.

    Raises:
        ValueError: The model has none of that name.
    """
    if name not in sizes:
        raise ValueError(f"model must be a Transformer, its parameter {name!r} is missing")
    return sizes[name]


def checked_heads(num_heads: int, d_model: int) -> int:
    """Return a number of heads that divides the width.

    Args:
        num_heads: What was said.
        d_model: The width.

    Returns:
        That number.

    Raises:
        ValueError: It does not divide it.
    """
    if num_heads < 1 or d_model % num_heads != 0:
        raise ValueError(f"num_heads must divide the width {d_model}, got {num_heads}")
    return num_heads


def check_words(name: str, words: Sequence[str], size: int, marks: Sequence[str]) -> None:
    """Refuse a vocabulary that is not the model's.

    Args:
        name: What the argument is called.
        words: The vocabulary.
        size: How many different words the model knows.
        marks: Words that must be among them.

    Raises:
        ValueError: It has another size, a word twice, or lacks a mark.
    """
    if len(words) != size or len(set(words)) != size:
        raise ValueError(f"{name} must hold {size} different words, got {len(words)}")
    if missing := sorted({*marks} - {*words}):
        raise ValueError(f"{name} must hold {missing}")


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluate the model in the block; if it was being trained, it is again afterwards.

    Args:
        model: Any model.
    """
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def write_json(path: str | Path, written: dict[str, Any]) -> Path:
    """Write a file that a page can open.

    Args:
        path: The file.
        written: What it holds.

    Returns:
        The file.

    Raises:
        ValueError: A number is not finite, which JSON can't say.
    """
    path = Path(path)
    path.write_text(json.dumps(written, allow_nan=False), encoding="ascii")
    return path
