"""The data of the figure ``four-norms``, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import require_number, require_numbers


@dataclass(frozen=True, kw_only=True)
class FourNorms(FigureData):
    """A vector, and what four normalisations make of it.

    Attributes:
        entries: The vector that the figure begins with, 2 to 8 numbers.
        epsilon: What all four add.
    """

    entries: tuple[float, ...]
    epsilon: float

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        require_number("epsilon", data["epsilon"], above=0)
        return {"entries": require_numbers("entries", data["entries"], 2, 8)}

    def table(self) -> str:
        """Return the vector and what becomes of it as an HTML table."""
        import torch

        from course_lib.layers.normalization import layer_norm, rms_norm

        x = torch.tensor(self.entries, dtype=torch.float64)
        ones, zeros = torch.ones_like(x), torch.zeros_like(x)
        deviation = x - x.mean()
        spread = deviation.square().mean().sqrt()
        results = {
            "the four numbers": x,
            "LayerNorm": layer_norm(x, ones, zeros, eps=self.epsilon),
            "RMSNorm": rms_norm(x, ones, eps=self.epsilon),
            "unbiased variance": deviation / (x.var() + self.epsilon).sqrt(),
            "epsilon outside the root": deviation / (spread + self.epsilon),
        }
        rows = [[name, *(f"{n:.3f}" for n in row.tolist())] for name, row in results.items()]
        heads = ["", *(f"entry {i + 1}" for i in range(len(self.entries)))]
        return html_table("A vector and what four normalisations make of it.", heads, rows)
