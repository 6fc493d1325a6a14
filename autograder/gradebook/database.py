"""The gradebook's database: its address, and whether it can be used."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType

from sqlalchemy import create_engine, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, OperationalError, SQLAlchemyError

from autograder.class_folders import AUTOGRADED, GRADEBOOK
from autograder.homework_source.nbgrader_settings import project_settings

_CONNECT_SECONDS = 10
_AGAIN = "run grade again, which creates one without hand grades"
_MEND = f"restore a backup, or move it away and {_AGAIN}"


class DatabaseError(ValueError):
    """The database can't be used; the message says why and what to do."""


class GradebookError(RuntimeError):
    """Some results are not in the gradebook; the message says which, and why.

    Args:
        message: The database, and the cause.
        refused: Student to reason, for each result that was not recorded.
    """

    def __init__(self, message: str, refused: Mapping[str, str] = MappingProxyType({})) -> None:
        super().__init__(message)
        self.refused = refused


def configured_url(root: Path) -> str:
    """Return ``c.CourseDirectory.db_url`` of the project's nbgrader_config.py; empty if unset."""
    return str(project_settings(root).CourseDirectory.get("db_url", ""))


def gradebook_url(course_folder: Path, db_url: str = "") -> str:
    """Return the gradebook's SQLAlchemy address: ``db_url``, or a file in the course folder."""
    file = URL.create("sqlite", database=str(course_folder.resolve() / GRADEBOOK))
    return db_url or file.render_as_string()  # quotes the folder's name


def check_database(db_url: str) -> str:
    """Connect once, and return the server's name and version, such as ``PostgreSQL 15.18``.

    Raises:
        DatabaseError: The address is malformed, its driver is missing, or no server answers.
    """
    address = _parsed(db_url)
    waits = address.get_backend_name() == "postgresql"
    arguments = {"connect_timeout": _CONNECT_SECONDS} if waits else {}
    try:
        engine = create_engine(address, connect_args=arguments)
        with engine.connect() as connection:
            version = ".".join(map(str, connection.dialect.server_version_info or ()))
            is_file = connection.dialect.name == "sqlite"  # opened by the first query
            connection.execute(text("SELECT 1 FROM sqlite_master" if is_file else "SELECT 1"))
        engine.dispose()
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise DatabaseError(
            f"{without_password(db_url)} needs a driver: {error}; PostgreSQL's is installed with: "
            "python -m pip install -r requirements.txt"
        ) from error
    except OperationalError as error:
        raise DatabaseError(_explain(address, str(error.orig))) from error
    except (SQLAlchemyError, ValueError) as error:
        raise DatabaseError(f"{without_password(db_url)} can't be used: {error}") from error
    names = {"postgresql": "PostgreSQL", "sqlite": "SQLite"}
    backend = address.get_backend_name()
    return f"{names.get(backend, backend)} {version}".strip()


def check_gradebook(course_folder: Path, db_url: str = "", *, is_read: bool = False) -> None:
    """Check that SQLite's file is not damaged; if ``is_read``, also that a graded class has one.

    Raises:
        DatabaseError: The file is damaged or lost; the message says what to do.
    """
    address = make_url(gradebook_url(course_folder, db_url))
    if address.get_backend_name() != "sqlite" or not address.database:
        return
    file = Path(address.database)
    if file.exists() and (damage := _damage(file, course_folder)):
        raise DatabaseError(f"{file} is damaged ({damage}): {_MEND}")
    if is_read and not file.exists() and _is_graded(course_folder):
        where = "is its disk there, is --db given?"
        raise DatabaseError(f"{file} is gone: {where} Else restore a backup, or {_AGAIN}")


def _damage(file: Path, course_folder: Path) -> str:
    if not file.is_file():
        return "it is not a file"
    if not file.stat().st_size and _is_graded(course_folder):
        return "it is empty"
    try:
        with closing(sqlite3.connect(file)) as connection:
            ((found,),) = connection.execute("PRAGMA quick_check(1)")
            return "" if found == "ok" else str(found)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # a message that quotes broken text
        code = getattr(error, "sqlite_errorcode", None)
        busy = code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
        return "" if busy else str(error)  # another program is writing


def _is_graded(course_folder: Path) -> bool:
    return any((course_folder / AUTOGRADED).glob("*"))


def without_password(db_url: str) -> str:
    """Return an address without its password, so that it may be shown or stored."""
    return _shown(_parsed(db_url))


def _parsed(db_url: str) -> URL:
    try:
        return make_url(db_url)
    except (ArgumentError, ValueError) as error:
        # not shown: it may hold a password
        raise DatabaseError(
            "the database's address is not valid; expected, for example, "
            "postgresql://user@host/gradebook"
        ) from error


def _shown(address: URL) -> str:
    return address._replace(password=None).render_as_string(hide_password=False)


def _explain(address: URL, reason: str) -> str:
    advice = "is the server running, and may this machine reach it?"
    if "does not exist" in reason and "database" in reason:
        advice = f"make it once: createdb {address.database}"
    elif "does not exist" in reason and "role" in reason:
        advice = f"make the user once: createuser {address.username}"
    elif "password" in reason or "authentication" in reason:
        advice = "put the password into ~/.pgpass, or into PGPASSWORD"
    return f"{_shown(address)} does not let us in ({reason.strip().splitlines()[0]}); {advice}"
