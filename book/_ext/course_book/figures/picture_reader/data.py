"""The data of the figure ``picture-reader``, and its table for readers without scripts."""

import re
from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import (
    Matrix,
    require_fields,
    require_list,
    require_matrix,
    require_texts,
    require_whole,
)

PATCHES = 4
"""Places along each side that can be covered."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a model says of a picture.

    Attributes:
        words: Its caption.
        weights: For each word the weight of each region, row by row, in thousandths; None for a
            model that does not look at regions.
    """

    words: tuple[str, ...]
    weights: Matrix | None


@dataclass(frozen=True, kw_only=True)
class ReadPicture:
    """A picture, what is in it, and what each model says, with each place covered.

    Attributes:
        pixels: Six hexadecimal digits a pixel, red, green and blue, row by row.
        truth: The true caption.
        readings: For each model: of the whole picture, then of the picture with each patch covered.
    """

    pixels: str
    truth: tuple[str, ...]
    readings: tuple[tuple[Reading, ...], ...]


@dataclass(frozen=True, kw_only=True)
class PictureReader(FigureData):
    """What the figure shows.

    Attributes:
        side: Pixels along each side of a picture.
        regions: Regions along each side.
        models: Names of the models.
        pictures: The pictures, one or more.
    """

    side: int
    regions: int
    models: tuple[str, ...]
    pictures: tuple[ReadPicture, ...]

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        side, regions = require_whole("side", data["side"], 1), data["regions"]
        require_whole("regions", regions, 1)
        if side % regions or regions % PATCHES:
            raise ValueError(f"{PATCHES} patches must divide {regions=}, and these {side=}")
        models = require_texts("models", data["models"])
        pictures = tuple(
            _read_picture(picture, side=side, regions=regions, num_models=len(models))
            for picture in require_list("pictures", data["pictures"], "pictures")
        )
        return {"models": models, "pictures": pictures}

    def table(self) -> str:
        """Return each picture's true caption and those of the models as an HTML table."""
        rows = [
            [
                str(number),
                " ".join(picture.truth),
                *(" ".join(of_model[0].words) for of_model in picture.readings),
            ]
            for number, picture in enumerate(self.pictures, start=1)
        ]
        return html_table(
            "What is in each picture, and what each model says.",
            ["picture", "truth", *self.models],
            rows,
        )


def _read_picture(data: Any, *, side: int, regions: int, num_models: int) -> ReadPicture:
    require_fields(data, ReadPicture.__annotations__, "a picture")
    if not re.fullmatch(rf"[0-9a-f]{{{6 * side * side}}}", data["pixels"]):
        raise ValueError(f"pixels must be {6 * side * side} hexadecimal digits")
    readings = tuple(
        tuple(_read_reading(reading, regions=regions) for reading in of_model)
        for of_model in data["readings"]
    )
    count = 1 + PATCHES**2
    if len(readings) != num_models or any(len(of_model) != count for of_model in readings):
        raise ValueError(f"readings must hold {count} captions for each of {num_models} models")
    return ReadPicture(
        pixels=data["pixels"], truth=require_texts("truth", data["truth"]), readings=readings
    )


def _read_reading(data: Any, *, regions: int) -> Reading:
    require_fields(data, Reading.__annotations__, "a reading")
    words = require_texts("words", data["words"], 0)
    if data["weights"] is None:
        return Reading(words=words, weights=None)
    weights = require_matrix("weights", data["weights"], len(words), regions**2)
    for row in weights:  # each is rounded, so the sum may be off by half a unit a region
        if min(row) < 0 or abs(sum(row) - 1000) > regions**2 / 2:
            raise ValueError(f"weights must be thousandths that sum to 1000, got {sum(row)}")
    return Reading(words=words, weights=weights)
