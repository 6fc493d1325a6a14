"""The data of the figure ``bend-curve``, and its table for readers without scripts."""

import math
from dataclasses import dataclass
from typing import Any

from course_book.html_table import html_table


@dataclass(frozen=True, kw_only=True)
class BendCurve:
    """A curve, and the ReLU units that shall follow it.

    Attributes:
        x: Where the curve is given, ascending.
        y: Its heights there.
        units: For each unit where it bends, within ``x``, and the slope that it adds there.
        bias: What is added to the sum of all units.
        note: How to read it, in a sentence; may be empty.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    units: tuple[tuple[float, float], ...]
    bias: float
    note: str

    @classmethod
    def from_json(cls, data: Any) -> "BendCurve":
        """Read and check the data that a chapter put into its page.

        Args:
            data: What ``json.loads`` returned.

        Returns:
            The checked data.

        Raises:
            ValueError: Something is missing, surplus, or out of range.
        """
        expected = {"x", "y", "units", "bias", "note"}
        if not isinstance(data, dict) or set(data) != expected:
            found = sorted(data) if isinstance(data, dict) else type(data).__name__
            raise ValueError(f"expected an object with {sorted(expected)}, got {found}")
        x, y, units, bias = data["x"], data["y"], data["units"], data["bias"]
        if not _are_numbers(x) or len(x) < 2 or x != sorted(set(x)):
            raise ValueError(f"x must hold ascending numbers, got {x!r}")
        if not _are_numbers(y) or len(y) != len(x):
            raise ValueError(f"y must hold {len(x)} numbers, got {y!r}")
        if not isinstance(units, list) or not 1 <= len(units) <= 6:
            raise ValueError(f"units must hold one to six pairs, got {units!r}")
        for unit in units:
            if not _are_numbers(unit) or len(unit) != 2 or not x[0] <= unit[0] <= x[-1]:
                raise ValueError(f"a unit must be [a place within x, a slope], got {unit!r}")
        if not _are_numbers([bias]):
            raise ValueError(f"bias must be a number, got {bias!r}")
        return cls(
            x=tuple(x),
            y=tuple(y),
            units=tuple((bend, slope) for bend, slope in units),
            bias=bias,
            note=str(data["note"]),
        )

    def table(self) -> str:
        """Return the curve and the sum of the units at a few places as an HTML table."""
        places = range(0, len(self.x), max(1, len(self.x) // 8))
        rows = [
            [f"{self.x[i]:.2f}", f"{self.y[i]:.2f}", f"{self._sum_at(self.x[i]):.2f}"]
            for i in places
        ]
        return html_table(
            "The curve, and the sum of the units as they stand at first.",
            ["x", "curve", "sum of the units"],
            rows,
        )

    def _sum_at(self, x: float) -> float:
        return self.bias + sum(slope * max(0.0, x - bend) for bend, slope in self.units)


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(
        isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v) for v in values
    )
