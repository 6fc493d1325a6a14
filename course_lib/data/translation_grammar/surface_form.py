"""Surface forms: from words as rules list them to words as written, *de le ami* to *de l'ami*.

A word may have another form before a vowel, and two neighbours may contract into one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest


@dataclass(frozen=True)
class Word:
    """A word as a rule lists it, and its form before a vowel if that differs.

    >>> Word("beau", before_vowel="bel").before_vowel
    'bel'
    """

    text: str
    before_vowel: str | None = None

    @classmethod
    def read(cls, notation: str) -> "Word":
        """Read a word; a slash separates its form before a vowel.

        >>> Word.read("le/l'")
        Word(text='le', before_vowel="l'")
        """
        text, _, before_vowel = notation.partition("/")
        return cls(text, before_vowel or None)


@dataclass(frozen=True, kw_only=True)
class Language:
    """A language's rules for the forms of neighbouring words.

    >>> french = Language(
    ...     vowels="aeiou", exceptions=frozenset(["hibou"]), contractions={("de", "le"): "du"}
    ... )
    >>> french.write([Word("de"), Word.read("le/l'"), Word("chat")])[0]
    ('du', 'chat')
    >>> french.write([Word("de"), Word.read("le/l'"), Word("ami")])[0]
    ('de', "l'", 'ami')

    Attributes:
        vowels: First letters before which words take their form before a vowel.
        exceptions: Words that begin with such a letter but count as beginning with a consonant.
        contractions: From pairs of neighbours, as written, to the word that replaces them.
    """

    vowels: str
    exceptions: frozenset[str]
    contractions: Mapping[tuple[str, str], str]

    def write(self, words: Sequence[Word]) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Return the words of a phrase as written, and for each given word its position there."""
        written: list[str] = []
        positions: list[int] = []
        for word, following in zip_longest(words, words[1:]):
            text = word.text
            if word.before_vowel is not None and following is not None:
                next_text = following.text
                if next_text[0] in self.vowels and next_text not in self.exceptions:
                    text = word.before_vowel
            contracted = self.contractions.get((written[-1], text)) if written else None
            if contracted is None:
                written.append(text)
            else:
                written[-1] = contracted
            positions.append(len(written) - 1)
        return tuple(written), tuple(positions)
