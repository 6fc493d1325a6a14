"""The data of the figure ``bottleneck``, checked, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import require_fields, require_numbers


@dataclass(frozen=True, kw_only=True)
class Bottleneck(FigureData):
    """Sequences of growing length, the one vector that each became, and what was written from it.

    Attributes:
        examples: For each length, from 1 on, a list of objects with ``source`` and ``written``,
            texts of one letter a token, and ``context``, numbers between -1 and 1.
        right: For each length the share of sequences that are written without a mistake.
    """

    examples: list[list[dict[str, Any]]]
    right: list[float]

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        lengths = len(data["examples"])
        require_numbers("right", data["right"], lengths, lengths, low=0, high=1)
        widths = set()
        for length, group in enumerate(data["examples"], start=1):
            for example in group:
                require_fields(example, ("source", "context", "written"), "an example")
                if len(example["source"]) != length:
                    raise ValueError(f"sources must have {length} tokens, got {example['source']}")
                require_numbers("a context", example["context"], low=-1, high=1)
                widths.add(len(example["context"]))
        if len(widths) != 1:
            raise ValueError(f"all contexts must be equally wide, got {sorted(widths)}")
        return {}

    def table(self) -> str:
        """Return an example for each length as an HTML table."""
        rows = [
            [str(length), group[0]["source"], group[0]["written"], f"{share:.0%}"]
            for length, (group, share) in enumerate(
                zip(self.examples, self.right, strict=True), start=1
            )
        ]
        return html_table(
            "A source of each length, what was written from its context (it should be the source "
            "backwards), and the share of all sources of that length written without a mistake.",
            ["length", "source", "written", "without a mistake"],
            rows,
        )
