"""Keeps Chroma's folder in step with the vectors in SQLite, and searches it only while the two say the same.

Only the process that works on the library does so; every other one searches SQLite's vectors exactly. ``vector_state``
counts the changes of passages and vectors, and holds at which count Chroma had them all, and the folder's digest.
"""

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from sqlite3 import Row

import numpy as np

from core.domain.errors import StorageError
from core.domain.ports import Vectors
from core.store.database import Database
from core.store.exact import Ranking
from core.store.vector_cache import VectorCache
from core.store.vectors import ChromaFolder, IndexStamp, VectorsDamagedError

log = logging.getLogger(__name__)

BATCH_PASSAGES = 256
"""Chroma takes in large batches at a third of the cost of small ones."""
MOST_AT_ONCE = 20 * BATCH_PASSAGES
"""Searches wait for so many to be taken in, at most."""
PAUSE_SECONDS = 60.0


class Approximate:
    """One collection in one folder: that of the active index."""

    def __init__(self, database: Database, cache: VectorCache, folder: Path) -> None:
        self._database = database
        self._cache = cache
        self._folder = ChromaFolder(folder)
        self._verified = False
        """The folder is as it was left, or this process made it; so it is ours to open."""
        self._writing = False
        """It is without a seal because this process is changing it."""
        self._next_attempt = 0.0
        self.trouble = ""

    def nearest(self, index_id: int, vector: Vectors, limit: int) -> Ranking | None:
        """None where the folder is another process's, is not in step, or fails."""
        if not self._verified or not self._in_step(self._state(), index_id):
            return None
        with self._folder.lock:
            if not self._verified:
                return None
            try:
                return self._folder.collection(_name(index_id)).nearest(vector, limit)
            except VectorsDamagedError as error:
                self._distrust(error)
                return None

    def keep_in_step(self, index_id: int, stamp: IndexStamp, stopped: Callable[[], bool]) -> bool:
        """Take in what the folder lacks, some at a time; False when nothing is left to do, or nothing can be done.

        Only for the process that works on the library, as are ``clear_removed`` and ``let_go``.
        """
        if time.monotonic() < self._next_attempt:
            return False
        with self._folder.lock:
            try:
                return self._work(index_id, stamp, stopped)
            except VectorsDamagedError as error:
                self._next_attempt = time.monotonic() + (PAUSE_SECONDS if self.trouble else 0.0)
                self.trouble = str(error)
                self._distrust(error)
                return False

    def clear_removed(self) -> None:
        """Take the vectors of removed passages out of the folder."""
        rows = self._database.connection.execute("SELECT subject FROM removals WHERE kind = 'passage'").fetchall()
        if not rows:
            return
        subjects = [row["subject"] for row in rows]
        with self._folder.lock:
            try:
                self._verify()
                if index_id := self._state()["chroma_index"]:
                    self._unseal()
                    collection = self._folder.collection(_name(index_id))
                    for part in _parts(subjects):
                        collection.remove(part)
            except VectorsDamagedError as error:
                self._distrust(error)
            with self._database.transaction() as connection:
                connection.executemany(
                    "DELETE FROM removals WHERE subject = ? AND kind = 'passage'", [(subject,) for subject in subjects]
                )

    def let_go(self) -> None:
        """Leave the folder so that the next process can tell that it is whole."""
        with self._folder.lock, suppress(StorageError):
            if self._writing:
                self._seal(0, -1)
            self._folder.close()
        self._verified = self._writing = False

    def make_anew(self) -> None:
        """Trust the folder no more: the process that works on the library makes another."""
        with self._folder.lock:
            self._record(0, -1, "")
            self._writing = False

    def is_damaged(self) -> bool:
        """Whether the folder is not as it was left. Any process may ask; while one writes there is no telling."""
        with self._folder.lock:
            before = self._state()["seal"]
            found = self._folder.digest() if before else ""
            return bool(before) and found != before and self._state()["seal"] == before

    def differences(self, index_id: int, stamp: IndexStamp) -> list[str]:
        """Ids of passages whose vectors in the folder are missing, superfluous or others; none if it is not ours."""
        with self._folder.lock:
            if not self._verified or not self._in_step(self._state(), index_id):
                return []
            try:
                collection = self._folder.collection(_name(index_id))
                wanted, held = self._wanted(stamp), collection.ids()
                different = sorted(held ^ wanted.keys())
                for part in _parts(sorted(held & wanted.keys())):
                    right, found = self._cache.get([wanted[name] for name in part], stamp), collection.vectors(part)
                    different += [
                        name
                        for name in part
                        if wanted[name] not in right or not np.allclose(right[wanted[name]], found[name], atol=1e-5)
                    ]
                return different
            except VectorsDamagedError as error:
                self._distrust(error)
                return list(self._wanted(stamp))

    # ------------------------------------------------------------ under the lock

    def _work(self, index_id: int, stamp: IndexStamp, stopped: Callable[[], bool]) -> bool:
        self._verify()
        state = self._state()
        if state["seal"] and self._in_step(state, index_id):
            return False
        self.clear_removed()
        generation = self._state()["generation"]
        wanted = self._wanted(stamp)
        if not wanted:
            return self._empty()
        self._unseal()
        collection = self._folder.collection(_name(index_id), made_for=stamp)
        held = collection.ids()
        for part in _parts(sorted(held - wanted.keys())):
            collection.remove(part)
        missing = [name for name in wanted if name not in held]
        for part in _parts(missing[:MOST_AT_ONCE]):
            if stopped():
                return False
            vectors = self._cache.get([wanted[name] for name in part], stamp)
            there = [name for name in part if wanted[name] in vectors]
            if there:
                collection.add(there, np.stack([vectors[wanted[name]] for name in there]))
        if len(missing) <= MOST_AT_ONCE:
            self._seal(index_id, generation)
            self._folder.discard_aside()
            self.trouble = ""
        return True

    def _verify(self) -> None:
        """Open only what this process made, or what is as it was left; set anything else aside."""
        seal = self._state()["seal"]
        if self._verified and (seal or self._writing):
            return
        if not seal or self._folder.digest() != seal:
            if self._folder.set_aside():
                log.warning("The vectors' folder was not as it was left; it is set aside and made anew.")
            self._record(0, -1, "")
            self._writing = True
        self._verified = True

    def _empty(self) -> bool:
        """Without vectors there is no folder either."""
        if self._folder.set_aside():
            self._folder.discard_aside()
        if self._state()["chroma_index"]:
            self._record(0, -1, "")
        return False

    def _distrust(self, error: VectorsDamagedError) -> None:
        log.warning("The vectors' folder failed; it is to be made anew.", exc_info=error)
        with suppress(VectorsDamagedError):
            self._folder.close()
        self._record(0, -1, "")
        self._verified = self._writing = False

    def _unseal(self) -> None:
        """From here on a kill leaves a folder that nobody opens again."""
        if not self._writing:
            self._database.connection.execute("UPDATE vector_state SET seal = ''")
            self._writing = True

    def _seal(self, index_id: int, generation: int) -> None:
        self._folder.close()
        seal = self._folder.digest()
        if not seal:
            raise VectorsDamagedError("The folder of vectors cannot be read after it was written.")
        self._record(index_id, generation, seal)
        self._writing = False

    def _record(self, index_id: int, generation: int, seal: str) -> None:
        self._database.connection.execute(
            "UPDATE vector_state SET chroma_index = ?, chroma_generation = ?, seal = ?", (index_id, generation, seal)
        )

    def _state(self) -> Row:
        row: Row = self._database.connection.execute("SELECT * FROM vector_state").fetchone()
        return row

    def _in_step(self, state: Row, index_id: int) -> bool:
        return (state["chroma_index"], state["chroma_generation"]) == (index_id, state["generation"])

    def _wanted(self, stamp: IndexStamp) -> dict[str, bytes]:
        """Passages that have a vector, with their embedding keys."""
        rows = self._database.connection.execute(
            """SELECT passages.id, passages.embedding_key FROM passages
               JOIN embeddings ON embeddings.key = passages.embedding_key AND embeddings.model = ?
               WHERE length(embeddings.vector) = ? ORDER BY passages.number""",
            (stamp.model, 4 * stamp.dimensions),
        )
        return {row["id"]: row["embedding_key"] for row in rows}


def _name(index_id: int) -> str:
    return f"passages-{index_id}"


def _parts(ids: Sequence[str]) -> list[Sequence[str]]:
    return [ids[at : at + BATCH_PASSAGES] for at in range(0, len(ids), BATCH_PASSAGES)]
