"""Moodle: its grading worksheet, and the student behind each participant.

A participant's number differs from assignment to assignment, and the zip of submissions tells no
times; the worksheet does.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from autograder.collecting.lms_names import Name
from autograder.collecting.owners import Owner, Owners, of_team
from autograder.collecting.roster import (
    Person,
    Roster,
    TableError,
    folder_key,
    folder_name,
    read_table,
)

_NUMBER, _NAME, _WHEN = "Identifier", "Full name", "Last modified (submission)"
_MAXIMUM = ("maximum grade", "scale")  # in small letters; versions of Moodle differ
_ID_NUMBER, _EMAIL = "ID number", "Email address"  # optional, by the site's settings
# Moodle's importer takes the leading digits of anything for a number
_PARTICIPANT = re.compile(r"Participant ([1-9][0-9]{0,17})")
# 26 November 2026, 2:14 PM; English of other countries; where the day has 24 hours
_FORMATS = ("%d %B %Y, %I:%M %p", "%B %d, %Y, %I:%M %p", "%d %B %Y, %H:%M", "%B %d, %Y, %H:%M")
_NOT_IN_MOODLES_FILES = re.compile(r"""[\x00-\x1f\x7f&<>"`|':\\/]""")
_BY_ID, _BY_NAME, _UNLISTED = range(3)  # how a participant was found in the class list
_NOT_NAMED = "Participant"  # everybody's name where names are hidden
_TELL_APART = (
    "ID numbers or e-mail addresses in the class list (--roster), and Moodle's grading worksheet "
    "(--worksheet), tell them apart"
)


@dataclass(frozen=True, kw_only=True)
class Participant:
    """A row of a grading worksheet, or the person in the name of a collected file.

    Attributes:
        number: Moodle's number of the person in this assignment.
        name: The full name, which the person may have chosen.
        handed_in: When they handed in; None if unknown.
        maximum: The assignment's maximum points, or the words of its scale, as Moodle writes them.
    """

    number: str
    name: str
    id_number: str = ""
    email: str = ""
    handed_in: datetime | None = None
    maximum: str = ""


Worksheet = Mapping[str, Participant]
"""The participants of one assignment, by number."""


# ---- the worksheet ----


def read_worksheet(path: Path, zone: tzinfo | None) -> Worksheet:
    """Read a grading worksheet in English; its times are of the zone, or the machine's if None.

    Raises:
        TableError: It can't be read, or is no such worksheet.
    """
    found: dict[str, Participant] = {}
    advice = "give Moodle's grading worksheet, downloaded in English and with names shown"
    for line, row in read_table(path, (_NUMBER, _NAME, _WHEN), advice):
        here = f"{path}, line {line}"
        participant = _participant(row, zone, here)
        if found.setdefault(participant.number, participant) != participant:
            raise TableError(f"{here}: Participant {participant.number} occurs twice")
    return found


def _participant(row: Mapping[str, str], zone: tzinfo | None, where: str) -> Participant:
    identifier, when = row.get(_NUMBER, ""), row.get(_WHEN, "")
    number = _PARTICIPANT.fullmatch(identifier)
    if not number:
        raise TableError(
            f"{where}: {_NUMBER} is {identifier!r}; expected, in English, Participant 123456"
        )
    return Participant(
        number=number[1],
        name=row.get(_NAME, ""),
        id_number=row.get(_ID_NUMBER, ""),
        email=row.get(_EMAIL, ""),
        handed_in=None if when in ("", "-") else _moment(when, zone, where),
        maximum=next((cell for name, cell in row.items() if name.lower() in _MAXIMUM), ""),
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
    raise TableError(f"{where}: {_WHEN} is {text!r}; {expected}")


def maximum_grade(participants: Iterable[Participant]) -> float | None:
    """Return the maximum points of an assignment; None if its worksheet has no such column.

    Raises:
        TableError: The assignment is graded by a scale, or not at all.
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
        raise TableError(f"Moodle's assignment has no maximum grade, but {min(told)!r}: {words}")
    return maximum


# ---- the students ----


@dataclass(frozen=True, kw_only=True)
class _Claim:
    """The student that a participant seems to be; ``found`` is _BY_ID, _BY_NAME or _UNLISTED."""

    participant: Participant
    student: str
    found: int


class MoodlePeople:
    """Finds the owner of each participant in one assignment: in the class list, else by name.

    Students choose their names. So an ID number or e-mail counts more than a name, and a name that
    two participants share identifies neither.

    Args:
        participants: Those of the worksheet, or of the zip if there is none.
        roster: The class list.
    """

    def __init__(self, participants: Iterable[Participant], roster: Roster) -> None:
        self._roster = roster
        self._named = _people_by_name(roster)
        self._owners: dict[Participant, Owner] = {}
        self._by_student: dict[str, Participant] = {}
        claims: dict[str, list[_Claim]] = defaultdict(list)
        for participant in dict.fromkeys(participants):
            claim = self._claim(participant)
            claims[folder_key(claim.student)].append(claim)
        for rivals in claims.values():
            self._settle(rivals)

    def owner_of(self, participant: Participant) -> Owner:
        """Return the participant's owner; its problem says why the student is unknown, if so."""
        return self._owners[participant]

    def find(self, student: str) -> Participant | None:
        """Return the participant with this student id of the course; None if there is none."""
        return self._by_student.get(folder_key(student))

    def _claim(self, participant: Participant) -> _Claim:
        by_id = self._roster.find(participant.id_number, participant.email)
        listed = by_id or self._named.get(folder_key(moodle_name(participant.name)))
        return _Claim(
            participant=participant,
            student=listed.student if listed else folder_name(moodle_name(participant.name)),
            found=_BY_ID if by_id else _BY_NAME if listed else _UNLISTED,
        )

    def _settle(self, rivals: Sequence[_Claim]) -> None:
        """Store an owner for each of the ``rivals``, participants who seem to be one student.

        The one with the best claim is the student. The owners of the others, or of all in a tie,
        get a problem.
        """
        best = min(claim.found for claim in rivals)
        winners = [claim for claim in rivals if claim.found == best]
        student = winners[0].student
        namesake = self._roster.namesake(student)
        for claim in rivals:
            participant = claim.participant
            problem = ""
            if claim.found == _UNLISTED and namesake:
                problem = (
                    f"Participant {participant.number} has the same folder name as "
                    f"{namesake.student} in the class list, but is not found in it by what "
                    "--worksheet says of them"
                )
            elif claim not in winners:
                problem = (
                    f"Participant {participant.number} has the name that the class list "
                    f"gives {student}, another person"
                )
            elif len(winners) > 1 and student:
                numbers = " and ".join(rival.participant.number for rival in winners[:4])
                problem = f"Participants {numbers} would all be {student}: {_TELL_APART}"
            self._owners[participant] = Owner(
                person=f"{participant.name}_{participant.number}",
                student=claim.student,
                listed=claim.found != _UNLISTED,
                problem=problem,
            )
            if not problem:
                self._by_student[folder_key(claim.student)] = participant


def moodle_owners(
    names: Iterable[Name], people: MoodlePeople, worksheet: Worksheet | None, roster: Roster
) -> Owners:
    """Return a function that finds a file's owners by class list and worksheet, or full name."""
    told: dict[Name, Participant] = {}
    called: dict[str, set[str]] = defaultdict(set)  # name, perhaps a group's, to its numbers
    for name in dict.fromkeys(names):
        participant = participant_of(name) if worksheet is None else worksheet.get(name.lms_id)
        if participant and (worksheet is None or _fits(participant, name)):
            told[name] = participant
        if worksheet is None or name not in told:
            called[folder_key(name.called)].add(name.lms_id)

    def owners(name: Name) -> list[Owner]:
        numbers = called[folder_key(name.called)]
        if name.lms_id in numbers and (members := roster.members(name.called)):
            # the number is the group's, unless a person has chosen the group's name
            several = f"several call themselves {name.called}, as the team does"
            return of_team(members, name, several if len(numbers) > 1 else "")
        if name in told:
            return [people.owner_of(told[name])]
        return [_stranger(name, (worksheet or {}).get(name.lms_id))]

    return owners


def _stranger(name: Name, other: Participant | None) -> Owner:
    """Return the owner, with a problem, of a file whose name does not fit the worksheet.

    ``other`` is the participant with the file's number there; None if there is none.
    """
    words = f"calls Participant {name.lms_id} {other.name}" if other else "does not have them"
    return Owner(
        person=name.person,
        student=folder_name(moodle_name(name.called)),
        problem=f"the worksheet {words}: is it of this assignment, and of all? "
        "Is this a team? The class list's column team says so",
    )


def participant_of(name: Name) -> Participant:
    """Return a participant with the number and the full name in a file's name."""
    return Participant(number=name.lms_id, name=name.called)


def _fits(told: Participant, name: Name) -> bool:
    """Return whether a file's full name is that of ``told``, the participant with its number.

    If not, the number may be a group's.
    """
    return name.called == _NOT_NAMED or _letters(told.name) == _letters(name.called)


def _letters(name: str) -> str:
    return "".join(sign for sign in folder_key(name) if sign.isalnum())


def _people_by_name(roster: Roster) -> dict[str, Person]:
    """Return the people whose full name occurs once in the class list, by that name.

    An entry with digits or an ``@`` is an ID number or an address. A participant may choose it as
    a name, and so it identifies nobody by name.
    """
    named: dict[str, list[Person]] = defaultdict(list)
    for person in roster.people:
        if not any(sign.isdigit() or sign == "@" for sign in person.lms_id):
            named[folder_key(moodle_name(person.lms_id))].append(person)
    return {name: people[0] for name, people in named.items() if len(people) == 1}


def moodle_name(name: str) -> str:
    """Return a full name as Moodle writes it into the names of files.

    Spaces of other widths stay: a last name that consists of one makes a different name.
    """
    written = _NOT_IN_MOODLES_FILES.sub("", name.replace("_", " "))
    return " ".join(part for part in written.split(" ") if part)
