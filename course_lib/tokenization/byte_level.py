"""Byte-level byte-pair tokenizers of published models, with the ids of their vocabularies.

``BytePairEncoding`` orders its vocabulary by merges and splits text as GPT-2 does. Published models
order their vocabularies freely, find special tokens within a text, and use other pre-tokenizers.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from course_lib.tokenization.bpe import BYTES, SIGNS, Merges, encode_chunks, in_ascii, split_chunks
from course_lib.validation import check_not_string

PreTokenizer = Literal["gpt-2", "smollm", "llama-bpe", "qwen2"]
"""Pre-tokenizers, which split text into the chunks that no token may cross, by llama.cpp's names.

``gpt-2`` is ``split_chunks``. ``smollm`` makes each digit a chunk, and splits the rest as ``gpt-2``
does. ``llama-bpe`` makes chunks of up to three digits, joins letters with one punctuation mark or
space before them, and joins punctuation marks with line ends after them. ``qwen2`` is ``llama-bpe``
with single digits.
"""

_DIGIT = re.compile(r"([0-9])", re.ASCII)
_MODERN = (
    r"'(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])|[^\r\na-zA-Z0-9]?[a-zA-Z]+|DIGITS"
    r"| ?[^\sa-zA-Z0-9]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CHUNKS = {
    "llama-bpe": re.compile(_MODERN.replace("DIGITS", "[0-9]{1,3}"), re.ASCII),
    "qwen2": re.compile(_MODERN.replace("DIGITS", "[0-9]"), re.ASCII),
}


def pre_tokenize(text: str, pre_tokenizer: PreTokenizer) -> list[str]:
    """Split text into chunks that no token may cross; joined, they are the text.

    >>> pre_tokenize("In 1492, Columbus", "gpt-2")
    ['In', ' 1492', ',', ' Columbus']
    >>> pre_tokenize("In 1492, Columbus", "smollm")
    ['In', ' ', '1', '4', '9', '2', ',', ' Columbus']

    Source: ggml-org/llama.cpp, src/llama-vocab.cpp; Radford et al. (2019), section 2.2.
    """
    if pre_tokenizer == "gpt-2":
        return split_chunks(text)
    plain = in_ascii(text)
    if pre_tokenizer in _CHUNKS:
        found = _CHUNKS[pre_tokenizer].finditer(plain)
        return [text[chunk.start() : chunk.end()] for chunk in found]
    chunks, start = [], 0
    for digit in _DIGIT.finditer(plain):
        chunks += [*split_chunks(text[start : digit.start()]), text[digit.start() : digit.end()]]
        start = digit.end()
    return chunks + split_chunks(text[start:])


@dataclass(frozen=True, kw_only=True)
class ByteLevelTokenizer:
    """A byte-level byte-pair tokenizer with a given vocabulary, merges and special tokens.

    >>> tokens = ("<end>", "l", "o", "w", "lo", "low")
    >>> merges = (("l", "o"), ("lo", "w"))
    >>> tokenizer = ByteLevelTokenizer(tokens=tokens, merges=merges, specials=("<end>",))
    >>> tokenizer.encode("lowlo<end>")
    [5, 4, 0]
    >>> tokenizer.decode([5, 4, 0], skip_specials=True)
    'lowlo'

    Attributes:
        tokens: The vocabulary in the order of ids. Ordinary tokens are written as in
            ``merges.txt``, a character for each byte (``bpe.SIGNS``); special tokens as plain text.
        merges: Pairs of tokens, in the order in which they were learned.
        specials: Special tokens, such as ``<|im_end|>``; they are never split.
        pre_tokenizer: Name of the pre-tokenizer, which splits text into chunks.

    Raises:
        TypeError: ``tokens``, ``merges`` or ``specials`` is one string.
        ValueError: ``tokens`` lacks a special token, a part of a merge or its result, or
            ``pre_tokenizer`` is unknown.

    Source: Radford et al. (2019), section 2.2; the package ``tokenizers``.
    """

    tokens: tuple[str, ...]
    merges: tuple[tuple[str, str], ...]
    specials: tuple[str, ...] = ()
    pre_tokenizer: PreTokenizer = "gpt-2"

    def __post_init__(self) -> None:
        """Check that special tokens and merges have ids."""
        check_not_string(tokens=self.tokens, merges=self.merges, specials=self.specials)
        if self.pre_tokenizer not in get_args(PreTokenizer):
            raise ValueError(
                f"pre_tokenizer must be one of {get_args(PreTokenizer)}, got {self.pre_tokenizer!r}"
            )
        for special in self.specials:
            if special not in self._ids:
                raise ValueError(f"tokens must hold all specials, {special!r} is missing")
        for left, right in self.merges:
            if not {left, right, left + right} <= self._ids.keys():
                raise ValueError(f"merges must be of tokens to a token, got {(left, right)}")

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, text: str, *, specials: bool = True) -> list[int]:
        """Turn text into ids; skip bytes without a token in the vocabulary.

        Special tokens in the text get their own ids, unless ``specials`` is False: then they are
        encoded as plain text, as in messages of users.
        """
        if not specials or not self.specials:
            return self._encode_plain(text)
        ids: list[int] = []
        for number, part in enumerate(self._special.split(text)):
            ids += [self._ids[part]] if number % 2 else self._encode_plain(part)
        return ids

    def decode(self, token_ids: Iterable[int], *, skip_specials: bool = False) -> str:
        """Turn ids into text; U+FFFD replaces invalid UTF-8.

        ``skip_specials`` leaves out special tokens. An id out of range raises an ``IndexError``.
        """
        return self.decode_bytes(token_ids, skip_specials=skip_specials).decode(errors="replace")

    def decode_bytes(self, token_ids: Iterable[int], *, skip_specials: bool = False) -> bytes:
        """Turn ids into bytes of UTF-8, with the arguments and errors of ``decode``."""
        joined = bytearray()
        skipped = frozenset(self.specials if skip_specials else ())
        for token_id in token_ids:
            if not 0 <= token_id < len(self.tokens):
                raise IndexError(
                    f"token_ids must lie in 0 to {len(self.tokens) - 1}, got {token_id}"
                )
            if (token := self.tokens[token_id]) not in skipped:
                joined += _bytes_of(token)
        return bytes(joined)

    def id_of(self, token: str) -> int:
        """Return the id of a token; a token that is not in the vocabulary raises a KeyError."""
        return self._ids[token]

    def _encode_plain(self, text: str) -> list[int]:
        """Return the token ids of a text, in which special tokens count as plain text."""
        chunks = pre_tokenize(text, self.pre_tokenizer)
        return encode_chunks(chunks, self._byte_ids, self._merges, self._known)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {token: number for number, token in enumerate(self.tokens)}

    @cached_property
    def _byte_ids(self) -> dict[int, int]:
        return {byte: self._ids[sign] for byte, sign in SIGNS.items() if sign in self._ids}

    @cached_property
    def _merges(self) -> Merges:
        ids = self._ids
        return {
            (ids[left], ids[right]): (rank, ids[left + right])
            for rank, (left, right) in enumerate(self.merges)
        }

    @cached_property
    def _special(self) -> re.Pattern[str]:
        longest_first = sorted(self.specials, key=len, reverse=True)
        return re.compile(f"({'|'.join(map(re.escape, longest_first))})")

    @cached_property
    def _known(self) -> dict[str, list[int]]:
        return {}


def _bytes_of(token: str) -> bytes:
    """Return the bytes of a token written as in ``tokens``."""
    try:
        return bytes(BYTES[sign] for sign in token)
    except KeyError:  # a special token, in plain text
        return token.encode()
