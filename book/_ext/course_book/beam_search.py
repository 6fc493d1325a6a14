"""The data of the figure ``beam-search``, checked, and its table for readers without scripts."""

import math
from dataclasses import dataclass
from typing import Any

from course_book.html_table import html_table

_OTHERS = 1000
"""Words that share the probability which ``next`` leaves over: none of them is ever chosen."""


@dataclass(frozen=True, kw_only=True)
class BeamSearch:
    """Sentences, and what a model says may follow each beginning of their translations.

    Attributes:
        sentences: Objects with ``name``, ``source``, ``truth`` and ``next``: from a beginning, its
            words joined by blanks, to pairs of a word and its log-probability.
        widest: The widest beam that ``next`` suffices for.
        end: The word that ends a sentence.
        max_steps: Most words to write, the end among them.
        note: Where the numbers come from, in a sentence; may be empty.
    """

    sentences: list[dict[str, Any]]
    widest: int
    end: str
    max_steps: int
    note: str

    @classmethod
    def from_json(cls, data: Any) -> "BeamSearch":
        """Read and check the data that a chapter put into its page.

        Args:
            data: What ``json.loads`` returned.

        Returns:
            The checked data.

        Raises:
            ValueError: Something is missing, surplus, or not enough for the widest beam.
        """
        if not isinstance(data, dict) or set(data) != set(cls.__annotations__):
            raise ValueError(f"expected an object with {sorted(cls.__annotations__)}")
        if not data["sentences"]:
            raise ValueError("sentences must hold at least one")
        for sentence in data["sentences"]:
            if set(sentence) != {"name", "source", "truth", "next"}:
                raise ValueError(f"a sentence has name, source, truth, next; got {set(sentence)}")
            for beginning, followers in sentence["next"].items():
                if len(followers) < 2 * data["widest"]:
                    raise ValueError(
                        f"after {beginning!r} there must be {2 * data['widest']} words"
                    )
        return cls(**data)

    def best(self, sentence: dict[str, Any], width: int, alpha: float) -> tuple[str, float]:
        """Return what ``course_lib.beam_search`` finds, and its log-probability.

        Args:
            sentence: One of ``sentences``.
            width: Beam width, at most ``widest``.
            alpha: Exponent of the length penalty.

        Returns:
            The words, joined by blanks, without the end; nats.
        """
        import torch

        from course_lib.decoding import PowerPenalty, RecomputingModel, beam_search

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
