"""The data of the figure ``attention-cost``, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import require_ascending, require_list, require_whole

CHOICES = ("lengths", "widths", "heads")


@dataclass(frozen=True, kw_only=True)
class AttentionCost(FigureData):
    """What the sliders of the calculator offer.

    Attributes:
        lengths: Numbers of tokens, ascending.
        widths: Widths of a token's vector, ascending.
        heads: Numbers of heads, ascending; each divides the smallest width.
        start: The length, width and number of heads at first.
    """

    lengths: tuple[int, ...]
    widths: tuple[int, ...]
    heads: tuple[int, ...]
    start: tuple[int, int, int]

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        offered = {
            name: tuple(
                require_whole(f"each of {name}", size, 1)
                for size in require_list(name, data[name], "sizes", 2)
            )
            for name in CHOICES
        }
        for name, sizes in offered.items():
            require_ascending(name, sizes)
        if any(offered["widths"][0] % heads for heads in offered["heads"]):
            raise ValueError(f"heads must divide the smallest width, got {data['heads']!r}")
        start = require_list("start", data["start"], "sizes", len(CHOICES), len(CHOICES))
        for name, size in zip(CHOICES, start, strict=True):
            if size not in offered[name]:
                raise ValueError(f"start must be among {name}, got {size!r}")
        return offered | {"start": tuple(start)}

    def table(self) -> str:
        """Return the costs of each length, at the first width and number of heads, as HTML."""
        from course_lib.analysis.complexity import (
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
