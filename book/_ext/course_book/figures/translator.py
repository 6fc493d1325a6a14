"""The data of figures with a translator: the model and sentences with their translations."""

from course_book.figures.figure import Figure, Record, html_table

Pairs = list[tuple[int, int]]
"""Pairs of positions of words."""


class Sentence(Record):
    """A sentence with its right translation and the model's, in words.

    Attributes:
        src: The sentence.
        tgt: Its right translation.
        written: The model's translation.
        alignment: The source word and the target word that belong together.
        src_agreements: A word of the sentence, and the word that decides its form.
        tgt_agreements: The same in the right translation.
    """

    src: list[str]
    tgt: list[str]
    written: list[str]
    alignment: Pairs
    src_agreements: Pairs
    tgt_agreements: Pairs


class Translator(Figure):
    """A translator that runs in the page.

    Attributes:
        model: Id of the deferred data with the model.
        right: Share of unseen sentences that the model translates without a mistake.
        examples: Sentences to pick from.
    """

    model: str
    right: float
    examples: list[Sentence]

    def table(self) -> str:
        """Return the model's translation and the right one of each sentence."""
        rows = [[" ".join(e.src), " ".join(e.written), " ".join(e.tgt)] for e in self.examples]
        return html_table(
            "What the model makes of sentences that it has not seen.",
            ["English", "the model's French", "right"],
            rows,
        )
