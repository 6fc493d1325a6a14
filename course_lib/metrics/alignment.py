"""Alignment error: attention weights compared with a known alignment.

An alignment is either positions ``(batch, query_len)``, int64: for each query the key that it
should attend to, or -1. Or, if a query can have several keys, it is links ``(batch, query_len,
key_len)``, bool, as from ``SentencePair.alignment_matrix``. Queries without a key are not counted.

Dimensions: batch; query_len and key_len (tokens).
"""

import torch
from torch import Tensor


def alignment_error(weights: Tensor, alignment: Tensor) -> float:
    """Return how often the largest weight lies elsewhere than at a true source.

    Args:
        weights: ``(batch, query_len, key_len)``, attention weights.
        alignment: Positions ``(batch, query_len)`` or links ``(batch, query_len, key_len)``.

    Returns:
        Share of queries, 0 to 1: with one source a query, the alignment error rate of the links
        from each query to its heaviest key.

    Raises:
        TypeError: The alignment holds neither integers nor booleans.
        ValueError: The shapes do not fit, or no query has a true source.

    Source: Och and Ney (2003), with one sure link a query; chapter "Bahdanau attention".
    """
    links = _links(weights, alignment)
    right = links.gather(-1, weights.argmax(dim=-1, keepdim=True))[..., 0]  # (batch, query_len)
    return float(1 - right[links.any(dim=-1)].double().mean())


def unaligned_attention(weights: Tensor, alignment: Tensor) -> float:
    """Return the share of attention off the true sources, the mean over queries, 0 to 1.

    Arguments and errors are those of ``alignment_error``.

    Source: chapter "Bahdanau attention".
    """
    links = _links(weights, alignment)
    placed = (weights.detach() * links).sum(dim=-1)  # (batch, query_len)
    return float(1 - placed[links.any(dim=-1)].double().mean())


def _links(weights: Tensor, alignment: Tensor) -> Tensor:
    """Return the alignment, checked, as boolean links ``(batch, query_len, key_len)``."""
    fits = alignment.shape in (weights.shape[:2], weights.shape)
    if weights.dim() != 3 or not fits:
        raise ValueError(
            "weights must have shape (batch, query_len, key_len) and alignment (batch, query_len) "
            f"or that of the weights, got {tuple(weights.shape)} and {tuple(alignment.shape)}"
        )
    if alignment.is_floating_point() or (alignment.dtype is torch.bool) != (alignment.dim() == 3):
        raise TypeError(
            f"alignment must hold integer positions or boolean links, got {alignment.dtype} of "
            f"shape {tuple(alignment.shape)}"
        )
    if alignment.dim() == 2:
        key_len = weights.size(-1)
        if bool((alignment >= key_len).any()):
            raise ValueError(
                f"alignment must name keys 0 to {key_len - 1}, got {int(alignment.max())}"
            )
        alignment = alignment[..., None] == torch.arange(key_len, device=alignment.device)
    if not bool(alignment.any()):
        raise ValueError("alignment must name a source for at least one query, got none")
    return alignment  # (batch, query_len, key_len)
