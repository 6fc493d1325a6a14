"""Context pairs: words with their neighbours, and a noise distribution, to train word vectors.

Dimensions: num_pairs; num_words (in the corpus); window (words to each side); vocab_size.
"""

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor


def context_pairs(sentences: Iterable[Sequence[int]], *, window: int) -> Tensor:
    """Pair each word with each of its neighbours, skip-gram's training data.

    Sentences are token ids; up to ``window`` words to each side are neighbours. Return pairs of a
    word and a neighbour ``(num_pairs, 2)``, int64.

    >>> context_pairs([[7, 8, 9]], window=1).tolist()
    [[7, 8], [8, 7], [8, 9], [9, 8]]

    Source: Mikolov et al. (2013a), section 3.2; chapter "Language models".
    """
    pairs = [
        (word, neighbour)
        for word, neighbours in _neighbourhoods(sentences, window)
        for neighbour in neighbours
    ]
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)


def context_windows(
    sentences: Iterable[Sequence[int]], *, window: int, pad_id: int
) -> tuple[Tensor, Tensor]:
    """Pair each word with all of its neighbours at once, CBOW's training data.

    Return the words ``(num_words,)`` and their neighbours ``(num_words, 2 * window)``, int64,
    padded at the end with ``pad_id``. Words without neighbours are left out.

    Source: Mikolov et al. (2013a), section 3.1; chapter "Language models".
    """
    found = [(word, list(near)) for word, near in _neighbourhoods(sentences, window) if near]
    filled = [near + [pad_id] * (2 * window - len(near)) for _, near in found]
    words = torch.tensor([word for word, _ in found], dtype=torch.long)
    return words, torch.tensor(filled, dtype=torch.long).reshape(-1, 2 * window)


def noise_distribution(counts: Tensor, *, power: float = 0.75) -> Tensor:
    """Return the probability to draw each word as noise: float64 ``(vocab_size,)``.

    The words' counts ``(vocab_size,)`` are raised to ``power``: 1 keeps their proportions, 0 makes
    all words equally likely. The probability of a word with count 0, such as padding, is 0.

    Source: Mikolov et al. (2013b), section 2.2; chapter "Language models".
    """
    if counts.dim() != 1 or not bool((counts >= 0).all()) or not bool((counts > 0).any()):
        raise ValueError("counts must be a vector, none negative and one positive")
    if not 0 <= power < math.inf:
        raise ValueError(f"power must be finite and not negative, got {power}")
    raised = counts.double() ** power * (counts > 0)  # 0 ** 0 is 1, and stays undrawn
    return raised / raised.sum()


def _neighbourhoods(
    sentences: Iterable[Sequence[int]], window: int
) -> Iterable[tuple[int, Sequence[int]]]:
    """Yield each word and its neighbours, up to ``window`` words to each side."""
    if window < 1:
        raise ValueError(f"window must be at least 1, got {window}")
    for sentence in sentences:
        for place, word in enumerate(sentence):
            before = sentence[max(0, place - window) : place]
            yield word, [*before, *sentence[place + 1 : place + 1 + window]]
