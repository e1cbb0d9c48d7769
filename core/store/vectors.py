"""The vectors, kept once: in SQLite, by the SHA-256 of the embedded text and the model; equal texts share one.

Every process reads them at any time as they are at that time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pincite.core.domain.ports import Embedder, Vectors
from pincite.core.store.database import Database

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


class StoredVectors:
    """The table ``embeddings``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, keys: Sequence[bytes], stamp: IndexStamp) -> dict[bytes, Vectors]:
        """Return those of the embedding keys that are there, and sound."""
        marks = ",".join("?" * len(keys))
        rows = self._database.connection.execute(
            f"SELECT key, vector FROM embeddings WHERE model = ? AND key IN ({marks})", (stamp.model, *keys)
        )
        found = {row["key"]: read_vector(row["vector"], stamp) for row in rows}
        return {key: vector for key, vector in found.items() if vector is not None}

    def put(self, vectors: Mapping[bytes, Vectors], stamp: IndexStamp) -> None:
        """Keep vectors, but not those of passages that were removed while they were made."""
        rows = [(key, stamp.model, vector.astype("<f4").tobytes()) for key, vector in vectors.items()]
        with self._database.transaction() as connection:
            connection.executemany(
                """INSERT OR REPLACE INTO embeddings (key, model, vector) SELECT ?1, ?2, ?3
                   WHERE EXISTS (SELECT 1 FROM passages WHERE embedding_key = ?1)""",
                rows,
            )

    def drop_unsound(self, stamp: IndexStamp) -> None:
        """Forget what is no vector of this embedder."""
        rows = self._database.connection.execute("SELECT key, vector FROM embeddings WHERE model = ?", (stamp.model,))
        unsound = [(row["key"], stamp.model) for row in rows if read_vector(row["vector"], stamp) is None]
        if unsound:
            with self._database.transaction() as connection:
                connection.executemany("DELETE FROM embeddings WHERE key = ? AND model = ?", unsound)


def read_vector(stored: bytes | None, stamp: IndexStamp) -> Vectors | None:
    """None when nothing is stored, or something that is no vector of this embedder."""
    if stored is None or len(stored) != 4 * stamp.dimensions:
        return None
    vector: Vectors = np.frombuffer(stored, dtype="<f4")
    return vector if np.abs(vector).max(initial=0.0) < MAX_NUMBER_CHARACTERS else None
