"""Lists the files of a folder or a zip, and reads them within bounds, trusting nothing in them.

Nothing is unpacked, so that a zip bomb costs no more than an honest notebook.
"""

import os
import stat
import struct
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from autograder.files import open_regular
from autograder.moments import plausible

_MAX_FILES = 200_000
_MOST_OF_ONE = 1_000  # notebooks of one student, and as many other files
_GIT = ".git"
_SKIPPED = (_GIT, ".ipynb_checkpoints", "__MACOSX", ".DS_Store")
_DEEPEST = 64  # nested folders; Python's recursion ends at a thousand
_DEEPEST_CLONE = 4  # folders around a clone in a zip
_EXTENDED_TIME = 0x5455
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class SourceError(ValueError):
    """A folder or zip that can't be collected from; the message says why."""


class UnreadableFileError(ValueError):
    """A file that can't be read; the message says why."""


@dataclass(frozen=True, kw_only=True)
class HandedIn:
    """A file of a download.

    Attributes:
        parts: Its path, part by part; no part is empty, ``.`` or ``..``.
        modified: When it was last changed; None if that is not known.
        cloned: Whether it lies in a clone of git's, which changes the times of files.
        problem: Why it must not be read; empty if it may.
        read: Returns the file's first bytes, up to a number; raises UnreadableFileError.
    """

    parts: tuple[str, ...]
    modified: datetime | None = None
    cloned: bool = False
    problem: str = ""
    read: Callable[[int], bytes] = field(repr=False, default=lambda limit: b"")

    @property
    def path(self) -> str:
        """The parts, joined by ``/``."""
        return "/".join(self.parts)

    @property
    def is_notebook(self) -> bool:
        """Whether the file's name ends in ``.ipynb``."""
        return self.parts[-1].lower().endswith(".ipynb")


@contextmanager
def open_source(source: Path, zone: tzinfo | None = None) -> Iterator[list[HandedIn]]:
    """Yield the list of files in a folder or a zip; ``zone`` is the time zone of times in a zip.

    Of each student's folder only a limited number of files is listed, so that none can keep the
    rest of the class from being collected. Of too many notebooks in one folder none may be read.

    Raises:
        SourceError: ``source`` is missing, damaged or too large, or neither a folder nor a zip.
    """
    if source.is_dir():
        names: list[str] = []
        with suppress(OSError):  # which walking reports
            names = [path.name for path in source.iterdir()]
        yield _sorted(_walk(source), names)
    elif not source.exists():
        raise SourceError(f"there is no {source}")
    elif not zipfile.is_zipfile(source):
        raise SourceError(f"{source} is neither a folder nor a zip file")
    else:
        try:
            archive = zipfile.ZipFile(source)
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
            raise SourceError(f"{source} is a damaged zip file: {error}") from error
        with archive:
            decoded = map(_decoded, archive.infolist())
            first = {name.lstrip("./").partition("/")[0] for name in decoded}
            yield _sorted(_members(archive, zone), first)


def _sorted(files: Iterator[HandedIn], first: Collection[str]) -> list[HandedIn]:
    """Return the files sorted by path, a limited number for each student's folder.

    ``first`` are the first parts of all paths: the students' folders, or one folder around them.
    """
    depth = 2 if len({*first} - {*_SKIPPED}) == 1 else 1  # one folder may hold all of them
    count: Counter[tuple[tuple[str, ...], bool]] = Counter()
    found = []
    for file in files:
        kind = (file.parts[:depth], file.is_notebook)
        count[kind] += 1
        if count[kind] <= _MOST_OF_ONE:
            found.append(file)
        if len(found) > _MAX_FILES:
            raise SourceError(f"more than {_MAX_FILES:,} files: this is no class's homework")
    too_many = {owner for (owner, are), many in count.items() if are and many > _MOST_OF_ONE}
    words = f"one of more than {_MOST_OF_ONE:,} notebooks"
    kept = (
        replace(file, problem=words)
        if file.is_notebook and file.parts[:depth] in too_many
        else file
        for file in found
    )
    return sorted(kept, key=lambda file: file.parts)


def _walk(source: Path) -> Iterator[HandedIn]:
    unread: list[OSError] = []
    clones: set[Path] = set()
    for folder, folders, names in os.walk(source, onerror=unread.append):
        here = Path(folder)
        if _GIT in (*folders, *names) or here.parent in clones:
            clones.add(here)
        linked = [name for name in folders if (here / name).is_symlink()]
        folders[:] = [n for n in folders if n not in _SKIPPED and n not in linked]
        if folders and len(parts := here.relative_to(source).parts) >= _DEEPEST:
            folders.clear()
            yield HandedIn(parts=parts, problem=f"folders in it, {_DEEPEST} deep, are not read")
        for name in (*names, *linked):
            if name not in _SKIPPED:
                path = here / name
                file = _file(path, path.relative_to(source).parts)
                yield replace(file, cloned=here in clones)
    for error in unread:
        parts = Path(error.filename).relative_to(source).parts
        yield HandedIn(parts=parts or (".",), problem=f"can't be read: {error.strerror}")


def _file(path: Path, parts: tuple[str, ...]) -> HandedIn:
    try:
        about = path.lstat()
    except OSError as error:
        return HandedIn(parts=parts, problem=f"can't be read: {error.strerror}")
    if stat.S_ISLNK(about.st_mode):
        return HandedIn(parts=parts, problem="a symbolic link, which is not followed")
    if not stat.S_ISREG(about.st_mode):
        return HandedIn(parts=parts, problem="no ordinary file")

    def read(limit: int) -> bytes:
        try:
            with open_regular(path) as file:  # it may have become a link or a pipe since
                return file.read(limit)
        except OSError as error:
            raise UnreadableFileError(f"can't be read: {error.strerror}") from error

    return HandedIn(parts=parts, modified=_moment(about.st_mtime), read=read)


def _members(archive: zipfile.ZipFile, zone: tzinfo | None) -> Iterator[HandedIn]:
    clones = set(_clones(archive))
    for member in archive.infolist():
        name = _decoded(member)
        parts = _parts(name)
        if name.endswith("/") or not parts or any(part in _SKIPPED for part in parts):
            continue
        yield HandedIn(
            parts=tuple(part for part in parts if part != "..") or ("..",),
            modified=_zip_time(member, zone),
            cloned=any(parts[:depth] in clones for depth in range(_DEEPEST_CLONE + 1)),
            problem=_member_problem(member, name, parts),
            read=_member_reader(archive, member),
        )


def _clones(archive: zipfile.ZipFile) -> Iterator[tuple[str, ...]]:
    """Yield the folders in a zip that hold ``.git``, each as the parts of its path."""
    for member in archive.infolist():
        parts = _parts(_decoded(member))[: _DEEPEST_CLONE + 1]
        if _GIT in parts:
            yield parts[: parts.index(_GIT)]


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part for part in name.split("/") if part not in ("", "."))


def _decoded(member: zipfile.ZipInfo) -> str:
    """Return a member's whole name, with ``/`` between folders.

    Names may be UTF-8 where the zip does not say so. Windows PowerShell 5 writes backslashes.
    Python cuts a name before a NUL, which may make it another member's.
    """
    name = member.orig_filename
    if not member.flag_bits & 0x800:
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/")


def _member_problem(member: zipfile.ZipInfo, name: str, parts: tuple[str, ...]) -> str:
    if "\0" in name:
        return "its name holds a NUL"
    if ".." in parts:
        return "its path leads out of the zip: it holds .."
    if name.startswith("/"):
        return "its path leads out of the zip: it begins at the root folder"
    if ":" in parts[0]:
        return "its path leads out of the zip: it names a drive"
    if stat.S_ISLNK(member.external_attr >> 16):
        return "a symbolic link, which is not followed"
    if member.flag_bits & 0x1:
        return "encrypted"
    if member.compress_type not in _COMPRESSIONS:  # others unpack without a limit
        return "compressed in a way that no platform uses"
    return ""


def _member_reader(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Callable[[int], bytes]:
    def read(limit: int) -> bytes:
        try:
            with archive.open(member) as file:
                return file.read(limit)
        except Exception as error:  # a forged header may raise any
            raise UnreadableFileError(f"damaged in the zip: {error}") from error

    return read


def _zip_time(member: zipfile.ZipInfo, zone: tzinfo | None) -> datetime | None:
    """Return when a member was last changed; a local time counts as of ``zone``.

    None if there is no plausible time.
    """
    extra = member.extra
    while len(extra) >= 9:
        kind, size = struct.unpack_from("<HH", extra)
        if kind == _EXTENDED_TIME and size >= 5 and extra[4] & 1:
            return _moment(int.from_bytes(extra[5:9], "little", signed=True))
        extra = extra[4 + size :]
    try:
        return _moment(datetime(*member.date_time, tzinfo=zone).timestamp())
    except (ValueError, OverflowError, OSError):
        return None


def _moment(seconds: float) -> datetime | None:
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment if plausible(moment) else None
