"""Whether the files of a data directory are what they should be, before anything is opened for work."""

import sqlite3
from contextlib import closing
from enum import StrEnum
from pathlib import Path

from pincite.core.domain.errors import DamagedDatabaseError, StorageError
from pincite.core.domain.settings import Settings
from pincite.core.store.data_dir import STAMP, stamp_of
from pincite.core.store.sqlite import ReadOnlyDatabase, has_our_tables

HINT = (
    "Nothing was changed. Run `pincite restore FILE` to restore a backup to a new folder, or `pincite repair` to "
    "continue from the newest automatic backup or with what is left."
)


class Trouble(StrEnum):
    MISSING = "{database} is missing, though {folder} has held a library."
    EMPTY = "{database} is empty, though {folder} has held a library."
    NO_FILE = "{database} is not a file."
    DAMAGED = "{database} is damaged."

    def sentence(self, settings: Settings) -> str:
        return f"{self.format(database=settings.database_path.name, folder=settings.data_dir)} {HINT}"


def only_sqlite(settings: Settings) -> None:
    """Raises StorageError where the library is in PostgreSQL: its own tools back it up, restore it and mend it."""
    if settings.database_url:
        raise StorageError(
            "The library is in PostgreSQL, and this command is for a data directory.",
            hint=f"Use pg_dump and pg_restore, and copy the folder {settings.files_dir}.",
        )


def check_whole(settings: Settings) -> None:
    """Raise StorageError if opening the directory would lose something silently; changes nothing."""
    try:
        for path in misplaced(settings):
            raise StorageError(f"{path} should be a folder but is a file, or the reverse.", hint=HINT)
        trouble = trouble_of(settings)
    except OSError as error:
        hint = "Check who may read the folder. Run `pincite verify` for details."
        raise StorageError(f"{settings.data_dir} cannot be read ({error}).", hint=hint) from error
    if trouble is not None:
        raise StorageError(trouble.sentence(settings).removesuffix(f" {HINT}"), hint=HINT)


def trouble_of(settings: Settings) -> Trouble | None:
    """Return what keeps the database from being opened; damage inside a table is found when it is read."""
    path = settings.database_path
    if path.exists() and not path.is_file():
        return Trouble.NO_FILE
    if not path.exists() or not path.stat().st_size:
        used = bool(stamp_of(settings.data_dir) or any(settings.files_dir.glob("*.pdf")))
        return (Trouble.EMPTY if path.exists() else Trouble.MISSING) if used else None
    try:
        with closing(ReadOnlyDatabase(path)) as database:
            return None if has_our_tables(database.connection) else Trouble.DAMAGED
    except (DamagedDatabaseError, sqlite3.OperationalError):
        return Trouble.DAMAGED


def misplaced(settings: Settings) -> list[Path]:
    """Return folders that have the name of one of our files, and the reverse."""
    folders = {settings.files_dir, settings.models_dir}
    names = ("pincite.db", "checkpoints.db", "settings.json", "ingest.lock", "pincite.log", STAMP)
    files = {settings.data_dir / name for name in names}
    wrong = [path for path in folders if path.exists() and not path.is_dir()]
    return sorted([*wrong, *(path for path in files if path.is_dir())])
