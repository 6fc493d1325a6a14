"""The figure ``label-smoothing``: the loss of a word, with smoothing and without."""

from course_book.figures.figure import Figure, html_table


class LabelSmoothing(Figure):
    """The initial settings, which the reader can change."""

    scripts = ("dragging/handle.js",)

    smoothing: float  # the share spread over all words, from 0 to 0.5
    vocab_size: int  # number of words
    lead: float  # how much larger the right word's logit is than each other logit, 0 to 16

    def table(self) -> str:
        """Return the loss with and without smoothing for a few leads of the right word's logit."""
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
