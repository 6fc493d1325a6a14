"""Opens a file that somebody else may change at any time."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_regular(path: Path | str, *, dir_fd: int | None = None) -> BinaryIO:
    """Open a file that somebody else may change at any time.

    What is asked about is what is read: in between, the path may come to lead to something else,
    such as a pipe that nobody writes into.

    Raises:
        OSError: There is none, or no regular one; ``ELOOP`` for a link and the like.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=dir_fd)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    raise OSError(errno.ELOOP, "no regular file", str(path))
