"""Reads what can be read of a damaged database, row by row, into a new one. The damaged files stay as they are."""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from core.store.database import Database

_DERIVED = ("passage_words", "sqlite_", "vector_state", "turn_lines")
"""Begin the names of tables that are made again from the others."""
_HEADER, _MOST_GAPS = 100, 10_000
Row = tuple[object, ...]


def salvage(damaged: Path, target: Path) -> None:
    """Make ``target`` a database with every row that can still be read."""
    database = Database(target)
    try:
        with tempfile.TemporaryDirectory(prefix="pincite-") as folder:
            sources = list(_copies(damaged, Path(folder), target))
            for table in _tables(database.connection):
                _save(sources, database.connection, table)
    finally:
        drop_orphans(database.connection)
        database.close()


def _tables(connection: sqlite3.Connection) -> list[str]:
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")
    return [row[0] for row in rows if not row[0].startswith(_DERIVED)]


def _copies(damaged: Path, folder: Path, fresh: Path) -> Iterator[Path]:
    """Ways to look into it: as it is, with a sound header, and with the whole first page of a new database."""
    if not damaged.is_file():
        return
    new = Path(folder) / "new.db"
    with closing(sqlite3.connect(fresh)) as source, closing(sqlite3.connect(new)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode = WAL")
    page = new.read_bytes()[: _page_size(new)]
    for number, graft in enumerate((b"", page[:_HEADER], page)):
        place = folder / f"{number}" / damaged.name
        place.parent.mkdir()
        for suffix in ("", "-wal"):
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{damaged}{suffix}", f"{place}{suffix}")
        if graft:
            _graft(place, graft, len(page))
        yield place


def _page_size(path: Path) -> int:
    """The page size of a sound database."""
    with path.open("rb") as file:
        return int.from_bytes(file.read(18)[16:], "big") or 65536


def _graft(place: Path, head: bytes, page_size: int) -> None:
    with place.open("r+b") as file:
        pages = place.stat().st_size // page_size
        file.write(head)
        file.seek(24)
        counter = head[24:28]
        file.write(counter + pages.to_bytes(4, "big"))
        file.seek(92)
        file.write(counter)


def _open(place: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(place, isolation_level=None)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    connection.execute("PRAGMA writable_schema = ON")  # else a file that was cut is not read at all
    return connection


def _save(sources: Sequence[Path], target: sqlite3.Connection, table: str) -> None:
    """Copy a table from the first source that has rows of it."""
    for source in sources:
        try:
            with closing(_open(source)) as connection:
                if _copy(connection, target, table):
                    return
        except sqlite3.DatabaseError:
            continue


def _copy(source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> int:
    wanted = [row[1] for row in target.execute(f"PRAGMA table_info({table})")]
    known = {row[1] for row in source.execute(f"PRAGMA table_info({table})")}
    names = [name for name in wanted if name in known]
    columns = ", ".join(f'"{name}"' for name in names)
    if not names:
        return 0
    insert = f"INSERT OR REPLACE INTO {table} ({columns}) VALUES ({', '.join('?' * len(names))})"
    target.execute("PRAGMA foreign_keys = OFF")
    target.execute("BEGIN IMMEDIATE")
    if table == "review_log":
        target.execute("DELETE FROM review_log")  # what saving the reviews has noted
    saved = 0
    for row in _rows(source, table, columns):
        with suppress(sqlite3.IntegrityError, sqlite3.InterfaceError):
            saved += target.execute(insert, row).rowcount
    target.execute("COMMIT")
    target.execute("PRAGMA foreign_keys = ON")
    return saved


def _rows(source: sqlite3.Connection, table: str, columns: str) -> Iterator[Row]:
    """Every row that can be read: from both ends towards a damage, and between two of them by halves."""
    if not _has_rowid(source, table):
        with suppress(sqlite3.DatabaseError):
            yield from source.execute(f"SELECT {columns} FROM {table}")
        return
    gaps = [(-(2**63), 2**63 - 1)]
    for _ in range(_MOST_GAPS):
        if not gaps:
            return
        low, high = gaps.pop()
        query = f"SELECT rowid, {columns} FROM {table} WHERE rowid BETWEEN ? AND ? ORDER BY rowid"
        whole = True
        try:
            for row in source.execute(query, (low, high)):
                low = row[0] + 1
                yield row[1:]
        except sqlite3.DatabaseError:
            whole = False
        if whole:
            continue
        with suppress(sqlite3.DatabaseError):
            for row in source.execute(f"{query} DESC", (low, high)):
                high = row[0] - 1
                yield row[1:]
        top = _newest(source, table)
        high = high if top is None else min(high, top)
        middle = (low + high) // 2
        if low < high and high - low < 2**40:
            gaps += [(low, middle), (middle + 1, high)]


def _newest(source: sqlite3.Connection, table: str) -> int | None:
    try:
        found: int | None = source.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0]
    except sqlite3.DatabaseError:
        return None
    return found


def _has_rowid(source: sqlite3.Connection, table: str) -> bool:
    try:
        source.execute(f"SELECT rowid FROM {table} LIMIT 0")
    except sqlite3.OperationalError:
        return False
    return True


def drop_orphans(connection: sqlite3.Connection) -> int:
    """Delete rows whose document, session or turn is not there: nothing leads to them. Returns how many."""
    dropped = 0
    while rows := connection.execute("PRAGMA foreign_key_check").fetchall():
        dropped += len(rows)
        for row in rows:
            if row[1] is not None:
                connection.execute(f"DELETE FROM {row[0]} WHERE rowid = ?", (row[1],))
        for table in {row[0] for row in rows if row[1] is None}:
            connection.execute(f"DELETE FROM {table}")
    return dropped
