"""A question reads what belongs to it: with twenty thousand turns in the database no more than with a few hundred."""

import sqlite3
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from pincite.core.domain.documents import Coverage, Document, DocumentStatus, Page, PageStatus, Passage
from pincite.core.domain.ports import AnswerRequest
from pincite.core.domain.search import Evidence, Mode, SearchPlan, SearchResult
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import ReviewDecision
from pincite.core.graph.build import build_graph
from pincite.core.graph.checkpoints import SqliteCheckpoints, forget_runs
from pincite.core.graph.context import Equipment
from pincite.core.questions.lexicon import users_lexicon
from pincite.core.services.reviews import Verdicts
from pincite.core.services.settings import SettingsInForce
from pincite.core.services.turns import TurnRunner
from pincite.core.store import sqlite
from pincite.core.store.collections import Collections
from pincite.core.store.indexes import Indexes
from pincite.core.store.library import Library
from pincite.core.store.reviews import Reviews
from pincite.core.store.sessions import Sessions
from pincite.core.store.sqlite import SqliteDatabase
from pincite.core.store.turns import Turns

REVIEWS = 500
INSTRUCTIONS_A_TICK = 100
PAGE = "Overdue amounts bear interest at 1.5 % per month from the due date."
QUESTION = "What interest do overdue amounts bear in case {}?"
PASSAGES = 10
TURNS_A_SESSION = 50


class Shelf:
    """Forty documents of one page."""

    def list(self) -> list[Document]:
        return [
            Document(f"d{n}", f"{n}.pdf", 1, 1, 1, "2026-01-01", DocumentStatus.READY, searchable=True)
            for n in range(40)
        ]

    def page(self, document_id: str, page_index: int) -> Page:
        return Page(page_index, str(page_index + 1), PAGE, (), (), PageStatus.TEXT)

    def pages(self, document_id: str, page_indexes: Iterable[int]) -> Sequence[Page]:
        return [self.page(document_id, 0)] if 0 in page_indexes else []

    def page_text(self, document_id: str, page_index: int) -> str:
        return PAGE

    def coverage(self, document_id: str) -> Coverage:
        return Coverage(1, 1)

    def opening_passages(self, document_id: str, limit: int) -> Sequence[Passage]:
        return []

    def search(self, plan: SearchPlan, library: object, **how: object) -> SearchResult:
        found = (Passage(f"d{n}-0", f"d{n}", 0, "1", PAGE, 0, len(PAGE)) for n in range(PASSAGES))
        return SearchResult(tuple(Evidence(n, passage, f"{n}.pdf") for n, passage in enumerate(found, start=1)))


class Model:
    name, writes_prose, context_characters, readable_characters = "at once", True, 12_000, 12_000
    notices, usage = (), None

    def answer(self, request: AnswerRequest, stopped: Callable[[], bool]) -> Iterator[str]:
        yield "Overdue amounts bear interest at 1.5 % per month. [1]"

    def structured(self, instructions: str, content: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return None

    def of_last_answer(self, question: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return None


class World:
    """A turn runner on a database of its own."""

    def __init__(self, directory: Path) -> None:
        settings = Settings(data_dir=directory)
        self.database = SqliteDatabase(settings.database_path)
        self.turns, self.sessions = Turns(self.database), Sessions(self.database)
        library, shelf = Library(self.database, settings), Shelf()
        in_force = SettingsInForce(settings, Indexes(self.database, settings), changed=lambda: None)
        verdicts = Verdicts(in_force, self.turns, library)
        self.reviews = Reviews(self.database, self.turns, cite=verdicts.cite)
        self.checkpoints = SqliteCheckpoints(settings.checkpoints_path)
        self.runner = TurnRunner(
            turns=self.turns,
            sessions=self.sessions,
            graph=build_graph(self.checkpoints.saver),
            equipment=lambda: Equipment(
                settings,
                cast(Library, shelf),
                shelf,
                lambda asked: Model(),
                lambda question, ids: verdicts.recall(self.reviews.reviewed_match(question, ids)),
                lexicon=users_lexicon(directory),
            ),
            settle=lambda: forget_runs(self.checkpoints, self.turns.running),
            collection=Collections(self.database).get,
        )
        self.session = self.sessions.create()

    def ask(self, number: int) -> None:
        turn_id = self.runner.ask(self.session.id, QUESTION.format(number), mode=Mode.DOCUMENTS)
        turn = self.runner.wait(turn_id, 60).turn
        assert turn.citations, turn.error

    def fill(self, turns: int, reviews: int) -> None:
        """Multiply one answered turn, in sessions of their own, and approve some of the copies."""
        self.ask(0)
        [template] = self.turns.of_session(self.session.id)
        with self.database.transaction() as connection:
            columns = "status, started_at, owner, worker, confidence"
            for number in range(turns):
                if number % TURNS_A_SESSION == 0:
                    session = self.sessions.create()
                connection.execute(
                    f"INSERT INTO turns (id, session_id, position, question, body, {columns}) "
                    f"SELECT ?1, ?2, ?3, ?4, json_set(body, '$.id', ?1, '$.question', ?4), {columns} "
                    "FROM turns WHERE id = ?5",
                    (uuid.uuid4().hex, session.id, number, QUESTION.format(f"A{number}"), template.id),
                )
            decided = connection.execute(
                "SELECT id FROM turns WHERE id != ? LIMIT ?", (template.id, reviews)
            ).fetchall()
            for row in decided:
                self.reviews.decide(row["id"], ReviewDecision.APPROVED)

    def close(self) -> None:
        self.runner.close()
        self.checkpoints.close()
        self.database.close()


class Counter:
    """Counts statements, and SQLite's own instructions, which grow with the rows that are read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.statements: list[str] = []
        self.ticks = 0
        opened = sqlite._open

        def counted(source: Path | str) -> sqlite3.Connection:
            connection = opened(source)
            connection.set_trace_callback(self.statements.append)
            connection.set_progress_handler(self._tick, INSTRUCTIONS_A_TICK)
            return connection

        monkeypatch.setattr(sqlite, "_open", counted)

    def _tick(self) -> int:
        self.ticks += 1
        return 0

    def of(self, world: World, number: int) -> tuple[int, int]:
        self.statements.clear()
        self.ticks = 0
        world.ask(number)
        return len(self.statements), self.ticks


def test_a_question_reads_no_more_when_there_are_twenty_thousand_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = Counter(monkeypatch)
    found = []
    for turns in (REVIEWS, 20_000):
        world = World(tmp_path / str(turns))
        world.fill(turns, REVIEWS)
        world.ask(1)
        found.append(counter.of(world, 2))
        world.close()
    (few_statements, few), (many_statements, many) = found
    assert many_statements == few_statements < 80
    assert many <= 1.1 * few + 10
