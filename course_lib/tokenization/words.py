"""Word tokenisation: words and punctuation marks, the simplest tokens."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from course_lib.tokenization.basic import split_punctuation


@dataclass(frozen=True, kw_only=True)
class WordTokenizer:
    """Splits text at spaces and around punctuation marks.

    Every form of a word is a token of its own, so the vocabulary is large, and a word that was not
    in the training text is unknown. That is what subwords are for.

    >>> WordTokenizer().tokenize("The cats sat, didn't they?")
    ['The', 'cats', 'sat', ',', 'didn', "'", 't', 'they', '?']

    Attributes:
        lowercase: Make all letters small.

    Source: chapter "Language models".
    """

    lowercase: bool = False

    def tokenize(self, text: str) -> list[str]:
        """Split text into tokens.

        Args:
            text: Any text.

        Returns:
            Words and single punctuation marks, without spaces.
        """
        text = text.lower() if self.lowercase else text
        return [part for word in text.split() for part in split_punctuation(word)]

    def detokenize(self, tokens: Iterable[str]) -> str:
        """Write tokens as people write text, as far as tokens tell.

        Tokens do not say where spaces were: quotation marks keep a space on both sides.

        >>> WordTokenizer().detokenize(["it", "'", "s", "(", "not", ")", "true", "."])
        "it's (not) true."

        Args:
            tokens: Words and punctuation marks.

        Returns:
            The text, without a space before closing marks, after opening marks, and around
            apostrophes and hyphens.
        """
        text = " ".join(tokens)
        text = re.sub(r" (?=[.,;:!?%)\]}…])", "", text)
        text = re.sub(r"(?<=[(\[{¿¡]) ", "", text)
        return re.sub(r"(?<=\w) (['’-]) (?=\w)", r"\1", text)
