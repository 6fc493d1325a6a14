"""The one place where nbgrader generates an assignment: the released notebook, and its rows."""

import logging
import re
import warnings
from pathlib import Path

import nbgrader
from nbconvert.writers import FilesWriter
from nbgrader.api import Base
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import SaveCells
from sqlalchemy import create_engine, inspect, text
from traitlets.config import Config

from autograder.homework_source.homework import Homework, HomeworkError
from autograder.homework_source.instructors_notebook import instructors_notebook
from autograder.homework_source.nbgrader_settings import configure
from autograder.releasing.changed_cells import SaveChangedCells


def generate_assignment(homework: Homework, course: Path, db_url: str) -> Path:
    """Let nbgrader make the student notebook in a course folder, and its rows in the gradebook.

    Raises:
        HomeworkError: nbgrader refuses the homework; the message is in its words.
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
    log = logging.Logger("assignment")  # of its own: not joined to what the caller logs
    log.addHandler(complaints)
    generator = _Generator(
        coursedir=CourseDirectory(config=config, log=log), config=config, log=log, force=True
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # nbgrader's queries trouble the newest SQLAlchemy
            generator.start()
    except (NbGraderException, SystemExit) as error:
        reason = "; ".join(dict.fromkeys([*complaints.messages, str(error)]))
        raise HomeworkError(f"nbgrader refuses {source}: {reason}") from error
    return course / "release" / homework.id / name


class _Generator(GenerateAssignment):
    """nbgrader's, but it follows changed cells, and stays in the working directory.

    Other threads are at work there.
    """

    def start(self) -> None:
        self.init_notebooks()
        self.writer = FilesWriter(parent=self, config=self.config)
        self.exporter = self.exporter_class(parent=self, config=self.config)
        for preprocessor in self.preprocessors:
            ours = SaveChangedCells if preprocessor is SaveCells else preprocessor
            self.exporter.register_preprocessor(ours)
        self.convert_notebooks()


class _Complaints(logging.Handler):
    """Keeps what nbgrader has to say, and shows none of it; of a traceback, its last line."""

    def __init__(self) -> None:
        super().__init__(level=logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message; a traceback's frames are nbgrader's own."""
        message = record.getMessage().strip()
        self.messages.append(message.splitlines()[-1] if "Traceback" in message else message)


def create_tables(db_url: str) -> None:
    """Make the tables of an empty database, all or none; leave one that has tables be.

    nbgrader makes them one by one and brings each through every migration since its first version,
    which takes longer than all else that a release does.

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
    """Return the version of nbgrader's tables: the migration that no other one goes on from.

    Alembic would tell, too, and takes longer to import than the whole gradebook to write.
    """
    migrations = (Path(nbgrader.__file__).parent / "alembic" / "versions").glob("*.py")
    text = "\n".join(path.read_text(encoding="utf-8") for path in migrations)
    versions = set(re.findall(r"^revision = '(\w+)'", text, re.MULTILINE))
    (newest,) = versions - set(re.findall(r"^down_revision = '(\w+)'", text, re.MULTILINE))
    return newest
