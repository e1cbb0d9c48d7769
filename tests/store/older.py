"""Take away what newer migrations add, for databases as earlier versions wrote them."""

import sqlite3


def without_versions(connection: sqlite3.Connection) -> None:
    """Remove watched folders (version 20), tokens (19), places of turns and instructions of collections (18)."""
    connection.execute("DROP TABLE watched_files")
    connection.execute("DROP TABLE watched_folders")
    connection.execute("DROP TABLE tokens")
    connection.execute("ALTER TABLE collections DROP COLUMN instructions")
    connection.execute("DROP TRIGGER turn_placed")
    connection.execute("DROP INDEX turns_by_place")
    connection.execute("ALTER TABLE turns DROP COLUMN place")
