"""The vector indexes: which embedder's is in use, the one that is being built meanwhile, and the one before it.

Vectors are kept in the database, where every process searches them. Whoever runs ingest embeds the passages that have
none, and keeps what searches them approximately in step.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
from sqlalchemy import ColumnElement, delete, exists, func, select, true, update

from pincite.core.domain.documents import DocumentStatus, JobStatus, embedded_text
from pincite.core.domain.errors import IndexMismatchError, ModelUnavailableError
from pincite.core.domain.ports import Embedder, Vectors
from pincite.core.domain.settings import Settings
from pincite.core.store.database import Database
from pincite.core.store.exact import MeaningIndex
from pincite.core.store.library import PASSAGE, stored_passage
from pincite.core.store.queries import CachedQueries
from pincite.core.store.schema import documents, embeddings, jobs, passages, vector_indexes
from pincite.core.store.vectors import IndexStamp, StoredVectors, generation, note_change

Role = Literal["active", "building", "previous"]
TEXTS_AT_ONCE = 64
MAX_KEYS = 500
_READY = documents.c.status.in_((DocumentStatus.READY, DocumentStatus.RECOGNISING))
PAUSE_SECONDS = 60.0
"""How long after an embedder failed only new documents are tried with it."""


@dataclass(frozen=True, slots=True)
class PendingPassages:
    """Texts that the index ``index_id`` lacks a vector of, by embedding key, and the documents that contain them."""

    index_id: int
    texts: Mapping[bytes, str]
    document_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """How far the index of a new embedder is; ``message`` is what stopped it, if anything did."""

    embedder: str
    done: int
    total: int
    message: str = ""


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """A row of ``vector_indexes``."""

    id: int
    stamp: IndexStamp


class Indexes:
    """Return the active embedder with its index; build another meanwhile, switch when it is whole, and switch back."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        embedders: Callable[[str, Settings], Embedder] = lambda name, settings: _no_embedder(name),
    ) -> None:
        self._database = database
        self._settings = settings
        self._vectors = StoredVectors(database)
        self._make_embedder = embedders
        self._embedders: dict[str, Embedder] = {}
        self._opened: dict[int, MeaningIndex] = {}
        self._whole: dict[int, int] = {}
        """By index, the generation at which no passage lacked a vector."""
        self._nearest = database.nearest()
        self._lock = threading.RLock()
        self._trouble = ""
        self._paused_until = 0.0

    def close(self) -> None:
        """Let go of the memory that searching takes; the next use takes it again."""
        self._nearest.forget()
        with self._lock:
            self._opened.clear()

    def active(self) -> tuple[Embedder, MeaningIndex]:
        """Return the embedder, which does not embed a question twice, and its index.

        Raises IndexMismatchError when the embedder is no longer the one that the index was built with.
        """
        embedder, index = self._open(self._index("active") or self._first())
        return CachedQueries(embedder, self._database), index

    @property
    def wanted_name(self) -> str:
        """Which embedder was chosen last: that of the index being built, else of the one in use."""
        building = self._index("building")
        return building.stamp.embedder if building else self.chosen_name

    @property
    def chosen_name(self) -> str:
        """The active embedder, or the one that will be; asks neither."""
        active = self._index("active")
        return active.stamp.embedder if active else self._settings.embedding_model

    def count(self) -> int:
        """Passages that can be found by meaning."""
        active = self._index("active")
        return MeaningIndex(self._database, active.stamp).count() if active else 0

    def use(self, settings: Settings) -> None:
        """Reach the embedders by these settings from now on."""
        with self._lock:
            if settings.servers != self._settings.servers:
                self._embedders.clear()
            self._settings = settings

    def switch_to(self, embedder_name: str, *, together_with: Callable[[], None] = lambda: None) -> None:
        """Start building the index of another embedder; it becomes active once it holds every passage.

        If `together_with`, which is called in the same transaction, raises, the indexes stay as they were.
        Raises ModelUnavailableError when the embedder cannot be reached, SettingsError when there is none such.
        """
        stamp = IndexStamp.of(self._embedder(embedder_name))
        with self._lock, self._database.transaction():
            self._choose(stamp)
            together_with()
        self._trouble, self._paused_until = "", 0.0
        self.finish_build()

    def _choose(self, stamp: IndexStamp) -> None:
        active, building, previous = (self._index(role) for role in ("active", "building", "previous"))
        if active is None:
            self._create(stamp, "active")
            return
        if building is not None and building.stamp != stamp:
            self._drop(building)
            building = None
        if building is None and active.stamp != stamp:
            if previous is not None and previous.stamp == stamp:
                self._set_role(previous, "building")
            else:
                self._create(stamp, "building")

    def roll_back(self) -> bool:
        """Stop a build, or return to the index before the last switch; False when there is neither."""
        with self._lock, self._database.transaction():
            building, previous = self._index("building"), self._index("previous")
            if building is not None:
                self._drop(building)
            elif previous is not None:
                self._set_role(previous, "building")
        if building is None:
            self.finish_build()
        return (building or previous) is not None

    def can_roll_back(self) -> bool:
        return any(self._index(role) is not None for role in ("building", "previous"))

    def progress(self) -> BuildProgress | None:
        """None while nothing is being built."""
        building = self._index("building")
        if building is None:
            return None
        total = self._database.count(select(func.count()).select_from(passages))
        return BuildProgress(building.stamp.embedder, total - self._lacking(building), total, self._trouble)

    def finish_build(self) -> bool:
        """Make the built index the active one if no passage is missing from it; the old one is kept to go back to."""
        with self._lock, self._database.transaction():
            building, active, previous = (self._index(role) for role in ("building", "active", "previous"))
            if building is None or not self._is_whole(building):
                return False
            if previous is not None:
                self._drop(previous)
            if active is not None:
                self._set_role(active, "previous")
            self._set_role(building, "active")
            return True

    def report_trouble(self, message: str) -> None:
        """Report what stopped the build; ``switch_to`` the same embedder goes on with it."""
        self._paused_until = time.monotonic() + PAUSE_SECONDS
        if self._index("building") is not None:
            self._trouble = message

    # ------------------------------------------------------------ for ingest

    def pending_count(self, document_id: str) -> int:
        """Passages of a document that the active index lacks."""
        return self._lacking(self._index("active"), document_id)

    def pending(self, *, limit: int, others: Collection[str] = ()) -> PendingPassages | None:
        """The next passages to embed: of the active index and no job that was stopped, then of the index being built.

        Passages of the documents ``others`` are left out.
        Raises ModelUnavailableError where there is no index yet and its embedder cannot be reached.
        """
        paused = time.monotonic() < self._paused_until
        stopped = jobs.c.status.in_((JobStatus.CANCELLED, JobStatus.FAILED))
        left_out = jobs.c.status != JobStatus.RUNNING if paused else stopped
        of_jobs = passages.c.document_id.not_in(select(jobs.c.document_id).where(left_out))
        if self._index("active") is None and self._database.row(select(passages.c.id).where(of_jobs).limit(1)):
            self._first()
        for role, condition in (("active", of_jobs), ("building", true())):
            index = self._index(role)
            if index is None or self._is_whole(index) or (role == "building" and self._trouble):
                continue
            lacking = PASSAGE.where(_lacks(index.stamp.model), condition).order_by(passages.c.number)
            if others:
                lacking = lacking.where(passages.c.document_id.not_in(others))
            rows = self._database.rows(lacking.limit(limit))
            if rows:
                texts = {row["embedding_key"]: embedded_text(stored_passage(row)) for row in rows}
                return PendingPassages(index.id, texts, tuple(dict.fromkeys(row["document_id"] for row in rows)))
        return None

    def embed(self, batch: PendingPassages, stopped: Callable[[], bool]) -> bool:
        """Make the vectors of a batch; False once ``stopped()`` is true. Raises ModelUnavailableError."""
        index = next((index for index in self._indexes() if index.id == batch.index_id), None)
        if index is None:  # it was given up meanwhile
            return True
        embedder, _ = self._open(index)
        keys = list(batch.texts)
        for at in range(0, len(keys), TEXTS_AT_ONCE):
            if stopped():
                return False
            part = keys[at : at + TEXTS_AT_ONCE]
            made = _checked(embedder, [batch.texts[key] for key in part], index.stamp)
            self._vectors.put(dict(zip(part, made, strict=True)), index.stamp)
        return True

    def drop_unsound(self) -> None:
        """Look through all vectors and forget what cannot be right: its passages lack one again."""
        for index in self._indexes():
            self._vectors.drop_unsound(index.stamp)

    def keep_in_step(self, stopped: Callable[[], bool]) -> bool:
        """Bring approximate search in step, once nothing waits to be embedded; only where ingest runs."""
        active = self._index("active")
        if active is None or self.pending(limit=1) is not None:
            return False
        return self._nearest.keep_in_step(active.id, active.stamp, stopped)

    @property
    def in_step(self) -> bool:
        """Whether all of the active index can be searched approximately, here and now."""
        active = self._index("active")
        return active is not None and self._nearest.in_step(active.id)

    # ------------------------------------------------------------ looking after it

    def check(self) -> list[str]:
        """What is wrong with the vectors, a sentence each."""
        return [*check_vectors(self._database), *([self._nearest.trouble] if self._nearest.trouble else [])]

    def rebuild(self) -> None:
        """Have vectors that are missing or cannot be right embedded again, by the process that works on the library."""
        self._nearest.forget()
        self.drop_unsound()

    # ------------------------------------------------------------ rows and adapters

    def _first(self) -> VectorIndex:
        return self._create(IndexStamp.of(self._embedder(self._settings.embedding_model)), "active")

    def _create(self, stamp: IndexStamp, role: Role) -> VectorIndex:
        """Return the index in this role, made if no other thread or process was first."""
        new = self._database.insert(vector_indexes).values(**asdict(stamp), role=role)
        with self._database.transaction():
            self._database.run(new.on_conflict_do_nothing())
            made = self._index(role)
        assert made is not None
        return made

    def _drop(self, index: VectorIndex) -> None:
        """Forget an index and the vectors kept for it."""
        self._database.run(delete(vector_indexes).where(vector_indexes.c.id == index.id))
        if not any(kept.stamp == index.stamp for kept in self._indexes()):
            self._database.run(delete(embeddings).where(embeddings.c.model == index.stamp.model))
            note_change(self._database)

    def _set_role(self, index: VectorIndex, role: Role) -> None:
        self._database.run(update(vector_indexes).where(vector_indexes.c.id == index.id).values(role=role))

    def _index(self, role: str) -> VectorIndex | None:
        return next(iter(_rows(self._database, vector_indexes.c.role == role)), None)

    def _indexes(self) -> list[VectorIndex]:
        return _rows(self._database)

    def _lacking(self, index: VectorIndex | None, document_id: str = "") -> int:
        """Passages without a vector, of a document or of all."""
        lacking = select(func.count()).select_from(passages).where(_lacks(index.stamp.model if index else ""))
        return self._database.count(lacking.where(passages.c.document_id == document_id) if document_id else lacking)

    def _is_whole(self, index: VectorIndex) -> bool:
        """Return whether no passage lacks a vector; looked for once in each generation."""
        current = generation(self._database)
        if self._whole.get(index.id) == current:
            return True
        if self._database.row(select(passages.c.id).where(_lacks(index.stamp.model)).limit(1)):
            return False
        self._whole[index.id] = current
        return True

    def _open(self, index: VectorIndex) -> tuple[Embedder, MeaningIndex]:
        embedder = self._embedder(index.stamp.embedder)
        built, asked = index.stamp, IndexStamp.of(embedder)
        if built != asked:
            raise IndexMismatchError(
                f"The index was built with {built.model}, {built.dimensions} dimensions, but is being searched with "
                f"{asked.model}, {asked.dimensions} dimensions.",
                hint="Choose the embedding model again in the settings to build a new index.",
            )
        with self._lock:
            if index.id not in self._opened:
                self._opened[index.id] = MeaningIndex(
                    self._database, built, lambda vector, limit: self._nearest.closest(index.id, vector, limit)
                )
            return embedder, self._opened[index.id]

    def _embedder(self, name: str) -> Embedder:
        with self._lock:
            if name not in self._embedders:
                self._embedders[name] = self._make_embedder(name, self._settings)
            return self._embedders[name]


def check_vectors(database: Database) -> list[str]:
    """What is wrong with the vectors as they are stored, a sentence each. Needs no embedder, and changes nothing."""
    found = []
    for active in _rows(database, vector_indexes.c.role == "active"):
        unsound = StoredVectors(database).unsound(active.stamp)
        some_at_a_time = (unsound[at : at + MAX_KEYS] for at in range(0, len(unsound), MAX_KEYS))
        conditions = [_lacks(active.stamp.model), *map(passages.c.embedding_key.in_, some_at_a_time)]
        query = select(func.count()).select_from(passages).join(documents).where(_READY)
        if lacking := sum(database.count(query.where(condition)) for condition in conditions):
            found.append(f"Passages without a vector, found by words only: {lacking:,}.")
    return found


def _lacks(model: str) -> ColumnElement[bool]:
    """Return the condition for a passage to have no vector of a model."""
    return ~exists().where(embeddings.c.key == passages.c.embedding_key, embeddings.c.model == model)


def _rows(database: Database, condition: ColumnElement[bool] | None = None) -> list[VectorIndex]:
    rows = database.rows(select(vector_indexes).where(true() if condition is None else condition))
    return [VectorIndex(row["id"], IndexStamp(row["embedder"], row["version"], row["dimensions"])) for row in rows]


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
