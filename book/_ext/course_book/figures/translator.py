"""The data of figures with a translator: the model and sentences with their translations."""

from course_book.figures.figure import Figure, Matrix, Record, html_table

Pairs = list[tuple[int, int]]
"""Pairs of positions of words, from 0."""


class Sentence(Record):
    """A sentence with its right translation (``tgt``) and the model's (``written``), in words.

    Attributes:
        src: The sentence.
        tgt: Its right translation.
        written: The model's translation.
        alignment: Positions of a source word and of a word of ``tgt`` that belong together.
        src_agreements: Positions of a source word and of the source word that decides its form.
        tgt_agreements: The same within ``tgt``.
    """

    src: list[str]
    tgt: list[str]
    written: list[str]
    alignment: Pairs
    src_agreements: Pairs
    tgt_agreements: Pairs


class Opening(Record):
    """A translation shown before the model is loaded.

    ``looks`` is the cross-attention of each word of ``written`` over those of ``src``, the mean of
    all heads.
    """

    src: list[str]
    written: list[str]
    looks: Matrix


class Translator(Figure):
    """The base of figures with a translator that runs in the page.

    Attributes:
        model: Id of the separately loaded data with the model.
        right: Share of unseen sentences that the model translates without a mistake.
        examples: Sentences to pick from.
        kinds: The source words that the model knows, by kind, such as nouns.
        opening: The translation that is shown before the model is loaded.
    """

    model: str
    right: float
    examples: list[Sentence]
    kinds: dict[str, list[str]]
    opening: Opening

    def table(self) -> str:
        """Return a table of the model's translation and the right one of each sentence."""
        rows = [[" ".join(e.src), " ".join(e.written), " ".join(e.tgt)] for e in self.examples]
        return html_table(
            "The model's translations of sentences that it has not seen.",
            ["English", "the model's French", "right"],
            rows,
        )
