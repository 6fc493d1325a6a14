"""Perplexity of a language model, from the log-probabilities of tokens (nats).

Dimensions: batch; length (tokens); vocab_size.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def token_log_probabilities(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the log-probabilities (nats) of targets ``(...)`` under logits ``(..., vocab_size)``.

    Source: chapter "Language models".
    """
    if logits.shape[:-1] != targets.shape:
        raise ValueError(
            "logits must have the shape of targets and vocab_size, got "
            f"{tuple(logits.shape)} and {tuple(targets.shape)}"
        )
    log_probabilities = F.log_softmax(logits, dim=-1)  # (..., vocab_size)
    return log_probabilities.gather(-1, targets[..., None])[..., 0]


def perplexity(log_probabilities: Tensor, is_counted: Tensor | None = None) -> float:
    """Compute the perplexity: ``exp`` of the mean of ``-log p`` over all tokens of a corpus.

    It is 1 for a model that is always certain and right, ``vocab_size`` for uniform predictions,
    and infinite if a token that occurs has probability 0.

    >>> round(perplexity(torch.tensor([0.5, 0.125]).log()), 6)
    4.0

    Args:
        log_probabilities: Of the corpus's tokens (nats), any shape such as ``(batch, length)``.
        is_counted: Boolean, same shape, False at padding; None counts all tokens.

    Returns:
        The perplexity per token, at least 1.

    Source: Jelinek et al. (1977); chapter "Language models".
    """
    if is_counted is not None:
        if is_counted.dtype != torch.bool:
            raise TypeError(f"is_counted must be boolean (True = counted), got {is_counted.dtype}")
        if is_counted.shape != log_probabilities.shape:
            raise ValueError(
                "is_counted must have the shape of log_probabilities, "
                f"{tuple(log_probabilities.shape)}, got {tuple(is_counted.shape)}"
            )
        log_probabilities = log_probabilities[is_counted]
    if log_probabilities.numel() == 0:
        raise ValueError("at least one token must be counted, got none")
    if not bool((log_probabilities <= 1e-6).all()):  # rounding may lift log 1 a little above 0
        raise ValueError(
            "log_probabilities must be at most 0 (nats), "
            f"got a largest of {log_probabilities.max().item()}"
        )
    return float(log_probabilities.double().mean().neg().exp())
