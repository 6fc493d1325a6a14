"""The data of the figure ``query-key-value``, checked, and its table for readers without scripts.

Dimensions: n words; head_dim entries of each query, key and value.
"""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import Matrix, require_matrix, require_texts, require_whole


@dataclass(frozen=True, kw_only=True)
class QueryKeyValue(FigureData):
    """What the figure shows.

    Attributes:
        words: The n words of a sentence, at least two.
        query: One query a word, ``(n, head_dim)``.
        key: One key a word, ``(n, head_dim)``.
        value: One value a word, ``(n, value_dim)``, drawn as strips: 1 to 6 entries.
        head_dim: Entries of a query.
    """

    words: tuple[str, ...]
    query: Matrix
    key: Matrix
    value: Matrix
    head_dim: int

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        words = require_texts("words", data["words"], 2)
        head_dim = require_whole("head_dim", data["head_dim"], 1)
        value = require_matrix("value", data["value"], len(words))
        require_whole("the width of value", len(value[0]), 1, 6)
        return {
            "words": words,
            "query": require_matrix("query", data["query"], len(words), head_dim),
            "key": require_matrix("key", data["key"], len(words), head_dim),
            "value": value,
        }

    def weights(self) -> list[list[float]]:
        """Return what each word's query makes of every key: ``(n, n)``, rows sum to 1."""
        import torch

        from course_lib.layers.attention import scaled_dot_product_attention

        query, key, value = (
            torch.tensor(vectors, dtype=torch.float64)
            for vectors in (self.query, self.key, self.value)
        )
        _, weights = scaled_dot_product_attention(query, key, value, return_weights=True)
        return [[float(weight) for weight in row] for row in weights]

    def table(self) -> str:
        """Return the weights as an HTML table."""
        rows = [
            [word, *(f"{weight:.2f}" for weight in row)]
            for word, row in zip(self.words, self.weights(), strict=True)
        ]
        return html_table(
            "Attention weights: each row is a query, each column a key; a row sums to 1.",
            ["", *self.words],
            rows,
        )
