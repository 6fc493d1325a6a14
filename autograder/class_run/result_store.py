"""Stores each result as soon as it is there, so that a run that is killed loses nothing.

A stored result counts only for the notebook, homework and library that it was made from. When one
of these changes, the submission is graded again.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.files import write_atomically
from autograder.judging.results import SubmissionResult

if TYPE_CHECKING:  # it imports torch, which reading results does without
    from autograder.class_run.course import Course

BEFORE = ".before"  # suffix of the copy that a regrade compares with
_HALF = 32
_NO_COURSE = "?" * _HALF  # first half of the fingerprint of an interrupted result
_LONGEST = 240  # bytes of a name: a file system takes 255, suffix included


def fingerprint(course: "Course", notebook: bytes) -> str:
    """Return a hash of all that a result depends on: half for the course, half for the notebook."""
    parts = (course.digest_for(notebook).encode(), notebook)
    return "".join(hashlib.sha256(part).hexdigest()[:_HALF] for part in parts)


def only_course_differs(before: str, after: str) -> bool:
    """Return whether two fingerprints are of one notebook, graded by two versions of the course.

    If one of the gradings was interrupted, return False.
    """
    courses = {before[:_HALF], after[:_HALF]}
    return before[_HALF:] == after[_HALF:] and len(courses) == 2 and _NO_COURSE not in courses


def result_file(student: str) -> str:
    """Return the file name of a student's result; a long student id is shortened."""
    name = os.fsencode(student)
    digest = hashlib.sha256(name).hexdigest()
    if len(name) > _LONGEST or len(name) == _LONGEST // 2 + 1 + len(digest):  # as a shortened one
        student = f"{os.fsdecode(name[: _LONGEST // 2])}-{digest}"
    return f"{student}.json"


@dataclass(frozen=True)
class _Kept:
    """A file of the store: a result and its fingerprint."""

    result: SubmissionResult
    made_from: str


def _load(path: Path, on_unreadable: Callable[[Path], None] = lambda path: None) -> _Kept | None:
    """Read a file of the store; return None if it is missing or unreadable.

    A damaged file, or one named after another student, is unreadable; ``on_unreadable`` gets its
    path.
    """
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        result, made_from = SubmissionResult.from_json(kept["result"]), kept["made_from"]
        if not isinstance(made_from, str) or result_file(result.student) != path.name:
            raise ValueError(path)
    except FileNotFoundError:
        return None
    except Exception:  # from_json may raise any
        on_unreadable(path)
        return None
    return _Kept(result, made_from)


def is_unreadable(path: Path) -> bool:
    """Return whether a file of the store is there and can't be read."""
    found: list[Path] = []
    _load(path, found.append)
    return bool(found)


class ResultStore:
    """A folder with one file for each graded submission; those of departed students in ``left``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.left = folder / "left"

    def keep(self, result: SubmissionResult, made_from: str) -> None:
        """Write a result with its fingerprint ``made_from``; a killed run leaves no part of it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"made_from": made_from, "result": result.to_json()})
        write_atomically(self._path(result.student), text)

    def keep_ungraded(self, result: SubmissionResult) -> None:
        """Write the result of an ungraded notebook, which the next run replaces."""
        made_from, kept = "", self._find(result.student)
        if kept and result.interrupted:  # the notebook may be the same: its seed stays
            made_from = _NO_COURSE + kept.made_from[_HALF:]
            result = replace(result, seed=kept.result.seed)
        self.keep(result, made_from)

    def amend(self, result: SubmissionResult) -> None:
        """Replace a student's result, and keep its fingerprint."""
        kept = _load(self._path(result.student))
        self.keep(result, kept.made_from if kept else "")

    def find(self, student: str, made_from: str) -> SubmissionResult | None:
        """Return a student's result if it has this fingerprint."""
        kept = self._find(student)
        return kept.result if kept and kept.made_from == made_from else None

    def has_graded(self, course: "Course") -> bool:
        """Return whether any stored result was made by this course's tests and libraries."""
        made_from = fingerprint(course, b"")[:_HALF]
        return any(kept.startswith(made_from) for kept in self.fingerprints().values())

    def find_seed(self, student: str, made_from: str) -> int | None:
        """Return the seed that the same notebook was graded with before.

        With it a changed test draws the same inputs, so that no mark changes by chance.
        """
        kept = self._find(student)
        if not kept or kept.made_from[_HALF:] != made_from[_HALF:]:
            return None
        was_drawn = not kept.result.error or kept.result.interrupted
        return kept.result.seed or None if was_drawn else None

    def read_all(
        self,
        students: Iterable[str] | None = None,
        *,
        on_unreadable: Callable[[Path], None] = lambda path: None,
    ) -> list[SubmissionResult]:
        """Return all results, or those of some students, sorted by student.

        ``on_unreadable`` is called with the path of each file that can't be read.
        """
        paths = self._folder.glob("*.json") if students is None else map(self._path, students)
        results = [kept.result for path in paths if (kept := _load(path, on_unreadable))]
        return sorted(results, key=lambda result: result.student)

    def fingerprints(self) -> dict[str, str]:
        """Return the fingerprint of each result, by student."""
        every = map(_load, self._folder.glob("*.json"))
        return {kept.result.student: kept.made_from for kept in every if kept}

    def set_aside(self, students: Iterable[str]) -> list[str]:
        """Move the results of everybody but ``students`` to the folder ``left``.

        Results of ``students`` that are in that folder move back.

        Returns:
            The students who left since the last call, sorted.
        """
        present = {self._path(student).name for student in students}
        for path in self.left.glob("*.json"):
            back = self._folder / path.name
            if path.name in present and not back.exists():
                path.rename(back)
        gone = sorted(path for path in self._folder.glob("*.json") if path.name not in present)
        if gone:
            self.left.mkdir(exist_ok=True)
        for path in gone:
            path.replace(self.left / path.name)
        return [path.stem for path in gone]

    def keep_copy(self) -> "ResultStore":
        """Return a copy of the store, to compare with later; an earlier copy is kept instead.

        Raises:
            OSError: The copy can't be written.
        """
        copy = self._copy
        if not copy.exists():
            unfinished = copy.with_name(f"{copy.name}.unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            try:
                shutil.copytree(self._folder, unfinished)
            except shutil.Error as error:  # lists all files; one is enough
                raise OSError(f"{copy} can't be written: {error.args[0][0][2]}") from error
            unfinished.rename(copy)
        return ResultStore(copy)

    def find_copy(self) -> "ResultStore | None":
        """Return the copy that an interrupted regrade has left; None without one."""
        return ResultStore(self._copy) if self._copy.exists() else None

    def remove(self) -> None:
        """Remove the store's folder with all its results."""
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _copy(self) -> Path:
        return self._folder.with_name(f"{self._folder.name}{BEFORE}")

    def _find(self, student: str) -> _Kept | None:
        path = self._path(student)
        return _load(path if path.exists() else self.left / path.name)

    def _path(self, student: str) -> Path:
        return self._folder / result_file(student)
