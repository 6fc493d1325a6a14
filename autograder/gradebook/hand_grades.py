"""Points, extra credit and comments that people gave in nbgrader's gradebook."""

import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

from autograder.class_folders import GRADEBOOK
from autograder.clean_text import without_sql
from autograder.gradebook.database import DatabaseError, gradebook_url
from autograder.marks.standing import HandGrades

NO_RESPONSE = "No response."  # nbgrader's comment on an unchanged answer cell


def read_hand_grades(
    homework_id: str, course_folder: Path, db_url: str = ""
) -> dict[str, HandGrades]:
    """Return the hand grades of a homework by student; empty if no gradebook knows it.

    Raises:
        DatabaseError: The gradebook can't be read.
    """
    from nbgrader.api import Gradebook
    from sqlalchemy.exc import SQLAlchemyError

    if not db_url and not (course_folder / GRADEBOOK).is_file():
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nbgrader's queries warn on the newest SQLAlchemy
        try:
            with Gradebook(gradebook_url(course_folder, db_url)) as gradebook:
                return _read(gradebook.db, homework_id)
        except SQLAlchemyError as error:
            raise DatabaseError(
                f"the gradebook can't be read ({without_sql(str(error))}): hand grades are "
                "unknown, so nothing is written"
            ) from error


def _read(session: Any, homework_id: str) -> dict[str, HandGrades]:
    from nbgrader.api import (
        Assignment,
        BaseCell,
        Comment,
        Grade,
        SubmittedAssignment,
        SubmittedNotebook,
    )
    from sqlalchemy import and_, or_

    def rows(*columns: Any) -> Any:
        table = columns[0].class_
        return (
            session.query(SubmittedAssignment.student_id, BaseCell.name, *columns)
            .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
            .join(table, table.notebook_id == SubmittedNotebook.id)
            .join(BaseCell, BaseCell.id == table.cell_id)
            .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
            .filter(Assignment.name == homework_id)
        )

    points: dict[str, dict[str, float]] = defaultdict(dict)
    extra: dict[str, dict[str, float]] = defaultdict(dict)
    waiting: dict[str, set[str]] = defaultdict(set)
    comments: dict[str, dict[str, str]] = defaultdict(dict)
    given = or_(
        Grade.manual_score.isnot(None), Grade.extra_credit.isnot(None), Grade.needs_manual_grade
    )
    found = rows(Grade.manual_score, Grade.extra_credit, Grade.needs_manual_grade).filter(given)
    for student, cell, manual, more, waits in found:
        if manual is not None:
            points[student][cell] = manual
        if more:
            extra[student][cell] = more
        if waits:
            waiting[student].add(cell)
    # nbgrader's automatic comment counts for written answers only; code has checks.
    unanswered = and_(Comment.auto_comment == NO_RESPONSE, BaseCell.type == "GradeCell")
    said = or_(Comment.manual_comment != "", unanswered)
    told = rows(Comment.manual_comment, Comment.auto_comment).filter(said)
    for student, cell, words, auto in told:
        comments[student][cell] = words or auto
    students = (
        session.query(SubmittedAssignment.student_id)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .filter(Assignment.name == homework_id)
    )
    return {
        student: HandGrades(
            points=points[student],
            extra=extra[student],
            waiting=frozenset(waiting[student]),
            comments=comments[student],
        )
        for (student,) in students
    }
