"""What works and what does not: the lines of `pincite doctor` and of the settings page."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.domain.documents import DocumentStatus
from core.domain.errors import PinciteError
from core.domain.health import HealthCheck
from core.domain.settings import Settings
from core.domain.turns import TurnStatus
from core.models.embed import make_embedder
from core.models.engines import EngineState, look_for_engines
from core.models.flash import LICENCE, SIZE_MB, is_cached
from core.store.data_dir import QUARANTINE, check_ours, quarantined, strays
from core.store.database import Database, ReadOnlyDatabase
from core.store.indexes import Indexes
from core.store.library import Library
from core.store.turns import Turns
from core.store.witness import check_whole

LEAST_FREE_MIB = 500
TURNS_TRIED = 100
"""So many of the newest turns are read to the end, which takes a fraction of a second."""
JSON_COLUMNS = (
    ("turns", "body"), ("trace_steps", "body"), ("reviews", "citations"), ("reviews", "parts"),
    ("sessions", "document_ids"), ("documents", "notes"), ("documents", "outline"), ("passages", "heading_path"),
    ("passages", "boxes"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Look:
    """What can be seen of a data directory without changing it."""

    settings: Settings
    database: Database
    library: Library
    engines: Callable[[], EngineState]

    def health(self) -> list[HealthCheck]:
        """Look at every part; none of the looks needs the network, but for the language model's server."""
        parts = (_storage, _database, _embeddings, _reranker, _language_model, _documents, _files, _records)
        return [look(self) for look in parts]

    def storage(self) -> Mapping[str, int]:
        """Bytes on disk by part."""
        parts = {
            "documents": self.settings.files_dir,
            "database": self.settings.database_path,
            "vectors": self.settings.vectors_dir,
            "checkpoints": self.settings.checkpoints_path,
            "models": self.settings.models_dir,
        }
        return {name: _size_of(path) for name, path in parts.items()}


@contextmanager
def look_into(settings: Settings) -> Iterator[Look]:
    """Open a data directory only to look: not a byte in it changes, and where there is none, none is made.

    Raises StorageError.
    """
    check_ours(settings)
    check_whole(settings)
    database = ReadOnlyDatabase(settings.database_path)
    try:
        yield Look(settings, database, Library(database, settings), lambda: look_for_engines(settings))
    finally:
        database.close()


def _storage(look: Look) -> HealthCheck:
    directory = look.settings.data_dir
    there = next(path for path in (directory, *directory.parents) if path.exists())
    free = shutil.disk_usage(there).free // 2**20
    detail = f"{directory}, {free:,} MiB free" + ("" if there == directory else "; it is made with the first document")
    return HealthCheck("data directory", free >= LEAST_FREE_MIB, detail, "Free some space, or choose another folder.")


def _database(look: Look) -> HealthCheck:
    result = look.database.connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    return HealthCheck("database", result == "ok", str(look.settings.database_path), "Restore it from a backup.")


def _embeddings(look: Look) -> HealthCheck:
    indexes = Indexes(look.database, look.settings)
    try:
        embedder = make_embedder(indexes.chosen_name, look.settings)
        length = embedder.embed(["A test of the embedder."]).shape[1]
    except PinciteError as error:
        detail = f"{error.message} Questions are searched by words alone."
        return HealthCheck("embeddings", False, detail, error.hint)
    troubles = indexes.check()
    detail = " ".join([f"{embedder.name}, {length} dimensions, {indexes.count():,} vectors.", *troubles])
    return HealthCheck("embeddings", not troubles, detail, "It is made good in the background while the app is open.")


def _reranker(look: Look) -> HealthCheck:
    if is_cached(look.settings.models_dir):
        return HealthCheck("reranker", True, "FlashRank")
    return HealthCheck(
        "reranker", True, f"built-in; FlashRank's weights ({SIZE_MB} MB, {LICENCE}) are not on this machine"
    )


def _language_model(look: Look) -> HealthCheck:
    state = look.engines()
    wanted = look.settings.engine == "ollama"
    detail = state.message if state.available or wanted else f"none; answers are quoted. {state.message}"
    return HealthCheck("language model", state.available or not wanted, detail, "Start Ollama, or choose quoting.")


def _documents(look: Look) -> HealthCheck:
    documents = look.library.list()
    failed = [document for document in documents if document.status is DocumentStatus.FAILED]
    unread = ", ".join(document.name for document in failed if not document.searchable)
    words_only = ", ".join(document.name for document in failed if document.searchable)
    detail = f"{len(documents)} stored" + (f", not read: {unread}" if unread else "")
    detail += f", searched by words alone: {words_only}" if words_only else ""
    return HealthCheck("documents", not failed, detail, "Retry them on the documents page.")


def _files(look: Look) -> HealthCheck:
    documents = look.library.list()
    if missing := look.library.files_missing():
        detail = f"missing or changed: {', '.join(missing)}; what was read of them can still be searched"
        return HealthCheck("files", False, detail, "Add the same files again; `pincite verify` looks closer.")
    unknown = [*quarantined(look.settings), *strays(look.settings, [document.id for document in documents])]
    if not unknown:
        return HealthCheck("files", True, "every PDF here belongs to a document")
    place = look.settings.files_dir / QUARANTINE
    detail = f"{len(unknown)} belonging to no document, kept aside in {place}; none is deleted"
    return HealthCheck("files", False, detail, "Add them on the documents page or with `pincite add`.")


def _records(look: Look) -> HealthCheck:
    connection = look.database.connection
    damaged = [
        f"{count:,} of {table} ({column})"
        for table, column in JSON_COLUMNS
        if (count := connection.execute(f"SELECT count(*) FROM {table} WHERE NOT json_valid({column})").fetchone()[0])
    ]
    unreadable = sum(turn.status is TurnStatus.UNREADABLE for turn in Turns(look.database).recent(TURNS_TRIED))
    if unreadable:
        damaged.append(f"{unreadable} of the newest turns")
    detail = f"cannot be read, and are kept as they are: {', '.join(damaged)}" if damaged else "all can be read"
    return HealthCheck("records", not damaged, detail, "What they say is missing elsewhere; restore a backup.")


def _size_of(path: Path) -> int:
    """A database counts with its write-ahead log."""
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))
