"""What a decoding algorithm returns: a sequence, and how likely the model finds it."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """A sequence that a model has written.

    Attributes:
        tokens: The token ids written after the prompt; the last is the end token if ``finished``.
        log_probability: Sum of the log-probabilities of ``tokens``, each given the prompt and
            those before it, in nats; at most 0 but for rounding.
        score: What the algorithm ranks by: ``log_probability``, or that over a length penalty.
        finished: Whether the end token was written; False where the limit of tokens came first.
    """

    tokens: tuple[int, ...]
    log_probability: float
    score: float
    finished: bool
