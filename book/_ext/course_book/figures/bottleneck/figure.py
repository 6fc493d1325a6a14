"""The figure ``bottleneck``: sequences of growing length in a vector of one size."""

from course_book.figures.figure import Figure, Record, html_table


class Example(Record):
    """A sequence, one letter a token.

    Attributes:
        source: The sequence.
        context: The encoder's vector, numbers from -1 to 1.
        written: The decoder's output; the right one is the source backwards.
    """

    source: str
    context: list[float]
    written: str


class Bottleneck(Figure):
    """Sequences by length.

    Attributes:
        examples: For each length, from 1, some sequences.
        right: For each length the share of sequences written without a mistake.
    """

    examples: list[list[Example]]
    right: list[float]

    def table(self) -> str:
        """Return an example for each length."""
        rows = [
            [str(length), group[0].source, group[0].written, f"{share:.0%}"]
            for length, (group, share) in enumerate(
                zip(self.examples, self.right, strict=True), start=1
            )
        ]
        return html_table(
            "A source of each length, what was written from its context (it should be the source "
            "backwards), and the share of all sources of that length written without a mistake.",
            ["length", "source", "written", "without a mistake"],
            rows,
        )
