"""One command at a time writes into a folder: two would remove each other's unfinished files."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from autograder.cli.bad_input import BadInputError, told_in_one_line

LOCK = ".lock"


@contextlib.contextmanager
def alone_in(out: Path) -> Iterator[None]:
    """Keep other commands out of a folder; nothing is left of it but what the block writes."""
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
            with contextlib.suppress(OSError):  # not empty: that is what it was made for
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
        return  # a file system that knows no locks: as good as it gets there
    if not os.fstat(lock).st_nlink:  # the other one was just removing it
        raise busy
