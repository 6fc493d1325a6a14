"""The data of the figure ``norm-sphere``, checked, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import require_number, require_numbers


@dataclass(frozen=True, kw_only=True)
class NormSphere(FigureData):
    """What the figure shows.

    Attributes:
        entries: The vector to begin with, three numbers.
        epsilon: What is added to the variance.
    """

    entries: tuple[float, ...]
    epsilon: float

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        require_number("epsilon", data["epsilon"], above=0)
        return {"entries": require_numbers("entries", data["entries"], 3, 3, low=-3, high=3)}

    def table(self) -> str:
        """Return the vector, and what each step makes of it, as an HTML table."""
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
