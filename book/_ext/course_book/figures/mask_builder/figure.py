"""The figure ``mask-builder``: a mask set cell by cell, and the leaks through it."""

from course_book.figures.figure import Figure, Matrix, html_table


class MaskBuilder(Figure):
    """A sentence and an attention layer of one head.

    Attributes:
        words: The tokens.
        padding: The positions of padding, from 0.
        x: A vector for each token.
        query: A matrix as wide and as high as a vector.
        key: Likewise.
        value: Likewise.
    """

    scripts = ("mask-builder/leak.js",)

    words: list[str]
    padding: list[int]
    x: Matrix
    query: Matrix
    key: Matrix
    value: Matrix

    def table(self) -> str:
        """Return the causal mask without padding."""
        rows = [
            [word, *(str(int(s <= t and s not in self.padding)) for s in range(len(self.words)))]
            for t, word in enumerate(self.words)
        ]
        return html_table(
            "The right mask: a row for each token that asks, 1 where it may attend.",
            ["", *self.words],
            rows,
        )
