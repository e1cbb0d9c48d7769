"""The vectors, kept once: by the SHA-256 of the embedded text and the model; equal texts share one.

Every process reads them at any time as they are at that time.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from sqlalchemy import ColumnElement, delete, select, true, update

from pincite.core.domain.ports import Embedder, Vectors
from pincite.core.store.database import Database
from pincite.core.store.schema import VECTORS, counters, documents, embeddings, passages

MAX_NUMBER_CHARACTERS = 1.01
"""Vectors have length 1: what is larger, infinite or not a number was not stored by Pincite."""


@dataclass(frozen=True, slots=True)
class IndexStamp:
    """Which embedder an index was built with."""

    embedder: str
    version: str
    dimensions: int

    @classmethod
    def of(cls, embedder: Embedder) -> "IndexStamp":
        return cls(embedder.name, embedder.version, embedder.dimensions)

    @property
    def model(self) -> str:
        return f"{self.embedder}@{self.version}"


class Nearest(Protocol):
    """Searches the vectors of the active index approximately."""

    trouble: str

    def in_step(self, index_id: int) -> bool:
        """Return whether it can search all of the index, here and now."""

    def closest(self, index_id: int, vector: Vectors, limit: int) -> list[tuple[bytes, float]] | None:
        """Return (embedding key, cosine similarity), best first; None where search must be exact."""

    def keep_in_step(self, index_id: int, stamp: IndexStamp, stopped: Callable[[], bool]) -> bool:
        """Take in what is lacking, some at a time; False when nothing is left to do, or nothing can be done."""

    def forget(self) -> None:
        """Let go of the memory that it takes."""


class StoredVectors:
    """The table ``embeddings``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, keys: Sequence[bytes], stamp: IndexStamp) -> dict[bytes, Vectors]:
        """Return those of the embedding keys that are there, and sound."""
        these = embeddings.c.model == stamp.model, embeddings.c.key.in_(keys)
        rows = self._database.rows(select(embeddings).where(*these))
        found = {row["key"]: read_vector(row["vector"], stamp) for row in rows}
        return {key: vector for key, vector in found.items() if vector is not None}

    def put(self, vectors: Mapping[bytes, Vectors], stamp: IndexStamp) -> None:
        """Keep vectors, but not those of passages that were removed while they were made."""
        there = select(passages.c.embedding_key).where(passages.c.embedding_key.in_(vectors)).distinct()
        with self._database.transaction():
            stored = {bytes(key): vectors[bytes(key)] for key in self._database.run(there).scalars()}
            for key, vector in stored.items():
                number = {"vector": vector.astype("<f4").tobytes()}
                self._database.put(embeddings, {"key": key, "model": stamp.model}, number)
            self._database.vectors_stored(stamp.model, stored)
            note_change(self._database, _with(stored))

    def drop_unsound(self, stamp: IndexStamp) -> None:
        """Forget what is no vector of this embedder."""
        if unsound := self.unsound(stamp):
            with self._database.transaction():
                for key in unsound:
                    own = embeddings.c.key == key, embeddings.c.model == stamp.model
                    self._database.run(delete(embeddings).where(*own))
                note_change(self._database, _with(unsound))

    def unsound(self, stamp: IndexStamp) -> list[bytes]:
        """Return the embedding keys of what is no vector of this embedder. Reads them all."""
        of_it = select(embeddings.c.key, embeddings.c.vector).where(embeddings.c.model == stamp.model)
        rows = self._database.run(of_it).mappings()
        return [bytes(row["key"]) for row in rows if read_vector(row["vector"], stamp) is None]


def note_change(database: Database, of: ColumnElement[bool] | None = None) -> None:
    """Have every process read the vectors of these documents again, or of all; part of what changed them."""
    changed = update(documents).where(true() if of is None else of)
    database.run(changed.values(vectors_generation=database.next(VECTORS)))


def generation(database: Database) -> int:
    """Return how often passages or vectors were changed, by whichever process."""
    return database.count(select(counters.c.value).where(counters.c.name == VECTORS))


def _with(keys: Collection[bytes]) -> ColumnElement[bool]:
    return documents.c.id.in_(select(passages.c.document_id).where(passages.c.embedding_key.in_(keys)))


def read_vector(stored: bytes | None, stamp: IndexStamp) -> Vectors | None:
    """None when nothing is stored, or something that is no vector of this embedder."""
    if stored is None or len(stored) != 4 * stamp.dimensions:
        return None
    vector: Vectors = np.frombuffer(stored, dtype="<f4")
    return vector if np.abs(vector).max(initial=0.0) < MAX_NUMBER_CHARACTERS else None
