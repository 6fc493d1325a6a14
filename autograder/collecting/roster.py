"""The class list: what a platform calls a student, and what the course does."""

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.collecting.folder_names import folder_key, folder_name
from autograder.text_file import TextFileError, text_of

_NEEDED = ("lms_id", "student")
_MAX_BYTES = 10 << 20


class RosterError(ValueError):
    """A class list that can't be used; the message says where and why."""


@dataclass(frozen=True, kw_only=True)
class Person:
    """A line of the class list.

    Attributes:
        lms_id: What the platform calls the student: a number, a user name or an address.
        student: The student's id in the course: the name of the folder, see ``folder_name``.
        name: In full; may be empty.
        section: May be empty.
        team: With whom the student hands in, as the platform calls the team; may be empty.
    """

    lms_id: str
    student: str
    name: str = ""
    section: str = ""
    team: str = ""


class Roster:
    """A class list.

    Args:
        people: Its lines.
    """

    def __init__(self, people: Iterable[Person] = ()) -> None:
        self.people = tuple(people)
        self._by_id = {folder_key(person.lms_id): person for person in self.people}
        self._by_student = {person.student: person for person in self.people}
        self._by_folder = {folder_key(person.student): person for person in self.people}

    def find(self, *lms_ids: str) -> Person | None:
        """Return the person whom the platform calls by one of these; None if nobody."""
        found = (self._by_id.get(folder_key(lms_id)) for lms_id in lms_ids if lms_id)
        return next((person for person in found if person), None)

    def members(self, team: str) -> list[Person]:
        """Return who hands in together under this name; nobody if it is no team's."""
        return [p for p in self.people if p.team and folder_key(p.team) == folder_key(team)]

    def of(self, student: str) -> Person | None:
        """Return the person with this id in the course; None if nobody."""
        return self._by_student.get(student)

    def namesake(self, student: str) -> Person | None:
        """Return the person whose folder some file systems take for this one; None if nobody's."""
        return self._by_folder.get(folder_key(student))


def read_roster(path: Path) -> Roster:
    """Read a class list.

    Raises:
        RosterError: It can't be read, lacks a column or a value, or says two things.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise RosterError(f"{path} can't be read: it is larger than {_MAX_BYTES >> 20} MiB")
        return Roster(_people(text_of(data), path))
    except (OSError, TextFileError, csv.Error) as error:
        raise RosterError(f"{path} can't be read: {error}") from error


def _people(text: str, path: Path) -> list[Person]:
    rows = csv.DictReader(io.StringIO(text, newline=""), skipinitialspace=True)
    missing = [column for column in _NEEDED if column not in (rows.fieldnames or ())]
    if missing:
        raise RosterError(f"{path} lacks the column {missing[0]}; expected {', '.join(_NEEDED)}")
    by_id: dict[str, tuple[Person, int]] = {}
    by_folder: dict[str, tuple[Person, int]] = {}
    for row in rows:
        here = f"{path}, line {rows.line_num}"
        person = _person(row, here)
        other, line = by_id.setdefault(folder_key(person.lms_id), (person, rows.line_num))
        if other != person:
            raise RosterError(f"{here}: {person.lms_id} occurs twice, first in line {line}")
        # on some file systems A and a are one folder
        other, line = by_folder.setdefault(folder_key(person.student), (person, rows.line_num))
        if other != person:
            raise RosterError(f"{here}: the folder {person.student} is that of line {line} too")
    teams = {folder_key(person.team) for person, _ in by_id.values() if person.team}
    for key in sorted(teams & by_id.keys()):
        person, line = by_id[key]
        raise RosterError(f"{path}, line {line}: {person.lms_id} is a student and a team")
    return [person for person, _ in by_id.values()]


def _person(row: Mapping[str, str | None], where: str) -> Person:
    fields = {key: (row.get(key) or "").strip() for key in (*_NEEDED, "name", "section", "team")}
    if not fields["lms_id"] or not fields["student"]:
        raise RosterError(f"{where}: lms_id or student is empty")
    student = folder_name(fields["student"])  # as collect names the folder, and grading the result
    if not student:
        raise RosterError(f"{where}: {fields['student']!r} cannot become a folder name")
    return Person(**fields | {"student": student})
