"""When students handed in, by Moodle's grading worksheet: its zip only knows when it was made."""

import csv
import io
import re
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from autograder.text_file import TextFileError, text_of

_WHO, _WHEN = "Identifier", "Last modified (submission)"
_PARTICIPANT = re.compile(r"Participant ([0-9]{1,20})")
# 26 November 2026, 2:14 PM; English of other countries; where the day has 24 hours
_FORMATS = ("%d %B %Y, %I:%M %p", "%B %d, %Y, %I:%M %p", "%d %B %Y, %H:%M", "%B %d, %Y, %H:%M")
_MAX_BYTES = 10 << 20


class WorksheetError(ValueError):
    """A worksheet that can't be used; the message says where, and what is expected."""


def read_times(path: Path, zone: tzinfo | None) -> Mapping[str, datetime]:
    """Read when each participant handed in.

    Args:
        path: CSV, as *Download grading worksheet* gives it to whose Moodle speaks English.
        zone: Whose time it tells; the machine's if None.

    Returns:
        Number of a participant to the moment, of those who handed in.

    Raises:
        WorksheetError: It can't be read, or is no such worksheet.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise WorksheetError(f"{path} can't be read: it is larger than {_MAX_BYTES >> 20} MiB")
        rows = csv.DictReader(io.StringIO(text_of(data), newline=""))
        if missing := [name for name in (_WHO, _WHEN) if name not in (rows.fieldnames or ())]:
            words = "give Moodle's grading worksheet, downloaded in English"
            raise WorksheetError(f"{path} lacks the column {missing[0]!r}: {words}")
        times: dict[str, datetime] = {}
        for row in rows:
            who = _PARTICIPANT.fullmatch((row[_WHO] or "").strip())
            when = (row[_WHEN] or "").strip()
            if who and when not in ("", "-"):
                times[who[1]] = _moment(when, zone, f"{path}, line {rows.line_num}")
        return times
    except (OSError, TextFileError, csv.Error) as error:
        raise WorksheetError(f"{path} can't be read: {error}") from error


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
