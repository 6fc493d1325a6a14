"""The figure ``attention-plane``: a query among keys in the plane, and the mixed value."""

from course_book.figures.figure import Figure, Matrix, html_table


class AttentionPlane(Figure):
    """A query that the reader drags among keys in the plane, and the mixed value.

    Attributes:
        names: The names of the n keys.
        query: The first query: two numbers.
        key: The keys, ``(n, 2)``.
        value: A number for each key.
        axes: The meanings of the two numbers of a query or key.
        unit: The unit of the values, such as years.
        reach: The largest coordinate in view.
    """

    scripts = ("dragging/handle.js", "dragging/plane.js")

    names: list[str]
    query: list[float]
    key: Matrix
    value: list[float]
    axes: tuple[str, str]
    unit: str
    reach: float

    def attend(self) -> tuple[list[float], list[float], float]:
        """Return the scores and the weights of the n keys for the query, and the mixed value."""
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
        """Return a table of scores, weights and values for the first query."""
        scores, weights, output = self.attend()
        rows = [
            [name, f"{score:.2f}", f"{weight:.2f}", f"{value:g}"]
            for name, score, weight, value in zip(
                self.names, scores, weights, self.value, strict=True
            )
        ]
        return html_table(
            f"For the query {tuple(self.query)}: scores, weights and values; mixed, "
            f"{output:.1f} {self.unit}.",
            ["", "score q\N{DOT OPERATOR}k", "weight", f"value ({self.unit})"],
            rows,
        )
