"""The figure ``attention-cost``: sliders for the cost of an attention layer."""

from course_book.figures.figure import Figure, html_table


class AttentionCost(Figure):
    """The values that each slider offers, in ascending order."""

    lengths: list[int]  # numbers of tokens
    widths: list[int]  # widths of a token's vector
    heads: list[int]  # numbers of heads; each divides the smallest width
    start: tuple[int, int, int]  # the length, the width and the number of heads at first

    def table(self) -> str:
        """Return the cost of each length, at the first width and number of heads."""
        from course_lib.analysis.complexity import (
            attention_flops,
            attention_weights_bytes,
            feed_forward_flops,
            recurrent_flops,
        )

        _, width, heads = self.start
        costs = [
            (
                attention_flops(1, length, length, width),
                feed_forward_flops(1, length, width, 4 * width),
                recurrent_flops(1, length, width, width, gates=3),
                attention_weights_bytes(1, heads, length, length),
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
