"""The figure ``mask-builder``: a mask set cell by cell, and the leaks through it."""

from course_book.figures.figure import Figure, Matrix, html_table


class MaskBuilder(Figure):
    """A sentence and an attention layer of one head."""

    scripts = ("mask-builder/leak.js",)

    words: list[str]  # the tokens
    padding: list[int]  # the positions of padding, from 0
    x: Matrix  # a vector for each token
    query: Matrix  # a matrix as wide and as high as a vector
    key: Matrix  # likewise
    value: Matrix  # likewise

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
