"""Keyword search in a large library, which PostgreSQL ranks a part of: what is found does not depend on its size."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from sqlalchemy import text

from pincite.core.domain.documents import Passage
from pincite.core.store import keywords, tsvector
from pincite.core.store.postgresql import PostgresqlDatabase
from pincite.core.store.schema import documents, passages
from pincite.core.store.tsvector import TsvectorIndex

COMMON = 60
ONE = "1" * 64


@pytest.fixture
def index(postgresql: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[TsvectorIndex]:
    """Passages with "report", as many with "tariff", one of both, three with "zebra": large by the limits set here."""
    for module in (keywords, tsvector):
        monkeypatch.setattr(module, "MAX_SCORED", 20)
    for name, value in {"MANY": 21, "MAX_RANKED": 40, "OFTEN_COUNTED": 50}.items():
        monkeypatch.setattr(tsvector, name, value)
    texts = [f"report {at}" for at in range(COMMON)] + [f"tariff {at}" for at in range(COMMON)]
    texts += ["report of a tariff", *(f"report of zebra number {at}" for at in range(3))]
    row = {"id": ONE, "name": "a", "byte_size": 1, "added_at": "", "status": "ready", "passage_count": len(texts)}
    made = [Passage(f"{ONE}:{at}", ONE, at, "", one, 0, len(one)) for at, one in enumerate(texts)]
    place = {"document_id": ONE, "start": 0, "end": 0, "embedding_key": b"\0"}
    with closing(PostgresqlDatabase(postgresql)) as database:
        with database.transaction():
            database.run(database.insert(documents).values(row))
            for passage in made:
                values = place | {"id": passage.id, "page_index": passage.page_index}
                database.run(database.insert(passages).values(values))
        found = database.keyword_index()
        found.add(made)
        database.run(text("ANALYZE passage_words"))
        yield found


def places(index: TsvectorIndex, query: str, *document_ids: str) -> list[int]:
    return [int(name.partition(":")[2]) for name, _ in index.search(query, document_ids=document_ids, limit=10)]


@pytest.mark.parametrize("scope", [(), (ONE,)])
def test_frequent_words_find_what_few_passages_have_together(index: TsvectorIndex, scope: tuple[str, ...]) -> None:
    zebras = [2 * COMMON + 1, 2 * COMMON + 2, 2 * COMMON + 3]
    assert set(places(index, "zebra report", *scope)[:3]) == set(zebras)
    assert places(index, "report tariff", *scope)[0] == 2 * COMMON
    for query in ("zebra report", "report tariff", "xyzzy report", "report", "report tariff xyzzy plover"):
        assert len(places(index, query, *scope)) == 10, query


def test_absent_words_are_told_from_frequent_and_rare_ones(index: TsvectorIndex) -> None:
    assert index.absent(["report", "zebra", "xyzzy"], document_ids=()) == ["xyzzy"]
    assert index.absent(["report", "zebra", "xyzzy"], document_ids=("2" * 64,)) == ["report", "zebra", "xyzzy"]
    assert index.absent([], document_ids=()) == []
