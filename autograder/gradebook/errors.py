"""The error of a gradebook that can't be written."""

from collections.abc import Mapping
from types import MappingProxyType


class GradebookError(RuntimeError):
    """Some results are not in the gradebook; the message says which, and why.

    Args:
        message: Which, and why.
        refused: The reason for each student who was not recorded, if some were.
    """

    def __init__(self, message: str, refused: Mapping[str, str] = MappingProxyType({})) -> None:
        super().__init__(message)
        self.refused = refused
