"""Moodle's grading worksheet: who has which number in an assignment, and when they handed in.

Its zip of submissions says neither: a participant's number is another in each assignment, and the
times are those of the download.
"""

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from autograder.text_file import TextFileError, text_of

_NUMBER, _NAME, _WHEN = "Identifier", "Full name", "Last modified (submission)"
_MAXIMUM = ("maximum grade", "scale")  # one of them, in small letters: versions of Moodle differ
_ID_NUMBER, _EMAIL = "ID number", "Email address"  # shown or not, as the site's settings say
# Moodle's importer takes the leading digits of anything for a number
_PARTICIPANT = re.compile(r"Participant ([1-9][0-9]{0,17})")
# 26 November 2026, 2:14 PM; English of other countries; where the day has 24 hours
_FORMATS = ("%d %B %Y, %I:%M %p", "%B %d, %Y, %I:%M %p", "%d %B %Y, %H:%M", "%B %d, %Y, %H:%M")
_MAX_BYTES = 10 << 20


class WorksheetError(ValueError):
    """A worksheet that can't be used; the message says where, and what is expected."""


@dataclass(frozen=True, kw_only=True)
class Participant:
    """Somebody in one assignment.

    Attributes:
        number: Moodle's, of this assignment alone.
        name: In full, as the student has chosen it.
        id_number, email: May be empty.
        handed_in: When; None if that is not known.
        maximum: The points to be had in the assignment, or the words of its scale, as Moodle writes
            them; may be empty.
    """

    number: str
    name: str
    id_number: str = ""
    email: str = ""
    handed_in: datetime | None = None
    maximum: str = ""


def read_worksheet(path: Path, zone: tzinfo | None) -> Mapping[str, Participant]:
    """Read who has which number.

    Raises:
        WorksheetError: It can't be read, or is no such worksheet.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise WorksheetError(f"{path} can't be read: it is larger than {_MAX_BYTES >> 20} MiB")
        rows = csv.DictReader(io.StringIO(text_of(data), newline=""))
        needed = (_NUMBER, _NAME, _WHEN)
        if missing := [name for name in needed if name not in (rows.fieldnames or ())]:
            words = "give Moodle's grading worksheet, downloaded in English and with names shown"
            raise WorksheetError(f"{path} lacks the column {missing[0]!r}: {words}")
        found: dict[str, Participant] = {}
        for row in rows:
            here = f"{path}, line {rows.line_num}"
            participant = _participant(row, zone, here)
            if found.setdefault(participant.number, participant) != participant:
                raise WorksheetError(f"{here}: Participant {participant.number} occurs twice")
        return found
    except (OSError, TextFileError, csv.Error) as error:
        raise WorksheetError(f"{path} can't be read: {error}") from error


def maximum_grade(participants: Iterable[Participant]) -> float | None:
    """Return the points to be had in a Moodle assignment.

    Raises:
        WorksheetError: The assignment is graded by a scale, or not at all.
    """
    told = {participant.maximum for participant in participants} - {""}
    if not told:
        return None
    try:
        (maximum,) = {float(points.replace(",", ".")) for points in told}
    except ValueError:
        maximum = 0.0
    if not 0 < maximum < math.inf:
        words = "let its grade type be Point, and download the worksheet again"
        raise WorksheetError(
            f"Moodle's assignment has no maximum grade, but {min(told)!r}: {words}"
        )
    return maximum


def _participant(row: Mapping[str, str | None], zone: tzinfo | None, where: str) -> Participant:
    def cell(column: str) -> str:
        return (row.get(column) or "").strip()

    number = _PARTICIPANT.fullmatch(cell(_NUMBER))
    if not number:
        raise WorksheetError(
            f"{where}: {_NUMBER} is {cell(_NUMBER)!r}; expected, in English, Participant 123456"
        )
    when = cell(_WHEN)
    return Participant(
        number=number[1],
        name=cell(_NAME),
        id_number=cell(_ID_NUMBER),
        email=cell(_EMAIL),
        handed_in=None if when in ("", "-") else _moment(when, zone, where),
        maximum=next((cell(name) for name in row if (name or "").lower() in _MAXIMUM), ""),
    )


def _moment(text: str, zone: tzinfo | None, where: str) -> datetime:
    without_weekday = text.partition(",")[2].strip()
    for form in _FORMATS:
        try:
            moment = datetime.strptime(without_weekday, form)
            return moment.replace(tzinfo=zone).astimezone(UTC)
        except (ValueError, OverflowError):
            continue
    expected = "expected, in English, Thursday, 26 November 2026, 2:14 PM"
    raise WorksheetError(f"{where}: {_WHEN} is {text!r}; {expected}")
