"""The data of figures with a translator: the model and sentences with their translations."""

from course_book.figures.figure import Figure, Matrix, Record, html_table

Pairs = list[tuple[int, int]]
"""Pairs of positions of words."""


class Sentence(Record):
    """A sentence with its right translation and the model's, in words."""

    src: list[str]  # the sentence
    tgt: list[str]  # its right translation
    written: list[str]  # the model's translation
    alignment: Pairs  # the source word and the target word that belong together
    src_agreements: Pairs  # a word of the sentence, and the word that decides its form
    tgt_agreements: Pairs  # the same in the right translation


class Opening(Record):
    """A translation, and the attention of each written word over the source."""

    src: list[str]
    written: list[str]
    looks: Matrix  # cross-attention of each written word over the source, the mean of all heads


class Translator(Figure):
    """A translator that runs in the page."""

    model: str  # id of the deferred data with the model
    right: float  # share of unseen sentences that the model translates without a mistake
    examples: list[Sentence]  # sentences to pick from
    kinds: dict[str, list[str]]  # the words that it knows, by kind, such as nouns
    opening: Opening  # the first frame

    def table(self) -> str:
        """Return the model's translation and the right one of each sentence."""
        rows = [[" ".join(e.src), " ".join(e.written), " ".join(e.tgt)] for e in self.examples]
        return html_table(
            "The model's translations of sentences that it has not seen.",
            ["English", "the model's French", "right"],
            rows,
        )
