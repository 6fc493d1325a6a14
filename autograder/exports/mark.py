"""A student's points on the way to another system."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from autograder.clean_text import clean_text
from autograder.marks.standing import Standing

# The end that ``collect`` gives to ids outside a class list; anon_12345 is a hidden name of Canvas.
_LMS_ID = re.compile(r"(?!anon_[0-9]+\Z).+_([0-9]+)")


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A student's points for a homework.

    Attributes:
        student: The student's id in the course.
        score: Points, those given by hand included.
        max_score: The most points that can be reached.
        lms_id: The student's number in the other system, with Moodle in this assignment; empty if
            it is not known.
        name: In full; may be empty.
        section: May be empty.
        comment: Deduction for lateness, and comments of teaching assistants; may be empty.
    """

    student: str
    score: float
    max_score: float
    lms_id: str = ""
    name: str = ""
    section: str = ""
    comment: str = ""


class SharedIdError(ValueError):
    """Two students have one id in the other system; the message names both."""


def guess_lms_id(student: str) -> str:
    """Return the number that ``collect`` left at the end of a student's id; empty if none."""
    found = _LMS_ID.fullmatch(student)
    return found[1] if found else ""


def refuse_shared_ids(marks: Iterable[Mark]) -> None:
    """Raise ``SharedIdError`` if one student's points would overwrite another's."""
    owners: dict[str, str] = {}
    for mark in marks:
        owner = owners.setdefault(mark.lms_id.casefold(), mark.student)
        if owner != mark.student:
            raise SharedIdError(
                f"{owner} and {mark.student} have one id, {mark.lms_id}: tell them apart by "
                "--roster, or remove the submission of one and grade again"
            )


def comment_of(standing: Standing) -> str:
    """Return the deduction for lateness and the comments of teaching assistants."""
    titles = {check.check: check.title for check in standing.result.checks}
    said = (f"{titles.get(name) or name}: {words}" for name, words in standing.comments.items())
    return clean_text("\n".join(filter(None, (standing.lateness.words, *said))))


def decimal(points: float) -> str:
    """Return points as text, with at most four decimals."""
    return f"{points:.4f}".rstrip("0").rstrip(".")
