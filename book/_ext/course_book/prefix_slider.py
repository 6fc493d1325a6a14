"""The data of the figure ``prefix-slider``, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.html_table import html_table


@dataclass(frozen=True, kw_only=True)
class PrefixSlider:
    """A source and a target behind one another, under a mask with a prefix of any length.

    Attributes:
        words: The tokens of both, 3 to 10.
        source: How many of them are the source's; from 1 to one less than there are.
        note: How to read it, in a sentence; may be empty.
    """

    words: tuple[str, ...]
    source: int
    note: str

    @classmethod
    def from_json(cls, data: Any) -> "PrefixSlider":
        """Read and check the data that a chapter put into its page.

        Args:
            data: What ``json.loads`` returned.

        Returns:
            The checked data.

        Raises:
            ValueError: Something is missing, surplus, or out of range.
        """
        expected = {"words", "source", "note"}
        if not isinstance(data, dict) or set(data) != expected:
            found = sorted(data) if isinstance(data, dict) else type(data).__name__
            raise ValueError(f"expected an object with {sorted(expected)}, got {found}")
        words, source = data["words"], data["source"]
        if not isinstance(words, list) or not 3 <= len(words) <= 10:
            raise ValueError(f"words must hold 3 to 10 tokens, got {words!r}")
        if source not in range(1, len(words)):
            raise ValueError(f"source must be from 1 to {len(words) - 1}, got {source!r}")
        return cls(words=tuple(words), source=source, note=str(data["note"]))

    def table(self) -> str:
        """Return, for each length of the prefix, what is seen and asked, as an HTML table."""
        from course_lib.masks import causal_mask

        length, rows = len(self.words), []
        for prefix in range(length + 1):
            mask = causal_mask(length)
            mask[:, :prefix] = True
            lessons = int((~mask.diagonal(offset=1)).sum())
            rows.append([str(prefix), self._family(prefix), str(int(mask.sum())), str(lessons)])
        return html_table(
            "A prefix of each length: what is seen, and which places can be asked for the next.",
            ["prefix", "family", "pairs that see", "places that can be asked"],
            rows,
        )

    def _family(self, prefix: int) -> str:
        if prefix <= 1:  # the first token sees itself in any case
            return "decoder-only"
        return "encoder-only" if prefix == len(self.words) else "prefix LM"
