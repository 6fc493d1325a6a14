"""Loss functions for classification.

Dimensions: ... stands for any leading dimensions (batch, length); vocab_size (classes).
"""

from typing import Literal

import torch
from torch import Tensor


def label_smoothed_cross_entropy(
    logits: Tensor,
    targets: Tensor,
    *,
    smoothing: float = 0.1,
    ignore_index: int | None = None,
    reduction: Literal["mean", "sum", "none"] = "mean",
) -> Tensor:
    """Compute the cross-entropy with label smoothing.

    The target distribution gives ``1 - smoothing`` to the right class and spreads ``smoothing``
    evenly over all classes, the right one among them. The loss is the cross-entropy from it to the
    prediction. Without smoothing it is the negative log-probability of the right class, and its
    least value is 0; with smoothing the least value is the entropy of the target distribution.

    Args:
        logits: ``(..., vocab_size)``, floating point.
        targets: ``(...)``, int64, the right classes.
        smoothing: Share that is spread, from 0 up to but not including 1.
        ignore_index: Targets of this value cost nothing and do not count in the mean; padding, as
            a rule. None ignores nothing.
        reduction: ``mean`` over what counts (NaN if nothing does), ``sum``, or ``none``.

    Returns:
        In nats: a scalar, or with ``none`` one loss a target, of the shape of ``targets``.

    Raises:
        ValueError: The shapes do not fit, ``smoothing`` is no share below 1, or ``reduction`` is
            unknown.
        IndexError: A target is no class and not ignored. (A GPU finds out later: its kernel
            stops.)

    Source: Szegedy et al. (2016), section 7; Vaswani et al. (2017), section 5.4; chapter
        "Training a Transformer".
    """
    if logits.dim() == 0 or logits.shape[:-1] != targets.shape:
        raise ValueError(
            f"targets must have the shape of logits without its last dimension, got targets "
            f"{tuple(targets.shape)} and logits {tuple(logits.shape)}"
        )
    if not 0 <= smoothing < 1:
        raise ValueError(f"smoothing must be at least 0 and below 1, got {smoothing}")
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction must be 'mean', 'sum' or 'none', got {reduction!r}")

    counts = torch.ones_like(targets, dtype=torch.bool)  # (...), True where a target counts
    if ignore_index is not None:
        counts = targets != ignore_index
    right = targets.masked_fill(~counts, 0)  # (...); an ignored target need not be a class
    log_probabilities = torch.log_softmax(logits, dim=-1)  # (..., vocab_size)
    try:
        losses = -log_probabilities.gather(-1, right[..., None])[..., 0]  # (...)
    except RuntimeError as error:  # looking first would cost a pass over the targets each time
        if right.dtype != torch.int64 or 0 <= right.min() <= right.max() < logits.size(-1):
            raise
        raise IndexError(
            f"targets must lie in 0 to {logits.size(-1) - 1}, got {right.min()} to {right.max()}"
        ) from error
    if smoothing > 0:
        losses = (1 - smoothing) * losses - smoothing * log_probabilities.mean(dim=-1)
    losses = losses.masked_fill(~counts, 0.0)
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.sum() / counts.sum()
