"""What a look at the stores finds, without changing a byte in them."""

from pathlib import Path

from core.domain.settings import Settings
from core.domain.turns import TurnStatus
from core.store.data_dir import QUARANTINE, quarantined, strays
from core.store.database import Database
from core.store.indexes import Indexes
from core.store.library import Library
from core.store.turns import Turns

TURNS_TRIED = 100
"""So many of the newest turns are read to the end, which takes a fraction of a second."""
JSON_COLUMNS = (
    ("turns", "body"), ("trace_steps", "body"), ("reviews", "citations"), ("reviews", "parts"),
    ("sessions", "document_ids"), ("documents", "notes"), ("documents", "outline"), ("passages", "heading_path"),
    ("passages", "boxes"),
)  # fmt: skip


class Condition:
    def __init__(self, database: Database, library: Library, settings: Settings) -> None:
        self._database = database
        self._library = library
        self._settings = settings
        self._indexes = Indexes(database, settings)
        self.quarantine = settings.files_dir / QUARANTINE

    def database_is_sound(self) -> bool:
        result: str = self._database.connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        return result == "ok"

    def embedder_name(self) -> str:
        """The active index's, or that of the one that will be made."""
        return self._indexes.chosen_name

    def vectors(self) -> tuple[int, list[str]]:
        """How many there are, and what is wrong with them, a sentence each."""
        return self._indexes.count(), self._indexes.check()

    def unknown_files(self) -> list[Path]:
        """PDFs that are none of the library's documents."""
        known = [document.id for document in self._library.list()]
        return [*quarantined(self._settings), *strays(self._settings, known)]

    def damaged_records(self) -> list[str]:
        """Counts of what cannot be read, by where it stands."""
        connection = self._database.connection
        damaged = [
            f"{count:,} of {table} ({column})"
            for table, column in JSON_COLUMNS
            if (
                count := connection.execute(f"SELECT count(*) FROM {table} WHERE NOT json_valid({column})").fetchone()[
                    0
                ]
            )
        ]
        unreadable = sum(turn.status is TurnStatus.UNREADABLE for turn in Turns(self._database).recent(TURNS_TRIED))
        return [*damaged, *([f"{unreadable} of the newest turns"] if unreadable else [])]
