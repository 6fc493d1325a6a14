"""A nursery rhyme in which every verse repeats the verses before it.

Dimensions: verses; length (words of the longest verse).
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
    """Return *The House that Jack Built*: its sorted vocabulary, and its verses.

    The verses are ``(verses, length)``, int64: indices of words in the vocabulary, padded with full
    stops.
    """
    verses = [f"this is {' '.join(_LINES[i::-1])} .".split() for i in range(len(_LINES))]
    vocabulary = sorted({word for verse in verses for word in verse})
    longest = max(map(len, verses))
    padded = [verse + ["."] * (longest - len(verse)) for verse in verses]
    return vocabulary, torch.tensor([[vocabulary.index(word) for word in v] for v in padded])
