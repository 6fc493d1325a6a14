"""The data of the figure ``four-norms``, and its table for readers without scripts."""

import math
from dataclasses import dataclass
from typing import Any

from course_book.html_table import html_table


@dataclass(frozen=True, kw_only=True)
class FourNorms:
    """A vector, and what four normalisations make of it.

    Attributes:
        entries: The vector that the figure begins with, 2 to 8 numbers.
        epsilon: What all four add.
        note: How to read it, in a sentence; may be empty.
    """

    entries: tuple[float, ...]
    epsilon: float
    note: str

    @classmethod
    def from_json(cls, data: Any) -> "FourNorms":
        """Read and check the data that a chapter put into its page.

        Args:
            data: What ``json.loads`` returned.

        Returns:
            The checked data.

        Raises:
            ValueError: Something is missing, surplus, or out of range.
        """
        expected = {"entries", "epsilon", "note"}
        if not isinstance(data, dict) or set(data) != expected:
            found = sorted(data) if isinstance(data, dict) else type(data).__name__
            raise ValueError(f"expected an object with {sorted(expected)}, got {found}")
        entries, epsilon = data["entries"], data["epsilon"]
        if not isinstance(entries, list) or not 2 <= len(entries) <= 8:
            raise ValueError(f"entries must hold 2 to 8 numbers, got {entries!r}")
        if not all(isinstance(n, int | float) and math.isfinite(n) for n in entries):
            raise ValueError(f"entries must hold finite numbers, got {entries!r}")
        if not isinstance(epsilon, int | float) or not epsilon > 0:
            raise ValueError(f"epsilon must be a positive number, got {epsilon!r}")
        return cls(entries=tuple(entries), epsilon=epsilon, note=str(data["note"]))

    def table(self) -> str:
        """Return the vector and what becomes of it as an HTML table."""
        import torch

        from course_lib.normalization import layer_norm, rms_norm

        x = torch.tensor(self.entries, dtype=torch.float64)
        ones, zeros = torch.ones_like(x), torch.zeros_like(x)
        deviation = x - x.mean()
        spread = deviation.square().mean().sqrt()
        results = {
            "the four numbers": x,
            "LayerNorm": layer_norm(x, ones, zeros, epsilon=self.epsilon),
            "RMSNorm": rms_norm(x, ones, epsilon=self.epsilon),
            "unbiased variance": deviation / (x.var() + self.epsilon).sqrt(),
            "epsilon outside the root": deviation / (spread + self.epsilon),
        }
        rows = [[name, *(f"{n:.3f}" for n in row.tolist())] for name, row in results.items()]
        heads = ["", *(f"entry {i + 1}" for i in range(len(self.entries)))]
        return html_table("A vector and what four normalisations make of it.", heads, rows)
