"""The SQLite database: opening it, its numbered migrations, and transactions; not what is in the tables."""

import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path

from pincite.core.errors import StorageError


class _Held:
    """One thread's connection: what ``threading.local`` lets go of at the thread's end is closed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def __del__(self) -> None:
        self.connection.close()


class Database:
    """One SQLite file in WAL mode, with one connection per thread, closed when the thread ends.

    Writers of several processes wait for each other up to 30 s.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._held = weakref.WeakSet[_Held]()
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._migrate()
        except (OSError, sqlite3.OperationalError, sqlite3.DatabaseError) as error:
            raise StorageError(
                f"The database {path} cannot be used ({error}).",
                hint="Check that the folder can be written to and has space, or choose another with --data-dir.",
            ) from error

    @property
    def connection(self) -> sqlite3.Connection:
        """This thread's connection, in autocommit mode; rows are ``sqlite3.Row``."""
        held: _Held | None = getattr(self._local, "held", None)
        if held is not None:
            return held.connection
        connection = sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
        self._local.held = held = _Held(connection)
        with self._lock:
            self._held.add(held)
        return connection

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write several rows or none; nested use joins the outer transaction."""
        connection = self.connection
        if connection.in_transaction:
            yield connection
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def close(self) -> None:
        """Close every thread's connection, and leave no deleted text in the write-ahead log."""
        with suppress(sqlite3.Error):  # a full disk
            empty_log(self.connection)
        with self._lock:
            for held in list(self._held):
                held.connection.close()
        self._local = threading.local()

    def _migrate(self) -> None:
        scripts = sorted(
            (
                entry
                for entry in resources.files("pincite.core.store.migrations").iterdir()
                if entry.name.endswith(".sql")
            ),
            key=lambda entry: entry.name,
        )
        with self.transaction() as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version > len(scripts):
                raise StorageError(
                    f"The database {self.path} was written by a newer Pincite.",
                    hint="Install that version again, or choose another folder with --data-dir.",
                )
            for number, script in enumerate(scripts[version:], start=version + 1):
                for statement in _statements(script.read_text(encoding="utf-8")):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number}")


def empty_log(connection: sqlite3.Connection) -> None:
    """Move the write-ahead log into the database and cut it to nothing, unless another process is reading it."""
    with suppress(sqlite3.Error):
        connection.execute("PRAGMA busy_timeout = 0")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def _statements(script: str) -> Iterator[str]:
    """Split a script: ``executescript`` would commit the transaction that the migration runs in."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
