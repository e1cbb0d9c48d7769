"""Opening a library's database, on the engine that the settings name."""

from pincite.core.domain.settings import Settings
from pincite.core.store.database import Database
from pincite.core.store.sqlite import SqliteDatabase


def open_database(settings: Settings) -> Database:
    """Raises StorageError or SettingsError."""
    if not settings.database_url:
        return SqliteDatabase(settings.database_path)
    from pincite.core.store.postgresql import PostgresqlDatabase  # an extra that a laptop does without

    return PostgresqlDatabase(settings.database_url)
