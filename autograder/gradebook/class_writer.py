"""Writes results into an nbgrader course: its gradebook, submitted and autograded notebooks.

What it leaves is, row by row and file by file, what ``nbgrader autograde`` would leave.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
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
from autograder.gradebook.course_assignment import ensure_assignment
from autograder.gradebook.database import gradebook_url
from autograder.gradebook.errors import GradebookError
from autograder.gradebook.graded_notebook import (
    restore_instructors_cells,
    transplant,
    write_outcomes,
)
from autograder.gradebook.notebook_text import notebook_text
from autograder.gradebook.rows import Autograded, GradebookRows
from autograder.gradebook.student_ids import why_unfit
from autograder.homework_source.homework import Homework, HomeworkError
from autograder.judging.results import SubmissionResult
from autograder.marks.dates import Dates, in_utc
from autograder.marks.lateness import Lateness

_PATIENCE_SECONDS = 60.0  # how long a database may be locked or away
_PAUSE_SECONDS = 0.5  # between two tries

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class _Ready:
    """A student, and the files that belong to the rows."""

    autograded: Autograded
    submitted: str  # the notebook as it was handed in
    timestamp: str  # as it was handed in; empty if nothing says

    @property
    def student(self) -> str:
        return self.autograded.student


class ClassWriter:
    """Writes results of one homework; used by one thread.

    Args:
        submissions: Where the notebooks were handed in, laid out as nbgrader's.
        homework: The homework.
        course_folder: nbgrader's course folder; made if it is not there.
        db_url: As ``gradebook_url``.
        dates: When homework is due, for nbgrader's pages.
        lateness: Says how late a submission is, for nbgrader's late penalties.
        on_recorded: Called with the id of each student who was recorded.

    Attributes:
        refused: Why a student could not be recorded, by student.

    Raises:
        GradebookError: The database can't be used.
    """

    def __init__(
        self,
        submissions: Path,
        homework: Homework,
        *,
        course_folder: Path,
        db_url: str,
        dates: Dates,
        lateness: Callable[[SubmissionResult], Lateness],
        on_recorded: Callable[[str], None],
    ) -> None:
        self._submissions = submissions
        self._homework = homework
        self._course = course_folder
        self._db_url = gradebook_url(course_folder, db_url)
        self._dates = dates
        self._lateness = lateness
        self._on_recorded = on_recorded
        self.refused: dict[str, str] = {}
        self._away_since: float | None = None
        self._open()

    def _open(self) -> None:
        try:
            released = self._patiently(
                lambda: ensure_assignment(self._homework, self._course, self._db_url)
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

    def close(self) -> None:
        """Close the gradebook."""
        self._rows.close()

    def write(self, results: Sequence[SubmissionResult]) -> None:
        """Write results in one transaction; those that are refused are left out, and remembered."""
        ready: list[_Ready] = []
        for result in results:
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
        self.refused[student] = str(error) or repr(error)

    def _prepare(self, result: SubmissionResult) -> _Ready:
        """Make the autograded notebook."""
        student = result.student
        if reason := why_unfit(student):
            raise GradebookError(reason)
        name = f"{self._homework.id}.ipynb"
        handed_in = self._submissions / student / self._homework.id
        if result.error:
            notebook = nbformat.from_dict(self._released)
        else:
            data = read_notebook(handed_in / name)
            notebook = transplant(self._released, data, self._homework)
        submitted = notebook_text(notebook)
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
        autograded = notebook_text(ready.autograded.notebook)
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
