"""Records a class's results in an nbgrader course: gradebook, submitted and autograded notebooks.

One thread of one process writes, while others grade. What it leaves is, row by row and file by
file, what ``nbgrader autograde`` would leave.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError

from autograder.atomic_write import write_atomically
from autograder.class_folders import AUTOGRADED, SUBMITTED
from autograder.class_run.submissions import (
    TIMESTAMP,
    read_handed_in,
    read_notebook,
    read_timestamp,
)
from autograder.clean_text import one_line, without_sql
from autograder.gradebook.database import gradebook_url
from autograder.gradebook.graded_notebook import (
    restore_instructors_cells,
    transplant,
    write_outcomes,
)
from autograder.gradebook.rows import Autograded, GradebookRows
from autograder.homework_source.homework import Homework, HomeworkError
from autograder.judging.results import SubmissionResult
from autograder.marks.dates import Dates, in_utc
from autograder.marks.lateness import Lateness
from autograder.releasing.generated_assignment import generate_assignment

_PATIENCE_SECONDS = 60.0  # how long a database may be locked or away
_MOST_WAITING = 64  # results; whoever brings more waits, so that memory stays flat
_MOST_TOGETHER = 32  # results in one transaction
_PAUSE_SECONDS = 0.5  # between two tries

_T = TypeVar("_T")


class GradebookError(RuntimeError):
    """Some results are not in the gradebook; the message says which, and why."""


@dataclass(frozen=True, kw_only=True)
class _Ready:
    """A student, and the files that belong to the rows."""

    autograded: Autograded
    submitted: str  # the notebook as it was handed in
    timestamp: str  # as it was handed in; empty if nothing says

    @property
    def student(self) -> str:
        return self.autograded.student


class GradebookRecorder:
    """Records results where nbgrader, and so formgrader, finds them; used in a ``with`` block.

    Results are written in a thread of their own, those that wait together in one transaction: the
    disk has to confirm it once. Manual grades and comments that are already there stay. The block
    ends when everything is written.

    Args:
        submissions: Where the notebooks were handed in, laid out as nbgrader's.
        homework: The homework.
        course_folder: nbgrader's course folder; made if it is not there.
        db_url: SQLAlchemy address of the database, such as ``postgresql://host/gradebook``;
            ``gradebook.db`` in the course folder if empty.
        dates: When homework is due, for nbgrader's pages.
        lateness: Says how late a submission is, for nbgrader's late penalties.
        on_recorded: Called in that thread with the id of each student who was recorded.

    Raises:
        GradebookError: At the end of the block: nbgrader refused some students, or the database
            could not be used; the message names them. All others are recorded.
    """

    def __init__(
        self,
        submissions: Path,
        homework: Homework,
        *,
        course_folder: Path,
        db_url: str = "",
        dates: Dates | None = None,
        lateness: Callable[[SubmissionResult], Lateness] = lambda result: Lateness(),
        on_recorded: Callable[[str], None] = lambda student: None,
    ) -> None:
        self._submissions = submissions.resolve()
        self._homework = homework
        self._course = course_folder.resolve()
        self._db_url = gradebook_url(self._course, db_url)
        self._dates = dates or Dates()
        self._lateness = lateness
        self._on_recorded = on_recorded
        self._refused: dict[str, str] = {}
        self._room = threading.BoundedSemaphore(_MOST_WAITING)
        self._waiting: deque[SubmissionResult] = deque()
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="gradebook")
        self._away_since: float | None = None

    def __enter__(self) -> "GradebookRecorder":
        """Begin to open the gradebook; does not wait for it."""
        self._opened = self._writer.submit(self._open)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait until everything is written; say what is not."""
        self._writer.submit(self._close)
        self._writer.shutdown()
        if error is None:
            self._opened.result()
            if self._refused:
                student, reason = next(iter(self._refused.items()))
                names = ", ".join(one_line(name) for name in self._refused)
                why = without_sql(reason).strip().rpartition("\n")[2]  # a traceback's last line
                raise GradebookError(f"not recorded: {names}; {one_line(student)}: {why}")

    def record(self, result: SubmissionResult) -> None:
        """Take a result to be written; returns at once, unless many are waiting.

        Args:
            result: Of a student whose notebook lies in the folder of submissions.
        """
        self._room.acquire()
        self._waiting.append(result)
        self._writer.submit(self._record_waiting)

    def _open(self) -> None:
        try:
            released = self._patiently(
                lambda: generate_assignment(self._homework, self._course, self._db_url)
            )
            self._rows = self._patiently(
                lambda: GradebookRows(
                    Gradebook(self._db_url),
                    self._homework.id,
                    self._dates.due.get(self._homework.id),
                )
            )
            self._released = nbformat.read(released, as_version=4)
        except HomeworkError as error:
            raise GradebookError(str(error)) from error
        except (OSError, SQLAlchemyError) as error:
            raise GradebookError(f"the gradebook can't be used: {error}") from error

    def _close(self) -> None:
        if self._opened.exception() is None:
            self._rows.close()

    def _record_waiting(self) -> None:
        """Record what has come in the meantime; nothing, where an earlier call took it along."""
        ready: list[_Ready] = []
        for _ in range(min(len(self._waiting), _MOST_TOGETHER)):
            result = self._waiting.popleft()
            self._room.release()
            if self._opened.exception() is not None:
                continue  # told at the end of the block
            try:
                ready.append(self._prepare(result))
            except Exception as error:  # one student's trouble is not the next one's
                self._refuse(result.student, error)
        try:
            self._write(ready)
        except Exception:
            for one in ready:  # whose fault was it?
                try:
                    self._write([one])
                except Exception as error:
                    self._refuse(one.student, error)

    def _refuse(self, student: str, error: Exception) -> None:
        self._refused[student] = str(error) or repr(error)

    def _prepare(self, result: SubmissionResult) -> _Ready:
        """Make the autograded notebook."""
        student = result.student
        if any(sign in student for sign in "*?[+"):
            raise GradebookError("nbgrader takes *, ?, [ and + in a student's id for a pattern")
        if any(sign in student for sign in "<>&\"'`\\"):
            raise GradebookError("formgrader shows a student's id as HTML: it must hold none")
        name = f"{self._homework.id}.ipynb"
        handed_in = self._submissions / student / self._homework.id
        if result.error:
            notebook = nbformat.from_dict(self._released)
        else:
            data = read_notebook(handed_in / name)
            notebook = transplant(self._released, data, self._homework)
        submitted = nbformat.writes(notebook) + "\n"
        restore_instructors_cells(notebook, self._rows.sources)
        write_outcomes(notebook, result, self._homework)
        moment = read_handed_in(handed_in)
        due = self._dates.due.get(self._homework.id)
        own = self._dates.due_for(student, self._homework.id)
        autograded = Autograded(
            student=student,
            notebook=notebook,
            timestamp=in_utc(moment) if moment else None,
            extension=in_utc(own) - in_utc(due) if due and own and own != due else None,
            penalty=self._lateness(result).share * result.max_score or None,
            unchanged=_same_answers(self._place(SUBMITTED, student) / name, notebook),
        )
        timestamp = read_timestamp(handed_in) if moment else ""
        return _Ready(autograded=autograded, submitted=submitted, timestamp=timestamp)

    def _write(self, class_part: Sequence[_Ready]) -> None:
        if not class_part:
            return
        # The rows first: a run that is killed in between sees a new submission again.
        self._patiently(lambda: self._rows.write([ready.autograded for ready in class_part]))
        for ready in class_part:
            self._write_files(ready)
            self._on_recorded(ready.student)

    def _write_files(self, ready: _Ready) -> None:
        copy, graded = (self._place(step, ready.student) for step in (SUBMITTED, AUTOGRADED))
        name = f"{self._homework.id}.ipynb"
        autograded = nbformat.writes(ready.autograded.notebook) + "\n"
        files = {copy / name: ready.submitted, graded / name: autograded}
        if ready.timestamp:
            files |= {folder / TIMESTAMP: ready.timestamp for folder in (copy, graded)}
        for path, text in files.items():
            if not _reads(path, text):
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, text, lasting=False)  # what is lost is written again
                if graded in path.parents:
                    path.chmod(0o444)  # as nbgrader leaves it

    def _place(self, step: str, student: str) -> Path:
        return self._course / step / student / self._homework.id

    def _patiently(self, do: Callable[[], _T]) -> _T:
        """Do it, again and again while the database is locked or away; not for ever."""
        while True:
            try:
                done = do()
            except (OperationalError, InterfaceError):
                now = time.monotonic()
                self._away_since = self._away_since or now
                if now - self._away_since > _PATIENCE_SECONDS:
                    raise
                time.sleep(_PAUSE_SECONDS)
            else:
                self._away_since = None
                return done


def _reads(path: Path, text: str) -> bool:
    """Return whether a file holds just this text."""
    try:
        return path.read_text(encoding="utf-8") == text
    except (OSError, ValueError):
        return False


def _same_answers(path: Path, notebook: NotebookNode) -> bool:
    """Return whether a file holds the same cells of the student's: the instructor's may be new."""
    try:
        before = nbformat.read(path, as_version=4)
    except (OSError, ValueError):
        return False
    return _answers(before) == _answers(notebook)


def _answers(notebook: NotebookNode) -> list[str]:
    return [
        cell.source
        for cell in notebook.cells
        if not cell.metadata.get("nbgrader", {}).get("locked")
    ]
