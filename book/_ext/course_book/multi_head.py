"""The data of the figure ``multi-head``, and its table for readers without scripts."""

import math
from dataclasses import dataclass
from typing import Any

from course_book.html_table import html_table


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
    votes: tuple[tuple[float, ...], ...]


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
    weights: tuple[tuple[tuple[float, ...], ...], ...]
    asked: tuple[Asked, ...]


@dataclass(frozen=True, kw_only=True)
class MultiHead:
    """A trained layer of several heads, which can be switched off.

    Attributes:
        questions: The questions, in words.
        vocabulary: The words that can be an answer.
        base: For each question the logit of each word before any head has spoken.
        sentences: What it reads.
        note: Where the numbers come from, in a sentence; may be empty.
    """

    questions: tuple[str, ...]
    vocabulary: tuple[str, ...]
    base: tuple[tuple[float, ...], ...]
    sentences: tuple[ReadSentence, ...]
    note: str

    @classmethod
    def from_json(cls, data: Any) -> "MultiHead":
        """Read and check the data that a chapter put into its page.

        Args:
            data: What ``json.loads`` returned.

        Returns:
            The checked data.

        Raises:
            ValueError: Something is missing, surplus, or of the wrong size.
        """
        questions, vocabulary, base, sentences, note = _fields(
            data, "data", ("questions", "vocabulary", "base", "sentences", "note")
        )
        if not questions or not vocabulary or not sentences:
            raise ValueError("there must be a question, a word and a sentence at least")
        return cls(
            questions=tuple(questions),
            vocabulary=tuple(vocabulary),
            base=_numbers("base", base, len(questions), len(vocabulary)),
            sentences=tuple(_sentence(each, questions, vocabulary) for each in sentences),
            note=str(note),
        )

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


def _fields(data: Any, where: str, names: tuple[str, ...]) -> tuple[Any, ...]:
    if not isinstance(data, dict) or set(data) != set(names):
        found = sorted(data) if isinstance(data, dict) else type(data).__name__
        raise ValueError(f"{where}: expected an object with {sorted(names)}, got {found}")
    return tuple(data[name] for name in names)


def _sentence(data: Any, questions: list[str], vocabulary: list[str]) -> ReadSentence:
    words, start, weights, asked = _fields(data, "sentence", ("words", "start", "weights", "asked"))
    unknown = set(words) - set(vocabulary)
    if unknown:
        raise ValueError(f"words must be of the vocabulary, got {sorted(unknown)}")
    _place("start", start, len(words))
    if not weights:
        raise ValueError("weights must hold at least one head")
    return ReadSentence(
        words=tuple(words),
        start=start,
        weights=tuple(_numbers("weights", head, len(words), len(words)) for head in weights),
        asked=tuple(
            _asked(each, len(words), len(questions), (len(weights), len(vocabulary)))
            for each in asked
        ),
    )


def _asked(data: Any, length: int, num_questions: int, votes_shape: tuple[int, int]) -> Asked:
    place, question, answer, votes = _fields(
        data, "asked", ("place", "question", "answer", "votes")
    )
    _place("place", place, length)
    _place("question", question, num_questions)
    _place("answer", answer, length)
    return Asked(
        place=place,
        question=question,
        answer=answer,
        votes=_numbers("votes", votes, *votes_shape),
    )


def _place(name: str, place: Any, length: int) -> None:
    if not isinstance(place, int) or not 0 <= place < length:
        raise ValueError(f"{name} must be from 0 to {length - 1}, got {place!r}")


def _numbers(name: str, rows: Any, height: int, width: int) -> tuple[tuple[float, ...], ...]:
    if not isinstance(rows, list) or len(rows) != height:
        raise ValueError(f"{name} must have {height} rows, got {rows!r}")
    for row in rows:
        if len(row) != width or not all(
            isinstance(v, int | float) and math.isfinite(v) for v in row
        ):
            raise ValueError(f"each row of {name} must hold {width} numbers, got {row!r}")
    return tuple(tuple(row) for row in rows)
