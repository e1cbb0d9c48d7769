"""What a look at the stores finds, without changing a byte in them."""

from collections import Counter
from pathlib import Path

from sqlalchemy import func, select

from pincite.core.domain.settings import Settings
from pincite.core.store.data_dir import QUARANTINE, quarantined, strays
from pincite.core.store.database import Database
from pincite.core.store.indexes import Indexes
from pincite.core.store.library import Library
from pincite.core.store.records import damaged_records
from pincite.core.store.schema import documents, jobs, turns

ROWS_TRIED = 100
"""Number of the newest rows of each kind that are read to the end, which takes a fraction of a second."""


class Condition:
    def __init__(self, database: Database, library: Library, settings: Settings) -> None:
        self._database = database
        self._library = library
        self._settings = settings
        self._indexes = Indexes(database, settings)
        self.quarantine = settings.files_dir / QUARANTINE

    @property
    def database_name(self) -> str:
        return self._database.name

    def database_answers(self) -> None:
        """Raises StorageError."""
        self._database.count(select(1))

    def numbers(self) -> dict[str, dict[str, int]]:
        """Return how many documents, jobs and turns there are, by their status."""
        found = {}
        for table in (documents, jobs, turns):
            counted = select(table.c.status, func.count().label("number")).group_by(table.c.status)
            found[table.name] = {row["status"]: row["number"] for row in self._database.rows(counted)}
        return found

    def database_size(self) -> int:
        """Return bytes."""
        return self._database.size()

    def database_is_sound(self) -> bool:
        return self._database.is_sound()

    def embedder_name(self) -> str:
        """Return the active index's, or that of the one that will be made."""
        return self._indexes.chosen_name

    def vectors(self) -> tuple[int, list[str]]:
        """How many there are, and what is wrong with them, a sentence each."""
        return self._indexes.count(), self._indexes.check()

    def unknown_files(self) -> list[Path]:
        """PDFs that are none of the library's documents."""
        known = [document.id for document in self._library.list()]
        return [*quarantined(self._settings), *strays(self._settings, known)]

    def damaged_records(self) -> list[str]:
        """Return counts of the newest values that cannot be read, by table and column."""
        found = damaged_records(self._database, newest=ROWS_TRIED)
        counted = Counter((each.table, each.column) for each in found)
        return [f"{count:,} of {table} ({column})" for (table, column), count in counted.items()]
