"""The figure ``label-smoothing``: the loss of a word, with smoothing and without."""

from course_book.figures.figure import Figure, html_table


class LabelSmoothing(Figure):
    """The loss of one word as a curve, with sliders that begin at these settings.

    ``smoothing`` is the probability that is spread over all words (0 to 0.5), ``vocab_size`` the
    number of words, ``lead`` the right word's logit minus that of every other word (0 to 16).
    """

    scripts = ("dragging/handle.js",)

    smoothing: float
    vocab_size: int
    lead: float

    def table(self) -> str:
        """Return a table of the loss, with smoothing and without, for a few values of ``lead``."""
        import torch

        from course_lib.training.losses import label_smoothed_cross_entropy

        rows = []
        for lead in range(0, 16, 2):
            logits = torch.zeros(self.vocab_size, dtype=torch.float64)
            logits[0] = lead
            plain, smoothed = (
                label_smoothed_cross_entropy(logits, torch.tensor(0), smoothing=share)
                for share in (0.0, self.smoothing)
            )
            probability = logits.softmax(-1)[0]
            rows.append([str(lead), f"{probability:.4f}", f"{plain:.3f}", f"{smoothed:.3f}"])
        return html_table(
            f"The loss of a word in nats, for a vocabulary of {self.vocab_size:,}.",
            ["lead", "probability", "without smoothing", f"with {self.smoothing:g}"],
            rows,
        )
