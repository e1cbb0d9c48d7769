"""A witness beside the database, so that a lost, older or changed file is not taken for a library that has less in it.

``left.json`` says which opening of the directory was the last, and the checksums of the files at its end. SQLite has
neither: to it an empty file is a new database, and yesterday's copy as good as today's.
"""

import json
import sqlite3
import zlib
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from pincite.core.domain.errors import DamagedDatabaseError, StorageError
from pincite.core.domain.settings import Settings
from pincite.core.domain.writing import NOT_OURS, write_whole
from pincite.core.store.data_dir import STAMP, stamp_of
from pincite.core.store.database import Database, ReadOnlyDatabase, has_our_tables

NAME = "left.json"
MAX_OPENINGS = 2**53
HINT = (
    "Nothing was changed. Run `pincite restore FILE` to restore a backup to a new folder, or `pincite repair` to "
    "continue from the newest automatic backup or with what is left."
)


class Trouble(StrEnum):
    MISSING = "{database} is missing, though {folder} has held a library."
    EMPTY = "{database} is empty, though {folder} has held a library."
    NO_FILE = "{database} is not a file."
    OLDER = "{database} is older than the rest of {folder}: what was added since is not in it."
    DAMAGED = "{database} is damaged."

    def sentence(self, settings: Settings) -> str:
        return f"{self.format(database=settings.database_path.name, folder=settings.data_dir)} {HINT}"


@dataclass(frozen=True, slots=True)
class Witness:
    """``sums``: CRC-32 by file name, where the directory was closed and nobody else had it open."""

    opening: int = 0
    sums: Mapping[str, int] = field(default_factory=dict)


def check_whole(settings: Settings) -> None:
    """Raises StorageError where opening would lose something without a word; changes nothing."""
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
    """What keeps the database from being opened as it is; damage inside a table is found when it is read."""
    path = settings.database_path
    if path.exists() and not path.is_file():
        return Trouble.NO_FILE
    witness = witness_of(settings)
    size = path.stat().st_size if path.exists() else 0
    if not size:
        lived = bool(witness.opening or stamp_of(settings.data_dir) or any(settings.files_dir.glob("*.pdf")))
        return (Trouble.EMPTY if path.exists() else Trouble.MISSING) if lived else None
    try:
        with closing(ReadOnlyDatabase(path)) as database:
            if not has_our_tables(database.connection):
                return Trouble.DAMAGED
            return Trouble.OLDER if opening_of(database.connection) < witness.opening else None
    except (DamagedDatabaseError, sqlite3.OperationalError):
        return Trouble.DAMAGED


def misplaced(settings: Settings) -> list[Path]:
    """What has the name of one of our files and is a folder, or the reverse."""
    folders = {settings.files_dir, settings.models_dir}
    names = ("pincite.db", "checkpoints.db", "settings.json", "ingest.lock", "pincite.log", STAMP, NAME)
    files = {settings.data_dir / name for name in names}
    wrong = [path for path in folders if path.exists() and not path.is_dir()]
    return sorted([*wrong, *(path for path in files if path.is_dir())])


def opening_of(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT number FROM openings").fetchone()
    return row[0] if row else 0


def witness_of(settings: Settings) -> Witness:
    """What was written last; nothing where that cannot be read: it only warns, and nothing depends on it."""
    try:
        plain = json.loads((settings.data_dir / NAME).read_text(encoding="utf-8"))
        sums = {str(name): int(crc) for name, crc in plain["sums"].items()}
        opening = int(plain["opening"])
        return Witness(opening, sums) if 0 <= opening < MAX_OPENINGS else Witness()
    except (OSError, *NOT_OURS):
        return Witness()


def note_opening(settings: Settings, database: Database) -> int:
    """Count an opening, in the database first: killed in between, the witness is behind, which says nothing."""
    with database.transaction() as connection:
        connection.execute("UPDATE openings SET number = max(number, ?) + 1", (witness_of(settings).opening,))
        opening = opening_of(connection)
    _write(settings, Witness(opening))
    return opening


def note_closing(settings: Settings, opening: int) -> None:
    """Keep the sums of what was left, unless somebody else has the files open or has had them since."""
    if witness_of(settings).opening != opening:
        return
    paths = (settings.database_path, settings.checkpoints_path, settings.choices_path)
    if not any(path.with_name(f"{path.name}-wal").exists() for path in paths):
        _write(settings, Witness(opening, {path.name: crc_of(path) for path in paths if path.is_file()}))


def crc_of(path: Path) -> int:
    crc = 0
    with path.open("rb") as file:
        while block := file.read(2**20):
            crc = zlib.crc32(block, crc)
    return crc


def _write(settings: Settings, witness: Witness) -> None:
    """Where the disk is full the old one stays, which is behind and says nothing."""
    with suppress(OSError):
        write_whole(settings.data_dir / NAME, json.dumps({"opening": witness.opening, "sums": dict(witness.sums)}))
