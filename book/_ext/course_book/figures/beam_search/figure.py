"""The figure ``beam-search``: the tree of a beam search, step by step."""

import math

from course_book.figures.figure import Figure, Record, html_table

_OTHERS = 1000
"""Tokens that share the probability left over by ``next``; the search chooses none of them."""


class Sentence(Record):
    """A sentence, and the words that may follow each beginning of its translation.

    Attributes:
        name: Its name in the list of sentences.
        source: The sentence.
        truth: Its right translation.
        next: For each beginning, its words joined by spaces, the next words with their
            log-probabilities; at least twice as many as the widest beam.
    """

    name: str
    source: str
    truth: str
    next: dict[str, list[tuple[str, float]]]


class BeamSearch(Figure):
    """Sentences to translate.

    Attributes:
        sentences: The sentences.
        widest: The widest beam.
        end: The token that ends a sentence.
        max_steps: The largest number of tokens to write, ``end`` included.
    """

    scripts = ("beam-search/search.js", "beam-search/tree.js", "beam-search/drawing.js")

    sentences: list[Sentence]
    widest: int
    end: str
    max_steps: int

    def best(self, sentence: Sentence, width: int, alpha: float) -> tuple[str, float]:
        """Return the translation found by ``course_lib``'s beam search.

        Args:
            sentence: One of ``sentences``.
            width: Beam width, at most ``widest``.
            alpha: Exponent of the length penalty.

        Returns:
            The words without ``end``, joined by spaces; the log-probability, in nats.
        """
        import torch

        from course_lib.generation.beam_search import beam_search
        from course_lib.generation.length_penalty import PowerPenalty
        from course_lib.generation.recomputing import RecomputingModel

        words = sorted({word for pairs in sentence.next.values() for word, _ in pairs})

        def logits(tokens: torch.Tensor) -> torch.Tensor:
            table = torch.full((*tokens.shape, len(words) + _OTHERS), -torch.inf)
            for row, beginning in enumerate(tokens[:, 1:].tolist()):
                known = [words[token] for token in beginning if token < len(words)]
                followers = sentence.next.get(" ".join(known), [])
                for word, log_probability in followers:
                    table[row, -1, words.index(word)] = log_probability
                rest = max(1 - sum(math.exp(p) for _, p in followers), 1e-9)
                table[row, -1, len(words) :] = math.log(rest / _OTHERS)
            return table

        found = beam_search(
            RecomputingModel(logits),
            torch.zeros(1, 1, dtype=torch.int64),
            beam_size=width,
            eos_id=words.index(self.end),
            max_new_tokens=self.max_steps,
            length_penalty=PowerPenalty(alpha),
            num_results=width,
        )[0][0]
        written = [words[token] for token in found.tokens if words[token] != self.end]
        return " ".join(written), found.log_probability

    def table(self) -> str:
        """Return the translation for each width, with and without a length penalty."""
        rows = []
        for sentence in self.sentences:
            for width in range(1, self.widest + 1):
                for alpha in (0.0, 1.0):
                    words, total = self.best(sentence, width, alpha)
                    rows.append([sentence.source, str(width), f"{alpha:g}", words, f"{total:.2f}"])
        return html_table(
            "What beam search returns, by width and length penalty.",
            ["source", "width", "alpha", "returned", "log P"],
            rows,
        )
