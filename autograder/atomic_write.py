"""Writes files atomically: a command's files appear complete or not at all."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from course_lib.atomic_write import UNFINISHED, atomic_write


def write_atomically(path: Path, content: str | bytes, *, lasting: bool = True) -> None:
    """Write a file so that neither a reader nor a killed run leaves or sees half of it."""
    if isinstance(content, str):
        content = content.encode("utf-8", errors="backslashreplace")
    with atomic_write(path, lasting=lasting) as unfinished:
        unfinished.write_bytes(content)


@contextlib.contextmanager
def staging(out: Path) -> Iterator[Path]:
    """Write several files that appear together when the block ends without an exception.

    Write them below the yielded folder; they are moved to the same paths below ``out``. Staging
    folders of killed runs are removed first.
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
