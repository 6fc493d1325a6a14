"""The data of the figure ``living-captioner``, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import (
    require_fields,
    require_list,
    require_model,
    require_number,
    require_numbers,
    require_texts,
    require_whole,
)

_SCENE = ("name", "shapes", "truth", "written")
_SHAPE = ("kind", "color", "size", "row", "column")


@dataclass(frozen=True, kw_only=True)
class LivingCaptioner(FigureData):
    """A captioner, what its pictures are made of, and pictures to begin with.

    Attributes:
        model: Id of the deferred data that hold the model.
        side: Pixels along each side of a picture.
        colors: For each colour red, green and blue, from 0 to 1.
        kinds: Kinds of shapes.
        sizes: For each size how far a shape reaches from its centre, in pixels.
        scenes: Pictures, each with a ``name``, its ``shapes`` (kind, color, size, and in pixels the
            row and the column of the centre), the true caption (``truth``), and the model's own
            (``written``).
    """

    model: str
    side: int
    colors: dict[str, list[float]]
    kinds: tuple[str, ...]
    sizes: dict[str, float]
    scenes: list[dict[str, Any]]

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        require_model(data["model"])
        side = require_whole("side", data["side"], 1)
        for color, numbers in data["colors"].items():
            require_numbers(color, numbers, 3, 3, low=0, high=1)
        for size, reach in data["sizes"].items():
            require_number(size, reach, above=0)
        known = {
            "kind": require_texts("kinds", data["kinds"]),
            "color": tuple(data["colors"]),
            "size": tuple(data["sizes"]),
        }
        for scene in require_list("scenes", data["scenes"], "pictures"):
            require_fields(scene, _SCENE, "a picture")
            require_texts("name", [scene["name"]])
            require_texts("truth", scene["truth"], 0)
            require_texts("written", scene["written"], 0)
            for shape in require_list("shapes", scene["shapes"], "shapes", 0):
                _check_shape(require_fields(shape, _SHAPE, "a shape"), known, side)
        return {"kinds": known["kind"]}

    def table(self) -> str:
        """Return each picture's true caption and the model's as an HTML table."""
        rows = [
            [scene["name"], " ".join(scene["truth"]), " ".join(scene["written"])]
            for scene in self.scenes
        ]
        return html_table(
            "What is in each picture, and what the model says.",
            ["picture", "truth", "the model"],
            rows,
        )


def _check_shape(shape: dict[str, Any], known: dict[str, tuple[str, ...]], side: int) -> None:
    for name, allowed in known.items():
        if shape[name] not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {shape[name]!r}")
    for name in ("row", "column"):
        require_number(name, shape[name], 0, side)
