"""The review queue in four states, and the three decisions."""

import threading
from collections.abc import Callable

import pytest

from pincite.core.runtime import Pincite
from pincite.core.types import Document, ReviewDecision, Turn, TurnStatus
from pincite.tests.graph.world import ScriptedModel
from pincite.tests.pages.conftest import SECONDS, WRONG, Ask, Screen

Speak = Callable[..., ScriptedModel]


@pytest.fixture
def flagged(app: Pincite, contract: Document, ask: Ask, speak: Speak) -> Turn:
    speak(*[WRONG] * 3)
    turn = ask()
    assert turn.status is TurnStatus.FLAGGED
    return turn


def test_empty_says_that_nothing_waits(app: Pincite) -> None:
    screen = Screen("review")
    assert "Nothing waits for review." in screen.words() and "No decision yet." in screen.words()
    screen.assert_sound()


def test_working_shows_question_draft_reasons_and_page(app: Pincite, flagged: Turn) -> None:
    screen = Screen("review")
    assert flagged.question in screen.words() and "9 %" in screen.words()
    assert all(reason in screen.words() for reason in flagged.reasons)
    assert len(screen.test.image) == 1
    screen.assert_sound()


def test_failed_decision_says_what_is_missing(app: Pincite, flagged: Turn) -> None:
    screen = Screen("review")
    screen.press("Edit")
    screen.test.text_area[0].set_value(" ").run()
    screen.press("Save the edited answer")
    assert "An edited answer needs a text." in screen.words()
    assert app.turns.get(flagged.id).status is TurnStatus.FLAGGED
    screen.assert_sound()


def test_done_keeps_an_edit_with_its_reviewer_and_note(app: Pincite, flagged: Turn) -> None:
    screen = Screen("review")
    screen.press("Edit")
    screen.test.text_area[0].set_value("The penalty is 1.5 % of the overdue amount per month [1].").run()
    assert "Checked again as you type" in screen.words()
    next(box for box in screen.test.text_input if box.label == "Note").set_value("Read clause 6.1")
    next(box for box in screen.test.text_input if box.label == "Reviewer").set_value("Maria")
    screen.press("Save the edited answer")
    review = app.turns.get(flagged.id).review
    assert review is not None and review.decision is ReviewDecision.EDITED
    assert (review.reviewer, review.note) == ("Maria", "Read clause 6.1")
    assert "Nothing waits for review." in screen.words() and "1.5 % of the overdue amount" in screen.words()
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


@pytest.mark.parametrize(
    ("button", "decision"), [("Approve", ReviewDecision.APPROVED), ("Reject", ReviewDecision.REJECTED)]
)
def test_one_press_decides(app: Pincite, flagged: Turn, button: str, decision: ReviewDecision) -> None:
    screen = Screen("review")
    screen.press(button)
    review = app.turns.get(flagged.id).review
    assert review is not None and review.decision is decision
    screen.assert_sound()


def test_filters_narrow_the_queue(app: Pincite, flagged: Turn) -> None:
    screen = Screen("review")
    next(box for box in screen.test.text_input if box.label == "Question or reason").set_value("no such words").run()
    assert "No waiting answer fits these filters." in screen.words()
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
    assert any("clause 6.1" in note for note in model.requests[0].notes)
    screen.assert_sound()
