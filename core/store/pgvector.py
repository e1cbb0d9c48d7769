"""Approximate search by meaning in PostgreSQL: pgvector's HNSW over vectors of half precision, then exact ranking."""

import hashlib
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache

from sqlalchemy import column, exists, func, select, table, text

from pincite.core.domain.ports import Vectors
from pincite.core.store.database import Database
from pincite.core.store.schema import embeddings, vector_indexes
from pincite.core.store.vectors import IndexStamp, StoredVectors

MIN_VECTORS = 20_000
"""Below that, exact search is as fast."""
RANKED = 2
"""How many times the wanted vectors are ranked by their full precision."""
MANY_SECONDS = 60.0
"""How long there are taken to be enough, once there were."""
AT_ONCE = 500
MAX_DIMENSIONS = 4000
"""Of what pgvector can make a graph of in half precision."""

_POINTS = table("points", column("key"), column("model"))


class Pgvector:
    """The table ``points``, which has every vector from the moment that it is stored."""

    trouble = ""

    def __init__(self, database: Database, searching: Callable[[str], AbstractContextManager[None]] | None) -> None:
        """Search by ``searching``, which runs what is inside under a setting; None where there is no pgvector."""
        self._database = database
        self._searching = searching
        self._vectors = StoredVectors(database)
        self._many_until = 0.0
        self._stamp = cache(self._stamp_of)

    def in_step(self, index_id: int) -> bool:
        stamp = self._stamp(index_id)
        return self._searching is not None and stamp is not None and self._has_graph(stamp)

    def closest(self, index_id: int, vector: Vectors, limit: int) -> list[tuple[bytes, float]] | None:
        """Return (embedding key, cosine similarity), best first; None where exact search is as fast."""
        stamp = self._stamp(index_id) if self._are_many() else None
        if self._searching is None or stamp is None or not self._has_graph(stamp):
            return None
        point = f"(point::halfvec({stamp.dimensions}))"
        query = text(
            f"""SELECT key FROM points WHERE model = '{_literal(stamp.model)}'
                ORDER BY {point} <#> CAST(:vector AS halfvec({stamp.dimensions})) LIMIT :most"""
        )
        with self._searching(f"hnsw.ef_search = {min(max(100, RANKED * limit), 1000)}"):  # how many stay in view
            found = self._database.run(query.bindparams(vector=as_point(vector), most=RANKED * limit)).scalars().all()
        exact = self._vectors.get([bytes(key) for key in found], stamp)
        ranked = sorted(((key, float(own @ vector)) for key, own in exact.items()), key=lambda one: -one[1])
        return ranked[:limit]

    def keep_in_step(self, index_id: int, stamp: IndexStamp, stopped: Callable[[], bool]) -> bool:
        """Make the graph of an index if there is none, after the points of vectors from before there was pgvector."""
        if self._searching is None or stamp.dimensions > MAX_DIMENSIONS or self._has_graph(stamp):
            return False
        there = exists().where(_POINTS.c.key == embeddings.c.key, _POINTS.c.model == embeddings.c.model)
        whole = embeddings.c.model == stamp.model, func.length(embeddings.c.vector) == 4 * stamp.dimensions
        lacking = self._database.run(select(embeddings.c.key).where(*whole, ~there).limit(AT_ONCE)).scalars()
        if vectors := self._vectors.get([bytes(key) for key in lacking], stamp):
            with self._database.transaction():
                self._database.vectors_stored(stamp.model, vectors)
            return True
        point = f"((point::halfvec({stamp.dimensions})) halfvec_ip_ops)"
        only = f"WHERE model = '{_literal(stamp.model)}'"
        self._database.run(text(f"DROP INDEX IF EXISTS {_name(stamp)}"))  # one that was not made to its end
        # Concurrently: documents are added meanwhile.
        self._database.run(text(f"CREATE INDEX CONCURRENTLY {_name(stamp)} ON points USING hnsw {point} {only}"))
        return True

    def _has_graph(self, stamp: IndexStamp) -> bool:
        there = text(
            """SELECT count(*) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
               WHERE relname = :name AND indisvalid AND relnamespace = current_schema()::regnamespace"""
        )
        return bool(self._database.count(there.bindparams(name=_name(stamp))))

    def forget(self) -> None:
        """Nothing is kept in memory."""

    def _are_many(self) -> bool:
        if self._searching is not None and time.monotonic() > self._many_until:
            counted = text("SELECT count(*) FROM (SELECT 1 FROM points LIMIT :least) AS counted")
            if self._database.count(counted.bindparams(least=MIN_VECTORS)) >= MIN_VECTORS:
                self._many_until = time.monotonic() + MANY_SECONDS
        return time.monotonic() < self._many_until

    def _stamp_of(self, index_id: int) -> IndexStamp | None:
        row = self._database.row(select(vector_indexes).where(vector_indexes.c.id == index_id))
        return IndexStamp(row["embedder"], row["version"], row["dimensions"]) if row else None


def as_point(vector: Vectors) -> str:
    """Return a vector as pgvector reads it."""
    return f"[{','.join(f'{number:.6g}' for number in vector)}]"


def _name(stamp: IndexStamp) -> str:
    return f"points_{hashlib.sha256(stamp.model.encode()).hexdigest()[:16]}"


def _literal(model: str) -> str:
    return model.replace("'", "''").replace(":", "\\:")
