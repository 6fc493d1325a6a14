"""The data of the figure ``word-neighbours``, checked, and its table for readers without scripts.

Dimensions: n words; d_embedding.
"""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import require_matrix, require_texts


@dataclass(frozen=True, kw_only=True)
class WordNeighbours(FigureData):
    """Words and their vectors.

    Attributes:
        words: The n words, at least two.
        vectors: By the name of the method, n vectors of one width.
    """

    words: list[str]
    vectors: dict[str, list[list[float]]]

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        words = require_texts("words", data["words"], 2)
        if not data["vectors"]:
            raise ValueError("vectors must hold at least one table, got none")
        for name, table in data["vectors"].items():
            require_matrix(name, table, len(words))
        return {}

    def nearest(self, name: str, word: int, count: int) -> list[tuple[str, float]]:
        """Return the words used most like one, by one method, and their cosines."""
        import torch

        from course_lib.models.word2vec import nearest_neighbours

        table = torch.tensor(self.vectors[name])
        near, cosines = nearest_neighbours(table, word, count=min(count, len(table) - 1))
        found = zip(near.tolist(), cosines.tolist(), strict=True)
        return [(self.words[index], cosine) for index, cosine in found]

    def table(self) -> str:
        """Return the three nearest words of each as an HTML table."""
        rows = []
        for index, word in enumerate(self.words):
            cells = [
                ", ".join(f"{near} ({cosine:.2f})" for near, cosine in self.nearest(name, index, 3))
                for name in self.vectors
            ]
            rows.append([word, *cells])
        return html_table("The three words used most like each.", ["", *self.vectors], rows)
