"""Files that are either there whole or not there at all."""

import errno
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_IMODE

UNFINISHED = ".unfinished-"
"""Beginning of the name of a file that a killed writer leaves."""


@contextmanager
def atomic_write(path: str | Path, *, lasting: bool = True) -> Iterator[Path]:
    """Write a file whole or not at all: it is replaced once its new content is on the disk.

    Args:
        path: The file; its folder is made if it is not there.
        lasting: Wait until the disk has it, so that even a power failure leaves all of it or
            nothing. It takes milliseconds a file: not for files that can be made again.

    Yields:
        The path to write to, in the same folder. Close the file before the block ends.

    Raises:
        OSError: The file, which the error names, can't be written; the old one is left as it is.
    """
    path = Path(path)
    if not path.name:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    # Each writer has a name of its own, so that two who write one file don't mix their bytes.
    unfinished = path.with_name(f"{UNFINISHED}{uuid.uuid4().hex}")
    unfinished.touch(exist_ok=False)
    try:
        mode = S_IMODE(unfinished.stat().st_mode)
        yield unfinished
        unfinished.chmod(mode)  # safetensors makes its files private
        if lasting:
            with unfinished.open("r+b") as file:
                os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException as error:
        unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and not error.filename:
            error.filename = str(path)  # a full disk names none
        raise
