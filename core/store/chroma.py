"""Chroma: a copy of one index's vectors in memory, for approximate search. It is made from SQLite and never kept.

SQLite is where vectors live. On any doubt the copy is thrown away and made again: at each start, when another
index becomes the active one, and after any error. Only the process that works on the library makes one; until it
is whole, and everywhere else, search is exact.

Vectors go by the SHA-256 of what was embedded, so what has an id never changes, and comparing two sets of ids shows
what is missing. A counter, ``generation``, counts the changes of passages and vectors, by whichever process.
"""

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import exists, func, select

from pincite.core.domain.errors import StorageError
from pincite.core.domain.ports import Vectors
from pincite.core.store.database import Database
from pincite.core.store.schema import embeddings, passages
from pincite.core.store.vectors import IndexStamp, StoredVectors, generation

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.collection_configuration import CreateHNSWConfiguration
    from chromadb.api.models.Collection import Collection

log = logging.getLogger(__name__)

GRAPH_SETTINGS: "CreateHNSWConfiguration" = {
    "space": "cosine",
    "max_neighbors": 16,
    "ef_construction": 100,
    "ef_search": 100,
    "num_threads": 1,
}
BATCH = 256
"""Chroma takes in large batches at a third of the cost of small ones."""
MAX_CONCURRENT = 20 * BATCH
"""Maximum number of vectors to add while searches wait."""
PAUSE_SECONDS = 60.0


class ChromaError(StorageError):
    """Chroma could not do what it was asked: the copy must be made again."""


class Chroma:
    """One collection: that of the active index."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._vectors = StoredVectors(database)
        self._lock = threading.RLock()
        self._name = uuid.uuid4().hex
        """Name of our collection: all clients of a process share the memory, also those of other libraries."""
        self._collection: Collection | None = None
        self._holds: tuple[int, int] | None = None
        """The index, and the generation at which all of it was here."""
        self._next_attempt = 0.0
        self.trouble = ""

    def in_step(self, index_id: int) -> bool:
        """Return whether everything of this index is here."""
        return self._holds is not None and self._holds == (index_id, generation(self._database))

    def closest(self, index_id: int, vector: Vectors, limit: int) -> list[tuple[bytes, float]] | None:
        """Return (embedding key, cosine similarity), best first; None if the copy lags behind the index.

        There may be too few where the graph has islands, as hnswlib's may have.
        """
        if not self.in_step(index_id):
            return None
        with self._lock:
            if self._collection is None or not self.in_step(index_id):
                return None  # it was thrown away meanwhile
            try:
                return _query(self._collection, vector, limit)
            except ChromaError as error:
                self._give_up(error)
                return None

    def keep_in_step(self, index_id: int, stamp: IndexStamp, stopped: Callable[[], bool]) -> bool:
        """Take in what is lacking here, some at a time; False when nothing is left to do, or nothing can be done."""
        if time.monotonic() < self._next_attempt or self.in_step(index_id):
            return False
        with self._lock:
            try:
                return self._take_in(index_id, stamp, stopped)
            except ChromaError as error:
                self._next_attempt = time.monotonic() + (PAUSE_SECONDS if self.trouble else 0.0)
                self.trouble = str(error)
                self._give_up(error)
                return False

    def forget(self) -> None:
        """Throw the copy away; it is made again where the library is worked on."""
        with self._lock:
            collection, self._collection, self._holds = self._collection, None, None
            if collection is not None:
                with suppress(ChromaError), _chroma():
                    _client().delete_collection(collection.name)

    # ------------------------------------------------------------ under the lock

    def _take_in(self, index_id: int, stamp: IndexStamp, stopped: Callable[[], bool]) -> bool:
        current = generation(self._database)
        wanted = self._wanted(stamp)
        if not wanted:
            self.forget()
            return False
        collection = self._opened(self._named(index_id))
        with _chroma():
            stored = set(collection.get(include=[])["ids"])
            for part in _parts(sorted(stored - wanted)):
                collection.delete(ids=part)
            missing = sorted(wanted - stored)
            for part in _parts(missing[:MAX_CONCURRENT]):
                if stopped():
                    return False
                vectors = self._vectors.get([bytes.fromhex(name) for name in part], stamp)
                if vectors:
                    collection.upsert(ids=[key.hex() for key in vectors], embeddings=np.stack(list(vectors.values())))
        if len(missing) <= MAX_CONCURRENT:
            self._holds = (index_id, current)
            self.trouble = ""
        return True

    def _opened(self, name: str) -> "Collection":
        """Return the one collection. The import takes a second, so it is delayed until the first use."""
        if self._collection is None or self._collection.name != name:
            self.forget()
            with _chroma():
                self._collection = _client().get_or_create_collection(
                    name, embedding_function=None, configuration={"hnsw": GRAPH_SETTINGS}
                )
        return self._collection

    def _give_up(self, error: ChromaError) -> None:
        log.warning("Approximate search failed; its copy of the vectors is to be made anew.", exc_info=error)
        self.forget()

    def _named(self, index_id: int) -> str:
        return f"{self._name}-{index_id}"

    def _wanted(self, stamp: IndexStamp) -> set[str]:
        """Names of the vectors that passages have."""
        used = exists().where(passages.c.embedding_key == embeddings.c.key)
        whole = embeddings.c.model == stamp.model, func.length(embeddings.c.vector) == 4 * stamp.dimensions
        return {key.hex() for key in self._database.run(select(embeddings.c.key).where(*whole, used)).scalars()}


def _client() -> "ClientAPI":
    import chromadb
    from chromadb.config import Settings

    return chromadb.EphemeralClient(settings=Settings(anonymized_telemetry=False))


def _query(collection: "Collection", vector: Vectors, limit: int) -> list[tuple[bytes, float]]:
    from chromadb.errors import InternalError

    with _chroma():
        try:
            found = collection.query(query_embeddings=vector[None, :], n_results=limit, include=["distances"])
        except InternalError as error:
            if "contigious 2D array" not in str(error):
                raise
            return []
        distances = (found["distances"] or [[]])[0]
        return [(bytes.fromhex(name), 1.0 - float(far)) for name, far in zip(found["ids"][0], distances, strict=True)]


@contextmanager
def _chroma() -> Iterator[None]:
    """Turn what Chroma raises into errors of ours, the panics of its native half too."""
    from chromadb import errors

    try:
        yield
    except (errors.ChromaError, OSError, ValueError, RuntimeError) as error:
        raise ChromaError(f"Approximate search failed ({error}).", hint="Searches are exact meanwhile.") from error
    except BaseException as error:
        # Its class derives from BaseException and cannot be imported (PyO3/pyo3#2880).
        if type(error).__module__ != "pyo3_runtime":
            raise
        raise ChromaError(f"Approximate search failed ({error}).", hint="Searches are exact meanwhile.") from error


def _parts(names: Sequence[str]) -> list[list[str]]:
    return [list(names[at : at + BATCH]) for at in range(0, len(names), BATCH)]
