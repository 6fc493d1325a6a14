"""Length penalties: divisors of log-probabilities, so that long sequences can win.

Each token makes a sequence less probable, so the bare log-probability favours short ones.

Dimensions: none; lengths are in tokens.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class PowerPenalty:
    """The length to the power alpha: the default of ``beam_search``, with alpha 1.

    With alpha 1 the score is the mean log-probability of a token; with 0 it is the sequence's.

    >>> PowerPenalty(alpha=0.5)(16)
    4.0

    Args:
        alpha: The exponent, at least 0; a larger one favours longer sequences.

    Raises:
        ValueError: ``alpha`` is negative or not finite.

    Source: Murray and Chiang (2018), section 3; chapter "Decoding".
    """

    alpha: float = 1.0

    def __post_init__(self) -> None:
        """Check that ``alpha`` is finite and not negative, which would favour short sequences."""
        if not 0 <= self.alpha < math.inf:
            raise ValueError(f"alpha must be at least 0 and finite, got {self.alpha}")

    def __call__(self, length: int) -> float:
        """Return the divisor of a log-probability for a length in tokens, the end token counted."""
        return float(length**self.alpha)


def check_length_penalty(length_penalty: Callable[[int], float]) -> None:
    """Raise a TypeError unless a length penalty is a function; other libraries take an exponent."""
    if not callable(length_penalty):
        raise TypeError(
            "length_penalty must be a function of the length, such as PowerPenalty(alpha=0.6), "
            f"got {length_penalty!r}"
        )
