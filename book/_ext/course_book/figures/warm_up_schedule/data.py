"""The data of the figure ``warm-up-schedule``, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import require_whole

_TABLE_UPDATES = (1, 100, 1_000, 4_000, 10_000, 50_000, 100_000)


@dataclass(frozen=True, kw_only=True)
class WarmUpSchedule(FigureData):
    """Where the figure starts; its first curve stays there, for comparison.

    Attributes:
        d_model: Width of the model.
        warmup_steps: The update that is the peak.
        steps: Number of updates that are shown.
    """

    d_model: int
    warmup_steps: int
    steps: int

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        for name in ("d_model", "warmup_steps", "steps"):
            require_whole(name, data[name], 1)
        return {}

    def rate(self, update: int) -> float:
        """Return the learning rate of an update, the first being number 1.

        Args:
            update: Its number.

        Returns:
            The learning rate.
        """
        from course_lib.training.schedules import inverse_sqrt

        peak = (self.d_model * self.warmup_steps) ** -0.5
        return peak * inverse_sqrt(update - 1, warmup_steps=self.warmup_steps)

    def table(self) -> str:
        """Return the learning rate of a few updates as an HTML table."""
        rows = [
            [f"{update:,}", f"{self.rate(update):.2e}"]
            for update in _TABLE_UPDATES
            if update <= self.steps
        ]
        return html_table(
            f"The learning rate, for d_model {self.d_model} and a warm-up of "
            f"{self.warmup_steps:,} updates.",
            ["update", "learning rate"],
            rows,
        )
