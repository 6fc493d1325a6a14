"""The data of the figure ``label-smoothing``, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import require_number, require_whole

_TABLE_LEADS = (0, 2, 4, 6, 8, 10, 12, 14)


@dataclass(frozen=True, kw_only=True)
class LabelSmoothing(FigureData):
    """Where the figure starts.

    Attributes:
        smoothing: Share that is spread over all words, from 0 to 0.5.
        vocab_size: Number of words, at least 2.
        lead: By how much the right word's logit is larger than each other, 0 to 16.
    """

    smoothing: float
    vocab_size: int
    lead: float

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        require_number("smoothing", data["smoothing"], 0, 0.5)
        require_whole("vocab_size", data["vocab_size"], 2)
        require_number("lead", data["lead"], 0, 16)
        return {}

    def table(self) -> str:
        """Return the loss with and without smoothing at a few leads as an HTML table."""
        rows = []
        for lead in _TABLE_LEADS:
            probability, plain, smoothed = self._at(lead)
            rows.append([str(lead), f"{probability:.4f}", f"{plain:.3f}", f"{smoothed:.3f}"])
        return html_table(
            f"The loss of a word in nats, for a vocabulary of {self.vocab_size:,}.",
            ["lead", "probability", "without smoothing", f"with {self.smoothing:g}"],
            rows,
        )

    def _at(self, lead: float) -> tuple[float, float, float]:
        """The right word's probability, its loss without smoothing, and with it."""
        import torch

        from course_lib.training.losses import label_smoothed_cross_entropy

        logits = torch.zeros(self.vocab_size, dtype=torch.float64)
        logits[0] = lead
        target = torch.tensor(0)
        plain, smoothed = (
            label_smoothed_cross_entropy(logits, target, smoothing=share).item()
            for share in (0.0, self.smoothing)
        )
        return logits.softmax(-1)[0].item(), plain, smoothed
