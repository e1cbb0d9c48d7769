"""Promises about search by meaning while it is unavailable: words are searched anyway, and the turn reports it."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from pincite.core.domain.documents import DocumentStatus
from pincite.core.domain.ports import Vectors
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import Turn, TurnStatus
from pincite.core.models.minilm import MiniLmEmbedder
from pincite.core.services import bootstrap
from pincite.core.services.bootstrap import Pincite, open_pincite
from pincite.core.services.registry import make_embedder
from pincite.core.store.indexes import Indexes
from pincite.core.store.sqlite import SqliteDatabase
from tests.ingest.workshop import LONG_SECONDS, make_pdf

NOBODY_THERE = "http://127.0.0.1:9"
PAGE = "The tenant pays interest of nine percent on late rent."
QUESTION = "What interest does the tenant pay on late rent?"


class FailingEmbedder(MiniLmEmbedder):
    """Answers as its model does, until a test makes it answer differently."""

    answer: Vectors | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.answer is None:
            return super().embed(texts)
        return np.repeat(self.answer[None, :], len(texts), axis=0)


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> FailingEmbedder:
    made = FailingEmbedder()
    monkeypatch.setattr(bootstrap, "make_embedder", lambda name, settings: made)
    return made


@pytest.fixture
def app(settings: Settings, embedder: FailingEmbedder) -> Iterator[Pincite]:
    app = open_pincite(settings.but(engine="quoting"))
    yield app
    app.close()


def asked(app: Pincite, question: str) -> Turn:
    return app.runner.wait(app.runner.ask(app.sessions.create().id, question), LONG_SECONDS).turn


def test_question_is_answered_by_words_where_the_embedder_cannot_be_reached(tmp_path: Path) -> None:
    settings = Settings(
        data_dir=tmp_path / "data", engine="quoting", embedding_model="ollama:away", ollama_host=NOBODY_THERE
    )
    app = open_pincite(settings)
    try:
        document = app.ingest.add(make_pdf(tmp_path / "lease.pdf", [PAGE]), "lease.pdf").document
        assert app.ingest.wait(timeout_seconds=LONG_SECONDS)
        assert app.library.get(document.id).status is DocumentStatus.FAILED
        turn = asked(app, QUESTION)
        assert turn.status is TurnStatus.ANSWERED and "nine percent" in turn.answer
        assert any("Only keyword search was used" in notice and "Ollama" in notice for notice in turn.notices)
    finally:
        app.close()


@pytest.mark.parametrize(
    "answer",
    [np.full(384, np.nan), np.full(384, np.inf), np.ones(8)],
    ids=["not a number", "infinite", "other dimensions"],
)
def test_vectors_that_are_none_are_refused_and_words_searched(
    app: Pincite, embedder: FailingEmbedder, tmp_path: Path, answer: Vectors
) -> None:
    app.ingest.add(make_pdf(tmp_path / "lease.pdf", [PAGE]), "lease.pdf")
    assert app.ingest.wait(timeout_seconds=LONG_SECONDS)
    embedder.answer = answer.astype(np.float32)
    turn = asked(app, QUESTION)
    assert turn.status is TurnStatus.ANSWERED and any("Only keyword search" in notice for notice in turn.notices)
    added = app.ingest.add(make_pdf(tmp_path / "more.pdf", ["Dogs are kept on a lead."]), "more.pdf").document
    assert app.ingest.wait(timeout_seconds=LONG_SECONDS)
    document = app.library.get(added.id)
    assert document.status is DocumentStatus.FAILED and "vectors of 384 numbers" in document.message
    embedder.answer = None
    app.ingest.retry(added.id)
    assert app.ingest.wait(timeout_seconds=LONG_SECONDS)
    assert app.library.get(added.id).status is DocumentStatus.READY and not app.indexes.check()


def test_first_index_is_made_once_whoever_comes_first(settings: Settings) -> None:
    """Many threads, each as a process of its own, on a fresh directory: one looks, one keeps Chroma in step."""
    for attempt in range(10):
        data = settings.data_dir / f"fresh-{attempt}"
        databases = [SqliteDatabase(data / "pincite.db") for _ in range(4)]
        made = [Indexes(database, Settings(data_dir=data), make_embedder) for database in databases]
        ready, failures = threading.Barrier(len(made)), list[BaseException]()

        def use(number: int, made: list[Indexes] = made, ready: threading.Barrier = ready) -> None:
            try:
                ready.wait(LONG_SECONDS)
                if number == 0:
                    made[0].keep_in_step(lambda: False)
                made[number].active()[1].count()
            except BaseException as error:
                failures.append(error)  # noqa: B023 # joined below, within the round

        threads = [threading.Thread(target=use, args=(number,)) for number in range(len(made))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LONG_SECONDS)
        assert not failures
        assert databases[0].connection.execute("SELECT count(*) FROM vector_indexes").fetchone()[0] == 1
        for indexes, database in zip(made, databases, strict=True):
            indexes.close()
            database.close()
