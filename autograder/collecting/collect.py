"""Collects a homework: from a platform's download into nbgrader's layout."""

import errno
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from pathlib import Path

from autograder.class_folders import NBGRADER, RESULTS
from autograder.collecting.attempts import Attempt, ChoiceError, choose, is_notebook_of
from autograder.collecting.handed_in import HandedIn, SourceError, UnreadableFileError, open_source
from autograder.collecting.lms_names import (
    BRIGHTSPACE_LIST,
    READERS,
    Name,
    Naming,
    classroom_prefixes,
    read_canvas,
    recognise,
    with_whole_users,
)
from autograder.collecting.moodle import MoodlePeople, Worksheet, moodle_owners, participant_of
from autograder.collecting.owners import (
    METADATA,
    MetadataError,
    Owner,
    Record,
    canvas_folders,
    named_by_list,
    other_folder,
    owners_by_name,
    owners_by_record,
    read_metadata,
)
from autograder.collecting.placing import Outcome, put_notebook
from autograder.collecting.roster import Roster, folder_key, folder_name
from autograder.judging.notebook_file import MAX_FILE_BYTES
from autograder.teams import put_teams

MAX_METADATA_BYTES = 200 << 20  # it holds the results of every attempt: ten times a large class's
# Files of these downloads have the time of the download, or of the clone.
_WITHOUT_TIMES = (
    Naming.CANVAS, Naming.MOODLE, Naming.BLACKBOARD, Naming.BRIGHTSPACE, Naming.CLASSROOM,
)  # fmt: skip
# Files that lie beside the submissions.
_OF_THE_PLATFORM = {Naming.GRADESCOPE: (METADATA,), Naming.BRIGHTSPACE: (BRIGHTSPACE_LIST,)}
# Errors that one student's name or folder can cause; the others can be collected.
_OF_ONE_NAME = (
    errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL, errno.ENOTDIR, errno.EISDIR, errno.EEXIST,
    errno.ELOOP,
)  # fmt: skip

People = dict[str, list[Attempt]]
"""Everything that each person handed in, by the platform's name of the person."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """The outcome for one student's submission, or for a file without a known owner.

    Attributes:
        student: The student's id; empty if the file's owner is unknown.
        outcome: Whether the notebook was copied.
        source: Path of the file in the download; empty if the student handed in nothing.
        remark: The reason, or advice; may be empty.
    """

    student: str
    outcome: Outcome
    source: str = ""
    remark: str = ""


@dataclass(frozen=True, kw_only=True)
class Collection:
    """The outcome of ``collect``: a line for each student, and for each file without an owner.

    ``naming`` is the platform whose file names the download had.
    """

    naming: Naming
    lines: tuple[Line, ...]

    @property
    def complete(self) -> bool:
        """Whether no submission has a problem or was left out in favour of a newer notebook."""
        return not any(line.outcome in (Outcome.PROBLEM, Outcome.KEPT) for line in self.lines)


def collect(
    source: Path,
    homework_id: str,
    target: Path,
    *,
    roster: Roster | None = None,
    naming: Naming | None = None,
    worksheet: Worksheet | None = None,
    zone: tzinfo | None = None,
    force: bool = False,
    on_start: Callable[[int], None] = lambda count: None,
    on_student: Callable[[str], None] = lambda student: None,
) -> Collection:
    """Copy each student's last notebook from a download into the class's folder.

    Args:
        source: The download, a folder or a zip; it is not changed.
        homework_id: Such as ``hw03-self-attention``.
        target: The class's folder: ``target/<student>/<homework>/<homework>.ipynb``.
        roster: The class list, which gives the students' ids.
        naming: The platform whose file names the download has; found out if None.
        worksheet: Moodle's grading worksheet.
        zone: Time zone of times without one; the machine's if None.
        force: Also replace notebooks that may be newer than the collected ones.
        on_start: Called with the number of students.
        on_student: Called with each student's id.

    Raises:
        SourceError: ``source`` can't be read.
        OSError: ``target`` can't be written.
    """
    roster = roster or Roster()
    with open_source(source, zone) as files:
        if not files:
            raise SourceError(f"{source} is empty")
        if _is_graded_into(files):
            raise SourceError(
                f"{source} is the output folder of grading: give the folder of submissions"
            )
        found, depth = recognise(files, homework_id)
        naming, depth = (found, depth) if naming in (None, found) else (naming, 0)
        if worksheet is not None and naming is not Naming.MOODLE:
            raise SourceError(f"a worksheet is Moodle's, but the names in {source} are not")
        collector = _Collector(
            naming=naming,
            depth=depth,
            homework_id=homework_id,
            target=target,
            roster=roster,
            worksheet=worksheet,
            zone=zone,
        )
        people = collector.group(files)
        on_start(len(people))
        target.mkdir(parents=True, exist_ok=True)
        if roster.people:  # before the notebooks: a watching grader needs the teams with them
            teams = {p.student: folder_key(p.team) for p in roster.people if p.team}
            put_teams(target, homework_id, teams)
        for attempts in people.values():
            collector.take(attempts, force=force)
            on_student(attempts[0].owner.student)
    collector.add_absent(source)
    return Collection(naming=naming, lines=tuple(collector.lines))


def _is_graded_into(files: Sequence[HandedIn]) -> bool:
    """Return whether the files are an output folder of grading, or lie in one such folder."""
    depth = 1 if len({file.parts[0] for file in files}) == 1 else 0
    inner = [file.parts[depth:] for file in files]
    results = any(x[:1] == (RESULTS,) and x[-1].endswith(".json") for x in inner)
    return results and any(x[:1] == (NBGRADER,) and len(x) > 1 for x in inner)


@dataclass(kw_only=True)
class _Collector:
    """Finds the owners of the files in one download, and copies their notebooks.

    The attributes are those of ``collect``'s arguments with the same names, and:

    Attributes:
        depth: Number of folders at the start of each path that name no student.
        lines: The summary's lines so far.
    """

    naming: Naming
    depth: int
    homework_id: str
    target: Path
    roster: Roster
    worksheet: Worksheet | None
    zone: tzinfo | None
    lines: list[Line] = field(default_factory=list)

    def _add_problem(self, source: str, remark: str, student: str = "") -> None:
        line = Line(student=student, outcome=Outcome.PROBLEM, source=source, remark=remark)
        self.lines.append(line)

    # ---- the owner of each file ----

    def group(self, files: Sequence[HandedIn]) -> People:
        """Return each person's attempts; a file without an owner gets a line in the summary."""
        people = self._with_owners(files)
        if self.naming is Naming.CANVAS:
            self._keep_folders(people)
        for person, attempts in list(people.items()):
            self._leave(people, person, attempts[0].owner.problem)
        _share_with_team(people, self.roster)
        if self.naming is Naming.CANVAS and not self.roster.people and named_by_list(self.target):
            for person in list(people):
                words = "folders here are called as a class list says: give it, --roster"
                self._leave(people, person, words)
        folder_owners = _folder_owners(people)
        for person, attempts in list(people.items()):
            owner = attempts[0].owner
            other = folder_owners[folder_key(owner.student)]
            problem = self._shared_folder(owner, other) or self._second_folder(owner)
            self._leave(people, person, problem)
        return people

    def _leave(self, people: People, person: str, problem: str) -> None:
        """If ``problem`` is not empty, report it and collect nothing from this person."""
        if problem:
            first = people.pop(person)[0]
            self._add_problem(first.file.path, problem, first.owner.student)

    def _shared_folder(self, owner: Owner, other: str) -> str:
        """Return why a person can't have the folder ``owner.student``; empty if they can.

        ``other`` is the folder's owner by ``_folder_owners``, the same person or another.
        """
        if not owner.student:
            named = f"{owner.person!r} cannot become a folder name"
            return f"{named}; give this student an id with --roster"
        if other != owner.person:
            return f"{owner.person} and {other} would share a folder; tell them apart by --roster"
        namesake = self.roster.namesake(owner.student)
        if namesake and not owner.listed and self.naming is not Naming.FOLDER:
            listed = f"{namesake.student} in the class list, but is not in the list"
            return f"{owner.person} has the same folder name as {listed}"
        return ""

    def _second_folder(self, owner: Owner) -> str:
        """Return a message that names the folder, under another name, that a person already has.

        It is empty if there is none, and the person may have a new folder.
        """
        if self.naming is Naming.FOLDER:
            return ""
        other = other_folder(owner, self.target, self.roster, self.homework_id)
        words = f"the same person's folder is {other} until now"
        return f"{words}: move its files to {owner.student}" if other else ""

    def _keep_folders(self, people: People) -> None:
        """Let people keep their folders if they have changed their name at Canvas.

        That is for people outside the class list. They are recognised by Canvas's number, if their
        file names can be read in one way only. ``people`` is changed in place.
        """
        folders = canvas_folders(self.target, self.roster)
        for person, attempts in people.items():
            owner, folder = attempts[0].owner, folders.get(attempts[0].name.lms_id)
            if owner.listed or owner.problem or folder is None:
                continue
            if all(len(read_canvas(a.file.parts[-1:], "")) == 1 for a in attempts):
                renamed = replace(owner, student=folder)
                people[person] = [replace(attempt, owner=renamed) for attempt in attempts]

    def _with_owners(self, files: Sequence[HandedIn]) -> People:
        records = self._records(files)
        named = list(self._named(files))
        names = [name for _, name in named]
        participants = map(participant_of, names) if self.naming is Naming.MOODLE else ()
        told = participants if self.worksheet is None else self.worksheet.values()
        moodle = MoodlePeople(told, self.roster)
        if self.naming is Naming.MOODLE:
            owners_of = moodle_owners(names, moodle, self.worksheet, self.roster)
        elif records:
            owners_of = owners_by_record(records, self.roster)
        else:
            owners_of = owners_by_name(self.roster)
        people: People = {}
        for file, name in named:
            record = records.get(name.person)
            for owner in owners_of(name):
                moment = record.created if record else None
                if name.moment:
                    moment = name.moment.replace(tzinfo=self.zone).astimezone(UTC)
                if self.worksheet is not None:
                    participant = moodle.find(owner.student)
                    moment = participant.handed_in if participant else None
                modified = moment or (None if self.worksheet is not None else file.modified)
                has_time = self.naming not in _WITHOUT_TIMES and not file.cloned
                attempt = Attempt(
                    owner=owner,
                    name=name,
                    file=replace(file, modified=modified),
                    handed_in=moment or (file.modified if has_time else None),
                )
                people.setdefault(owner.person, []).append(attempt)
        return people

    def _named(self, files: Sequence[HandedIn]) -> Iterator[tuple[HandedIn, Name]]:
        """Yield each file with what its name says; unreadable names become summary problems."""
        inside = [file.parts[self.depth :] for file in files]
        read = READERS[self.naming]
        readings = [read(parts, self.homework_id) if parts else [] for parts in inside]
        if self.naming is Naming.BLACKBOARD:
            readings = with_whole_users(readings)
        known: dict[str, set[str]] = defaultdict(set)  # number to its certain owners
        for names in readings:
            if len(names) == 1:
                known[names[0].lms_id].add(names[0].person)
        for file, parts, names in zip(files, inside, readings, strict=True):
            if parts == _OF_THE_PLATFORM.get(self.naming):
                continue
            name = names[0] if len(names) == 1 else self._meant(names, known)
            if name is None:
                self._add_problem(file.path, self._why_unnamed(file, names))
            else:
                yield file, name

    def _why_unnamed(self, file: HandedIn, readings: Sequence[Name]) -> str:
        if len(readings) > 1:
            return f"may be a file of {' or of '.join(name.person for name in readings)}"
        if file.problem:
            return file.problem
        remark = f"not named as {self.naming.value} names submissions"
        if self.naming is Naming.CLASSROOM:
            prefixes = " or ".join(f"{p}NAME" for p in classroom_prefixes(self.homework_id))
            remark += f": {prefixes}"
        return remark

    def _meant(self, readings: Sequence[Name], known: Mapping[str, set[str]]) -> Name | None:
        """Return the only one of a file name's ``readings`` that fits the other files, or None.

        ``known`` maps each platform number to its owners, from names with a single reading.
        """
        possible = [x for x in readings if known.get(x.lms_id, set()) <= {x.person}]
        if self.naming is Naming.CANVAS and possible:  # its file names hold many numbers
            listed = [x for x in possible if self.roster.find(x.lms_id)]
            if any(_stands_in_file(possible[0], other) for other in listed):
                return None  # of a person outside the class list, with such a file name
            possible = listed or possible[:1]
        return possible[0] if len({x.lms_id for x in possible}) == 1 else None

    def _records(self, files: Sequence[HandedIn]) -> dict[str, Record]:
        """Return Gradescope's record of each folder; empty if unreadable or of other platforms."""
        if self.naming is not Naming.GRADESCOPE:
            return {}
        remark = f"no {METADATA}: students are called after Gradescope's folders"
        for file in files:
            if file.parts[self.depth :] == (METADATA,) and not file.problem:
                try:
                    return read_metadata(_read_whole(file, MAX_METADATA_BYTES))
                except (MetadataError, UnreadableFileError) as error:
                    remark = str(error)
        self._add_problem(METADATA, remark)
        return {}

    # ---- the notebook that counts ----

    def take(self, attempts: Sequence[Attempt], *, force: bool) -> None:
        """Copy the notebook that counts of one student's attempts, and add a line about it.

        With ``force`` it also replaces a notebook that may be newer.
        """
        student, homework_id = attempts[0].owner.student, self.homework_id
        source = attempts[0].file.path
        path = self.target / student / homework_id / f"{homework_id}.ipynb"
        try:
            chosen, passed = choose(attempts, homework_id)
            data = _read_whole(chosen.file, MAX_FILE_BYTES)
            source = chosen.file.path
            late = f"Marked as late by {self.naming.value}.\n" if chosen.name.late else ""
            outcome, remark = put_notebook(
                path, data, chosen.file, moment=chosen.handed_in, late=late, force=force
            )
        except (ChoiceError, UnreadableFileError) as error:
            self._add_problem(source, str(error), student)
            return
        except OSError as error:
            if error.errno not in _OF_ONE_NAME:
                raise
            self._add_problem(source, f"can't be written: {error.strerror}", student)
            return
        others = len(attempts) - sum(is_notebook_of(a, homework_id) for a in attempts)
        called = folder_name(chosen.name.person)
        renamed = self.naming is Naming.CANVAS and not chosen.owner.listed and called != student
        no_time = chosen.file.cloned and not chosen.handed_in and self.naming not in _WITHOUT_TIMES
        remarks = (
            remark,
            f"called {called} now" if renamed else "",
            passed,
            f"{others} other files stay where they are" if others else "",
            "late" if late else "",
            "a clone, which does not say when it was handed in" if no_time else "",
        )
        words = "; ".join(filter(None, remarks))
        self.lines.append(Line(student=student, outcome=outcome, source=source, remark=words))

    def add_absent(self, source: Path) -> None:
        """Add a line for everybody in the class list who handed in nothing.

        If that is the whole class, the lines begin with a problem of ``source``, the download.
        """
        seen = {line.student for line in self.lines}
        absent = [p.student for p in self.roster.people if p.student not in seen]
        if absent and len(absent) == len(self.roster.people):
            words = "nobody of the class list is in it: is lms_id what they are called there?"
            self._add_problem(str(source), words)
        self.lines += [Line(student=student, outcome=Outcome.MISSING) for student in absent]


def _read_whole(file: HandedIn, limit: int) -> bytes:
    data = file.read(limit + 1)
    if len(data) > limit:
        raise UnreadableFileError(f"larger than {limit >> 20} MiB")
    return data


def _stands_in_file(name: Name, other: Name) -> bool:
    """Return whether the numbers that ``other`` takes for Canvas's belong to ``name``'s file name.

    Both are readings of one path of Canvas's download. Then a student may have chosen the numbers.
    """
    return re.search(r"[0-9]_[0-9]+_\Z", name.file.removesuffix(other.file)) is not None


def _share_with_team(people: People, roster: Roster) -> None:
    """Give the attempts of a team's members to those members who handed in nothing."""
    of = {a[0].owner.student: a for a in people.values() if a[0].owner.listed}
    for mate in roster.people:
        if mate.team and mate.student not in of:
            theirs = [a for m in roster.members(mate.team) for a in of.get(m.student, ())]
            person = f"{mate.lms_id} of {mate.team}"
            if theirs:
                people[person] = [
                    replace(
                        a, owner=replace(a.owner, person=person, student=mate.student, others=())
                    )
                    for a in theirs
                ]


def _folder_owners(people: People) -> dict[str, str]:
    """Return the only possible owner of each folder, by the folder's ``folder_key``.

    If several people's ids give one folder, those in the class list come first, then those whose
    name at the platform is the id.
    """

    def rank(person: str) -> tuple[bool, bool]:
        owner = people[person][0].owner
        return not owner.listed, owner.student != person

    owners: dict[str, str] = {}
    for person in sorted(people, key=rank):
        owners.setdefault(folder_key(people[person][0].owner.student), person)
    return owners
