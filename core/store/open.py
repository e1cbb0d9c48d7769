"""Opening a library's database, on the engine that the settings name."""

from sqlalchemy import select

from pincite.core.domain.errors import SettingsError, StorageError
from pincite.core.domain.settings import Settings
from pincite.core.store.database import Database
from pincite.core.store.schema import MIGRATING, counters
from pincite.core.store.sqlite import SqliteDatabase


def open_database(settings: Settings) -> Database:
    """Raises StorageError or SettingsError."""
    if not settings.database_url:
        return SqliteDatabase(settings.database_path)
    try:
        from pincite.core.store.postgresql import PostgresqlDatabase
    except ImportError as error:  # an extra that a laptop does without
        hint = "Install it with: pip install 'pincite[server]'"
        raise SettingsError("PINCITE_DATABASE_URL is set, but the PostgreSQL client is missing.", hint=hint) from error
    return PostgresqlDatabase(settings.database_url)


def check_copied(database: Database) -> None:
    """Raises StorageError if a library was begun to be copied here, and is not whole yet."""
    if database.row(select(counters).where(counters.c.name == MIGRATING)):
        hint = "Run the same `pincite migrate` again: it goes on where it ended."
        raise StorageError(f"A library is being copied to {database.name}, and is not whole yet.", hint=hint)
