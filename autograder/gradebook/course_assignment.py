"""The assignment in a course folder and its gradebook: nbgrader makes it again where it must."""

import hashlib
from importlib.metadata import version
from pathlib import Path

from sqlalchemy import create_engine, inspect, text
from traitlets.config import Config

from autograder.atomic_write import write_atomically
from autograder.homework_source.homework import Homework
from autograder.homework_source.instructors_notebook import instructors_notebook
from autograder.homework_source.nbgrader_settings import configure

_MAKERS = ("nbgrader", "nbconvert", "nbformat")
_RELEASING = Path(__file__).parents[1] / "releasing"
_CODE = (_RELEASING / "changed_cells.py", _RELEASING / "generated_assignment.py")
_ROWS = text(
    "SELECT base_cell.type, base_cell.name, source_cell.cell_type, source_cell.locked,"
    " source_cell.checksum, source_cell.source, grade_cells.max_score FROM notebook"
    " JOIN base_cell ON base_cell.notebook_id = notebook.id"
    " LEFT JOIN source_cell ON source_cell.notebook_id = notebook.id"
    "  AND source_cell.name = base_cell.name"
    " LEFT JOIN grade_cells ON grade_cells.id = base_cell.id"
    " WHERE notebook.name = :homework ORDER BY base_cell.type, base_cell.name"
)


def ensure_assignment(homework: Homework, course: Path, db_url: str) -> Path:
    """Make sure that a course folder and its gradebook hold what ``generate_assignment`` makes.

    That takes as long as grading a student, so it is done again only where the homework, nbgrader's
    settings, or anything that was made is another.

    Args:
        homework: The homework.
        course: nbgrader's course folder, absolute; made if it is not there.
        db_url: SQLAlchemy address of the gradebook.

    Returns:
        The student notebook's file.

    Raises:
        HomeworkError: nbgrader refuses the homework; the message is in its words.
        SQLAlchemyError: The database can't be reached or written.
    """
    note = course / f".{homework.id}.made"
    name = f"{homework.id}.ipynb"
    source, released = (course / step / homework.id / name for step in ("source", "release"))
    made = _digest(homework, source, released, db_url)
    if made and note.is_file() and note.read_bytes() == made.encode():
        return released
    # Only now: it brings all that converts notebooks.
    from autograder.releasing.generated_assignment import generate_assignment

    generate_assignment(homework, course, db_url)
    write_atomically(note, _digest(homework, source, released, db_url), lasting=False)
    return released


def _digest(homework: Homework, source: Path, released: Path, db_url: str) -> str:
    """Sum up what an assignment is made of, and what was made; nothing if something is missing."""
    if not (source.is_file() and released.is_file() and len(list(released.parent.iterdir())) == 1):
        return ""
    rows = _rows(homework, db_url)
    settings = Config()
    configure(settings)
    made_of = (instructors_notebook(homework), repr(settings), *map(version, _MAKERS))
    files = [path.read_bytes() for path in (source, released, *_CODE)]
    return hashlib.sha256(repr((made_of, files, rows)).encode()).hexdigest() if rows else ""


def _rows(homework: Homework, db_url: str) -> list[tuple[object, ...]]:
    """Return what a gradebook says of the homework's cells; nothing if it knows none."""
    engine = create_engine(db_url)
    try:
        with engine.connect() as connection:
            if not inspect(connection).has_table("source_cell"):
                return []
            found = connection.execute(_ROWS, {"homework": homework.id})
            return [tuple(row) for row in found]
    finally:
        engine.dispose()
