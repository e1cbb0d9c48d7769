"""SQLite, one file: opening it, older formats of it, and transactions; not what is in the tables."""

import shutil
import sqlite3
import tempfile
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import Any, Self

from sqlalchemy import CursorResult, Engine, Executable, Table, create_engine
from sqlalchemy.dialects.sqlite import Insert
from sqlalchemy.pool import NullPool

from pincite.core.domain.errors import (
    BusyError,
    DamagedDatabaseError,
    ForeignDirectoryError,
    FullDiskError,
    NewerDatabaseError,
    StorageError,
)
from pincite.core.store import workers
from pincite.core.store.chroma import Chroma
from pincite.core.store.copies import DailyCopy, copy_database, empty
from pincite.core.store.database import Database, make_tables, migrate
from pincite.core.store.fts5 import Fts5Index
from pincite.core.store.locks import FileLock, OnlyProcess
from pincite.core.store.review_log import row_hash
from pincite.core.store.schema import REVISION, metadata

LAST_FORMAT = 22
"""The last format that is numbered in the file itself; later ones are Alembic's revisions, and have the next number."""
MAKE_WORDS = """CREATE VIRTUAL TABLE passage_words USING fts5(
  context, text, tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* M* Co' tokenchars '.'"
)"""
"""Terms separated by spaces, as ``keywords.py`` makes them: 1234.5 is one term."""
BUSY_SECONDS = 30
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_UNDECODED = "Could not decode"
DAMAGE_HINT = (
    "Nothing was changed. Run `pincite verify` for details, `pincite restore FILE` to restore a backup to a new folder,"
    " or `pincite repair` to continue from the newest automatic backup."
)
_OUR_MISTAKES = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISUSE, sqlite3.SQLITE_MISMATCH)


class _Cursor(sqlite3.Cursor):
    """A cursor that translates SQLite's errors into ours: the one place where they are translated.

    Rows are read as they are asked for, and a damage is met only then.
    """

    def execute(self, sql: str, parameters: Any = (), /) -> Self:
        with _storage_errors():
            return super().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Any, /) -> Self:
        with _storage_errors():
            return super().executemany(sql, parameters)

    def __next__(self) -> Any:
        with _storage_errors():
            return super().__next__()

    def fetchone(self) -> Any:
        with _storage_errors():
            return super().fetchone()

    def fetchmany(self, size: int | None = None) -> list[Any]:
        with _storage_errors():
            return super().fetchmany(size or self.arraysize)

    def fetchall(self) -> list[Any]:
        with _storage_errors():
            return super().fetchall()


class _Connection(sqlite3.Connection):
    def cursor(self, factory: Any = None) -> Any:
        return super().cursor(factory or _Cursor)

    def execute(self, sql: str, parameters: Any = (), /) -> _Cursor:
        cursor: _Cursor = self.cursor().execute(sql, parameters)
        return cursor

    def executemany(self, sql: str, parameters: Any, /) -> _Cursor:
        cursor: _Cursor = self.cursor().executemany(sql, parameters)
        return cursor


def _code(error: BaseException) -> int:
    """SQLite's own; none of its numbers for any other error."""
    known = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) if isinstance(error, sqlite3.Error) else -1
    return known & 0xFF


@contextmanager
def _storage_errors() -> Iterator[None]:
    """A mistake of ours, such as a broken constraint, stays what it is. Raises StorageError."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = _code(error)
        if code in _DAMAGES or str(error).startswith(_UNDECODED):
            raise DamagedDatabaseError(f"The database is damaged ({error}).", hint=DAMAGE_HINT) from error
        if code == sqlite3.SQLITE_FULL:
            raise FullDiskError("The disk is full.", hint="Free some space, then try again.") from error
        if code in _BUSY:
            raise BusyError(
                "Another part of Pincite is writing to the library.", hint="Try again in a moment."
            ) from error
        if code in _OUR_MISTAKES:
            raise
        raise StorageError(
            f"The database cannot be used ({error}).",
            hint="Check that the disk has space and that the data directory can be written to. Run `pincite doctor` "
            "for details.",
        ) from error


class _ThreadConnection:
    """One thread's connection: what ``threading.local`` lets go of at the thread's end is closed."""

    def __init__(self, connection: sqlite3.Connection, engine: Engine) -> None:
        self.connection = connection
        self.core = engine.connect()

    def __del__(self) -> None:
        self.connection.close()


class SqliteDatabase(Database):
    """One SQLite file in WAL mode, with one connection per thread, closed when the thread ends.

    Writers of several processes wait for each other up to ``BUSY_SECONDS``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._engine = create_engine(
            "sqlite://",
            creator=lambda: self._local.opened,
            poolclass=NullPool,
            pool_reset_on_return=None,
            isolation_level="AUTOCOMMIT",
            hide_parameters=True,  # a message names no words of documents
        )
        self._connections = weakref.WeakSet[_ThreadConnection]()
        self._lock = threading.Lock()
        with self._usable():
            self._prepare()

    @property
    def connection(self) -> sqlite3.Connection:
        """This thread's connection, in autocommit mode; rows are ``sqlite3.Row``."""
        return self._own.connection

    @property
    def _own(self) -> _ThreadConnection:
        own: _ThreadConnection | None = getattr(self._local, "own", None)
        if own is None:
            self._local.opened = connection = self._connect()
            connection.row_factory = sqlite3.Row
            self._local.own = own = _ThreadConnection(connection, self._engine)
            with self._lock:
                self._connections.add(own)
        return own

    def _connect(self) -> sqlite3.Connection:
        connection = _open(self.path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
        return connection

    def run(self, statement: Executable, parameters: Sequence[Mapping[str, Any]] | None = None) -> CursorResult[Any]:
        result: CursorResult[Any] = self._own.core.execute(statement, parameters)
        return result

    def change(self, statement: Executable) -> int:
        result: CursorResult[Any] = self._own.core.execute(statement)
        return result.rowcount

    def insert(self, table: Table) -> Insert:
        return Insert(table)

    @property
    def name(self) -> str:
        return str(self.path)

    def lock(self, name: str, *, shared: bool = False) -> FileLock:
        return FileLock(self.path.parent / f"{name}.lock")

    def claim(self) -> OnlyProcess:
        return OnlyProcess()

    def this_worker(self) -> str:
        return workers.this_worker()

    def is_alive(self, worker: str) -> bool:
        return workers.is_alive(worker)

    def keyword_index(self) -> Fts5Index:
        return Fts5Index(self)

    def nearest(self) -> Chroma:
        return Chroma(self)

    def copies(self) -> DailyCopy:
        return DailyCopy(lambda: self.connection, self.path.parent)

    def scrub(self, *, words: bool = False, max_bytes: int | None = None) -> bool:
        connection = self.connection
        try:
            if max_bytes is not None and self.number("PRAGMA page_count") * self.number("PRAGMA page_size") > max_bytes:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                return False
            empty(connection, words=words)
            busy = self.number("PRAGMA wal_checkpoint(TRUNCATE)")
        except (sqlite3.OperationalError, StorageError):
            return False
        return not busy

    def is_sound(self) -> bool:
        result: str = self.connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        return result == "ok"

    def size(self) -> int:
        return sum(file.stat().st_size for file in self.path.parent.glob(f"{self.path.name}*"))

    def number(self, query: str, values: Sequence[object] = ()) -> int:
        """Return the one number that a query gives."""
        found: int = self.connection.execute(query, tuple(values)).fetchone()[0]
        return found

    @property
    def owner_id(self) -> int:
        """Return the id of the data directory that this database belongs to; 0 if none is set yet."""
        return self.number("PRAGMA application_id")

    def belong_to(self, owner_id: int) -> None:
        self.connection.execute(f"PRAGMA application_id = {owner_id:d}")

    @property
    def in_transaction(self) -> bool:
        return self.connection.in_transaction

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        connection = self.connection
        if connection.in_transaction:
            yield connection
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # SQLite itself rolls back where the disk is full
                connection.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Close every thread's connection, and leave no deleted text in the write-ahead log."""
        self._leave_no_log()
        with self._lock:
            for own in list(self._connections):
                own.connection.close()
        self._local = threading.local()

    def _leave_no_log(self) -> None:
        with suppress(sqlite3.Error, StorageError):  # a full disk
            empty_log(self.connection)

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Report what goes wrong while opening with the file's name. Raises StorageError."""
        path = self.path
        try:
            yield
        except (OSError, sqlite3.Error, StorageError) as error:
            if isinstance(error, (BusyError, ForeignDirectoryError, NewerDatabaseError, FullDiskError)):
                raise
            # A migration that does not fit what is there: the stored number of the migrations made is wrong.
            if isinstance(error, DamagedDatabaseError) or _code(error) == sqlite3.SQLITE_ERROR:
                raise DamagedDatabaseError(
                    f"{path} is damaged ({error.__cause__ or error}).", hint=DAMAGE_HINT
                ) from error
            raise StorageError(
                f"The database {path} cannot be used ({error.__cause__ or error}).",
                hint="Check that the folder can be written to and has space, or choose another with --data-dir.",
            ) from error

    def _prepare(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if (version := self._version()) and not self._is_current(version):
            copy_database(self.connection, self.path.parent, f"before-format-{version + 1}")
        self._migrate()

    def _migrate(self) -> None:
        if self._is_current(self._version()):
            return
        with self.transaction():
            version = self._version()
            if not version:
                make_tables(self._own.core)
                for statement in (MAKE_WORDS, "CREATE TABLE alembic_version (version_num TEXT NOT NULL PRIMARY KEY)"):
                    self.connection.execute(statement)
                self.connection.execute("INSERT INTO alembic_version VALUES (?)", (REVISION,))
            elif not self._is_current(version):  # another process may have been first
                self.connection.create_function("row_hash", -1, row_hash, deterministic=True)  # as triggers name it
                for script in formats()[version:]:
                    for statement in _statements(script):
                        self.connection.execute(statement)
                migrate(self._own.core, self._revision(version))
            self.connection.execute(f"PRAGMA user_version = {LAST_FORMAT + 1}")

    def _is_current(self, version: int) -> bool:
        return version > LAST_FORMAT and self._revision(version) == REVISION

    def _revision(self, version: int) -> str:
        if version <= LAST_FORMAT:
            return f"{LAST_FORMAT:04}"
        revision: str = self.connection.execute("SELECT version_num FROM alembic_version").fetchone()[0]
        return revision

    def _version(self) -> int:
        """Return the number of its format; 0 if it is empty. Raises NewerDatabaseError or ForeignDirectoryError."""
        version = self.number("PRAGMA user_version")
        tables = {row[0] for row in self.connection.execute("SELECT name FROM sqlite_master")} if not version else set()
        if tables and "documents" not in tables:
            raise ForeignDirectoryError(
                f"{self.path} was not made by Pincite; nothing was changed.", hint="Choose a folder with --data-dir."
            )
        if version > LAST_FORMAT + 1 or (version > LAST_FORMAT and self._revision(version) > REVISION):
            raise NewerDatabaseError(
                f"The database {self.path} was written by a newer Pincite.",
                hint="Install that version again, or choose another folder with --data-dir.",
            )
        return version


def has_our_tables(connection: sqlite3.Connection) -> bool:
    """Return whether the tables and columns of a library are there; a damaged list of them may lack some."""
    columns = "SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table'"
    wanted = {(table.name, column.name) for table in metadata.tables.values() for column in table.columns}
    wanted |= {("passage_words", "context"), ("passage_words", "text")}
    return wanted <= {tuple(row) for row in connection.execute(columns)}


class ReadOnlyDatabase(SqliteDatabase):
    """A database to look at: the file and those next to it stay as they are, to the byte.

    Where looking would change something (a log without its index, an older format), or where there is nothing to look
    at, this looks at a copy of its own.
    """

    _how = ""
    _copy: tempfile.TemporaryDirectory[str] | None = None

    def _leave_no_log(self) -> None:
        """It is not this one's to empty."""

    def close(self) -> None:
        super().close()
        if self._copy is not None:
            self._copy.cleanup()

    def _prepare(self) -> None:
        self._how = _way_to_look(self.path)
        if not self._how or not self._can_be_read_so():
            super().close()
            self._how = ""
            self._copy = tempfile.TemporaryDirectory(prefix="pincite-")
            place = Path(self._copy.name) / self.path.name
            for file in (self.path, _log_of(self.path)):
                if file.exists():
                    shutil.copyfile(file, place.with_name(file.name))
            self.path = place
            self._migrate()

    def _can_be_read_so(self) -> bool:
        """Return whether the database can be read as it is; after a kill only a writer can repair the log's index."""
        try:
            return self._is_current(self._version())
        except (ForeignDirectoryError, NewerDatabaseError):
            raise
        except StorageError:
            return False

    def _connect(self) -> sqlite3.Connection:
        return _open(f"{self.path.resolve().as_uri()}?{self._how}") if self._how else super()._connect()


def _way_to_look(path: Path) -> str:
    """SQLite's own options for looking without a trace; empty where there are none."""
    if not path.exists() or path.stat().st_size == 0:
        return ""
    log = _log_of(path)
    if not log.exists() or log.stat().st_size == 0:  # who writes keeps a log
        return "mode=ro&immutable=1"
    return "mode=ro&readonly_shm=1" if path.with_name(f"{path.name}-shm").exists() else ""


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _open(source: Path | str) -> sqlite3.Connection:
    return sqlite3.connect(
        source,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        factory=_Connection,
        uri=isinstance(source, str),
    )


def formats() -> list[str]:
    """Return the scripts that made each format from the one before."""
    folder = resources.files("pincite.core.store.formats")
    scripts = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    return [script.read_text(encoding="utf-8") for script in scripts]


def empty_log(connection: sqlite3.Connection) -> None:
    """Move the write-ahead log into the database and cut it to nothing, unless another process is reading it."""
    with suppress(sqlite3.Error, StorageError):
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
