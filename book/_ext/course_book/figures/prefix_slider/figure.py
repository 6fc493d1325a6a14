"""The figure ``prefix-slider``: a causal mask whose prefix sees both ways."""

from course_book.figures.figure import Figure, html_table


class PrefixSlider(Figure):
    """The causal mask of a text whose first tokens, up to a slider, see each other both ways.

    ``words`` are the tokens of a source and a target; the first ``source`` of them are the source.
    """

    words: list[str]
    source: int

    def table(self) -> str:
        """Return a table of the numbers of visible pairs and training targets for each prefix."""
        from course_lib.layers.masks import causal_mask

        length, rows = len(self.words), []
        for prefix in range(length + 1):
            mask = causal_mask(length)[0, 0]
            mask[:, :prefix] = True
            lessons = int((~mask.diagonal(offset=1)).sum())
            # The first token sees itself in any case.
            families = ("decoder-only", "prefix LM", "encoder-only")
            family = families[(prefix > 1) + (prefix == length)]
            rows.append([str(prefix), family, str(int(mask.sum())), str(lessons)])
        return html_table(
            "A prefix of each length, and the places that can be asked for the next.",
            ["prefix", "family", "pairs that see", "places that can be asked"],
            rows,
        )
