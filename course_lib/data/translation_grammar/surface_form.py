"""Surface forms: from words as listed to words as written, *de le ami* to *de l'ami*.

A word may have another form before a vowel, and two neighbours may melt into one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Word:
    """A word as a rule lists it, and its form before a vowel, if it is another.

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
    """The spelling rules of a language for neighbouring words.

    >>> french = Language(
    ...     vowels="aeiou", exceptions=frozenset(["hibou"]), contractions={("de", "le"): "du"}
    ... )
    >>> french.write([Word("de"), Word.read("le/l'"), Word("chat")])[0]
    ('du', 'chat')
    >>> french.write([Word("de"), Word.read("le/l'"), Word("ami")])[0]
    ('de', "l'", 'ami')

    Attributes:
        vowels: Letters before which words take their other form.
        exceptions: Words that count as beginning with a consonant all the same.
        contractions: Pairs of neighbours, as written, and the word that takes their place.
    """

    vowels: str
    exceptions: frozenset[str]
    contractions: Mapping[tuple[str, str], str]

    def begins_with_vowel(self, text: str) -> bool:
        """Return whether a word takes its form before a vowel if ``text`` follows it."""
        return text[0] in self.vowels and text not in self.exceptions

    def write(self, words: Sequence[Word]) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Return a phrase as written, and for each of ``words`` its position in it."""
        written: list[str] = []
        positions: list[int] = []
        for i, word in enumerate(words):
            text = word.text
            if (
                word.before_vowel is not None
                and i + 1 < len(words)
                and self.begins_with_vowel(words[i + 1].text)
            ):
                text = word.before_vowel
            contracted = self.contractions.get((written[-1], text)) if written else None
            if contracted is None:
                written.append(text)
            else:
                written[-1] = contracted
            positions.append(len(written) - 1)
        return tuple(written), tuple(positions)
