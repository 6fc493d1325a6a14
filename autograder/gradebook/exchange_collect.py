"""Collects submissions from nbgrader's exchange without trusting the students who wrote them.

Students write into the exchange's ``inbound`` folder and name the folders there. nbgrader 0.9.6
follows symbolic links with the rights of the person who collects, only warns about a submission in
another student's name, and stops at the first folder name or time that it cannot parse.
"""

import contextlib
import logging
import os
import pwd
import re
import secrets
from datetime import datetime
from pathlib import Path
from typing import Any

from nbgrader.exchange.default import ExchangeCollect

from autograder.clean_text import clean_text, is_plain, one_line
from autograder.files import open_regular
from autograder.gradebook.rows import id_problem

_MAX_FILES = 1000  # per submission


class CollectNotebooks(ExchangeCollect):
    """Collects as nbgrader does, but only notebooks, and only those that the student owns.

    Set it as ``c.ExchangeFactory.collect``. Links and large files are not copied.
    """

    src_records: list[dict[str, Any]]

    def start(self) -> None:
        """Collect submissions; the log shows students' file names without control characters."""
        self.log.addFilter(_clean)
        try:
            super().start()
        finally:
            self.log.removeFilter(_clean)

    def init_src(self) -> None:
        """Find the submissions; leave out those that are misnamed or owned by somebody else."""
        super().init_src()
        records = [record for record in self.src_records if record["username"]]
        self.src_records = [record for record in records if self._is_owned(self._path(record))]

    def do_copy(self, src: str, dest: str, log: logging.Logger | None = None) -> None:
        """Copy the notebooks of the submission ``src`` to ``dest``, with two files for nbgrader.

        They hold its time, and the random text that leads its student to the feedback.
        """
        if not self._is_owned(src):  # students may have replaced the folder since init_src
            return
        try:
            folder = os.open(src, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError as error:
            self.log.error("Not collected: %s (%s)", src, error.strerror)
            return
        target = Path(dest)
        target.mkdir()
        try:
            self._copy_notebooks(src, folder, target)
            moment = self._path_to_record(src)["timestamp"]
            (target / "timestamp.txt").write_text(f"{moment} UTC\n")
            (target / "submission_secret.txt").write_text(self._secret(src, folder))
        finally:
            os.close(folder)

    def _copy_notebooks(self, src: str, folder: int, target: Path) -> None:
        room = 1000 * self.coursedir.max_dir_size  # nbgrader counts kilobytes
        names = [name for name in sorted(os.listdir(folder)) if name.endswith(".ipynb")]
        if len(names) > _MAX_FILES:
            self.log.error("Not collected: more than %s notebooks of %s", _MAX_FILES, src)
        for name in filter(is_plain, names[:_MAX_FILES]):
            data = _read(name, folder, min(1000 * self.coursedir.max_file_size, room))
            if data is None:
                self.log.error("Not collected: %s/%s is not a file, or too large", src, name)
            else:
                (target / name).write_bytes(data)
                room -= len(data)

    def _secret(self, src: str, folder: int) -> str:
        """Return the submission's secret, by which nbgrader releases feedback; new if malformed.

        ``folder`` is the descriptor of the submission's folder.
        """
        data = _read("submission_secret.txt", folder, 1000) or b""
        if re.fullmatch(rb"[\w-]+", data.strip()):
            return data.decode()
        self.log.error("%s has no submission secret: its student cannot fetch feedback", src)
        return secrets.token_hex(32)

    def _path_to_record(self, path: str) -> dict[str, Any]:
        """Parse the student and the time from a folder's name; no student if that fails."""
        name = Path(path).name
        record: dict[str, Any] = {"username": ""}
        with contextlib.suppress(Exception, SystemExit):  # nbgrader's parsers raise many kinds
            record = super()._path_to_record(path)
        problem = id_problem(record["username"]) if record["username"] else "malformed folder name"
        if not problem:
            return record
        self.log.error("Not collected: %s (%s)", one_line(name), problem)
        return {"username": "", "filename": name, "timestamp": datetime.min}

    def _sort_by_timestamp(self, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Sort the newest first, and submissions in another student's name last."""
        newest = super()._sort_by_timestamp(records)
        return sorted(newest, key=lambda record: not self._is_theirs(self._path(record)))

    def _path(self, record: dict[str, Any]) -> str:
        return os.path.join(self.inbound_path, record["filename"])  # noqa: PTH118 -- as nbgrader

    def _is_owned(self, path: str) -> bool:
        if not self._is_theirs(path):
            self.log.error("Not collected: %s is not owned by the student it names", path)
            return False
        return True

    def _is_theirs(self, path: str) -> bool:
        student = Path(path).name.rsplit("+", 3)[0]
        try:
            return not self.check_owner or pwd.getpwnam(student).pw_uid == os.lstat(path).st_uid
        except (KeyError, ValueError):  # no such account
            return False


def _read(name: str, folder: int, limit: int) -> bytes | None:
    """Return a regular file's bytes; None for links, other kinds, and more than ``limit`` bytes.

    ``folder`` is the descriptor of the file's folder.
    """
    try:
        with open_regular(name, dir_fd=folder) as file:
            data = file.read(limit + 1)
    except OSError:
        return None
    return data if len(data) <= limit else None


def _clean(record: logging.LogRecord) -> bool:
    record.msg, record.args = clean_text(record.getMessage()), ()
    return True
