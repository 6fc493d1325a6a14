"""The figure ``query-key-value``: the attention weights of each word of a sentence."""

from course_book.figures.figure import Figure, Matrix, html_table


class QueryKeyValue(Figure):
    """A sentence whose words the reader points at to see their attention weights.

    Attributes:
        words: The n words.
        query: The queries, ``(n, head_dim)``.
        key: The keys, ``(n, head_dim)``.
        value: The values, ``(n, value_dim)``; ``value_dim`` is at most 6.
        head_dim: The width of a query.
    """

    scripts = tuple(
        f"query-key-value/{part}.js" for part in ("attention", "bars", "arcs", "divisor")
    )

    words: list[str]
    query: Matrix
    key: Matrix
    value: Matrix
    head_dim: int

    def weights(self) -> list[list[float]]:
        """Return the attention weights, ``(n, n)``; rows sum to 1."""
        import torch

        from course_lib.layers.attention import scaled_dot_product_attention

        query, key, value = (
            torch.tensor(vectors, dtype=torch.float64)
            for vectors in (self.query, self.key, self.value)
        )
        _, weights = scaled_dot_product_attention(query, key, value, return_weights=True)
        return [[float(weight) for weight in row] for row in weights]

    def table(self) -> str:
        """Return a table of the attention weights."""
        rows = [
            [word, *(f"{weight:.2f}" for weight in row)]
            for word, row in zip(self.words, self.weights(), strict=True)
        ]
        return html_table(
            "Attention weights: each row is a query, each column a key; a row sums to 1.",
            ["", *self.words],
            rows,
        )
