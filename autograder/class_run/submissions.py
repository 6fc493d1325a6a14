"""Finds and reads the notebooks of a class; any file may lie in a student's folder."""

import errno
import os
import re
import warnings
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dateutil import parser

from autograder.files import open_regular
from autograder.homework_source.homework import CellKind, Homework
from autograder.judging.notebook_file import (
    MAX_FILE_BYTES,
    MAX_NOTEBOOK_BYTES,
    SubmissionError,
    too_large,
    without_outputs,
)
from autograder.judging.results import (
    NOTHING_HANDED_IN,
    OTHER_HOMEWORK,
    SubmissionResult,
    interrupted,
    ungraded,
)
from autograder.moments import plausible

TIMESTAMP = "timestamp.txt"
"""File in which nbgrader's exchange and ``collect`` write the time of submission."""
MARKED_LATE = "late.txt"
"""File that ``collect`` writes if a platform gives no time but says that it is late."""
_MAX_TIMESTAMP_BYTES = 200
_ASKED = (CellKind.SOLUTION, CellKind.TEST, CellKind.WRITTEN)
_GRADE_ID = re.compile(rb'"grade_id"\s*:\s*"([\w-]+)"')
# In the call of ``fetch_edition`` in the notebook's first code cell, as JSON.
_NAMED = re.compile(rb'\\"hw([0-9]{2})-[\w-]+\\"')


class SubmissionsError(ValueError):
    """A folder is missing, or holds no submission of the homework."""


class UnreadableError(ValueError):
    """A notebook that can't be read; the message is for the student."""


class NoAccessError(UnreadableError):
    """A notebook that the grader's account can't read; the message is for the staff."""


def find_submissions(submissions: Path, homework_id: str) -> dict[str, Path]:
    """Return the path of each student's notebook; for a missing one, where it should be.

    Raises:
        SubmissionsError: The folder is missing or holds no student.
    """
    if not submissions.is_dir():
        raise SubmissionsError(f"no folder {submissions}; give the one that holds the students'")
    students = sorted(p.name for p in submissions.iterdir() if _is_folder(p) and p.name[0] != ".")
    notebooks = {s: find_notebook(submissions / s / homework_id, homework_id) for s in students}
    if not any(_is_folder(path.parent) for path in notebooks.values()):
        raise SubmissionsError(
            f"no submission of {homework_id} in {submissions}; expected "
            f"<student>/{homework_id}/{homework_id}.ipynb"
        )
    return notebooks


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # it can't be opened: reading the notebook reports that
        return True


def find_notebook(folder: Path, homework_id: str) -> Path:
    """Return the notebook with the homework's name, else the only notebook in the folder."""
    path = folder / f"{homework_id}.ipynb"
    others = [] if os.path.lexists(path) else _notebooks_in(folder)
    return others[0] if len(others) == 1 else path


def _notebooks_in(folder: Path) -> list[Path]:
    try:
        found = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".ipynb")
        return [path for path in found if path.name[0] != "." and path.is_file()]
    except OSError:  # no readable folder: reading the notebook reports that
        return []


def read_notebook(path: Path) -> bytes:
    """Return a submitted notebook's bytes; those of a large one without its outputs.

    Raises:
        UnreadableError: It is missing, too large, or not a file.
        NoAccessError: This account can't read it.
    """
    try:
        if path.is_symlink() or path.parent.is_symlink():
            words = "The notebook is a link, not a file. Hand in the notebook itself."
            raise UnreadableError(words)
        notebook, size = _read_file(path)
    except (FileNotFoundError, NotADirectoryError):
        if others := ", ".join(other.name for other in _notebooks_in(path.parent)):
            reason = f"None of the notebooks is called {path.name}, but {others}: which one counts?"
            raise UnreadableError(reason) from None
        raise UnreadableError(f"{NOTHING_HANDED_IN}: {path.name} is missing.") from None
    except OSError as error:
        raise NoAccessError(f"{path} can't be read: {error.strerror}") from error
    if size > MAX_FILE_BYTES:
        raise UnreadableError(too_large("The notebook", size, MAX_FILE_BYTES))
    try:
        notebook = notebook if size <= MAX_NOTEBOOK_BYTES else without_outputs(notebook)
    except SubmissionError as error:
        raise UnreadableError(str(error)) from error
    if len(notebook) > MAX_NOTEBOOK_BYTES:
        raise UnreadableError(too_large("The notebook, without its outputs,", len(notebook)))
    return notebook


def refuse_other_homework(notebook: bytes, homework: Homework) -> None:
    """Raise ``UnreadableError`` if a notebook has nbgrader's cells, but none of this homework's."""
    found = {name.decode() for name in _GRADE_ID.findall(notebook)}
    if found and not found & {cell.grade_id for cell in homework.cells if cell.kind in _ASKED}:
        named = _NAMED.search(notebook)
        words = f"homework {int(named[1])}" if named else "another homework"
        raise UnreadableError(f"{OTHER_HOMEWORK}: this is the notebook of {words}.")


def unread(homework: Homework, student: str, error: UnreadableError) -> SubmissionResult:
    """Return the result of a notebook that can't be read."""
    if isinstance(error, NoAccessError):
        return interrupted(homework, student, str(error))
    return ungraded(homework, student, str(error))


def _read_file(path: Path) -> tuple[bytes, int]:
    """Return the first bytes of a file, up to the limit of a notebook, and its size."""
    try:
        file = open_regular(path)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):  # a link by now, or a socket
            words = "The notebook is not a regular file. Hand in the notebook itself."
            raise UnreadableError(words) from error
        raise
    with file:
        data = file.read(MAX_FILE_BYTES + 1)
        return data, max(len(data), os.fstat(file.fileno()).st_size)


def read_handed_in(folder: Path) -> datetime | None:
    """Return the time of submission in UTC; None if it is unknown or implausible."""
    try:
        moment = _parse(read_timestamp(folder))
        moment = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    except Exception:  # dateutil raises many kinds, also decimal's
        return None
    return moment if plausible(moment) else None


def read_timestamp(folder: Path) -> str:
    """Return the text of timestamp.txt; empty if it is too long."""
    data, size = _read_file(folder / TIMESTAMP)
    return data.decode(errors="replace").strip() if size <= _MAX_TIMESTAMP_BYTES else ""


def _parse(text: str) -> datetime:
    """Read a time as nbgrader does: the zone may have a name, as in ``12:00 Europe/Rome``."""
    clock, _, zone = text.rpartition(" ")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return parser.parse(clock).replace(tzinfo=ZoneInfo(zone))  # reads no other files
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return parser.parse(text)


def is_marked_late(folder: Path) -> bool:
    """Return whether the platform that a notebook came from calls it late."""
    try:
        return (folder / MARKED_LATE).is_file()
    except OSError:
        return False
