"""Whose a file is, where the name of it or Gradescope's records say so."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from autograder.collecting.folder_names import folder_name
from autograder.collecting.gradescope_export import METADATA, Record, Submitter
from autograder.collecting.lms_names import Name
from autograder.collecting.roster import Person, Roster


@dataclass(frozen=True, kw_only=True)
class Owner:
    """A student as a platform calls them, and as the course does.

    Attributes:
        person: What the platform calls the student; two people never share it.
        student: The student's id in the course.
        listed: Whether the class list has the person.
        problem: Why nothing of theirs can be taken; empty if it can.
        others: Folders that would be theirs, were less known of them, or more.
    """

    person: str
    student: str
    listed: bool = False
    problem: str = ""
    others: tuple[str, ...] = ()


Owners = Callable[[Name], list[Owner]]
"""Says whose a file of that name is: of several if they handed in together."""


def owners_by_name(roster: Roster) -> Owners:
    """Know people by their number or name at the platform."""

    def owners(name: Name) -> list[Owner]:
        if members := roster.members(name.called):
            return of_team(members, name)
        # in the class list digits are a user's
        found = roster.find(
            "" if name.hidden and name.lms_id.isdigit() else name.lms_id, name.person, name.called
        )
        return [
            Owner(
                person=name.person,
                student=found.student if found else folder_name(name.person),
                listed=bool(found),
                problem="" if found or not name.hidden else _hidden(name),
                others=(folder_name(name.person),),
            )
        ]

    return owners


def _hidden(name: Name) -> str:
    return (
        f"names are hidden, and the letters of {name.person} are of this assignment alone: reveal "
        "the names in Canvas, and download again"
    )


def of_team(members: list[Person], name: Name, problem: str = "") -> list[Owner]:
    """Give what a team handed in to each of its members."""
    return [
        Owner(
            # two who call themselves like a team are not one
            person=f"{member.lms_id} by {name.person}",
            student=member.student,
            listed=True,
            problem=problem,
        )
        for member in members
    ]


def owners_by_record(records: Mapping[str, Record], roster: Roster) -> Owners:
    """Know people by what Gradescope says of each folder."""

    def owners(name: Name) -> list[Owner]:
        record = records.get(name.person)
        if record is None or not record.submitters:
            problem = f"{METADATA} does not say whose it is: is it of this download?"
            return [Owner(person=name.person, student=name.person, problem=problem)]
        return [_submitter(submitter, name, roster) for submitter in record.submitters]

    return owners


def _submitter(submitter: Submitter, name: Name, roster: Roster) -> Owner:
    identity = submitter.sid or submitter.email or submitter.name or name.person
    # A name is the student's to choose, so it counts only for who has nothing else.
    listed = roster.find(submitter.sid, submitter.email) or roster.find(identity)
    student = listed.student if listed else folder_name(identity)
    others = tuple(folder_name(known) for known in (submitter.sid, submitter.email) if known)
    return Owner(person=identity, student=student, listed=bool(listed), others=others)
