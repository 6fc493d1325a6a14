"""The figure ``norm-sphere``: LayerNorm and RMSNorm of a vector in space."""

from course_book.figures.figure import Figure, html_table


class NormSphere(Figure):
    """A vector in space that the reader drags, and where LayerNorm and RMSNorm put it.

    ``entries`` is the vector at first; ``epsilon`` is the constant that both norms add.
    """

    scripts = ("norm-sphere/view.js", "dragging/handle.js")

    entries: tuple[float, float, float]
    epsilon: float

    def table(self) -> str:
        """Return a table of the vector, both steps of its LayerNorm, and its RMSNorm."""
        import torch

        from course_lib.layers.normalization import layer_norm, rms_norm

        x = torch.tensor(self.entries, dtype=torch.float64)
        ones, zeros = torch.ones_like(x), torch.zeros_like(x)
        steps = {
            "x": x,
            "minus its mean": x - x.mean(),
            "LayerNorm": layer_norm(x, ones, zeros, eps=self.epsilon),
            "RMSNorm": rms_norm(x, ones, eps=self.epsilon),
        }
        rows = [
            [name, *(f"{entry:.2f}" for entry in (*step, step.mean(), step.norm()))]
            for name, step in steps.items()
        ]
        return html_table(
            "A vector, what LayerNorm makes of it in two steps, and what RMSNorm does.",
            ["", "entry 1", "entry 2", "entry 3", "mean", "length"],
            rows,
        )
