"""Collecting from nbgrader's exchange what can be graded, and nothing that a student points to.

Students write into the exchange's ``inbound`` themselves. nbgrader 0.9.6 follows links that it
finds there, with the rights of whoever collects: a link to the instructor's notebook would be a
solved submission. And it only warns of a submission in somebody else's name, which would take the
place of their own.
"""

import os
import pwd
import shutil
import stat
from logging import Logger
from pathlib import Path
from typing import Any

from nbgrader.exchange.default import ExchangeCollect

_KEPT = {".ipynb", ".txt"}  # notebooks; when it was handed in; what its feedback is found by


class CollectNotebooks(ExchangeCollect):
    """What ``c.ExchangeFactory.collect`` names: copies the files that grading reads."""

    def do_copy(self, src: str, dest: str, log: Logger | None = None) -> None:
        """Copy a submission.

        Args:
            src: Its folder in the exchange.
            dest: Where it is to lie in the course folder.
            log: Not used.
        """
        if not self._is_theirs(src):
            self.log.error("Not collected: %s is not owned by the student it names", src)
            return
        try:
            folder = os.open(src, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError as error:
            self.log.error("Not collected: %s (%s)", src, error.strerror)
            return
        most = 1000 * self.coursedir.max_file_size  # nbgrader's kilobytes
        target = Path(dest)
        target.mkdir()
        try:
            for name in sorted(os.listdir(folder)):  # noqa: PTH208 -- an open folder's
                if Path(name).suffix in _KEPT and not _copy(name, folder, target, most):
                    self.log.error("Not collected: %s/%s is no file, or too large", src, name)
        finally:
            os.close(folder)

    def _sort_by_timestamp(self, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Put the newest first, and behind all of them those in somebody else's name."""
        newest = super()._sort_by_timestamp(records)
        return sorted(newest, key=lambda record: not self._is_theirs(self._path(record)))

    def _path(self, record: dict[str, Any]) -> str:
        return os.path.join(self.inbound_path, record["filename"])  # noqa: PTH118 -- as nbgrader

    def _is_theirs(self, path: str) -> bool:
        """Return whether a submission is owned by whom it names, where that is to be asked."""
        student = Path(path).name.rsplit("+", 3)[0]
        try:
            return not self.check_owner or pwd.getpwnam(student).pw_uid == os.lstat(path).st_uid
        except KeyError:
            return False  # no such account


def _copy(name: str, folder: int, target: Path, most: int) -> bool:
    """Copy a file of an open folder; return False for what is none, a link for instance."""
    try:
        source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError:
        return False
    with os.fdopen(source, "rb") as data:
        found = os.fstat(source)
        if not stat.S_ISREG(found.st_mode) or found.st_size > most:
            return False
        with (target / name).open("wb") as copy:
            shutil.copyfileobj(data, copy)
    return True
