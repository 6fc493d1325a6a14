"""A gradebook's rows as plain values, so that two gradebooks can be compared row by row."""

from typing import Any

from sqlalchemy import MetaData, create_engine


def gradebook_contents(db_url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Return the sorted rows of each table, by its name, for comparison with another gradebook.

    Random ids are replaced by the rows that they refer to.
    """
    engine = create_engine(db_url)
    metadata = MetaData()
    metadata.reflect(engine)
    with engine.connect() as connection:
        rows = {
            table.name: [dict(row) for row in connection.execute(table.select()).mappings()]
            for table in metadata.sorted_tables  # those that others point to come first
        }
    engine.dispose()
    owners: dict[str, tuple[str, dict[str, Any]]] = {}
    for table, found in rows.items():
        for row in found:
            if "id" in row:
                owners.setdefault(row["id"], (table, row))

    def plain(table: str, row: dict[str, Any]) -> tuple[Any, ...]:
        values = []
        for column, value in sorted(row.items()):
            owner = owners.get(value) if isinstance(value, str) else None
            if owner is None or (owner[1] is row and len(value) != 32):
                values.append((column, str(value)))
            elif owner[1] is not row:
                values.append((column, plain(*owner)))
        return table, *values

    return {table: sorted(plain(table, row) for row in found) for table, found in rows.items()}
