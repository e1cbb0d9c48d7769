"""What is damaged in the database is shown as damaged and kept as it is; everything else is there as before."""

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from pincite.core.domain.answers import Score, Verdict
from pincite.core.domain.codec import from_json, to_json
from pincite.core.domain.documents import NO_DOCUMENTS, Document, PageStatus
from pincite.core.domain.errors import PinciteError, SettingsError, StorageError
from pincite.core.domain.settings import load_settings
from pincite.core.domain.turns import ReviewDecision, Turn, TurnStatus
from pincite.core.services.bootstrap import Pincite
from pincite.core.store.data_dir import STAMP, stamp_of
from pincite.core.store.records import RECORDS
from pincite.core.store.sqlite import SqliteDatabase
from pincite.core.store.turns import UNREADABLE_STEP, UNREADABLE_TURN, Turns
from pincite.core.text.plain import storable
from pincite.web.passphrase import Passphrase
from tests.pages.conftest import Ask, Screen
from tests.pages.conftest import app as app
from tests.pages.conftest import ask as ask
from tests.pages.conftest import contract as contract
from tests.support.rows import sqlite_of

GARBAGE = ("", "garbage", "null", "{}", "5", '"x"', '[1, {"a": NaN}]', '{"id": 1e999}', "[[[[", "\x00", "NaN")
PAGES_OF = {
    "turns": ("chat", "review", "traces", "settings"),
    "trace_steps": ("traces",),
    "reviews": ("chat", "review"),
    "pins": ("chat",),
    "sessions": ("chat",),
    "documents": ("documents",),
    "passages": ("documents",),
    "pages": ("documents",),
}


def damage(app: Pincite, table: str, column: str, garbage: object) -> None:
    with sqlite_of(app).transaction() as connection:
        connection.execute(f"UPDATE {table} SET {column} = ?", (garbage,))


def everything_opens(app: Pincite, session_id: str, turn_id: str, pages: Sequence[str] = ()) -> str:
    """Open every list, page and export; returns all their text."""
    texts = []
    app.library.list(), app.turns.recent(10), app.reviews.decided(most=10), app.sessions.list()
    for document in app.library.list():
        app.library.receipts(document.id), app.library.page(document.id, 0), app.library.outline(document.id)
        app.library.opening_passages(document.id, 5)
    app.reviews.reviewed_match("What is the penalty for late payment?", [d.id for d in app.library.list()])
    for page in pages:
        screen = Screen(page, session=session_id, turn=turn_id)
        screen.assert_sound()
        texts.append(screen.words())
    texts.append(app.sessions.export_markdown(session_id))
    texts += [f"{check.detail}" for check in app.health.checks()]
    return "\n".join(texts)


@pytest.fixture
def reviewed(app: Pincite, contract: Document, ask: Ask) -> Turn:
    turn = ask()
    app.reviews.send(turn.id)
    app.reviews.decide(turn.id, ReviewDecision.APPROVED)
    return app.turns.get(turn.id)


def test_damage_in_any_column_is_reported_and_the_rest_opens(app: Pincite, reviewed: Turn) -> None:
    rows = sqlite_of(app).connection
    app.notes.pin(reviewed.session_id, reviewed.final_citations)
    for table, column in RECORDS:
        before = rows.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
        garbage = b"garbage" if column == "layout" else "garbage"
        damage(app, table, column, garbage)
        shown = everything_opens(app, reviewed.session_id, reviewed.id, PAGES_OF[table])
        assert f"of {table} ({column})" in shown
        kept = {row[0] for row in rows.execute(f"SELECT {column} FROM {table}")}
        assert kept == {garbage}, "it is kept as it is"
        rows.executemany(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", [(row[1], row[0]) for row in before])


def test_unreadable_turn_is_listed_with_the_others(app: Pincite, contract: Document, ask: Ask) -> None:
    one = ask()
    session_id = one.session_id
    other = app.runner.wait(app.runner.ask(session_id, "When are invoices due?"), 300).turn
    for garbage in GARBAGE:
        with sqlite_of(app).transaction() as connection:
            connection.execute("UPDATE turns SET body = ? WHERE id = ?", (garbage, one.id))
        first, second = app.turns.of_session(session_id)
        assert (first.status, first.error, first.question) == (TurnStatus.UNREADABLE, UNREADABLE_TURN, one.question)
        assert second.answer == other.answer and first.document_ids == NO_DOCUMENTS
        assert UNREADABLE_TURN.rstrip(".") in app.sessions.export_markdown(session_id).replace("\\", "")
        shown = Screen("chat", session=session_id).words()
        assert other.question in shown and "Asked of" not in shown, "what it was asked of cannot be read either"
    app.ingest.remove(contract.id)
    app.turns.mark_interrupted([one.id])
    stored = sqlite_of(app).connection.execute("SELECT body FROM turns WHERE id = ?", (one.id,)).fetchone()[0]
    assert stored == garbage


def test_unreadable_step_scope_and_decision_are_reported(app: Pincite, reviewed: Turn) -> None:
    for garbage in GARBAGE:
        damage(app, "trace_steps", "body", garbage)
        assert {step.error for step in app.turns.get(reviewed.id).trace} == {UNREADABLE_STEP}
        damage(app, "sessions", "document_ids", garbage)
        assert app.sessions.get(reviewed.session_id).document_ids == NO_DOCUMENTS, "never all documents instead"
        damage(app, "reviews", "citations", garbage)
        turn = app.turns.get(reviewed.id)
        assert turn.status is TurnStatus.FLAGGED and "decision on this answer cannot be read" in turn.reasons[0]


def test_words_for_closed_sets_that_are_none_are_taken_for_damage(app: Pincite, reviewed: Turn) -> None:
    for table, column in (("turns", "status"), ("reviews", "decision"), ("documents", "status"), ("pages", "status"),
                          ("metadata", "source")):  # fmt: skip
        damage(app, table, column, "nonsense")
        everything_opens(app, reviewed.session_id, reviewed.id)
    assert [line.status for line in app.turns.lines(most=9)] == [TurnStatus.UNREADABLE]
    assert app.turns.get(reviewed.id).review is None
    [document] = app.library.list()
    assert app.library.page(document.id, 0).status is PageStatus.FAILED


NOT_FINITE = (math.nan, math.inf, -math.inf)


@pytest.mark.parametrize("figure", NOT_FINITE)
def test_what_could_not_be_read_again_is_not_written(figure: float) -> None:
    fine = Score(0.5, "half")
    verdict = Verdict((), fine, fine, fine, fine, 0.5, True)
    assert from_json(Verdict, to_json(verdict)) == verdict
    with pytest.raises(StorageError):
        to_json(replace(verdict, confidence=figure))
    with pytest.raises(StorageError):
        to_json(Score(figure, "none"))
    with pytest.raises(StorageError):
        to_json(Score(0.5, "half a character: \ud800"))


@pytest.mark.parametrize("figure", ["NaN", "Infinity", "-Infinity", "1e999", "-1E+9999", "null"])
def test_a_figure_that_is_none_is_not_read(figure: str) -> None:
    with pytest.raises(ValueError):
        from_json(Score, f'{{"value": {figure}, "reason": "NaN"}}')
    assert from_json(Score, '{"value": 1e100, "reason": "NaN and Infinity are words"}').value == 1e100


ODD = ("Infinity", "-Infinity", "NaN", "1e999", "9" * 30, "null", "true", '"x"', "[]", "{}", "[" * 100_000, '"\\ud800"')


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_odd_values_in_the_small_files_are_reported_or_ignored(tmp_path: Path, odd: str) -> None:
    for name, whole in (
        (STAMP, '{"id": 5, "format": 1}'),
        ("settings.json", '{"ocr": true, "ollama_model": "m", "candidates": 20, "score_floor": 0.5}'),
        ("passphrase.json", '{"salt": "00", "hash": "11"}'),
    ):
        for value in (*re.findall(r": ([^{},]+)", whole), "{" + whole.partition("{")[2]):
            (tmp_path / name).write_text(whole.replace(value, odd, 1))
            with suppress(PinciteError):
                stamp_of(tmp_path)
            with suppress(SettingsError):
                kept = load_settings(tmp_path)
                assert storable(kept.ollama_model) == kept.ollama_model
            with suppress(SettingsError):
                Passphrase(tmp_path).matches("a passphrase")


@pytest.mark.parametrize("citations", ('["a"]', '"x"', '"{"', "1e999", "[[1]]", '[{"document_id": {"a": []}}]', "null"))
def test_answer_with_invalid_citations_does_not_prevent_opening(tmp_path: Path, citations: str) -> None:
    database = SqliteDatabase(tmp_path / "pincite.db")
    connection = database.connection
    connection.execute("INSERT INTO sessions (id, title, created_at, updated_at) VALUES ('s', 't', '', '')")
    connection.execute(
        "INSERT INTO turns (id, session_id, position, status, question, started_at, body, worker) "
        "VALUES ('t', 's', 0, 'running', 'q', '', ?, 'gone')",
        (f'{{"answer": 5, "citations": {citations}}}',),
    )
    turns = Turns(database)
    assert turns.mark_interrupted() == ["t"]
    assert turns.get("t").status is TurnStatus.UNREADABLE
    connection.execute("UPDATE turns SET status = 'answered'")
    assert turns.exchanges("s") == (), "what is no text is no answer"
    database.close()
