"""The data of the figure ``beam-search``, checked, and its table for readers without scripts."""

import math
from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import require_fields, require_list, require_whole

_OTHERS = 1000
"""Words that share the probability which ``next`` leaves over: none of them is ever chosen."""


@dataclass(frozen=True, kw_only=True)
class BeamSearch(FigureData):
    """Sentences, and what a model says may follow each beginning of their translations.

    Attributes:
        sentences: Objects with ``name``, ``source``, ``truth`` and ``next``: from a beginning, its
            words joined by blanks, to pairs of a word and its log-probability.
        widest: The widest beam that ``next`` suffices for.
        end: The word that ends a sentence.
        max_steps: Most words to write, the end among them.
    """

    sentences: list[dict[str, Any]]
    widest: int
    end: str
    max_steps: int

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        widest = require_whole("widest", data["widest"], 1)
        for sentence in require_list("sentences", data["sentences"], "sentences"):
            require_fields(sentence, ("name", "source", "truth", "next"), "a sentence")
            for beginning, followers in sentence["next"].items():
                require_list(f"what follows {beginning!r}", followers, "words", 2 * widest)
        return {}

    def best(self, sentence: dict[str, Any], width: int, alpha: float) -> tuple[str, float]:
        """Return what ``course_lib.generation.beam_search`` finds, and its log-probability.

        Args:
            sentence: One of ``sentences``.
            width: Beam width, at most ``widest``.
            alpha: Exponent of the length penalty.

        Returns:
            The words, joined by blanks, without the end; nats.
        """
        import torch

        from course_lib.generation.beam_search import beam_search
        from course_lib.generation.length_penalty import PowerPenalty
        from course_lib.generation.recomputing import RecomputingModel

        words = sorted({word for pairs in sentence["next"].values() for word, _ in pairs})

        def logits(tokens: torch.Tensor) -> torch.Tensor:
            table = torch.full((*tokens.shape, len(words) + _OTHERS), -torch.inf)
            for row, beginning in enumerate(tokens[:, 1:].tolist()):
                known = [words[token] for token in beginning if token < len(words)]
                followers = sentence["next"].get(" ".join(known), [])
                for word, gain in followers:
                    table[row, -1, words.index(word)] = gain
                rest = max(1 - sum(math.exp(gain) for _, gain in followers), 1e-9)
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
        """Return what each width finds, with and without a penalty, as an HTML table."""
        rows = []
        for sentence in self.sentences:
            for width in range(1, self.widest + 1):
                for alpha in (0.0, 1.0):
                    written, total = self.best(sentence, width, alpha)
                    rows.append(
                        [sentence["source"], str(width), f"{alpha:g}", written, f"{total:.2f}"]
                    )
        return html_table(
            "What beam search returns, by width and length penalty.",
            ["source", "width", "alpha", "returned", "log P"],
            rows,
        )
