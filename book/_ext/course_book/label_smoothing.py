"""The data of the figure ``label-smoothing``, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.html_table import html_table

_TABLE_LEADS = (0, 2, 4, 6, 8, 10, 12, 14)


@dataclass(frozen=True, kw_only=True)
class LabelSmoothing:
    """Where the figure starts.

    Attributes:
        smoothing: Share that is spread over all words, from 0 to 0.5.
        vocab_size: Number of words, at least 2.
        lead: By how much the right word's logit is larger than each other, 0 to 16.
        note: How to read it, in a sentence; may be empty.
    """

    smoothing: float
    vocab_size: int
    lead: float
    note: str

    @classmethod
    def from_json(cls, data: Any) -> "LabelSmoothing":
        """Read and check the data that a chapter put into its page.

        Args:
            data: What ``json.loads`` returned.

        Returns:
            The checked data.

        Raises:
            ValueError: Something is missing, surplus, or out of range.
        """
        expected = {"smoothing", "vocab_size", "lead", "note"}
        if not isinstance(data, dict) or set(data) != expected:
            found = sorted(data) if isinstance(data, dict) else type(data).__name__
            raise ValueError(f"expected an object with {sorted(expected)}, got {found}")
        smoothing, vocab_size, lead = data["smoothing"], data["vocab_size"], data["lead"]
        if not isinstance(smoothing, int | float) or not 0 <= smoothing <= 0.5:
            raise ValueError(f"smoothing must be from 0 to 0.5, got {smoothing!r}")
        if not isinstance(vocab_size, int) or vocab_size < 2:
            raise ValueError(f"vocab_size must be a whole number from 2, got {vocab_size!r}")
        if not isinstance(lead, int | float) or not 0 <= lead <= 16:
            raise ValueError(f"lead must be from 0 to 16, got {lead!r}")
        return cls(smoothing=smoothing, vocab_size=vocab_size, lead=lead, note=str(data["note"]))

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

        from course_lib.losses import label_smoothed_cross_entropy

        logits = torch.zeros(self.vocab_size, dtype=torch.float64)
        logits[0] = lead
        target = torch.tensor(0)
        plain, smoothed = (
            label_smoothed_cross_entropy(logits, target, smoothing=share).item()
            for share in (0.0, self.smoothing)
        )
        return logits.softmax(-1)[0].item(), plain, smoothed
