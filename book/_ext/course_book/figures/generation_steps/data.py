"""The data of the figure ``generation-steps``, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import (
    require_fields,
    require_list,
    require_model,
    require_number,
    require_texts,
)


@dataclass(frozen=True, kw_only=True)
class GenerationSteps(FigureData):
    """A small language model that the page runs, and what it writes by itself.

    Attributes:
        model: Id of the deferred data that hold the model.
        steps: For each step the text so far (``read``, words) and the likeliest next words, best
            first, with their probabilities (``likeliest``).
    """

    model: str
    steps: list[dict[str, Any]]

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        require_model(data["model"])
        for step in require_list("steps", data["steps"], "steps"):
            require_fields(step, ("read", "likeliest"), "a step")
            require_texts("read", step["read"])
            for pair in require_list("likeliest", step["likeliest"], "words"):
                word, probability = require_list(
                    "likeliest", pair, "parts, a word and a number", 2, 2
                )
                require_texts("likeliest", [word])
                require_number("likeliest", probability, 0, 1)
        return {}

    def table(self) -> str:
        """Return what the model writes by itself, the likeliest token at each step, as HTML."""
        rows = [
            [
                str(len(step["read"])),
                " ".join(step["read"]),
                ", ".join(f"{word} {p:.2f}" for word, p in step["likeliest"]),
            ]
            for step in self.steps
        ]
        return html_table(
            "The text as the model writes it by itself, always the likeliest token.",
            ["tokens read", "the text so far", "likeliest next tokens"],
            rows,
        )
