"""Hypotheses: the sequences that a decoding algorithm returns, with their probabilities.

Dimensions: batch; len (tokens written).
"""

import math
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """A sequence that a model has written.

    >>> found = Hypothesis(tokens=(5, 4, 2), log_probability=-1.5, score=-0.5, finished=True)
    >>> found.tokens
    (5, 4, 2)

    Attributes:
        tokens: The token ids written after the prompt; the last is the end token if ``finished``.
        log_probability: Sum of the log-probabilities of ``tokens``, each given the prompt and
            those before it, in nats; at most 0 but for rounding.
        score: The number by which hypotheses are ranked: ``log_probability``, possibly divided by a
            length penalty.
        finished: Whether the end token was written; False if the limit of tokens was reached first.
    """

    tokens: tuple[int, ...]
    log_probability: float
    score: float
    finished: bool


def cut_at_eos(tokens: Tensor, log_probabilities: Tensor, eos_id: int | None) -> list[Hypothesis]:
    """Return a hypothesis for each row, up to and including its first end token.

    ``tokens`` is int64 ``(batch, len)``; tokens after an end token are ignored. ``eos_id`` is None
    if there is no end token. ``log_probabilities``, ``(batch, len)``, are those of the tokens given
    those before, in nats; their sum is the score, and NaN before the end is a ValueError.
    """
    hypotheses = []
    each = log_probabilities.double()
    for number, (row, terms) in enumerate(zip(tokens.tolist(), each, strict=True)):
        finished = eos_id in row
        length = row.index(eos_id) + 1 if finished else len(row)
        total = terms[:length].sum().item()
        if math.isnan(total):
            raise invalid_logits_error(number, int(terms.isnan().int().argmax()) + 1)
        hypotheses.append(
            Hypothesis(
                tokens=tuple(row[:length]), log_probability=total, score=total, finished=finished
            )
        )
    return hypotheses


def invalid_logits_error(row: int, step: int) -> ValueError:
    """Return the error for logits that give no distribution; rows from 0, steps from 1."""
    return ValueError(
        f"row {row}, step {step}: the model's logits give no distribution, "
        "since one is NaN or infinite, or all are -inf"
    )
