"""Promises about a database that has grown: 20,000 turns and 500 decisions cost a question or a screen no more.

Work is counted in steps of SQLite's machine and in bodies that are decoded, never in seconds.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from pincite.core.domain.answers import AnswerPart, Citation
from pincite.core.domain.codec import readable, to_json
from pincite.core.domain.search import Mode
from pincite.core.domain.turns import FeedbackKind, ReviewDecision, Turn, TurnFilter, TurnStatus
from pincite.core.store import turns as stored_turns
from pincite.core.store.reviews import Reviews
from pincite.core.store.sessions import Sessions
from pincite.core.store.sqlite import SqliteDatabase
from pincite.core.store.turns import Turns

TURNS, REVIEWS, SESSIONS = 20_000, 500, 400
DOCUMENT = "d" * 64
MAX_STEPS = 60_000
"""A table of 20,000 rows that is walked through takes 100,000 and more."""
STEPS_A_CALL = 100


def _turn(number: int) -> Turn:
    citation = Citation(1, DOCUMENT, "report.pdf", 0, "1", "Words.", 0, 6)
    return Turn(
        id=f"turn{number:05}",
        session_id=f"session{number % SESSIONS:03}",
        position=number // SESSIONS,
        question=f"What did item {number} cost?",
        mode=Mode.AUTO,
        document_ids=(DOCUMENT,),
        engine="quoting",
        status=TurnStatus.ANSWERED,
        started_at=f"2026-01-{1 + number // 1000:02}T{number % 24:02}:00:{number % 60:02}.000+00:00",
        answer="Words. [1]",
        parts=(AnswerPart("Words.", (1,)),),
        citations=(citation,),
    )


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteDatabase]:
    with closing(SqliteDatabase(tmp_path_factory.mktemp("grown") / "pincite.db")) as database:
        with database.transaction() as connection:
            connection.executemany(
                "INSERT INTO sessions (id, title, created_at, updated_at) VALUES (?, ?, '2026', ?)",
                [(f"session{number:03}", f"Session {number}", f"2026-{number:03}") for number in range(SESSIONS)],
            )
            body = json.loads(to_json(_turn(0)))
            connection.executemany(
                "INSERT INTO turns (id, session_id, position, place, status, question, started_at, body) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (turn.id, turn.session_id, turn.position, turn.position, status, turn.question, turn.started_at,
                     json.dumps(body | {"id": turn.id, "session_id": turn.session_id, "position": turn.position,
                                        "status": status, "question": turn.question, "started_at": turn.started_at}))
                    for number in range(TURNS)
                    for turn in [_turn(number)]
                    for status in [TurnStatus.REVIEWED if number % (TURNS // REVIEWS) == 0 else turn.status]
                ),
            )  # fmt: skip
            connection.execute("INSERT INTO turn_lines (turn_id) SELECT id FROM turns")
            connection.execute(
                "INSERT INTO reviews (turn_id, decision, final_answer, reviewer, decided_at, citations, parts) "
                "SELECT id, 'approved', 'Words. [1]', 'Ada', '2026-02-01', body -> '$.citations', body -> '$.parts' "
                "FROM turns WHERE status = 'reviewed'"
            )
        yield database


@pytest.fixture
def count(grown: SqliteDatabase, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], tuple[int, int]]:
    """Steps of SQLite's machine and bodies decoded."""
    decoded: list[object] = []

    def noted(kind: Any, text: str) -> Any:
        decoded.append(kind)
        return readable(kind, text)

    monkeypatch.setattr(stored_turns, "readable", noted)

    def counted(act: Callable[[], object]) -> tuple[int, int]:
        calls: list[None] = []
        decoded.clear()
        grown.connection.set_progress_handler(lambda: calls.append(None), STEPS_A_CALL)
        try:
            act()
        finally:
            grown.connection.set_progress_handler(None, 0)
        return len(calls) * STEPS_A_CALL, decoded.count(Turn)

    return counted


def test_a_question_costs_no_more_in_a_grown_database(
    grown: SqliteDatabase, count: Callable[[Callable[[], object]], tuple[int, int]]
) -> None:
    turns, sessions = Turns(grown), Sessions(grown)
    reviews = Reviews(grown, turns, cite=lambda turn, text: ((), ()))
    asked = replace(_turn(TURNS), id="new", status=TurnStatus.RUNNING)

    def ask() -> None:
        turns.mark_interrupted()
        turns.exchanges(asked.session_id)
        placed = turns.create(asked)
        sessions.title_after(asked.session_id, asked.question)
        assert reviews.reviewed_match("What did item 20001 cost?", [DOCUMENT]) is None
        turns.save(replace(placed, status=TurnStatus.FLAGGED))
        assert len(turns.newest(asked.session_id, 20)) == 20

    steps, decoded = count(ask)
    assert steps < MAX_STEPS and decoded <= 20
    found = reviews.reviewed_match("Which item 40 did cost?", [DOCUMENT])
    assert found is not None and found.turn_id == "turn00040"


def test_a_decision_costs_no_more_in_a_grown_database(
    grown: SqliteDatabase, count: Callable[[Callable[[], object]], tuple[int, int]]
) -> None:
    turns = Turns(grown)
    reviews = Reviews(grown, turns, cite=lambda turn, text: ((AnswerPart(text),), ()))

    def decide() -> None:
        reviews.keep_draft("turn00001", "Other words.")
        reviews.decide("turn00001", ReviewDecision.EDITED, final_answer="Other words.")
        reviews.undo("turn00001")
        reviews.discard_draft("turn00001")
        reviews.feedback("turn00001", FeedbackKind.GOOD)

    steps, decoded = count(decide)
    assert steps < MAX_STEPS and decoded <= 3


@pytest.mark.parametrize(
    "draw",
    [
        lambda turns, reviews, sessions: turns.newest("session007", 20),
        lambda turns, reviews, sessions: turns.count("session007"),
        lambda turns, reviews, sessions: turns.count_flagged(),
        lambda turns, reviews, sessions: turns.lines(most=50),
        lambda turns, reviews, sessions: turns.lines(TurnFilter(status=TurnStatus.FLAGGED), most=50),
        lambda turns, reviews, sessions: turns.count_lines(TurnFilter(status=TurnStatus.FLAGGED)),
        lambda turns, reviews, sessions: turns.running(),
        lambda turns, reviews, sessions: reviews.decided(most=20),
        lambda turns, reviews, sessions: reviews.count_decided(),
        lambda turns, reviews, sessions: reviews.decision_times(),
        lambda turns, reviews, sessions: reviews.drafted(),
        lambda turns, reviews, sessions: sessions.list(most=15),
        lambda turns, reviews, sessions: sessions.export_markdown("session007"),
    ],
)
def test_a_screen_costs_no_more_in_a_grown_database(
    grown: SqliteDatabase, count: Callable[[Callable[[], object]], tuple[int, int]], draw: Callable[..., object]
) -> None:
    turns = Turns(grown)
    reviews = Reviews(grown, turns, cite=lambda turn, text: ((), ()))
    steps, decoded = count(lambda: draw(turns, reviews, Sessions(grown)))
    assert steps < MAX_STEPS and decoded <= TURNS // SESSIONS
