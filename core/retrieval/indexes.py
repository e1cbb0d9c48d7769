"""The vector indexes: which embedder's is in use, the one that is being built beside it, and the one before it.

Passages that an index lacks wait in ``pending_vectors``; whoever runs ingest takes them from there.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from sqlite3 import Connection, Row
from typing import TYPE_CHECKING, Literal

import numpy as np

from pincite.core.ports import Embedder, Vectors
from pincite.core.retrieval.embed import embedded_text, embedding_key, make_embedder
from pincite.core.retrieval.vector_cache import VectorCache
from pincite.core.retrieval.vectors import ChromaIndex, IndexStamp, drop_collection, mismatch, open_chroma
from pincite.core.settings import Settings
from pincite.core.store.database import Database
from pincite.core.store.library import stored_passage
from pincite.core.types import Passage

if TYPE_CHECKING:
    from chromadb.api.client import Client

Role = Literal["active", "building", "previous"]
TEXTS_AT_ONCE = 64
_RUNNING_JOBS = "JOIN jobs ON jobs.document_id = passages.document_id AND jobs.status = 'running'"


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """How far the index of a new embedder is; ``message`` says what stopped it, if anything did."""

    embedder: str
    done: int
    total: int
    message: str = ""


@dataclass(frozen=True, slots=True)
class PendingPassages:
    """Passages that the index ``index_id`` lacks, by their numbers."""

    index_id: int
    building: bool
    numbers: tuple[int, ...]
    passages: tuple[Passage, ...]


class Indexes:
    """Hands out the active embedder with its index; builds another beside it, switches when it is whole, goes back."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        embedders: Callable[[str, Settings], Embedder] = make_embedder,
    ) -> None:
        self._database = database
        self._settings = settings
        self._cache = VectorCache(database)
        self._make_embedder = embedders
        self._embedders: dict[str, Embedder] = {}
        self._opened: dict[int, ChromaIndex] = {}
        self._client: Client | None = None
        self._lock = threading.RLock()
        self._writing = threading.RLock()
        self._trouble = ""
        self._caching = ThreadPoolExecutor(1, thread_name_prefix="cache-vectors")
        """Writes made vectors while the next are being made."""

    def close(self) -> None:
        """Let go of Chroma's files and memory; the next use opens them again."""
        with self._writing, self._lock:
            self._opened.clear()
            if self._client is not None:
                self._client.close()
                self._client = None

    def active(self) -> tuple[Embedder, ChromaIndex]:
        """Raises IndexMismatchError when the embedder is no longer the one that the index was built with."""
        return self._open(self._ensure_active())

    @property
    def active_name(self) -> str:
        """Which embedder's index is in use, whether or not that embedder can be reached."""
        name: str = self._ensure_active()["embedder"]
        return name

    @property
    def wanted_name(self) -> str:
        """Which embedder was chosen last: that of the index being built, else of the one in use."""
        row = self._row("building") or self._row("active")
        return row["embedder"] if row else self._settings.embedding_model

    def use(self, settings: Settings) -> None:
        """Reach the embedders by these settings from now on."""
        with self._lock:
            if settings.ollama_host != self._settings.ollama_host:
                self._embedders.clear()
            self._settings = settings

    def switch_to(self, embedder_name: str) -> None:
        """Start building the index of another embedder; it becomes active once it holds every passage.

        Raises ModelUnavailableError when the embedder cannot be reached, SettingsError when there is none such.
        """
        with self._lock:
            stamp = IndexStamp.of(self._embedder(embedder_name))
            self._trouble = ""
            active, building, previous = (self._row(role) for role in ("active", "building", "previous"))
            if active is None:
                self._create(embedder_name, "active")
                return
            if building is None and _stamp(active) == stamp:
                return
            if building is not None and _stamp(building) != stamp:
                self._drop(building)
                building = None
            if _stamp(active) != stamp and building is None:
                if previous is not None and _stamp(previous) == stamp:
                    self._set_role(previous["id"], "building")
                else:
                    self._create(embedder_name, "building")
        self.finish_build()

    def roll_back(self) -> bool:
        """Stop a build, or return to the index before the last switch; False when there is neither."""
        with self._lock:
            building, previous = self._row("building"), self._row("previous")
            if building is not None:
                self._drop(building)
                return True
            if previous is None:
                return False
            self._set_role(previous["id"], "building")
        self.finish_build()
        return True

    def progress(self) -> BuildProgress | None:
        """None while nothing is being built."""
        row = self._row("building")
        if row is None:
            return None
        connection = self._database.connection
        total = connection.execute("SELECT count(*) FROM passages").fetchone()[0]
        return BuildProgress(row["embedder"], total - self.pending_count(row["id"]), total, self._trouble)

    def finish_build(self) -> bool:
        """Make the built index the active one if no passage is missing from it; the old one is kept to go back to."""
        with self._lock, self._database.transaction() as connection:
            building, active, previous = (self._row(role) for role in ("building", "active", "previous"))
            if building is None or self.pending_count(building["id"]):
                return False
            if previous is not None:
                self._drop(previous)
            if active is not None:
                connection.execute("UPDATE vector_indexes SET role = 'previous' WHERE id = ?", (active["id"],))
            connection.execute("UPDATE vector_indexes SET role = 'active' WHERE id = ?", (building["id"],))
            return True

    def report_trouble(self, message: str) -> None:
        """Say what stopped the build; ``switch_to`` the same embedder goes on with it."""
        self._trouble = message

    # ------------------------------------------------------------ for ingest

    def expect(self, connection: Connection, document_id: str, page_indexes: Sequence[int]) -> None:
        """Note that every kept index lacks the passages of these pages."""
        connection.executemany(
            """INSERT OR IGNORE INTO pending_vectors (index_id, passage_number)
               SELECT vector_indexes.id, passages.number FROM passages, vector_indexes
               WHERE passages.document_id = ? AND passages.page_index = ?""",
            [(document_id, page_index) for page_index in page_indexes],
        )

    def pending_count(self, index_id: int | None = None, document_id: str | None = None) -> int:
        """Passages that an index (the active one) lacks, of one document or of all."""
        table, conditions, values = "pending_vectors", list[str](), list[int | str]()
        if index_id is None:
            active = self._row("active")
            index_id = active["id"] if active else None
        if index_id is None:
            table = "(SELECT number AS passage_number FROM passages)"
        else:
            conditions.append("index_id = ?")
            values.append(index_id)
        if document_id is not None:
            conditions.append("passage_number IN (SELECT number FROM passages WHERE document_id = ?)")
            values.append(document_id)
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        count: int = self._database.connection.execute(f"SELECT count(*) FROM {table} {where}", values).fetchone()[0]
        return count

    def pending(self, *, limit: int, after: tuple[int, int] = (0, 0)) -> PendingPassages | None:
        """The next passages to embed: of the active index and jobs that go on, then of the index being built.

        ``after`` is the (index id, passage number) up to which they are taken already.
        """
        self._ensure_active()
        for role, jobs in (("active", _RUNNING_JOBS), ("building", "")):
            row = self._row(role)
            if row is None or (role == "building" and self._trouble):
                continue
            rows = self._database.connection.execute(
                f"""SELECT passages.*, pages.page_label, pages.text AS page_text
                    FROM pending_vectors JOIN passages ON passages.number = pending_vectors.passage_number
                    JOIN pages USING (document_id, page_index) {jobs}
                    WHERE pending_vectors.index_id = ? AND pending_vectors.passage_number > ?
                    ORDER BY pending_vectors.passage_number LIMIT ?""",
                (row["id"], after[1] if after[0] == row["id"] else 0, limit),
            ).fetchall()
            if rows:
                numbers = tuple(found["number"] for found in rows)
                return PendingPassages(row["id"], role == "building", numbers, tuple(map(stored_passage, rows)))
        return None

    def embed(self, batch: PendingPassages, stopped: Callable[[], bool]) -> dict[bytes, Vectors] | None:
        """The vectors of a batch by embedding key, from the cache where they are; None once ``stopped()`` is true.

        Raises ModelUnavailableError.
        """
        row = self._row_of(batch)
        if row is None:
            return {}
        embedder, _ = self._open(row)
        texts = {embedding_key(passage): embedded_text(passage) for passage in batch.passages}
        vectors = self._cache.get(list(texts), _stamp(row))
        missing = [key for key in texts if key not in vectors]
        cached: list[Future[None]] = []
        try:
            for at in range(0, len(missing), TEXTS_AT_ONCE):
                if stopped():
                    return None
                part = missing[at : at + TEXTS_AT_ONCE]
                made = dict(zip(part, embedder.embed([texts[key] for key in part]), strict=True))
                cached.append(self._caching.submit(self._cache.put, made, _stamp(row)))
                vectors |= made
        finally:
            for written in cached:
                written.result()
        return vectors

    def store(self, batch: PendingPassages, vectors: Mapping[bytes, Vectors]) -> None:
        """Index the vectors of those passages of a batch that still exist; may be repeated after a kill."""
        with self._writing:
            self.clear_removed()
            row = self._row_of(batch)
            if row is None:
                return
            alive = self._alive(batch)
            _, index = self._open(row)
            if alive:
                index.add(alive, np.stack([vectors[embedding_key(passage)] for passage in alive]))
            with self._database.transaction() as connection:
                connection.executemany(
                    "DELETE FROM pending_vectors WHERE index_id = ? AND passage_number = ?",
                    [(batch.index_id, number) for number in batch.numbers],
                )

    def tidy(self) -> None:
        """Make the collections agree with the tables, whatever happened to either."""
        with self._writing:
            self.clear_removed()
            names = {_collection_name(row) for row in self._rows()}
            for collection in self._chroma().list_collections():
                if collection.name not in names:
                    drop_collection(self._chroma(), collection.name)
            for row in self._rows():
                stored = self._collection(row).count()
                with self._database.transaction() as connection:
                    expected = connection.execute("SELECT count(*) FROM passages").fetchone()[0]
                    if stored < expected - self.pending_count(row["id"]):
                        _expect_all(connection, row["id"])

    def clear_removed(self) -> None:
        """Take the vectors of removed passages out of every index."""
        connection = self._database.connection
        with self._writing:
            rows = connection.execute("SELECT subject FROM removals WHERE kind = 'passage'").fetchall()
            if not rows:
                return
            subjects = [row["subject"] for row in rows]
            for row in self._rows():
                self._collection(row).remove(subjects)
            with self._database.transaction():
                connection.executemany("DELETE FROM removals WHERE subject = ?", [(subject,) for subject in subjects])

    # ------------------------------------------------------------ rows and adapters

    def _alive(self, batch: PendingPassages) -> list[Passage]:
        """Those of a batch that were not removed since it was taken."""
        marks = ",".join("?" * len(batch.numbers))
        rows = self._database.connection.execute(
            f"SELECT number FROM passages WHERE number IN ({marks})", batch.numbers
        )
        known = {row["number"] for row in rows}
        return [passage for number, passage in zip(batch.numbers, batch.passages, strict=True) if number in known]

    def _ensure_active(self) -> Row:
        row = self._row("active")
        if row is None:
            with self._lock:
                row = self._row("active") or self._create(self._settings.embedding_model, "active")
        return row

    def _create(self, embedder_name: str, role: Role) -> Row:
        stamp = IndexStamp.of(self._embedder(embedder_name))
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO vector_indexes (embedder, version, dimensions, role) VALUES (?, ?, ?, ?)",
                (stamp.embedder, stamp.version, stamp.dimensions, role),
            )
            row = self._row(role)
            assert row is not None
            _expect_all(connection, row["id"])
        return row

    def _drop(self, row: Row) -> None:
        """Forget an index and the vectors cached for it; ``tidy`` removes its collection."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM vector_indexes WHERE id = ?", (row["id"],))
            if not any(_stamp(kept) == _stamp(row) for kept in self._rows()):
                self._cache.drop(_stamp(row))

    def _open(self, row: Row) -> tuple[Embedder, ChromaIndex]:
        embedder = self._embedder(row["embedder"])
        built, asked = _stamp(row), IndexStamp.of(embedder)
        if built != asked:
            raise mismatch(built, asked)
        return embedder, self._collection(row)

    def _collection(self, row: Row) -> ChromaIndex:
        with self._lock:
            if row["id"] not in self._opened:
                stamp = _stamp(row)
                self._opened[row["id"]] = ChromaIndex(
                    self._chroma(),
                    _collection_name(row),
                    stamp,
                    self._version_of,
                    lambda document_id: self._cache.of_document(document_id, stamp),
                )
            return self._opened[row["id"]]

    def _version_of(self, document_id: str) -> str:
        """When the document's job last went on: each change of vectors, in any process, is followed by such a step."""
        row = self._database.connection.execute(
            "SELECT updated_at FROM jobs WHERE document_id = ?", (document_id,)
        ).fetchone()
        return row["updated_at"] if row else ""

    def _chroma(self) -> "Client":
        with self._lock:
            if self._client is None:
                self._client = open_chroma(self._settings.vectors_dir)
            return self._client

    def _embedder(self, name: str) -> Embedder:
        with self._lock:
            if name not in self._embedders:
                self._embedders[name] = self._make_embedder(name, self._settings)
            return self._embedders[name]

    def _row_of(self, batch: PendingPassages) -> Row | None:
        """None when the index was given up meanwhile."""
        return next((row for row in self._rows() if row["id"] == batch.index_id), None)

    def _row(self, role: str) -> Row | None:
        found: Row | None = self._database.connection.execute(
            "SELECT * FROM vector_indexes WHERE role = ?", (role,)
        ).fetchone()
        return found

    def _rows(self) -> list[Row]:
        return self._database.connection.execute("SELECT * FROM vector_indexes").fetchall()

    def _set_role(self, index_id: int, role: Role) -> None:
        with self._database.transaction() as connection:
            connection.execute("UPDATE vector_indexes SET role = ? WHERE id = ?", (role, index_id))


def _expect_all(connection: Connection, index_id: int) -> None:
    connection.execute(
        "INSERT OR IGNORE INTO pending_vectors (index_id, passage_number) SELECT ?, number FROM passages", (index_id,)
    )


def _stamp(row: Row) -> IndexStamp:
    return IndexStamp(row["embedder"], row["version"], row["dimensions"])


def _collection_name(row: Row) -> str:
    return f"passages-{row['id']}"
