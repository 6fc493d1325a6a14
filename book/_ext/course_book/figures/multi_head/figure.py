"""The figure ``multi-head``: a trained layer whose heads can be switched off."""

from course_book.figures.figure import Figure, Matrix, Record, html_table


class Asked(Record):
    """A question that a word of a sentence asks, and the votes of the heads.

    Attributes:
        place: The position of the word that asks.
        question: Index of the question.
        answer: The position of the word that is the right answer.
        votes: For each head the numbers that it adds to the logits, ``(heads, vocabulary)``.
    """

    place: int
    question: int
    answer: int
    votes: Matrix


class ReadSentence(Record):
    """A sentence as the layer reads it.

    Attributes:
        words: Its n words.
        start: The position of the word that asks at first.
        weights: The attention weights, ``(heads, n, n)``.
        asked: The questions that its words ask.
    """

    words: list[str]
    start: int
    weights: list[Matrix]
    asked: list[Asked]


class MultiHead(Figure):
    """A trained attention layer that answers questions; the reader switches off its heads.

    Attributes:
        questions: The questions, in words.
        vocabulary: The words that can be an answer.
        base: The logit of each word without any head, ``(questions, vocabulary)``.
        sentences: The sentences to choose from.
    """

    questions: list[str]
    vocabulary: list[str]
    base: Matrix
    sentences: list[ReadSentence]

    def answer(self, asked: Asked, switched_off: int | None = None) -> str:
        """Return the layer's answer to a question, perhaps with the head ``switched_off``."""
        heads = [vote for head, vote in enumerate(asked.votes) if head != switched_off]
        logits = [sum(column) for column in zip(self.base[asked.question], *heads, strict=True)]
        return self.vocabulary[logits.index(max(logits))]

    def table(self) -> str:
        """Return a table of answers to the first word that asks, by all heads and without each."""
        num_heads = len(self.sentences[0].weights)
        rows = [
            [
                f"{number}: {sentence.words[asked.place]}, {self.questions[asked.question]}",
                sentence.words[asked.answer],
                *(self.answer(asked, head) for head in (None, *range(num_heads))),
            ]
            for number, sentence in enumerate(self.sentences, start=1)
            for asked in sentence.asked
            if asked.place == sentence.start
        ]
        return html_table(
            "What one word of each sentence is told, by all heads and without one of them.",
            ["sentence, word and question", "right", "all heads"]
            + [f"without head {head + 1}" for head in range(num_heads)],
            rows,
        )
