"""The figure ``attention-cost``: sliders for the cost of an attention layer."""

from course_book.figures.figure import Figure, html_table


class AttentionCost(Figure):
    """Sliders for the length, width and heads of an attention layer; bars show its costs.

    ``lengths`` (in tokens), ``widths`` (of a token's vector) and ``heads`` are the values that each
    slider offers, ascending; ``start`` has the first length, width and number of heads.
    """

    lengths: list[int]
    widths: list[int]
    heads: list[int]
    start: tuple[int, int, int]

    def table(self) -> str:
        """Return a table of the costs of each length, at the first width and number of heads."""
        from course_lib.analysis import complexity

        _, width, heads = self.start
        costs = [
            (
                complexity.attention_flops(1, length, length, width),
                complexity.feed_forward_flops(1, length, width, 4 * width),
                complexity.recurrent_flops(1, length, width, width, gates=3),
                complexity.attention_weights_bytes(1, heads, length, length),
            )
            for length in self.lengths
        ]
        return html_table(
            f"Operations of one layer and bytes of its weights, width {width}, {heads} heads.",
            ["tokens", "attention", "feed-forward", "GRU", "bytes of weights"],
            [
                [f"{length:,}", *(f"{cost:.1e}" for cost in row)]
                for length, row in zip(self.lengths, costs, strict=True)
            ],
        )
