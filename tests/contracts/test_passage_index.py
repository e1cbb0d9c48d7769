"""What every passage index promises: the nearest first, filtered by document, nothing twice, nothing after removal."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pincite.core.errors import IndexMismatchError, StorageError
from pincite.core.ports import Vectors
from pincite.core.retrieval.vectors import ChromaIndex, IndexStamp, open_chroma
from pincite.core.types import Passage

STAMP = IndexStamp("test", "1", 16)
ONE, TWO = "1" * 64, "2" * 64


def passages(document_id: str, count: int) -> list[Passage]:
    return [Passage(f"{document_id}:{number}:0", document_id, number, "", "text", 0, 4) for number in range(count)]


def unit_vectors(count: int, seed: int = 0) -> Vectors:
    rows = np.random.default_rng(seed).normal(size=(count, STAMP.dimensions)).astype(np.float32)
    unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


@pytest.fixture
def index(tmp_path: Path) -> Iterator[ChromaIndex]:
    yield ChromaIndex(open_chroma(tmp_path / "vectors"), "passages-1", STAMP)


def test_nearest_comes_first_with_its_cosine(index: ChromaIndex) -> None:
    vectors = unit_vectors(40)
    index.add(passages(ONE, 40), vectors)
    for scope in ([], [ONE]):
        found = index.search(vectors[7], document_ids=scope, limit=5)
        assert found[0][0] == f"{ONE}:7:0" and found[0][1] == pytest.approx(1.0, abs=1e-4)
        expected = np.argsort(-(vectors @ vectors[7]))[:5]
        assert [name for name, _ in found] == [f"{ONE}:{number}:0" for number in expected]
        assert [score for _, score in found] == pytest.approx(sorted(vectors @ vectors[7])[:-6:-1], abs=1e-4)


def test_search_stays_within_the_documents_asked_for(index: ChromaIndex) -> None:
    index.add(passages(ONE, 20), unit_vectors(20, 1))
    index.add(passages(TWO, 20), unit_vectors(20, 2))
    query = unit_vectors(1, 3)[0]
    assert {name[:64] for name, _ in index.search(query, document_ids=[TWO], limit=30)} == {TWO}
    assert len(index.search(query, document_ids=[TWO], limit=30)) == 20
    assert len(index.search(query, document_ids=[ONE, TWO, ONE], limit=40)) == 40
    assert index.search(query, document_ids=["3" * 64], limit=30) == []


def test_scope_of_many_documents_is_searched_whole(index: ChromaIndex) -> None:
    ids = [f"{number:064x}" for number in range(80)]
    vectors = {identity: unit_vectors(5, number) for number, identity in enumerate(ids)}
    for identity in ids:
        index.add(passages(identity, 5), vectors[identity])
    query = unit_vectors(1, 99)[0]
    for scope in (ids, ids[:40], ids[40:]):
        expected = sorted((-float(v @ query), f"{i}:{n}:0") for i in scope for n, v in enumerate(vectors[i]))[:10]
        assert [name for name, _ in index.search(query, document_ids=scope, limit=10)] == [name for _, name in expected]


def test_adding_again_replaces(index: ChromaIndex) -> None:
    index.add(passages(ONE, 3), unit_vectors(3, 1))
    index.search(unit_vectors(1)[0], document_ids=[ONE], limit=3)
    newer = unit_vectors(3, 2)
    index.add(passages(ONE, 3), newer)
    assert index.count() == index.count(ONE) == 3
    for scope in ([], [ONE]):
        assert index.search(newer[1], document_ids=scope, limit=1)[0][1] == pytest.approx(1.0, abs=1e-4)


def test_removed_document_is_found_no_more(index: ChromaIndex) -> None:
    index.add(passages(ONE, 3), unit_vectors(3, 1))
    index.add(passages(TWO, 3), unit_vectors(3, 2))
    index.search(unit_vectors(1)[0], document_ids=[ONE], limit=3)
    index.remove_document(ONE)
    assert (index.count(), index.count(ONE), index.count(TWO)) == (3, 0, 3)
    assert {name[:64] for name, _ in index.search(unit_vectors(1)[0], document_ids=[], limit=9)} == {TWO}
    assert index.search(unit_vectors(1)[0], document_ids=[ONE], limit=9) == []


def test_many_identical_vectors_do_not_break_the_search(index: ChromaIndex) -> None:
    """Blank or boilerplate pages: Chroma "cannot return the results in a contigious 2D array" then."""
    same = np.repeat(unit_vectors(1, 5), 3000, axis=0)
    index.add(passages(ONE, 3000), same)
    index.add(passages(TWO, 50), unit_vectors(50, 6))
    for query in (same[0], unit_vectors(1, 7)[0]):
        for limit in (1, 60, 500, 3050):
            assert 1 <= len(index.search(query, document_ids=[], limit=limit)) <= limit
        assert len(index.search(query, document_ids=[ONE], limit=500)) == 500
        assert len(index.search(query, document_ids=[TWO], limit=50)) == 50


def test_empty_index_finds_nothing(index: ChromaIndex) -> None:
    assert index.search(unit_vectors(1)[0], document_ids=[], limit=5) == []
    assert index.search(unit_vectors(1)[0], document_ids=[ONE], limit=5) == []
    index.add([], unit_vectors(0))
    index.remove_document(ONE)
    assert index.count() == 0


def test_index_is_whole_when_it_is_opened_again(tmp_path: Path) -> None:
    vectors = unit_vectors(30)
    ChromaIndex(open_chroma(tmp_path / "vectors"), "passages-1", STAMP).add(passages(ONE, 30), vectors)
    again = ChromaIndex(open_chroma(tmp_path / "vectors"), "passages-1", STAMP)
    assert again.count() == 30 and again.search(vectors[3], document_ids=[], limit=1)[0][0] == f"{ONE}:3:0"


def test_vector_or_embedder_that_the_index_was_not_built_with_is_refused(tmp_path: Path) -> None:
    client = open_chroma(tmp_path / "vectors")
    index = ChromaIndex(client, "passages-1", STAMP)
    wrong = np.ones(8, dtype=np.float32)
    with pytest.raises(IndexMismatchError, match="8 numbers"):
        index.search(wrong, document_ids=[], limit=1)
    with pytest.raises(IndexMismatchError):
        index.add(passages(ONE, 1), wrong[None, :])
    with pytest.raises(IndexMismatchError, match="test@1"):
        ChromaIndex(client, "passages-1", IndexStamp("test", "2", 16))


def test_a_search_in_the_middle_of_adding_finds_whole_documents(index: ChromaIndex) -> None:
    ids = [f"{number:064x}" for number in range(30)]
    query = unit_vectors(1, 7)[0]

    def add() -> None:
        for number, identity in enumerate(ids):
            index.add(passages(identity, 20), unit_vectors(20, number))

    with ThreadPoolExecutor(1) as writer:
        adding = writer.submit(add)
        sizes = set[int]()
        while not adding.done():
            sizes |= {len(index.search(query, document_ids=[identity], limit=40)) for identity in ids}
        adding.result()
    assert sizes <= {0, 20}


def test_vectors_that_another_process_is_writing_are_told_of(
    index: ChromaIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.add(passages(ONE, 3), unit_vectors(3))
    listed = {"ids": [f"{ONE}:0:0"], "embeddings": []}
    monkeypatch.setattr(index._collection, "get", lambda **asked: listed)
    with pytest.raises(StorageError, match="Ask again"):
        index.search(unit_vectors(1)[0], document_ids=[ONE], limit=3)
