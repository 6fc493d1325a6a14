"""Collects a homework: from what a platform lets one download into nbgrader's layout."""

import enum
import errno
import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from pathlib import Path

from autograder.atomic_write import write_atomically
from autograder.class_folders import TEAMS
from autograder.collecting.attempts import Attempt, ChoiceError, attempts_of, choose
from autograder.collecting.folder_names import folder_key
from autograder.collecting.gradescope_export import METADATA, MetadataError, Record, read_metadata
from autograder.collecting.handed_in import HandedIn, SourceError, UnreadableFileError, open_source
from autograder.collecting.lms_names import READERS, READINGS, Name, Naming, recognise
from autograder.collecting.roster import Roster
from autograder.judging.submission import MAX_NOTEBOOK_BYTES

# What these give away bears the time when it was downloaded, or cloned.
_TELL_NO_TIME = (Naming.CANVAS, Naming.MOODLE, Naming.CLASSROOM)
# What one student's name or folder can be the reason of; the others can be collected.
_OF_ONE_NAME = (
    errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL, errno.ENOTDIR, errno.EISDIR, errno.EEXIST,
    errno.ELOOP,
)  # fmt: skip


class Outcome(enum.StrEnum):
    """What became of a submission."""

    COLLECTED = "collected"
    REPLACED = "replaced"  # an older one was there
    SAME = "unchanged"
    KEPT = "kept"  # the one that is there may be newer
    PROBLEM = "problem"
    MISSING = "missing"  # in the class list, but handed in nothing


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


def collect(
    source: Path,
    homework_id: str,
    target: Path,
    *,
    roster: Roster | None = None,
    naming: Naming | None = None,
    times: Mapping[str, datetime] | None = None,
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
        times: When whom the platform calls by a number handed in, if it is known from elsewhere.
        zone: Where a zip was made that names no time zone; the machine's if None.
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
        found, depth = recognise(files, homework_id)
        naming, depth = (found, depth) if naming in (None, found) else (naming, 0)
        lines: list[Line] = []
        people = _group(files, naming, depth, homework_id, roster, lines)
        on_start(len(people))
        target.mkdir(parents=True, exist_ok=True)
        _put_teams(target, roster)  # before the notebooks: who watches the folder needs them then
        for attempts in people.values():
            timed = naming not in _TELL_NO_TIME
            if times is not None:
                attempts, timed = [_timed(attempt, times, roster) for attempt in attempts], True
            lines.append(_take(attempts, homework_id, target, naming, timed=timed, force=force))
            on_student(attempts[0].student)
    seen = {line.student for line in lines}
    absent = [person.student for person in roster.people if person.student not in seen]
    lines += [Line(student=student, outcome=Outcome.MISSING) for student in absent]
    return Collection(naming=naming, lines=tuple(lines))


def _group(
    files: Sequence[HandedIn],
    naming: Naming,
    depth: int,
    homework_id: str,
    roster: Roster,
    lines: list[Line],
) -> dict[str, list[Attempt]]:
    """Give each file to its owner; what has none, or shares its folder's name, gets a line."""
    records = _records(files, naming, depth, lines)
    people: dict[str, list[Attempt]] = {}
    for file, name in _named(files, naming, depth, homework_id, roster, lines):
        for attempt in attempts_of(file, name, roster, records):
            people.setdefault(attempt.person, []).append(attempt)
    _share(people, roster)
    owners = _owners(people)
    of_the_listed = {folder_key(listed.student): listed for listed in roster.people}
    for person, attempts in list(people.items()):
        student, remark = attempts[0].student, ""
        owner = owners[folder_key(student)]
        namesake = of_the_listed.get(folder_key(student))
        if not student:
            remark = (
                f"{person!r} cannot become a folder name; give this student an id with --roster"
            )
        elif owner != person:
            remark = f"{person} and {owner} would share a folder; tell them apart by --roster"
        elif namesake and not attempts[0].listed and naming is not Naming.FOLDER:
            listed = f"{namesake.student} in the class list, but is not in the list"
            remark = f"{person} has the same folder name as {listed}"
        if remark:
            source = attempts[0].file.path
            lines.append(
                Line(student=student, outcome=Outcome.PROBLEM, source=source, remark=remark)
            )
            del people[person]
    return people


def _share(people: dict[str, list[Attempt]], roster: Roster) -> None:
    """Give what a member of a team handed in to those members who handed in nothing."""
    of = {attempts[0].student: attempts for attempts in people.values() if attempts[0].listed}
    for mate in roster.people:
        if mate.team and mate.student not in of:
            theirs = [a for m in roster.members(mate.team) for a in of.get(m.student, ())]
            if theirs:
                person = f"{mate.lms_id} of {mate.team}"
                own = [replace(a, person=person, student=mate.student) for a in theirs]
                people[person] = own


def _timed(attempt: Attempt, times: Mapping[str, datetime], roster: Roster) -> Attempt:
    """Say when it was handed in as the platform tells it, of the person whose copy it is."""
    person = roster.of(attempt.student) if attempt.listed else None
    moment = times.get(person.lms_id if person else attempt.name.lms_id)
    return replace(attempt, file=replace(attempt.file, modified=moment))


def _owners(people: dict[str, list[Attempt]]) -> dict[str, str]:
    """Say whose each folder is: who is listed comes first, then who has just that name."""
    owners: dict[str, str] = {}

    def rank(person: str) -> tuple[bool, bool]:
        return not people[person][0].listed, people[person][0].student != person

    for person in sorted(people, key=rank):
        owners.setdefault(folder_key(people[person][0].student), person)
    return owners


def _named(
    files: Sequence[HandedIn],
    naming: Naming,
    depth: int,
    homework_id: str,
    roster: Roster,
    lines: list[Line],
) -> Iterator[tuple[HandedIn, Name]]:
    read = READINGS.get(naming)
    of_files = [read(f.parts[depth:]) if read and f.parts[depth:] else [] for f in files]
    known: dict[str, set[str]] = defaultdict(set)  # who has a number where no other can be meant
    for readings in of_files:
        if len(readings) == 1:
            known[readings[0].lms_id].add(readings[0].person)
    for file, readings in zip(files, of_files, strict=True):
        parts = file.parts[depth:]
        if naming is Naming.GRADESCOPE and parts == (METADATA,):
            continue
        name = READERS[naming](parts, homework_id) if parts else None
        remark = file.problem or f"not named as {naming.value} names what is handed in"
        if len(readings) > 1:
            name = _meant(readings, naming, known, roster)
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
        possible = listed or possible[:1]
    return possible[0] if len({x.lms_id for x in possible}) == 1 else None


def _records(
    files: Sequence[HandedIn], naming: Naming, depth: int, lines: list[Line]
) -> dict[str, Record]:
    if naming is not Naming.GRADESCOPE:
        return {}
    for file in files:
        if file.parts[depth:] == (METADATA,) and not file.problem:
            try:
                return read_metadata(file.read(MAX_NOTEBOOK_BYTES))
            except (MetadataError, UnreadableFileError) as error:
                remark = str(error)
            break
    else:
        remark = f"no {METADATA}: students are called after Gradescope's folders"
    lines.append(Line(student="", outcome=Outcome.PROBLEM, source=METADATA, remark=remark))
    return {}


def _take(
    attempts: Sequence[Attempt],
    homework_id: str,
    target: Path,
    naming: Naming,
    *,
    timed: bool,
    force: bool,
) -> Line:
    student = attempts[0].student
    try:
        chosen = choose(attempts, homework_id)
        data = chosen.file.read(MAX_NOTEBOOK_BYTES + 1)
        if len(data) > MAX_NOTEBOOK_BYTES:
            raise UnreadableFileError(f"larger than {MAX_NOTEBOOK_BYTES >> 20} MiB")
    except (ChoiceError, UnreadableFileError) as error:
        source = attempts[0].file.path
        return Line(student=student, outcome=Outcome.PROBLEM, source=source, remark=str(error))
    path = target / student / homework_id / f"{homework_id}.ipynb"
    try:
        outcome, remark = _put(path, data, chosen.file, force=force)
        if outcome is not Outcome.KEPT:
            _put_time(path.parent, chosen, naming, timed=timed)
    except OSError as error:
        if error.errno not in _OF_ONE_NAME:
            raise
        remark = f"can't be written: {error.strerror}"
        return Line(
            student=student, outcome=Outcome.PROBLEM, source=chosen.file.path, remark=remark
        )
    remarks = [remark] if remark else []
    notebooks = sum(attempt.file.is_notebook for attempt in attempts)
    if notebooks > 1:
        remarks.append(f"the newest of {notebooks} notebooks")
    if len(attempts) > notebooks:
        remarks.append(f"{len(attempts) - notebooks} other files stay where they are")
    if chosen.name.late:
        remarks.append("late")
    return Line(
        student=student, outcome=outcome, source=chosen.file.path, remark="; ".join(remarks)
    )


def _put(path: Path, data: bytes, file: HandedIn, *, force: bool) -> tuple[Outcome, str]:
    """Write a notebook, with the time when it was handed in, unless a newer one is there."""
    there = path.exists()
    if there:
        if path.read_bytes() == data:
            return Outcome.SAME, ""
        if not force and file.modified is None:
            return Outcome.KEPT, "another one is there, and this one's time is not known: --force"
        if not force and file.modified and file.modified.timestamp() <= path.stat().st_mtime:
            return Outcome.KEPT, "the one that is there is newer: --force replaces it"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, data)
    if file.modified:
        os.utime(path, (file.modified.timestamp(), file.modified.timestamp()))
    return (Outcome.REPLACED if there else Outcome.COLLECTED), ""


def _put_time(folder: Path, chosen: Attempt, naming: Naming, *, timed: bool) -> None:
    """Write when a notebook was handed in, where nbgrader reads it too, or that it was late."""
    timestamp, late = folder / "timestamp.txt", folder / "late.txt"
    moment = chosen.file.modified if timed else None
    for path, text in (
        (timestamp, f"{moment:%Y-%m-%d %H:%M:%S.%f} UTC\n" if moment else ""),
        (late, f"Marked as late by {naming.value}.\n" if chosen.name.late else ""),
    ):
        if text:
            write_atomically(path, text)
        else:
            path.unlink(missing_ok=True)


def _put_teams(target: Path, roster: Roster) -> None:
    """Write who hands in together, where no student's folder is: theirs are alike by right."""
    if teams := {p.student: folder_key(p.team) for p in roster.people if p.team}:
        write_atomically(target / TEAMS, json.dumps(teams, indent=1, ensure_ascii=False))
