"""Lets nbgrader generate an assignment: the student notebook, and its rows in the gradebook."""

import logging
import re
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any

import nbgrader
from nbconvert.writers import FilesWriter
from nbformat import NotebookNode
from nbgrader.api import (
    Base,
    BaseCell,
    Comment,
    Grade,
    GradeCell,
    Notebook,
    SolutionCell,
    SourceCell,
    TaskCell,
)
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import SaveCells
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.orm import Session
from traitlets.config import Config

from autograder.homework_source.homework import Homework, HomeworkError
from autograder.homework_source.instructors_notebook import instructors_notebook
from autograder.homework_source.nbgrader_settings import configure


def generate_assignment(homework: Homework, course: Path, db_url: str) -> Path:
    """Make a student notebook and its gradebook rows with nbgrader; return the notebook's path.

    ``course`` is the folder in which nbgrader works.

    Raises:
        HomeworkError: nbgrader rejects the homework; the message is nbgrader's.
        SQLAlchemyError: The database can't be reached or written.
    """
    name = f"{homework.id}.ipynb"
    source = course / "source" / homework.id / name
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(instructors_notebook(homework), encoding="utf-8")
    create_tables(db_url)
    config = Config()
    configure(config)
    config.CourseDirectory.root = str(course)
    config.CourseDirectory.db_url = db_url
    config.CourseDirectory.assignment_id = homework.id
    config.CourseDirectory.student_id = "."
    complaints = _Complaints()
    log = logging.Logger("assignment")  # separate from the caller's log
    log.addHandler(complaints)
    generator = _Generator(
        coursedir=CourseDirectory(config=config, log=log), config=config, log=log, force=True
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SQLAlchemy's, about nbgrader's queries
            generator.start()
    except (NbGraderException, SystemExit) as error:
        reason = "; ".join(dict.fromkeys([*complaints.messages, str(error)]))
        raise HomeworkError(f"nbgrader refuses {source}: {reason}") from error
    return course / "release" / homework.id / name


class _Generator(GenerateAssignment):
    """nbgrader's generator, which also accepts changed cells and keeps the working directory."""

    def start(self) -> None:
        self.init_notebooks()
        self.writer = FilesWriter(parent=self, config=self.config)
        self.exporter = self.exporter_class(parent=self, config=self.config)
        for preprocessor in self.preprocessors:
            ours = SaveChangedCells if preprocessor is SaveCells else preprocessor
            self.exporter.register_preprocessor(ours)
        self.convert_notebooks()


class _Complaints(logging.Handler):
    """Keeps nbgrader's error messages instead of printing them."""

    def __init__(self) -> None:
        super().__init__(level=logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message; of a traceback, whose frames are nbgrader's own, only the last line."""
        message = record.getMessage().strip()
        self.messages.append(message.splitlines()[-1] if "Traceback" in message else message)


def create_tables(db_url: str) -> None:
    """Make nbgrader's tables in an empty database, all or none; a database with tables is kept.

    nbgrader itself would make them one by one and apply every migration since its first version,
    which takes longer than the rest of a release.

    Raises:
        SQLAlchemyError: The database can't be reached or written.
    """
    engine = create_engine(db_url)
    try:
        with engine.begin() as connection:
            if engine.dialect.name == "sqlite":  # Python's driver begins no transaction for tables
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            if inspect(connection).get_table_names():
                return
            Base.metadata.create_all(connection)
            version = {"version": newest_version()}
            connection.execute(
                text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL);")
            )
            connection.execute(text("INSERT INTO alembic_version VALUES (:version)"), version)
    finally:
        engine.dispose()


def newest_version() -> str:
    """Return the version of nbgrader's tables: the id of its last migration.

    It is read from the migrations' files, because Alembic is slow to import.
    """
    migrations = (Path(nbgrader.__file__).parent / "alembic" / "versions").glob("*.py")
    text = "\n".join(path.read_text(encoding="utf-8") for path in migrations)
    versions = set(re.findall(r"^revision = '(\w+)'", text, re.MULTILINE))
    (newest,) = versions - set(re.findall(r"^down_revision = '(\w+)'", text, re.MULTILINE))
    return newest


class SaveChangedCells(SaveCells):
    """Adds and removes the gradebook's cells even after grading, which nbgrader rejects.

    Fixing a test often changes cells, and all submissions are then graded again.
    """

    def _create_notebook(self, nb: NotebookNode) -> None:
        session = self.gradebook.db
        named = session.query(Notebook).filter(Notebook.name == self.notebook_id)
        notebook = named.filter(Notebook.assignment.has(name=self.assignment_id)).one_or_none()
        if notebook is not None and notebook.submissions:
            try:
                self._follow(notebook)
                session.commit()  # all of it, or nothing
            except BaseException:
                session.rollback()
                raise
        super()._create_notebook(nb)

    def _follow(self, notebook: Notebook) -> None:
        """Add and remove the notebook's rows to match the cells that nbgrader is about to write."""
        session = self.gradebook.db
        _remove(session, notebook.source_cells, self.new_source_cells)
        _add(session, notebook, SourceCell, notebook.source_cells, self.new_source_cells)
        for kind, cells, now in (
            (GradeCell, notebook.grade_cells, self.new_grade_cells),
            (SolutionCell, notebook.solution_cells, self.new_solution_cells),
            (TaskCell, notebook.task_cells, self.new_task_cells),
        ):
            _remove(session, cells, now)
            for cell in _add(session, notebook, kind, cells, now):
                _add_rows_of_students(session, notebook, cell)


def _remove(session: Session, cells: Collection[Any], now: Collection[str]) -> None:
    """Remove the gradebook's ``cells`` whose names are not in ``now``, with grades and comments.

    If one of these was given by hand, raise a ``RuntimeError`` instead.
    """
    for cell in [cell for cell in cells if cell.name not in now]:
        rows = [*cell.grades, *cell.comments] if isinstance(cell, BaseCell) else []
        if any(_given_by_hand(row) for row in rows):
            raise RuntimeError(
                f"points or comments were given by hand in the cell {cell.name!r}, which the "
                "homework no longer has: give the cell its name back, or grade into a new folder"
            )
        for row in [*rows, cell]:
            session.delete(row)


def _given_by_hand(row: Grade | Comment) -> bool:
    if isinstance(row, Comment):
        return row.manual_comment is not None
    return row.manual_score is not None or row.extra_credit is not None


def _add(
    session: Session,
    notebook: Notebook,
    kind: type[Any],
    cells: Collection[Any],
    now: dict[str, dict[str, Any]],
) -> list[Any]:
    """Add rows of a ``kind`` for the cells in ``now`` that are not in ``cells``; return them.

    ``now`` maps the name of a cell to its columns.
    """
    known = {cell.name for cell in cells}
    new = [kind(name=name, notebook=notebook, **now[name]) for name in now if name not in known]
    session.add_all(new)
    session.flush()
    return new


def _add_rows_of_students(session: Session, notebook: Notebook, cell: BaseCell) -> None:
    """Add an empty grade, comment or both for a new cell to each submission of the notebook."""
    for submitted in notebook.submissions:
        place = {"cell_id": cell.id, "notebook_id": submitted.id}
        if isinstance(cell, GradeCell | TaskCell):
            session.add(Grade(**place))
        if isinstance(cell, SolutionCell | TaskCell):
            session.add(Comment(**place))
