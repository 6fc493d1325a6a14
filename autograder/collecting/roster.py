"""The class list: the platform's name of each student, and the course's."""

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.files import TextFileError, text_of

_NEEDED = ("lms_id", "student")
_MAX_TABLE_BYTES = 10 << 20
_MAX_NAME = 80
_MAX_NAME_BYTES = 200  # a file system takes 255, also for files made beside the folder
_ID = re.compile(r"_\d{1,20}\Z")  # the platform's number, which export reads


class TableError(ValueError):
    """A class list or worksheet that can't be used; the message says where and why."""


@dataclass(frozen=True, kw_only=True)
class Person:
    """A line of the class list; name, section and team may be empty.

    Attributes:
        lms_id: The platform's number, user name or address of the student.
        student: The student's id in the course, which names the folder.
        team: The platform's name of the team that the student hands in with.
    """

    lms_id: str
    student: str
    name: str = ""
    section: str = ""
    team: str = ""


class Roster:
    """A class list; its people can be found by id, team and folder."""

    def __init__(self, people: Iterable[Person] = ()) -> None:
        self.people = tuple(people)
        self._by_id = {folder_key(person.lms_id): person for person in self.people}
        self._by_student = {person.student: person for person in self.people}
        self._by_folder = {folder_key(person.student): person for person in self.people}

    def find(self, *lms_ids: str) -> Person | None:
        """Return the first person found by these platform ids, in their order; None without one."""
        found = (self._by_id.get(folder_key(lms_id)) for lms_id in lms_ids if lms_id)
        return next((person for person in found if person), None)

    def members(self, team: str) -> list[Person]:
        """Return the members of a team; empty if no team has this name."""
        return [p for p in self.people if p.team and folder_key(p.team) == folder_key(team)]

    def of(self, student: str) -> Person | None:
        """Return the person with this id in the course; None without one."""
        return self._by_student.get(student)

    def namesake(self, student: str) -> Person | None:
        """Return the person whose folder some file systems take for this student's, or None.

        Their ids may differ in case, for example.
        """
        return self._by_folder.get(folder_key(student))


def folder_name(text: str) -> str:
    """Return the text as a folder name, of letters, digits and ``_ . @ -``; empty if none is left.

    A long one is shortened, but never to another student's: the platform's number at its end
    stays whole, and no part of a number becomes the end.
    """
    plain = unicodedata.normalize("NFC", text.encode(errors="replace").decode())
    plain = re.sub(r"[^\w.@-]+", "-", plain).strip("-.")
    if plain == _cut(plain, _MAX_NAME, _MAX_NAME_BYTES):
        return plain
    if number := _ID.search(plain):
        end = number[0]
        room = _MAX_NAME - len(end), _MAX_NAME_BYTES - len(end.encode())
        return _cut(plain, *room).rstrip("-.") + end
    return re.sub(r"[\d_.-]+\Z", "", _cut(plain, _MAX_NAME, _MAX_NAME_BYTES))


def _cut(text: str, characters: int, size: int) -> str:
    return text[:characters].encode()[:size].decode(errors="ignore")


def folder_key(name: str) -> str:
    """Return a text that is equal for all names which some file system takes for one folder."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def read_table(
    path: Path, columns: Sequence[str], advice: str
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line number and the cells, by column, of each row of a CSV file.

    Raises:
        TableError: The file can't be read or lacks a column; the message ends in ``advice``.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_TABLE_BYTES + 1)
        if len(data) > _MAX_TABLE_BYTES:
            limit = _MAX_TABLE_BYTES >> 20
            raise TableError(f"{path} can't be read: it is larger than {limit} MiB")
        rows = csv.DictReader(io.StringIO(text_of(data), newline=""), skipinitialspace=True)
        if missing := [name for name in columns if name not in (rows.fieldnames or ())]:
            raise TableError(f"{path} lacks the column {missing[0]!r}: {advice}")
        for row in rows:
            texts = {name: cell for name, cell in row.items() if isinstance(cell, str)}
            yield rows.line_num, {name or "": cell.strip() for name, cell in texts.items()}
    except (OSError, TextFileError, csv.Error) as error:
        raise TableError(f"{path} can't be read: {error}") from error


def read_roster(path: Path) -> Roster:
    """Read a class list: CSV, UTF-8, with the columns ``lms_id`` and ``student``.

    Columns ``name``, ``section`` and ``team`` are optional.

    Raises:
        TableError: It can't be read, lacks a column or a value, or contradicts itself.
    """
    by_id: dict[str, tuple[Person, int]] = {}
    by_folder: dict[str, tuple[Person, int]] = {}
    for line, row in read_table(path, _NEEDED, f"expected {', '.join(_NEEDED)}"):
        here = f"{path}, line {line}"
        person = _person(row, here)
        other, first = by_id.setdefault(folder_key(person.lms_id), (person, line))
        if other != person:
            raise TableError(f"{here}: {person.lms_id} occurs twice, first in line {first}")
        # on some file systems A and a are one folder
        other, first = by_folder.setdefault(folder_key(person.student), (person, line))
        if other != person:
            raise TableError(f"{here}: the folder {person.student} is that of line {first} too")
    teams = {folder_key(person.team) for person, _ in by_id.values() if person.team}
    for key in sorted(teams & by_id.keys()):
        person, line = by_id[key]
        raise TableError(f"{path}, line {line}: {person.lms_id} is a student and a team")
    return Roster(person for person, _ in by_id.values())


def _person(row: Mapping[str, str], where: str) -> Person:
    fields = {key: row.get(key, "") for key in (*_NEEDED, "name", "section", "team")}
    if not fields["lms_id"] or not fields["student"]:
        raise TableError(f"{where}: lms_id or student is empty")
    student = folder_name(fields["student"])  # as collect names the folder, and grading the result
    if not student:
        raise TableError(f"{where}: {fields['student']!r} cannot become a folder name")
    return Person(**fields | {"student": student})
