"""dates.toml: due dates, extensions and deductions for lateness.

Commands, the gradebook's rows and nbgrader's late penalties all compute lateness here.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from math import ceil
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from autograder.files import TextFileError, text_of
from autograder.judging.results import SubmissionResult
from autograder.marks.standing import Lateness
from autograder.moments import plausible

DATES_FILE = "dates.toml"
_YEARS = range(2000, 2100)
_DAY = timedelta(days=1)
_TABLES = ("due", "late", "extensions", "excused", "time_zone", "drop_lowest")
_LATE = {"percent_per_day": 100, "most_percent": 100, "grace_minutes": 1440, "grace_days": 365}
"""Keys of ``[late]``, each with its maximum value."""


class DatesError(ValueError):
    """The file dates.toml is invalid; the message gives the place and the expected form."""


@dataclass(frozen=True, kw_only=True)
class Dates:
    """Due dates of homework, and deductions for lateness.

    Attributes:
        due: Due dates for everybody, by homework id.
        extensions: Later due dates, by student and homework id.
        excused: Homeworks left out of a student's total, by student.
        percent_per_day: Deduction for each day begun, of the maximum points.
        most_percent: Maximum deduction.
        grace_minutes: Delay that does not count as late.
        grace_days: Late days without deduction for each student, over the term.
        drop_lowest: Number of homeworks left out of a total, those with the smallest shares.
        zone: Time zone of dates without one.
    """

    due: Mapping[str, datetime] = field(default_factory=dict)
    extensions: Mapping[str, Mapping[str, datetime]] = field(default_factory=dict)
    excused: Mapping[str, frozenset[str]] = field(default_factory=dict)
    percent_per_day: float = 0.0
    most_percent: float = 100.0
    grace_minutes: float = 0.0
    grace_days: int = 0
    drop_lowest: int = 0
    zone: ZoneInfo | None = None

    def due_for(self, student: str, homework: str) -> datetime | None:
        """Return a student's due date, with an extension if it is later; None if none is set."""
        own = self.extensions.get(student, {}).get(homework)
        dates = [date for date in (own, self.due.get(homework)) if date]
        return max(dates, default=None)

    def lateness(
        self, result: SubmissionResult, others: Iterable[SubmissionResult] = ()
    ) -> Lateness:
        """Return how late a submission is, and the points that this costs.

        ``others`` are the student's other submissions: those due earlier use up grace days.
        """
        days = self._days_late(result)
        due = self.due_for(result.student, result.homework)
        if not days or due is None:
            marked = result.marked_late and not due
            return Lateness(words="Marked as late where it was handed in." if marked else "")
        order = self.due.get(result.homework, due)
        earlier = sum(
            self._days_late(other)
            for other in others
            if other.homework != result.homework
            if other.homework not in self.excused.get(result.student, ())
            if self.due.get(other.homework, order) < order
        )
        free = min(days, max(0, self.grace_days - earlier))
        percent = min(self.most_percent, (days - free) * self.percent_per_day)
        words = [_how_late(result, due), f"{_count(days, 'day')} late"]
        if free:
            words[-1] += f", {_count(free, 'grace day')} used"
        words[-1] += f": {percent:g} % of the points to be had are taken off."
        return Lateness(words=" ".join(words), share=percent / 100, days=days)

    def _days_late(self, result: SubmissionResult) -> int:
        """Return the number of late days begun; 1 if only the platform's mark "late" is known."""
        due = self.due_for(result.student, result.homework)
        if due is None:
            return 0
        handed_in = _handed_in(result)
        if not handed_in:
            extended = result.homework in self.extensions.get(result.student, {})
            return int(result.marked_late and not extended)
        if handed_in - due <= timedelta(minutes=self.grace_minutes):
            return 0
        # A day by the clock has 25 hours when summer time ends.
        by_the_clock = handed_in.astimezone(due.tzinfo).replace(tzinfo=None) - due.replace(
            tzinfo=None
        )
        return max(1, ceil(min(handed_in - due, by_the_clock) / _DAY))


def _handed_in(result: SubmissionResult) -> datetime | None:
    """Return the time of submission; None if it is unknown or implausible."""
    moment = datetime.fromisoformat(result.handed_in) if result.handed_in else None
    return moment if moment and plausible(moment) else None


def _how_late(result: SubmissionResult, due: datetime) -> str:
    deadline = f"the deadline, {due:%d %B %Y, %H:%M} ({due.tzname()})"
    handed_in = _handed_in(result)
    if not handed_in:
        return f"Marked as late where it was handed in, after {deadline}."
    over = handed_in - due
    hours, minutes = divmod(over.seconds // 60, 60)
    parts = (_count(n, unit) for n, unit in ((over.days, "day"), (hours, "hour")) if n)
    return f"Handed in {' '.join(parts) or _count(max(minutes, 1), 'minute')} after {deadline}."


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def read_dates(path: Path, homeworks: Sequence[str]) -> Dates:
    """Return the dates in dates.toml, which may name these ``homeworks`` (ids) only."""
    try:
        return parse_dates(text_of(path.read_bytes()), homeworks)
    except (OSError, TextFileError, DatesError) as error:
        raise DatesError(f"{path}: {error}") from error


def parse_dates(text: str, homeworks: Sequence[str]) -> Dates:
    """Return the dates in the text of dates.toml, which may name these ``homeworks`` only."""
    try:
        return _dates(tomllib.loads(text), homeworks)
    except tomllib.TOMLDecodeError as error:
        raise DatesError(f"{error}; a time is written as 2026-10-12T23:59:00") from error


def _dates(data: dict[str, Any], homeworks: Sequence[str]) -> Dates:
    _refuse_others(data, _TABLES, "")
    late = _table(data, "late")
    _refuse_others(late, _LATE, "[late] ")
    numbers = {
        key: _number(late[key], f"[late] {key}", most) for key, most in _LATE.items() if key in late
    }
    grace_days = _whole(numbers.pop("grace_days", 0), "[late] grace_days")
    zone = _zone(data.get("time_zone"))
    extensions = {
        str(student): _moments(_table(given, student), f"[extensions.{student}]", homeworks, zone)
        for given in [_table(data, "extensions")]
        for student in given
    }
    due = _moments(_table(data, "due"), "[due]", homeworks, zone)
    for student, given in extensions.items():
        for homework in given.keys() - due.keys():
            raise DatesError(f"[extensions.{student}] {homework} has no date in [due]")
    dropped = _number(data.get("drop_lowest", 0), "drop_lowest", len(homeworks))
    excused = {
        str(student): _homeworks(names, f"[excused] {student}", homeworks)
        for student, names in _table(data, "excused").items()
    }
    return Dates(
        due=due, extensions=extensions, excused=excused, grace_days=grace_days,
        drop_lowest=_whole(dropped, "drop_lowest"), zone=zone, **numbers,
    )  # fmt: skip


def _homeworks(names: Any, where: str, homeworks: Sequence[str]) -> frozenset[str]:
    if not isinstance(names, list):
        raise DatesError(f'{where} is {names!r}; expected, for example, ["hw01", "hw02"]')
    return frozenset(_homework(name, where, homeworks) for name in names)


def _homework(name: Any, where: str, homeworks: Sequence[str]) -> str:
    found = [homework for homework in homeworks if name in (homework, homework.split("-")[0])]
    if len(found) != 1:
        raise DatesError(f"{where} {name}: no such homework; known: {', '.join(homeworks)}")
    return found[0]


def _table(data: dict[str, Any], name: str) -> dict[str, Any]:
    found = data.get(name, {})
    if not isinstance(found, dict):
        raise DatesError(f"{name} is {found!r}, expected a table: a line [{name}], its keys below")
    return found


def _refuse_others(data: dict[str, Any], known: Iterable[str], where: str) -> None:
    for key in data.keys() - set(known):
        near = get_close_matches(key, known, n=1)
        meant = f"do you mean {near[0]}?" if near else f"known are {', '.join(known)}"
        raise DatesError(f"{where}{key} means nothing here; {meant}")


def _number(value: Any, name: str, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise DatesError(f"{name} is {value!r}, expected a number from 0 to {most:g}")
    return value


def _whole(value: float, name: str) -> int:
    if value != int(value):
        raise DatesError(f"{name} is {value!r}, expected a whole number")
    return int(value)


def _zone(name: Any) -> ZoneInfo | None:
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        words = f'time_zone is {name!r}; expected, for example, "Europe/Berlin"'
        raise DatesError(words) from None


def _moments(
    data: dict[str, Any], where: str, homeworks: Sequence[str], zone: ZoneInfo | None
) -> dict[str, datetime]:
    moments: dict[str, datetime] = {}
    for name, value in data.items():
        homework = _homework(name, where, homeworks)
        if homework in moments:
            raise DatesError(f"{where} has two dates for {homework}: keep one line of them")
        if not isinstance(value, datetime):
            words = f"{where} {name} is {value}; expected, for example, 2026-10-12T23:59:00"
            raise DatesError(words)
        if value.year not in _YEARS:
            years = f"expected a year from {_YEARS.start} to {_YEARS.stop - 1}"
            raise DatesError(f"{where} {name} is {value}; {years}")
        if value.tzinfo is None and zone is None:
            raise DatesError(
                f'{where} {name} has no time zone: set time_zone = "Europe/Berlin" at the top'
            )
        moments[homework] = value.replace(tzinfo=value.tzinfo or zone)
    return moments


def in_utc(moment: datetime) -> datetime:
    """Return a moment as nbgrader's gradebook stores it: naive, in UTC."""
    return moment.astimezone(UTC).replace(tzinfo=None)


def with_due(text: str, homework: str, moment: str) -> str:
    """Return the ``text`` of dates.toml with a homework's due date set; everything else stays.

    ``moment`` is the date in TOML, such as ``2026-10-12T23:59:00+02:00``; it is not checked.
    """
    line = f"{homework} = {moment}\n"
    table = re.search(r"^[ \t]*\[[ \t]*due[ \t]*\][^\n]*(?:\n|\Z)", text, flags=re.MULTILINE)
    if not table:
        before = f"{text.rstrip()}\n\n" if text.strip() else ""
        return f"{before}[due]\n{line}"
    before, rest = text[: table.end()].rstrip("\n") + "\n", text[table.end() :]
    following = re.search(r"^[ \t]*\[", rest, flags=re.MULTILINE)
    end = following.start() if following else len(rest)
    names = "|".join(re.escape(name) for name in (homework, homework.partition("-")[0]))
    earlier = re.compile(
        rf"^[ \t]*[\"']?(?:{names})[\"']?[ \t]*=[^\n]*(?:\n|\Z)", flags=re.MULTILINE
    )
    return f"{before}{line}{earlier.sub('', rest[:end])}{rest[end:]}"
