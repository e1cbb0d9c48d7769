"""What does a question cost beside search, model and judge, with many turns and reviews in the database?

The library, the search and the model are stood in for and answer at once; the judge's time is taken off.
"""

import argparse
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

from benchmarks.measures import quantile
from core.domain.answers import Verdict
from core.domain.documents import Coverage, Document, DocumentStatus, Page, PageStatus, Passage
from core.domain.ports import AnswerRequest, DocumentStore
from core.domain.search import Evidence, Mode, SearchPlan, SearchResult
from core.domain.settings import Settings
from core.domain.turns import ReviewDecision
from core.graph.build import build_graph, forget_runs, open_checkpointer
from core.graph.context import Equipment
from core.judge.verdict import verdict_of
from core.search.lexicon import users_lexicon
from core.services.reviews import Verdicts
from core.services.settings import SettingsInForce
from core.services.turns import TurnRunner
from core.store.collections import Collections
from core.store.database import Database
from core.store.indexes import Indexes
from core.store.library import Library
from core.store.reviews import Reviews
from core.store.sessions import Sessions
from core.store.turns import Turns

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

    def page_text(self, document_id: str, page_index: int) -> str:
        return PAGE

    def coverage(self, document_id: str) -> Coverage:
        return Coverage(1, 1)

    def opening_passages(self, document_id: str, limit: int) -> Sequence[Passage]:
        return []

    def search(self, plan: SearchPlan, *, context_characters: int, scope: Sequence[str] = ()) -> SearchResult:
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
        self.database = Database(settings.database_path)
        self.turns, self.sessions = Turns(self.database), Sessions(self.database)
        library, shelf = Library(self.database, settings), Shelf()
        in_force = SettingsInForce(settings, Indexes(self.database, settings), changed=lambda: None)
        verdicts = Verdicts(in_force, self.turns, library)
        self.reviews = Reviews(self.database, self.turns, cite=verdicts.cite)
        self.checkpointer = open_checkpointer(settings.checkpoints_path)
        self.runner = TurnRunner(
            turns=self.turns,
            sessions=self.sessions,
            graph=build_graph(self.checkpointer),
            equipment=lambda: Equipment(
                settings,
                cast(DocumentStore, shelf),
                shelf,
                lambda asked: Model(),
                lambda question, ids: verdicts.recall(self.reviews.reviewed_match(question, ids)),
                lexicon=users_lexicon(directory),
            ),
            settle=lambda: forget_runs(self.checkpointer, self.turns.running),
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
        self.checkpointer.conn.close()
        self.database.close()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--turns", type=int, default=20_000)
    parser.add_argument("--reviews", type=int, default=500)
    parser.add_argument("--questions", type=int, default=40)


def run(options: argparse.Namespace) -> dict[str, Any]:
    judged = 0.0

    def timed(*given: Any, **named: Any) -> Verdict:
        nonlocal judged
        began = time.thread_time()
        verdict = verdict_of(*given, **named)
        judged += time.thread_time() - began
        return verdict

    spent = []
    with tempfile.TemporaryDirectory(prefix="pincite-overhead-") as scratch:
        world = World(Path(scratch))
        world.fill(options.turns, options.reviews)
        with patch("core.graph.nodes.judge.verdict_of", timed):
            for number in range(1, options.questions + 1):
                began, judged = time.process_time(), 0.0
                world.ask(number)
                spent.append(1000 * (time.process_time() - began - judged))
        world.close()
    return {
        "turns": options.turns,
        "reviews": options.reviews,
        "questions": options.questions,
        "cpu_ms_p50": round(quantile(spent, 0.5), 1),
        "cpu_ms_p95": round(quantile(spent, 0.95), 1),
    }
