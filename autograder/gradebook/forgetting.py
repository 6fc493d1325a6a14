"""Takes a person out of nbgrader's gradebook: all rows at once, or none."""

import warnings
from pathlib import Path
from typing import Any

from autograder.class_folders import GRADEBOOK
from autograder.gradebook.database import gradebook_url


def count_rows(student: str, course_folder: Path, db_url: str = "") -> int:
    """Count what the gradebook holds of a student.

    Args:
        student: The student's id.
        course_folder: nbgrader's course folder.
        db_url: The gradebook's database; the file in the course folder if empty.

    Returns:
        How many submissions, and one for the student; 0 if the student is not in it.
    """
    return len(_rows(student, course_folder, db_url, remove=False))


def remove_rows(student: str, course_folder: Path, db_url: str = "") -> None:
    """Remove all that the gradebook holds of a student.

    Args:
        student: The student's id.
        course_folder: nbgrader's course folder.
        db_url: The gradebook's database; the file in the course folder if empty.

    Raises:
        SQLAlchemyError: The database refused; everything is as it was.
    """
    _rows(student, course_folder, db_url, remove=True)


def _rows(student: str, course_folder: Path, db_url: str, *, remove: bool) -> list[Any]:
    from nbgrader.api import Gradebook, Student
    from sqlalchemy import text

    if not db_url and not (course_folder / GRADEBOOK).is_file():
        return []
    if student.encode(errors="ignore").decode() != student:  # a name that no database takes
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nbgrader's queries trouble the newest SQLAlchemy
        with Gradebook(gradebook_url(course_folder, db_url)) as gradebook:
            person = gradebook.db.get(Student, student)
            if person is None:
                return []
            found = [person, *person.submissions]
            if remove:
                for submission in person.submissions:
                    for notebook in submission.notebooks:
                        for row in (*notebook.grades, *notebook.comments, notebook):
                            gradebook.db.delete(row)
                    gradebook.db.delete(submission)
                gradebook.db.flush()
                gradebook.db.delete(person)
                gradebook.db.commit()
                if gradebook.engine.dialect.name == "sqlite":  # else the file still holds the words
                    with gradebook.engine.connect() as connection:
                        bare = connection.execution_options(isolation_level="AUTOCOMMIT")
                        bare.execute(text("VACUUM"))
            return found
