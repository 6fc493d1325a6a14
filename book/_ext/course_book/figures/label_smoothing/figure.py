"""The figure ``label-smoothing``: the loss of a word, with smoothing and without."""

from course_book.figures.figure import Figure, html_table


class LabelSmoothing(Figure):
    """The settings at first.

    Attributes:
        smoothing: The share spread over all words, from 0 to 0.5.
        vocab_size: Number of words.
        lead: How much larger the right word's logit is than each other logit, 0 to 16.
    """

    scripts = ("dragging/handle.js",)

    smoothing: float
    vocab_size: int
    lead: float

    def table(self) -> str:
        """Return the loss with and without smoothing for a few leads."""
        rows = []
        for lead in range(0, 16, 2):
            probability, plain, smoothed = self._at(lead)
            rows.append([str(lead), f"{probability:.4f}", f"{plain:.3f}", f"{smoothed:.3f}"])
        return html_table(
            f"The loss of a word in nats, for a vocabulary of {self.vocab_size:,}.",
            ["lead", "probability", "without smoothing", f"with {self.smoothing:g}"],
            rows,
        )

    def _at(self, lead: float) -> tuple[float, float, float]:
        """Return the right word's probability, and its loss without and with smoothing."""
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
