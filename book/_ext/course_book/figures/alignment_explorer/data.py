"""The data of the figure ``alignment-explorer``, checked, and its table."""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import require_fields, require_list, require_matrix


@dataclass(frozen=True, kw_only=True)
class AlignmentExplorer(FigureData):
    """Pairs of sequences, where a model looked, and where it should have.

    Attributes:
        examples: Objects with ``name``; ``src`` and ``tgt``, lists of words; ``weights``, for each
            target word a number for each source word, 0 to 1, that sum to 1; ``truth``, pairs of a
            source and a target position.
    """

    examples: list[dict[str, Any]]

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        for example in require_list("examples", data["examples"], "examples"):
            require_fields(example, ("name", "src", "tgt", "weights", "truth"), "an example")
            name, sources, targets = example["name"], len(example["src"]), len(example["tgt"])
            rows = require_matrix(f"{name}: weights", example["weights"], targets, sources)
            if not all(abs(sum(row) - 1) < 0.02 for row in rows):
                raise ValueError(f"{name}: the weights of a row must sum to 1")
            for i, j in example["truth"]:
                if not (0 <= i < sources and 0 <= j < targets):
                    raise ValueError(f"{name}: truth names places that are not there")
        return {}

    def table(self) -> str:
        """Return each target word's heaviest source word and its true ones as an HTML table."""
        rows = []
        for example in self.examples:
            for j, (word, row) in enumerate(zip(example["tgt"], example["weights"], strict=True)):
                heaviest = max(range(len(row)), key=row.__getitem__)
                true = [example["src"][i] for i, target in example["truth"] if target == j]
                rows.append(
                    [
                        word,
                        example["name"],
                        f"{example['src'][heaviest]} ({row[heaviest]:.2f})",
                        ", ".join(true) or "none",
                    ]
                )
        return html_table(
            "For each target word the source word that it looks at most, and the true ones.",
            ["target", "example", "looks at", "truth"],
            rows,
        )
