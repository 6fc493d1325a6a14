"""The figure ``bottleneck``: sequences of growing length in a vector of one size."""

from course_book.figures.figure import Figure, Record, html_table


class Example(Record):
    """A sequence of letters and its passage through the model.

    ``source`` is the sequence, a letter for each token; ``context`` the encoder's vector, numbers
    from -1 to 1; ``written`` the decoder's output, which should be the source backwards.
    """

    source: str
    context: list[float]
    written: str


class Bottleneck(Figure):
    """Sequences of the chosen length, squeezed into a context vector of one size.

    ``examples`` has some sequences for each length from 1 on; ``right`` has for each length the
    share of sequences that the model writes without a mistake.
    """

    examples: list[list[Example]]
    right: list[float]

    def table(self) -> str:
        """Return a table with an example for each length."""
        pairs = zip(self.examples, self.right, strict=True)
        rows = [
            [str(length), group[0].source, group[0].written, f"{share:.0%}"]
            for length, (group, share) in enumerate(pairs, start=1)
        ]
        return html_table(
            "A source of each length, the output from its context (it should be the source "
            "backwards), and the share of all sources of that length written without a mistake.",
            ["length", "source", "written", "without a mistake"],
            rows,
        )
