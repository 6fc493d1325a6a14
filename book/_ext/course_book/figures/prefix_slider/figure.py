"""The figure ``prefix-slider``: a causal mask whose prefix sees both ways."""

from course_book.figures.figure import Figure, html_table


class PrefixSlider(Figure):
    """A source followed by a target.

    Attributes:
        words: The tokens of both.
        source: The number of source tokens.
    """

    words: list[str]
    source: int

    def table(self) -> str:
        """Return the number of visible pairs and of training targets for each prefix."""
        from course_lib.layers.masks import causal_mask

        length, rows = len(self.words), []
        for prefix in range(length + 1):
            mask = causal_mask(length)[0, 0]
            mask[:, :prefix] = True
            lessons = int((~mask.diagonal(offset=1)).sum())
            rows.append([str(prefix), self._family(prefix), str(int(mask.sum())), str(lessons)])
        return html_table(
            "A prefix of each length: what is seen, and which places can be asked for the next.",
            ["prefix", "family", "pairs that see", "places that can be asked"],
            rows,
        )

    def _family(self, prefix: int) -> str:
        if prefix <= 1:  # the first token sees itself in any case
            return "decoder-only"
        return "encoder-only" if prefix == len(self.words) else "prefix LM"
