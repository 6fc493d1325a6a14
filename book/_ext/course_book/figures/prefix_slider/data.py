"""The data of the figure ``prefix-slider``, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import require_texts, require_whole


@dataclass(frozen=True, kw_only=True)
class PrefixSlider(FigureData):
    """A source and a target behind one another, under a mask with a prefix of any length.

    Attributes:
        words: The tokens of both, 3 to 10.
        source: How many of them are the source's; from 1 to one less than there are.
    """

    words: tuple[str, ...]
    source: int

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        words = require_texts("words", data["words"], 3, 10)
        require_whole("source", data["source"], 1, len(words) - 1)
        return {"words": words}

    def table(self) -> str:
        """Return, for each length of the prefix, what is seen and asked, as an HTML table."""
        from course_lib.layers.masks import causal_mask

        length, rows = len(self.words), []
        for prefix in range(length + 1):
            mask = causal_mask(length)[0, 0]
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
