"""Where running turns are kept, so that an interrupted one continues: a file of SQLite, or the library's PostgreSQL."""

import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from sqlalchemy import make_url

from pincite.core.domain.errors import StorageError
from pincite.core.graph.state import CHECKPOINTED

if TYPE_CHECKING:
    from langgraph.checkpoint.postgres import PostgresSaver
    from psycopg import Connection
    from psycopg.rows import DictRow

_MAKING = "1, 1"
"""Key of the advisory lock of whoever makes the tables."""
_THREADS = "SELECT thread_id FROM checkpoints UNION SELECT thread_id FROM {writes}"


class Checkpoints(Protocol):
    """Only our own values and LangGraph's safe ones come back from them."""

    @property
    def saver(self) -> BaseCheckpointSaver[Any]: ...

    def threads(self) -> Iterable[str]:
        """Return the ids of the runs that have checkpoints."""

    def forget(self, thread_id: str) -> None:
        """Delete the checkpoints of a run."""

    def scrub(self) -> bool:
        """Leave nothing of deleted checkpoints in the file; False while another process keeps that from happening."""

    def close(self) -> None: ...


def open_checkpoints(path: Path, database_url: str) -> Checkpoints:
    """Raises StorageError."""
    return PostgresqlCheckpoints(database_url) if database_url else SqliteCheckpoints(path)


def forget_runs(checkpoints: Checkpoints, to_keep: Callable[[], Collection[str]]) -> None:
    """Drop the checkpoints of every run but those to keep: what came of a turn is kept with the turn.

    What to keep is asked after looking, so that a run which begins meanwhile is not among what goes.
    """
    there = set(checkpoints.threads())
    for thread_id in there - set(to_keep()) if there else ():
        checkpoints.forget(thread_id)


class SqliteCheckpoints:
    """A file of their own."""

    saver: SqliteSaver

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=30, check_same_thread=False)
            connection.execute("PRAGMA secure_delete = ON")
            self.saver = SqliteSaver(connection, serde=_serializer())
            self.saver.setup()
        except (OSError, sqlite3.DatabaseError) as error:
            raise StorageError(
                f"The file {path} cannot be used ({error}).",
                hint="Check that it can be written to. If it is damaged, delete it: it holds only what a running turn "
                "needs.",
            ) from error

    def forget(self, thread_id: str) -> None:
        self.saver.delete_thread(thread_id)

    def threads(self) -> list[str]:
        with self.saver.cursor(transaction=False) as cursor:
            return [row[0] for row in cursor.execute(_THREADS.format(writes="writes"))]

    def scrub(self) -> bool:
        with self.saver.lock:  # never held while the library is written, which a removal does before it
            try:
                self.saver.conn.commit()
                self.saver.conn.execute("VACUUM")
                busy: int = self.saver.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            except sqlite3.OperationalError:
                return False
        return not busy

    def close(self) -> None:
        with suppress(sqlite3.Error):  # another process reads the log
            self.saver.conn.execute("PRAGMA busy_timeout = 0")
            self.saver.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        self.saver.conn.close()


class PostgresqlCheckpoints:
    """Tables beside those of the library."""

    saver: "PostgresSaver"

    def __init__(self, address: str) -> None:
        from langgraph.checkpoint.postgres import PostgresSaver
        from psycopg import Connection
        from psycopg.rows import DictRow, dict_row
        from psycopg_pool import ConnectionPool

        self._pool: ConnectionPool[Connection[DictRow]] = ConnectionPool(
            make_url(address).set(drivername="postgresql").render_as_string(hide_password=False),
            min_size=1,
            max_size=20,
            open=True,
            check=ConnectionPool.check_connection,
            kwargs={"autocommit": True, "prepare_threshold": None, "row_factory": dict_row},
        )
        self.saver = PostgresSaver(self._pool, serde=_serializer())
        try:
            with self._errors(), self._pool.connection() as connection:
                self._set_up(connection)
        except BaseException:
            self._pool.close()
            raise

    def threads(self) -> list[str]:
        with self._errors(), self._pool.connection() as connection:
            return [row["thread_id"] for row in connection.execute(_THREADS.format(writes="checkpoint_writes"))]

    def forget(self, thread_id: str) -> None:
        with self._errors():
            self.saver.delete_thread(thread_id)

    def scrub(self) -> bool:
        """PostgreSQL uses the space again by itself."""
        return True

    def close(self) -> None:
        self._pool.close()

    def _set_up(self, connection: "Connection[DictRow]") -> None:
        """Make the tables, in one process at a time; to wait inside a statement would keep indexes from being made."""
        mine = f"SELECT 1 WHERE pg_try_advisory_lock({_MAKING})"
        while connection.execute(mine).fetchone() is None:
            time.sleep(0.05)
        try:
            self.saver.setup()
        finally:
            connection.execute(f"SELECT pg_advisory_unlock({_MAKING})")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        from psycopg import Error

        try:
            yield
        except Error as error:  # the pool's own errors are of this kind, too
            hint = "Check that the server is running, and the address in PINCITE_DATABASE_URL."
            raise StorageError(f"The database cannot be used ({error}).", hint=hint) from error


def _serializer() -> JsonPlusSerializer:
    return JsonPlusSerializer(allowed_msgpack_modules=CHECKPOINTED)
