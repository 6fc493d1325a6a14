"""Errors that the person at the keyboard can fix: one line on stderr, and exit code 2."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import typer

from autograder.clean_text import one_line, without_sql
from course_lib.atomic_write import UNFINISHED

LOCK = ".lock"


class BadInputError(ValueError):
    """An argument that can't be used; the message says why."""


@contextlib.contextmanager
def told_in_one_line(*kinds: type[Exception]) -> Iterator[None]:
    """Replace ``BadInputError`` and errors of these kinds by a line on stderr and exit code 2."""
    known: tuple[type[Exception], ...] = (BadInputError, *kinds)
    try:
        yield
    except known as error:
        typer.echo(f"Error: {one_line(without_sql(str(error)), 1000)}", err=True)
        raise typer.Exit(2) from None


@contextlib.contextmanager
def writing(place: Path) -> Iterator[None]:
    """Turn an ``OSError`` in the block into a ``BadInputError`` that names the unwritable file.

    If that is a temporary file, the message names ``place`` instead.
    """
    try:
        yield
    except OSError as error:
        named = Path(str(error.filename2 or error.filename or place))
        shown = place if any(part.startswith(UNFINISHED) for part in named.parts) else named
        reason = error.strerror or error
        raise BadInputError(f"{shown} can't be written: {reason}") from error


@contextlib.contextmanager
def alone_in(out: Path) -> Iterator[None]:
    """Lock a folder during the block, so that no other command writes into it.

    If another command holds the lock, exit with code 2. A missing folder is made, and removed
    again if the block writes nothing into it.
    """
    made = [folder for folder in (out, *out.parents) if not folder.exists()]
    with told_in_one_line():
        try:
            out.mkdir(parents=True, exist_ok=True)
            lock = os.open(out / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            raise BadInputError(f"{out} can't be written: {error}") from error
    try:
        with told_in_one_line():
            _take(lock, out)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                (out / LOCK).unlink()
            with contextlib.suppress(OSError):  # not empty
                for folder in made:
                    folder.rmdir()
    finally:
        os.close(lock)


def _take(lock: int, out: Path) -> None:
    busy = BadInputError(f"another command is working in {out}: wait until it has ended")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise busy from None
    except OSError:
        return  # a file system without locks
    if not os.fstat(lock).st_nlink:  # the other command was just removing it
        raise busy
