"""Sentence pairs: a sentence, its translation, their alignment and agreements.

Positions count words from 0; ``src`` is the sentence, ``tgt`` its translation.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """A word whose form depends on another word of the sentence, its controller.

    >>> keys = Agreement(word=5, controller=1, attractors=(4,))  # the keys to the cabinet are
    >>> keys.distance
    4

    Attributes:
        word: Position of the word that agrees: a finite verb, or an adjective after *be*.
        controller: Position of the word that it agrees with: the head of its subject.
        attractors: Positions of the nouns between the two that would require another form,
            ascending.
    """

    word: int
    controller: int
    attractors: tuple[int, ...] = ()

    @property
    def distance(self) -> int:
        """Distance between word and controller (words), 1 if they are neighbours."""
        return abs(self.word - self.controller)


@dataclass(frozen=True, kw_only=True)
class SentencePair:
    """A sentence with its translation and the true word alignment.

    >>> words = SentencePair(src=("it", "rains"), tgt=("il", "pleut"), alignment=((0, 0), (1, 1)))
    >>> words.alignment_matrix()
    tensor([[ True, False],
            [False,  True]])

    Attributes:
        src: Words of the sentence.
        tgt: Words of the translation.
        alignment: Pairs of a position in ``src`` and a corresponding one in ``tgt``, ascending; a
            word can have several.
        src_agreements: Agreements between words of ``src``, in the order of the words that agree.
        tgt_agreements: Agreements between words of ``tgt``, likewise.
        depth: Nesting of noun phrases in noun phrases, 0 for none.
    """

    src: tuple[str, ...]
    tgt: tuple[str, ...]
    alignment: tuple[tuple[int, int], ...]
    src_agreements: tuple[Agreement, ...] = ()
    tgt_agreements: tuple[Agreement, ...] = ()
    depth: int = 0

    def __post_init__(self) -> None:
        """Check that the alignment's positions are inside the sentences."""
        for i, j in self.alignment:
            if not (0 <= i < len(self.src) and 0 <= j < len(self.tgt)):
                raise ValueError(
                    f"alignment must link positions of {len(self.src)} words to positions of "
                    f"{len(self.tgt)}, got {(i, j)}"
                )

    def __str__(self) -> str:
        """Return the sentence and its translation, a line each."""
        return f"{join_words(self.src)}\n{join_words(self.tgt)}"

    def alignment_matrix(self) -> Tensor:
        """Return the alignment as boolean ``(tgt_len, src_len)``, True where words correspond."""
        matrix = torch.zeros(len(self.tgt), len(self.src), dtype=torch.bool)
        for i, j in self.alignment:
            matrix[j, i] = True
        return matrix


def join_words(words: tuple[str, ...]) -> str:
    """Join words to a text, without a space after an apostrophe or before a full stop.

    >>> join_words(("l'", "oiseau", "n'", "arrive", "pas", "."))
    "l'oiseau n'arrive pas."
    """
    return " ".join(words).replace("' ", "'").replace(" .", ".")
