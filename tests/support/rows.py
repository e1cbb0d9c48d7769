"""The rows of an open library, for tests that look at them or change them from outside."""

from typing import Any, Protocol

from sqlalchemy import Result, text

from pincite.core.store.database import Database
from pincite.core.store.sqlite import SqliteDatabase


class Open(Protocol):
    """Whatever has a database open."""

    @property
    def database(self) -> Database: ...


def sqlite_of(place: Open) -> SqliteDatabase:
    """Return the database where it is one of SQLite."""
    assert isinstance(place.database, SqliteDatabase)
    return place.database


def run_sql(place: Open, statement: str, **values: object) -> Result[Any]:
    """Execute a statement that every engine understands."""
    return place.database.run(text(statement).bindparams(**values))
