"""Lists of turns, sessions and decisions read columns and pages: what a screen costs does not grow with the library."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pincite.core.domain.answers import Citation
from pincite.core.domain.codec import readable
from pincite.core.domain.errors import TurnError
from pincite.core.domain.search import Mode
from pincite.core.domain.turns import FeedbackKind, ReviewDecision, Turn, TurnFilter, TurnStatus
from pincite.core.store import turns as stored_turns
from pincite.core.store.reviews import Reviews
from pincite.core.store.sessions import Sessions
from pincite.core.store.sqlite import SqliteDatabase
from pincite.core.store.turns import Turns
from tests.store.older import as_format

MANY = 200


class Shelf:
    """A database with many turns, and a count of the bodies that were decoded."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.database = SqliteDatabase(directory / "pincite.db")
        self.turns = Turns(self.database)
        self.sessions = Sessions(self.database)
        self.session = self.sessions.create("Many")
        self.decoded = 0

        def counted(kind: Any, text: str) -> Any:
            self.decoded += kind is Turn
            return readable(kind, text)

        monkeypatch.setattr(stored_turns, "readable", counted)

    def add(self, number: int, **values: Any) -> Turn:
        name = f"report {number % 7}.pdf"
        citation = Citation(1, f"id-{name}", name, 0, "1", "Words.", 0, 6)
        turn = Turn(
            id=f"turn{number:05}",
            session_id=self.session.id,
            position=0,
            question=f"Question {number}?",
            mode=Mode.AUTO,
            document_ids=(citation.document_id,),
            engine="quoting",
            status=TurnStatus.RUNNING,
            started_at=f"2026-01-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000+00:00",
        )
        turn = self.turns.create(turn)
        ended = replace(turn, status=TurnStatus.ANSWERED, answer="Words. [1]", citations=(citation,), **values)
        self.turns.save(ended)
        return ended


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelf]:
    made = Shelf(tmp_path, monkeypatch)
    with made.database.transaction():
        for number in range(MANY):
            made.add(number)
    yield made
    made.database.close()


def test_session_page_decodes_its_turns_once(shelf: Shelf) -> None:
    shelf.decoded = 0
    first = shelf.turns.newest(shelf.session.id, 20)
    assert [turn.question for turn in first] == [f"Question {number}?" for number in range(MANY - 20, MANY)]
    assert shelf.decoded == 20
    assert shelf.turns.newest(shelf.session.id, 20) == first and shelf.decoded == 20, "nothing changed, nothing is read"
    assert shelf.turns.count(shelf.session.id) == MANY


def test_what_changes_is_read_again_and_nothing_else(shelf: Shelf) -> None:
    other = Turns(shelf.database)  # as another process would write
    reviews = Reviews(shelf.database, other, cite=lambda turn, text: (turn.parts, turn.citations))
    (turn,) = shelf.turns.newest(shelf.session.id, 1)
    shelf.turns.newest(shelf.session.id, 20)
    for change in (
        lambda: other.save(replace(turn, answer="Other words.")),
        lambda: reviews.decide(turn.id, ReviewDecision.APPROVED, reviewer="Ada"),
        lambda: reviews.undo(turn.id),
        lambda: reviews.feedback(turn.id, FeedbackKind.GOOD),
        lambda: reviews.feedback(turn.id, FeedbackKind.BAD),
        lambda: reviews.feedback(turn.id, None),
        lambda: reviews.decide(turn.id, ReviewDecision.APPROVED, reviewer="Eve"),
        lambda: reviews.mark_stale(turn.citations[0].document_id, "gone"),
    ):
        change()
        fresh = other.get(turn.id)
        shelf.decoded = 0
        newest = shelf.turns.newest(shelf.session.id, 20)[-1]
        assert newest == replace(fresh, trace=(), path=())
        assert shelf.decoded <= 3, "the turn, and a review's citations and parts"
    assert newest.feedback is None and newest.review is not None and newest.review.stale == "gone"


def test_what_was_rolled_back_is_not_remembered(shelf: Shelf) -> None:
    (turn,) = shelf.turns.newest(shelf.session.id, 1)
    with pytest.raises(TurnError), shelf.database.transaction():
        shelf.turns.save(replace(turn, answer="Never said."))
        assert shelf.turns.without_trace(turn.id).answer == "Never said."
        raise TurnError("The write fails.")
    shelf.turns.save(replace(turn, answer="Said."))
    assert shelf.turns.without_trace(turn.id).answer == "Said."


def test_deleted_turn_is_removed_from_memory_too(shelf: Shelf) -> None:
    (turn,) = shelf.turns.newest(shelf.session.id, 1)
    shelf.sessions.delete(shelf.session.id)
    with pytest.raises(TurnError):
        shelf.turns.without_trace(turn.id)


def test_lists_decode_no_turn_and_show_as_many_as_are_asked_for(shelf: Shelf) -> None:
    shelf.decoded = 0
    seen = [line.id for line in shelf.turns.lines(most=MANY)]
    assert seen == [f"turn{number:05}" for number in reversed(range(MANY))]
    assert [line.id for line in shelf.turns.lines(most=50)] == seen[:50]
    assert shelf.turns.count_lines() == MANY
    assert shelf.decoded == 0


def test_a_list_narrows_by_words_document_age_and_confidence(shelf: Shelf) -> None:
    flagged = replace(shelf.turns.get("turn00007"), status=TurnStatus.FLAGGED, reasons=("100 % “sure”_",))
    shelf.turns.save(flagged)
    shelf.turns.save(replace(shelf.turns.get("turn00008"), status=TurnStatus.FLAGGED, reasons=("Other",)))
    waiting = TurnFilter(status=TurnStatus.FLAGGED)
    assert [line.id for line in shelf.turns.lines(waiting, most=9)] == ["turn00007", "turn00008"], "oldest first"
    for narrowed in (
        replace(waiting, words="100 %"),
        replace(waiting, words="QUESTION 7"),
        replace(waiting, words="”_"),
        replace(waiting, document_id="id-report 0.pdf"),
    ):
        (line,) = shelf.turns.lines(narrowed, most=9)
        assert (line.id, line.reasons, line.cited_names) == ("turn00007", ("100 % “sure”_",), ("report 0.pdf",))
    assert shelf.turns.count_lines(replace(waiting, words="%" * 100_000)) == 0
    assert shelf.turns.count_lines(replace(waiting, since="2026-01-01T00:00:08")) == 1
    assert shelf.turns.count_lines(replace(waiting, confidence_up_to=0.5)) == 2


def test_a_body_that_is_no_json_keeps_the_rest_of_the_list(shelf: Shelf) -> None:
    shelf.database.connection.execute("UPDATE turns SET body = '{NaN' WHERE id = 'turn00150'")
    assert len(shelf.turns.lines(most=500)) == MANY


def test_sessions_come_in_pages(shelf: Shelf) -> None:
    for number in range(40):
        shelf.sessions.create(f"Session {number}")
    assert [session.title for session in shelf.sessions.list(most=3)] == ["Session 39", "Session 38", "Session 37"]
    assert [session.title for session in shelf.sessions.list("session 1", most=2)] == ["Session 19", "Session 18"]
    assert [session.title for session in shelf.sessions.list("question 17?")] == ["Many"]
    assert len(shelf.sessions.list()) == 41


@pytest.mark.parametrize(
    "read",
    [
        lambda shelf: shelf.turns.newest(shelf.session.id, 20),
        lambda shelf: shelf.turns.count(shelf.session.id),
        lambda shelf: shelf.turns.count_flagged(),
        lambda shelf: shelf.turns.lines(most=50),
        lambda shelf: shelf.turns.lines(TurnFilter(status=TurnStatus.FLAGGED), most=50),
        lambda shelf: shelf.sessions.list(most=15),
    ],
)
def test_no_list_scans_a_table_or_sorts_it(shelf: Shelf, read: Any) -> None:
    statements: list[str] = []
    connection = shelf.database.connection
    connection.set_trace_callback(statements.append)
    read(shelf)
    connection.set_trace_callback(None)
    plans = [
        row["detail"]
        for statement in statements
        if statement.startswith("SELECT")
        for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")
    ]
    assert plans
    assert not [plan for plan in plans if plan.startswith("SCAN") and "INDEX" not in plan], plans
    assert not [plan for plan in plans if "TEMP B-TREE" in plan], plans


def test_turns_of_an_older_database_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = Shelf(tmp_path, monkeypatch)
    shelf.add(3, reasons=("Doubt",))
    shelf.database.close()
    as_format(1, tmp_path / "pincite.db")
    database = SqliteDatabase(tmp_path / "pincite.db")
    (line,) = Turns(database).lines(TurnFilter(document_id="id-report 3.pdf"), most=5)
    assert line.reasons == ("Doubt",) and line.cited_names == ("report 3.pdf",)
    database.close()
