"""The data of the figure ``bend-curve``, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import (
    require_ascending,
    require_list,
    require_number,
    require_numbers,
)


@dataclass(frozen=True, kw_only=True)
class BendCurve(FigureData):
    """A curve, and the ReLU units that shall follow it.

    Attributes:
        x: Where the curve is given, ascending.
        y: Its heights there.
        units: For each unit where it bends, within ``x``, and the slope that it adds there.
        bias: What is added to the sum of all units.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    units: tuple[tuple[float, float], ...]
    bias: float

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        x = require_numbers("x", data["x"], 2)
        require_ascending("x", x)
        units = [
            require_numbers("a unit", unit, 2, 2)
            for unit in require_list("units", data["units"], "pairs", 1, 6)
        ]
        for bend, _ in units:
            require_number("where a unit bends", bend, x[0], x[-1])
        return {
            "x": x,
            "y": require_numbers("y", data["y"], len(x), len(x)),
            "units": tuple(units),
            "bias": require_number("bias", data["bias"]),
        }

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
