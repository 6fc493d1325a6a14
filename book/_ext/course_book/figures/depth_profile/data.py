"""The data of the figure ``depth-profile``, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import (
    require_ascending,
    require_fields,
    require_list,
    require_numbers,
    require_whole,
)

STACKINGS = ("plain", "residual", "post", "pre")


@dataclass(frozen=True, kw_only=True)
class DepthProfiles(FigureData):
    """What flows through stacks of several depths.

    Attributes:
        depths: Numbers of layers, ascending.
        profiles: For each stacking and depth, the sizes of the stream (``depth + 1`` numbers) and
            the gradients (``depth`` numbers), all positive.
    """

    depths: tuple[int, ...]
    profiles: dict[str, tuple[dict[str, list[float]], ...]]

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        require_list("depths", data["depths"], "numbers of layers")
        depths = tuple(require_whole("each of depths", depth, 1) for depth in data["depths"])
        require_ascending("depths", depths)
        profiles = require_fields(data["profiles"], STACKINGS, "profiles")
        for stacking, measured in profiles.items():
            require_list(stacking, measured, "profiles", len(depths), len(depths))
            for depth, profile in zip(depths, measured, strict=True):
                require_fields(profile, ("sizes", "gradients"), stacking)
                for key, count in (("sizes", depth + 1), ("gradients", depth)):
                    require_numbers(f"{stacking} {key}", profile[key], count, count, above=0)
        return {
            "depths": depths,
            "profiles": {name: tuple(measured) for name, measured in profiles.items()},
        }

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


def _short(number: float) -> str:
    return f"{number:.2f}" if 0.01 <= number < 1000 else f"{number:.0e}"
