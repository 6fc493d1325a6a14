"""Opens regular files in folders that other people can write to."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


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
