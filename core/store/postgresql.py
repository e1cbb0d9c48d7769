"""PostgreSQL: connections, errors, transactions, and which processes are alive; not what is in the tables."""

import logging
import os
import socket
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import psycopg
from psycopg import errors
from sqlalchemy import (
    Connection,
    CursorResult,
    Engine,
    ExceptionContext,
    Executable,
    Result,
    Table,
    TextClause,
    create_engine,
    event,
    func,
    inspect,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import Insert
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import NullPool, QueuePool

from pincite.core.domain.errors import (
    BusyError,
    DamagedDatabaseError,
    ForeignDirectoryError,
    FullDiskError,
    NewerDatabaseError,
    SettingsError,
    StorageError,
)
from pincite.core.domain.ports import Vectors
from pincite.core.store.copies import NoCopies
from pincite.core.store.database import Database, make_tables, migrate
from pincite.core.store.pgvector import Pgvector, as_point
from pincite.core.store.schema import REVISION, metadata
from pincite.core.store.tsvector import TsvectorIndex
from pincite.core.store.workers import this_worker

log = logging.getLogger(__name__)

BUSY_SECONDS = 30
SHORT_QUERIES = "-c jit=off -c max_parallel_workers_per_gather=0 -c random_page_cost=1.1"
"""Plans for many queries of some milliseconds each, on disks that read anywhere equally fast."""
SCRUBBED = ("turns", "turn_lines", "trace_steps", "reviews", "pages", "passages", "passage_words", "embeddings")
CONNECT_SECONDS = 10
KEEPALIVE_SECONDS = 15
PRESENCE_SECONDS = 5.0
WRITERS, WORK, WORKERS, PIECES = 1, 2, 3, 4
"""First halves of the keys of advisory locks: whoever writes several rows, kinds of work, processes, pieces of work."""
MAKE_WORDS = (
    """CREATE TABLE passage_words (number BIGINT PRIMARY KEY REFERENCES passages(number) ON DELETE CASCADE,
       terms TSVECTOR NOT NULL, length INTEGER NOT NULL)""",
    "CREATE INDEX passages_by_word ON passage_words USING gin (terms)",
    # Of 10,000 terms the server then knows in how many passages they are.
    "ALTER TABLE passage_words ALTER COLUMN terms SET STATISTICS 1000",
)
"""The terms of each passage and their number; see ``tsvector.py``."""
MAKE_POINTS = """CREATE TABLE points (key BYTEA, model TEXT COLLATE "C", point HALFVEC NOT NULL,
  PRIMARY KEY (key, model), FOREIGN KEY (key, model) REFERENCES embeddings (key, model) ON DELETE CASCADE)"""
"""Vectors as pgvector searches them; see ``pgvector.py``."""
_PUT_POINTS = text(
    """INSERT INTO points (key, model, point) VALUES (:key, :model, CAST(:point AS halfvec))
       ON CONFLICT (key, model) DO UPDATE SET point = excluded.point"""
)


class PostgresqlDatabase(Database):
    """One database, with a pool of connections that all threads share."""

    def __init__(self, address: str) -> None:
        self._local = threading.local()
        url = _url(address)
        self._name = f"{url.database} on {url.host or url.query.get('host') or 'this machine'}"
        self._engine = self._made(url, poolclass=QueuePool, pool_pre_ping=True, pool_size=10, max_overflow=30)
        self._single = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        self._sessions = self._made(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        """Makes connections that hold locks for as long as they are open."""
        self._writing = threading.Lock()
        """Of the threads of this process one waits for other processes, and holds a connection meanwhile."""
        self._presence = _Presence(self._sessions)
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _made(self, url: URL, **options: Any) -> Engine:
        engine = create_engine(
            url,
            hide_parameters=True,  # a message names no words of documents
            connect_args={
                "connect_timeout": CONNECT_SECONDS,
                "keepalives_idle": KEEPALIVE_SECONDS,
                "keepalives_interval": KEEPALIVE_SECONDS,
                "prepare_threshold": None,  # a plan for any terms and documents would be a bad one for most
                "options": f"-c lock_timeout={BUSY_SECONDS}s -c client_encoding=UTF8 {SHORT_QUERIES}",
            },
            **options,
        )
        event.listen(engine, "handle_error", self._translate)
        return engine

    def run(self, statement: Executable, parameters: Sequence[Mapping[str, Any]] | None = None) -> Result[Any]:
        if (own := self._own) is not None:
            return own.execute(statement, parameters)
        with _no_connection_is_busy(), self._single.connect() as connection:
            result = connection.execute(statement, parameters)
            return result.freeze()() if result.returns_rows else result

    def change(self, statement: Executable) -> int:
        result = self.run(statement)
        assert isinstance(result, CursorResult)
        return result.rowcount

    def insert(self, table: Table) -> Insert:
        return Insert(table)

    @property
    def in_transaction(self) -> bool:
        return self._own is not None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """As for SQLite, who writes several rows waits for whoever else does: what was looked up before stays true."""
        if self.in_transaction:
            yield
            return
        with _no_connection_is_busy(), self._writing, self._engine.begin() as connection:
            connection.execute(select(func.pg_advisory_xact_lock(WRITERS, 0)))
            self._local.connection = connection
            try:
                yield
            finally:
                self._local.connection = None

    @contextmanager
    def searching(self, setting: str) -> Iterator[None]:
        """Run what is inside under this setting of the server, ``name = value``."""
        local = text(f"SET LOCAL {setting}")
        if self._own is not None:
            self._own.execute(local)
            yield
            return
        with _no_connection_is_busy(), self._engine.begin() as connection:
            connection.execute(local)
            self._local.connection = connection
            try:
                yield
            finally:
                self._local.connection = None

    def is_sound(self) -> bool:
        return self.count(select(1)) == 1

    def size(self) -> int:
        return self.count(select(func.pg_database_size(func.current_database())))

    def vectors_stored(self, model: str, vectors: Mapping[bytes, Vectors]) -> None:
        if self.has_pgvector and vectors:
            rows = [{"key": key, "model": model, "point": as_point(vector)} for key, vector in vectors.items()]
            self.run(_PUT_POINTS, rows)

    def rows_were_copied(self) -> None:
        for table in metadata.tables.values():
            if (number := table.autoincrement_column) is not None:
                sequence = func.pg_get_serial_sequence(table.name, number.name)
                last = select(func.coalesce(func.max(number), 0) + 1).scalar_subquery()
                self.run(select(func.setval(sequence, last, False)))

    @property
    def name(self) -> str:
        return self._name

    def this_worker(self) -> str:
        return self._presence.worker()

    def is_alive(self, worker: str) -> bool:
        return worker == self._presence.name or self.count(_presence_of(worker)) > 0

    def lock(self, name: str, *, shared: bool = False) -> "AdvisoryLock":
        return AdvisoryLock(self._sessions, name, shared=shared)

    def claim(self) -> "AdvisoryClaim":
        return AdvisoryClaim(self._sessions)

    def keyword_index(self) -> TsvectorIndex:
        return TsvectorIndex(self, self.searching)

    def nearest(self) -> Pgvector:
        return Pgvector(self, self.searching if self.has_pgvector else None)

    def copies(self) -> NoCopies:
        return NoCopies()

    def scrub(self, *, words: bool = False, max_bytes: int | None = None) -> bool:
        """Have the server take deleted rows out of its tables now; its log and its backups are others' to empty."""
        with self._single.connect() as connection:
            for table in SCRUBBED:
                connection.execute(text(f"VACUUM {table}"))
        return True

    def close(self) -> None:
        self._presence.close()
        self._engine.dispose()
        self._sessions.dispose()

    @property
    def _own(self) -> Connection | None:
        own: Connection | None = getattr(self._local, "connection", None)
        return own

    def _translate(self, context: ExceptionContext) -> None:
        """Raise StorageError for what the server refuses; a mistake of ours, such as a broken constraint, stays."""
        error = context.original_exception
        if context.is_pre_ping or isinstance(error, errors.ProgramLimitExceeded):
            return  # the pool makes another connection; a value that is too long is a mistake of ours
        if isinstance(error, errors.DiskFull):
            raise FullDiskError("The disk of the database is full.", hint="Free some space, then try again.") from error
        if isinstance(error, (errors.LockNotAvailable, errors.DeadlockDetected, errors.QueryCanceled)):
            hint = "Try again in a moment."
            raise BusyError("Another part of Pincite is writing to the library.", hint=hint) from error
        if isinstance(error, (errors.IndexCorrupted, errors.DataCorrupted)):
            hint = "Nothing was changed. Restore a backup of the database."
            raise DamagedDatabaseError(f"The database is damaged ({_first_line(error)}).", hint=hint) from error
        if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
            self._cannot_be_used(error)

    def _cannot_be_used(self, error: BaseException) -> NoReturn:
        raise StorageError(
            f"The database {self.name} cannot be used ({_first_line(error)}).",
            hint="Check that the server is running, and the address in PINCITE_DATABASE_URL.",
        ) from error

    def _prepare(self) -> None:
        with self.transaction():
            connection = self._own
            assert connection is not None
            names = inspect(connection).get_table_names()
            if "documents" not in names or "alembic_version" not in names:
                if names:
                    what = f"The database {self.name} has tables that Pincite did not make; nothing was changed."
                    raise ForeignDirectoryError(what, hint="Name an empty database.")
                self._make(connection)
            revision = connection.execute(text("SELECT version_num FROM alembic_version")).scalar() or ""
            if revision > REVISION:
                raise NewerDatabaseError(
                    f"The database {self.name} was written by a newer Pincite.", hint="Install that version again."
                )
            if revision < REVISION:
                migrate(connection, revision)
            self.has_pgvector = "points" in names or self._make_points(connection)

    def _make(self, connection: Connection) -> None:
        make_tables(connection)
        for statement in (*MAKE_WORDS, "CREATE TABLE alembic_version (version_num TEXT PRIMARY KEY)"):
            connection.execute(text(statement))
        connection.execute(text("INSERT INTO alembic_version VALUES (:revision)"), {"revision": REVISION})

    def _make_points(self, connection: Connection) -> bool:
        """Return whether the server has pgvector and lets us use it; without it every search is exact."""
        offered = text("SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'")
        if not connection.execute(offered).scalar_one():
            return False
        try:
            with connection.begin_nested():
                connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
                connection.execute(text(MAKE_POINTS))
        except DBAPIError:
            log.warning("pgvector cannot be used; searches by meaning read all vectors.", exc_info=True)
            return False
        return True


def _url(address: str) -> URL:
    try:
        url = make_url(address)
        if url.get_backend_name() not in ("postgresql", "postgres"):
            raise ValueError(url.drivername)
        return url.set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError) as error:
        hint = "It looks like postgresql://user:password@host:5432/database."
        raise SettingsError("PINCITE_DATABASE_URL is not the address of a PostgreSQL database.", hint=hint) from error


class AdvisoryLock:
    """A lock that a session of the server holds: it is free once the process, or its connection, is gone."""

    def __init__(self, sessions: Engine, name: str, *, shared: bool = False) -> None:
        self._sessions = sessions
        self._try = (func.pg_try_advisory_lock_shared if shared else func.pg_try_advisory_lock)(WORK, _key(name))
        self._session: Connection | None = None
        self._held = False
        self._taking = threading.Lock()

    def take(self) -> bool:
        with self._taking:
            if self._session is None or not _answers(self._session):
                self._held = False
                self._session = self._sessions.connect()
            if not self._held:
                self._held = self._session.execute(select(self._try)).scalar_one()
            return self._held

    def release(self) -> None:
        with self._taking:
            if self._session is not None:
                _end(self._session)
            self._session, self._held = None, False


class AdvisoryClaim:
    """Locks of a session of its own; once that is lost, as when the server is restarted, nothing is claimed."""

    def __init__(self, sessions: Engine) -> None:
        self._sessions = sessions
        self._session: Connection | None = None

    def take(self, what: str) -> bool:
        if not self.held():
            self._session = self._sessions.connect()
        assert self._session is not None
        return bool(self._session.execute(select(func.pg_try_advisory_lock(PIECES, _key(what)))).scalar_one())

    def held(self) -> bool:
        return self._session is not None and _answers(self._session)

    def release(self) -> None:
        """The session is kept: the next piece is taken soon."""
        if self._session is not None and self.held():
            self._session.execute(select(func.pg_advisory_unlock_all()))

    def close(self) -> None:
        if self._session is not None:
            _end(self._session)
        self._session = None


class _Presence:
    """Shows other processes that this one is alive, for as long as its session with the server lasts."""

    def __init__(self, sessions: Engine) -> None:
        self._sessions = sessions
        self.name = f"{socket.gethostname()}:{this_worker()}:{os.urandom(4).hex()}"
        self._session: Connection | None = None
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def worker(self) -> str:
        """Return this process's name, which others see as alive from now on."""
        with self._lock:
            if self._session is None:
                threading.Thread(target=self._stay, name="presence", daemon=True).start()
            self._show()
        return self.name

    def close(self) -> None:
        self._closed.set()
        with self._lock:
            if self._session is not None:
                _end(self._session)
                self._session = None

    def _show(self) -> None:
        if not self._closed.is_set() and (self._session is None or not _answers(self._session)):
            self._session = self._sessions.connect()
            self._session.execute(select(func.pg_advisory_lock_shared(WORKERS, _key(self.name))))

    def _stay(self) -> None:
        """Show it again where the session was lost, as when the server was restarted."""
        while not self._closed.wait(PRESENCE_SECONDS):
            with suppress(StorageError, SQLAlchemyError), self._lock:
                self._show()


def _presence_of(worker: str) -> TextClause:
    return text(
        """SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND granted
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
           AND classid = :workers AND objid::bigint = :key"""
    ).bindparams(workers=WORKERS, key=_key(worker) % 2**32)


@contextmanager
def _no_connection_is_busy() -> Iterator[None]:
    """Raises BusyError where all connections of this process are in use for too long."""
    try:
        yield
    except PoolTimeoutError as error:
        raise BusyError("Too much is going on at once.", hint="Try again in a moment.") from error


def _end(session: Connection) -> None:
    with suppress(SQLAlchemyError, StorageError):
        session.close()


def _answers(session: Connection) -> bool:
    try:
        session.execute(select(1))
    except (SQLAlchemyError, StorageError):
        _end(session)
        return False
    return True


def _key(name: str) -> int:
    """Return a number of 32 bits with a sign, as the locks have."""
    return int.from_bytes(zlib.crc32(name.encode()).to_bytes(4, "big"), "big", signed=True)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
