"""The conversation in four states, and what it promises about foreign text, sources and running turns."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pincite.core.domain.answers import AnswerPart
from pincite.core.domain.codec import readable
from pincite.core.domain.documents import Document, MetadataField, MetadataSource
from pincite.core.domain.errors import ModelInterruptedError
from pincite.core.domain.search import Mode
from pincite.core.domain.turns import ReviewDecision, Turn, TurnStatus
from pincite.core.services.bootstrap import Pincite
from pincite.core.services.exports import ExportForm
from pincite.core.services.live import LiveTurn
from pincite.core.services.registry import EngineState
from pincite.core.services.turns import Waiting
from tests.graph.world import ScriptedModel
from tests.pages.conftest import PENALTIES, SECONDS, WRONG, Ask, Screen
from tests.support import pdfs

Speak = Callable[..., ScriptedModel]
SCOPE_ICONS = ("folder_open:", "warning:")


@pytest.fixture
def waiting_model(contract: Document, speak: Speak) -> Iterator[ScriptedModel]:
    model = speak(*["Overdue amounts bear a penalty of 1.5 % per month [1]."] * 3)
    model.gate = threading.Event()
    yield model
    model.gate.set()


def test_empty_offers_the_sample_contract(app: Pincite) -> None:
    screen = Screen("chat")
    assert "Try it with the sample contract" in screen.words()
    assert "No sessions yet." in screen.words()
    screen.assert_sound()


def test_an_empty_library_offers_the_better_reranker_once(app: Pincite) -> None:
    screen = Screen("chat")
    assert "Download FlashRank" in screen.words() and "22 MB" in screen.words()
    screen.press("Not now")
    assert not app.settings.current.offer_reranker and "Download FlashRank" not in Screen("chat").words()
    assert not app.search.reranker_state().installed
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


def test_working_shows_steps_draft_and_a_way_to_stop(app: Pincite, waiting_model: ScriptedModel) -> None:
    session = app.sessions.create()
    turn_id = app.runner.ask(session.id, PENALTIES)
    assert waiting_model.begun.wait(SECONDS)
    screen = Screen("chat", session=session.id)
    assert "Draft, not checked yet" in screen.words()
    assert "Overdue" in screen.words()
    assert not screen.test.chat_input[0].disabled
    screen.press("Stop")
    assert waiting_model.gate is not None
    waiting_model.gate.set()
    assert app.runner.wait(turn_id, SECONDS).turn.status is TurnStatus.STOPPED
    screen.test.run()
    assert "Stopped" in screen.words() and "Run again" in screen.words()
    assert not any("Why this answer?" in one.label for one in screen.test.button), "there is none"
    screen.assert_sound()


def test_an_answer_of_another_process_is_followed_and_cannot_be_stopped_here(
    app: Pincite, waiting_model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = app.sessions.create()
    turn_id = app.runner.ask(session.id, PENALTIES)
    assert waiting_model.begun.wait(SECONDS)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(app.runner, "_live", {})
        screen = Screen("chat", session=session.id)
        assert "Another Pincite process is answering…" in screen.words()
        assert "Turns the question into one that stands alone" in screen.words()
        assert not any("Stop" in one.label for one in screen.test.button)
        screen.assert_sound()
    assert waiting_model.gate is not None
    waiting_model.gate.set()
    app.runner.wait(turn_id, SECONDS)
    screen.test.run()
    assert "1.5 % per month" in screen.words() and "Another Pincite process" not in screen.words()
    screen.assert_sound()


def test_a_page_switch_in_mid_answer_loses_nothing(app: Pincite, waiting_model: ScriptedModel) -> None:
    session = app.sessions.create()
    turn_id = app.runner.ask(session.id, PENALTIES)
    assert waiting_model.begun.wait(SECONDS)
    screen = Screen("chat", session=session.id)
    screen.test.switch_page("pages/documents.py").run()
    screen.assert_sound()
    assert waiting_model.gate is not None
    waiting_model.gate.set()
    app.runner.wait(turn_id, SECONDS)
    screen.test.switch_page("pages/chat.py").run()
    assert "1.5 % per month" in screen.words()
    screen.assert_sound()


def test_a_turn_that_ends_while_the_page_is_drawn_shows_its_answer(
    app: Pincite, waiting_model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = app.sessions.create()
    turn_id = app.runner.ask(session.id, PENALTIES)
    assert waiting_model.begun.wait(SECONDS)
    screen = Screen("chat", session=session.id)
    read = app.turns.newest

    def read_then_end(session_id: str, most: int) -> list[Turn]:
        turns = read(session_id, most)
        assert waiting_model.gate is not None
        waiting_model.gate.set()
        app.runner.wait(turn_id, SECONDS)
        return turns

    monkeypatch.setattr(app.turns, "newest", read_then_end)
    screen.test.run()
    assert "1.5 % per month" in screen.words()
    screen.assert_sound()


def test_a_draft_that_is_tried_again_stays_until_the_next_has_words(
    app: Pincite, waiting_model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = app.sessions.create()
    turn_id = app.runner.ask(session.id, PENALTIES)
    assert waiting_model.begun.wait(SECONDS)
    live = LiveTurn(replace(app.runner.snapshot(turn_id).turn, path=("retriever", "generator", "judge")), app.turns)
    live.draft([AnswerPart("The first attempt.")])
    live.draft([])
    monkeypatch.setattr(app.runner, "snapshot", lambda id_: live.snapshot)
    screen = Screen("chat", session=session.id)
    attempts = app.settings.current.max_retries + 1
    assert "The first attempt." in screen.words() and f"Checking again (2 of {attempts})" in screen.words()
    live.draft([AnswerPart("The second attempt.")])
    screen.test.run()
    assert "The first attempt." not in screen.words() and "Draft, not checked yet" in screen.words()
    screen.assert_sound()


def test_a_question_asked_in_mid_answer_waits_and_is_then_answered(app: Pincite, waiting_model: ScriptedModel) -> None:
    session = app.sessions.create()
    first = app.runner.ask(session.id, PENALTIES)
    assert waiting_model.begun.wait(SECONDS)
    screen = Screen("chat", session=session.id)
    screen.test.chat_input[0].set_value("Which law governs it?").run()
    assert [one.question for one in app.runner.waiting(session.id)] == ["Which law governs it?"]
    assert "Waiting for the previous answer" in Screen("chat", session=session.id).words(), "a second tab shows it too"
    assert waiting_model.gate is not None
    waiting_model.gate.set()
    app.runner.wait(first, SECONDS)
    deadline = time.monotonic() + SECONDS
    while app.runner.waiting(session.id) and time.monotonic() < deadline:
        threading.Event().wait(0.05)
    [_, second] = app.turns.of_session(session.id)
    assert second.question == "Which law governs it?"
    assert app.runner.wait(second.id, SECONDS).turn.finished_at
    screen.test.run()
    assert "Waiting for the previous answer" not in screen.words()
    screen.assert_sound()


def test_waiting_question_that_failed_shows_the_reason_and_can_be_asked_again(app: Pincite) -> None:
    session = app.sessions.create()
    app.runner._waiting[session.id] = [Waiting("Which law governs it?", Mode.AUTO, "The disk is full.")]
    screen = Screen("chat", session=session.id)
    assert "This question could not be asked. The disk is full." in screen.words()
    screen.press("Ask again")
    [turn] = app.turns.of_session(session.id)
    assert turn.question == "Which law governs it?" and not app.runner.waiting(session.id)
    app.runner.wait(turn.id, SECONDS)
    screen.assert_sound()


def test_a_waiting_question_can_be_taken_back(app: Pincite, waiting_model: ScriptedModel) -> None:
    session = app.sessions.create()
    first = app.runner.ask(session.id, PENALTIES)
    assert waiting_model.begun.wait(SECONDS)
    screen = Screen("chat", session=session.id)
    screen.test.chat_input[0].set_value("Which law governs it?").run()
    screen.press("Cancel")
    assert waiting_model.gate is not None
    waiting_model.gate.set()
    app.runner.wait(first, SECONDS)
    assert len(app.turns.of_session(session.id)) == 1 and not app.runner.waiting(session.id)
    screen.assert_sound()


def test_turning_the_pages_loses_no_mark_and_the_address_opens_the_same_page(
    app: Pincite, contract: Document, ask: Ask
) -> None:
    turn = ask()
    cited = turn.citations[0]
    screen = Screen("chat", session=turn.session_id)
    screen.press("service-contract · p")
    shown = screen.test.session_state["chat_page"]
    assert shown.marks
    screen.test.button(key="icon_chat_page_next").click().run()
    assert not screen.test.session_state["chat_page"].marks, "nothing is cited there"
    screen.test.button(key="icon_chat_page_previous").click().run()
    assert screen.test.session_state["chat_page"].marks == shown.marks
    address = {name: screen.test.query_params[name] for name in ("session", "document", "page", "citation")}
    assert address["page"] == str(cited.page_index + 1) and address["document"] == contract.id
    again = Screen("chat", **address)
    assert again.test.session_state["chat_page"] == shown
    again.assert_sound()


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ({"session": "none"}, "The session in this link was not found."),
        ({"document": "none", "page": "1"}, "The page in this link was not found"),
        ({"page": "99"}, "The page in this link was not found"),
        ({"citation": "none.1"}, "The citation in this link was not found"),
    ],
)
def test_address_for_missing_content_shows_a_message(
    app: Pincite, contract: Document, address: dict[str, str], message: str
) -> None:
    here = {"document": contract.id} if "session" not in address else {}
    screen = Screen("chat", **(here | address))
    assert message in screen.words()
    screen.assert_sound()


def test_each_dropped_file_is_reported_in_its_own_row_next_to_the_box(app: Pincite, samples: Path) -> None:
    screen = Screen("chat")
    box = screen.test.chat_input[0]
    box.upload("notes.pdf", b"no pdf at all", "application/pdf")
    box.upload("secret.pdf", pdfs.locked(pdfs.prose(["The late fee is 7 dollars."]), "sesame"), "application/pdf")
    box.run()
    assert "notes.pdf" in screen.words() and "secret.pdf" in screen.words() and not screen.test.main.error
    (told,) = screen.test.error
    assert "Not added." in told.value
    screen.assert_sound()


def _scope(screen: Screen) -> str:
    """Return the control's text about what the next question searches."""
    (popover,) = [block for block in screen.test.get("popover") if block.proto.popover.icon.endswith(SCOPE_ICONS)]
    return str(popover.proto.popover.label).replace("\\", "")


def test_chatting_is_offered_where_a_model_can(
    app: Pincite, contract: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Screen("chat")
    assert "Never" not in screen.test.radio[0].options
    _connect(app, monkeypatch)
    screen.test.run()
    assert "Never" in screen.test.radio[0].set_value(Mode.CHAT).run().radio[0].options
    monkeypatch.undo()
    screen.test.run()
    assert screen.test.radio[0].value is Mode.AUTO
    screen.assert_sound()


def _connect(app: Pincite, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a server with a model answered."""
    state = EngineState("ollama", "qwen3:4b", ("qwen3:4b",), True, "", provider="ollama")
    monkeypatch.setattr(type(app.engines), "state", lambda self: state)


def test_scope_shows_what_is_searched_and_adding_extends_it(
    app: Pincite, contract: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    _connect(app, monkeypatch)
    second, third = (_add(app, number) for number in (2, 3))
    session = app.sessions.create()
    screen = Screen("chat", session=session.id)
    assert _scope(screen) == "All 3 documents"
    screen.test.multiselect[0].set_value([contract.id]).run()
    assert app.sessions.get(session.id).document_ids == (contract.id,) and _scope(screen) == "service-contract.pdf"
    screen.test.multiselect[0].set_value([contract.id, second]).run()
    assert app.sessions.get(session.id).document_ids == (contract.id, second) and _scope(screen) == "2 of 3 documents"
    app.sessions.add_documents(session.id, [third])  # another tab
    screen.test.multiselect[0].set_value([second]).run()
    assert app.sessions.get(session.id).document_ids == (second, third) and _scope(screen) == "2 of 3 documents"
    screen.test.button(key=f"scope_{session.id}_all").click().run()
    assert app.sessions.get(session.id).document_ids == () and _scope(screen) == "All 3 documents"
    screen.test.radio[0].set_value(Mode.CHAT).run()
    assert _scope(screen) == "No documents searched"
    screen.assert_sound()


def test_the_sources_in_the_sidebar_are_what_is_searched(app: Pincite, contract: Document) -> None:
    second, third = (_add(app, number) for number in (2, 3))
    session = app.sessions.create()
    screen = Screen("chat", session=session.id)

    def source(document_id: str) -> Any:
        return screen.test.checkbox(key=f"source_{session.id}_{document_id}")

    assert all(source(id_).value for id_ in (contract.id, second, third))
    source(second).uncheck().run()
    assert set(app.sessions.get(session.id).document_ids) == {contract.id, third}
    assert not source(second).value and _scope(screen) == "2 of 3 documents"
    source(contract.id).uncheck().run()
    assert app.sessions.get(session.id).document_ids == (third,) and not source(third).disabled
    source(second).check().run()
    source(contract.id).check().run()
    assert app.sessions.get(session.id).document_ids == () and _scope(screen) == "All 3 documents"
    for number in (second, contract.id, third):
        source(number).uncheck().run()
    assert app.sessions.get(session.id).document_ids == (), "without the last one all are searched"
    only = f"icon_only_source_{session.id}_{second}"
    screen.test.button(key=only).click().run()
    assert app.sessions.get(session.id).document_ids == (second,) and not source(third).value
    screen.test.button(key=only).click().run()
    assert app.sessions.get(session.id).document_ids == (), "the same button searches all again"
    screen.assert_sound()


def test_notice_about_a_document_is_shown_once_per_conversation(app: Pincite, contract: Document, ask: Ask) -> None:
    turn = ask()
    hole, lost = f"Could not be read, so not searched: 1 of 4 pages of “{contract.name}”.", "m wrote nothing."
    again = app.runner.wait(app.runner.ask(turn.session_id, "Which law governs it?"), SECONDS).turn
    for one in (turn, again):
        app.turns.save(replace(one, notices=(hole, lost)))
    words = Screen("chat", session=turn.session_id).words()
    assert (words.count("Could not be read, so not searched"), words.count(lost)) == (1, 2)


@pytest.mark.behaviour(
    "Filters",
    "In the app the documents to search are chosen by company, year or type, and only values that distinguish "
    "documents are offered.",
)
def test_the_scope_is_chosen_by_what_is_known_of_the_documents(app: Pincite, contract: Document) -> None:
    second = _add(app, 2)
    for document_id, year in ((contract.id, "2023"), (second, "2024")):
        app.ingest.set_metadata(document_id, [MetadataField("year", year, MetadataSource.USER)])
    session = app.sessions.create()
    screen = Screen("chat", session=session.id)
    assert screen.test.multiselect[1].options == ["2023 (year)", "2024 (year)"]
    screen.test.multiselect[1].set_value([("year", "2024")]).run()
    assert app.sessions.get(session.id).document_ids == (second,) and _scope(screen) == "lease 2.pdf"
    screen.test.multiselect[1].set_value([]).run()
    assert app.sessions.get(session.id).document_ids == () and _scope(screen) == "All 2 documents"
    screen.assert_sound()


@pytest.mark.behaviour(
    "Filters",
    "If a question names a document, a chip shows that only this one was searched, and one press searches all.",
)
def test_what_a_question_names_is_a_filter_that_can_be_taken_away(app: Pincite, contract: Document) -> None:
    _add(app, 2)
    session = app.sessions.create()
    question = "What is the penalty for late payment in the service contract?"
    app.runner.wait(app.runner.ask(session.id, question), SECONDS)
    screen = Screen("chat", session=session.id)
    (chip,) = [one for one in screen.test.button if one.label.startswith("Only ")]
    assert chip.label == "Only service-contract.pdf, named in the question"
    chip.click().run()
    _, turn = app.turns.of_session(session.id)
    turn = app.runner.wait(turn.id, SECONDS).turn
    assert turn.plan and turn.plan.document_ids == () and turn.scope == ()
    screen.test.run()
    assert not [one for one in screen.test.button if one.label.startswith("Only ")]
    screen.press("Older version")
    assert len([one for one in screen.test.button if one.label.startswith("Only ")]) == 1, "of the first turn"


def test_a_chosen_document_that_goes_never_turns_the_choice_into_all(app: Pincite, contract: Document) -> None:
    second = _add(app, 2)
    session = app.sessions.create(document_ids=(contract.id, second))
    screen = Screen("chat", session=session.id)
    app.ingest.remove(second)
    screen.test.run()
    assert _scope(screen) == "service-contract.pdf, 1 removed"
    third = _add(app, 3)
    app.ingest.remove(contract.id)
    screen.test.run()
    assert _scope(screen) == "Nothing to search" and screen.test.multiselect[0].value == []
    assert "There is nothing to search." in screen.words()
    screen.test.chat_input[0].set_value("What is the late fee?").run()
    (turn,) = app.turns.of_session(session.id)
    assert app.runner.wait(turn.id, SECONDS).turn.status is TurnStatus.FAILED
    screen.test.run()
    assert "None of the documents chosen for this question is in the library any more" in screen.words()
    screen.test.multiselect[0].set_value([third]).run()
    assert app.sessions.get(session.id).document_ids == (third,) and _scope(screen) == "lease 3.pdf"
    screen.assert_sound()


def test_a_new_session_keeps_its_choice_over_a_page_switch_and_begins_with_it(app: Pincite, contract: Document) -> None:
    second = _add(app, 2)
    screen = Screen("chat")
    screen.test.multiselect[0].set_value([second]).run()
    screen.test.switch_page("pages/documents.py").run()
    screen.test.switch_page("pages/chat.py").run()
    assert _scope(screen) == "lease 2.pdf"
    screen.test.chat_input[0].set_value("What is the late fee?").run()
    (session,) = app.sessions.list()
    assert session.document_ids == (second,) and _scope(screen) == "lease 2.pdf"
    (turn,) = app.turns.of_session(session.id)
    app.runner.wait(turn.id, SECONDS)
    screen.assert_sound()


@pytest.mark.parametrize("begun", [True, False])
def test_an_unlocked_file_joins_the_conversation_it_was_dropped_into(
    app: Pincite, contract: Document, begun: bool
) -> None:
    session = app.sessions.create(document_ids=(contract.id,)) if begun else None
    screen = Screen("chat", **({"session": session.id} if session else {}))
    secret = pdfs.locked(pdfs.prose(["The late fee is 7 dollars."]), "sesame")
    box = screen.test.chat_input[0]
    box.upload("secret.pdf", secret, "application/pdf")
    box.run()
    for password in ("wrong", "sesame"):
        next(field for field in screen.test.text_input if field.label == "Password").set_value(password)
        screen.press("Open")
    (opened,) = [document.id for document in app.library.list() if document.name == "secret.pdf"]
    scopes = [kept.document_ids for kept in app.sessions.list()]
    assert scopes == [(contract.id, opened) if begun else (opened,)]
    assert _scope(screen) == ("All 2 documents" if begun else "secret.pdf")
    screen.assert_sound()


def test_a_long_conversation_opens_with_its_end_and_decodes_no_turn_twice(
    app: Pincite, contract: Document, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = ask()
    for number in range(1, 201):
        copy = replace(turn, id=f"copy{number}", question=f"Question {number}?", place=-1)
        app.turns.save(app.turns.create(copy))
    decoded = list[object]()

    def counted(kind: object, text: str) -> object:
        decoded.append(kind)
        return readable(kind, text)  # type: ignore[arg-type] # a kind as the codec takes it

    monkeypatch.setattr("pincite.core.store.turns.readable", counted)
    screen = Screen("chat", session=turn.session_id)
    assert "Question 200?" in screen.words() and "Question 181?" in screen.words()
    assert "Question 180?" not in screen.words() and "Show 181 earlier questions" in screen.words()
    assert len(decoded) == 20
    screen.test.run()
    assert len(decoded) == 20, "what has not changed is not read again"
    screen.press("Show 181 earlier questions")
    assert "Question 161?" in screen.words() and len(decoded) == 40
    screen.assert_sound()


def test_flagged_answer_shows_no_percentage_with_its_warning(
    app: Pincite, contract: Document, ask: Ask, speak: Speak
) -> None:
    speak(WRONG, WRONG, WRONG)
    turn = ask()
    screen = Screen("chat", session=turn.session_id)
    shown_texts = [*(box.label for box in screen.test.expander), *(box.value for box in screen.test.warning)]
    assert not [words for words in shown_texts if re.search(r"(unsure|right), \d+%", words, re.IGNORECASE)]
    assert "Confidence in this draft" in screen.words(), "it is in the details"
    app.reviews.decide(turn.id, ReviewDecision.REJECTED)
    screen.test.run()
    assert not [box.label for box in screen.test.expander if "%" in box.label]
    assert "%" not in app.sessions.export_markdown(turn.session_id).partition("*Reviewed")[2].partition("\n")[0]
    screen.assert_sound()


def _add(app: Pincite, number: int) -> str:
    content = pdfs.prose([f"The late fee of lease {number} is {number} dollars a day."])
    document = app.ingest.add(content, f"lease {number}.pdf").document
    assert app.ingest.wait([document.id], timeout_seconds=SECONDS)
    return document.id


def test_failed_answer_shows_the_reason_and_offers_to_run_again(
    app: Pincite, contract: Document, ask: Ask, speak: Speak
) -> None:
    speak(ModelInterruptedError("The server was lost in mid-answer.", hint="Start it again."))
    turn = ask()
    screen = Screen("chat", session=turn.session_id)
    assert "This answer failed." in screen.words() and "lost in mid-answer" in screen.words()
    assert "Run again with quoting" in screen.words()
    screen.assert_sound()


def test_an_answer_is_saved_with_its_pages_and_for_word(app: Pincite, contract: Document, ask: Ask) -> None:
    turn = ask()
    screen = Screen("chat", session=turn.session_id)
    offered = [one.proto.label for one in screen.test.get("download_button")]
    assert {"Save evidence (PDF)", "Save as Word"} <= set(offered)
    assert app.exports.of_turn(turn.id, ExportForm.WORD)[:2] == b"PK"


def test_done_shows_sources_and_opens_the_page(app: Pincite, contract: Document, ask: Ask) -> None:
    turn = ask()
    assert turn.citations
    screen = Screen("chat", session=turn.session_id)
    assert "Quoted word for word · " in screen.words() and "right, " in screen.words()
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
    screen = Screen("chat", session=turn.session_id)
    assert "badge[✗ 1]" in screen.words() and "Confidence in this draft: confidence unknown" in screen.words()
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


def test_question_shows_that_its_documents_were_removed(
    app: Pincite, contract: Document, samples: Path, ask: Ask
) -> None:
    report = app.ingest.add(samples / "technical-report.pdf", "technical-report.pdf").document
    assert app.ingest.wait([report.id], timeout_seconds=SECONDS)
    ask()
    app.ingest.remove(report.id)
    assert "Chosen documents: service-contract.pdf; 1 more since removed" in Screen("chat").words()
    app.ingest.remove(contract.id)
    assert "Searched 2 documents, since removed" in Screen("chat").words()


def test_files_dropped_into_the_question_are_read_and_a_bad_one_stops_no_other(app: Pincite, samples: Path) -> None:
    screen = Screen("chat")
    content = (samples / "service-contract.pdf").read_bytes()
    box = screen.test.chat_input[0]
    box.upload("notes.pdf", b"no pdf at all", "application/pdf")
    box.upload("contract.pdf", content, "application/pdf")
    box.set_value(PENALTIES).run()
    assert "notes.pdf" in screen.words() and "Not added." in screen.words()
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
    search = next(box for box in screen.test.sidebar.text_input if box.label == "Search sessions")
    search.set_value("what late payers are charged").run()
    assert "Nearest in meaning" in screen.words()
    assert any("Interest on invoices" in one.label for one in screen.test.sidebar.button)
    screen.press("Delete…")
    assert app.sessions.list(), "a deletion asks first"
    screen.test.button(key="confirm_delete").click().run()
    assert app.sessions.list() == []
    screen.assert_sound()


def test_a_conversation_that_begins_with_a_greeting_is_named_by_its_first_question(app: Pincite, ask: Ask) -> None:
    turn = ask("Hello!")
    screen = Screen("chat", session=turn.session_id)
    app.runner.wait(app.runner.ask(turn.session_id, "Who pays the penalty?"), SECONDS)
    screen.test.run()
    screen.test.run()
    assert app.sessions.get(turn.session_id).title == "Who pays the penalty?"


def test_an_answer_is_deleted_from_its_menu(app: Pincite, contract: Document, ask: Ask) -> None:
    turn = ask()
    screen = Screen("chat", session=turn.session_id)
    screen.press("Delete answer…")
    assert app.turns.get(turn.id), "a deletion asks first"
    screen.test.button(key="confirm_delete").click().run()
    assert app.sessions.list() == [], "the session had no other turn"
    assert "was not found" not in screen.words()
    screen.assert_sound()


def test_thumbs_are_kept(app: Pincite, contract: Document, ask: Ask) -> None:
    turn = ask()
    screen = Screen("chat", session=turn.session_id)
    screen.test.feedback[0].set_value(1).run()
    assert app.turns.get(turn.id).feedback == "good" and "Report" not in [one.label for one in screen.test.button]
    screen.test.feedback[0].set_value(0).run()
    [said] = [box for box in screen.test.text_input if box.label.startswith("What is wrong")]
    said.set_value("It is the wrong year.")
    screen.press("Report")
    flagged = app.turns.get(turn.id)
    assert flagged.feedback == "bad" and flagged.status is TurnStatus.FLAGGED
    assert flagged.reasons[0] == "Reported as wrong: It is the wrong year."
    assert "It is the wrong year." in screen.words() and "What is wrong" not in screen.words()
    screen.assert_sound()


def test_what_a_model_thought_is_folded_beneath_its_answer(
    app: Pincite, contract: Document, ask: Ask, speak: Callable[..., ScriptedModel]
) -> None:
    speak(*["<think>Seven **percent**?</think>Overdue amounts bear a penalty of 1.5 % per month [1]."] * 3)
    turn = ask()
    screen = Screen("chat", session=turn.session_id)
    folded = next(box for box in screen.test.expander if box.label == "The model's reasoning")
    assert not folded.proto.expanded and "Seven **percent**?" in screen.words()
    screen.assert_sound()


@pytest.mark.behaviour(
    "Suggestions and document cards",
    "An empty conversation shows a card of each of the first three documents: its type, its length and how many pages "
    "have no text.",
)
def test_the_empty_conversation_shows_the_documents_and_asks_what_is_suggested(
    app: Pincite, contract: Document, suggestions: None
) -> None:
    app.suggestions.of([contract])
    waited = threading.Event()
    for _ in range(600):
        if app.suggestions.known([contract]) or waited.wait(0.1):
            break
    screen = Screen("chat")
    assert "**service-contract.pdf**" in screen.words() and "Contract (a guess) · 4 pages" in screen.words()
    [first, *_] = app.suggestions.of([contract])
    screen.press(first.question)
    [session] = app.sessions.list()
    assert app.turns.newest(session.id, 1)[0].question == first.question
    screen.assert_sound()


def test_a_question_is_edited_in_its_place_and_its_versions_are_turned(
    app: Pincite, contract: Document, ask: Ask
) -> None:
    turn = ask()
    screen = Screen("chat", session=turn.session_id)
    assert "1 of 2" not in screen.words()
    screen.press("Edit the question")
    screen.test.text_area[0].set_value("Which law governs it?")
    screen.press("Ask again")
    [edited] = app.turns.newest(turn.session_id, 9)
    assert app.runner.wait(edited.id, SECONDS).turn.question == "Which law governs it?" and edited.place == turn.place
    screen.test.run()
    assert "2 of 2" in screen.words() and "Which law governs it?" in screen.words()
    screen.press("Older version")
    assert "1 of 2" in screen.words() and turn.question in screen.words()
    assert "Which law governs it?" not in screen.words()
    screen.press("Newer")
    assert "Which law governs it?" in screen.words()
    screen.assert_sound()


def test_an_edited_question_may_be_answered_by_another_model(
    app: Pincite, contract: Document, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = ask()
    _connect(app, monkeypatch)
    asked: list[str | None] = []
    monkeypatch.setattr(type(app.runner), "run_again", lambda self, id_, **how: asked.append(how["engine"]))
    screen = Screen("chat", session=turn.session_id)
    screen.press("Edit the question")
    (by,) = (one for one in screen.test.selectbox if one.label == "Answer written by")
    assert by.value == "ollama:qwen3:4b" and by.options == ["qwen3:4b (Ollama)", "No model: quotations only"]
    by.set_value("quoting")
    screen.press("Ask again")
    assert asked == ["quoting"]
