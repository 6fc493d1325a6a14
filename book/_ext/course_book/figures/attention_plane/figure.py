"""The figure ``attention-plane``: a query among keys in the plane, and the mixed value."""

from course_book.figures.figure import Figure, Matrix, html_table


class AttentionPlane(Figure):
    """Keys and values in the plane."""

    scripts = ("dragging/handle.js", "dragging/plane.js")

    names: list[str]  # the names of the n keys
    query: list[float]  # the first query, two numbers
    key: Matrix  # a key for each name, ``(n, 2)``
    value: list[float]  # a number for each name
    axes: tuple[str, str]  # the meanings of the two numbers of a query or key
    unit: str  # the unit of the values
    reach: float  # the largest coordinate in view

    def attend(self) -> tuple[list[float], list[float], float]:
        """Return the score and the weight of each key, and the mixed value."""
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
        """Return scores, weights and values for the first query."""
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
