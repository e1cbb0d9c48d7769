"""The trace of a turn in four states, and the search without an answer."""

import re
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from pincite.core.domain.codec import readable
from pincite.core.domain.documents import Document
from pincite.core.domain.errors import ModelInterruptedError
from pincite.core.domain.turns import Turn
from pincite.core.services.bootstrap import Pincite
from tests.graph.world import ScriptedModel
from tests.pages.conftest import PENALTIES, SECONDS, WRONG, Ask, Screen

Speak = Callable[..., ScriptedModel]


def _drawn_graph(screen: Screen) -> str:
    (chart,) = screen.test.get("graphviz_chart")
    return str(chart.proto.spec)


def test_empty_page_shows_that_answers_leave_traces(app: Pincite) -> None:
    screen = Screen("traces")
    assert "Each answer leaves a trace here" in screen.words()
    screen.assert_sound()


def test_working_shows_the_steps_so_far(app: Pincite, contract: Document, speak: Speak) -> None:
    model = speak("Overdue amounts bear 1.5 % per month [1].")
    model.gate = threading.Event()
    turn_id = app.runner.ask(app.sessions.create().id, PENALTIES)
    assert model.begun.wait(SECONDS)
    screen = Screen("traces", turn=turn_id)
    assert "Answering" in screen.words()
    assert "retriever" in screen.words() and "**5 judge**" not in screen.words()
    model.gate.set()
    screen.assert_sound()


def test_failed_marks_the_step_that_failed(app: Pincite, contract: Document, ask: Ask, speak: Speak) -> None:
    speak(ModelInterruptedError("The server was lost in mid-answer."))
    turn = ask()
    screen = Screen("traces", turn=turn.id)
    assert "lost in mid-answer" in screen.words()
    assert '"generator" [label="generator" fillcolor="#c4484a"' in _drawn_graph(screen)
    screen.assert_sound()


def test_done_shows_path_plan_passages_and_claims(app: Pincite, contract: Document, ask: Ask) -> None:
    turn = ask()
    screen = Screen("traces", turn=turn.id)
    assert '"router" -> "rewriter" [color="#2b8a89"' in _drawn_graph(screen)
    assert re.search(r'"router" -> "generator" \[color="#\w+" style=dashed', _drawn_graph(screen))
    assert "**Searched as**" in screen.words()
    (evidence,) = [table.value for table in screen.test.dataframe if "Why included" in table.value.columns]
    assert set(evidence["Document"]) == {"service-contract.pdf"}
    assert "supported" in screen.words()
    screen.assert_sound()


@pytest.mark.behaviour(
    "Evaluator", "The confidence of each attempt is shown side by side, with what was wrong with it."
)
def test_retries_are_shown_side_by_side(app: Pincite, contract: Document, ask: Ask, speak: Speak) -> None:
    speak(WRONG, WRONG, WRONG)
    turn = ask()
    assert len(turn.attempts) > 1
    screen = Screen("traces", turn=turn.id)
    assert "**Attempt 1**" in screen.words() and f"**Attempt {len(turn.attempts)}**" in screen.words()
    screen.assert_sound()


def test_the_playground_shows_each_stages_ranking(app: Pincite, contract: Document) -> None:
    screen = Screen("traces")
    next(box for box in screen.test.text_input if box.label == "Search for").set_value("late payment interest").run()
    rankings = [table.value for table in screen.test.dataframe if "Rank" in table.value.columns]
    assert len(rankings) >= 3
    assert all(list(ranking["Rank"]) == list(range(1, len(ranking) + 1)) for ranking in rankings)
    screen.assert_sound()


def test_many_turns_are_listed_in_pages_and_one_is_decoded(
    app: Pincite, contract: Document, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = ask()
    for number in range(120):
        app.turns.save(app.turns.create(replace(turn, id=f"copy{number}", question=f"Question {number}?", place=-1)))
    decoded = list[object]()

    def counted(kind: type[Turn], text: str) -> object:
        decoded.extend([kind] if kind is Turn else [])
        return readable(kind, text)

    monkeypatch.setattr("pincite.core.store.turns.readable", counted)
    screen = Screen("traces")
    decoded.clear()
    screen.test.run()
    assert len(decoded) == 1
    (choice,) = screen.test.selectbox
    assert len(choice.options) == 50
    screen.press("Show earlier")
    assert len(screen.test.selectbox[0].options) == 100
    next(box for box in screen.test.text_input if box.label == "Find").set_value("Question 7?").run()
    assert len(screen.test.selectbox[0].options) == 1
    beyond = Screen("traces", turn=turn.id)
    assert beyond.test.selectbox[0].value == turn.id
    beyond.assert_sound()
    assert "no longer stored" in Screen("traces", turn="no-such-turn").words()
