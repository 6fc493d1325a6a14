"""The data of the figure ``attention-plane``, checked, and its table where scripts are off."""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import (
    Matrix,
    require_matrix,
    require_number,
    require_numbers,
    require_texts,
)


@dataclass(frozen=True, kw_only=True)
class AttentionPlane(FigureData):
    """What the figure shows.

    Attributes:
        names: What the n keys belong to, 2 to 6.
        query: The query to begin with, two numbers.
        key: A key for each name, ``(n, 2)``.
        value: A value for each name, one number.
        axes: What the two numbers of a query or key mean.
        unit: What values are counted in.
        reach: The largest coordinate that is in view.
    """

    names: tuple[str, ...]
    query: tuple[float, ...]
    key: Matrix
    value: tuple[float, ...]
    axes: tuple[str, ...]
    unit: str
    reach: float

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        names = require_texts("names", data["names"], 2, 6)
        reach = require_number("reach", data["reach"], above=0)
        return {
            "names": names,
            "query": require_numbers("query", data["query"], 2, 2, low=-reach, high=reach),
            "key": require_matrix("key", data["key"], len(names), 2),
            "value": require_numbers("value", data["value"], len(names), len(names)),
            "axes": require_texts("axes", data["axes"], 2, 2),
        }

    def attend(self) -> tuple[list[float], list[float], float]:
        """Return each key's score and weight, and the mixed value."""
        import torch

        from course_lib.layers.attention import scaled_dot_product_attention

        query, key, value = (
            torch.tensor(numbers, dtype=torch.float64)
            for numbers in ([self.query], self.key, [[v] for v in self.value])
        )
        output, weights = scaled_dot_product_attention(
            query * query.shape[-1] ** 0.5, key, value, return_weights=True
        )  # the figure doesn't divide by the root
        return (query @ key.T)[0].tolist(), weights[0].tolist(), float(output)

    def table(self) -> str:
        """Return scores, weights and values as an HTML table."""
        scores, weights, output = self.attend()
        rows = [
            [name, f"{score:.2f}", f"{weight:.2f}", f"{value:g}"]
            for name, score, weight, value in zip(
                self.names, scores, weights, self.value, strict=True
            )
        ]
        return html_table(
            f"For the query {self.query}: scores, weights and values; mixed, "
            f"{output:.1f} {self.unit}.",
            ["", "score q\N{DOT OPERATOR}k", "weight", f"value ({self.unit})"],
            rows,
        )
