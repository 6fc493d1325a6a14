"""The figure ``bpe-merges``: a text's tokens, by the number of merges."""

from course_book.figures.figure import Figure, html_table


class BPEMerges(Figure):
    """One text after several numbers of merges."""

    merges: list[int]  # the numbers of merges, ascending
    # for each of them the tokens; a space belongs to the token that it begins
    tokens: list[list[str]]

    def table(self) -> str:
        """Return the tokens after each number of merges."""
        rows = [
            [str(count), str(len(tokens)), "|".join(tokens)]
            for count, tokens in zip(self.merges, self.tokens, strict=True)
        ]
        return html_table("One text, by the number of merges.", ["merges", "tokens", "text"], rows)
