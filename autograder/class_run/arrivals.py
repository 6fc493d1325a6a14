"""Tells which notebooks have come into a class's folder, or have changed there."""

import contextlib
import os
import time
from collections.abc import Container
from pathlib import Path

from autograder.class_run.submissions import (
    SubmissionsError,
    UnreadableError,
    find_submissions,
    read_notebook,
)
from autograder.homework_source.homework import Homework
from autograder.judging.notebook_file import SubmissionError
from autograder.judging.submission import read_submission

_PATIENCE_SECONDS = 5.0  # after its last change, what is no notebook will not become one


class Arrivals:
    """What comes into a folder, and what changes there.

    A notebook that is still being written is no whole JSON: it waits until it is, or until nothing
    has changed for a while. Then it is what was handed in, and so is a notebook that is missing.

    Args:
        submissions: Folder laid out as nbgrader's; there may be no student in it yet.
        homework: The homework.
    """

    def __init__(self, submissions: Path, homework: Homework) -> None:
        self._submissions, self._homework = submissions, homework
        self._told: dict[str, _Stamp] = {}

    def look(self, *, but: Container[str] = ()) -> dict[str, Path]:
        """Return the notebooks that are new, or other than when they were last told."""
        arrived = {}
        for student, path in present_submissions(self._submissions, self._homework.id).items():
            stamp = _stamp(path)  # before it is read: what changes later differs from this
            if student in but or stamp == self._told.get(student):
                continue
            if _is_whole(path, self._homework) or _has_settled(path):
                self._told[student] = stamp
                arrived[student] = path
        return arrived


def present_submissions(submissions: Path, homework_id: str) -> dict[str, Path]:
    """Find the notebooks of a class that may not have handed in anything yet."""
    with contextlib.suppress(SubmissionsError):
        return find_submissions(submissions, homework_id)
    return {}


_Stamp = tuple[int, ...]


def _stamp(path: Path) -> _Stamp:
    """Return what is another with every change of a file; nothing if there is none."""
    try:
        status = path.lstat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _is_whole(path: Path, homework: Homework) -> bool:
    """Whether a notebook can be read: the beginning of a JSON object is none."""
    try:
        read_submission(read_notebook(path), homework)
    except (UnreadableError, SubmissionError):
        return False
    return True


def _has_settled(path: Path) -> bool:
    """Whether nothing has changed lately: neither the file nor the folders that it lies in."""
    changed = 0.0
    for place in (path, path.parent, path.parent.parent):
        with contextlib.suppress(OSError):
            changed = max(changed, os.lstat(place).st_ctime)
    return time.time() - changed > _PATIENCE_SECONDS
