"""The conversation in four states, and what it promises about foreign text, sources and running turns."""

import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pincite.core.errors import ModelInterruptedError
from pincite.core.runtime import Pincite
from pincite.core.types import Document, ReviewDecision, Turn, TurnStatus
from pincite.tests.graph.world import ScriptedModel
from pincite.tests.pages.conftest import PENALTIES, SECONDS, WRONG, Ask, Screen

Speak = Callable[..., ScriptedModel]


@pytest.fixture
def held(contract: Document, speak: Speak) -> Iterator[ScriptedModel]:
    model = speak(*["Overdue amounts bear a penalty of 1.5 % per month [1]."] * 3)
    model.gate = threading.Event()
    yield model
    model.gate.set()


def test_empty_offers_the_sample_contract(app: Pincite) -> None:
    screen = Screen("chat")
    assert "Try it with the sample contract" in screen.words()
    assert "No sessions yet." in screen.words()
    screen.assert_sound()


def test_the_sample_contract_is_read_and_asked(app: Pincite) -> None:
    screen = Screen("chat")
    screen.press("Try it with the sample contract")
    screen.assert_sound()
    assert app.ingest.wait(timeout_seconds=SECONDS)
    screen.test.run()
    session = app.sessions.list()[0]
    (turn,) = app.turns.of_session(session.id)
    app.runner.wait(turn.id, SECONDS)
    screen.test.run()
    assert PENALTIES in screen.words()
    assert re.search(r"1\.5\s*%", screen.words())
    screen.assert_sound()


def test_working_shows_steps_draft_and_a_way_to_stop(app: Pincite, held: ScriptedModel) -> None:
    session = app.sessions.create()
    turn_id = app.runner.ask(session.id, PENALTIES)
    assert held.begun.wait(SECONDS)
    screen = Screen("chat", session=session.id)
    assert "Draft, not checked yet" in screen.words()
    assert "Overdue" in screen.words()
    assert screen.test.chat_input[0].disabled
    screen.press("Stop")
    assert held.gate is not None
    held.gate.set()
    assert app.runner.wait(turn_id, SECONDS).turn.status is TurnStatus.STOPPED
    screen.test.run()
    assert "Stopped" in screen.words() and "Run again" in screen.words()
    screen.assert_sound()


def test_a_page_switch_in_mid_answer_loses_nothing(app: Pincite, held: ScriptedModel) -> None:
    session = app.sessions.create()
    turn_id = app.runner.ask(session.id, PENALTIES)
    assert held.begun.wait(SECONDS)
    screen = Screen("chat", session=session.id)
    screen.test.switch_page("pages/documents.py").run()
    screen.assert_sound()
    assert held.gate is not None
    held.gate.set()
    app.runner.wait(turn_id, SECONDS)
    screen.test.switch_page("pages/chat.py").run()
    assert "1.5 % per month" in screen.words()
    screen.assert_sound()


def test_a_turn_that_ends_while_the_page_is_drawn_shows_its_answer(
    app: Pincite, held: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = app.sessions.create()
    turn_id = app.runner.ask(session.id, PENALTIES)
    assert held.begun.wait(SECONDS)
    screen = Screen("chat", session=session.id)
    read = app.turns.of_session

    def read_then_end(session_id: str) -> list[Turn]:
        turns = read(session_id)
        assert held.gate is not None
        held.gate.set()
        app.runner.wait(turn_id, SECONDS)
        return turns

    monkeypatch.setattr(app.turns, "of_session", read_then_end)
    screen.test.run()
    assert "1.5 % per month" in screen.words()
    screen.assert_sound()


def test_a_chosen_document_that_goes_is_chosen_no_more(app: Pincite, contract: Document) -> None:
    screen = Screen("chat")
    (scope,) = screen.test.multiselect
    scope.set_value([contract.id]).run()
    app.ingest.remove(contract.id)
    screen.test.run()
    assert screen.test.multiselect[0].value == []
    screen.assert_sound()


def test_failed_says_why_and_offers_to_run_again(app: Pincite, contract: Document, ask: Ask, speak: Speak) -> None:
    speak(ModelInterruptedError("The server was lost in mid-answer.", hint="Start it again."))
    turn = ask()
    screen = Screen("chat", session=turn.session_id)
    assert "This answer failed." in screen.words() and "lost in mid-answer" in screen.words()
    assert "Run again with quoting" in screen.words()
    screen.assert_sound()


def test_done_shows_sources_and_opens_the_page(app: Pincite, contract: Document, ask: Ask) -> None:
    turn = ask()
    assert turn.citations
    screen = Screen("chat", session=turn.session_id)
    assert "confidence" in screen.words()
    screen.press("service-contract · p")
    assert f"Page {turn.citations[0].page_index + 1} of {contract.page_count}" in screen.words()
    assert len(screen.test.image) == 1
    screen.assert_sound()


def test_a_doubtful_answer_carries_its_reasons(app: Pincite, contract: Document, ask: Ask, speak: Speak) -> None:
    speak(WRONG, WRONG, WRONG)
    turn = ask()
    assert turn.status is TurnStatus.FLAGGED
    screen = Screen("chat", session=turn.session_id)
    (warning,) = screen.test.warning
    assert "Do not rely on this answer yet" in warning.value
    screen.assert_sound()


def test_a_reviewed_answer_shows_the_final_text_and_who_decided(app: Pincite, contract: Document, ask: Ask) -> None:
    turn = ask()
    app.reviews.decide(
        turn.id, ReviewDecision.EDITED, final_answer="It is 1.5 % a month.", note="Short", reviewer="Maria"
    )
    screen = Screen("chat", session=turn.session_id)
    assert "It is 1.5 % a month." in screen.words()
    assert "edited by Maria" in screen.words()
    screen.assert_sound()


def test_an_edited_answer_carries_its_marks_and_a_rejection_none(app: Pincite, contract: Document, ask: Ask) -> None:
    turn = ask()
    app.reviews.decide(turn.id, ReviewDecision.EDITED, final_answer="The penalty is 9 % of the overdue amount. [1]")
    assert "badge[✗ 1]" in Screen("chat", session=turn.session_id).words()
    app.reviews.undo(turn.id)
    app.reviews.discard_draft(turn.id)
    app.reviews.decide(turn.id, ReviewDecision.REJECTED)
    rejected = Screen("chat", session=turn.session_id)
    (told,) = [text.value for text in rejected.test.markdown if "A reviewer rejected this answer." in text.value]
    assert "badge" not in told and "?" not in told


def test_a_removed_source_is_named_as_removed(app: Pincite, contract: Document, ask: Ask) -> None:
    turn = ask()
    app.ingest.remove(contract.id)
    screen = Screen("chat", session=turn.session_id)
    assert "source removed" in screen.words()
    screen.assert_sound()


def test_files_dropped_into_the_question_are_read_and_a_bad_one_stops_no_other(app: Pincite, samples: Path) -> None:
    screen = Screen("chat")
    content = (samples / "service-contract.pdf").read_bytes()
    box = screen.test.chat_input[0]
    box.upload("notes.pdf", b"no pdf at all", "application/pdf")
    box.upload("contract.pdf", content, "application/pdf")
    box.set_value(PENALTIES).run()
    assert "notes.pdf" in screen.words() and "was not added" in screen.words()
    assert [document.name for document in app.library.list()] == ["contract.pdf"]
    screen.assert_sound()


def test_sessions_are_found_renamed_and_deleted(app: Pincite, contract: Document, ask: Ask) -> None:
    turn = ask()
    screen = Screen("chat", session=turn.session_id)
    next(box for box in screen.test.text_input if box.label == "Title").set_value("Interest on invoices").run()
    assert app.sessions.get(turn.session_id).title == "Interest on invoices"
    search = next(box for box in screen.test.sidebar.text_input if box.label == "Search sessions")
    search.set_value("no such words").run()
    assert "No session has these words." in screen.words()
    screen.press("Delete…")
    assert app.sessions.list(), "a deletion asks first"
    screen.test.button(key="confirm_delete").click().run()
    assert app.sessions.list() == []
    screen.assert_sound()


def test_thumbs_are_kept(app: Pincite, contract: Document, ask: Ask) -> None:
    turn = ask()
    screen = Screen("chat", session=turn.session_id)
    screen.test.feedback[0].set_value(1).run()
    assert app.turns.get(turn.id).feedback == "good"
    screen.assert_sound()
