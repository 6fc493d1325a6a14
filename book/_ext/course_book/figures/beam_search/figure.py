"""The figure ``beam-search``: the tree of a beam search, step by step."""

import math

from course_book.figures.figure import Figure, Record, html_table

_OTHERS = 1000
"""Tokens that share the probability left over by ``next``; the search chooses none of them."""


class Sentence(Record):
    """A sentence to translate.

    Attributes:
        name: Its name in the list of sentences.
        source: The sentence.
        truth: Its right translation.
        next: For each beginning of a translation (words joined by spaces), the next words with
            their log-probabilities, at least twice as many as the widest beam.
    """

    name: str
    source: str
    truth: str
    next: dict[str, list[tuple[str, float]]]


class BeamSearch(Figure):
    """A beam search whose tree of partial translations the reader steps through.

    Attributes:
        sentences: The sentences to choose from.
        widest: The widest beam that can be chosen.
        end: The token that ends a translation.
        max_steps: The largest number of tokens of a translation, ``end`` included.
    """

    scripts = ("beam-search/search.js", "beam-search/tree.js", "beam-search/drawing.js")

    sentences: list[Sentence]
    widest: int
    end: str
    max_steps: int

    def best(self, sentence: Sentence, width: int, alpha: float) -> tuple[str, float]:
        """Return the best translation of ``course_lib``'s beam search and its log-probability.

        ``width`` is the number of beams, ``alpha`` the exponent of the length penalty. The words of
        the translation are joined by spaces, without ``end``.
        """
        import torch

        from course_lib.generation.beam_search import beam_search
        from course_lib.generation.length_penalty import PowerPenalty
        from course_lib.generation.step_models import UncachedModel

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
            UncachedModel(logits),
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
        """Return a table of the translations by width, with and without a length penalty."""
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
