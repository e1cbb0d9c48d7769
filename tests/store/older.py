"""Libraries as earlier versions wrote them."""

import sqlite3
from contextlib import closing
from pathlib import Path

from pincite.core.store import sqlite
from pincite.core.store.review_log import row_hash


def as_format(number: int, path: Path) -> None:
    """Bring a closed library back to one of the numbered formats, with those of its values that the format knows."""
    older = path.with_name("older.db")
    with closing(sqlite._open(older)) as connection:
        connection.create_function("row_hash", -1, row_hash, deterministic=True)
        for script in sqlite.formats()[:number]:
            connection.executescript(script)
        connection.execute(f"PRAGMA application_id = {_application_id(path)}")
        connection.execute("ATTACH ? AS newer", (str(path),))
        connection.execute("PRAGMA foreign_keys = OFF")
        tables = [row[0] for row in connection.execute(f"SELECT name FROM main.sqlite_master WHERE {_KEPT}")]
        triggers = connection.execute("SELECT name, sql FROM main.sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for table in tables:
            columns = ", ".join(f'"{name}"' for name in _columns(connection, "main", table) if name in
                                _columns(connection, "newer", table))  # fmt: skip
            if columns:
                connection.execute(f"DELETE FROM main.{table}")
                connection.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM newer.{table}")
        words = "rowid, context, text"
        connection.execute(f"INSERT INTO main.passage_words ({words}) SELECT {words} FROM newer.passage_words")
        for _, statement in triggers:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("DETACH newer")
    older.replace(path)


_KEPT = "type = 'table' AND name NOT LIKE 'passage_words%' AND name NOT LIKE 'sqlite_%'"


def _columns(connection: sqlite3.Connection, of: str, table: str) -> list[str]:
    return [row[0] for row in connection.execute(f"SELECT name FROM pragma_table_info('{table}', '{of}')")]


def _application_id(path: Path) -> int:
    with closing(sqlite._open(path)) as connection:
        found: int = connection.execute("PRAGMA application_id").fetchone()[0]
        return found
