"""Who Moodle's participants are: their numbers are others in each assignment, and name nobody."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from autograder.collecting.folder_names import folder_key, folder_name
from autograder.collecting.lms_names import Name, moodle_name
from autograder.collecting.moodle_worksheet import Participant
from autograder.collecting.owners import Owner, Owners, of_team
from autograder.collecting.roster import Person, Roster

_BY_ID, _BY_NAME, _UNLISTED = range(3)  # how sure it is who somebody is; the least is the surest
_NOT_NAMED = "Participant"  # what all are called where names are hidden
_TELL_APART = (
    "ID numbers or e-mail addresses in the class list (--roster), and Moodle's grading worksheet "
    "(--worksheet), tell them apart"
)


@dataclass(frozen=True, kw_only=True)
class _Claim:
    """Who somebody would be, if nobody else is."""

    participant: Participant
    student: str
    sure: int


class MoodlePeople:
    """Finds the participants of one assignment in the class list, or calls them by their names.

    A name is its owner's to choose: it makes nobody another who is known by ID number or e-mail,
    and of two who are called alike it is nobody's.

    Args:
        participants: As the worksheet tells them, or the zip if there is none.
        roster: The class list.
    """

    def __init__(self, participants: Iterable[Participant], roster: Roster) -> None:
        self._roster = roster
        self._named = _named_in(roster)
        self._listed = {folder_key(person.student): person.student for person in roster.people}
        self._owners: dict[Participant, Owner] = {}
        self._by_student: dict[str, Participant] = {}
        claims: dict[str, list[_Claim]] = defaultdict(list)
        for participant in dict.fromkeys(participants):
            claim = self._claim(participant)
            claims[folder_key(claim.student)].append(claim)
        for rivals in claims.values():
            self._settle(rivals)

    def owner_of(self, participant: Participant) -> Owner:
        """Return who it is; the owner says if that can't be told."""
        return self._owners[participant]

    def find(self, student: str) -> Participant | None:
        """Return the one participant that a student of the course is; None if nobody is."""
        return self._by_student.get(folder_key(student))

    def _claim(self, participant: Participant) -> _Claim:
        by_id = self._roster.find(participant.id_number, participant.email)
        listed = by_id or self._named.get(folder_key(moodle_name(participant.name)))
        return _Claim(
            participant=participant,
            student=listed.student if listed else folder_name(moodle_name(participant.name)),
            sure=_BY_ID if by_id else _BY_NAME if listed else _UNLISTED,
        )

    def _settle(self, rivals: Sequence[_Claim]) -> None:
        """Let the surest of those be the student who would all be the same one."""
        sure = min(claim.sure for claim in rivals)
        surest = [claim for claim in rivals if claim.sure == sure]
        student = surest[0].student
        listed = self._listed.get(folder_key(student), "")
        for claim in rivals:
            who = f"Participant {claim.participant.number}"
            problem = ""
            if claim.sure == _UNLISTED and listed:
                problem = f"{who} has the same folder name as {listed} in the class list, but is "
                problem += "not found in it by what --worksheet says of them"
            elif claim not in surest:
                problem = f"{who} is called as the class list calls {student}, who is another one"
            elif len(surest) > 1 and student:
                numbers = " and ".join(rival.participant.number for rival in surest[:4])
                problem = f"Participants {numbers} would all be {student}: {_TELL_APART}"
            self._owners[claim.participant] = Owner(
                person=f"{claim.participant.name}_{claim.participant.number}",
                student=claim.student,
                listed=claim.sure != _UNLISTED,
                problem=problem,
            )
            if not problem:
                self._by_student[folder_key(claim.student)] = claim.participant


def moodle_owners(
    names: Iterable[Name],
    people: MoodlePeople,
    worksheet: Mapping[str, Participant] | None,
    roster: Roster,
) -> Owners:
    """Know people by the class list and the worksheet, or by their full names."""
    told: dict[Name, Participant] = {}
    called: dict[str, set[str]] = defaultdict(set)  # numbers of who may be a group
    for name in dict.fromkeys(names):
        participant = participant_of(name) if worksheet is None else worksheet.get(name.lms_id)
        if participant and (worksheet is None or _fits(participant, name)):
            told[name] = participant
        if worksheet is None or name not in told:
            called[folder_key(name.called)].add(name.lms_id)

    def owners(name: Name) -> list[Owner]:
        numbers = called[folder_key(name.called)]
        if name.lms_id in numbers and (members := roster.members(name.called)):
            # the number is the group's; but somebody may be called as a group is
            several = f"several call themselves {name.called}, as the team does"
            return of_team(members, name, several if len(numbers) > 1 else "")
        if name in told:
            return [people.owner_of(told[name])]
        return [_stranger(name, (worksheet or {}).get(name.lms_id))]

    return owners


def _stranger(name: Name, other: Participant | None) -> Owner:
    """Return somebody whom the worksheet does not have, or calls otherwise."""
    words = f"calls Participant {name.lms_id} {other.name}" if other else "does not have them"
    return Owner(
        person=name.person,
        student=folder_name(moodle_name(name.called)),
        problem=f"the worksheet {words}: is it of this assignment, and of all? "
        "Is this a team? The class list's column team says so",
    )


def participant_of(name: Name) -> Participant:
    """Return all that the zip says of a participant."""
    return Participant(number=name.lms_id, name=name.called)


def _fits(told: Participant, name: Name) -> bool:
    """Say whether a name in the zip may be the worksheet's; a group's number may be the same."""
    return name.called == _NOT_NAMED or _letters(told.name) == _letters(name.called)


def _letters(name: str) -> str:
    return "".join(sign for sign in folder_key(name) if sign.isalnum())


def _named_in(roster: Roster) -> dict[str, Person]:
    """Return those whom the class list knows by a full name, which no other one has.

    What holds digits or an ``@`` is an ID number or an address: whoever calls themselves so is
    not that one.
    """
    named: dict[str, list[Person]] = defaultdict(list)
    for person in roster.people:
        if not any(sign.isdigit() or sign == "@" for sign in person.lms_id):
            named[folder_key(moodle_name(person.lms_id))].append(person)
    return {name: people[0] for name, people in named.items() if len(people) == 1}
