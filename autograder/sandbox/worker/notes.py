"""The book of what was noted: each thing once, with the first place, and no more than so many."""

from .operators import FULL, MOST_NOTES

Note = tuple[str, str, int, str, tuple[str, ...]]
"""What ran, cell and line of the student's call, the exercise asked, and all whose code it was."""

NOTES = b"notes"
"""Whose seal stands behind what is told of them, see ``Seal``."""

_NOWHERE = ("", 0)
_LONGEST_LABEL = 200  # characters; a notebook's own are shorter

_seen: dict[tuple[str, str, tuple[str, ...]], tuple[str, int]] = {}


def keep(
    what: str,
    place: tuple[str, int] = _NOWHERE,
    *,
    owner: str = "",
    inside: tuple[str, ...] = (),
) -> None:
    """Note something.

    Args:
        what: A full name, or one of those of ``operators``.
        place: Cell and line of the student's call.
        owner: The exercise asked.
        inside: All exercises whose code it was.
    """
    key = what, owner, inside
    if key not in _seen and len(_seen) >= MOST_NOTES - 1:
        key = FULL, "", ()
    _seen.setdefault(key, (place[0][:_LONGEST_LABEL], place[1]))


def take_notes() -> list[Note]:
    """Return what was noted since this was last asked."""
    noted = list(_seen.items())  # at once: other threads may go on
    _seen.clear()
    return [(what, *place, owner, inside) for (what, owner, inside), place in noted]
