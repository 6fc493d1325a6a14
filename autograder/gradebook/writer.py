"""Writes results into an nbgrader course: its gradebook, submitted and autograded notebooks.

Row by row and file by file this is the same as ``nbgrader autograde`` writes.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError

from autograder.class_folders import AUTOGRADED, SUBMITTED
from autograder.class_run.submissions import (
    TIMESTAMP,
    find_notebook,
    read_handed_in,
    read_notebook,
    read_timestamp,
)
from autograder.clean_text import one_line, without_sql
from autograder.files import write_atomically
from autograder.gradebook.course_assignment import ensure_assignment
from autograder.gradebook.database import GradebookError, gradebook_url
from autograder.gradebook.graded_notebook import (
    restore_instructors_cells,
    transplant,
    write_outcomes,
)
from autograder.gradebook.rows import Autograded, GradebookRows, id_problem
from autograder.homework_source.homework import Homework, HomeworkError
from autograder.judging.results import SubmissionResult
from autograder.marks.standing import Lateness
from autograder.term.dates import Dates, in_utc

_PATIENCE_SECONDS = 60.0  # for a locked or unreachable database
_PAUSE_SECONDS = 0.5  # between two tries
_MAX_TOGETHER = 32  # results in one transaction
_MAX_WAIT_SECONDS = 0.5  # of a result for others to share a transaction with

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class _Ready:
    """A student's rows and files, ready to be written.

    Attributes:
        autograded: Source of the gradebook's rows and of the autograded notebook.
        submitted: Text of the submitted notebook's file.
        timestamp: Text of timestamp.txt; empty if there is none.
    """

    autograded: Autograded
    submitted: str
    timestamp: str

    @property
    def student(self) -> str:
        return self.autograded.student


class GradebookWriter:
    """Writes results of one homework where nbgrader, and so formgrader, finds them.

    Used in a ``with`` block by one thread. Manual grades and comments that are already there stay.
    The gradebook is opened with the first results.

    Args:
        submissions: The submitted notebooks, in nbgrader's layout.
        homework: The homework.
        course_folder: nbgrader's course folder; made if it is missing.
        db_url: SQLAlchemy address of the database, such as ``postgresql://host/gradebook``;
            ``gradebook.db`` in the course folder if empty.
        dates: Deadlines, for nbgrader's pages.
        lateness: Returns how late a submission is, for nbgrader's late penalties.
        on_recorded: Called with each recorded student's id.

    Attributes:
        refused: The reason for each student who could not be recorded.

    Raises:
        GradebookError: At the end of the block: some students were not recorded, or the database
            could not be used. The message names them. All others are recorded.
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
        self._name = f"{homework.id}.ipynb"
        self._course = course_folder.resolve()
        self._db_url = gradebook_url(self._course, db_url)
        self._dates = dates or Dates()
        self._lateness = lateness
        self._on_recorded = on_recorded
        self.refused: dict[str, str] = {}
        self._away_since: float | None = None
        self._waiting: list[SubmissionResult] = []
        self._written = time.monotonic()
        self._unusable: GradebookError | None = None
        self._opened: GradebookRows | None = None

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write waiting results and close the gradebook; name the students not recorded."""
        self._flush()
        if self._opened is not None:
            self._opened.close()
        if error is None and self._unusable:
            raise self._unusable
        if error is None and self.refused:
            student, reason = next(iter(self.refused.items()))
            names = ", ".join(one_line(name) for name in self.refused)
            why = without_sql(reason).strip().rpartition("\n")[2]  # a traceback's last line
            words = f"not recorded: {names}; {one_line(student)}: {why}"
            raise GradebookError(words, self.refused)

    def record(self, result: SubmissionResult) -> None:
        """Write a result, at once or together with the next ones in one transaction.

        A result whose grading was interrupted is not written.
        """
        if not result.interrupted:
            self._waiting.append(result)
        is_due = time.monotonic() - self._written > _MAX_WAIT_SECONDS
        if is_due or len(self._waiting) == _MAX_TOGETHER:
            self._flush()

    def _flush(self) -> None:
        results, self._waiting = self._waiting, []
        try:
            if results and not self._unusable:
                self._record(results, self._open())
        except GradebookError as error:  # grading goes on; the end of the block raises it
            self._unusable = error
        self._written = time.monotonic()

    def _open(self) -> GradebookRows:
        if self._opened is not None:
            return self._opened
        homework, due = self._homework, self._dates.due.get(self._homework.id)
        try:
            path = self._patiently(lambda: ensure_assignment(homework, self._course, self._db_url))
            self._released = nbformat.read(path, as_version=4)
            self._opened = self._patiently(
                lambda: GradebookRows(Gradebook(self._db_url), homework.id, due)
            )
        except HomeworkError as error:
            raise GradebookError(str(error)) from error
        except (OSError, SQLAlchemyError) as error:
            raise GradebookError(f"the gradebook can't be used: {error}") from error
        return self._opened

    def _record(self, results: Sequence[SubmissionResult], rows: GradebookRows) -> None:
        ready: list[_Ready] = []
        for result in results:
            try:
                ready.append(self._prepare(result, rows))
            except Exception as error:  # the next students are still recorded
                self._refuse(result.student, error)
        try:
            self._write(ready, rows)
        except Exception:
            for one in ready:  # find the one that failed
                try:
                    self._write([one], rows)
                except Exception as error:
                    self._refuse(one.student, error)

    def _refuse(self, student: str, error: Exception) -> None:
        self.refused[student] = str(error) or repr(error)

    def _prepare(self, result: SubmissionResult, rows: GradebookRows) -> _Ready:
        """Return a student's rows and files, with the autograded notebook, ready to be written."""
        student = result.student
        if reason := id_problem(student):
            raise GradebookError(reason)
        handed_in = self._submissions / student / self._homework.id
        if result.error:
            notebook = nbformat.from_dict(self._released)
        else:
            data = read_notebook(find_notebook(handed_in, self._homework.id))
            notebook = transplant(self._released, data, self._homework)
        submitted = _text(notebook)
        restore_instructors_cells(notebook, rows.sources)
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
            unchanged=_same_answers(self._place(SUBMITTED, student) / self._name, notebook),
        )
        timestamp = read_timestamp(handed_in) if moment else ""
        return _Ready(autograded=autograded, submitted=submitted, timestamp=timestamp)

    def _write(self, class_part: Sequence[_Ready], rows: GradebookRows) -> None:
        if not class_part:
            return
        # Rows first: after a kill in between, the next run writes the files.
        self._patiently(lambda: rows.write([ready.autograded for ready in class_part]))
        for ready in class_part:
            self._write_files(ready)
            self._on_recorded(ready.student)

    def _write_files(self, ready: _Ready) -> None:
        copy, graded = (self._place(step, ready.student) for step in (SUBMITTED, AUTOGRADED))
        autograded = _text(ready.autograded.notebook)
        files = {copy / self._name: ready.submitted, graded / self._name: autograded}
        if ready.timestamp:
            files |= {folder / TIMESTAMP: ready.timestamp for folder in (copy, graded)}
        for path, text in files.items():
            if not _reads(path, text):
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, text, lasting=False)  # the next run would write it again
                if graded in path.parents:
                    path.chmod(0o444)  # as nbgrader leaves it

    def _place(self, step: str, student: str) -> Path:
        return self._course / step / student / self._homework.id

    def _patiently(self, do: Callable[[], _T]) -> _T:
        """Call ``do``; retry for a minute while the database is locked or unreachable."""
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


def _text(notebook: NotebookNode) -> str:
    return str(nbformat.writes(notebook)) + "\n"


def _reads(path: Path, text: str) -> bool:
    """Return whether a file contains exactly this text."""
    try:
        return path.read_text(encoding="utf-8") == text
    except (OSError, ValueError):
        return False


def _same_answers(path: Path, notebook: NotebookNode) -> bool:
    """Return whether a notebook file has the same student's cells; the others may differ."""
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
