"""The data of the figure ``bleu-calculator``, checked, and its table."""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import require_fields, require_list, require_texts


@dataclass(frozen=True, kw_only=True)
class BLEUCalculator(FigureData):
    """Examples to begin with; the reader writes others.

    Attributes:
        examples: Objects with ``name``, ``candidate`` and ``references``, a list of texts.
    """

    examples: list[dict[str, Any]]

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        for example in require_list("examples", data["examples"], "examples"):
            require_fields(example, ("name", "candidate", "references"), "an example")
            require_texts("references", example["references"])
        return {}

    def table(self) -> str:
        """Return each example's counts and score as an HTML table."""
        from course_lib.metrics.bleu import sentence_bleu

        rows = []
        for example in self.examples:
            score = sentence_bleu(example["candidate"], example["references"])
            counts = zip(score.statistics.matches, score.statistics.totals, strict=True)
            rows.append(
                [
                    example["candidate"],
                    " / ".join(example["references"]),
                    *(f"{matches} of {total}" for matches, total in counts),
                    f"{score.brevity_penalty:.2f}",
                    f"{score.score:.1f}",
                ]
            )
        heads = ["candidate", "references", "words", "pairs", "triples", "fours", "BP", "BLEU"]
        return html_table("Matching n-grams and BLEU of some candidates.", heads, rows)
