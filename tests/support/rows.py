"""The rows of an open library as SQLite has them, for tests that look at them or change them from outside."""

from pincite.core.services.bootstrap import Pincite
from pincite.core.store.sqlite import SqliteDatabase


def sqlite_of(app: Pincite) -> SqliteDatabase:
    assert isinstance(app.database, SqliteDatabase)
    return app.database
