"""Attention weights held against a known alignment.

Dimensions: batch; query_len and key_len (tokens).
"""

import torch
from torch import Tensor


def alignment_error(weights: Tensor, alignment: Tensor) -> float:
    """Return how often the largest weight lies elsewhere than at the true source.

    Args:
        weights: ``(batch, query_len, key_len)``, attention weights.
        alignment: ``(batch, query_len)``, for each query the position of the key that it should
            attend to; -1 where there is none, which is not counted.

    Returns:
        Share of queries, 0 to 1: the alignment error rate of the links from each query to its
        heaviest key.

    Raises:
        ValueError: The shapes do not fit, or no query has a true source.

    Source: Och and Ney (2003), with one sure link a query; chapter "Self-attention".
    """
    has_source = _check(weights, alignment)
    wrong = weights.argmax(dim=-1) != alignment  # (batch, query_len)
    return float(wrong[has_source].double().mean())


def misplaced_weight(weights: Tensor, alignment: Tensor) -> float:
    """Return how much of the weight lies elsewhere than at the true source.

    Args:
        weights: ``(batch, query_len, key_len)``, attention weights.
        alignment: ``(batch, query_len)``, as for ``alignment_error``.

    Returns:
        Mean over queries of 1 minus the weight of the true source, 0 to 1.

    Raises:
        ValueError: The shapes do not fit, or no query has a true source.

    Source: chapter "Self-attention".
    """
    has_source = _check(weights, alignment)
    placed = weights.detach().gather(-1, alignment.clamp(min=0)[..., None])[
        ..., 0
    ]  # (batch, query_len)
    return float(1 - placed[has_source].double().mean())


def _check(weights: Tensor, alignment: Tensor) -> Tensor:
    if weights.dim() != 3 or alignment.shape != weights.shape[:2]:
        raise ValueError(
            "weights must have shape (batch, query_len, key_len) and alignment (batch, query_len), "
            f"got {tuple(weights.shape)} and {tuple(alignment.shape)}"
        )
    if int(alignment.max()) >= weights.size(-1):
        raise ValueError(
            f"alignment must name keys 0 to {weights.size(-1) - 1}, got {int(alignment.max())}"
        )
    has_source = alignment >= 0
    if not bool(has_source.any()):
        raise ValueError("alignment must name a source for at least one query, got only -1")
    return torch.as_tensor(has_source)
