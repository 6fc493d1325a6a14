"""Byte-pair encoding: subwords, learned by merging pairs that are frequent in the training texts.

This is the byte-level variant of GPT-2. Its alphabet is the 256 bytes, so no text is unknown, and
decoding returns exactly the encoded text. A space belongs to the word after it: ``b" the"`` is a
token, so word boundaries need no other mark.
"""

import heapq
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Self, TypeAlias

from course_lib.atomic_write import atomic_write
from course_lib.validation import check_not_string

Pair: TypeAlias = tuple[bytes, bytes]
Merges: TypeAlias = Mapping[tuple[int, int], tuple[int, int]]
"""By pair of ids: the rank of its merge, 0 for the first learned, and the merged token's id."""

# GPT-2's chunks: an English ending; letters, digits, or other characters, with a space before them;
# white space.
_CHUNK = re.compile(
    r"'(?:s|t|re|ve|m|ll|d)| ?[a-zA-Z]+| ?[0-9]+| ?[^\sa-zA-Z0-9]+|\s+(?!\S)|\s+", re.ASCII
)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_GONE = -1  # replaces an id that was merged into the id before it
_CACHE_SIZE = 10_000  # chunks, as in Hugging Face's tokenizers

# Bytes that are printable characters in Latin-1 come first, as in GPT-2's vocabulary.
_VISIBLE = (*range(33, 127), *range(161, 173), *range(174, 256))
ALPHABET = tuple(
    bytes([byte]) for byte in (*_VISIBLE, *(b for b in range(256) if b not in _VISIBLE))
)
_HIDDEN = range(256, 512 - len(_VISIBLE))
SIGNS = dict(zip(b"".join(ALPHABET), map(chr, (*_VISIBLE, *_HIDDEN)), strict=True))
"""The character for each byte in ``merges.txt``: printable ones stay, others start at U+0100."""
BYTES = {sign: byte for byte, sign in SIGNS.items()}


def split_chunks(text: str) -> list[str]:
    """Split text into chunks that no token may cross, as GPT-2 does (pre-tokenisation).

    >>> split_chunks("The cat's 9 lives, lived.")
    ['The', ' cat', "'s", ' 9', ' lives', ',', ' lived', '.']

    Chunks are runs of letters, of digits and of other characters, each with one space before it if
    there is one; the endings ``'s 't 're 've 'm 'll 'd``; and white space. Joined, they are the
    text.

    Source: Radford et al. (2019), section 2.2; openai/gpt-2, encoder.py.
    """
    if text.isascii():
        return _CHUNK.findall(text)
    return [text[chunk.start() : chunk.end()] for chunk in _CHUNK.finditer(in_ascii(text))]


def merge_pair(symbols: tuple[bytes, ...], pair: Pair) -> tuple[bytes, ...]:
    """Replace each occurrence of a pair of neighbouring symbols in a word by one, from the left.

    >>> merge_pair((b"a", b"a", b"a", b"b"), (b"a", b"a"))
    (b'aa', b'a', b'b')

    Source: Sennrich et al. (2016), section 3.2; chapter "Tokenisation".
    """
    merged: list[bytes] = []
    position = 0
    while position < len(symbols):
        if symbols[position : position + 2] == pair:
            merged.append(pair[0] + pair[1])
            position += 2
        else:
            merged.append(symbols[position])
            position += 1
    return tuple(merged)


@dataclass(frozen=True, kw_only=True)
class BytePairEncoding:
    """A tokenizer that applies merges to bytes in the order in which they were learned.

    Ids number the special tokens, then the bytes, then the merged tokens.

    >>> encoding = BytePairEncoding.train(["low low lower lowest"], vocab_size=256 + 3)
    >>> encoding.tokenize("lowly low")
    [b'low', b'l', b'y', b' low']
    >>> encoding.decode(encoding.encode("lowly low"))
    'lowly low'

    Attributes:
        merges: The pairs, in the order in which they were learned.
        specials: Special tokens; ``encode`` never returns their ids.

    Raises:
        TypeError: ``specials`` is one string.
        ValueError: A special token occurs twice, or a merge contains an unknown token.

    Source: Sennrich et al. (2016), section 3.2; Radford et al. (2019), section 2.2; chapter
        "Tokenisation".
    """

    merges: tuple[Pair, ...]
    specials: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Reject repeated special tokens, and merges that can never be applied."""
        check_not_string(specials=self.specials)
        if len(set(self.specials)) < len(self.specials):
            raise ValueError(f"specials must not hold a token twice, got {self.specials}")
        for pair in self.merges:
            if not self._ids.keys() >= set(pair):
                raise ValueError(f"merges must be of bytes and what merges make, got {pair}")

    @classmethod
    def train(
        cls, texts: Iterable[str], *, vocab_size: int, specials: tuple[str, ...] = ()
    ) -> Self:
        """Learn merges: repeatedly merge the most frequent pair.

        Among equally frequent pairs, the smaller id of the left token decides, then that of the
        right token. So the result does not depend on the order of the texts.

        Args:
            texts: The training texts; no merge crosses from one text to the next.
            vocab_size: Number of tokens: special ones, 256 bytes and merged ones. Training ends
                with fewer once every chunk is one token.
            specials: Special tokens.

        Returns:
            The trained encoding.

        Raises:
            TypeError: ``texts`` is one string.
            ValueError: ``vocab_size`` is below 256 plus the number of special tokens.
        """
        check_not_string(texts=texts, specials=specials)
        if vocab_size < len(specials) + len(ALPHABET):
            raise ValueError(
                f"vocab_size must be at least {len(specials) + len(ALPHABET)}, for the specials "
                f"and 256 bytes, got {vocab_size}"
            )
        frequencies = Counter(chunk for text in texts for chunk in split_chunks(text))
        words = {chunk: _as_bytes(chunk) for chunk in frequencies}
        counts: Counter[Pair] = Counter()
        places: defaultdict[Pair, set[str]] = defaultdict(set)  # the chunks that hold a pair
        for chunk, symbols in words.items():
            for pair in pairwise(symbols):
                counts[pair] += frequencies[chunk]
                places[pair].add(chunk)

        ids = {symbol: number for number, symbol in enumerate(ALPHABET)}
        merges: list[Pair] = []

        def entry(pair: Pair) -> tuple[int, int, int, Pair]:
            """Return a pair's entry in the heap of pairs, whose smallest entry is merged next."""
            return -counts[pair], ids[pair[0]], ids[pair[1]], pair

        queue = [entry(pair) for pair in counts]
        heapq.heapify(queue)
        while queue and len(specials) + len(ids) < vocab_size:
            noted = heapq.heappop(queue)
            pair = noted[-1]
            if -noted[0] != counts[pair]:  # other merges have changed the count since
                if counts[pair] > 0:
                    heapq.heappush(queue, entry(pair))
                continue
            merges.append(pair)
            ids[pair[0] + pair[1]] = len(ids)
            changed: set[Pair] = set()
            for chunk in places[pair]:
                before, after = words[chunk], merge_pair(words[chunk], pair)
                words[chunk] = after
                for old in pairwise(before):
                    counts[old] -= frequencies[chunk]
                for new in pairwise(after):
                    counts[new] += frequencies[chunk]
                    places[new].add(chunk)
                    changed.add(new)
            del counts[pair]
            for new in changed:
                heapq.heappush(queue, entry(new))
        return cls(merges=tuple(merges), specials=specials)

    @classmethod
    def read(cls, path: str | Path, *, specials: tuple[str, ...] = ()) -> Self:
        """Read ``merges.txt`` of GPT-2, ``transformers`` or ``write``: one pair on each line.

        ``specials`` are not in the file. A line that is no pair of tokens raises a ``ValueError``.
        """
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        merges = []
        for number, line in enumerate(lines, start=1):
            if number == 1 and line.startswith("#version"):
                continue
            try:
                left, right = (bytes(BYTES[s] for s in token) for token in line.split(" "))
            except (KeyError, ValueError) as error:
                raise ValueError(
                    f"{path} must hold two tokens a line, got line {number}: {line!r:.60}"
                ) from error
            merges.append((left, right))
        return cls(merges=tuple(merges), specials=specials)

    def write(self, path: str | Path) -> None:
        """Write the merges to a file like GPT-2's ``merges.txt``, without the special tokens."""
        lines = ["#version: 0.2"]
        lines += (" ".join("".join(SIGNS[b] for b in token) for token in p) for p in self.merges)
        with atomic_write(path) as unfinished:
            unfinished.write_text("\n".join(lines) + "\n", encoding="utf-8")

    @cached_property
    def tokens(self) -> tuple[bytes, ...]:
        """All tokens in the order of their ids, as bytes; special tokens in UTF-8."""
        merged = (left + right for left, right in self.merges)
        learned = dict.fromkeys([*ALPHABET, *merged])  # two pairs may make the same token
        return (*(special.encode() for special in self.specials), *learned)

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        first = len(self.specials)
        return {token: i for i, token in enumerate(self.tokens[first:], start=first)}

    @cached_property
    def _byte_ids(self) -> dict[int, int]:
        return {token[0]: self._ids[token] for token in ALPHABET}

    @cached_property
    def _merges(self) -> Merges:
        return {
            (self._ids[left], self._ids[right]): (rank, self._ids[left + right])
            for rank, (left, right) in enumerate(self.merges)
        }

    @cached_property
    def _known(self) -> dict[str, list[int]]:
        return {}

    def __len__(self) -> int:
        return len(self.tokens)

    def tokenize(self, text: str) -> list[bytes]:
        """Split text into tokens, as bytes; joined, they are the text in UTF-8."""
        return [self.tokens[token_id] for token_id in self.encode(text)]

    def encode(self, text: str) -> list[int]:
        """Turn text into ids; special tokens in it are encoded as plain text."""
        return encode_chunks(split_chunks(text), self._byte_ids, self._merges, self._known)

    def decode(self, token_ids: Iterable[int]) -> str:
        """Turn ids into text without special tokens; U+FFFD replaces invalid UTF-8."""
        joined = bytearray()
        for token_id in token_ids:
            if not 0 <= token_id < len(self.tokens):
                raise IndexError(
                    f"token_ids must lie in 0 to {len(self.tokens) - 1}, got {token_id}"
                )
            if token_id >= len(self.specials):
                joined += self.tokens[token_id]
        return joined.decode("utf-8", errors="replace")


def encode_chunks(
    chunks: Iterable[str], byte_ids: Mapping[int, int], merges: Merges, known: dict[str, list[int]]
) -> list[int]:
    """Return the token ids of the chunks of a text.

    ``byte_ids`` has the token id of each byte; other bytes are skipped. ``known`` is a cache of the
    token ids of earlier chunks, which this function fills.

    >>> known = {}
    >>> encode_chunks(["ab", "ab"], {97: 1, 98: 2}, {(1, 2): (0, 7)}, known), known
    ([7, 7], {'ab': [7]})
    """
    ids: list[int] = []
    for chunk in chunks:
        if chunk not in known:
            if len(known) == _CACHE_SIZE:
                known.clear()
            symbols = [byte_ids[byte] for byte in chunk.encode() if byte in byte_ids]
            known[chunk] = apply_merges(symbols, merges)
        ids += known[chunk]
    return ids


def apply_merges(ids: Sequence[int], merges: Merges) -> list[int]:
    """Merge the token ids of a chunk's bytes as far as possible; return the ids that remain.

    Merges apply in the order in which they were learned, each from the left. In a linked list a
    merge looks at its neighbours only, so the time grows about linearly with the length.

    >>> apply_merges([1, 2, 1, 2, 2], {(1, 2): (0, 7), (7, 7): (1, 8)})
    [8, 2]

    Source: Sennrich et al. (2016), section 3.2; chapter "Tokenisation".
    """
    ring = [*ids, _GONE]  # a circular list: _GONE is before the first id and after the last
    after = [*range(1, len(ring)), 0]
    before = [len(ids), *range(len(ids))]
    places: dict[int, list[int]] = {}  # for each rank a heap of the positions of its pair
    ranks: list[int] = []  # a heap of the keys of ``places``

    def note(place: int) -> None:
        """Add the pair that begins at a position to ``places``, if it has a merge."""
        found = merges.get((ring[place], ring[after[place]]))
        if found is None:
            return
        rank, _ = found
        if rank not in places:
            places[rank] = []
            heapq.heappush(ranks, rank)
        heapq.heappush(places[rank], place)

    for place in range(len(ids)):
        note(place)
    while ranks:
        rank = ranks[0]
        if not places[rank]:
            del places[heapq.heappop(ranks)]
            continue
        place = heapq.heappop(places[rank])
        gone = after[place]
        found = merges.get((ring[place], ring[gone]))
        if found is None or found[0] != rank:
            continue  # another merge has changed one of the two
        ring[place], ring[gone] = found[1], _GONE
        after[place] = after[gone]
        before[after[gone]] = place
        note(before[place])
        note(place)
    return [token_id for token_id in ring if token_id != _GONE]


def in_ascii(text: str) -> str:
    """Replace each character outside ASCII by an ASCII character of the same category.

    Letters become ``a``, numbers ``0``, white space a tab, all others ``!``, because ``re`` has no
    classes for Unicode's categories.

    >>> in_ascii("né 9 ²…")
    'na 9 0!'
    """
    return text if text.isascii() else _NOT_ASCII.sub(_ascii_of_its_kind, text)


def _ascii_of_its_kind(found: re.Match[str]) -> str:
    if found[0].isspace():
        return "\t"
    return {"L": "a", "N": "0"}.get(unicodedata.category(found[0])[0], "!")


def _as_bytes(chunk: str) -> tuple[bytes, ...]:
    return tuple(bytes([byte]) for byte in chunk.encode("utf-8"))
