"""Whose each file is, and which notebook of a student's counts: the newest with the right name."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from autograder.collecting.folder_names import folder_name
from autograder.collecting.gradescope_export import Record, Submitter
from autograder.collecting.handed_in import HandedIn
from autograder.collecting.lms_names import Name
from autograder.collecting.roster import Roster

_NO_TIME = datetime.min.replace(tzinfo=UTC)
_OTHER_HOMEWORK = re.compile(r"hw(\d+)", re.IGNORECASE)
# what platforms and browsers put behind the name of a file that was handed in again
_AGAIN = r"(?:[ _-]?\(?(?P<again>\d{1,3})\)?|[ _-]copy)?"


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A file with its owner.

    Attributes:
        person: What the platform calls the student; two people never share it.
        student: The student's id in the course.
        name: What the path says.
        file: The file.
        listed: Whether the class list has the person.
    """

    person: str
    student: str
    name: Name
    file: HandedIn
    listed: bool


class ChoiceError(ValueError):
    """No notebook of a student's can be chosen; the message says why."""


def attempts_of(
    file: HandedIn, name: Name, roster: Roster, records: Mapping[str, Record]
) -> list[Attempt]:
    """Say whose a file is.

    Args:
        file: The file.
        name: What its path says.
        roster: The class list.
        records: What Gradescope says about its folders; empty for other platforms.

    Returns:
        One attempt a person: several if a group, or a team of the class list, handed in together.
    """
    if members := roster.members(name.team):
        return [
            Attempt(
                # two who call themselves like a team are not one
                person=f"{m.lms_id} by {name.person}",
                student=m.student,
                name=name,
                file=file,
                listed=True,
            )
            for m in members
        ]
    record = records.get(name.person)
    if record is None or not record.submitters:
        person = roster.find(name.lms_id, name.person)
        student = person.student if person else folder_name(name.person)
        return [
            Attempt(person=name.person, student=student, name=name, file=file, listed=bool(person))
        ]
    file = replace(file, modified=record.created or file.modified)
    found = []
    for submitter in record.submitters:
        identity = _identity(submitter) or name.person
        # A name is the student's to choose, so it counts only for who has nothing else.
        listed = roster.find(submitter.sid, submitter.email) or roster.find(identity)
        student = listed.student if listed else folder_name(identity)
        found.append(
            Attempt(person=identity, student=student, name=name, file=file, listed=bool(listed))
        )
    return found


def _identity(submitter: Submitter) -> str:
    return submitter.sid or submitter.email or submitter.name


def choose(attempts: Sequence[Attempt], homework_id: str) -> Attempt:
    """Choose the notebook that counts.

    Args:
        attempts: Everything that one student handed in.
        homework_id: Such as ``hw03-self-attention``.

    Returns:
        The newest notebook with the homework's name; if none has it, the only one there is.

    Raises:
        ChoiceError: There is no notebook, it must not be read, or there are several and none has
            the name.
    """
    notebooks = [a for a in attempts if a.file.is_notebook and not _of_another(a, homework_id)]
    if not notebooks:
        raise ChoiceError(f"no notebook of this homework, only {_listed(attempts)}")
    readable = [attempt for attempt in notebooks if not attempt.file.problem]
    if not readable:
        raise ChoiceError("; ".join(f"{a.name.file}: {a.file.problem}" for a in notebooks))
    named = [attempt for attempt in readable if _again(attempt, homework_id) is not None]
    if not named and len({attempt.name.file for attempt in readable}) > 1:
        raise ChoiceError(
            f"several notebooks, none called {homework_id}.ipynb: {_listed(readable)}"
        )
    return max(named or readable, key=lambda attempt: _order(attempt, homework_id))


def _order(attempt: Attempt, homework_id: str) -> tuple[int, datetime, int, int]:
    """Later attempts are larger; of two that are alike, the one less deep in folders."""
    again = _again(attempt, homework_id) or 0
    depth = attempt.name.file.count("/")
    return attempt.name.attempt, attempt.file.modified or _NO_TIME, again, -depth


def _again(attempt: Attempt, homework_id: str) -> int | None:
    """Return the number behind the homework's name, 0 if there is none; None for other names."""
    stem = _stem(attempt)
    if stem == attempt.name.person:  # ada.ipynb
        return 0
    found = re.fullmatch(re.escape(homework_id) + _AGAIN, stem, re.IGNORECASE)
    return int(found["again"] or 0) if found else None


def _of_another(attempt: Attempt, homework_id: str) -> bool:
    number = _OTHER_HOMEWORK.match(_stem(attempt))
    own = _OTHER_HOMEWORK.match(homework_id)
    return bool(number and own and number[1].lstrip("0") != own[1].lstrip("0"))


def _stem(attempt: Attempt) -> str:
    return attempt.name.file.rpartition("/")[2][: -len(".ipynb")]


def _listed(attempts: Sequence[Attempt]) -> str:
    names = [attempt.name.file for attempt in attempts]
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
