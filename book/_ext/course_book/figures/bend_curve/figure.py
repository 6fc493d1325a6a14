"""The figure ``bend-curve``: a curve followed by a sum of ReLU units."""

from course_book.figures.figure import Figure, html_table


class BendCurve(Figure):
    """A curve and the ReLU units."""

    scripts = ("dragging/handle.js",)

    x: list[float]  # Where the curve is given, ascending
    y: list[float]  # its heights there
    units: list[tuple[float, float]]  # Where each unit bends, and the slope that it adds there
    bias: float  # a constant added to the sum of the units

    def table(self) -> str:
        """Return the curve and the sum of the units at a few places."""
        rows = []
        for x, y in list(zip(self.x, self.y, strict=True))[:: max(1, len(self.x) // 8)]:
            total = self.bias + sum(slope * max(0.0, x - bend) for bend, slope in self.units)
            rows.append([f"{x:.2f}", f"{y:.2f}", f"{total:.2f}"])
        return html_table(
            "The curve, and the sum of the units as they stand at first.",
            ["x", "curve", "sum of the units"],
            rows,
        )
