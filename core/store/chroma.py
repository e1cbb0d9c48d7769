"""Chroma: a copy of one index's vectors for approximate search, dropped and made again from SQLite at will.

Chroma knows one process at a time, and its native code trusts its files: with damaged ones it may panic, read beyond
its memory or find something else. So only the process that works on the library opens the folder, and only where its
bytes are those that were left (``vector_state.seal``, empty while it is open). Anything else is deleted first.

Vectors go by the SHA-256 of what was embedded: what stands under an id never changes, and two sets of ids tell what
is missing. ``vector_state.generation`` counts the changes of passages and vectors, by whichever process.
"""

import hashlib
import logging
import re
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from core.domain.errors import StorageError
from core.domain.ports import Vectors
from core.store.database import Database
from core.store.vectors import IndexStamp, StoredVectors

if TYPE_CHECKING:
    from chromadb.api.client import Client
    from chromadb.api.collection_configuration import CreateHNSWConfiguration
    from chromadb.api.models.Collection import Collection

log = logging.getLogger(__name__)

GRAPH_SETTINGS: "CreateHNSWConfiguration" = {
    "space": "cosine",
    "max_neighbors": 16,
    "ef_construction": 100,
    "ef_search": 100,
    "num_threads": 1,
    "sync_threshold": 5_000,
}
BATCH = 256
"""Chroma takes in large batches at a third of the cost of small ones."""
MOST_AT_ONCE = 20 * BATCH
"""Searches wait for so many to be taken in, at most."""
PAUSE_SECONDS = 60.0
_OWN = re.compile(r"chroma\.sqlite3(-\w+)?|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class ChromaError(StorageError):
    """Chroma could not do what it was asked: its folder is to be made again."""


class Chroma:
    """One collection in one folder: that of the active index."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._vectors = StoredVectors(database)
        self._folder = folder
        self._lock = threading.RLock()
        self._client: Client | None = None
        self._collection: Collection | None = None
        self._holds: tuple[int, int] | None = None
        """The index, and the generation at which all of it was here."""
        self._next_attempt = 0.0
        self.trouble = ""

    def in_step(self, index_id: int) -> bool:
        """Whether everything of this index is here, and open."""
        return self._holds is not None and self._holds == (index_id, self._generation())

    def nearest(self, index_id: int, vector: Vectors, limit: int) -> list[tuple[bytes, float]] | None:
        """(embedding key, cosine similarity), best first; None where that cannot be told of the index as it is now.

        There may be too few where the graph has islands, as hnswlib's may have.
        """
        if not self.in_step(index_id):
            return None
        with self._lock:
            if self._collection is None or self._collection.name != f"index-{index_id}":
                return None  # another index was made active, and is being taken in
            try:
                return _nearest(self._collection, vector, limit)
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

    def close(self) -> None:
        """Leave the folder so that the next process can tell that it is whole."""
        with self._lock, suppress(StorageError):
            if self._client is not None:
                self._let_go()
                self._database.connection.execute("UPDATE vector_state SET seal = ?", (self._digest(),))

    def make_anew(self) -> None:
        """Trust the folder no more."""
        with self._lock, suppress(ChromaError):
            self._database.connection.execute("UPDATE vector_state SET seal = ''")
            self._let_go()

    def is_damaged(self) -> bool:
        """Whether the folder is not as it was left. Any process may ask; while one has it open there is no telling."""
        seal, found = self._seal(), self._digest()
        return bool(seal and found) and found != seal and self._seal() == seal

    # ------------------------------------------------------------ under the lock

    def _take_in(self, index_id: int, stamp: IndexStamp, stopped: Callable[[], bool]) -> bool:
        generation = self._generation()
        wanted = self._wanted(stamp)
        if not wanted:
            self._let_go()
            self._delete_files()
            return False
        collection = self._opened(f"index-{index_id}")
        with _chroma():
            held = set(collection.get(include=[])["ids"])
            for part in _parts(sorted(held - wanted)):
                collection.delete(ids=part)
            missing = sorted(wanted - held)
            for part in _parts(missing[:MOST_AT_ONCE]):
                if stopped():
                    return False
                vectors = self._vectors.get([bytes.fromhex(name) for name in part], stamp)
                if vectors:
                    collection.upsert(ids=[key.hex() for key in vectors], embeddings=np.stack(list(vectors.values())))
        if len(missing) <= MOST_AT_ONCE:
            self._holds = (index_id, generation)
            self.trouble = ""
        return True

    def _opened(self, name: str) -> "Collection":
        """The one collection; the others are dropped. The import takes a second, so it waits for the first need."""
        with _chroma():
            if self._client is None:
                if not (seal := self._seal()) or self._digest() != seal:
                    self._delete_files()
                # From here on a kill leaves a folder that nobody opens again.
                self._database.connection.execute("UPDATE vector_state SET seal = ''")
                self._client = _client(self._folder)
            if self._collection is None or self._collection.name != name:
                for other in self._client.list_collections():
                    if other.name != name:
                        self._client.delete_collection(other.name)
                self._collection = self._client.get_or_create_collection(
                    name, embedding_function=None, configuration={"hnsw": GRAPH_SETTINGS}
                )
            return self._collection

    def _let_go(self) -> None:
        """Close Chroma's files; the next use opens them again."""
        client, self._client, self._collection, self._holds = self._client, None, None, None
        if client is not None:
            with _chroma():
                client.close()

    def _give_up(self, error: ChromaError) -> None:
        log.warning("The vectors' folder failed; it is to be made anew.", exc_info=error)
        with suppress(ChromaError):
            self._let_go()

    def _delete_files(self) -> None:
        """Delete what Chroma wrote. Raises ChromaError."""
        try:
            for path in self._own_files():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        except OSError as error:
            raise _failed(error) from error

    def _own_files(self) -> list[Path]:
        entries = self._folder.iterdir() if self._folder.is_dir() else ()
        return sorted(path for path in entries if _OWN.fullmatch(path.name))

    def _digest(self) -> str:
        """SHA-256 of Chroma's files; empty when there are none or one cannot be read."""
        digest = hashlib.sha256()
        try:
            files = [path for own in self._own_files() for path in (own, *sorted(own.rglob("*"))) if path.is_file()]
            for path in files:
                digest.update(str(path.relative_to(self._folder)).encode())
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
        except OSError:
            return ""
        return digest.hexdigest() if files else ""

    def _generation(self) -> int:
        return self._database.number("SELECT generation FROM vector_state")

    def _seal(self) -> str:
        seal: str = self._database.connection.execute("SELECT seal FROM vector_state").fetchone()[0]
        return seal

    def _wanted(self, stamp: IndexStamp) -> set[str]:
        """Names of the vectors that passages have."""
        rows = self._database.connection.execute(
            """SELECT lower(hex(key)) AS name FROM embeddings WHERE model = ? AND length(vector) = ?
               AND EXISTS (SELECT 1 FROM passages WHERE embedding_key = key)""",
            (stamp.model, 4 * stamp.dimensions),
        )
        return {row["name"] for row in rows}


def _client(folder: Path) -> "Client":
    import chromadb
    from chromadb.api.client import Client
    from chromadb.config import Settings

    folder.mkdir(parents=True, exist_ok=True)
    try:
        client = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
    except AttributeError as error:  # from stop(), which takes for granted that start() came to its end
        raise _failed(error.__context__ or error) from error
    assert isinstance(client, Client)  # its declared type lacks close()
    return client


def _nearest(collection: "Collection", vector: Vectors, limit: int) -> list[tuple[bytes, float]]:
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
    except (errors.ChromaError, OSError, ValueError, sqlite3.Error, RuntimeError) as error:
        raise _failed(error) from error
    except BaseException as error:
        # Its class derives from BaseException and cannot be imported (PyO3/pyo3#2880).
        if type(error).__module__ != "pyo3_runtime":
            raise
        raise _failed(error) from error


def _failed(error: BaseException) -> ChromaError:
    return ChromaError(
        f"The folder of vectors cannot be used ({error}).",
        hint="Searches go on without it; check that the data directory can be written to and has space.",
    )


def _parts(names: Sequence[str]) -> list[list[str]]:
    return [list(names[at : at + BATCH]) for at in range(0, len(names), BATCH)]
