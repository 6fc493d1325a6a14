"""The data of the figure ``mlm-guesser``, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import (
    require_fields,
    require_list,
    require_model,
    require_texts,
    require_whole,
)

Guesses = tuple[tuple[str, float], ...]


@dataclass(frozen=True, kw_only=True)
class GuessedSentence:
    """A sentence, and what each model takes each of its words for when that word is hidden.

    Attributes:
        words: The sentence.
        clues: Pairs of places: a word, and one that decides its form.
        guesses: For each model, for each word: the likeliest words, best first, and their
            probabilities.
    """

    words: tuple[str, ...]
    clues: list[list[int]]
    guesses: tuple[tuple[Guesses, ...], ...]


@dataclass(frozen=True, kw_only=True)
class MLMGuesser(FigureData):
    """What the figure shows.

    Attributes:
        model: Id of the deferred data that hold the models: a BERT, and one that is causal.
        models: Their names.
        sentences: Sentences to begin with, and the models' guesses.
    """

    model: str
    models: tuple[str, ...]
    sentences: tuple[GuessedSentence, ...]

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        require_model(data["model"])
        models = require_texts("models", data["models"], 2, 2)
        sentences = require_list("sentences", data["sentences"], "sentences")
        return {
            "models": models,
            "sentences": tuple(_read_sentence(sentence, models) for sentence in sentences),
        }

    def table(self) -> str:
        """Return each model's first guess for each word as HTML tables, one a sentence."""
        return "\n".join(self._sentence_table(sentence) for sentence in self.sentences)

    def _sentence_table(self, sentence: GuessedSentence) -> str:
        rows = [
            [model, *(f"{best[0][0]} {best[0][1]:.2f}" for best in guesses)]
            for model, guesses in zip(self.models, sentence.guesses, strict=True)
        ]
        return html_table(
            f"First guess for each word of \N{LEFT DOUBLE QUOTATION MARK}"
            f"{' '.join(sentence.words)}\N{RIGHT DOUBLE QUOTATION MARK} when it is hidden.",
            ["model", *sentence.words],
            rows,
        )


def _read_sentence(data: Any, models: tuple[str, ...]) -> GuessedSentence:
    require_fields(data, GuessedSentence.__annotations__, "a sentence")
    words = require_texts("words", data["words"])
    for pair in require_list("clues", data["clues"], "pairs of places", 0):
        for place in require_list("clues", pair, "places", 2, 2):
            require_whole("clues", place, 0, len(words) - 1)
    guesses = tuple(
        tuple(tuple((str(word), float(p)) for word, p in best) for best in of_model)
        for of_model in data["guesses"]
    )
    if len(guesses) != len(models) or any(len(of_model) != len(words) for of_model in guesses):
        raise ValueError(
            f"guesses must hold, for each of {len(models)} models, one list for each of "
            f"{len(words)} words"
        )
    for best in (best for of_model in guesses for best in of_model):
        probabilities = [p for _, p in best]
        if not best or not all(0 <= p <= 1 for p in probabilities) or sum(probabilities) > 1.01:
            raise ValueError(f"guesses must be words with probabilities, got {best}")
        if probabilities != sorted(probabilities, reverse=True):
            raise ValueError(f"the likeliest guess must come first, got {best}")
    return GuessedSentence(words=words, clues=data["clues"], guesses=guesses)
