"""The data of the figure ``picture-reader``, and its table for readers without scripts."""

import re
from dataclasses import dataclass
from typing import Any

from course_book.html_table import html_table

PATCHES = 4
"""Places along each side that can be covered."""

_EXPECTED = {"side", "regions", "models", "pictures", "note"}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a model says of a picture.

    Attributes:
        words: Its caption.
        weights: For each word the weight of each region, row by row, in thousandths; None for a
            model that does not look at regions.
    """

    words: tuple[str, ...]
    weights: tuple[tuple[int, ...], ...] | None


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
class PictureReader:
    """What the figure shows.

    Attributes:
        side: Pixels along each side of a picture.
        regions: Regions along each side.
        models: Names of the models.
        pictures: The pictures, one or more.
        note: Where the captions come from, in a sentence; may be empty.
    """

    side: int
    regions: int
    models: tuple[str, ...]
    pictures: tuple[ReadPicture, ...]
    note: str

    @classmethod
    def from_json(cls, data: Any) -> "PictureReader":
        """Read and check the data that a chapter put into its page.

        Args:
            data: What ``json.loads`` returned.

        Returns:
            The checked data.

        Raises:
            ValueError: Something is missing, surplus, or of the wrong size.
        """
        if not isinstance(data, dict) or set(data) != _EXPECTED:
            found = sorted(data) if isinstance(data, dict) else type(data).__name__
            raise ValueError(f"expected an object with {sorted(_EXPECTED)}, got {found}")
        side, regions, models = data["side"], data["regions"], tuple(data["models"])
        if not models or not data["pictures"]:
            raise ValueError("a model or more, and a picture or more, are expected")
        if side % regions or regions % PATCHES:
            raise ValueError(f"{PATCHES} patches must divide {regions=}, and these {side=}")
        pictures = tuple(
            _read_picture(picture, side=side, regions=regions, num_models=len(models))
            for picture in data["pictures"]
        )
        return cls(
            side=side, regions=regions, models=models, pictures=pictures, note=str(data["note"])
        )

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
    if not re.fullmatch(rf"[0-9a-f]{{{6 * side * side}}}", data["pixels"]):
        raise ValueError(f"pixels must be {6 * side * side} hexadecimal digits")
    readings = tuple(
        tuple(_read_reading(reading, regions=regions) for reading in of_model)
        for of_model in data["readings"]
    )
    count = 1 + PATCHES**2
    if len(readings) != num_models or any(len(of_model) != count for of_model in readings):
        raise ValueError(f"readings must hold {count} captions for each of {num_models} models")
    return ReadPicture(pixels=data["pixels"], truth=tuple(data["truth"]), readings=readings)


def _read_reading(data: Any, *, regions: int) -> Reading:
    words = tuple(data["words"])
    if data["weights"] is None:
        return Reading(words=words, weights=None)
    weights = tuple(tuple(row) for row in data["weights"])
    if len(weights) != len(words) or any(len(row) != regions**2 for row in weights):
        raise ValueError(f"weights must hold {regions**2} numbers for each of {len(words)} words")
    for row in weights:  # each is rounded, so the sum may be off by half a unit a region
        if min(row) < 0 or abs(sum(row) - 1000) > regions**2 / 2:
            raise ValueError(f"weights must be thousandths that sum to 1000, got {sum(row)}")
    return Reading(words=words, weights=weights)
