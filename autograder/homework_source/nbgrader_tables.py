"""The tables of nbgrader's database, made at once.

nbgrader makes them one by one and brings each through every migration since its first version,
which takes longer than all else that a release does.
"""

from pathlib import Path

import nbgrader
from alembic.script import ScriptDirectory
from nbgrader.api import Base
from sqlalchemy import create_engine, inspect, text


def create_tables(db_url: str) -> None:
    """Make the tables of an empty database, all or none; leave one that has tables be.

    Args:
        db_url: SQLAlchemy address.

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
            migrations = ScriptDirectory(str(Path(nbgrader.__file__).parent / "alembic"))
            version = {"version": migrations.get_current_head()}
            connection.execute(
                text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL);")
            )
            connection.execute(text("INSERT INTO alembic_version VALUES (:version)"), version)
    finally:
        engine.dispose()
