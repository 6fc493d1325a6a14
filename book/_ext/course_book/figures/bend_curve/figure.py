"""The figure ``bend-curve``: a curve followed by a sum of ReLU units."""

from course_book.figures.figure import Figure, html_table


class BendCurve(Figure):
    """A curve and the ReLU units.

    Attributes:
        x: Where the curve is given, ascending.
        y: Its heights there.
        units: Where each unit bends, and the slope that it adds there.
        bias: A constant added to the sum of the units.
    """

    scripts = ("dragging/handle.js",)

    x: list[float]
    y: list[float]
    units: list[tuple[float, float]]
    bias: float

    def table(self) -> str:
        """Return the curve and the sum of the units at a few places."""
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
