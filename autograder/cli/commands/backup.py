"""python -m autograder backup, restore: all that grading wrote, in one file, and back from it."""

import contextlib
import hashlib
import json
import shlex
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Annotated

import typer

from autograder.class_folders import GRADEBOOK, NBGRADER, RESULTS
from autograder.cli.bad_input import BadInputError, told_in_one_line
from autograder.cli.one_at_a_time import LOCK
from autograder.cli.options import DatabaseUrl, Graded
from autograder.cli.plan import usable_database
from autograder.cli.terminal import listed, output
from course_lib.atomic_write import UNFINISHED

_GRADEBOOK = f"{NBGRADER}/{GRADEBOOK}"
_DATABASE = [f"{_GRADEBOOK}{end}" for end in ("", "-journal", "-wal", "-shm")]  # all of SQLite's
_LIST = "course-backup.json"
_FORMAT = 1
_CHUNK = 1 << 20

ArchiveFile = Annotated[Path, typer.Argument(metavar="FILE", help="The backup, a zip.")]


def backup(file: ArchiveFile, out: Graded, db: DatabaseUrl = "") -> None:
    """Copy all that grading wrote into one file; grading may go on meanwhile.

    The gradebook is copied first, by SQLite's own backup: results that come while the others are
    copied are put into it by the next ``grade``.
    """
    from sqlalchemy.engine import make_url

    from autograder.gradebook.database import gradebook_url, without_password

    with told_in_one_line():
        if not (out / RESULTS).is_dir():
            raise BadInputError(f"{out} holds no results: it is no folder that grading wrote")
        if file.exists():
            raise BadInputError(f"{file} exists: name another file, or remove it first")
        db_url = usable_database(db)
        address = make_url(gradebook_url(out / NBGRADER, db_url))
        is_file = address.get_backend_name() == "sqlite"
        damage = _damage(out, db_url, is_read=True)
        try:
            gradebook = Path(address.database or "") if is_file else None
            count = _write(file, out, gradebook, shutil.copyfile if damage else _copy_database)
        except (OSError, sqlite3.Error) as error:
            raise BadInputError(f"{file} can't be written: {error}") from error
    output().print(f"{file}: {count} files of {out}", soft_wrap=True)
    if not is_file:
        plain = address.set(drivername=address.get_backend_name())  # pg_dump knows no drivers
        shown = without_password(plain.render_as_string(hide_password=False))
        output().print(
            "The gradebook is not in it, it lies in a database of its own. Copy that too:\n"
            f"  pg_dump --format=custom --file={shlex.quote(f'{file}.dump')} {shlex.quote(shown)}",
            soft_wrap=True,
        )
    links = [path for path in _paths(out) if path.is_symlink()]
    if links:
        names = listed([path.relative_to(out).as_posix() for path in links])
        typer.echo(f"Error: links, not followed and not in it: {names}", err=True)
    if damage:
        typer.echo(f"Error: {damage}. All is copied as it is", err=True)
    if links or damage:
        raise typer.Exit(1)


def restore(
    file: ArchiveFile,
    out: Annotated[Path, typer.Option("--out", help="A new folder, or an empty one.")],
) -> None:
    """Lay out what a backup holds, checked against what was copied."""
    with told_in_one_line():
        try:
            if out.exists() and (not out.is_dir() or any(out.iterdir())):
                raise BadInputError(f"{out} is not empty: name a new folder")
            out.absolute().parent.mkdir(parents=True, exist_ok=True)
            with (
                zipfile.ZipFile(file) as archive,
                tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=out.absolute().parent) as made,
            ):
                stage = Path(made) / "out"
                count = _lay_out(archive, stage)
                if out.exists():
                    out.rmdir()
                stage.rename(out)
        except OSError as error:
            raise BadInputError(f"{file} can't be restored: {error}") from error
        except BadInputError:
            raise
        except Exception as error:  # whatever zipfile and zlib say of a damaged archive
            raise BadInputError(f"{file} is no whole backup: {error}") from error
    output().print(f"{out}: {count} files", soft_wrap=True)
    if damage := _damage(out):
        typer.echo(f"Error: {damage}. It was so when it was copied", err=True)
        raise typer.Exit(1)


def _damage(out: Path, db_url: str = "", *, is_read: bool = False) -> str:
    """Say what is wrong with a gradebook; empty if nothing is."""
    from autograder.gradebook.database import DatabaseError, check_gradebook

    try:
        check_gradebook(out / NBGRADER, db_url, is_read=is_read)
    except DatabaseError as error:
        return str(error)
    return ""


class _NoBackupError(ValueError):
    """An archive that ``backup`` did not write, or not as it is now."""


def _write(
    file: Path, out: Path, gradebook: Path | None, copy_gradebook: Callable[[Path, Path], object]
) -> int:
    """Write the archive, which has its name only once it is whole."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=file.absolute().parent) as made:
        temporary, copy = Path(made) / "archive", Path(made) / GRADEBOOK
        digests: dict[str, str] = {}
        with zipfile.ZipFile(
            temporary, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False
        ) as archive:
            if gradebook and gradebook.is_file():
                copy_gradebook(gradebook, copy)
                digests[_GRADEBOOK] = _add(archive, copy, _GRADEBOOK)
            for path in _paths(out):
                if path.is_symlink() or not path.is_file():
                    continue
                name = path.relative_to(out).as_posix()
                with contextlib.suppress(FileNotFoundError):  # replaced by a newer one
                    digests[name] = _add(archive, path, name)
            archive.writestr(_LIST, json.dumps({"format": _FORMAT, "sha256": digests}))
        temporary.rename(file)
    return len(digests)


def _paths(out: Path) -> Iterator[Path]:
    """Yield what is to be copied, but for the gradebook, with folders and links."""
    for path in sorted(out.rglob("*")):
        parts = path.relative_to(out).parts
        passing = parts[-1] == LOCK or any(part.startswith(UNFINISHED) for part in parts)
        if not passing and "/".join(parts[:2]) not in _DATABASE:
            yield path


def _copy_database(source: Path, copy: Path) -> None:
    with (
        contextlib.closing(
            sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)
        ) as original,
        contextlib.closing(sqlite3.connect(copy)) as made,
    ):
        original.backup(made)


def _add(archive: zipfile.ZipFile, path: Path, name: str) -> str:
    """Add a file as it is now, which may be replaced by a newer one meanwhile."""
    digest = hashlib.sha256()
    with path.open("rb") as source:
        entry = zipfile.ZipInfo.from_file(path, _entry(name), strict_timestamps=False)
        entry.compress_type = zipfile.ZIP_DEFLATED
        with archive.open(entry, "w") as target:
            while chunk := source.read(_CHUNK):
                digest.update(chunk)
                target.write(chunk)
    return digest.hexdigest()


def _entry(name: str) -> str:
    """Return what the archive calls a file: its names are UTF-8, and a student's may not be."""
    return name.replace("\\", "\\\\").encode(errors="backslashreplace").decode()


def _lay_out(archive: zipfile.ZipFile, stage: Path) -> int:
    """Unpack an archive, and refuse one that holds anything else than it says."""
    names = [name for name in archive.namelist() if name != _LIST]
    digests = _listed(archive)
    if sorted(names) != sorted(map(_entry, digests)):
        raise _NoBackupError("it does not hold the files that it lists")
    stage.mkdir()
    for name, expected in digests.items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            raise _NoBackupError(f"{name!r} is no place in a folder")
        target = stage / path
        target.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        with archive.open(_entry(name)) as source, target.open("xb") as file:
            while chunk := source.read(_CHUNK):
                digest.update(chunk)
                file.write(chunk)
        if digest.hexdigest() != expected:
            raise _NoBackupError(f"{name} is not what was copied")
    return len(digests)


def _listed(archive: zipfile.ZipFile) -> dict[str, str]:
    try:
        listed = json.loads(archive.read(_LIST))
        known = listed["format"] == _FORMAT
        digests = {str(name): str(digest) for name, digest in listed["sha256"].items()}
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise _NoBackupError(f"it has no list {_LIST} of what it holds") from error
    if not known:
        raise _NoBackupError(f"its form is {listed['format']}, and this course writes {_FORMAT}")
    return digests
