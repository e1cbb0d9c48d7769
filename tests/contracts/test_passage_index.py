"""What every passage index promises: the nearest first, filtered by document, nothing twice, nothing after removal.

Two ways lead to it: exactly in the stored vectors, and approximately in Chroma or by pgvector, where in step.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
import pytest
from sqlalchemy import delete, insert, select, update

from pincite.core.domain.errors import IndexMismatchError
from pincite.core.domain.ports import Vectors
from pincite.core.store import pgvector
from pincite.core.store.database import Database
from pincite.core.store.exact import MeaningIndex
from pincite.core.store.schema import documents, embeddings, passages, vector_indexes
from pincite.core.store.vectors import IndexStamp, Nearest, StoredVectors, note_change

STAMP = IndexStamp("test", "1", 16)
ONE, TWO = "1" * 64, "2" * 64


def unit_vectors(count: int, seed: int = 0) -> Vectors:
    rows = np.random.default_rng(seed).normal(size=(count, STAMP.dimensions)).astype(np.float32)
    unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


@dataclass
class Shelf:
    """Documents of passages that have vectors, in the tables where ingest puts them."""

    database: Database
    nearest: Nearest
    index: MeaningIndex
    approximate: bool

    def add(self, document_id: str, vectors: Vectors) -> None:
        keys = [hashlib.sha256(vector.tobytes()).digest() for vector in vectors]
        row = {"id": document_id, "name": "a.pdf", "byte_size": 1, "added_at": "", "status": "ready"}
        place = {"document_id": document_id, "start": 0, "end": 4}
        rows = [
            place | {"id": f"{document_id}:{number}:0", "page_index": number, "embedding_key": key}
            for number, key in enumerate(keys)
        ]
        with self.database.transaction():
            self._clear(document_id)
            self.database.run(self.database.insert(documents).values(row).on_conflict_do_nothing())
            self.database.run(self.database.insert(passages), rows)
            StoredVectors(self.database).put(dict(zip(keys, vectors, strict=True)), STAMP)
        self.settle()

    def remove(self, document_id: str) -> None:
        with self.database.transaction():
            self._clear(document_id)
            self.database.run(delete(documents).where(documents.c.id == document_id))
        self.settle()

    def settle(self) -> None:
        while self.approximate and self.nearest.keep_in_step(1, STAMP, lambda: False):
            pass

    def _clear(self, document_id: str) -> None:
        self.database.run(delete(passages).where(passages.c.document_id == document_id))
        note_change(self.database, documents.c.id == document_id)


@pytest.fixture(params=["exact", "approximate"])
def shelf(request: pytest.FixtureRequest, database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelf]:
    monkeypatch.setattr(pgvector, "MIN_VECTORS", 1)
    nearest = database.nearest()
    database.run(insert(vector_indexes).values(**asdict(STAMP), role="active"))
    index = MeaningIndex(database, STAMP, lambda vector, limit: nearest.closest(1, vector, limit))
    yield Shelf(database, nearest, index, request.param == "approximate")
    nearest.forget()


def test_closest_passage_comes_first_with_its_cosine(shelf: Shelf) -> None:
    vectors = unit_vectors(40)
    shelf.add(ONE, vectors)
    for scope in ([], [ONE]):
        found = shelf.index.search(vectors[7], document_ids=scope, limit=5)
        assert found[0][0] == f"{ONE}:7:0" and found[0][1] == pytest.approx(1.0, abs=1e-4)
        expected = np.argsort(-(vectors @ vectors[7]))[:5]
        assert [name for name, _ in found] == [f"{ONE}:{number}:0" for number in expected]
        assert [score for _, score in found] == pytest.approx(sorted(vectors @ vectors[7])[:-6:-1], abs=1e-4)
    if shelf.approximate:
        assert shelf.nearest.closest(1, vectors[7], 5) is not None
        assert shelf.nearest.closest(2, vectors[7], 5) is None, "another index is not here"


def test_search_stays_within_the_documents_asked_for(shelf: Shelf) -> None:
    shelf.add(ONE, unit_vectors(20, 1))
    shelf.add(TWO, unit_vectors(20, 2))
    query = unit_vectors(1, 3)[0]
    assert {name[:64] for name, _ in shelf.index.search(query, document_ids=[TWO], limit=30)} == {TWO}
    assert len(shelf.index.search(query, document_ids=[TWO], limit=30)) == 20
    assert len(shelf.index.search(query, document_ids=[ONE, TWO, ONE], limit=40)) == 40
    assert shelf.index.search(query, document_ids=["3" * 64], limit=30) == []


def test_scope_of_many_documents_is_searched_whole(shelf: Shelf) -> None:
    ids = [f"{number:064x}" for number in range(80)]
    vectors = {identity: unit_vectors(5, number) for number, identity in enumerate(ids)}
    for identity in ids:
        shelf.add(identity, vectors[identity])
    query = unit_vectors(1, 99)[0]
    for scope in (ids, ids[:40], ids[40:]):
        expected = sorted((-float(v @ query), f"{i}:{n}:0") for i in scope for n, v in enumerate(vectors[i]))[:10]
        found = shelf.index.search(query, document_ids=scope, limit=10)
        assert [name for name, _ in found] == [name for _, name in expected]


def test_passage_of_the_same_name_is_found_by_its_new_text(shelf: Shelf) -> None:
    shelf.add(ONE, unit_vectors(3, 1))
    shelf.index.search(unit_vectors(1)[0], document_ids=[ONE], limit=3)
    newer = unit_vectors(3, 2)
    shelf.add(ONE, newer)
    assert shelf.index.count() == 3
    for scope in ([], [ONE]):
        assert shelf.index.search(newer[1], document_ids=scope, limit=1)[0][1] == pytest.approx(1.0, abs=1e-4)


def test_removed_document_is_found_no_more(shelf: Shelf) -> None:
    shelf.add(ONE, unit_vectors(3, 1))
    shelf.add(TWO, unit_vectors(3, 2))
    shelf.index.search(unit_vectors(1)[0], document_ids=[ONE], limit=3)
    shelf.remove(ONE)
    assert shelf.index.count() == 3
    assert {name[:64] for name, _ in shelf.index.search(unit_vectors(1)[0], document_ids=[], limit=9)} == {TWO}
    assert shelf.index.search(unit_vectors(1)[0], document_ids=[ONE], limit=9) == []


def test_many_identical_vectors_do_not_break_the_search(shelf: Shelf) -> None:
    """Blank or boilerplate pages: Chroma "cannot return the results in a contigious 2D array" then."""
    same = np.repeat(unit_vectors(1, 5), 3000, axis=0)
    shelf.add(ONE, same)
    shelf.add(TWO, unit_vectors(50, 6))
    for query in (same[0], unit_vectors(1, 7)[0]):
        for limit in (1, 60, 500, 3050):
            assert len(shelf.index.search(query, document_ids=[], limit=limit)) == limit
        assert len(shelf.index.search(query, document_ids=[ONE], limit=500)) == 500
        assert len(shelf.index.search(query, document_ids=[TWO], limit=50)) == 50


def test_empty_index_finds_nothing(shelf: Shelf) -> None:
    shelf.settle()
    assert shelf.index.search(unit_vectors(1)[0], document_ids=[], limit=5) == []
    assert shelf.index.search(unit_vectors(1)[0], document_ids=[ONE], limit=5) == []
    assert shelf.index.count() == shelf.index.lacking(()) == 0


def test_vector_that_the_index_was_not_built_for_is_refused(shelf: Shelf) -> None:
    shelf.add(ONE, unit_vectors(1))
    for wrong in (np.ones(8, dtype=np.float32), np.full(16, np.nan, dtype=np.float32)):
        with pytest.raises(IndexMismatchError, match="numbers"):
            shelf.index.search(wrong, document_ids=[], limit=1)


def test_passages_without_a_vector_are_counted_and_unsound_ones_are_not_ranked(shelf: Shelf) -> None:
    shelf.add(ONE, unit_vectors(6, 1))
    of_passages = select(passages.c.embedding_key).order_by(passages.c.number)
    keys = [bytes(key) for key in shelf.database.run(of_passages).scalars()]
    wrong = [np.full(16, value, dtype="<f4").tobytes() for value in (np.nan, np.inf, 1e30)] + [b"", b"abc"]
    for key, stored in zip(keys, wrong, strict=False):
        shelf.database.run(update(embeddings).where(embeddings.c.key == key).values(vector=stored))
    note_change(shelf.database)
    shelf.settle()
    assert shelf.index.lacking([ONE]) == shelf.index.lacking(()) == 0 and shelf.index.count() == 6
    assert [name for name, _ in shelf.index.search(unit_vectors(1)[0], document_ids=[], limit=9)] == [f"{ONE}:5:0"]
    for key in keys[:2]:
        shelf.database.run(delete(embeddings).where(embeddings.c.key == key))
    note_change(shelf.database)
    assert shelf.index.lacking([ONE]) == shelf.index.lacking(()) == 2 and shelf.index.count() == 4
    shelf.add(TWO, unit_vectors(3, 2))
    assert shelf.index.lacking([ONE]) == shelf.index.lacking(()) == 2 and shelf.index.lacking([TWO]) == 0
