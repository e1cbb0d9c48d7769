"""Exact search by meaning: the product of a question's vector with those of the documents, which SQLite keeps."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import ColumnElement, and_, exists, func, select

from pincite.core.domain.errors import IndexMismatchError, PinciteError
from pincite.core.domain.ports import Vectors
from pincite.core.store.database import Database
from pincite.core.store.schema import documents, embeddings, passages
from pincite.core.store.vectors import IndexStamp, generation, read_vector

FEW_DOCUMENTS = 32
MATRIX_BYTES = 128 * 2**20
"""Memory for the vectors of the documents that were searched last."""

Ranking = list[tuple[str, float]]
FindClosest = Callable[[Vectors, int], list[tuple[bytes, float]] | None]
"""Function that returns the approximately nearest vectors, by embedding key; None if it lacks the library as it is."""


@dataclass(frozen=True, slots=True)
class _Matrix:
    """The vectors of one document as they were at one generation of it."""

    generation: int
    passage_ids: tuple[str, ...]
    vectors: Vectors


class NoMeaning:
    """Placeholder for an embedder and its index where the embedder cannot be used."""

    name, version, dimensions = "none", "", 0

    def __init__(self, trouble: PinciteError) -> None:
        self._trouble = trouble

    def embed(self, texts: Sequence[str]) -> Vectors:
        raise self._trouble

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed(texts)

    def search(self, vector: Vectors, *, document_ids: Sequence[str], limit: int) -> Ranking:
        return []

    def lacking(self, document_ids: Sequence[str]) -> int:
        return 0


class MeaningIndex:
    """The vectors of one embedder, searched exactly; over everything also approximately, if the result is the same."""

    def __init__(self, database: Database, stamp: IndexStamp, find: FindClosest = lambda vector, limit: None) -> None:
        self.stamp = stamp
        self._database = database
        self._closest = find
        self._matrices: OrderedDict[str, _Matrix] = OrderedDict()
        self._lacking: dict[str, int] = {}
        self._counted_at = -1
        """The generation at which the passages without a vector were counted, by document where there are any."""
        self._lock = threading.Lock()

    def search(self, vector: Vectors, *, document_ids: Sequence[str], limit: int) -> Ranking:
        """Raises IndexMismatchError when the vector has other dimensions than the index."""
        vector = vector.reshape(-1)
        if len(vector) != self.stamp.dimensions or not np.isfinite(vector).all():
            raise IndexMismatchError(
                f"The embedding model gave {len(vector)} numbers, or invalid ones; the index needs "
                f"{self.stamp.dimensions}.",
                hint="Choose the embedding model again in the settings to build a new index.",
            )
        wide = not document_ids or len(document_ids) > FEW_DOCUMENTS
        found = self._approximate(vector, frozenset(document_ids), limit) if wide else None
        return self._exact(vector, document_ids, limit) if found is None else found

    def count(self) -> int:
        """Passages to which a vector is stored."""
        return self._database.count(select(func.count()).select_from(passages).where(self._has_vector()))

    def lacking(self, document_ids: Sequence[str]) -> int:
        """Passages to which no vector is stored; documents that have changed since are counted again."""
        with self._lock:
            current = generation(self._database)
            if current != self._counted_at:
                changed = documents.c.vectors_generation > self._counted_at
                ids = set(self._database.run(select(documents.c.id).where(changed)).scalars())
                counted = (
                    select(passages.c.document_id, func.count().label("lacking"))
                    .join(documents)
                    .where(changed, ~self._has_vector())
                    .group_by(passages.c.document_id)
                )
                found = {row["document_id"]: row["lacking"] for row in self._database.rows(counted)}
                others = {key: number for key, number in self._lacking.items() if key not in ids}
                self._lacking, self._counted_at = others | found, current
            wanted = document_ids or self._database.run(select(documents.c.id)).scalars().all()
            return sum(self._lacking.get(document_id, 0) for document_id in wanted)

    def _has_vector(self) -> ColumnElement[bool]:
        of_passage = embeddings.c.key == passages.c.embedding_key, embeddings.c.model == self.stamp.model
        return exists().where(*of_passage)

    def _approximate(self, vector: Vectors, document_ids: frozenset[str], limit: int) -> Ranking | None:
        """Take from the nearest of all what lies in the scope; None when that is too little of them."""
        for wanted in (4 * limit, 32 * limit) if document_ids else (limit,):
            closest = self._closest(vector, wanted)
            if closest is None:
                return None
            similarity = dict(closest)
            columns = passages.c.id, passages.c.document_id, passages.c.embedding_key
            near = select(*columns).where(passages.c.embedding_key.in_(similarity)).order_by(passages.c.number)
            rows = self._database.rows(near)
            found = [
                (row["id"], similarity[row["embedding_key"]])
                for row in rows
                if not document_ids or row["document_id"] in document_ids
            ]
            if len(found) >= limit:
                return sorted(found, key=lambda pair: -pair[1])[:limit]
        return None

    def _exact(self, vector: Vectors, document_ids: Sequence[str], limit: int) -> Ranking:
        best: Ranking = []
        for matrix in self._load(document_ids):
            similarities = matrix.vectors @ vector
            places = np.argsort(-similarities, kind="stable")[:limit]
            best.extend((matrix.passage_ids[at], float(similarities[at])) for at in places)
        return sorted(best, key=lambda pair: (-pair[1], pair[0]))[:limit]

    def _load(self, document_ids: Sequence[str]) -> Iterator[_Matrix]:
        query = select(documents.c.id, documents.c.vectors_generation)
        if document_ids:
            query = query.where(documents.c.id.in_(document_ids))
        for row in self._database.rows(query):
            yield self._matrix(row["id"], row["vectors_generation"])

    def _matrix(self, document_id: str, generation: int) -> _Matrix:
        """From memory when the document was searched lately and has not changed since."""
        with self._lock:
            kept = self._matrices.get(document_id)
            if kept is not None and kept.generation == generation:
                self._matrices.move_to_end(document_id)
                return kept
        matrix = self._stored(document_id, generation)
        with self._lock:
            self._matrices[document_id] = matrix
            self._matrices.move_to_end(document_id)
            while len(self._matrices) > 1 and sum(m.vectors.nbytes for m in self._matrices.values()) > MATRIX_BYTES:
                self._matrices.popitem(last=False)
        return matrix

    def _stored(self, document_id: str, generation: int) -> _Matrix:
        of_it = and_(embeddings.c.key == passages.c.embedding_key, embeddings.c.model == self.stamp.model)
        rows = self._database.rows(
            select(passages.c.id, embeddings.c.vector)
            .outerjoin_from(passages, embeddings, of_it)
            .where(passages.c.document_id == document_id)
            .order_by(passages.c.number)
        )
        read = ((row["id"], read_vector(row["vector"], self.stamp)) for row in rows)
        found = [(passage_id, vector) for passage_id, vector in read if vector is not None]
        vectors = np.array([vector for _, vector in found], dtype=np.float32).reshape(-1, self.stamp.dimensions)
        return _Matrix(generation, tuple(passage_id for passage_id, _ in found), vectors)
