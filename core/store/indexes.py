"""The vector indexes: which embedder's is in use, the one that is being built beside it, and the one before it.

Vectors are kept in SQLite, where every process searches them. Whoever runs ingest embeds the passages that have none,
and keeps Chroma's folder in step for approximate search.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from sqlite3 import Row
from typing import Literal

import numpy as np

from core.domain.documents import embedded_text
from core.domain.errors import ModelUnavailableError
from core.domain.ports import Embedder, Vectors
from core.domain.settings import Settings
from core.domain.stores import PendingPassages
from core.store.approximate import Approximate
from core.store.database import Database
from core.store.exact import MeaningIndex
from core.store.library import stored_passage
from core.store.vector_cache import VectorCache
from core.store.vectors import IndexStamp, mismatch

Role = Literal["active", "building", "previous"]
TEXTS_AT_ONCE = 64
_LACKING = """document_id = ? AND NOT EXISTS
  (SELECT 1 FROM embeddings WHERE key = passages.embedding_key AND model = ?)"""
"""Passages of a document that have no vector of a model."""
_READY = "SELECT id FROM documents WHERE status IN ('ready', 'recognising')"
PAUSE_SECONDS = 60.0
"""How long after an embedder failed only new documents are tried with it."""


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """How far the index of a new embedder is; ``message`` says what stopped it, if anything did."""

    embedder: str
    done: int
    total: int
    message: str = ""


class Indexes:
    """Hands out the active embedder with its index; builds another beside it, switches when it is whole, goes back."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        embedders: Callable[[str, Settings], Embedder] = lambda name, settings: _no_embedder(name),
    ) -> None:
        self._database = database
        self._settings = settings
        self._cache = VectorCache(database)
        self._make_embedder = embedders
        self._embedders: dict[str, Embedder] = {}
        self._opened: dict[int, MeaningIndex] = {}
        self._counted: dict[int, tuple[int, dict[str, tuple[int, int]]]] = {}
        """By index: a generation, and of each document its own then and how many passages lacked a vector."""
        self._approximate = Approximate(database, self._cache, settings.vectors_dir)
        self._lock = threading.RLock()
        self._trouble = ""
        self._paused_until = 0.0

    def close(self) -> None:
        """Let go of Chroma's files and of memory; the next use opens them again."""
        self._approximate.let_go()
        with self._lock:
            self._opened.clear()

    def let_go(self) -> None:
        """Ingest no longer runs here: leave Chroma's folder to whoever is next."""
        self._approximate.let_go()

    def active(self) -> tuple[Embedder, MeaningIndex]:
        """Raises IndexMismatchError when the embedder is no longer the one that the index was built with."""
        return self._open(self._ensure_active())

    @property
    def wanted_name(self) -> str:
        """Which embedder was chosen last: that of the index being built, else of the one in use."""
        row = self._row("building") or self._row("active")
        return row["embedder"] if row else self._settings.embedding_model

    @property
    def chosen_name(self) -> str:
        """The active embedder, or the one that will be; asks neither."""
        row = self._row("active")
        name: str = row["embedder"] if row else self._settings.embedding_model
        return name

    def count(self) -> int:
        """Passages that can be found by meaning."""
        row = self._row("active")
        return MeaningIndex(self._database, _stamp(row)).count() if row else 0

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
        stamp = IndexStamp.of(self._embedder(embedder_name))
        with self._lock, self._database.transaction():
            self._trouble, self._paused_until = "", 0.0
            active, building, previous = (self._row(role) for role in ("active", "building", "previous"))
            if active is None:
                self._create(stamp, "active")
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
                    self._create(stamp, "building")
        self.finish_build()

    def roll_back(self) -> bool:
        """Stop a build, or return to the index before the last switch; False when there is neither."""
        with self._lock, self._database.transaction():
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
        total = self._database.number("SELECT count(*) FROM passages")
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
        self._paused_until = time.monotonic() + PAUSE_SECONDS
        if self._row("building") is not None:
            self._trouble = message

    # ------------------------------------------------------------ for ingest

    def pending_count(self, index_id: int | None = None, document_id: str | None = None) -> int:
        """Passages that an index (the active one) lacks, of one document or of all."""
        active = self._row("active")
        lacking = self._lacking(index_id or (active["id"] if active else 0))
        return sum(lacking.values()) if document_id is None else lacking.get(document_id, 0)

    def pending(self, *, limit: int) -> PendingPassages | None:
        """The next passages to embed: of the active index and no job that was stopped, then of the index being built.

        Raises ModelUnavailableError where there is no index yet and its embedder cannot be reached.
        """
        left_out = (
            "status <> 'running'" if time.monotonic() < self._paused_until else "status IN ('cancelled', 'failed')"
        )
        rows = self._database.connection.execute(f"SELECT document_id FROM jobs WHERE {left_out}")
        stopped = {row["document_id"] for row in rows}
        if self._row("active") is None and self._lacking(0).keys() - stopped:
            self._ensure_active()
        for role, without in (("active", stopped), ("building", set[str]())):
            row = self._row(role)
            if row is None or (role == "building" and self._trouble):
                continue
            texts, documents = dict[bytes, str](), dict[str, None]()
            for document_id in self._lacking(row["id"]):
                if document_id not in without and len(texts) < limit:
                    texts |= self._without_vector(document_id, _stamp(row).model, limit - len(texts))
                    documents[document_id] = None
            if texts:
                return PendingPassages(row["id"], texts, tuple(documents))
        return None

    def _lacking(self, index_id: int) -> dict[str, int]:
        """How many passages each document has without a vector, if any; counted anew where something changed.

        0 stands for an index that is still to be made.
        """
        row = next((row for row in self._rows() if row["id"] == index_id), None)
        model = _stamp(row).model if row else ""
        generation = self._database.number("SELECT generation FROM vector_state")
        known, counted = self._counted.get(index_id, (-1, {}))
        if known != generation:
            documents = self._database.connection.execute("SELECT id, vectors_generation FROM documents ORDER BY rowid")
            before, counted = counted, {}
            for identity, own in map(tuple, documents.fetchall()):
                number = before[identity][1] if before.get(identity, (-1,))[0] == own else self._count(identity, model)
                counted[identity] = (own, number)
            self._counted[index_id] = (generation, counted)
        return {identity: number for identity, (_, number) in counted.items() if number}

    def _count(self, document_id: str, model: str) -> int:
        return self._database.number(f"SELECT count(*) FROM passages WHERE {_LACKING}", (document_id, model))

    def _without_vector(self, document_id: str, model: str, limit: int) -> dict[bytes, str]:
        rows = self._database.connection.execute(
            f"""SELECT passages.*, pages.page_label, pages.text AS page_text
                FROM passages JOIN pages USING (document_id, page_index)
                WHERE {_LACKING} ORDER BY passages.number LIMIT ?""",
            (document_id, model, limit),
        )
        return {row["embedding_key"]: embedded_text(stored_passage(row)) for row in rows}

    def embed(self, batch: PendingPassages, stopped: Callable[[], bool]) -> bool:
        """Make the vectors of a batch; False once ``stopped()`` is true.

        Raises ModelUnavailableError.
        """
        row = next((row for row in self._rows() if row["id"] == batch.index_id), None)
        if row is None:  # the index was given up meanwhile
            return True
        embedder, _ = self._open(row)
        stamp = _stamp(row)
        missing = list(batch.texts)
        for at in range(0, len(missing), TEXTS_AT_ONCE):
            if stopped():
                return False
            part = missing[at : at + TEXTS_AT_ONCE]
            made = _checked(embedder, [batch.texts[key] for key in part], stamp)
            self._cache.put(dict(zip(part, made, strict=True)), stamp)
        return True

    def drop_unsound(self) -> None:
        """Look through all vectors and forget what cannot be right: its passages lack one again."""
        for row in self._rows():
            self._cache.drop_unsound(_stamp(row))

    def keep_in_step(self, stopped: Callable[[], bool]) -> bool:
        """Bring Chroma's folder in step, once nothing waits to be embedded; only where ingest runs."""
        row = self._row("active")
        if row is None or self.pending(limit=1) is not None:
            return False
        return self._approximate.keep_in_step(row["id"], _stamp(row), stopped)

    def clear_removed(self) -> None:
        """Take the vectors of removed passages out of Chroma's folder; only where ingest runs."""
        self._approximate.clear_removed()

    # ------------------------------------------------------------ looking after it

    def check(self, *, deep: bool = False) -> list[str]:
        """What is wrong with the vectors, a sentence each; ``deep`` compares Chroma's with those in SQLite too.

        Needs no embedder, and changes nothing.
        """
        row = self._row("active")
        if row is None:
            return []
        stamp, found = _stamp(row), []
        ready = [found["id"] for found in self._database.connection.execute(_READY)]
        lacking = MeaningIndex(self._database, stamp).lacking(ready) if ready else 0
        if lacking:
            found.append(f"{lacking:,} passages have no vector and are found by words alone.")
        if self._approximate.is_damaged():
            found.append("The folder of vectors is not as it was left; searches are exact until it is made anew.")
        elif deep and (different := self._approximate.differences(row["id"], stamp)):
            found.append(f"The folder of vectors differs from the database in {len(different):,} passages.")
        if self._approximate.trouble:
            found.append(self._approximate.trouble)
        return found

    def rebuild(self) -> None:
        """Have Chroma's folder made anew from SQLite, and vectors that are missing there embedded again.

        The process that works on the library does both.
        """
        self._approximate.make_anew()
        self.drop_unsound()

    # ------------------------------------------------------------ rows and adapters

    def _ensure_active(self) -> Row:
        return self._row("active") or self._create(
            IndexStamp.of(self._embedder(self._settings.embedding_model)), "active"
        )

    def _create(self, stamp: IndexStamp, role: Role) -> Row:
        """The index in this role, made if no other thread or process was first."""
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO vector_indexes (embedder, version, dimensions, role) VALUES (?, ?, ?, ?)",
                (stamp.embedder, stamp.version, stamp.dimensions, role),
            )
            row = self._row(role)
            assert row is not None
        return row

    def _drop(self, row: Row) -> None:
        """Forget an index and the vectors cached for it."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM vector_indexes WHERE id = ?", (row["id"],))
            if not any(_stamp(kept) == _stamp(row) for kept in self._rows()):
                self._cache.drop(_stamp(row))

    def _open(self, row: Row) -> tuple[Embedder, MeaningIndex]:
        embedder = self._embedder(row["embedder"])
        built, asked = _stamp(row), IndexStamp.of(embedder)
        if built != asked:
            raise mismatch(built, asked)
        index_id = row["id"]
        with self._lock:
            if index_id not in self._opened:
                self._opened[index_id] = MeaningIndex(
                    self._database, built, lambda vector, limit: self._approximate.nearest(index_id, vector, limit)
                )
            return embedder, self._opened[index_id]

    def _embedder(self, name: str) -> Embedder:
        with self._lock:
            if name not in self._embedders:
                self._embedders[name] = self._make_embedder(name, self._settings)
            return self._embedders[name]

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


def _checked(embedder: Embedder, texts: Sequence[str], stamp: IndexStamp) -> Vectors:
    """What the embedder makes of the texts; raises ModelUnavailableError when that is not a vector for each."""
    vectors = embedder.embed(texts)
    if vectors.shape != (len(texts), stamp.dimensions) or not np.isfinite(vectors).all():
        raise ModelUnavailableError(
            f"The embedding model {stamp.embedder} did not give {len(texts)} vectors of {stamp.dimensions} numbers.",
            hint="Check the model at its server, or choose another embedding model in the settings.",
        )
    return vectors


def _no_embedder(name: str) -> Embedder:
    raise ModelUnavailableError(f"Nothing was given to embed with {name}.", hint="Only look at what is stored.")


def _stamp(row: Row) -> IndexStamp:
    return IndexStamp(row["embedder"], row["version"], row["dimensions"])
