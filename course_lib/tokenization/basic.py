"""Basic tokenisation, BERT's first half: raw text to words and single punctuation marks.

Characters are sorted by their Unicode category: Cc and Cf steer a machine and show nothing, Zs, Zl
and Zp are spaces, Mn are marks over and under letters (after decomposition), P... is punctuation.
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
        lowercase: Make all letters small ("uncased" models).
        strip_accents: Take accents off letters; as ``lowercase`` if None.

    Returns:
        Words without spaces; each punctuation mark and each Chinese character by itself.

    Source: Devlin et al. (2019), google-research/bert, tokenization.py; chapter "Tokenisation".
    """
    text = _separate_ideographs(clean_text(text))
    if lowercase if strip_accents is None else strip_accents:
        text = remove_accents(text)
    if lowercase:  # one letter at a time: a capital sigma at a word's end is a sigma like others
        text = "".join(character.lower() for character in text)
    return [part for word in text.split() for part in split_punctuation(word)]


def clean_text(text: str) -> str:
    """Drop invisible characters and U+FFFD; make every kind of space a plain one."""
    return "".join(map(_clean_character, text))


def remove_accents(text: str) -> str:
    """Decompose letters (Unicode's NFD) and leave out the accents (category Mn)."""
    if text.isascii():
        return text
    # Letter by letter: to put the marks of a whole text in order, before they are left out, takes
    # time that grows with the square of how many stand in a row. Few marks of other kinds are left.
    return unicodedata.normalize("NFD", "".join(map(_without_accents, text)))


def split_punctuation(word: str) -> list[str]:
    """Cut a word, without spaces, before and after each punctuation mark."""
    parts: list[str] = []
    for is_mark, characters in groupby(word, is_punctuation):
        part = "".join(characters)
        parts += list(part) if is_mark else [part]
    return parts


@cache
def is_punctuation(character: str) -> bool:
    """Return whether a character is a token by itself.

    True for Unicode's punctuation and for all signs of ASCII, also symbols such as $ and +.
    """
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
    """Put spaces around Chinese characters: their words are written without."""
    if text.isascii():
        return text
    return "".join(
        f" {character} " if any(ord(character) in block for block in _IDEOGRAPHS) else character
        for character in text
    )
