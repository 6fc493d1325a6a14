"""Decides which notebooks of a class have to be graded, and which students share a result."""

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from autograder.class_run.course import Course
from autograder.class_run.options import GradingOptions
from autograder.class_run.result_store import ResultStore, fingerprint
from autograder.class_run.submissions import (
    UnreadableError,
    is_marked_late,
    read_handed_in,
    read_notebook,
    refuse_other_homework,
    unread,
)
from autograder.judging.results import Flag, FlagKind, SubmissionResult

Given = tuple[Path, int]
"""A notebook, and the seed of its hidden inputs."""
Graded = tuple[SubmissionResult, str]
"""A result and its fingerprint; the fingerprint is empty if the notebook must be graded again."""

_Same = tuple[str, str]
"""The key of students who share a result: their team and their notebook's fingerprint.

A student without a team has the key (student, "").
"""


class Due:
    """The notebooks of a class that are not graded yet.

    The one notebook of a team is graded once, and each member has the same marks.

    Args:
        course: The homework and its libraries.
        options: How to grade.
        store: Results of earlier runs; new ones are added.
        teams: The team of each student in a team; may change between two calls.
        class_seed: Seed of the hidden inputs where neither the options nor an earlier result gives
            one.
    """

    def __init__(
        self,
        course: Course,
        options: GradingOptions,
        store: ResultStore | None,
        teams: Mapping[str, str],
        class_seed: int,
    ) -> None:
        self._course, self._options, self._store, self._teams = course, options, store, teams
        self._waiting: dict[_Same, list[tuple[str, Path]]] = {}
        self._leads: dict[str, _Same] = {}
        self._missing: dict[str, Given] = {}
        self._class_seed = class_seed

    def take(self, notebooks: Mapping[str, Path]) -> Iterator[SubmissionResult]:
        """Yield the results of notebooks that need no grading; keep the others for ``missing``.

        ``notebooks`` maps students to files.
        """
        mates: dict[str, list[str]] = defaultdict(list)
        for student, team in self._teams.items():
            mates[team].append(student)
        for student, path in notebooks.items():
            try:
                notebook = read_notebook(path)
                refuse_other_homework(notebook, self._course.homework)
                made_from = fingerprint(self._course, notebook)
            except UnreadableError as error:
                yield unread(self._course.homework, student, error)
                continue
            team = self._teams.get(student, "")
            if known := self._known(student, made_from, mates.get(team, ())):
                result = _handed_in(known, path)
                if self._store and result != known:
                    self._store.amend(result)
                yield result
                continue
            same = (team, made_from) if team else (student, "")
            waiting = self._waiting.setdefault(same, [])
            waiting.append((student, path))
            if len(waiting) == 1:
                self._leads[student] = same
                self._missing[student] = (path, self._seed(student, made_from))

    def missing(self) -> dict[str, Given]:
        """Return the notebooks to grade, with their seeds, by student; each is returned once."""
        missing, self._missing = self._missing, {}
        return missing

    def give(self, found: SubmissionResult, made_from: str) -> Iterator[SubmissionResult]:
        """Store and yield the result ``found`` for each student who handed in the graded notebook.

        ``made_from`` is its fingerprint; if it is empty, nothing is stored.
        """
        for student, path in self._waiting.pop(self._leads.pop(found.student)):
            result = _handed_in(dataclasses.replace(found, student=student), path)
            if self._store and made_from:
                self._store.keep(result, made_from)
            yield result

    def _known(self, student: str, made_from: str, mates: Iterable[str]) -> SubmissionResult | None:
        """Return the stored result of the student or of a teammate, one of ``mates``, or None.

        Only a result whose fingerprint is ``made_from`` is returned.
        """
        if not self._store or self._options.force:
            return None
        for one in (student, *mates):
            known = self._store.find(one, made_from)
            # Without a sandbox the student's code may have set its own mark.
            if known and (known.sandboxed or not self._options.isolated):
                if one != student:
                    known = dataclasses.replace(known, student=student)
                    self._store.keep(known, made_from)
                return known
        return None

    def _seed(self, student: str, made_from: str) -> int:
        if self._options.seed is not None:
            return self._options.seed
        earlier = self._store.find_seed(student, made_from) if self._store else None
        return self._class_seed if earlier is None else earlier


def _handed_in(result: SubmissionResult, notebook: Path) -> SubmissionResult:
    """Return the result with the time of submission, and a flag if the file is misnamed."""
    moment = read_handed_in(notebook.parent)
    flags = [flag for flag in result.flags if flag.kind is not FlagKind.MISNAMED]
    if notebook.stem != result.homework:
        text = f"handed in as {notebook.name}, the only notebook there"
        flags.insert(0, Flag(kind=FlagKind.MISNAMED, text=text))
    return dataclasses.replace(
        result,
        handed_in=moment.isoformat() if moment else "",
        marked_late=is_marked_late(notebook.parent),
        flags=tuple(flags),
    )
