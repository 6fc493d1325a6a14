"""The figure ``multi-head``: a trained layer whose heads can be switched off."""

from course_book.figures.figure import Figure, Matrix, Record, html_table


class Asked(Record):
    """A question that a word of a sentence asks, and the votes of the heads."""

    place: int  # position of the word that asks
    question: int  # index of the question
    answer: int  # position of the right answer
    votes: Matrix  # for each head the numbers that it adds to the logits of the vocabulary


class ReadSentence(Record):
    """A sentence with its attention weights."""

    words: list[str]  # its words
    start: int  # position of the word that asks at first
    weights: list[Matrix]  # for each head and word the weights of all words
    asked: list[Asked]  # the questions of its words


class MultiHead(Figure):
    """A layer of several heads, and the questions about sentences that its heads answer."""

    questions: list[str]  # the questions, in words
    vocabulary: list[str]  # the words that can be an answer
    base: Matrix  # for each question the logit of each word without any head
    sentences: list[ReadSentence]  # the sentences

    def answer(self, asked: Asked, switched_off: int | None = None) -> str:
        """Return the word with the largest logit, with one head switched off if it is given."""
        heads = [vote for head, vote in enumerate(asked.votes) if head != switched_off]
        logits = [sum(column) for column in zip(self.base[asked.question], *heads, strict=True)]
        return self.vocabulary[logits.index(max(logits))]

    def table(self) -> str:
        """Return the answers to the first word that asks, with all heads and with each one off."""
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
