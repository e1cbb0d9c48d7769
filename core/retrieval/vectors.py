"""The vector index: one embedded Chroma collection for each embedder stamp."""

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pincite.core.errors import IndexMismatchError, StorageError
from pincite.core.ports import Embedder, Vectors
from pincite.core.types import Passage, document_of

if TYPE_CHECKING:
    from chromadb.api.client import Client
    from chromadb.api.collection_configuration import CreateHNSWConfiguration

GRAPH_SETTINGS: "CreateHNSWConfiguration" = {
    "space": "cosine",
    "max_neighbors": 16,
    "ef_construction": 100,
    "ef_search": 100,
    "num_threads": 1,
    "sync_threshold": 5_000,
}
FEW_DOCUMENTS = 32
MATRIX_BYTES = 64 * 2**20
"""Memory for the vectors of documents that were searched by themselves."""


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


def mismatch(built: IndexStamp, asked: IndexStamp) -> IndexMismatchError:
    return IndexMismatchError(
        f"The index was built with {built.model}, {built.dimensions} dimensions, and is asked with {asked.model}, "
        f"{asked.dimensions} dimensions.",
        hint="Choose the embedding model again in the settings to build a new index.",
    )


def open_chroma(directory: Path) -> "Client":
    """Raises StorageError when the folder cannot be used. The import takes a second, so it waits for the first need."""
    import chromadb
    from chromadb.api.client import Client
    from chromadb.config import Settings
    from chromadb.errors import ChromaError

    try:
        directory.mkdir(parents=True, exist_ok=True)
        client = chromadb.PersistentClient(str(directory), settings=Settings(anonymized_telemetry=False))
    except (OSError, ValueError, ChromaError) as error:
        raise StorageError(
            f"The vectors in {directory} cannot be opened ({error}).", hint="Check that the folder can be written to."
        ) from error
    assert isinstance(client, Client)  # its declared type lacks close()
    return client


def stored_vectors(directory: Path, collection: str) -> int:
    """How many vectors Chroma's own database lists: Chroma itself changes its files whenever it opens them."""
    file = directory / "chroma.sqlite3"
    if not file.exists():
        return 0
    counted = """SELECT count(*) FROM embeddings JOIN segments ON segments.id = embeddings.segment_id
                 JOIN collections ON collections.id = segments.collection WHERE collections.name = ?"""
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            return int(connection.execute(counted, (collection,)).fetchone()[0])
    except sqlite3.DatabaseError:
        return 0


def drop_collection(client: "Client", name: str) -> None:
    """Delete a collection if it is there."""
    from chromadb.errors import NotFoundError

    with suppress(NotFoundError):
        client.delete_collection(name)


def _out_of_step(why: str) -> StorageError:
    """Chroma knows one process at a time: what another one writes, it finds listed and cannot find."""
    return StorageError(
        f"The vectors cannot be read now ({why}); another Pincite may be adding documents to the same folder.",
        hint="Ask again when it is done, or restart this Pincite.",
    )


DocumentVectors: TypeAlias = tuple[list[str], Vectors]
"""Passage ids, and a row for each."""


@dataclass(frozen=True, slots=True)
class _Matrix:
    """The vectors of one document as they were at one version of it."""

    version: str
    passage_ids: list[str]
    vectors: Vectors


class ChromaIndex:
    """Approximate search over everything; exact search within a few documents.

    Chroma's own filter costs a fifth of a second over a dozen documents, while a product of the documents' own
    vectors, which this keeps while they are in use, is exact and takes a millisecond.
    """

    def __init__(
        self,
        client: "Client",
        name: str,
        stamp: IndexStamp,
        version_of: Callable[[str], str] = lambda document_id: "",
        vectors_of: Callable[[str], DocumentVectors | None] = lambda document_id: None,
    ) -> None:
        """``version_of`` a document changes with its vectors, whichever process writes them.

        ``vectors_of`` a document hands out what is kept of it elsewhere, if anything: in a tenth of Chroma's time.
        """
        self.stamp = stamp
        self._version_of = version_of
        self._vectors_of = vectors_of
        self._collection = client.get_or_create_collection(
            name,
            embedding_function=None,
            metadata=asdict(stamp),
            configuration={"hnsw": GRAPH_SETTINGS},
        )
        built = IndexStamp(**(self._collection.metadata or {}))
        if built != stamp:
            raise mismatch(built, stamp)
        self._matrices: OrderedDict[str, _Matrix] = OrderedDict()
        self._lock = threading.RLock()
        """Held for every call that reads or writes vectors: what is read in mid-write lacks some."""

    def add(self, passages: Sequence[Passage], vectors: Vectors) -> None:
        if not passages:
            return
        self._check(vectors)
        with self._lock:
            self._collection.upsert(
                ids=[passage.id for passage in passages],
                embeddings=vectors,
                metadatas=[{"document_id": passage.document_id} for passage in passages],
            )
        self._forget({passage.document_id for passage in passages})

    def search(self, vector: Vectors, *, document_ids: Sequence[str], limit: int) -> list[tuple[str, float]]:
        """Raises IndexMismatchError when the vector has other dimensions than the index."""
        self._check(vector)
        vector = vector.reshape(-1)
        if not document_ids:
            return self._nearest(vector, limit)
        if len(document_ids) > FEW_DOCUMENTS:
            found = self._nearest_within(vector, frozenset(document_ids), limit)
            if found is not None:
                return found
        return self._exact(vector, document_ids, limit)

    def remove(self, passage_ids: Sequence[str]) -> None:
        if passage_ids:
            with self._lock:
                self._collection.delete(ids=list(passage_ids))
            self._forget({document_of(passage_id) for passage_id in passage_ids})

    def remove_document(self, document_id: str) -> None:
        self.remove(self._ids(document_id))

    def count(self, document_id: str | None = None) -> int:
        return self._collection.count() if document_id is None else len(self._ids(document_id))

    def _ids(self, document_id: str) -> list[str]:
        return self._collection.get(where={"document_id": document_id}, include=[])["ids"]

    def _nearest(self, vector: Vectors, limit: int) -> list[tuple[str, float]]:
        from chromadb.errors import InternalError

        query = vector[None, :]
        wanted = limit
        while wanted > 0:
            try:
                with self._lock:
                    found = self._collection.query(query_embeddings=query, n_results=wanted, include=["distances"])
            except InternalError as error:
                # Many identical vectors cut the graph into islands, of which the search reaches too few (hnswlib).
                if "contigious 2D array" not in str(error):
                    raise _out_of_step(str(error)) from error
                wanted //= 2
                continue
            distances = (found["distances"] or [[]])[0]
            return [(name, 1.0 - float(distance)) for name, distance in zip(found["ids"][0], distances, strict=True)]
        return []

    def _nearest_within(
        self, vector: Vectors, document_ids: frozenset[str], limit: int
    ) -> list[tuple[str, float]] | None:
        """Take from the nearest of all what lies in the scope; None when that is too little of them."""
        for wanted in (4 * limit, 32 * limit):
            found = [pair for pair in self._nearest(vector, wanted) if document_of(pair[0]) in document_ids]
            if len(found) >= limit:
                return found[:limit]
        return None

    def _exact(self, vector: Vectors, document_ids: Sequence[str], limit: int) -> list[tuple[str, float]]:
        scored: list[tuple[str, float]] = []
        for document_id in dict.fromkeys(document_ids):
            matrix = self._matrix(document_id)
            similarities = matrix.vectors @ vector
            best = np.argsort(-similarities, kind="stable")[:limit]
            scored.extend((matrix.passage_ids[at], float(similarities[at])) for at in best)
        return sorted(scored, key=lambda pair: -pair[1])[:limit]

    def _matrix(self, document_id: str) -> "_Matrix":
        """The document's passage ids and vectors, from memory when it was searched lately and has not changed since."""
        version = self._version_of(document_id)
        with self._lock:
            kept = self._matrices.get(document_id)
            if kept is not None and kept.version == version:
                self._matrices.move_to_end(document_id)
                return kept
            matrix = _Matrix(version, *(self._vectors_of(document_id) or self._stored(document_id)))
            self._matrices[document_id] = matrix
            self._matrices.move_to_end(document_id)
            while len(self._matrices) > 1 and sum(m.vectors.nbytes for m in self._matrices.values()) > MATRIX_BYTES:
                self._matrices.popitem(last=False)
            return matrix

    def _stored(self, document_id: str) -> DocumentVectors:
        from chromadb.errors import InternalError

        try:
            found: Any = self._collection.get(where={"document_id": document_id}, include=["embeddings"])
        except InternalError as error:
            raise _out_of_step(str(error)) from error
        if len(found["embeddings"]) != len(found["ids"]):
            raise _out_of_step(f"{len(found['ids'])} listed, {len(found['embeddings'])} there")
        vectors = np.asarray(found["embeddings"], dtype=np.float32)
        return found["ids"], vectors.reshape(len(found["ids"]), self.stamp.dimensions)

    def _forget(self, document_ids: set[str]) -> None:
        with self._lock:
            for document_id in document_ids:
                self._matrices.pop(document_id, None)

    def _check(self, vectors: Vectors) -> None:
        if vectors.shape[-1] != self.stamp.dimensions:
            raise IndexMismatchError(
                f"A vector of {vectors.shape[-1]} numbers was put to an index of {self.stamp.dimensions}.",
                hint="Choose the embedding model again in the settings to build a new index.",
            )
