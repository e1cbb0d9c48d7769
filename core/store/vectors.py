"""Chroma: its folder, opened only when it is as it was left, and the one collection in it.

Chroma knows one process at a time, and its native code trusts its files: with damaged ones it may panic, read beyond
its memory or find something else. So the folder is digested when it is closed, and no other one is opened. Nothing is
kept only there.
"""

import hashlib
import re
import shutil
import sqlite3
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core.domain.errors import IndexMismatchError, StorageError
from core.domain.ports import Embedder, Vectors

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
_BOOKS = "chroma.sqlite3"
_OPENINGS = "acquire_write"
"""Chroma's table of how often it was opened: the only thing that reading changes."""
_GRAPH_KEPT = "index_metadata.pickle"
"""Beside a graph that Chroma has written out; before that it draws the graph anew each time, from its SQLite file."""
_OWN = re.compile(r"chroma\.sqlite3(-\w+)?|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ASIDE = "vectors-aside-"


class VectorsDamagedError(StorageError):
    """Chroma could not do what it was asked: its folder is to be made again."""


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


class ChromaFolder:
    """Chroma's files. Whoever calls holds ``lock``, and is the one process that works on the library."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._client: Client | None = None
        self._collection: ChromaIndex | None = None
        self.lock = threading.RLock()

    def collection(self, name: str, made_for: IndexStamp | None = None) -> "ChromaIndex":
        """The one collection; ``made_for`` an embedder, it is made where it is missing, and others are dropped."""
        with _chroma():
            if self._collection is None or self._collection.name != name:
                client = self._opened()
                if made_for is not None:
                    for other in client.list_collections():
                        if other.name != name:
                            client.delete_collection(other.name)
                self._collection = ChromaIndex(client, name, made_for)
            return self._collection

    def close(self) -> None:
        """Let go of Chroma's files and memory; the next use opens them again."""
        client, self._client, self._collection = self._client, None, None
        if client is not None:
            with _chroma():
                client.close()

    def digest(self) -> str:
        """SHA-256 of what is in the folder; empty when it is not there or cannot be read."""
        if not self._folder.is_dir():
            return ""
        digest = hashlib.sha256()
        try:
            for path in sorted(path for path in self._folder.rglob("*") if path.is_file()):
                if not path.name.startswith(_BOOKS) and (path.parent / _GRAPH_KEPT).exists():
                    digest.update(str(path.relative_to(self._folder)).encode())
                    with path.open("rb") as file:
                        digest.update(hashlib.file_digest(file, "sha256").digest())
            for line in _entries(self._folder / _BOOKS):
                digest.update(line)
        except (OSError, sqlite3.Error):
            return ""
        return digest.hexdigest()

    def set_aside(self) -> bool:
        """Make room for a new folder; True when there was one. Raises StorageError."""
        self.close()
        if not self._folder.exists():
            return False
        try:
            self._folder.rename(self._folder.with_name(f"{_ASIDE}{uuid.uuid4().hex[:8]}"))
        except OSError as error:
            raise _damaged(error) from error
        return True

    def discard_aside(self) -> None:
        """Delete what was set aside, but for what Chroma did not write."""
        for aside in self._folder.parent.glob(f"{_ASIDE}*"):
            for path in aside.iterdir() if aside.is_dir() else ():
                if _OWN.fullmatch(path.name):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            if aside.is_dir() and not any(aside.iterdir()):
                aside.rmdir()

    def _opened(self) -> "Client":
        """The import takes a second, so it waits for the first need."""
        if self._client is None:
            import chromadb
            from chromadb.api.client import Client
            from chromadb.config import Settings

            self._folder.mkdir(parents=True, exist_ok=True)
            try:
                client = chromadb.PersistentClient(str(self._folder), settings=Settings(anonymized_telemetry=False))
            except AttributeError as error:  # from stop(), which takes for granted that start() came to its end
                raise _damaged(error.__context__ or error) from error
            assert isinstance(client, Client)  # its declared type lacks close()
            self._client = client
        return self._client


class ChromaIndex:
    """Approximate search over all passages of one embedder."""

    def __init__(self, client: "Client", name: str, made_for: IndexStamp | None) -> None:
        self.name = name
        if made_for is not None:
            self._collection = client.get_or_create_collection(
                name, embedding_function=None, metadata=asdict(made_for), configuration={"hnsw": GRAPH_SETTINGS}
            )
        else:
            self._collection = client.get_collection(name, embedding_function=None)

    def add(self, passage_ids: Sequence[str], vectors: Vectors) -> None:
        with _chroma():
            self._collection.upsert(ids=list(passage_ids), embeddings=vectors)

    def remove(self, passage_ids: Sequence[str]) -> None:
        if passage_ids:
            with _chroma():
                self._collection.delete(ids=list(passage_ids))

    def ids(self) -> set[str]:
        with _chroma():
            return set(self._collection.get(include=[])["ids"])

    def vectors(self, passage_ids: Sequence[str]) -> dict[str, Vectors]:
        with _chroma():
            found: Any = self._collection.get(ids=list(passage_ids), include=["embeddings"])
            rows = np.asarray(found["embeddings"], dtype=np.float32)
            return dict(zip(found["ids"], rows, strict=True))

    def nearest(self, vector: Vectors, limit: int) -> list[tuple[str, float]]:
        """(passage id, cosine similarity), best first; too few where the graph has islands, as hnswlib's may have."""
        from chromadb.errors import InternalError

        with _chroma():
            try:
                found = self._collection.query(query_embeddings=vector[None, :], n_results=limit, include=["distances"])
            except InternalError as error:
                if "contigious 2D array" not in str(error):
                    raise
                return []
            distances = (found["distances"] or [[]])[0]
            return [(name, 1.0 - float(distance)) for name, distance in zip(found["ids"][0], distances, strict=True)]


@contextmanager
def _chroma() -> Iterator[None]:
    """Turn what Chroma raises into VectorsDamagedError, the panics of its native half too."""
    from chromadb.errors import ChromaError

    try:
        yield
    except (ChromaError, OSError, ValueError, sqlite3.Error, RuntimeError) as error:
        raise _damaged(error) from error
    except BaseException as error:
        # Its class derives from BaseException and cannot be imported (PyO3/pyo3#2880).
        if type(error).__module__ != "pyo3_runtime":
            raise
        raise _damaged(error) from error


def _damaged(error: BaseException) -> VectorsDamagedError:
    return VectorsDamagedError(
        f"The folder of vectors cannot be used ({error}).",
        hint="Searches go on without it; check that the data directory can be written to and has space.",
    )


def _entries(books: Path) -> Iterator[bytes]:
    """What Chroma's own SQLite file says, whichever way it is laid out. Raises sqlite3.Error when it is damaged."""
    with closing(sqlite3.connect(f"{books.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        if connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
            raise sqlite3.DatabaseError("damaged")
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
        ).fetchall()
        for (name,) in tables:
            if name != _OPENINGS:
                yield name.encode()
                yield from (repr(row).encode() for row in connection.execute(f'SELECT * FROM "{name}"'))
