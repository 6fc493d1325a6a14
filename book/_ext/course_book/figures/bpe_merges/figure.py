"""The figure ``bpe-merges``: a text's tokens, by the number of merges."""

from course_book.figures.figure import Figure, html_table


class BPEMerges(Figure):
    """The tokens of one text after the number of merges that the reader chooses.

    ``merges`` are the numbers of merges, ascending; ``tokens`` has the text's tokens for each of
    them, where a space belongs to the token that follows it.
    """

    merges: list[int]
    tokens: list[list[str]]

    def table(self) -> str:
        """Return a table of the tokens after each number of merges."""
        rows = [
            [str(count), str(len(tokens)), "|".join(tokens)]
            for count, tokens in zip(self.merges, self.tokens, strict=True)
        ]
        return html_table("One text, by the number of merges.", ["merges", "tokens", "text"], rows)
