"""The data of the figure ``position-clocks``, and its table for readers without scripts."""

import math
from dataclasses import dataclass
from typing import Any

from course_book.html_table import html_table

_TABLE_POSITIONS = (0, 1, 2, 3, 10, 50, 100)


@dataclass(frozen=True, kw_only=True)
class PositionClocks:
    """What the figure shows: one clock for each pair of dimensions.

    Attributes:
        d_model: Width of the position vectors; even, 4 to 32.
        base: The slowest clock takes almost ``2 pi base`` tokens a turn.
        length: Number of positions that can be chosen.
        note: How to read it, in a sentence; may be empty.
    """

    d_model: int
    base: float
    length: int
    note: str

    @classmethod
    def from_json(cls, data: Any) -> "PositionClocks":
        """Read and check the data that a chapter put into its page.

        Args:
            data: What ``json.loads`` returned.

        Returns:
            The checked data.

        Raises:
            ValueError: Something is missing, surplus, or out of range.
        """
        expected = {"d_model", "base", "length", "note"}
        if not isinstance(data, dict) or set(data) != expected:
            found = sorted(data) if isinstance(data, dict) else type(data).__name__
            raise ValueError(f"expected an object with {sorted(expected)}, got {found}")
        d_model, base, length = data["d_model"], data["base"], data["length"]
        if not isinstance(d_model, int) or d_model % 2 or not 4 <= d_model <= 32:
            raise ValueError(f"d_model must be even, from 4 to 32, got {d_model!r}")
        if not isinstance(base, int | float) or not base > 1:
            raise ValueError(f"base must be a number above 1, got {base!r}")
        if not isinstance(length, int) or length < 2:
            raise ValueError(f"length must be a whole number from 2, got {length!r}")
        return cls(d_model=d_model, base=base, length=length, note=str(data["note"]))

    def table(self) -> str:
        """Return the clocks' angles at a few positions as an HTML table."""
        import torch

        from course_lib.positional import position_angles

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
