"""Vocabulary: tokens and their ids."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from course_lib.atomic_write import atomic_write
from course_lib.validation import check_not_string

PAD, BOS, EOS, UNKNOWN = "<pad>", "<start>", "<end>", "<unknown>"

BERT_SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """A list of tokens; a token's id is its index in the list, from 0.

    >>> vocabulary = Vocabulary.build([["the", "cat"], ["the", "mat"]])
    >>> vocabulary.tokens
    ('<pad>', '<start>', '<end>', '<unknown>', 'the', 'cat', 'mat')
    >>> vocabulary.encode(["the", "dog"])
    [4, 3]
    >>> vocabulary.decode([1, 4, 5, 2], skip_specials=True)
    ['the', 'cat']

    Attributes:
        tokens: All tokens, in the order of their ids, none twice.
        specials: The special tokens among them, such as padding, which stand for no text.
        unknown: The special token that replaces tokens that are not in the list; with None such
            tokens raise a ``KeyError``.

    Raises:
        ValueError: A token occurs twice, or a special token or ``unknown`` is missing.

    Source: chapter "Language models".
    """

    tokens: tuple[str, ...]
    specials: tuple[str, ...] = (PAD, BOS, EOS, UNKNOWN)
    unknown: str | None = UNKNOWN

    def __post_init__(self) -> None:
        """Reject repeated tokens, and missing special ones."""
        twice = [token for token, count in Counter(self.tokens).items() if count > 1]
        if twice:
            raise ValueError(f"tokens must not hold a token twice, got {twice[0]!r} again")
        missing = [token for token in self.specials if token not in self._ids]
        if missing:
            raise ValueError(f"tokens must hold all specials, {missing[0]!r} is missing")
        if self.unknown is not None and self.unknown not in self.specials:
            raise ValueError(f"unknown must be one of the specials, got {self.unknown!r}")

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {token: token_id for token_id, token in enumerate(self.tokens)}

    @cached_property
    def special_ids(self) -> tuple[int, ...]:
        """The ids of the special tokens."""
        return tuple(self._ids[token] for token in self.specials)

    @classmethod
    def build(cls, sentences: Iterable[Sequence[str]], *, min_count: int = 1) -> Self:
        """Make a vocabulary of a corpus: special tokens, then the others by falling frequency.

        Equally frequent tokens are in alphabetical order. Tokens that occur less often than
        ``min_count`` are left out.
        """
        check_not_string(sentences=sentences)
        if min_count < 1:
            raise ValueError(f"min_count must be at least 1, got {min_count}")
        counts = Counter(token for sentence in sentences for token in sentence)
        kept = sorted(t for t, c in counts.items() if c >= min_count and t not in cls.specials)
        kept.sort(key=counts.__getitem__, reverse=True)  # leaves equally frequent ones in order
        return cls(tokens=(*cls.specials, *kept))

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        specials: tuple[str, ...] = BERT_SPECIALS,
        unknown: str | None = "[UNK]",
    ) -> Self:
        """Read BERT's ``vocab.txt``, or another UTF-8 file with one token a line.

        ``specials`` and ``unknown`` are tokens of the file, see ``Vocabulary``.
        """
        text = Path(path).read_text(encoding="utf-8")
        tokens = tuple(text.removesuffix("\n").split("\n"))  # other line ends can be tokens
        return cls(tokens=tokens, specials=specials, unknown=unknown)

    def write(self, path: str | Path) -> None:
        """Write the tokens to a file, one a line, atomically."""
        for token in self.tokens:
            if "\n" in token or "\r" in token:
                raise ValueError(f"tokens must not hold the end of a line, got {token!r}")
        with atomic_write(path) as unfinished:
            unfinished.write_text("".join(f"{t}\n" for t in self.tokens), encoding="utf-8")

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: object) -> bool:
        return token in self._ids

    def id_of(self, token: str) -> int:
        """Return a token's id, or that of ``unknown``; if that is None, raise a ``KeyError``."""
        token_id = self._ids.get(token)
        if token_id is not None:
            return token_id
        if self.unknown is None:
            raise KeyError(f"token must be in the vocabulary, which has no unknown; got {token!r}")
        return self._ids[self.unknown]

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Turn tokens into ids, as ``id_of`` does."""
        return [self.id_of(token) for token in tokens]

    def decode(self, token_ids: Iterable[int], *, skip_specials: bool = False) -> list[str]:
        """Turn ids into tokens; ``skip_specials`` leaves out special ones.

        An id out of range raises an ``IndexError``.
        """
        decoded = []
        skipped = frozenset(self.special_ids if skip_specials else ())
        for token_id in token_ids:
            if not 0 <= token_id < len(self.tokens):
                raise IndexError(
                    f"token_ids must lie in 0 to {len(self.tokens) - 1}, got {token_id}"
                )
            if token_id not in skipped:
                decoded.append(self.tokens[token_id])
        return decoded
