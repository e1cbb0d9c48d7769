"""Take away what newer migrations add, for databases as earlier versions wrote them."""

import sqlite3


def without_versions(connection: sqlite3.Connection) -> None:
    """Remove what versions 18 to 22 added: places of turns, tokens, watched folders, illustrations, grids."""
    for table in ("grid_cells", "grid_rows", "grids"):
        connection.execute(f"DROP TABLE {table}")
    connection.execute("DROP TABLE descriptions")
    connection.execute("DROP INDEX illustrated_pages")
    connection.execute("ALTER TABLE pages DROP COLUMN illustrations")
    connection.execute("DROP TABLE watched_files")
    connection.execute("DROP TABLE watched_folders")
    connection.execute("DROP TABLE tokens")
    connection.execute("ALTER TABLE collections DROP COLUMN instructions")
    connection.execute("DROP TRIGGER turn_placed")
    connection.execute("DROP INDEX turns_by_place")
    connection.execute("ALTER TABLE turns DROP COLUMN place")
