"""Keeps each result as soon as it is there, so that a run that is killed loses nothing.

A result counts only for what it was made from: the notebook's bytes, the homework with its hidden
tests, the library. When one of these changes, the submission is graded again.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.atomic_write import write_atomically
from autograder.judging.results import SubmissionResult

if TYPE_CHECKING:
    from autograder.class_run.course import (
        Course,  # imports torch, which reading results does without
    )

BEFORE = ".before"  # ends the name of the copy that a regrade compares with
_HALF = 32
_NO_COURSE = "?" * _HALF  # begins what an interrupted result was made from
_LONGEST = 240  # bytes of a name: a file system takes 255, suffix included


def fingerprint(course: "Course", notebook: bytes) -> str:
    """Return what a result depends on, as a hash."""
    parts = (course.digest_for(notebook).encode(), notebook)
    return "".join(hashlib.sha256(part).hexdigest()[:_HALF] for part in parts)


def made_by_other_tests(before: str, after: str) -> bool:
    """Say whether a notebook was graded again because the homework or the library is another."""
    courses = {before[:_HALF], after[:_HALF]}
    return before[_HALF:] == after[_HALF:] and len(courses) == 2 and _NO_COURSE not in courses


def result_file(student: str) -> str:
    """Return what the file of a student's result is called: a folder's name may be longer."""
    name = os.fsencode(student)
    digest = hashlib.sha256(name).hexdigest()
    if len(name) > _LONGEST or len(name) == _LONGEST // 2 + 1 + len(digest):  # as a shortened one
        student = f"{os.fsdecode(name[: _LONGEST // 2])}-{digest}"
    return f"{student}.json"


@dataclass(frozen=True)
class _Kept:
    """What a file of the store holds: a result, and what it was made from."""

    result: SubmissionResult
    made_from: str


class _UnreadableError(ValueError):
    """A file of the store that is there, and holds no result of whom it is called after."""


def _read(path: Path) -> _Kept | None:
    """Read a file of the store; None if it is not there."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        result = SubmissionResult.from_json(kept["result"])
        made_from = kept["made_from"]
    except FileNotFoundError:
        return None
    except Exception as error:  # half a file, or any other: whatever is no result of ours
        raise _UnreadableError(str(path)) from error
    if type(made_from) is not str or result_file(result.student) != path.name:  # a copy, say
        raise _UnreadableError(str(path))
    return _Kept(result, made_from)


def _load(path: Path, on_unreadable: Callable[[Path], None] = lambda path: None) -> _Kept | None:
    """Read a file of the store; one that can't be read counts as none."""
    try:
        return _read(path)
    except _UnreadableError:
        on_unreadable(path)
        return None


def is_unreadable(path: Path) -> bool:
    """Say whether a file of the store is there, and holds no result of whom it is called after."""
    try:
        _read(path)
    except _UnreadableError:
        return True
    return False


class ResultStore:
    """A folder with one file for each graded submission.

    The results of students who have left are in ``left``.

    Args:
        folder: Made when the first result is kept.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.left = folder / "left"

    def keep(self, result: SubmissionResult, made_from: str) -> None:
        """Write a result, whole or not at all."""
        self._folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"made_from": made_from, "result": result.to_json()})
        write_atomically(self._path(result.student), text)

    def keep_ungraded(self, result: SubmissionResult) -> None:
        """Write a result that the next run replaces, with the seed of the one that was there."""
        made_from, kept = "", self._find(result.student)
        if kept and result.interrupted:  # the notebook may be the same
            made_from = _NO_COURSE + kept.made_from[_HALF:]
            result = replace(result, seed=kept.result.seed)
        self.keep(result, made_from)

    def amend(self, result: SubmissionResult) -> None:
        """Write a result in the place of the student's, made from what that was made from."""
        kept = _load(self._path(result.student))
        self.keep(result, kept.made_from if kept else "")

    def find(self, student: str, made_from: str) -> SubmissionResult | None:
        """Return a kept result, if there is one that was made from just this."""
        kept = self._find(student)
        return kept.result if kept and kept.made_from == made_from else None

    def has_graded(self, course: "Course") -> bool:
        """Return whether a result is kept that these very tests and libraries gave."""
        made_from = fingerprint(course, b"")[:_HALF]
        return any(kept.startswith(made_from) for kept in self.fingerprints().values())

    def find_seed(self, student: str, made_from: str) -> int | None:
        """Return the seed that the same notebook was graded with before, if it was.

        With it a changed test draws what it drew before, so that no mark changes by chance.
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
        """Return every result that is kept, whatever it was made from, sorted by student.

        A file that can't be read, or is not called after its student, counts as none.
        """
        paths = self._folder.glob("*.json") if students is None else map(self._path, students)
        results = [kept.result for path in paths if (kept := _load(path, on_unreadable))]
        return sorted(results, key=lambda result: result.student)

    def fingerprints(self) -> dict[str, str]:
        """Return what each result that is kept was made from, by student."""
        every = map(_load, self._folder.glob("*.json"))
        return {kept.result.student: kept.made_from for kept in every if kept}

    def set_aside(self, students: Iterable[str]) -> list[str]:
        """Put the results of all other students into ``left``: they count no longer.

        Those of students who have come back are taken out of it.
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
        """Copy the folder, to compare with later; a copy that is there already stays."""
        copy = self._copy
        if not copy.exists():
            unfinished = copy.with_name(f"{copy.name}.unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            try:
                shutil.copytree(self._folder, unfinished)
            except shutil.Error as error:  # of all files; one says enough
                raise OSError(f"{copy} can't be written: {error.args[0][0][2]}") from error
            unfinished.rename(copy)
        return ResultStore(copy)

    def find_copy(self) -> "ResultStore | None":
        """Return the copy that a regrade has left which was ended; None if there is none."""
        return ResultStore(self._copy) if self._copy.exists() else None

    def remove(self) -> None:
        """Remove the folder with all that is kept in it."""
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _copy(self) -> Path:
        return self._folder.with_name(f"{self._folder.name}{BEFORE}")

    def _find(self, student: str) -> _Kept | None:
        path = self._path(student)
        if not path.exists():  # has the student come back?
            path = self.left / path.name
        return _load(path)

    def _path(self, student: str) -> Path:
        return self._folder / result_file(student)
