"""Take away what newer migrations add, for databases as earlier versions wrote them."""

import sqlite3


def without_versions(connection: sqlite3.Connection) -> None:
    """Remove the tokens (version 19), the places of turns and the instructions of collections (version 18)."""
    connection.execute("DROP TABLE tokens")
    connection.execute("ALTER TABLE collections DROP COLUMN instructions")
    connection.execute("DROP TRIGGER turn_placed")
    connection.execute("DROP INDEX turns_by_place")
    connection.execute("ALTER TABLE turns DROP COLUMN place")
