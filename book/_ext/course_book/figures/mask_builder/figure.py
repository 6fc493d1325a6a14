"""The figure ``mask-builder``: a mask set cell by cell, and the leaks through it."""

from course_book.figures.figure import Figure, Matrix, html_table


class MaskBuilder(Figure):
    """A mask whose cells the reader sets, and the leaks through attention layers with it.

    Attributes:
        words: The tokens of a sentence.
        padding: The positions of padding, from 0.
        x: The tokens' vectors, ``(tokens, width)``.
        query: The matrix that makes queries of them, ``(width, width)``.
        key: The matrix that makes keys.
        value: The matrix that makes values.
    """

    scripts = ("mask-builder/leak.js",)

    words: list[str]
    padding: list[int]
    x: Matrix
    query: Matrix
    key: Matrix
    value: Matrix

    def table(self) -> str:
        """Return a table of the right mask: causal, and without padding."""
        rows = [
            [word, *(str(int(s <= t and s not in self.padding)) for s in range(len(self.words)))]
            for t, word in enumerate(self.words)
        ]
        return html_table(
            "The right mask: a row for each token that asks, 1 where it may attend.",
            ["", *self.words],
            rows,
        )
