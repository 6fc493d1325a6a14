"""Names that learning platforms give to submitted files: owner, attempt, time and lateness.

Each reader takes the path of a file in a download, and returns every way to read it: none if the
platform gives no such names, and several if a student chose a name that looks like another's.
"""

import contextlib
import enum
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from autograder.collecting.handed_in import HandedIn


class Naming(enum.StrEnum):
    """The learning platforms whose file names can be read; ``FOLDER`` for any others."""

    CANVAS = "canvas"
    MOODLE = "moodle"
    BLACKBOARD = "blackboard"
    BRIGHTSPACE = "brightspace"
    GRADESCOPE = "gradescope"
    CLASSROOM = "classroom"
    FOLDER = "folder"


@dataclass(frozen=True, kw_only=True)
class Name:
    """Facts about a file and its student, read from the path of the downloaded file.

    Attributes:
        person: The platform's name of the student; the same for all files of one submission.
        lms_id: The platform's number or name of the student; at Moodle, and where Canvas hides
            names, it is valid in this assignment alone.
        file: Path of the file inside the submission.
        called: The name without the platform's number: a full name, or a team's where teams hand
            in; empty where it is none.
        upload: A number that grows from one uploaded file to the next. Among files handed in
            together it does not show which is the homework.
        late: Whether the platform marked it as late.
        hidden: Whether Canvas hides the student's name.
        moment: When it was handed in, without a time zone; None if the path does not say.
    """

    person: str
    lms_id: str
    file: str
    called: str = ""
    upload: int = 0
    late: bool = False
    hidden: bool = False
    moment: datetime | None = None


Reader = Callable[[Sequence[str], str], list[Name]]
"""Takes the parts of a path and the homework's id; returns every way to read the path."""

_NUMBER = r"[0-9]{1,20}"  # no platform has counted any further
# lovelaceada_LATE_12345_67890_hw03-self-attention-1.ipynb: name, user, number of the upload, file
_CANVAS = re.compile(
    rf"(?<!_LATE)(?=_(?P<late>LATE_)?(?P<user>{_NUMBER})_(?P<upload>{_NUMBER})_(?P<file>.+))",
    re.DOTALL,
)
# anon_aB3dE_67890_hw03-self-attention.ipynb, or LATE_anon_...: where graders may see no names
_CANVAS_ANONYMOUS = re.compile(
    rf"(?P<late>LATE_)?(?P<name>anon)_(?P<user>[0-9A-Za-z]{{1,20}})_(?P<upload>{_NUMBER})_(?P<file>.+)",
    re.DOTALL,
)
# Ada Lovelace_123456_assignsubmission_file_/hw03.ipynb, or _file_hw03.ipynb without folders.
_MOODLE = re.compile(rf"_(?P<id>{_NUMBER})_assignsubmission_[a-z]+(?=_|\Z)")
_MOST_READINGS = 32  # a path with more counts as unreadable
_GRADESCOPE = re.compile(rf"submission_{_NUMBER}")
# Homework 3_lovelace12_attempt_2026-10-05-14-30-59_hw03.ipynb, and a .txt with the student's words
_BLACKBOARD = re.compile(
    r"(?P<assignment>.+)_(?P<user>[^_]+)_attempt_(?P<when>[0-9]{4}(?:-[0-9]{2}){5})(?:_(?P<file>.+)|\.txt)",
    re.DOTALL,
)
# 12345-67890 - Ada Lovelace - Oct 5, 2026 230 PM/hw03.ipynb, or ... 230 PM - hw03.ipynb
_BRIGHTSPACE = re.compile(
    rf"(?P<user>{_NUMBER})-(?P<upload>{_NUMBER}) - (?P<name>.+?) ?- "
    r"(?P<when>[\w., ]{4,16}? [0-9]{4} [0-9.]{3,5}(?: [AP]M)?)(?: - (?P<file>.+))?",
    re.DOTALL,
)
_BRIGHTSPACE_TIMES = tuple(
    f"{day} {clock}"
    for day in ("%b %d %Y", "%B %d %Y", "%d %b %Y", "%d %B %Y")
    for clock in ("%I%M %p", "%H%M")
)
BRIGHTSPACE_LIST = "index.html"
"""File in Brightspace's zip beside the submissions."""


def read_canvas(parts: Sequence[str], homework_id: str) -> list[Name]:
    """Return all readings of a path in Canvas's submissions.zip; empty if it is no such path.

    Canvas puts numbers between ``_``, but names of people, groups and files may hold such numbers
    too: ``team_1_21_900_hw03.ipynb`` may be a file of user 1 or of user 21. Readings with a shorter
    person's name come first.
    """
    if len(parts) != 1:
        return []
    anonymous = _CANVAS_ANONYMOUS.fullmatch(parts[0])
    if anonymous:
        return [replace(_of_canvas(anonymous["name"], anonymous), hidden=True)]
    found = [f for f in _bounded(_CANVAS, parts[0]) if f.start()]
    return [_of_canvas(parts[0][: f.start()], f) for f in found]


def _bounded(pattern: re.Pattern[str], name: str) -> list[re.Match[str]]:
    found = list(itertools.islice(pattern.finditer(name), _MOST_READINGS + 1))
    return found if len(found) <= _MOST_READINGS else []


def _of_canvas(name: str, found: re.Match[str]) -> Name:
    return Name(
        person=f"{name}_{found['user']}",
        lms_id=found["user"],
        file=found["file"],
        upload=int(found["upload"]),
        late=bool(found["late"]),
    )


def read_moodle(parts: Sequence[str], homework_id: str) -> list[Name]:
    """Return all readings of a path in Moodle's "Download all submissions"; empty if it is none.

    A path, with folders or without, begins with ``<name>_<number>_assignsubmission_file_``.
    Students choose their names and those of their files, and may write another student's number
    and this marker into either: so there may be several readings.
    """
    return [
        Name(
            person=f"{parts[0][: found.start()]}_{found['id']}",
            lms_id=found["id"],
            called=parts[0][: found.start()],
            file="/".join(
                part for part in (parts[0][found.end() :].removeprefix("_"), *parts[1:]) if part
            ),
        )
        for found in _bounded(_MOODLE, parts[0])
        if found.start()
    ]


def read_blackboard(parts: Sequence[str], homework_id: str) -> list[Name]:
    """Return the reading of a path in Blackboard's "Assignment File Download"; empty if it is none.

    Its user is only the text between the last ``_`` and ``_attempt``; ``with_whole_users`` restores
    user names that contain ``_``.
    """
    found = _BLACKBOARD.fullmatch(parts[0]) if len(parts) == 1 else None
    if not found:
        return []
    return [
        Name(
            person=found["user"],
            lms_id=found["user"],
            called=found["assignment"],
            file=found["file"] or ".txt",
            moment=_moment(found["when"], ("%Y-%m-%d-%H-%M-%S",)),
        )
    ]


def with_whole_users(readings: Sequence[list[Name]]) -> list[list[Name]]:
    """Return the readings of a Blackboard download, with user names that may contain ``_``.

    ``readings`` are those of ``read_blackboard`` for all files: since all begin with the same
    assignment's name, it shows where a user name begins.
    """
    called = (name.called for names in readings for name in names)
    assignment = min(called, key=len, default="")

    def whole(name: Name) -> Name:
        user = f"{name.called}_{name.person}".removeprefix(f"{assignment}_")
        return replace(name, person=user, lms_id=user, called=user)

    return [[whole(name) for name in names] for names in readings]


def read_brightspace(parts: Sequence[str], homework_id: str) -> list[Name]:
    """Return the reading of a path in a Brightspace (D2L) download; empty if it is no such path.

    The download has a folder for each attempt, or none.
    """
    found = _BRIGHTSPACE.fullmatch(parts[0])
    inside = [*filter(None, [found and found["file"]]), *parts[1:]]
    if not found or not inside:
        return []
    when = re.sub(r"\b([0-9]{3})\b", r"0\1", re.sub("[,.]", "", found["when"]))  # 230 PM: 0230 PM
    return [
        Name(
            person=f"{found['name']}_{found['user']}",
            lms_id=found["user"],
            called=found["name"],
            file="/".join(inside),
            upload=int(found["upload"]),
            moment=_moment(when, _BRIGHTSPACE_TIMES),
        )
    ]


def _moment(text: str, forms: Sequence[str]) -> datetime | None:
    for form in forms:
        with contextlib.suppress(ValueError):
            return datetime.strptime(text, form)
    return None


def read_gradescope(parts: Sequence[str], homework_id: str) -> list[Name]:
    """Return the reading of a path in a Gradescope export; empty if it is no such path.

    It names no person: the export's metadata file names the owner of each folder.
    """
    if len(parts) < 2 or not _GRADESCOPE.fullmatch(parts[0]):
        return []
    return [Name(person=parts[0], lms_id=parts[0], file="/".join(parts[1:]))]


def read_classroom(parts: Sequence[str], homework_id: str) -> list[Name]:
    """Return the reading of a path in a folder of GitHub Classroom's clones; empty if it is none.

    There is one repository for each student, named after the homework and the student.
    """
    prefix = next((p for p in classroom_prefixes(homework_id) if parts[0].startswith(p)), "")
    user = parts[0].removeprefix(prefix)
    nobody = user in ("", "submissions") or parts[0] == homework_id
    return [] if len(parts) < 2 or not prefix or nobody else [_plain(user, parts[1:])]


def classroom_prefixes(homework_id: str) -> tuple[str, str]:
    """Return the prefixes of GitHub Classroom's repositories: the homework's id and its number."""
    return f"{homework_id}-", f"{homework_id.partition('-')[0]}-"


def read_folder(parts: Sequence[str], homework_id: str) -> list[Name]:
    """Return the reading of a path whose first folder, or only notebook, is named by the student.

    It is empty for another file outside of folders.
    """
    if len(parts) > 1:
        return [_plain(parts[0], parts[1:])]
    stem = parts[0].removesuffix(".ipynb")
    return [] if stem == parts[0] else [_plain(stem, parts)]


def _plain(user: str, inside: Sequence[str]) -> Name:
    return Name(person=user, lms_id=user, called=user, file="/".join(inside))


READERS: dict[Naming, Reader] = {
    Naming.CANVAS: read_canvas,
    Naming.MOODLE: read_moodle,
    Naming.BLACKBOARD: read_blackboard,
    Naming.BRIGHTSPACE: read_brightspace,
    Naming.GRADESCOPE: read_gradescope,
    Naming.CLASSROOM: read_classroom,
    Naming.FOLDER: read_folder,
}
# Blackboard before Canvas, which takes numbers between _ in an assignment's name for its own.
_RECOGNISED = (
    Naming.BLACKBOARD, Naming.BRIGHTSPACE, Naming.CANVAS, Naming.MOODLE, Naming.GRADESCOPE,
    Naming.CLASSROOM,
)  # fmt: skip


def recognise(files: Sequence[HandedIn], homework_id: str) -> tuple[Naming, int]:
    """Return the naming that most paths follow, and the number of leading folders to leave out.

    The naming is ``FOLDER`` if no path follows a platform's, or if most paths with the homework do
    not: students choose some names, and a few may look like a platform's.
    """
    best, depth, most = Naming.FOLDER, 0, 0
    around = _around_class(files, homework_id)
    for skipped in (0, 1):
        roots = {file.parts[0] for file in files}
        if skipped and (len(roots) > 1 or any(len(file.parts) < 2 for file in files)):
            break
        for naming in _RECOGNISED:
            if naming is Naming.CLASSROOM and skipped < around:
                continue  # hw03-class is the folder around the clones
            count = sum(bool(READERS[naming](f.parts[skipped:], homework_id)) for f in files)
            if count > most:
                best, depth, most = naming, skipped, count
    named, plain = set(), set()
    for file in files:
        parts = file.parts[depth:]
        if READERS[best](parts, homework_id):
            named.add(parts[0])
        elif file.is_notebook and (len(parts) == 1 or homework_id in parts[-1]):
            plain.add(parts[0])
    if best is Naming.FOLDER or len(plain) > len(named):
        return Naming.FOLDER, around
    return best, depth


def _around_class(files: Sequence[HandedIn], homework_id: str) -> int:
    """Return the number of folders around the whole class: those at the start of all paths.

    It is 0 if they may be a student's folders instead: if fewer than two folders in them hold the
    homework, or if they hold the notebook itself or nbgrader's folder with the homework's name,
    unless more than twice as many other folders hold the homework.
    """
    folders = sorted(file.parts[:-1] for file in files)  # the first and last share the least
    pairs = zip(folders[0], folders[-1], strict=False)
    around = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    named = [f.parts[around:] for f in files if f.is_notebook and homework_id in f.parts[-1]]
    holders = {parts[0] for parts in named if len(parts) > 1} - {homework_id}
    of_one = {parts[0] for parts in named} - holders
    return around if len(holders) > max(1, 2 * len(of_one)) else 0
