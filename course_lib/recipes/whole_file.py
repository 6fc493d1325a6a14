"""Files that are either there whole or not there at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Replace a file by what is written meanwhile, once all of it is written.

    Args:
        path: The file; its folder is made if it is not there.

    Yields:
        The path to write to.

    Raises:
        OSError: It can't be written; what was there before still is.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        yield unfinished
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
