"""python -m autograder backup, restore: everything that grading wrote, in one zip, and back."""

import contextlib
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
from autograder.cli.errors import LOCK, BadInputError, told_in_one_line
from autograder.cli.options import DatabaseUrl, Graded, usable_database
from autograder.cli.terminal import listed, output
from course_lib.atomic_write import UNFINISHED

_GRADEBOOK = f"{NBGRADER}/{GRADEBOOK}"
_DATABASE = [f"{_GRADEBOOK}{end}" for end in ("", "-journal", "-wal", "-shm")]  # all of SQLite's
_LIST = "course-backup.json"
_FORMAT = 2

ArchiveFile = Annotated[Path, typer.Argument(metavar="FILE", help="The backup, a zip.")]


def backup(file: ArchiveFile, out: Graded, db: DatabaseUrl = "") -> None:
    """Copy all that grading wrote into one file; grading may go on meanwhile.

    It holds results, feedback, tables, notebooks and SQLite's gradebook, which is copied first: the
    next grade adds any missing rows. A file that exists is refused. Exit code 1 says that a link is
    left out, or that the gradebook is damaged.
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
    """Restore a backup into a new folder; a damaged or incomplete backup is refused.

    Exit code 1 says that the gradebook was damaged when it was copied.
    """
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
                count = _unpack(archive, stage)
                if out.exists():
                    out.rmdir()
                stage.rename(out)
        except OSError as error:
            raise BadInputError(f"{file} can't be restored: {error}") from error
        except BadInputError:
            raise
        except Exception as error:  # zipfile and zlib raise many kinds
            raise BadInputError(f"{file} is no whole backup: {error}") from error
    output().print(f"{out}: {count} files", soft_wrap=True)
    if damage := _damage(out):
        typer.echo(f"Error: {damage}. It was so when it was copied", err=True)
        raise typer.Exit(1)


def _damage(out: Path, db_url: str = "", *, is_read: bool = False) -> str:
    """Return how the gradebook in an output folder is damaged, or "" if it is not.

    If ``is_read``, a missing gradebook of a graded class counts as damaged.
    """
    from autograder.gradebook.database import DatabaseError, check_gradebook

    try:
        check_gradebook(out / NBGRADER, db_url, is_read=is_read)
    except DatabaseError as error:
        return str(error)
    return ""


def _write(
    file: Path, out: Path, gradebook: Path | None, copy_gradebook: Callable[[Path, Path], object]
) -> int:
    """Write the backup ``file`` of the folder ``out`` in one step; return the number of files.

    ``gradebook`` is SQLite's file, None for a database server; ``copy_gradebook(file, copy)``
    copies it before the other files.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    names = []
    with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=file.absolute().parent) as made:
        temporary, copy = Path(made) / "archive", Path(made) / GRADEBOOK
        with zipfile.ZipFile(
            temporary, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False
        ) as archive:
            if gradebook and gradebook.is_file():
                copy_gradebook(gradebook, copy)
                archive.write(copy, _entry(_GRADEBOOK))
                names.append(_GRADEBOOK)
            for path in _paths(out):
                if path.is_symlink() or not path.is_file():
                    continue
                name = path.relative_to(out).as_posix()
                with contextlib.suppress(FileNotFoundError):  # grading has just replaced it
                    archive.write(path, _entry(name))
                    names.append(name)
            archive.writestr(_LIST, json.dumps({"format": _FORMAT, "files": names}))
        temporary.rename(file)
    return len(names)


def _paths(out: Path) -> Iterator[Path]:
    """Yield the files, folders and links in ``out`` to copy, except the gradebook's."""
    for path in sorted(out.rglob("*")):
        parts = path.relative_to(out).parts
        temporary = parts[-1] == LOCK or any(part.startswith(UNFINISHED) for part in parts)
        if not temporary and "/".join(parts[:2]) not in _DATABASE:
            yield path


def _copy_database(source: Path, copy: Path) -> None:
    with (
        contextlib.closing(
            sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)
        ) as original,
        contextlib.closing(sqlite3.connect(copy)) as made,
    ):
        original.backup(made)


def _entry(name: str) -> str:
    """Return a file's name in the archive, with bytes escaped that are not UTF-8."""
    return name.replace("\\", "\\\\").encode(errors="backslashreplace").decode()


def _unpack(archive: zipfile.ZipFile, folder: Path) -> int:
    """Unpack a backup into a new folder, and return the number of its files.

    Raises:
        ValueError: The backup holds other files than it lists, or a path that leads elsewhere.
    """
    files = _listed(archive)
    if sorted([*map(_entry, files), _LIST]) != sorted(archive.namelist()):
        raise ValueError("it does not hold the files that it lists")
    folder.mkdir()
    for name in files:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            raise ValueError(f"{name!r} is no place in a folder")
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(_entry(name)) as source, target.open("xb") as file:
            shutil.copyfileobj(source, file)
    return len(files)


def _listed(archive: zipfile.ZipFile) -> list[str]:
    """Return the names of the files that a backup lists.

    Raises:
        ValueError: It has no such list, or one of an unknown format.
    """
    try:
        listed = json.loads(archive.read(_LIST))
        found, files = listed["format"], [*map(str, listed.get("files") or listed["sha256"])]
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"it has no list {_LIST} of its files") from error
    if found not in (1, _FORMAT):
        raise ValueError(f"its form is {found}, and this course writes {_FORMAT}")
    return files
