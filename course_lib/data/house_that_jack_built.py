"""A nursery rhyme in which every verse repeats all verses before it: the past grows.

Dimensions: verses; length (words), that of the longest verse.
"""

import torch
from torch import Tensor

_LINES = (
    "the house that jack built",
    "the malt that lay in",
    "the rat that ate",
    "the cat that killed",
    "the dog that worried",
    "the cow with the crumpled horn that tossed",
    "the maiden all forlorn that milked",
    "the man all tattered and torn that kissed",
    "the priest all shaven and shorn that married",
    "the cock that crowed in the morn that waked",
    "the farmer sowing his corn that kept",
)


def read_rhyme() -> tuple[list[str], Tensor]:
    """Return *The House that Jack Built*.

    Returns:
        The vocabulary, in the order of the alphabet; and the verses, ``(verses, length)``, int64, a
        word being its place in the vocabulary. Full stops fill the shorter ones up.
    """
    verses = [f"this is {' '.join(_LINES[i::-1])} .".split() for i in range(len(_LINES))]
    vocabulary = sorted({word for verse in verses for word in verse})
    longest = max(map(len, verses))
    padded = [verse + ["."] * (longest - len(verse)) for verse in verses]
    return vocabulary, torch.tensor([[vocabulary.index(word) for word in v] for v in padded])
