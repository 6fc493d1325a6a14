"""The data of the figure ``depth-profile``, and its table for readers without scripts."""

import math
from dataclasses import dataclass
from typing import Any

from course_book.html_table import html_table

STACKINGS = ("plain", "residual", "post", "pre")


@dataclass(frozen=True, kw_only=True)
class DepthProfiles:
    """What flows through stacks of several depths.

    Attributes:
        depths: Numbers of layers, ascending.
        profiles: For each stacking and depth, the sizes of the stream (``depth + 1`` numbers) and
            the gradients (``depth`` numbers), all positive.
        note: Where the numbers come from, in a sentence; may be empty.
    """

    depths: tuple[int, ...]
    profiles: dict[str, tuple[dict[str, list[float]], ...]]
    note: str

    @classmethod
    def from_json(cls, data: Any) -> "DepthProfiles":
        """Read and check the data that a chapter put into its page.

        Args:
            data: What ``json.loads`` returned.

        Returns:
            The checked data.

        Raises:
            ValueError: Something is missing, surplus, or no positive number.
        """
        expected = {"depths", "profiles", "note"}
        if not isinstance(data, dict) or set(data) != expected:
            found = sorted(data) if isinstance(data, dict) else type(data).__name__
            raise ValueError(f"expected an object with {sorted(expected)}, got {found}")
        depths, profiles = data["depths"], data["profiles"]
        if not isinstance(depths, list) or not depths or depths != sorted(set(depths)):
            raise ValueError(f"depths must be ascending numbers of layers, got {depths!r}")
        if not isinstance(profiles, dict) or set(profiles) != set(STACKINGS):
            raise ValueError(f"profiles must hold {STACKINGS}")
        for stacking, measured in profiles.items():
            if len(measured) != len(depths):
                raise ValueError(f"{stacking} must have one profile a depth")
            for depth, profile in zip(depths, measured, strict=True):
                _check(f"{stacking} sizes", profile["sizes"], depth + 1)
                _check(f"{stacking} gradients", profile["gradients"], depth)
        return cls(
            depths=tuple(depths),
            profiles={name: tuple(measured) for name, measured in profiles.items()},
            note=str(data["note"]),
        )

    def table(self) -> str:
        """Return both ends of each profile as an HTML table."""
        rows = [
            [
                f"{stacking}, {depth} layers",
                *(_short(n) for n in (profile["sizes"][0], profile["sizes"][-1])),
                *(_short(n) for n in (profile["gradients"][0], profile["gradients"][-1])),
            ]
            for stacking in STACKINGS
            for depth, profile in zip(self.depths, self.profiles[stacking], strict=True)
        ]
        return html_table(
            "Size of the stream and of the gradient, at both ends of each stack.",
            ["stack", "size, bottom", "size, top", "gradient, bottom", "gradient, top"],
            rows,
        )


def _check(name: str, numbers: Any, count: int) -> None:
    if not isinstance(numbers, list) or len(numbers) != count:
        raise ValueError(f"{name} must hold {count} numbers")
    if not all(isinstance(n, int | float) and math.isfinite(n) and n > 0 for n in numbers):
        raise ValueError(f"{name} must hold positive numbers, got {numbers!r}")


def _short(number: float) -> str:
    return f"{number:.2f}" if 0.01 <= number < 1000 else f"{number:.0e}"
