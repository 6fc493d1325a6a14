"""The data of the figure ``attention-cost``, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.html_table import html_table

CHOICES = ("lengths", "widths", "heads")


@dataclass(frozen=True, kw_only=True)
class AttentionCost:
    """What the sliders of the calculator offer.

    Attributes:
        lengths: Numbers of tokens, ascending.
        widths: Widths of a token's vector, ascending.
        heads: Numbers of heads, ascending; each divides the smallest width.
        start: The length, width and number of heads at first.
        note: What is counted, in a sentence; may be empty.
    """

    lengths: tuple[int, ...]
    widths: tuple[int, ...]
    heads: tuple[int, ...]
    start: tuple[int, int, int]
    note: str

    @classmethod
    def from_json(cls, data: Any) -> "AttentionCost":
        """Read and check the data that a chapter put into its page.

        Args:
            data: What ``json.loads`` returned.

        Returns:
            The checked data.

        Raises:
            ValueError: Something is missing, surplus, or out of range.
        """
        expected = {*CHOICES, "start", "note"}
        if not isinstance(data, dict) or set(data) != expected:
            found = sorted(data) if isinstance(data, dict) else type(data).__name__
            raise ValueError(f"expected an object with {sorted(expected)}, got {found}")
        for name in CHOICES:
            offered = data[name]
            if (
                not isinstance(offered, list)
                or len(offered) < 2
                or not all(isinstance(size, int) and size > 0 for size in offered)
                or offered != sorted(set(offered))
            ):
                raise ValueError(f"{name} must hold ascending positive numbers, got {offered!r}")
        if any(data["widths"][0] % heads for heads in data["heads"]):
            raise ValueError(f"heads must divide the smallest width, got {data['heads']!r}")
        start = data["start"]
        if not isinstance(start, list) or len(start) != len(CHOICES):
            raise ValueError(f"start must hold a length, a width and heads, got {start!r}")
        for name, size in zip(CHOICES, start, strict=True):
            if size not in data[name]:
                raise ValueError(f"start must be among {name}, got {size!r}")
        return cls(
            lengths=tuple(data["lengths"]),
            widths=tuple(data["widths"]),
            heads=tuple(data["heads"]),
            start=(start[0], start[1], start[2]),
            note=str(data["note"]),
        )

    def table(self) -> str:
        """Return the costs of each length, at the first width and number of heads, as HTML."""
        from course_lib.complexity import (
            attention_flops,
            attention_weights_bytes,
            feed_forward_flops,
            recurrent_flops,
        )

        _, width, heads = self.start
        rows = [
            [
                f"{length:,}",
                f"{attention_flops(1, length, length, width):.1e}",
                f"{feed_forward_flops(1, length, width, 4 * width):.1e}",
                f"{recurrent_flops(1, length, width, width, gates=3):.1e}",
                f"{attention_weights_bytes(1, heads, length, length):.1e}",
            ]
            for length in self.lengths
        ]
        return html_table(
            f"Operations of one layer and bytes of its weights, width {width}, {heads} heads.",
            ["tokens", "attention", "feed-forward", "GRU", "bytes of weights"],
            rows,
        )
