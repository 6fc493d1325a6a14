"""The figure ``multi-head``: a trained layer whose heads can be switched off."""

from course_book.figures.figure import Figure, Matrix, Record, html_table


class Asked(Record):
    """A question that a word of a sentence asks, and the votes of the heads.

    Attributes:
        place: Position of the word that asks.
        question: Index of the question.
        answer: Position of the right answer.
        votes: For each head the numbers that it adds to the logits of the vocabulary.
    """

    place: int
    question: int
    answer: int
    votes: Matrix


class ReadSentence(Record):
    """A sentence with its attention weights.

    Attributes:
        words: Its words.
        start: Position of the word that asks at first.
        weights: For each head and word the weights of all words.
        asked: The questions of its words.
    """

    words: list[str]
    start: int
    weights: list[Matrix]
    asked: list[Asked]


class MultiHead(Figure):
    """A layer of several heads.

    Attributes:
        questions: The questions, in words.
        vocabulary: The words that can be an answer.
        base: For each question the logit of each word without any head.
        sentences: The sentences.
    """

    questions: list[str]
    vocabulary: list[str]
    base: Matrix
    sentences: list[ReadSentence]

    def answer(self, asked: Asked, switched_off: int | None = None) -> str:
        """Return the word with the largest logit, with one head switched off if it is given."""
        heads = [vote for head, vote in enumerate(asked.votes) if head != switched_off]
        logits = [sum(column) for column in zip(self.base[asked.question], *heads, strict=True)]
        return self.vocabulary[logits.index(max(logits))]

    def table(self) -> str:
        """Return the answers to the first word that asks, with all heads and without each."""
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
