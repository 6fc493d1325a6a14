"""Byte-level byte-pair tokenizers of published models, with the ids of their vocabularies.

``BytePairEncoding`` numbers its tokens in one order, and splits text as GPT-2 does. Published
models have vocabularies in any order, special tokens within a text, and other ways to split.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from course_lib.tokenization.bpe import BYTES, SIGNS, Merges, apply_merges, in_ascii, split_chunks
from course_lib.validation import check_not_string

PreTokenizer = Literal["gpt-2", "smollm", "llama-bpe", "qwen2"]
"""How text is split into chunks that no token may cross, by llama.cpp's names: ``smollm`` makes
each digit a chunk, then splits as ``gpt-2``; ``llama-bpe`` keeps up to three digits together, any
one sign with the letters after it, and signs with line ends after them; so does ``qwen2``, with
single digits."""

_MOST_KNOWN = 10_000  # chunks whose tokens are kept
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
    """Split text into chunks; joined, they are the text.

    >>> pre_tokenize("In 1492, Columbus", "gpt-2")
    ['In', ' 1492', ',', ' Columbus']
    >>> pre_tokenize("In 1492, Columbus", "smollm")
    ['In', ' ', '1', '4', '9', '2', ',', ' Columbus']

    Args:
        text: Any text.
        pre_tokenizer: How to split.

    Returns:
        The chunks.

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
    """A tokenizer from a file: its vocabulary, merges and special tokens.

    >>> tokens = ("<end>", "l", "o", "w", "lo", "low")
    >>> merges = (("l", "o"), ("lo", "w"))
    >>> tokenizer = ByteLevelTokenizer(tokens=tokens, merges=merges, specials=("<end>",))
    >>> tokenizer.encode("lowlo<end>")
    [5, 4, 0]
    >>> tokenizer.decode([5, 4, 0], skip_specials=True)
    'lowlo'

    Attributes:
        tokens: All tokens in the order of their ids, their bytes in the signs of ``merges.txt``;
            special ones as they are.
        merges: The pairs of tokens, first learned first.
        specials: Those tokens that stay whole where a text has them, and stand for no text.
        pre_tokenizer: How text is split into chunks.

    Raises:
        TypeError: A list is one string.
        ValueError: A special token is no token, a merge is of something else than tokens, or
            ``pre_tokenizer`` is unknown.

    Source: Radford et al. (2019), section 2.2; the package ``tokenizers``.
    """

    tokens: tuple[str, ...]
    merges: tuple[tuple[str, str], ...]
    specials: tuple[str, ...] = ()
    pre_tokenizer: PreTokenizer = "gpt-2"

    def __post_init__(self) -> None:
        """Refuse special tokens and merges without ids."""
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
        """Turn text into ids.

        Args:
            text: Any text. Bytes for which the vocabulary has no token are left out.
            specials: Whether special tokens in the text are such; if not, they are text like any
                other, as for what a user writes.

        Returns:
            The ids.
        """
        if not specials or not self.specials:
            return self._encode_plain(text)
        ids: list[int] = []
        for number, part in enumerate(self._special.split(text)):
            ids += [self._ids[part]] if number % 2 else self._encode_plain(part)
        return ids

    def decode(self, token_ids: Iterable[int], *, skip_specials: bool = False) -> str:
        """Turn ids into text.

        Args:
            token_ids: The ids.
            skip_specials: Leave out the special tokens.

        Returns:
            The text; U+FFFD where bytes are no UTF-8, as when a letter is cut in the middle.

        Raises:
            IndexError: An id is out of range.
        """
        return self.decode_bytes(token_ids, skip_specials=skip_specials).decode(errors="replace")

    def decode_bytes(self, token_ids: Iterable[int], *, skip_specials: bool = False) -> bytes:
        """Turn ids into the bytes of text in UTF-8, as ``decode`` does."""
        joined = bytearray()
        skipped = frozenset(self.specials if skip_specials else ())
        for token_id in token_ids:
            if not 0 <= token_id < len(self.tokens):
                raise IndexError(
                    f"token_ids must lie in 0 to {len(self.tokens) - 1}, got {token_id}"
                )
            token = self.tokens[token_id]
            if token in skipped:
                continue
            joined += _bytes_of(token)
        return bytes(joined)

    def id_of(self, token: str) -> int:
        """Return the id of a token; of none a KeyError."""
        return self._ids[token]

    def _encode_plain(self, text: str) -> list[int]:
        ids: list[int] = []
        for chunk in pre_tokenize(text, self.pre_tokenizer):
            if chunk not in self._known:
                if len(self._known) == _MOST_KNOWN:
                    self._known.clear()
                signs = (SIGNS[byte] for byte in chunk.encode())
                known = [self._ids[sign] for sign in signs if sign in self._ids]
                self._known[chunk] = apply_merges(known, self._merges)
            ids += self._known[chunk]
        return ids

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {token: number for number, token in enumerate(self.tokens)}

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
        return {}  # words come again and again


def _bytes_of(token: str) -> bytes:
    try:
        return bytes(BYTES[sign] for sign in token)
    except KeyError:  # a special token with other signs
        return token.encode()
