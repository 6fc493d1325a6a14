"""The figure ``mlm-guesser``: BERT and a causal model guess hidden words."""

from course_book.figures.figure import Figure, Record, html_table
from course_book.figures.script_lists import ATTENTION, SENTENCE_FORM


class GuessedSentence(Record):
    """A sentence, and the guesses for each of its words when that word is hidden.

    ``clues`` has pairs of positions of a word and of the word that decides its form. ``guesses``
    has for each model and each word the likeliest words with their probabilities, best first.
    """

    words: list[str]
    clues: list[tuple[int, int]]
    guesses: list[list[list[tuple[str, float]]]]


class MLMGuesser(Figure):
    """A BERT and a causal model in the page, which guess the words that the reader hides.

    ``model`` is the id of the separately loaded data with both models; ``models`` are their names.
    """

    scripts = (*SENTENCE_FORM, "living-transformer/own-model.js")
    deferred = (
        *(*ATTENTION, "engine/masked-lm.js", "engine/word-pieces.js", "engine/file-checks.js"),
        *("engine/masked-lm-file.js", "living-transformer/words.js", "mlm-guesser/reading.js"),
        "mlm-guesser/workbench.js",
    )
    styles = ("living-transformer",)

    model: str
    models: tuple[str, str]
    sentences: list[GuessedSentence]

    def table(self) -> str:
        """Return a table for each sentence: each model's first guess for each word."""
        return "\n".join(
            html_table(
                f"First guess for each word of \N{LEFT DOUBLE QUOTATION MARK}"
                f"{' '.join(sentence.words)}\N{RIGHT DOUBLE QUOTATION MARK} when it is hidden.",
                ["model", *sentence.words],
                [
                    [model, *(f"{best[0][0]} {best[0][1]:.2f}" for best in guesses)]
                    for model, guesses in zip(self.models, sentence.guesses, strict=True)
                ],
            )
            for sentence in self.sentences
        )
