"""Writes the rows that ``nbgrader autograde`` would write, several students in one transaction."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nbformat import NotebookNode
from nbgrader.api import (
    Base,
    Comment,
    Grade,
    Gradebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
    new_uuid,
)
from nbgrader.utils import compute_checksum, determine_grade, is_grade, is_solution, is_task
from sqlalchemy.orm import selectinload

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
        """By grade_id the cell's source (None for a student's cell) and its checksum."""
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
        """Write some students' rows in one transaction. Manual grades and comments stay."""
        try:
            for autograded in class_part:
                self._write_one(autograded)
            self._session.commit()
        except BaseException:
            self._session.rollback()
            raise
        finally:
            self._session.expunge_all()  # a large class needs no more memory than a small one

    def _write_one(self, autograded: Autograded) -> None:
        cells = [cell for cell in autograded.notebook.cells if "nbgrader" in cell.metadata]
        scores = {
            cell.metadata.nbgrader.grade_id: determine_grade(cell)[0]
            for cell in cells
            if is_grade(cell)
        }
        comments = {
            cell.metadata.nbgrader.grade_id: _comment(cell)
            for cell in cells
            if is_solution(cell) or is_task(cell)
        }
        found = self._find(autograded)
        if found is None:
            self._insert(autograded, scores, comments)
        else:
            self._update(found, autograded, scores, comments)

    def close(self) -> None:
        """Close the gradebook."""
        self._gradebook.close()

    def _find(self, autograded: Autograded) -> SubmittedNotebook | None:
        wanted = {"student_id": autograded.student, "assignment_id": self._assignment_id}
        found = self._session.query(SubmittedAssignment).filter_by(**wanted).one_or_none()
        if found is None:
            return None
        if autograded.timestamp is not None:
            found.timestamp = autograded.timestamp
        if autograded.extension is not None:
            found.extension = autograded.extension
        load = (selectinload(SubmittedNotebook.grades), selectinload(SubmittedNotebook.comments))
        return (
            self._session.query(SubmittedNotebook)
            .options(*load)
            .filter_by(assignment_id=found.id, notebook_id=self._notebook_id)
            .one()
        )

    def _insert(
        self,
        autograded: Autograded,
        scores: dict[str, float | None],
        comments: dict[str, str | None],
    ) -> None:
        """Insert the rows of a student's first submission, one statement a table."""

        def insert(table: type[Base], rows: list[dict[str, Any]]) -> None:
            self._session.execute(table.__table__.insert(), rows)

        student = autograded.student
        if self._session.get(Student, student) is None:
            self._session.add(Student(id=student))
            self._session.flush()
        submission, notebook = new_uuid(), new_uuid()
        place = {"assignment_id": self._assignment_id, "student_id": student}
        dates = {"timestamp": autograded.timestamp, "extension": autograded.extension}
        insert(SubmittedAssignment, [{"id": submission, **dates, **place}])
        place = {"assignment_id": submission, "notebook_id": self._notebook_id}
        place["late_submission_penalty"] = autograded.penalty
        insert(SubmittedNotebook, [{"id": notebook, **place}])
        grades = [
            {
                "notebook_id": notebook,
                "cell_id": cell,
                "auto_score": scores.get(name),
                "needs_manual_grade": scores.get(name) is None,
            }
            for cell, name in self._graded.items()
        ]
        if grades:
            insert(Grade, grades)
        answers = [
            {"notebook_id": notebook, "cell_id": cell, "auto_comment": comments.get(name)}
            for cell, name in self._answered.items()
        ]
        if answers:
            insert(Comment, answers)

    def _update(
        self,
        submitted: SubmittedNotebook,
        autograded: Autograded,
        scores: dict[str, float | None],
        comments: dict[str, str | None],
    ) -> None:
        """Update a student's rows, except for grades and comments given by hand."""
        submitted.late_submission_penalty = autograded.penalty
        for grade in submitted.grades:
            name = self._graded[grade.cell_id]
            if name not in scores:
                continue
            if not autograded.unchanged or grade.auto_score != scores[name]:
                grade.needs_manual_grade = grade.manual_score is not None or scores[name] is None
            grade.auto_score = scores[name]
        for comment in submitted.comments:
            name = self._answered[comment.cell_id]
            if name in comments:
                comment.auto_comment = comments[name]


def _comment(cell: NotebookNode) -> str | None:
    untouched = cell.metadata.nbgrader.get("checksum") == compute_checksum(cell)
    return NO_RESPONSE if untouched and not is_task(cell) else None
