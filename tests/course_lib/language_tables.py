"""Small languages whose every sentence can be enumerated: the truth for the decoding algorithms."""

import itertools
import math
from collections.abc import Iterator

import torch
from torch import Tensor

from course_lib.generation.step_models import UncachedModel

START, EOS = 1, 0


class LanguageTable:
    """A language in which the next token depends on the two before it.

    Args:
        vocab_size: Number of tokens; 0 ends a sentence.
        seed: Seed of the random logits.
        spread: Standard deviation of the logits.
    """

    def __init__(self, vocab_size: int, *, seed: int = 0, spread: float = 1.5) -> None:
        generator = torch.Generator().manual_seed(seed)
        shape = (vocab_size, vocab_size, vocab_size)
        self.logits = torch.randn(shape, generator=generator, dtype=torch.float64) * spread
        self.vocab_size = vocab_size

    def __call__(self, tokens: Tensor) -> Tensor:
        """Return logits of the next token after each token: (batch, len, vocab_size)."""
        before = torch.cat([torch.full_like(tokens[:, :1], EOS), tokens[:, :-1]], dim=1)
        return self.logits[before, tokens]

    def begin(self) -> UncachedModel:
        return UncachedModel(self)

    def log_probability(self, prompt: list[int], tokens: tuple[int, ...]) -> float:
        """Return the sum of the log-probabilities of ``tokens`` after a prompt."""
        total, history = 0.0, [EOS, *prompt]
        for token in tokens:
            row = self.logits[history[-2], history[-1]].tolist()
            total += row[token] - math.log(sum(math.exp(x) for x in row))
            history.append(token)
        return total

    def sentences(self, longest: int) -> Iterator[tuple[int, ...]]:
        """Yield every sentence that ends within ``longest`` tokens, and every one cut off there."""
        others = [token for token in range(self.vocab_size) if token != EOS]
        for length in range(longest):
            for words in itertools.product(others, repeat=length):
                yield (*words, EOS)
        yield from itertools.product(others, repeat=longest)


def cycle() -> LanguageTable:
    """Return a language that repeats without end: 3, 2, EOS, 3, 2, EOS."""
    language = LanguageTable(4)
    for token, following in ((2, EOS), (3, 2), (EOS, 3)):
        language.logits[:, token, following] = 60.0
    return language


NO_DISTRIBUTIONS = {"NaN": [0.0, math.nan, 0.0], "all -inf": [-math.inf] * 3, "inf": [math.inf] * 3}


def breaking(logits, *, row, step):
    """Return a model whose three logits are 0, but are ``logits`` for one row at one step.

    ``row`` is an index in the batch, ``step`` the number of tokens read by then.
    """

    def language_model(tokens):
        given = torch.zeros(*tokens.shape, 3)
        if tokens.size(1) == step:
            given[row, -1] = torch.tensor(logits)
        return given

    return UncachedModel(language_model)
