"""The figure ``bottleneck``: sequences of growing length in a vector of one size."""

from course_book.figures.figure import Figure, Record, html_table


class Example(Record):
    """A sequence, one letter a token."""

    source: str  # the sequence
    context: list[float]  # the encoder's vector, numbers from -1 to 1
    written: str  # the decoder's output; the right one is the source backwards


class Bottleneck(Figure):
    """Sequences by length."""

    examples: list[list[Example]]  # for each length, from 1, some sequences
    right: list[float]  # for each length the share of sequences written without a mistake

    def table(self) -> str:
        """Return an example for each length."""
        rows = [
            [str(length), group[0].source, group[0].written, f"{share:.0%}"]
            for length, (group, share) in enumerate(
                zip(self.examples, self.right, strict=True), start=1
            )
        ]
        return html_table(
            "A source of each length, the output from its context (it should be the source "
            "backwards), and the share of all sources of that length written without a mistake.",
            ["length", "source", "written", "without a mistake"],
            rows,
        )
