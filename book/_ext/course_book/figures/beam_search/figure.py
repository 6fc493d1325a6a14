"""The figure ``beam-search``: the tree of a beam search, step by step."""

import math

from course_book.figures.figure import Figure, Record, html_table

_OTHERS = 1000
"""Tokens that share the probability left over by ``next``; the search chooses none of them."""


class Sentence(Record):
    """A sentence, and the words that may follow each beginning of its translation."""

    name: str  # its name in the list of sentences
    source: str  # the sentence
    truth: str  # its right translation
    # for each beginning, its words joined by spaces, the next words with their log-
    # probabilities; at least twice as many as the widest beam
    next: dict[str, list[tuple[str, float]]]


class BeamSearch(Figure):
    """Sentences to translate."""

    scripts = ("beam-search/search.js", "beam-search/tree.js", "beam-search/drawing.js")

    sentences: list[Sentence]  # the sentences
    widest: int  # the widest beam
    end: str  # the token that ends a sentence
    max_steps: int  # the largest number of tokens to write, ``end`` included

    def best(self, sentence: Sentence, width: int, alpha: float) -> tuple[str, float]:
        """Return the words and the log-probability found by ``course_lib``'s beam search.

        ``alpha`` is the exponent of the length penalty; the words come without ``end``.
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
