"""Removes a student from nbgrader's gradebook: all rows, or none."""

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autograder.class_folders import GRADEBOOK
from autograder.gradebook.database import gradebook_url


def count_rows(student: str, course_folder: Path, db_url: str = "") -> int:
    """Count the student's submissions in the gradebook, plus one for the student; 0 if unknown."""
    with _student(student, course_folder, db_url) as (_, person):
        return 0 if person is None else 1 + len(person.submissions)


def remove_rows(student: str, course_folder: Path, db_url: str = "") -> None:
    """Remove everything that the gradebook holds of a student.

    Raises:
        SQLAlchemyError: The database refused; nothing was changed.
    """
    from sqlalchemy import text

    with _student(student, course_folder, db_url) as (gradebook, person):
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
def _student(student: str, course_folder: Path, db_url: str) -> Iterator[tuple[Any, Any]]:
    """Open the gradebook and find the student; two Nones where either is missing."""
    from nbgrader.api import Gradebook, Student

    is_text = student.encode(errors="ignore").decode() == student  # else no database takes it
    if not is_text or not (db_url or (course_folder / GRADEBOOK).is_file()):
        yield None, None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nbgrader's queries warn on the newest SQLAlchemy
        with Gradebook(gradebook_url(course_folder, db_url)) as gradebook:
            yield gradebook, gradebook.db.get(Student, student)
