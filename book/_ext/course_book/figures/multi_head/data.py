"""The data of the figure ``multi-head``, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import (
    Matrix,
    require_fields,
    require_list,
    require_matrix,
    require_texts,
    require_whole,
)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question that a word of a sentence asks, and what each head says to it.

    Attributes:
        place: Which word asks, from 0.
        question: Which question, from 0.
        answer: Which word of the sentence is the right answer, from 0.
        votes: For each head what it adds to the logit of each word of the vocabulary.
    """

    place: int
    question: int
    answer: int
    votes: Matrix


@dataclass(frozen=True, kw_only=True)
class ReadSentence:
    """A sentence as all heads read it.

    Attributes:
        words: Its words.
        start: The word that asks at first, from 0.
        weights: For each head a table: for each word that asks its weight of each word.
        asked: The questions that its words ask.
    """

    words: tuple[str, ...]
    start: int
    weights: tuple[Matrix, ...]
    asked: tuple[Asked, ...]


@dataclass(frozen=True, kw_only=True)
class MultiHead(FigureData):
    """A trained layer of several heads, which can be switched off.

    Attributes:
        questions: The questions, in words.
        vocabulary: The words that can be an answer.
        base: For each question the logit of each word before any head has spoken.
        sentences: What it reads.
    """

    questions: tuple[str, ...]
    vocabulary: tuple[str, ...]
    base: Matrix
    sentences: tuple[ReadSentence, ...]

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        questions = require_texts("questions", data["questions"])
        vocabulary = require_texts("vocabulary", data["vocabulary"])
        return {
            "questions": questions,
            "vocabulary": vocabulary,
            "base": require_matrix("base", data["base"], len(questions), len(vocabulary)),
            "sentences": tuple(
                _sentence(each, questions, vocabulary)
                for each in require_list("sentences", data["sentences"], "sentences")
            ),
        }

    def answer(self, asked: Asked, switched_off: int | None = None) -> str:
        """Return the word that wins, perhaps with one head switched off."""
        heads = [vote for head, vote in enumerate(asked.votes) if head != switched_off]
        logits = [sum(column) for column in zip(self.base[asked.question], *heads, strict=True)]
        return self.vocabulary[logits.index(max(logits))]

    def table(self) -> str:
        """Return what each sentence's first word that asks is told, as an HTML table."""
        num_heads = len(self.sentences[0].weights)
        rows = []
        for number, sentence in enumerate(self.sentences, start=1):
            for asked in sentence.asked:
                if asked.place == sentence.start:
                    rows.append(
                        [
                            f"{number}: {sentence.words[asked.place]}, "
                            f"{self.questions[asked.question]}",
                            sentence.words[asked.answer],
                            self.answer(asked),
                            *(self.answer(asked, head) for head in range(num_heads)),
                        ]
                    )
        return html_table(
            "What one word of each sentence is told, by all heads and without one of them.",
            ["sentence, word and question", "right", "all heads"]
            + [f"without head {head + 1}" for head in range(num_heads)],
            rows,
        )


def _sentence(data: Any, questions: tuple[str, ...], vocabulary: tuple[str, ...]) -> ReadSentence:
    require_fields(data, ReadSentence.__annotations__, "a sentence")
    words = require_texts("words", data["words"])
    unknown = set(words) - set(vocabulary)
    if unknown:
        raise ValueError(f"words must be of the vocabulary, got {sorted(unknown)}")
    length, heads = len(words), require_list("weights", data["weights"], "heads")
    votes_shape = (len(heads), len(vocabulary))
    return ReadSentence(
        words=words,
        start=require_whole("start", data["start"], 0, length - 1),
        weights=tuple(require_matrix("weights", head, length, length) for head in heads),
        asked=tuple(_asked(each, length, len(questions), votes_shape) for each in data["asked"]),
    )


def _asked(data: Any, length: int, num_questions: int, votes_shape: tuple[int, int]) -> Asked:
    require_fields(data, Asked.__annotations__, "asked")
    return Asked(
        place=require_whole("place", data["place"], 0, length - 1),
        question=require_whole("question", data["question"], 0, num_questions - 1),
        answer=require_whole("answer", data["answer"], 0, length - 1),
        votes=require_matrix("votes", data["votes"], *votes_shape),
    )
