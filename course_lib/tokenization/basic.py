"""Basic tokenisation, BERT's first step: from raw text to words and single punctuation marks.

Unicode categories used here: Cc and Cf are invisible control characters, Zs, Zl and Zp spaces, Mn
combining marks such as accents, P... punctuation.
"""

import unicodedata
from functools import cache
from itertools import groupby

# The blocks of Chinese characters. Japanese kana, Korean and Thai are not among them.
_IDEOGRAPHS = (
    range(0x4E00, 0x9FFF + 1),
    range(0x3400, 0x4DBF + 1),
    range(0x20000, 0x2A6DF + 1),
    range(0x2A700, 0x2B73F + 1),
    range(0x2B740, 0x2B81F + 1),
    range(0x2B820, 0x2CEAF + 1),
    range(0xF900, 0xFAFF + 1),
    range(0x2F800, 0x2FA1F + 1),
)


def basic_tokenize(
    text: str, *, lowercase: bool = True, strip_accents: bool | None = None
) -> list[str]:
    """Split raw text into words and punctuation marks, as BERT does before WordPiece.

    >>> basic_tokenize("Ça n'est pas vrai, 你好!")
    ['ca', 'n', "'", 'est', 'pas', 'vrai', ',', '你', '好', '!']

    Args:
        text: Any text.
        lowercase: Convert to lower case, for "uncased" models.
        strip_accents: Remove accents; like ``lowercase`` if None.

    Returns:
        The words; each punctuation mark and each Chinese character is a word.

    Source: Devlin et al. (2019), google-research/bert, tokenization.py; chapter "Tokenisation".
    """
    text = _separate_ideographs(clean_text(text))
    if lowercase if strip_accents is None else strip_accents:
        text = remove_accents(text)
    if lowercase:  # by letter, because str.lower treats a capital sigma at a word's end specially
        text = "".join(character.lower() for character in text)
    return [part for word in text.split() for part in split_punctuation(word)]


def clean_text(text: str) -> str:
    """Remove invisible characters and U+FFFD; replace each kind of space by an ordinary one."""
    return "".join(map(_clean_character, text))


def remove_accents(text: str) -> str:
    """Decompose letters (Unicode's NFD) and remove the accents (category Mn)."""
    if text.isascii():
        return text
    # By letter first: for a whole text, NFD sorts the marks after a letter, in time that grows with
    # the square of their number. Few marks are left after this.
    return unicodedata.normalize("NFD", "".join(map(_without_accents, text)))


def split_punctuation(word: str) -> list[str]:
    """Split a word before and after each punctuation mark."""
    parts: list[str] = []
    for is_mark, characters in groupby(word, is_punctuation):
        part = "".join(characters)
        parts += list(part) if is_mark else [part]
    return parts


@cache
def is_punctuation(character: str) -> bool:
    """Return whether a character is punctuation, or an ASCII symbol such as $ and +."""
    code = ord(character)
    is_ascii_sign = 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
    return is_ascii_sign or unicodedata.category(character).startswith("P")


@cache
def _without_accents(character: str) -> str:
    decomposed = unicodedata.normalize("NFD", character)
    return "".join(c for c in decomposed if unicodedata.category(c) != "Mn")


@cache
def _clean_character(character: str) -> str:
    if character in "\t\n\r":
        return " "
    category = unicodedata.category(character)
    if category in ("Cc", "Cf", "Co", "Cs") or character == "\ufffd":
        return ""
    return " " if category in ("Zs", "Zl", "Zp") else character


def _separate_ideographs(text: str) -> str:
    """Put spaces around each Chinese character."""
    if text.isascii():
        return text
    return "".join(
        f" {character} " if any(ord(character) in block for block in _IDEOGRAPHS) else character
        for character in text
    )
