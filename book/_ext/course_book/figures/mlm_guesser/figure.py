"""The figure ``mlm-guesser``: BERT and a causal model guess hidden words."""

from course_book.figures.figure import Figure, Record, html_table
from course_book.figures.script_lists import ATTENTION, SENTENCE_FORM


class GuessedSentence(Record):
    """A sentence, and the guesses for each of its words when that word is hidden."""

    words: list[str]  # the sentence
    clues: list[tuple[int, int]]  # pairs of positions: a word, and the word that decides its form
    # for each model and word the likeliest words with their probabilities, best first
    guesses: list[list[list[tuple[str, float]]]]


class MLMGuesser(Figure):
    """Two models and sentences."""

    scripts = (*SENTENCE_FORM, "living-transformer/own-model.js")
    deferred = (
        *(*ATTENTION, "engine/masked-lm.js", "engine/word-pieces.js", "engine/file-checks.js"),
        *("engine/masked-lm-file.js", "living-transformer/words.js", "mlm-guesser/reading.js"),
        "mlm-guesser/workbench.js",
    )
    styles = ("living-transformer",)

    model: str  # id of the deferred data with the models: a BERT, and a causal one
    models: tuple[str, str]  # their names
    sentences: list[GuessedSentence]  # sentences to begin with

    def table(self) -> str:
        """Return the first guess of each model for each word, a table for each sentence."""
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
