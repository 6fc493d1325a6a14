"""The data of the figure ``mask-builder``, and its table for readers without scripts."""

import math
from dataclasses import dataclass
from typing import Any

from course_book.html_table import html_table

MATRICES = ("query", "key", "value")


@dataclass(frozen=True, kw_only=True)
class MaskBuilder:
    """A sentence with its vectors, and an attention layer of one head.

    Attributes:
        words: The tokens, 3 to 8.
        padding: Which positions are padding, from 0.
        x: A vector for each token.
        matrices: ``query``, ``key`` and ``value``, each as wide and as high as a vector.
        note: Where the numbers come from, in a sentence; may be empty.
    """

    words: tuple[str, ...]
    padding: tuple[int, ...]
    x: tuple[tuple[float, ...], ...]
    matrices: dict[str, tuple[tuple[float, ...], ...]]
    note: str

    @classmethod
    def from_json(cls, data: Any) -> "MaskBuilder":
        """Read and check the data that a chapter put into its page.

        Args:
            data: What ``json.loads`` returned.

        Returns:
            The checked data.

        Raises:
            ValueError: Something is missing, surplus, or of the wrong size.
        """
        expected = {"words", "padding", "x", *MATRICES, "note"}
        if not isinstance(data, dict) or set(data) != expected:
            found = sorted(data) if isinstance(data, dict) else type(data).__name__
            raise ValueError(f"expected an object with {sorted(expected)}, got {found}")
        words, padding = data["words"], data["padding"]
        if not isinstance(words, list) or not 3 <= len(words) <= 8:
            raise ValueError(f"words must hold 3 to 8 tokens, got {words!r}")
        if not isinstance(padding, list) or not set(padding) <= set(range(len(words))):
            raise ValueError(f"padding must hold positions of words, got {padding!r}")
        x = _matrix("x", data["x"], height=len(words))
        width = len(x[0])
        return cls(
            words=tuple(words),
            padding=tuple(padding),
            x=x,
            matrices={
                name: _matrix(name, data[name], height=width, width=width) for name in MATRICES
            },
            note=str(data["note"]),
        )

    def table(self) -> str:
        """Return the causal mask without padding as an HTML table."""
        rows = [
            [word, *("1" if s <= t and s not in self.padding else "0" for s in self._positions())]
            for t, word in enumerate(self.words)
        ]
        return html_table(
            "The right mask: a row for each token that asks, 1 where it may attend.",
            ["", *self.words],
            rows,
        )

    def _positions(self) -> range:
        return range(len(self.words))


def _matrix(
    name: str, rows: Any, *, height: int, width: int | None = None
) -> tuple[tuple[float, ...], ...]:
    if not isinstance(rows, list) or len(rows) != height or not rows[0]:
        raise ValueError(f"{name} must have {height} rows, got {rows!r}")
    width = len(rows[0]) if width is None else width
    for row in rows:
        if len(row) != width or not all(
            isinstance(v, int | float) and math.isfinite(v) for v in row
        ):
            raise ValueError(f"each row of {name} must hold {width} numbers, got {row!r}")
    return tuple(tuple(row) for row in rows)
