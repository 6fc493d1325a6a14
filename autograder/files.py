"""Reads and writes files safely: writes in one step, follows no links, takes UTF-8 only."""

import contextlib
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from course_lib.atomic_write import UNFINISHED, atomic_write


class TextFileError(ValueError):
    """Bytes are not UTF-8; the message gives the line and a remedy."""


def text_of(data: bytes) -> str:
    """Return a file's text, with newlines as line ends.

    Raises:
        TextFileError: The bytes are not UTF-8.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise TextFileError(
            f"line {line} is not written in UTF-8: save the file as UTF-8"
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def open_regular(path: Path | str, *, dir_fd: int | None = None) -> BinaryIO:
    """Open a regular file that somebody else may replace at any time.

    The file's type is checked after opening, so replacing the path by a pipe or a link in between
    has no effect.

    Raises:
        OSError: The file is missing or not a regular file; ``ELOOP`` for links and pipes.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=dir_fd)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    raise OSError(errno.ELOOP, "no regular file", str(path))


def write_atomically(path: Path, content: str | bytes, *, lasting: bool = True) -> None:
    """Write a file in one step: no reader sees half of it, and a killed run leaves no half.

    ``lasting`` also waits until the disk has it, so that it survives a power failure.
    """
    if isinstance(content, str):
        content = content.encode("utf-8", errors="backslashreplace")
    with atomic_write(path, lasting=lasting) as unfinished:
        unfinished.write_bytes(content)


@contextlib.contextmanager
def staging(out: Path) -> Iterator[Path]:
    """Yield a temporary folder; its files move to ``out`` when the block ends without an exception.

    They keep their relative paths. Staging folders of killed runs are removed first.
    """
    out.mkdir(parents=True, exist_ok=True)
    for left_over in out.glob(f"{UNFINISHED}*"):
        if left_over.is_dir():
            shutil.rmtree(left_over)
        else:
            left_over.unlink()
    stage = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=out))
    try:
        yield stage
        for source in sorted(path for path in stage.rglob("*") if path.is_file()):
            target = out / source.relative_to(stage)
            target.parent.mkdir(parents=True, exist_ok=True)
            source.replace(target)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
