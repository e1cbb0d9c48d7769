"""Opening a library's database, on the engine that the settings name."""

from pincite.core.domain.errors import SettingsError
from pincite.core.domain.settings import Settings
from pincite.core.store.database import Database
from pincite.core.store.sqlite import SqliteDatabase


def open_database(settings: Settings) -> Database:
    """Raises StorageError or SettingsError."""
    if not settings.database_url:
        return SqliteDatabase(settings.database_path)
    try:
        from pincite.core.store.postgresql import PostgresqlDatabase
    except ImportError as error:  # an extra that a laptop does without
        hint = "Install it with: pip install 'pincite[postgresql]'"
        raise SettingsError("PINCITE_DATABASE_URL is set, but the PostgreSQL client is missing.", hint=hint) from error
    return PostgresqlDatabase(settings.database_url)
