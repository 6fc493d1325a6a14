"""The owner of each file: the student that its name, or Gradescope's records, lead to."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from autograder.collecting.lms_names import Name
from autograder.collecting.roster import Person, Roster, folder_name
from autograder.moments import plausible

METADATA = "submission_metadata.yml"
_DEEPEST = 100  # PyYAML's faster loader would overflow the stack, and end the process
_ANONYMOUS = "anon"  # stands for all names that Canvas hides


@dataclass(frozen=True, kw_only=True)
class Owner:
    """A student as a platform calls them, and as the course does.

    Attributes:
        person: The platform's name of the student; two people never share it.
        student: The student's id in the course.
        listed: Whether the class list has the person.
        problem: Why their files can't be collected; empty if they can.
        others: Other names that their folder may have, if it was made with another class list.
    """

    person: str
    student: str
    listed: bool = False
    problem: str = ""
    others: tuple[str, ...] = ()


Owners = Callable[[Name], list[Owner]]
"""Returns the owners of a file of that name: several if they handed in together."""


def owners_by_name(roster: Roster) -> Owners:
    """Return a function that finds a file's owners by their number or name at the platform."""

    def owners(name: Name) -> list[Owner]:
        if members := roster.members(name.called):
            return of_team(members, name)
        # digits in the class list are a user's number, which this is not
        lms_id = "" if name.hidden and name.lms_id.isdigit() else name.lms_id
        found = roster.find(lms_id, name.person, name.called)
        hidden = (
            f"names are hidden, and the letters of {name.person} are of this assignment alone: "
            "reveal the names in Canvas, and download again"
        )
        return [
            Owner(
                person=name.person,
                student=found.student if found else folder_name(name.person),
                listed=bool(found),
                problem=hidden if name.hidden and not found else "",
                others=(folder_name(name.person),),
            )
        ]

    return owners


def of_team(members: list[Person], name: Name, problem: str = "") -> list[Owner]:
    """Return an owner for each member of a team that handed in the file with this ``name``.

    Each has the ``problem``, if there is one.
    """
    return [
        Owner(
            # two students who call themselves as one team stay apart
            person=f"{member.lms_id} by {name.person}",
            student=member.student,
            listed=True,
            problem=problem,
        )
        for member in members
    ]


# ---- Gradescope ----


@dataclass(frozen=True, kw_only=True)
class Submitter:
    """A person as Gradescope knows them; each attribute may be empty."""

    name: str
    sid: str
    email: str


@dataclass(frozen=True, kw_only=True)
class Record:
    """Gradescope's record of one folder: the people who handed it in, and when."""

    submitters: tuple[Submitter, ...]
    created: datetime | None


class MetadataError(ValueError):
    """A metadata file that can't be read; the message says why."""


# It makes texts of all values: a name that looks like a date stays a name. The loader written in C
# is six times as fast, where it is built.
_Loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def read_metadata(text: bytes) -> dict[str, Record]:
    """Parse Gradescope's metadata file; return each submission's submitters and time.

    The keys are the submissions' folders, such as ``submission_123456``. Malformed YAML is a
    ``MetadataError``.
    """
    try:
        depth = 0
        for event in yaml.parse(text, _Loader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise MetadataError("it is nested too deep")
        data = yaml.load(text, _Loader)  # noqa: S506 -- it makes texts, lists and dictionaries
    except Exception as error:  # parsers raise many kinds
        raise MetadataError(f"{METADATA} can't be read: {error}") from error
    if not isinstance(data, dict) or not data:
        raise MetadataError(f"{METADATA} names no submissions")
    return {folder: _record(entry) for folder, entry in data.items()}


def _record(entry: Any) -> Record:
    entry = entry if isinstance(entry, dict) else {}
    people = entry.get(":submitters")
    submitters = tuple(
        Submitter(**{key: _text(person.get(f":{key}")) for key in ("name", "sid", "email")})
        for person in (people if isinstance(people, list) else [])
        if isinstance(person, dict)
    )
    return Record(submitters=submitters, created=_moment(_text(entry.get(":created_at"))))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text.replace(" UTC", "Z").replace(" Z", "Z"))
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC) if plausible(moment) else None


def owners_by_record(records: Mapping[str, Record], roster: Roster) -> Owners:
    """Return a function that finds a file's owners by Gradescope's records of the folders."""

    def owners(name: Name) -> list[Owner]:
        record = records.get(name.person)
        if record is None or not record.submitters:
            problem = f"{METADATA} does not say whose it is: is it of this download?"
            return [Owner(person=name.person, student=name.person, problem=problem)]
        return [_submitter(submitter, name, roster) for submitter in record.submitters]

    return owners


def _submitter(submitter: Submitter, name: Name, roster: Roster) -> Owner:
    identity = submitter.sid or submitter.email or submitter.name or name.person
    # Students choose their names, so a name counts only where there is nothing else.
    listed = roster.find(submitter.sid, submitter.email) or roster.find(identity)
    student = listed.student if listed else folder_name(identity)
    others = tuple(folder_name(known) for known in (submitter.sid, submitter.email) if known)
    return Owner(person=identity, student=student, listed=bool(listed), others=others)


# ---- students whose name at the platform has changed ----


def canvas_folders(target: Path, roster: Roster) -> dict[str, str]:
    """Return the folders of students not in the class list, by the Canvas number in their names.

    A number that several folders have is left out.
    """
    folders: dict[str, list[str]] = defaultdict(list)
    for path in target.iterdir() if target.is_dir() else ():
        name, _, number = path.name.rpartition("_")
        if name != _ANONYMOUS and path.is_dir() and not roster.of(path.name):
            folders[number].append(path.name)
    return {number: names[0] for number, names in folders.items() if len(names) == 1}


def other_folder(owner: Owner, target: Path, roster: Roster, homework_id: str) -> str:
    """Return the folder that a person already has under another name; empty if there is none."""
    own = target / owner.student
    if (own / homework_id).exists():
        return ""
    there = [o for o in owner.others if (target / o).is_dir() and not roster.of(o)]
    # some file systems take Ada for ada
    return next((o for o in there if not own.exists() or not own.samefile(target / o)), "")


def named_by_list(target: Path) -> bool:
    """Return whether there are students' folders, and none ends in a number as Canvas's do."""
    students = {path.parents[1].name for path in target.glob("*/*/*.ipynb")}
    return bool(students) and not any(re.search(r"_[0-9]+\Z", name) for name in students)
