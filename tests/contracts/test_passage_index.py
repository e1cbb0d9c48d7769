"""What every passage index promises: the nearest first, filtered by document, nothing twice, nothing after removal.

Two ways lead to it: exactly in SQLite's vectors, and approximately in Chroma where that is in step.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from pincite.core.domain.errors import IndexMismatchError
from pincite.core.domain.ports import Vectors
from pincite.core.store.chroma import Chroma
from pincite.core.store.exact import MeaningIndex
from pincite.core.store.sqlite import SqliteDatabase
from pincite.core.store.vectors import IndexStamp, StoredVectors

STAMP = IndexStamp("test", "1", 16)
ONE, TWO = "1" * 64, "2" * 64


def unit_vectors(count: int, seed: int = 0) -> Vectors:
    rows = np.random.default_rng(seed).normal(size=(count, STAMP.dimensions)).astype(np.float32)
    unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


@dataclass
class Shelf:
    """Documents of passages that have vectors, in the tables where ingest puts them."""

    database: SqliteDatabase
    chroma: Chroma
    index: MeaningIndex
    in_chroma: bool

    def add(self, document_id: str, vectors: Vectors) -> None:
        keys = [hashlib.sha256(vector.tobytes()).digest() for vector in vectors]
        with self.database.transaction() as connection:
            self._clear(document_id)
            connection.execute(
                """INSERT OR IGNORE INTO documents (id, name, byte_size, added_at, status)
                   VALUES (?, 'a.pdf', 1, '', 'ready')""",
                (document_id,),
            )
            connection.executemany(
                """INSERT INTO passages (id, document_id, page_index, start, "end", embedding_key)
                   VALUES (?, ?, ?, 0, 4, ?)""",
                [(f"{document_id}:{number}:0", document_id, number, key) for number, key in enumerate(keys)],
            )
            StoredVectors(self.database).put(dict(zip(keys, vectors, strict=True)), STAMP)
        self.settle()

    def remove(self, document_id: str) -> None:
        with self.database.transaction() as connection:
            self._clear(document_id)
            connection.execute("DELETE FROM documents WHERE id = ?", (document_id,))
        self.settle()

    def settle(self) -> None:
        while self.in_chroma and self.chroma.keep_in_step(1, STAMP, lambda: False):
            pass

    def _clear(self, document_id: str) -> None:
        connection = self.database.connection
        connection.execute("DELETE FROM passages WHERE document_id = ?", (document_id,))


@pytest.fixture(params=["exact", "approximate"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shelf]:
    database = SqliteDatabase(tmp_path / "pincite.db")
    chroma = Chroma(database)
    index = MeaningIndex(database, STAMP, lambda vector, limit: chroma.closest(1, vector, limit))
    yield Shelf(database, chroma, index, request.param == "approximate")
    chroma.forget()
    database.close()


def test_closest_passage_comes_first_with_its_cosine(shelf: Shelf) -> None:
    vectors = unit_vectors(40)
    shelf.add(ONE, vectors)
    for scope in ([], [ONE]):
        found = shelf.index.search(vectors[7], document_ids=scope, limit=5)
        assert found[0][0] == f"{ONE}:7:0" and found[0][1] == pytest.approx(1.0, abs=1e-4)
        expected = np.argsort(-(vectors @ vectors[7]))[:5]
        assert [name for name, _ in found] == [f"{ONE}:{number}:0" for number in expected]
        assert [score for _, score in found] == pytest.approx(sorted(vectors @ vectors[7])[:-6:-1], abs=1e-4)
    if shelf.in_chroma:
        assert shelf.chroma.closest(1, vectors[7], 5) is not None
        assert shelf.chroma.closest(2, vectors[7], 5) is None, "another index is not here"


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


def test_passages_without_a_sound_vector_are_counted_and_not_ranked(shelf: Shelf) -> None:
    shelf.add(ONE, unit_vectors(6, 1))
    keys = [row["key"] for row in shelf.database.connection.execute("SELECT key FROM embeddings ORDER BY rowid")]
    wrong = [np.full(16, value, dtype="<f4").tobytes() for value in (np.nan, np.inf, 1e30)] + [b"", b"abc"]
    for key, stored in zip(keys, wrong, strict=False):
        shelf.database.connection.execute("UPDATE embeddings SET vector = ? WHERE key = ?", (stored, key))
    shelf.settle()
    assert shelf.index.lacking([ONE]) == shelf.index.lacking(()) == 5 and shelf.index.count() == 1
    assert [name for name, _ in shelf.index.search(unit_vectors(1)[0], document_ids=[], limit=9)] == [f"{ONE}:5:0"]
