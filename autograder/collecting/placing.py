"""Puts a notebook, and the time it was handed in, where grading finds them."""

import enum
import os
import stat
from datetime import UTC, datetime
from pathlib import Path

from autograder.collecting.handed_in import HandedIn
from autograder.files import open_regular, write_atomically

_FORM = "%Y-%m-%d %H:%M:%S.%f UTC"  # nbgrader's
_MAX_TIMESTAMP_BYTES = 200


class Outcome(enum.StrEnum):
    """The outcome of collecting a submission."""

    COLLECTED = "collected"
    REPLACED = "replaced"  # an older one was there
    SAME = "unchanged"
    KEPT = "kept"  # the one that is there may be newer
    PROBLEM = "problem"
    MISSING = "missing"  # in the class list, but handed in nothing


def put_notebook(
    path: Path, data: bytes, file: HandedIn, *, moment: datetime | None, late: str, force: bool
) -> tuple[Outcome, str]:
    """Write a notebook and its time of submission, unless a newer notebook is there.

    ``late`` is the text of late.txt, or empty. Returns the outcome and a remark, often empty.
    """
    outcome, remark = _outcome(path, data, file, force=force)
    if outcome in (Outcome.KEPT, Outcome.PROBLEM):
        return outcome, remark
    path.parent.mkdir(parents=True, exist_ok=True)
    # The time comes first: after a kill in between, the next run still replaces the notebook.
    _put_time(path.parent, moment, late, unchanged=outcome is Outcome.SAME and not force)
    if outcome is not Outcome.SAME:
        write_atomically(path, data)
        if file.modified:
            os.utime(path, (file.modified.timestamp(), file.modified.timestamp()))
    return outcome, remark


def _outcome(path: Path, data: bytes, file: HandedIn, *, force: bool) -> tuple[Outcome, str]:
    """Return what happens to a notebook if it is written to ``path``, and the reason, often empty.

    ``data`` are its bytes; ``file`` is where they come from. With ``force`` it replaces any other.
    """
    for folder in (path.parent, path.parent.parent):
        if folder.is_symlink():
            return Outcome.PROBLEM, f"{folder} is a link: put a folder in its place"
    try:
        there = path.lstat()
    except FileNotFoundError:
        return Outcome.COLLECTED, ""
    if not stat.S_ISREG(there.st_mode):
        return Outcome.REPLACED, ""
    if there.st_size == len(data) and _holds(path, data):
        return Outcome.SAME, ""
    if not force and file.modified is None:
        return Outcome.KEPT, "another one is there, and this one's time is not known: --force"
    if not force and file.modified and file.modified.timestamp() <= there.st_mtime:
        return Outcome.KEPT, "the one that is there is newer: --force replaces it"
    return Outcome.REPLACED, ""


def _holds(path: Path, data: bytes) -> bool:
    with open_regular(path) as file:
        return file.read(len(data) + 1) == data


def _put_time(folder: Path, moment: datetime | None, late: str, *, unchanged: bool) -> None:
    """Write the time of submission into timestamp.txt, and the text ``late`` into late.txt.

    Each file is removed if there is nothing to write. If the notebook is ``unchanged``, the
    earlier of the old and the new time stays.
    """
    timestamp, marked_late = folder / "timestamp.txt", folder / "late.txt"
    if unchanged:
        before = _read(timestamp)
        moment = min(filter(None, (before, moment)), default=None)
        late = late if before is None and marked_late.exists() else ""
    for path, text in (
        (timestamp, moment.strftime(_FORM) + "\n" if moment else ""),
        (marked_late, late),
    ):
        if text:
            write_atomically(path, text)
        else:
            path.unlink(missing_ok=True)


def _read(timestamp: Path) -> datetime | None:
    try:
        with open_regular(timestamp) as file:
            text = file.read(_MAX_TIMESTAMP_BYTES).decode()
        return datetime.strptime(text.strip(), _FORM).replace(tzinfo=UTC)
    except (OSError, ValueError):
        return None
