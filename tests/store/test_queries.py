"""A question is embedded once, in this process and the next; with a turn that is deleted its vector goes."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from pincite.core.domain.ports import Vectors
from pincite.core.domain.settings import Settings
from pincite.core.models.minilm import MiniLmEmbedder
from pincite.core.services.bootstrap import open_pincite
from pincite.core.store import queries
from pincite.core.store.queries import CachedQueries
from pincite.core.store.sqlite import SqliteDatabase
from tests.ingest.workshop import make_pdf
from tests.support.rows import sqlite_of


class Counting(MiniLmEmbedder):
    def __init__(self) -> None:
        super().__init__(workers=1)
        self.asked: list[str] = []

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        return super().embed_queries(texts)


@pytest.mark.behaviour("Plans", "The vector of a question is computed once, also across restarts.")
def test_a_wording_is_embedded_once_also_after_a_restart(tmp_path: Path) -> None:
    counting = Counting()
    with closing(SqliteDatabase(tmp_path / "pincite.db")) as database:
        cached = CachedQueries(counting, database)
        first = cached.embed_queries(["notice period", "rent", "notice period"])
        assert counting.asked == ["notice period", "rent"] and np.array_equal(first[0], first[2])
    with closing(SqliteDatabase(tmp_path / "pincite.db")) as database:
        cached = CachedQueries(counting, database)
        again = cached.embed_queries(["rent", "notice period", "deposit"])
        assert counting.asked == ["notice period", "rent", "deposit"]
        assert np.array_equal(again[1], first[0]) and np.array_equal(again[0], first[1])
        assert cached.embed_queries([]).shape == (0, 384)


def test_only_the_newest_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "MAX_KEPT", 3)
    with closing(SqliteDatabase(tmp_path / "pincite.db")) as database:
        cached = CachedQueries(Counting(), database)
        for word in "abcdef":
            cached.embed_queries([word])
        assert database.number("SELECT count(*) FROM query_vectors") == 3


def test_with_a_deleted_turn_the_vectors_of_questions_go(settings: Settings, tmp_path: Path) -> None:
    with closing(open_pincite(settings)) as app:
        app.ingest.add(make_pdf(tmp_path / "lease.pdf", ["The rent is 900 euros a month."]), "lease.pdf")
        assert app.ingest.wait(timeout_seconds=300)
        session = app.sessions.create()
        turn = app.runner.wait(app.runner.ask(session.id, "How high is the rent?"), 120).turn
        assert sqlite_of(app).number("SELECT count(*) FROM query_vectors") > 0
        app.deletion.turn(turn.id)
        assert sqlite_of(app).number("SELECT count(*) FROM query_vectors") == 0
