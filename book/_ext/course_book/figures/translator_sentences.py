"""A translator that runs in the page, and sentences for it: the data of several figures."""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import (
    require_fields,
    require_list,
    require_model,
    require_number,
    require_pairs,
    require_texts,
)

_FIELDS = ("src", "tgt", "written", "alignment", "src_agreements", "tgt_agreements")


@dataclass(frozen=True, kw_only=True)
class TranslatorSentences(FigureData):
    """Sentences to pick from, with the truth about each, and where the model lies.

    Attributes:
        model: Id of the deferred data that hold the model.
        right: Share of unseen sentences that the model translates without a mistake.
        examples: Each a sentence (``src``), its right translation (``tgt``), the model's own
            (``written``), and as pairs of positions the links of words (``alignment``: English,
            French) and what agrees with what (``src_agreements``, ``tgt_agreements``: the word, the
            word that decides its form).
    """

    model: str
    right: float
    examples: list[dict[str, Any]]

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        require_model(data["model"])
        require_number("right", data["right"], 0, 1)
        for example in require_list("examples", data["examples"], "sentences"):
            require_fields(example, _FIELDS, "examples")
            src, tgt = (len(require_texts(side, example[side])) for side in ("src", "tgt"))
            require_texts("written", example["written"], 0)
            require_pairs("alignment", example["alignment"], src, tgt)
            require_pairs("src_agreements", example["src_agreements"], src, src)
            require_pairs("tgt_agreements", example["tgt_agreements"], tgt, tgt)
        return {}

    def table(self) -> str:
        """Return what the model makes of each sentence as an HTML table."""
        rows = [
            [" ".join(e["src"]), " ".join(e["written"]), " ".join(e["tgt"])] for e in self.examples
        ]
        return html_table(
            "What the model makes of sentences that it has not seen.",
            ["English", "the model's French", "right"],
            rows,
        )
