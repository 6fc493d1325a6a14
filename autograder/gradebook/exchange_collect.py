"""Collecting from nbgrader's exchange what can be graded, and nothing that a student points to.

Students write into the exchange's ``inbound`` themselves, and name what lies there. nbgrader 0.9.6
follows links that it finds there, with the rights of whoever collects: a link to the instructor's
notebook would be a solved submission. It only warns of a submission in somebody else's name, which
would take the place of their own. It ends at the first name, or time, that it can't read, and then
nobody's is collected; or that releasing feedback can't, and then nobody's is released. It shows
formgrader, and a terminal, whatever a folder is called, and takes signs in it for a pattern that
means other students.
"""

import contextlib
import logging
import os
import pwd
import secrets
from datetime import datetime
from pathlib import Path
from typing import Any

from nbgrader.exchange.default import ExchangeCollect

from autograder.clean_text import clean_text, is_plain, one_line
from autograder.gradebook.student_ids import why_unfit
from autograder.moments import plausible
from autograder.open_regular import open_regular

_KEPT = {".ipynb", ".txt"}  # notebooks; when it was handed in; what its feedback is found by
_MOST_FILES = 1000  # of a submission
_MOST_WORDS = 1000  # bytes of a file that is no notebook
_PIECE = 1 << 20
_TIMESTAMP, _SECRET = "timestamp.txt", "submission_secret.txt"


class CollectNotebooks(ExchangeCollect):
    """What ``c.ExchangeFactory.collect`` names: copies the files that grading reads."""

    src_records: list[dict[str, Any]]

    def start(self) -> None:
        """Collect; what students have named goes to the log without what it could do there."""
        self.log.addFilter(_clean)
        try:
            super().start()
        finally:
            self.log.removeFilter(_clean)

    def init_src(self) -> None:
        """Look for what was handed in; what is named as no submission is, is nobody's.

        For whom anything is left here, nbgrader makes a folder.
        """
        super().init_src()
        records = [record for record in self.src_records if record["username"]]
        self.src_records = [record for record in records if self._is_owned(self._path(record))]

    def do_copy(self, src: str, dest: str, log: logging.Logger | None = None) -> None:
        """Copy a submission.

        Args:
            src: Its folder in the exchange.
            dest: Where it is to lie in the course folder.
            log: Not used.
        """
        if not self._is_owned(src):  # any more: its folder lies where students write
            return
        try:
            folder = os.open(src, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError as error:
            self.log.error("Not collected: %s (%s)", src, error.strerror)
            return
        target = Path(dest)
        target.mkdir()
        try:
            self._copy_files(src, folder, target)
        finally:
            os.close(folder)
        self._mend_time(src, target)
        self._mend_secret(src, target)

    def _copy_files(self, src: str, folder: int, target: Path) -> None:
        room = 1000 * self.coursedir.max_dir_size  # nbgrader's kilobytes
        # nbgrader writes them into its log, and the staff's terminal, as they are.
        names = [n for n in sorted(os.listdir(folder)) if Path(n).suffix in _KEPT and is_plain(n)]
        for name in names[:_MOST_FILES]:
            most = 1000 * self.coursedir.max_file_size if name.endswith(".ipynb") else _MOST_WORDS
            copied = _copy(name, folder, target, min(most, room))
            if copied is None:
                self.log.error("Not collected: %s/%s is no file, or too large", src, name)
            room -= copied or 0
        if len(names) > _MOST_FILES:
            self.log.error("Not collected: more than %s files of %s", _MOST_FILES, src)

    def _mend_time(self, src: str, target: Path) -> None:
        """Put the time in the folder's name where what was handed in tells none.

        Else the next step that reads it would end there.
        """
        try:
            found = self.coursedir.get_existing_timestamp(str(target))
            is_time = found is not None and plausible(found)
        except Exception:  # whatever is said of what is no time
            is_time = False
        if not is_time:
            moment = self._path_to_record(src)["timestamp"]
            (target / _TIMESTAMP).write_text(f"{moment} UTC\n")

    def _mend_secret(self, src: str, target: Path) -> None:
        """Make up by what its feedback is found, where what was handed in does not tell it.

        Else releasing feedback, which reads it, would end there.
        """
        secret = target / _SECRET
        try:
            is_told = bool(secret.read_text(encoding="ascii"))
        except (OSError, ValueError):
            is_told = False
        if not is_told:
            self.log.error("%s does not tell by what its feedback is found: its student won't", src)
            secret.write_text(secrets.token_hex(32))

    def _path_to_record(self, path: str) -> dict[str, Any]:
        """Read whose a folder in the exchange is, and from when; nobody's if it can't be."""
        name = Path(path).name
        record: dict[str, Any] = {"username": ""}
        # Whatever is said of what is no time, or of too few parts.
        with contextlib.suppress(Exception, SystemExit):
            record = super()._path_to_record(path)
        is_named = bool(record["username"])
        reason = why_unfit(record["username"]) if is_named else "it is not named as a submission is"
        if not reason:
            return record
        self.log.error("Not collected: %s (%s)", one_line(name), reason)
        return {"username": "", "filename": name, "timestamp": datetime.min}

    def _sort_by_timestamp(self, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Put the newest first, and behind all of them those in somebody else's name."""
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
        """Return whether a submission is owned by whom it names, where that is to be asked."""
        student = Path(path).name.rsplit("+", 3)[0]
        try:
            return not self.check_owner or pwd.getpwnam(student).pw_uid == os.lstat(path).st_uid
        except (KeyError, ValueError):
            return False  # no such account, or no name of any


def _copy(name: str, folder: int, target: Path, most: int) -> int | None:
    """Copy a file of an open folder; return its size, None for a link and other things."""
    try:
        data = open_regular(name, dir_fd=folder)
    except OSError:
        return None
    with data:
        size = os.fstat(data.fileno()).st_size
        if size > most:
            return None
        left = size  # it may grow meanwhile
        with (target / name).open("wb") as copy:
            while left and (piece := data.read(min(left, _PIECE))):
                copy.write(piece)
                left -= len(piece)
    return size


def _clean(record: logging.LogRecord) -> bool:
    """Take from a line of the log what it could do to a terminal."""
    record.msg, record.args = clean_text(record.getMessage()), ()
    return True
