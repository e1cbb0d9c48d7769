"""What stores ask of a database, whichever engine holds it; ``sqlite.py`` and ``postgresql.py`` are the engines."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Executable, Result, RowMapping, Table, insert, update
from sqlalchemy.dialects.postgresql import Insert as PostgresqlInsert
from sqlalchemy.dialects.sqlite import Insert as SqliteInsert

from pincite.core.domain.accounts import LOCAL
from pincite.core.domain.ports import KeywordIndex, Vectors
from pincite.core.store.copies import Copies
from pincite.core.store.locks import Claim, WorkLock
from pincite.core.store.schema import REVIEW_LOG, VECTORS, counters, metadata

if TYPE_CHECKING:
    from pincite.core.store.vectors import Nearest

Insertion = SqliteInsert | PostgresqlInsert


class Database(ABC):
    """The rows of a library. Statements outside a transaction are each a transaction of their own."""

    @abstractmethod
    def run(self, statement: Executable, parameters: Sequence[Mapping[str, Any]] | None = None) -> Result[Any]:
        """Execute a statement, once or for each of the parameters; within a transaction of this thread, as part of it.

        Raises StorageError; a mistake of ours, such as a broken constraint, stays what it is.
        """

    @abstractmethod
    def change(self, statement: Executable) -> int:
        """Execute a statement and return the number of rows that it changed."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[object]:
        """Write several rows or none, while nobody else does; nested use joins the outer transaction."""

    @property
    @abstractmethod
    def in_transaction(self) -> bool: ...

    @abstractmethod
    def insert(self, table: Table) -> Insertion:
        """Return an insertion that can say what to do where the row is there already."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Where it is, as people are told."""

    @property
    def everything(self) -> "Database":
        """The same with the rows of all users."""
        return self

    @property
    def owner(self) -> str:
        """Whose the rows are that are added."""
        return LOCAL

    def may_change(self, document_id: str) -> bool:
        """Return whether a document that is there may be changed."""
        return True

    def may_delete(self, document_id: str) -> bool:
        return True

    @abstractmethod
    def lock(self, name: str, *, shared: bool = False) -> WorkLock:
        """Return a lock that one process can hold, of all that work on this library.

        ``shared``: that any number of processes can hold, but not together with one that holds it alone. With SQLite
        one process does the work, so there it is held alone, too.
        """

    @abstractmethod
    def claim(self) -> Claim:
        """Return what a thread of a process with the shared lock claims its next piece of work by."""

    @abstractmethod
    def this_worker(self) -> str:
        """Return the name of this process."""

    @abstractmethod
    def is_alive(self, worker: str) -> bool:
        """Return whether a process is still at work."""

    @abstractmethod
    def keyword_index(self) -> KeywordIndex: ...

    @abstractmethod
    def nearest(self) -> "Nearest":
        """Return what searches by meaning approximately."""

    @abstractmethod
    def copies(self) -> Copies:
        """Return the automatic copies of it."""

    @abstractmethod
    def scrub(self, *, words: bool = False, max_bytes: int | None = None) -> bool:
        """Leave nothing of deleted rows in the files; False while another process keeps that from happening.

        ``words``: nothing in the keyword index either. More than ``max_bytes`` are not rewritten (False).
        """

    @abstractmethod
    def is_sound(self) -> bool:
        """Return whether the engine finds nothing wrong with what it stores."""

    @abstractmethod
    def size(self) -> int:
        """Return the bytes that it takes."""

    @abstractmethod
    def close(self) -> None: ...

    def vectors_stored(self, model: str, vectors: Mapping[bytes, Vectors]) -> None:  # noqa: B027 # most do nothing
        """Called in the transaction that stores vectors, for an engine that keeps them in a form of its own as well."""

    def rows_were_copied(self) -> None:  # noqa: B027 # most do nothing
        """Called after rows were inserted with numbers of their own: the next one gets a number behind them."""

    def put(self, table: Table, key: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """Insert a row with this key, or update the one that has it."""
        statement = self.insert(table).values(**key, **values)
        self.run(statement.on_conflict_do_update(index_elements=list(key), set_=dict(values)))

    def rows(self, query: Executable) -> Sequence[RowMapping]:
        return self.run(query).mappings().all()

    def row(self, query: Executable) -> RowMapping | None:
        """Return the first row; None if there is none."""
        return self.run(query).mappings().first()

    def count(self, query: Executable) -> int:
        """Return the one number that a query gives."""
        return int(self.run(query).scalar_one())

    def next(self, counter: str) -> int:
        """Add one to a row of ``counters`` and return it."""
        added = update(counters).where(counters.c.name == counter).values(value=counters.c.value + 1)
        return self.count(added.returning(counters.c.value))


def make_tables(connection: Connection) -> None:
    """Make the tables of a new library, and the rows that they begin with."""
    metadata.create_all(connection, checkfirst=False)
    connection.execute(insert(counters), [{"name": name, "value": 0} for name in (VECTORS, REVIEW_LOG)])


def migrate(connection: Connection, revision: str) -> None:
    """Bring a library from a revision to the newest; the caller's transaction holds all of it."""
    # Alembic takes a while to import, and most starts find nothing to do.
    from alembic import command
    from alembic.config import Config

    if not connection.in_transaction():
        connection.begin()  # else Alembic would, and commit
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", "pincite.core.store:migrations")
    command.stamp(config, revision)
    command.upgrade(config, "head")
