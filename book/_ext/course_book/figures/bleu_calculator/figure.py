"""The figure ``bleu-calculator``: BLEU of a text, count by count."""

from course_book.figures.figure import Figure, Record, html_table


class Example(Record):
    """A candidate translation and its references, under the name by which it is chosen."""

    name: str
    candidate: str
    references: list[str]


class BLEUCalculator(Figure):
    """BLEU with all its counts, of an example or of text that the reader types."""

    scripts = ("bleu-calculator/bleu.js",)

    examples: list[Example]

    def table(self) -> str:
        """Return a table of the counts and the score of each example."""
        from course_lib.metrics.bleu import sentence_bleu

        rows = []
        for example in self.examples:
            score = sentence_bleu(example.candidate, example.references)
            counts = zip(score.statistics.matches, score.statistics.totals, strict=True)
            rows.append(
                [
                    example.candidate,
                    " / ".join(example.references),
                    *(f"{matches} of {total}" for matches, total in counts),
                    f"{score.brevity_penalty:.2f}",
                    f"{score.score:.1f}",
                ]
            )
        heads = ["candidate", "references", "words", "pairs", "triples", "fours", "BP", "BLEU"]
        return html_table("Matching n-grams and BLEU of some candidates.", heads, rows)
