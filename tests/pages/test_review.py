"""The review queue in four states, and the three decisions."""

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from pincite.core.domain.codec import readable
from pincite.core.domain.documents import Document
from pincite.core.domain.grids import ColumnKind
from pincite.core.domain.turns import ReviewDecision, Turn, TurnStatus
from pincite.core.services.bootstrap import Pincite
from pincite.core.services.grids import new_column
from pincite.pages import PAGES
from tests.graph.world import ScriptedModel
from tests.pages.conftest import SECONDS, WRONG, Ask, Screen

Speak = Callable[..., ScriptedModel]


@pytest.fixture
def flagged(app: Pincite, contract: Document, ask: Ask, speak: Speak) -> Turn:
    speak(*[WRONG] * 3)
    turn = ask()
    assert turn.status is TurnStatus.FLAGGED
    return turn


def test_empty_page_shows_that_nothing_is_waiting(app: Pincite) -> None:
    screen = Screen("review")
    assert "Nothing is waiting for review." in screen.words() and "No decisions yet." in screen.words()
    screen.assert_sound()


@pytest.mark.behaviour("Review", "A doubtful answer waits in a queue with its draft, the reasons and the cited page.")
def test_working_shows_question_draft_reasons_and_page(app: Pincite, flagged: Turn) -> None:
    screen = Screen("review")
    assert flagged.question in screen.words() and "9 %" in screen.words()
    assert all(reason in screen.words() for reason in flagged.reasons)
    assert len(screen.test.image) == 1
    screen.assert_sound()


def test_a_long_question_is_shown_whole_below_the_buttons(
    app: Pincite, contract: Document, ask: Ask, speak: Speak
) -> None:
    speak(*[WRONG] * 9)
    turn = ask(question=f"What is the penalty for late payment, {'and so on, ' * 40}in the end?")
    assert turn.status is TurnStatus.FLAGGED and len(turn.question) > 300
    screen = Screen("review")
    assert turn.question in screen.words()
    screen.assert_sound()


def test_failed_decision_shows_what_is_missing(app: Pincite, flagged: Turn) -> None:
    screen = Screen("review")
    screen.press("Edit")
    screen.test.text_area[0].set_value(" ").run()
    screen.press("Save and approve")
    assert "An edited answer cannot be empty." in screen.words()
    assert app.turns.get(flagged.id).status is TurnStatus.FLAGGED
    screen.assert_sound()


def test_done_keeps_an_edit_with_its_reviewer_and_note(app: Pincite, flagged: Turn) -> None:
    screen = Screen("review")
    screen.press("Edit")
    screen.test.text_area[0].set_value("The penalty is 1.5 % of the overdue amount per month [1].").run()
    assert "Checked again as you type" in screen.words()
    next(box for box in screen.test.text_input if box.label == "Note").set_value("Read clause 6.1")
    next(box for box in screen.test.text_input if box.label == "Reviewer").set_value("Maria")
    screen.press("Save and approve")
    review = app.turns.get(flagged.id).review
    assert review is not None and review.decision is ReviewDecision.EDITED
    assert (review.reviewer, review.note) == ("Maria", "Read clause 6.1")
    assert "Nothing is waiting for review." in screen.words() and "1.5 % of the overdue amount" in screen.words()
    screen.assert_sound()


@pytest.mark.parametrize("reason", [ImportError, KeyError, OSError])
def test_a_user_without_a_name_can_decide(
    app: Pincite, flagged: Turn, monkeypatch: pytest.MonkeyPatch, reason: type[Exception]
) -> None:
    def nameless() -> str:
        raise reason

    monkeypatch.setattr("getpass.getuser", nameless)
    screen = Screen("review")
    screen.press("Approve")
    review = app.turns.get(flagged.id).review
    assert review is not None and review.reviewer == "local"
    screen.assert_sound()


@pytest.mark.behaviour(
    "Review", "A person approves, edits or rejects it with one press, and can take every decision back."
)
@pytest.mark.parametrize(
    ("button", "decision"), [("Approve", ReviewDecision.APPROVED), ("Reject", ReviewDecision.REJECTED)]
)
def test_one_press_decides(app: Pincite, flagged: Turn, button: str, decision: ReviewDecision) -> None:
    screen = Screen("review")
    screen.press(button)
    review = app.turns.get(flagged.id).review
    assert review is not None and review.decision is decision
    screen.assert_sound()


RIGHT = "The penalty is 1.5 % of the overdue amount per month [1]."


def _buttons(screen: Screen) -> set[str]:
    return {button.label for button in screen.test.button}


def _edit(screen: Screen, text: str = RIGHT) -> None:
    screen.press("Edit")
    screen.test.text_area[0].set_value(text).run()


def test_while_editing_the_bar_can_only_save_or_discard(app: Pincite, flagged: Turn) -> None:
    screen = Screen("review")
    screen.press("Edit")
    assert {"Save and approve", "Discard"} <= _buttons(screen) and not {"Approve", "Reject", "Edit"} & _buttons(screen)
    assert not [button for button in screen.test.button if button.proto.shortcut in ("a", "x", "A", "X")]
    screen.test.text_area[0].set_value(RIGHT).run()
    screen.press("Discard")
    assert {"Approve", "Reject", "Edit"} <= _buttons(screen) and app.reviews.draft(flagged.id) is None
    screen.press("Edit")
    assert screen.test.text_area[0].value == flagged.answer
    screen.assert_sound()


def test_a_draft_survives_pages_reloads_and_restarts_and_is_shown_as_not_saved(app: Pincite, flagged: Turn) -> None:
    screen = Screen("review")
    _edit(screen)
    screen.test.switch_page("pages/chat.py").run()
    screen.test.switch_page("pages/review.py").run()
    for seen in (screen, Screen("review")):
        assert seen.test.text_area[0].value == RIGHT
        assert "Edited, not saved" in seen.words() and "Approve" not in _buttons(seen)
        (queue,) = [table.value for table in seen.test.dataframe if "Why" in table.value.columns]
        assert queue["Why"][0].startswith("Edited but not saved.")
        seen.assert_sound()
    screen.press("Save and approve")
    assert app.turns.get(flagged.id).review is not None and app.reviews.drafted() == set()


def test_a_draft_survives_another_case(app: Pincite, flagged: Turn, ask: Ask, speak: Speak) -> None:
    speak(*[WRONG] * 3)
    second = ask()
    screen = Screen("review")
    _edit(screen)
    screen.test.button(key="icon_next").click().run()
    assert not screen.test.text_area and app.turns.get(second.id).status is TurnStatus.FLAGGED
    screen.test.button(key="icon_previous").click().run()
    assert screen.test.text_area[0].value == RIGHT
    screen.assert_sound()


def test_an_edit_that_changed_nothing_is_an_approval(app: Pincite, flagged: Turn) -> None:
    screen = Screen("review")
    _edit(screen, f" {flagged.answer} ")
    screen.press("Save and approve")
    review = app.turns.get(flagged.id).review
    assert review is not None and review.decision is ReviewDecision.APPROVED
    screen.assert_sound()


@pytest.mark.parametrize("button", ["Approve", "Reject", "Save and approve"])
def test_every_decision_can_be_taken_back_with_its_draft(app: Pincite, flagged: Turn, button: str) -> None:
    screen = Screen("review")
    if button.startswith("Save"):
        _edit(screen)
    screen.press(button)
    screen.press("Undo")
    assert app.turns.get(flagged.id).status is TurnStatus.FLAGGED
    assert [area.value for area in screen.test.text_area] == ([RIGHT] if button.startswith("Save") else [])
    screen.assert_sound()


def test_a_decision_of_another_day_is_taken_back_from_the_list(app: Pincite, flagged: Turn) -> None:
    app.reviews.decide(flagged.id, ReviewDecision.REJECTED)
    screen = Screen("review")
    screen.press("Undo decision")
    assert app.turns.get(flagged.id).status is TurnStatus.FLAGGED and "Approve" in _buttons(screen)
    screen.assert_sound()


@pytest.mark.parametrize("button", ["Approve", "Reject"])
def test_second_tab_sees_the_earlier_decision_and_decides_no_other_case(
    app: Pincite, flagged: Turn, ask: Ask, speak: Speak, button: str
) -> None:
    speak(*[WRONG] * 3)
    other = ask()
    first, second = Screen("review"), Screen("review")
    first.press("Approve")
    second.press(button)
    assert "already approved this answer" in second.words()
    assert len(app.reviews.history(flagged.id)) == 1
    assert app.turns.get(other.id).status is TurnStatus.FLAGGED, "the press was meant for the first case"
    second.assert_sound()


def test_second_tab_keeps_its_edit_for_a_case_already_decided(app: Pincite, flagged: Turn) -> None:
    first, second = Screen("review"), Screen("review")
    _edit(second)
    app.reviews.discard_draft(flagged.id)
    first.press("Reject")
    second.press("Save and approve")
    assert "already rejected this answer" in second.words()
    (review,) = app.reviews.history(flagged.id)
    assert review.decision is ReviewDecision.REJECTED
    second.assert_sound()


def test_a_long_queue_is_shown_in_pages_and_decodes_one_case(
    app: Pincite, flagged: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(120):
        app.turns.save(
            replace(app.turns.create(replace(flagged, id=f"copy{number}", place=-1)), status=TurnStatus.FLAGGED)
        )
    for number in range(40):
        app.reviews.decide(f"copy{number}", ReviewDecision.REJECTED)
    decoded = list[object]()

    def counted(kind: type[Turn], text: str) -> object:
        decoded.extend([kind] if kind is Turn else [])
        return readable(kind, text)

    monkeypatch.setattr("pincite.core.store.turns.readable", counted)
    screen = Screen("review")
    (queue,) = [table.value for table in screen.test.dataframe if "Why" in table.value.columns]
    assert len(queue) == 50 and "Show more (31 waiting)" in screen.words()
    assert "Show earlier (20 more)" in screen.words()
    assert len(decoded) <= 20 + 1, "what the chat shows, which opens first, and the case"
    screen.assert_sound()


def test_filters_narrow_the_queue(app: Pincite, flagged: Turn) -> None:
    screen = Screen("review")
    next(box for box in screen.test.text_input if box.label == "Search").set_value("no such words").run()
    assert "No waiting answers match these filters." in screen.words()
    screen.assert_sound()


def test_a_hint_asks_the_question_again(app: Pincite, flagged: Turn, speak: Speak) -> None:
    model = speak(*["The penalty is 1.5 % of the overdue amount per month [1]."] * 3)
    model.gate = threading.Event()
    model.gate.set()
    screen = Screen("review")
    next(box for box in screen.test.text_input if box.label == "Hint").set_value("Look at clause 6.1")
    screen.press("Ask again")
    new = app.turns.of_session(flagged.session_id)[-1]
    assert new.id != flagged.id
    app.runner.wait(new.id, SECONDS)
    assert "clause 6.1" in model.requests[0].hint
    screen.assert_sound()


def test_a_value_of_a_grid_that_needs_review_waits_beside_the_answers(app: Pincite, contract: Document) -> None:
    column = new_column("Begins", "When does the Agreement begin?", ColumnKind.DATE)
    grid = app.grids.create("Contracts", [column], [contract.id])
    app.grids.wait(grid.id, SECONDS)
    app.grids.send_to_review(grid.id, (contract.id, column.id), "Which of the two dates?")
    screen = Screen("review")
    assert "Contracts · Begins · service-contract.pdf" in screen.words() and "Which of the two dates?" in screen.words()
    assert PAGES[5].waiting(app) == 1
    screen.assert_sound()
    app.grids.approve(grid.id, app.grids.filled(grid.id).cell(contract.id, column.id))
    assert "Which of the two dates?" not in Screen("review").words() and app.grids.to_review() == []
