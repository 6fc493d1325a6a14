"""A course folder for nbgrader's own commands and formgrader, with the judge underneath."""

import re
import stat
from collections.abc import Sequence
from pathlib import Path

from nbgrader.api import Gradebook
from nbgrader.exchange.default import Exchange

from autograder.gradebook.course_config import write_exchange_config
from autograder.gradebook.database import gradebook_url
from autograder.homework_source.homework import Homework
from autograder.homework_source.instructors_notebook import instructors_notebook
from autograder.releasing.generated_assignment import create_tables
from autograder.releasing.student_edition import write_student_edition
from autograder.sandbox.sandbox import check_sandbox
from autograder.sandbox.zygote import SandboxError
from autograder.term.dates import Dates, in_utc

_COURSE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class CourseFolderError(ValueError):
    """The course folder can't be created; the message says why."""


def check_course_folder(folder: Path, course_id: str) -> None:
    """Check that a course folder can be created under a name in the exchange.

    Raises:
        CourseFolderError: The folder is not empty, or ``course_id`` can't name a folder.
    """
    if folder.exists() and not folder.is_dir():
        raise CourseFolderError(f"{folder} can't be a course folder: it is a file")
    if folder.is_dir() and (there := sorted(path.name for path in folder.iterdir())):
        more = ", ..." if len(there) > 3 else ""
        raise CourseFolderError(
            f"{folder} is not empty ({', '.join(there[:3])}{more}): name a new folder, or one "
            "without anything in it"
        )
    if not _COURSE_ID.fullmatch(course_id):
        raise CourseFolderError(
            f"--course {course_id!r} names a folder of the exchange: expected letters, digits and "
            "_ . -"
        )


def lay_out_course(
    folder: Path,
    homeworks: Sequence[Homework],
    root: Path,
    *,
    course_id: str,
    exchange: Path | None = None,
    db_url: str = "",
    dates: Dates | None = None,
    dates_file: Path | None = None,
) -> None:
    """Write each homework's ``source`` folder, the settings, and the deadlines.

    A source folder holds the instructor's notebook and the student edition of the library, which
    nbgrader releases with it.

    Raises:
        HomeworkError: A student edition can't be made.
        OSError: The folder can't be written.
        SQLAlchemyError: The database can't be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for homework in homeworks:
        source = folder / "source" / homework.id
        source.mkdir(parents=True)
        notebook = source / f"{homework.id}.ipynb"
        notebook.write_text(instructors_notebook(homework), encoding="utf-8")
        write_student_edition(homework.id, root, source)
    write_exchange_config(
        folder, root, course_id=course_id, exchange=exchange, db_url=db_url, dates=dates_file
    )
    due = dates.due if dates else {}
    if moments := {homework.id: due[homework.id] for homework in homeworks if homework.id in due}:
        address = gradebook_url(folder, db_url)
        create_tables(address)
        with Gradebook(address, course_id) as gradebook:
            for homework_id, moment in moments.items():
                gradebook.update_or_create_assignment(homework_id, duedate=str(in_utc(moment)))


def missing_for_course(exchange: Path | None) -> list[str]:
    """Return a line for each thing that releasing and grading lack here, with its remedy."""
    found = []
    place = exchange or Path(Exchange.root.default_value)
    if not place.is_dir():
        found.append(f"no exchange: sudo install -d -m 1777 {place}")
    elif stat.S_IMODE(place.stat().st_mode) & 0o777 != 0o777:
        found.append(f"students may not write to the exchange: sudo chmod 1777 {place}")
    try:
        check_sandbox()
    except SandboxError as error:
        found.append(str(error))
    return found
