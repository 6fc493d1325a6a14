"""What a figure shows: the class from which the data of all figures derive."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, Self

from course_book.figures.json_checks import require_fields


@dataclass(frozen=True, kw_only=True)
class FigureData(ABC):
    """What a figure shows, checked.

    Attributes:
        note: Where the numbers come from or how to read them, in a sentence; may be empty.
    """

    note: str

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Read and check the data that a chapter put into its page.

        Args:
            data: What ``json.loads`` returned: an object with the class's fields.

        Returns:
            The checked data.

        Raises:
            ValueError: The data are not what the figure draws: something is missing, surplus, out
                of range, or of the wrong size.
        """
        names = [field.name for field in fields(cls)]
        data = require_fields(data, names)
        if not isinstance(data["note"], str):
            raise ValueError(f"note must be a text, got {data['note']!r}")
        return cls(**data | cls._checked(data))

    @classmethod
    @abstractmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Check what the fields hold, and return those that are kept in another form."""

    @abstractmethod
    def table(self) -> str:
        """Return the data as HTML, for readers without scripts."""
