"""Collects a homework: from what a platform lets one download into nbgrader's layout."""

import errno
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from pathlib import Path

from autograder.class_folders import NBGRADER, RESULTS
from autograder.collecting.attempts import Attempt, ChoiceError, choose, is_notebook_of
from autograder.collecting.folder_names import folder_key
from autograder.collecting.gradescope_export import (
    MAX_METADATA_BYTES,
    METADATA,
    MetadataError,
    Record,
    read_metadata,
)
from autograder.collecting.handed_in import HandedIn, SourceError, UnreadableFileError, open_source
from autograder.collecting.lms_names import (
    BRIGHTSPACE_LIST,
    READERS,
    READINGS,
    Name,
    Naming,
    classroom_prefixes,
    recognise,
    with_whole_users,
)
from autograder.collecting.moodle_people import MoodlePeople, moodle_owners, participant_of
from autograder.collecting.moodle_worksheet import Participant
from autograder.collecting.owners import Owner, owners_by_name, owners_by_record
from autograder.collecting.placing import Outcome, put_notebook
from autograder.collecting.renamed import (
    are_called_by_list,
    keep_folders,
    other_folder,
    renaming,
)
from autograder.collecting.roster import Roster
from autograder.judging.notebook_file import MAX_FILE_BYTES
from autograder.teams import put_teams

# What these give away bears the time when it was downloaded, or cloned.
_TELL_NO_TIME = (
    Naming.CANVAS, Naming.MOODLE, Naming.BLACKBOARD, Naming.BRIGHTSPACE, Naming.CLASSROOM,
)  # fmt: skip
# What lies beside the submissions.
_OF_THE_PLATFORM = {
    Naming.GRADESCOPE: [(METADATA,)],
    Naming.BRIGHTSPACE: [(BRIGHTSPACE_LIST,)],
}
# What one student's name or folder can be the reason of; the others can be collected.
_OF_ONE_NAME = (
    errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL, errno.ENOTDIR, errno.EISDIR, errno.EEXIST,
    errno.ELOOP,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line of the summary.

    Attributes:
        student: The student's id in the course; empty if the owner is not known.
        outcome: What became of it.
        source: Path of the file in what was handed in.
        remark: In words; may be empty.
    """

    student: str
    outcome: Outcome
    source: str = ""
    remark: str = ""


@dataclass(frozen=True, kw_only=True)
class Collection:
    """What a collection did.

    Attributes:
        naming: The platform that the names come from.
        lines: At least one for each student, and one for each file without an owner.
    """

    naming: Naming
    lines: tuple[Line, ...]

    @property
    def complete(self) -> bool:
        """Whether everything that was handed in is in its place."""
        return not any(line.outcome in (Outcome.PROBLEM, Outcome.KEPT) for line in self.lines)


@dataclass(frozen=True, kw_only=True)
class _Download:
    """What is collected, and what is known of it; see ``collect``.

    Attributes:
        naming: The platform that the names come from.
        depth: How many leading folders all files lie in.
        homework_id: Such as ``hw03-self-attention``.
        roster: The class list.
        worksheet: Number to participant; None if there is none.
        zone: Of times that name no time zone; the machine's if None.
    """

    naming: Naming
    depth: int
    homework_id: str
    roster: Roster
    worksheet: Mapping[str, Participant] | None
    zone: tzinfo | None

    def tells_time(self, file: HandedIn) -> bool:
        """Whether the time that a file bears may be that of handing it in."""
        return self.naming not in _TELL_NO_TIME and not file.cloned


def collect(
    source: Path,
    homework_id: str,
    target: Path,
    *,
    roster: Roster | None = None,
    naming: Naming | None = None,
    worksheet: Mapping[str, Participant] | None = None,
    zone: tzinfo | None = None,
    force: bool = False,
    on_start: Callable[[int], None] = lambda count: None,
    on_student: Callable[[str], None] = lambda student: None,
) -> Collection:
    """Copy each student's last notebook to where grading finds it.

    Nothing in ``source`` is changed, and nothing of it but the chosen notebooks is written.

    Args:
        source: A folder or a zip.
        homework_id: Such as ``hw03-self-attention``.
        target: The class's folder: ``target/<student>/<homework>/<homework>.ipynb``.
        roster: The class list: whom it lists gets the id that it gives.
        naming: The platform that the names come from; found out if None.
        worksheet: Who has which of Moodle's numbers, and when they handed in.
        zone: Of times that name no time zone; the machine's if None.
        force: Replace also what may be newer.
        on_start: Called with the number of students.
        on_student: Called with each student's id.

    Returns:
        What became of each submission.

    Raises:
        SourceError: ``source`` can't be read.
        OSError: ``target`` can't be written.
    """
    roster = roster or Roster()
    with open_source(source, zone) as files:
        if not files:
            raise SourceError(f"{source} is empty")
        if _is_graded_into(files):
            raise SourceError(f"{source} is where grading wrote: give what was handed in")
        found, depth = recognise(files, homework_id)
        naming, depth = (found, depth) if naming in (None, found) else (naming, 0)
        if worksheet is not None and naming is not Naming.MOODLE:
            raise SourceError(f"a worksheet is Moodle's, but the names in {source} are not")
        download = _Download(
            naming=naming,
            depth=depth,
            homework_id=homework_id,
            roster=roster,
            worksheet=worksheet,
            zone=zone,
        )
        lines: list[Line] = []
        people = _group(files, download, target, lines)
        on_start(len(people))
        target.mkdir(parents=True, exist_ok=True)
        teams = {p.student: folder_key(p.team) for p in roster.people if p.team}
        if roster.people:
            put_teams(target, homework_id, teams)  # first: who watches the folder needs them then
        for attempts in people.values():
            lines.append(_take(attempts, download, target, force=force))
            on_student(attempts[0].owner.student)
    seen = {line.student for line in lines}
    absent = [person.student for person in roster.people if person.student not in seen]
    if absent and len(absent) == len(roster.people):
        lines.append(
            Line(
                student="",
                outcome=Outcome.PROBLEM,
                source=str(source),
                remark="nobody of the class list is in it: is lms_id what they are called there?",
            )
        )
    lines += [Line(student=student, outcome=Outcome.MISSING) for student in absent]
    return Collection(naming=naming, lines=tuple(lines))


def _is_graded_into(files: Sequence[HandedIn]) -> bool:
    """Say whether files are what grading wrote, or a copy of it, maybe in a folder of its own."""
    depth = 1 if len({file.parts[0] for file in files}) == 1 else 0
    inner = [file.parts[depth:] for file in files]
    results = any(x[:1] == (RESULTS,) and x[-1].endswith(".json") for x in inner)
    return results and any(x[:1] == (NBGRADER,) and len(x) > 1 for x in inner)


def _group(
    files: Sequence[HandedIn], download: _Download, target: Path, lines: list[Line]
) -> dict[str, list[Attempt]]:
    """Give each file to its owner; what has none, or shares its folder's name, gets a line."""
    roster = download.roster
    people = _with_owners(files, download, lines)
    if download.naming is Naming.CANVAS:
        keep_folders(people, target, roster)

    def leave(person: str, remark: str) -> None:
        first = people.pop(person)[0]
        path = first.file.path
        lines.append(
            Line(student=first.owner.student, outcome=Outcome.PROBLEM, source=path, remark=remark)
        )

    for person, attempts in list(people.items()):
        if attempts[0].owner.problem:
            leave(person, attempts[0].owner.problem)
    _share(people, roster)
    if download.naming is Naming.CANVAS and not roster.people and are_called_by_list(target):
        for person in list(people):
            leave(person, "folders here are called as a class list says: give it, --roster")
    owners = _owners(people)
    for person, attempts in list(people.items()):
        owner = attempts[0].owner
        other = owners[folder_key(owner.student)]
        if remark := _shared(owner, other, download) or _second(owner, download, target):
            leave(person, remark)
    return people


def _shared(owner: Owner, other: str, download: _Download) -> str:
    """Say why a folder can't be a person's, who may not be the one to have it; empty if it can."""
    if not owner.student:
        named = f"{owner.person!r} cannot become a folder name"
        return f"{named}; give this student an id with --roster"
    if other != owner.person:
        return f"{owner.person} and {other} would share a folder; tell them apart by --roster"
    namesake = download.roster.namesake(owner.student)
    if namesake and not owner.listed and download.naming is not Naming.FOLDER:
        listed = f"{namesake.student} in the class list, but is not in the list"
        return f"{owner.person} has the same folder name as {listed}"
    return ""


def _second(owner: Owner, download: _Download, target: Path) -> str:
    """Say why a folder would be a person's second one; empty if it would not."""
    if download.naming is Naming.FOLDER:
        return ""
    other = other_folder(owner, target, download.roster, download.homework_id)
    words = f"the same person's folder is {other} until now: move what is in it to {owner.student}"
    return words if other else ""


def _with_owners(
    files: Sequence[HandedIn], download: _Download, lines: list[Line]
) -> dict[str, list[Attempt]]:
    """Return what each person handed in, and when as far as that is known."""
    records = _records(files, download, lines)
    named = list(_named(files, download, lines))
    worksheet = download.worksheet
    names = [name for _, name in named]
    told = worksheet.values() if worksheet is not None else map(participant_of, names)
    moodle = MoodlePeople(told if download.naming is Naming.MOODLE else (), download.roster)
    if download.naming is Naming.MOODLE:
        whose = moodle_owners(names, moodle, worksheet, download.roster)
    elif records:
        whose = owners_by_record(records, download.roster)
    else:
        whose = owners_by_name(download.roster)
    people: dict[str, list[Attempt]] = {}
    for file, name in named:
        record = records.get(name.person)
        for owner in whose(name):
            moment = record.created if record else None
            if name.moment:
                moment = name.moment.replace(tzinfo=download.zone).astimezone(UTC)
            if worksheet is not None:
                participant = moodle.find(owner.student)
                moment = participant.handed_in if participant else None
            modified = moment if worksheet is not None else moment or file.modified
            attempt = Attempt(
                owner=owner,
                name=name,
                file=replace(file, modified=modified),
                handed_in=moment or (file.modified if download.tells_time(file) else None),
            )
            people.setdefault(owner.person, []).append(attempt)
    return people


def _share(people: dict[str, list[Attempt]], roster: Roster) -> None:
    """Give what a member of a team handed in to those members who handed in nothing."""
    of = {a[0].owner.student: a for a in people.values() if a[0].owner.listed}
    for mate in roster.people:
        if mate.team and mate.student not in of:
            theirs = [a for m in roster.members(mate.team) for a in of.get(m.student, ())]
            if theirs:
                person = f"{mate.lms_id} of {mate.team}"
                own = [
                    replace(
                        a, owner=replace(a.owner, person=person, student=mate.student, others=())
                    )
                    for a in theirs
                ]
                people[person] = own


def _owners(people: dict[str, list[Attempt]]) -> dict[str, str]:
    """Say whose each folder is: who is listed comes first, then who has just that name."""
    owners: dict[str, str] = {}

    def rank(person: str) -> tuple[bool, bool]:
        owner = people[person][0].owner
        return not owner.listed, owner.student != person

    for person in sorted(people, key=rank):
        owners.setdefault(folder_key(people[person][0].owner.student), person)
    return owners


def _named(
    files: Sequence[HandedIn], download: _Download, lines: list[Line]
) -> Iterator[tuple[HandedIn, Name]]:
    naming, depth = download.naming, download.depth
    read = READINGS.get(naming)
    of_files = [read(f.parts[depth:]) if read and f.parts[depth:] else [] for f in files]
    known: dict[str, set[str]] = defaultdict(set)  # who has a number where no other can be meant
    for readings in of_files:
        if len(readings) == 1:
            known[readings[0].lms_id].add(readings[0].person)
    names = [
        READERS[naming](f.parts[depth:], download.homework_id) if f.parts[depth:] else None
        for f in files
    ]
    names = with_whole_users(names) if naming is Naming.BLACKBOARD else names
    for file, readings, name in zip(files, of_files, names, strict=True):
        parts = file.parts[depth:]
        if parts in _OF_THE_PLATFORM.get(naming, ()):
            continue
        remark = file.problem or f"not named as {naming.value} names what is handed in"
        if naming is Naming.CLASSROOM and not file.problem:
            prefixes = " or ".join(f"{p}NAME" for p in classroom_prefixes(download.homework_id))
            remark += f": {prefixes}"
        if len(readings) > 1:
            name = _meant(readings, naming, known, download.roster)
            remark = f"may be a file of {' or of '.join(x.person for x in readings)}"
        if name is not None:
            yield file, name
            continue
        lines.append(Line(student="", outcome=Outcome.PROBLEM, source=file.path, remark=remark))


def _meant(
    readings: Sequence[Name], naming: Naming, known: Mapping[str, set[str]], roster: Roster
) -> Name | None:
    """Choose the only way to read a name that fits the others; None if there are several."""
    possible = [x for x in readings if known.get(x.lms_id, set()) <= {x.person}]
    if naming is Naming.CANVAS:  # whose files' names are full of numbers
        listed = [x for x in possible if roster.find(x.lms_id)]
        if listed and any(_stands_in_file(possible[0], other) for other in listed):
            return None  # somebody's who is not in the class list, and called the file so
        possible = listed or possible[:1]
    return possible[0] if len({x.lms_id for x in possible}) == 1 else None


def _stands_in_file(name: Name, other: Name) -> bool:
    """Whether another way to read a name of Canvas's is one to read the name of its file."""
    return re.search(r"[0-9]_[0-9]+_\Z", name.file.removesuffix(other.file)) is not None


def _records(
    files: Sequence[HandedIn], download: _Download, lines: list[Line]
) -> dict[str, Record]:
    if download.naming is not Naming.GRADESCOPE:
        return {}
    for file in files:
        if file.parts[download.depth :] == (METADATA,) and not file.problem:
            try:
                data = file.read(MAX_METADATA_BYTES + 1)
                if len(data) > MAX_METADATA_BYTES:  # the half of it would be read as if whole
                    raise UnreadableFileError(f"larger than {MAX_METADATA_BYTES >> 20} MiB")
                return read_metadata(data)
            except (MetadataError, UnreadableFileError) as error:
                remark = str(error)
            break
    else:
        remark = f"no {METADATA}: students are called after Gradescope's folders"
    lines.append(Line(student="", outcome=Outcome.PROBLEM, source=METADATA, remark=remark))
    return {}


def _take(attempts: Sequence[Attempt], download: _Download, target: Path, *, force: bool) -> Line:
    student, homework_id = attempts[0].owner.student, download.homework_id
    try:
        chosen, passed = choose(attempts, homework_id)
        data = chosen.file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise UnreadableFileError(f"larger than {MAX_FILE_BYTES >> 20} MiB")
    except (ChoiceError, UnreadableFileError) as error:
        source = attempts[0].file.path
        return Line(student=student, outcome=Outcome.PROBLEM, source=source, remark=str(error))
    path = target / student / homework_id / f"{homework_id}.ipynb"
    late = f"Marked as late by {download.naming.value}.\n" if chosen.name.late else ""
    try:
        outcome, remark = put_notebook(
            path, data, chosen.file, moment=chosen.handed_in, late=late, force=force
        )
    except OSError as error:
        if error.errno not in _OF_ONE_NAME:
            raise
        remark = f"can't be written: {error.strerror}"
        return Line(
            student=student, outcome=Outcome.PROBLEM, source=chosen.file.path, remark=remark
        )
    now = renaming(chosen) if download.naming is Naming.CANVAS else ""
    remarks = [words for words in (remark, now, passed) if words]
    notebooks = sum(is_notebook_of(attempt, homework_id) for attempt in attempts)
    if len(attempts) > notebooks:
        remarks.append(f"{len(attempts) - notebooks} other files stay where they are")
    if chosen.name.late:
        remarks.append("late")
    if chosen.file.cloned and not chosen.handed_in and download.naming not in _TELL_NO_TIME:
        remarks.append("a clone, which does not say when it was handed in")
    return Line(
        student=student, outcome=outcome, source=chosen.file.path, remark="; ".join(remarks)
    )
