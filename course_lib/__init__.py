"""The reference library of the course: one concept a file, in the words of the field.

This module holds the course's map and nothing else, so that importing it costs nothing.
"""

from typing import NamedTuple


class Room(NamedTuple):
    """One row of the course's map.

    Attributes:
        module: File of ``course_lib`` without its ending.
        chapter: File of ``book/`` without its ending that derives and uses it.
        homework: Id of the homework that asks students to write it, or None.
    """

    module: str
    chapter: str
    homework: str | None


COURSE_MAP: tuple[Room, ...] = (
    Room("attention", "self-attention", "hw03-self-attention"),
    Room("masks", "self-attention", "hw03-self-attention"),
    Room("toy_tasks", "self-attention", None),
)
"""Module, chapter and homework; the README's and the book's tables are generated from it."""
