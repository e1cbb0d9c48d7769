"""A data directory that is only looked at; what is heavy is loaded by the look that needs it, and not for a list."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pincite.core.domain.settings import Settings
from pincite.core.store.collections import Collections
from pincite.core.store.data_dir import check_ours
from pincite.core.store.database import Database
from pincite.core.store.library import Library
from pincite.core.store.open import open_database
from pincite.core.store.soundness import check_whole
from pincite.core.store.sqlite import ReadOnlyDatabase

if TYPE_CHECKING:
    from pincite.core.domain.tables import Table
    from pincite.core.services.health import Health


@dataclass(frozen=True, slots=True)
class Look:
    settings: Settings
    library: Library
    collections: Collections
    database: Database

    def tables(self, document_id: str) -> "tuple[Table, ...]":
        """Return the tables of all pages that are read."""
        from pincite.core.documents.tables import find_tables

        receipts = self.library.receipts(document_id)
        return find_tables(document_id, (self.library.page(document_id, page.page_index) for page in receipts))

    @property
    def health(self) -> "Health":
        from pincite.core.services.health import Health
        from pincite.core.services.registry import look_for_engines
        from pincite.core.store.condition import Condition

        condition = Condition(self.database, self.library, self.settings)
        return Health(lambda: self.settings, self.library, condition, lambda: look_for_engines(self.settings))


@contextmanager
def look_into(settings: Settings) -> Iterator[Look]:
    """Open a data directory only to look: not a byte in it changes, and where there is none, none is made.

    Raises StorageError.
    """
    check_ours(settings)
    if settings.database_url:
        database = open_database(settings)
    else:
        check_whole(settings)
        database = ReadOnlyDatabase(settings.database_path)
    try:
        yield Look(settings, Library(database, settings), Collections(database), database)
    finally:
        database.close()
