"""Names of students in a line of a terminal."""

from collections.abc import Sequence

from autograder.clean_text import one_line

_MOST = 10


def listed(students: Sequence[str]) -> str:
    """Return their ids, the first few of many.

    Args:
        students: At least one.
    """
    more = f" and {len(students) - _MOST} more" if len(students) > _MOST else ""
    return ", ".join(one_line(student, 80) for student in students[:_MOST]) + more
