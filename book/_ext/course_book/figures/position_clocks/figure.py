"""The figure ``position-clocks``: a position as the hands of many clocks."""

import math

from course_book.figures.figure import Figure, html_table


class PositionClocks(Figure):
    """The sinusoidal vector of a position, drawn as clocks: one for each pair of dimensions.

    ``d_model`` is the (even) width of the vectors, ``length`` the number of positions to choose
    from. A turn of the fastest clock takes 2 pi positions, of the slowest almost ``2 pi base``.
    """

    d_model: int
    base: float
    length: int

    def table(self) -> str:
        """Return a table of the angles of the clocks at a few positions."""
        import torch

        from course_lib.layers.positional import position_angles

        positions = [position for position in (0, 1, 2, 3, 10, 50, 100) if position < self.length]
        angles = position_angles(torch.tensor(positions), self.d_model, base=self.base)
        rows = [
            [str(position), *(f"{math.degrees(angle) % 360:.0f}\N{DEGREE SIGN}" for angle in row)]
            for position, row in zip(positions, angles.tolist(), strict=True)
        ]
        clocks = [f"clock {clock}" for clock in range(self.d_model // 2)]
        return html_table(
            "Where the hands stand: each row is a position, each column a clock.",
            ["position", *clocks],
            rows,
        )
