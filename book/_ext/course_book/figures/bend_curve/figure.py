"""The figure ``bend-curve``: a curve followed by a sum of ReLU units."""

from course_book.figures.figure import Figure, html_table


class BendCurve(Figure):
    """A curve that the reader follows by dragging the bends of a sum of ReLU units.

    ``x`` (ascending) and ``y`` are points of the curve. ``units`` has for each unit the place of
    its bend and the slope that it adds there; ``bias`` is added to their sum.
    """

    scripts = ("dragging/handle.js",)

    x: list[float]
    y: list[float]
    units: list[tuple[float, float]]
    bias: float

    def table(self) -> str:
        """Return a table of the curve and the sum of the units at a few places."""
        rows = []
        for x, y in list(zip(self.x, self.y, strict=True))[:: max(1, len(self.x) // 8)]:
            total = self.bias + sum(slope * max(0.0, x - bend) for bend, slope in self.units)
            rows.append([f"{x:.2f}", f"{y:.2f}", f"{total:.2f}"])
        return html_table(
            "The curve, and the sum of the units as they stand at first.",
            ["x", "curve", "sum of the units"],
            rows,
        )
