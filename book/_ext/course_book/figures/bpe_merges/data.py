"""The data of the figure ``bpe-merges``, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import (
    require_ascending,
    require_list,
    require_texts,
    require_whole,
)


@dataclass(frozen=True, kw_only=True)
class BPEMerges(FigureData):
    """One text, cut after so and so many merges.

    Attributes:
        merges: How many merges are applied, ascending, from 2 values on.
        tokens: For each of them the tokens of the text, as they are to be read; a space is part of
            the token that it begins.
    """

    merges: tuple[int, ...]
    tokens: tuple[tuple[str, ...], ...]

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        merges = tuple(
            require_whole("merges", count, 0)
            for count in require_list("merges", data["merges"], "numbers", 2)
        )
        require_ascending("merges", merges)
        rows = require_list("tokens", data["tokens"], "lists", len(merges), len(merges))
        return {"merges": merges, "tokens": tuple(require_texts("tokens", row) for row in rows)}

    def table(self) -> str:
        """Return the tokens after each number of merges as an HTML table."""
        rows = [
            [str(count), str(len(tokens)), "|".join(tokens)]
            for count, tokens in zip(self.merges, self.tokens, strict=True)
        ]
        return html_table("One text, by the number of merges.", ["merges", "tokens", "text"], rows)
