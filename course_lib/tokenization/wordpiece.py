"""WordPiece, BERT's subwords: rare words are split into pieces of the vocabulary.

A piece that does not begin a word starts with ``##``.
"""

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass
from functools import cached_property

from course_lib.tokenization.basic import basic_tokenize
from course_lib.tokenization.vocabulary import Vocabulary

CONTINUATION = "##"


def split_word(
    word: str, vocabulary: Container[str], *, unknown: str = "[UNK]", max_characters: int = 100
) -> list[str]:
    """Write a word in pieces: always the longest piece that fits, from the left.

    >>> split_word("unwanted", {"un", "##want", "##wan", "##ted", "##ed"})
    ['un', '##want', '##ed']
    >>> split_word("unwantedX", {"un", "##want", "##ed"})
    ['[UNK]']

    Args:
        word: A word without spaces.
        vocabulary: The pieces; those inside a word begin with ``##``.
        unknown: What to write for a word that can't be written in pieces, the whole of it.
        max_characters: Longer words are taken for unknown: they are no words, and the search takes
            time that grows with the square of their length.

    Returns:
        The pieces, in order. Greedy search does not go back: a word for which there are pieces, but
        not after the longest first one, is unknown too. An empty word has none.

    Raises:
        ValueError: ``max_characters`` is smaller than 1.

    Source: Schuster and Nakajima (2012); Wu et al. (2016), section 4.1; Devlin et al. (2019),
        google-research/bert, tokenization.py; chapter "Tokenisation".
    """
    if max_characters < 1:
        raise ValueError(f"max_characters must be at least 1, got {max_characters}")
    if len(word) > max_characters:
        return [unknown]
    pieces: list[str] = []
    start = 0
    while start < len(word):
        mark = CONTINUATION if start > 0 else ""
        for end in range(len(word), start, -1):
            if mark + word[start:end] in vocabulary:
                break
        else:
            return [unknown]
        pieces.append(mark + word[start:end])
        start = end
    return pieces


@dataclass(frozen=True, kw_only=True)
class WordPiece:
    """BERT's tokeniser: ``basic_tokenize``, then ``split_word``.

    >>> pieces = ("[UNK]", "[MASK]", "play", "##ful", "##ness", ".")
    >>> vocabulary = Vocabulary(tokens=pieces, specials=("[UNK]", "[MASK]"), unknown="[UNK]")
    >>> tokenizer = WordPiece(vocabulary=vocabulary)
    >>> tokenizer.tokenize("Playfulness [MASK] work.")
    ['play', '##ful', '##ness', '[MASK]', '[UNK]', '.']
    >>> tokenizer.decode(tokenizer.encode("Playfulness."))
    'playfulness .'

    Attributes:
        vocabulary: The pieces, with its ``unknown`` set.
        lowercase: Convert to lower case, for "uncased" models.
        strip_accents: Remove accents; like ``lowercase`` if None.
        max_characters: Longer words are unknown.

    Raises:
        ValueError: The vocabulary has no ``unknown``, or ``max_characters`` is smaller than 1.

    Source: Devlin et al. (2019), section 3; chapter "Tokenisation".
    """

    vocabulary: Vocabulary
    lowercase: bool = True
    strip_accents: bool | None = None
    max_characters: int = 100

    def __post_init__(self) -> None:
        """Check that there is an unknown token, and that ``max_characters`` is at least 1."""
        if self.vocabulary.unknown is None:
            raise ValueError("vocabulary must have an unknown token, got unknown=None")
        if self.max_characters < 1:
            raise ValueError(f"max_characters must be at least 1, got {self.max_characters}")

    @cached_property
    def _pieces(self) -> frozenset[str]:
        return frozenset(self.vocabulary.tokens)  # a long word looks for thousands of pieces

    def tokenize(self, text: str) -> list[str]:
        """Split text into pieces; special tokens stay whole."""
        specials = "|".join(map(re.escape, self.vocabulary.specials))
        parts = re.split(f"({specials})", text) if specials else [text]
        pieces: list[str] = []
        for part in parts:
            if part in self.vocabulary.specials:
                pieces.append(part)
                continue
            words = basic_tokenize(part, lowercase=self.lowercase, strip_accents=self.strip_accents)
            for word in words:
                pieces += split_word(
                    word,
                    self._pieces,
                    unknown=str(self.vocabulary.unknown),
                    max_characters=self.max_characters,
                )
        return pieces

    def encode(self, text: str) -> list[int]:
        """Turn text into ids, one a piece."""
        return self.vocabulary.encode(self.tokenize(text))

    def decode(self, token_ids: Iterable[int], *, skip_specials: bool = False) -> str:
        """Turn ids into text: join the pieces of a word, and put spaces between words.

        ``skip_specials`` leaves out special tokens. Capitals, accents and the original spaces are
        lost. An id out of range raises an ``IndexError``.
        """
        pieces = self.vocabulary.decode(token_ids, skip_specials=skip_specials)
        return " ".join(pieces).replace(f" {CONTINUATION}", "")
