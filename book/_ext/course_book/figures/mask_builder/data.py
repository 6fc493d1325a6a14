"""The data of the figure ``mask-builder``, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import (
    Matrix,
    require_list,
    require_matrix,
    require_texts,
    require_whole,
)


@dataclass(frozen=True, kw_only=True)
class MaskBuilder(FigureData):
    """A sentence with its vectors, and an attention layer of one head.

    Attributes:
        words: The tokens, 3 to 8.
        padding: Which positions are padding, from 0.
        x: A vector for each token.
        query: A matrix as wide and as high as a vector.
        key: Likewise.
        value: Likewise.
    """

    words: tuple[str, ...]
    padding: tuple[int, ...]
    x: Matrix
    query: Matrix
    key: Matrix
    value: Matrix

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        words = require_texts("words", data["words"], 3, 8)
        for position in require_list("padding", data["padding"], "positions", 0):
            require_whole("each position of padding", position, 0, len(words) - 1)
        x = require_matrix("x", data["x"], len(words))
        width = len(x[0])
        matrices = {
            name: require_matrix(name, data[name], width, width)
            for name in ("query", "key", "value")
        }
        return matrices | {"words": words, "padding": tuple(data["padding"]), "x": x}

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
