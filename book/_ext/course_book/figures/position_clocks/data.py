"""The data of the figure ``position-clocks``, and its table for readers without scripts."""

import math
from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import require_number, require_whole

_TABLE_POSITIONS = (0, 1, 2, 3, 10, 50, 100)


@dataclass(frozen=True, kw_only=True)
class PositionClocks(FigureData):
    """What the figure shows: one clock for each pair of dimensions.

    Attributes:
        d_model: Width of the position vectors; even, 4 to 32.
        base: The slowest clock takes almost ``2 pi base`` tokens a turn.
        length: Number of positions that can be chosen.
    """

    d_model: int
    base: float
    length: int

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        if require_whole("d_model", data["d_model"], 4, 32) % 2:
            raise ValueError(f"d_model must be even, got {data['d_model']}")
        require_number("base", data["base"], above=1)
        require_whole("length", data["length"], 2)
        return {}

    def table(self) -> str:
        """Return the clocks' angles at a few positions as an HTML table."""
        import torch

        from course_lib.layers.positional import position_angles

        positions = [position for position in _TABLE_POSITIONS if position < self.length]
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
