"""The data of the figure ``training-scrubber``, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import (
    require_list,
    require_model,
    require_texts,
    require_whole,
)


@dataclass(frozen=True, kw_only=True)
class TrainingScrubber(FigureData):
    """A reader that is kept at several steps of its training.

    Attributes:
        model: Id of the deferred data that hold its parameters at each step, in order, as a list.
        steps: These steps, rising.
        letters: What it can read and write; a token's id is its place and ``first``.
        first: Id of the first letter.
        sample: The letters to begin with, as many as the model reads.
        written: For each step, what the model makes of the sample.
    """

    model: str
    steps: tuple[int, ...]
    letters: tuple[str, ...]
    first: int
    sample: str
    written: tuple[str, ...]

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        require_model(data["model"])
        steps = require_list("steps", data["steps"], "steps", 2)
        for earlier, later in zip([0, *steps], steps, strict=False):
            require_whole("steps", later, earlier + 1)
        letters = require_texts("letters", data["letters"], 2)
        require_whole("first", data["first"], 0)
        written = require_texts("written", data["written"], len(steps))
        for text in (data["sample"], *written):
            if not {*text} <= {*letters} or len(text) != len(data["sample"]) or len(text) < 2:
                raise ValueError(f"sample and written must be letters, equally many, got {text!r}")
        if len(written) != len(steps):
            raise ValueError(f"written must hold {len(steps)} texts, got {len(written)}")
        return {"steps": tuple(steps), "letters": letters, "written": written}

    def table(self) -> str:
        """Return what the model writes at each step as an HTML table."""
        pairs = zip(self.steps, self.written, strict=True)
        return html_table(
            f"What the model makes of {self.sample!r}; right is {self.sample[::-1]!r}.",
            ["steps of training", "it writes"],
            [[str(step), text] for step, text in pairs],
        )
