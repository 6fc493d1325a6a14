"""A student's rows in nbgrader's gradebook: written as ``nbgrader autograde`` would, or removed."""

import contextlib
import datetime
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.api import Comment, Grade, Gradebook, Student, SubmittedAssignment, SubmittedNotebook
from nbgrader.utils import compute_checksum, determine_grade, is_grade, is_solution, is_task
from sqlalchemy import text
from sqlalchemy.orm import selectinload

from autograder.class_folders import GRADEBOOK
from autograder.clean_text import is_plain
from autograder.gradebook.database import gradebook_url
from autograder.gradebook.hand_grades import NO_RESPONSE
from autograder.term.dates import in_utc


@dataclass(frozen=True, kw_only=True)
class Autograded:
    """A student's notebook, ready for the gradebook.

    Attributes:
        student: The student's id.
        notebook: With outputs in its test cells.
        timestamp: When it was submitted, in UTC; None if unknown.
        extension: How much later than for others it is due; None for no extension.
        penalty: Points deducted for lateness; None for no penalty.
        unchanged: The student submitted nothing new, so hand-graded answers stay graded.
    """

    student: str
    notebook: NotebookNode
    timestamp: datetime.datetime | None = None
    extension: datetime.timedelta | None = None
    penalty: float | None = None
    unchanged: bool = False


class GradebookRows:
    """The rows of one homework in an open gradebook, which ``close`` closes.

    Args:
        gradebook: A gradebook that knows the homework.
        homework_id: The homework.
        due: The deadline; None leaves the gradebook's.
    """

    def __init__(
        self, gradebook: Gradebook, homework_id: str, due: datetime.datetime | None = None
    ) -> None:
        self._gradebook = gradebook
        self._session = gradebook.db
        notebook = gradebook.find_notebook(homework_id, homework_id)
        self.sources = {
            cell.name: (cell.source if cell.locked else None, cell.checksum)
            for cell in notebook.source_cells
        }
        """Maps grade_id to the cell's source (None for a student's cell) and its checksum."""
        tasks = {cell.id: cell.name for cell in notebook.task_cells}
        self._graded = {cell.id: cell.name for cell in notebook.grade_cells} | tasks
        self._answered = {cell.id: cell.name for cell in notebook.solution_cells} | tasks
        self._notebook_id = notebook.id
        self._assignment_id = notebook.assignment_id
        if due:
            notebook.assignment.duedate = in_utc(due)
            self._session.commit()
        self._session.rollback()
        self._session.expunge_all()

    def write(self, class_part: Sequence[Autograded]) -> None:
        """Write some students' rows in one transaction. Manual grades and comments stay.

        Raises:
            SQLAlchemyError: The database refused; no row was changed.
        """
        try:
            for autograded in class_part:
                self._write_one(autograded)
            self._session.commit()
        except BaseException:
            self._session.rollback()
            raise
        finally:
            self._session.expunge_all()  # a large class needs no more memory than a small one

    def close(self) -> None:
        """Close the gradebook."""
        self._gradebook.close()

    def _write_one(self, autograded: Autograded) -> None:
        submitted = self._find(autograded.student)
        is_new = submitted is None
        submitted = submitted or self._add(autograded.student)
        submitted.late_submission_penalty = autograded.penalty
        if autograded.timestamp is not None:
            submitted.assignment.timestamp = autograded.timestamp
        if autograded.extension is not None:
            submitted.assignment.extension = autograded.extension
        cells = {
            cell.metadata.nbgrader.grade_id: cell
            for cell in autograded.notebook.cells
            if "nbgrader" in cell.metadata
        }
        for grade in submitted.grades:
            cell = cells.get(self._graded[grade.cell_id])
            if cell is None or not is_grade(cell):
                continue
            score, _ = determine_grade(cell)
            if is_new or not autograded.unchanged or grade.auto_score != score:
                grade.needs_manual_grade = grade.manual_score is not None or score is None
            grade.auto_score = score
        for comment in submitted.comments:
            cell = cells.get(self._answered[comment.cell_id])
            if cell is not None and (is_solution(cell) or is_task(cell)):
                comment.auto_comment = _comment(cell)

    def _find(self, student: str) -> SubmittedNotebook | None:
        found: SubmittedNotebook | None = (
            self._session.query(SubmittedNotebook)
            .join(SubmittedNotebook.assignment)
            .options(selectinload(SubmittedNotebook.grades))
            .options(selectinload(SubmittedNotebook.comments))
            .filter(SubmittedNotebook.notebook_id == self._notebook_id)
            .filter(SubmittedAssignment.assignment_id == self._assignment_id)
            .filter(SubmittedAssignment.student_id == student)
            .one_or_none()
        )
        return found

    def _add(self, student: str) -> SubmittedNotebook:
        """Add the rows of a student's first submission."""
        if self._session.get(Student, student) is None:
            self._session.add(Student(id=student))
            self._session.flush()
        notebook = SubmittedNotebook(
            notebook_id=self._notebook_id,
            assignment=SubmittedAssignment(assignment_id=self._assignment_id, student_id=student),
            grades=[Grade(cell_id=cell) for cell in self._graded],
            comments=[Comment(cell_id=cell) for cell in self._answered],
        )
        self._session.add(notebook)
        return notebook


def _comment(cell: NotebookNode) -> str | None:
    untouched = cell.metadata.nbgrader.get("checksum") == compute_checksum(cell)
    return NO_RESPONSE if untouched and not is_task(cell) else None


def id_problem(student: str) -> str:
    """Return why nbgrader must not get a student with this id; empty if it may.

    An id is the name of a folder, which students choose themselves in some ways of submitting.
    """
    if any(sign in student for sign in "*?[+"):
        return "nbgrader takes *, ?, [ and + in a student's id for a pattern"
    if any(sign in student for sign in "<>&\"'`\\"):
        return "formgrader shows a student's id as HTML, so it must not contain markup"
    if "," in student or student.startswith(("=", "-", "@")):
        return "nbgrader exports an id unquoted, so a spreadsheet would read this one as a formula"
    if not is_plain(student):
        return "an id must be visible text on one line, without / and without a leading dot"
    return ""


def count_rows(student: str, course_folder: Path, db_url: str = "") -> int:
    """Count the student's submissions in the gradebook, plus one for the student; 0 if unknown."""
    with _opened(student, course_folder, db_url) as (_, person):
        return 1 + len(person.submissions) if person else 0


def remove_rows(student: str, course_folder: Path, db_url: str = "") -> None:
    """Remove everything that the gradebook holds of a student.

    Raises:
        SQLAlchemyError: The database refused; nothing was changed.
    """
    with _opened(student, course_folder, db_url) as (gradebook, person):
        if person is None:
            return
        for submission in person.submissions:
            for notebook in submission.notebooks:
                for row in (*notebook.grades, *notebook.comments, notebook):
                    gradebook.db.delete(row)
            gradebook.db.delete(submission)
        gradebook.db.flush()
        gradebook.db.delete(person)
        gradebook.db.commit()
        if gradebook.engine.dialect.name == "sqlite":  # its file still contains deleted rows
            with gradebook.engine.connect() as connection:
                bare = connection.execution_options(isolation_level="AUTOCOMMIT")
                bare.execute(text("VACUUM"))


@contextlib.contextmanager
def _opened(student: str, course_folder: Path, db_url: str) -> Iterator[tuple[Any, Any]]:
    """Yield the open gradebook and the student's row in it, each None if there is none."""
    is_text = student.encode(errors="ignore").decode() == student  # else no database takes it
    if not is_text or not (db_url or (course_folder / GRADEBOOK).is_file()):
        yield None, None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nbgrader's queries warn on the newest SQLAlchemy
        with Gradebook(gradebook_url(course_folder, db_url)) as gradebook:
            yield gradebook, gradebook.db.get(Student, student)
