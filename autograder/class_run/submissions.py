"""What a class handed in: finds the notebooks in its folder, and reads them."""

import json
from datetime import UTC, datetime
from pathlib import Path

from dateutil import parser, tz

from autograder.judging.results import NOTHING_HANDED_IN, TEAMS
from autograder.judging.submission import MAX_NOTEBOOK_BYTES

TIMESTAMP = "timestamp.txt"
"""Where nbgrader's exchange, and ``collect``, write when a notebook was handed in."""
MARKED_LATE = "late.txt"
"""Where ``collect`` writes that a platform, which tells no time, calls it late."""
_MAX_TIMESTAMP_BYTES = 200


class SubmissionsError(ValueError):
    """A folder that holds no class."""


class UnreadableError(ValueError):
    """A notebook that is not read; the message tells the student why."""


def find_submissions(submissions: Path, homework_id: str) -> dict[str, Path]:
    """Find the notebooks of a class.

    Args:
        submissions: Folder laid out as nbgrader's.
        homework_id: Such as ``hw03-self-attention``.

    Returns:
        Student id to where the notebook is, or should be.

    Raises:
        SubmissionsError: The folder is missing or holds no student.
    """
    if not submissions.is_dir():
        raise SubmissionsError(f"no folder {submissions}; give the one that holds the students'")
    students = sorted(p.name for p in submissions.iterdir() if _is_folder(p) and p.name[0] != ".")
    notebooks = {s: submissions / s / homework_id / f"{homework_id}.ipynb" for s in students}
    if not any(_is_folder(path.parent) for path in notebooks.values()):
        raise SubmissionsError(
            f"no submission of {homework_id} in {submissions}; expected "
            f"<student>/{homework_id}/{homework_id}.ipynb"
        )
    return notebooks


def read_teams(submissions: Path) -> dict[str, str]:
    """Read who hands in together.

    Args:
        submissions: The class's folder.

    Returns:
        Student to team; nobody if nothing says so.
    """
    try:
        found = json.loads((submissions / TEAMS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # below a folder that may not be opened: its student is told so
        return True


def read_notebook(path: Path) -> bytes:
    """Read a submitted file: anything may lie there, and it may vanish at any time.

    Args:
        path: Where the notebook is, or should be.

    Returns:
        Its bytes.

    Raises:
        UnreadableError: It is missing, too large, no file, or may not be read.
    """
    try:
        reason = _why_refused(path)
        notebook = b"" if reason else path.read_bytes()
    except OSError as error:
        reason = f"The notebook can't be read ({error.strerror}). Tell the course's staff."
    if reason:
        raise UnreadableError(reason)
    return notebook


def _why_refused(path: Path) -> str:
    """Return why a file is not to be read, in words for the student; empty if it is."""
    if path.is_symlink() or path.parent.is_symlink():
        return "The notebook is a link, not a file. Hand in the notebook itself."
    if not path.exists():
        return f"{NOTHING_HANDED_IN}: {path.name} is missing."
    if not path.is_file():
        return "The notebook is not a regular file. Hand in the notebook itself."
    if path.stat().st_size > MAX_NOTEBOOK_BYTES:
        return (
            f"The notebook has {path.stat().st_size >> 20} MiB; the limit is "
            f"{MAX_NOTEBOOK_BYTES >> 20} MiB. Clear the outputs, save, and hand it in again."
        )
    return ""


def read_handed_in(folder: Path) -> datetime | None:
    """Read when a notebook was handed in.

    Args:
        folder: The student's, with the notebook.

    Returns:
        The time, in UTC; None if nothing says, or what says it is no time.
    """
    path = folder / TIMESTAMP
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _MAX_TIMESTAMP_BYTES:
            return None
        text = path.read_text(encoding="utf-8", errors="replace").strip()
        moment = _parse(text)
        return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    except (OSError, ValueError, OverflowError):
        return None


def _parse(text: str) -> datetime:
    """Read a time as nbgrader does: the zone may have a name, as in ``12:00 Europe/Rome``."""
    clock, _, zone = text.rpartition(" ")
    if zone[:1].isalpha() and (known := tz.gettz(zone)):
        return parser.parse(clock).replace(tzinfo=known)
    return parser.parse(text)


def is_marked_late(folder: Path) -> bool:
    """Return whether the platform that a notebook came from calls it late."""
    try:
        return (folder / MARKED_LATE).is_file()
    except OSError:
        return False
