"""An embedder that keeps the vectors of questions: the same wording is not embedded again, also after a restart."""

import hashlib
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from sqlalchemy import delete, func, select
from sqlalchemy.exc import OperationalError

from pincite.core.domain.errors import StorageError
from pincite.core.domain.ports import Embedder, Vectors
from pincite.core.store.database import Database
from pincite.core.store.schema import query_vectors
from pincite.core.store.vectors import IndexStamp, read_vector

MAX_KEPT = 5_000
"""Vectors; beyond these the oldest go."""


class CachedQueries:
    """The embedder it is given, but for questions that the table ``query_vectors`` has."""

    def __init__(self, embedder: Embedder, database: Database) -> None:
        self._embedder = embedder
        self._database = database
        self._stamp = IndexStamp.of(embedder)
        self.name, self.version, self.dimensions = embedder.name, embedder.version, embedder.dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        """As the embedder does: passages have a cache of their own."""
        return self._embedder.embed(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimensions). Raises ModelUnavailableError."""
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        known = self._known(keys)
        lacking = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if lacking:
            made = dict(zip(lacking, self._embedder.embed_queries(list(lacking.values())), strict=True))
            known |= made
            self._keep(made)
        return np.stack([known[key] for key in keys]) if keys else np.zeros((0, self.dimensions), dtype=np.float32)

    def _known(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        these = query_vectors.c.model == self._stamp.model, query_vectors.c.key.in_(keys)
        rows = self._database.rows(select(query_vectors).where(*these))
        read = {row["key"]: read_vector(row["vector"], self._stamp) for row in rows}
        return {key: vector for key, vector in read.items() if vector is not None}

    def _keep(self, made: dict[bytes, Vectors]) -> None:
        """A database that is busy or full keeps none, and nothing is lost."""
        newest = select(func.max(query_vectors.c.number)).scalar_subquery()
        with suppress(OperationalError, StorageError), self._database.transaction():
            for key, vector in made.items():
                new = {"vector": vector.astype("<f4").tobytes()}
                self._database.put(query_vectors, {"key": key, "model": self._stamp.model}, new)
            self._database.run(delete(query_vectors).where(query_vectors.c.number <= newest - MAX_KEPT))
