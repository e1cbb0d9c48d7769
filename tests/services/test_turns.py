"""A running turn: it outlives the page, stops on request, is stored as it runs, never vanishes without a trace."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from langgraph.checkpoint.base import empty_checkpoint

from pincite.core.domain.answers import AnswerPart
from pincite.core.domain.errors import FullDiskError, TurnError
from pincite.core.domain.settings import PACKAGE_ROOT
from pincite.core.domain.turns import ReviewDecision, Turn, TurnStatus
from pincite.core.graph.checkpoints import forget_runs
from pincite.core.graph.context import Lacking
from pincite.core.store.reviews import Reviews
from pincite.core.text.marks import plain_text
from tests.graph.world import ScriptedModel, World
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("each_engine")

RIGHT = "Overdue amounts bear interest at 1.5 % per month. [1]"
PENALTY = "What interest do overdue amounts bear?"


@pytest.fixture
def paused_world(tmp_path: Path) -> Iterator[tuple[World, ScriptedModel]]:
    """Yield a world and its model, which waits at its gate after the first word."""
    model = ScriptedModel(RIGHT, RIGHT)
    model.gate = threading.Event()
    world = World(tmp_path, model)
    yield world, model
    model.gate.set()
    world.close()


def test_two_tabs_see_the_same_running_turn(paused_world: tuple[World, ScriptedModel]) -> None:
    world, model = paused_world
    turn_id = world.runner.ask(world.session.id, PENALTY)
    assert model.begun.wait(300)
    one, other = world.runner.snapshot(turn_id), world.runner.snapshot(turn_id)
    assert one.running and one == other
    assert plain_text(one.draft) == "Overdue"
    assert one.steps[1] == "Searching 2 documents…"
    assert world.runner.running(world.session.id) == turn_id
    assert model.gate is not None
    model.gate.set()
    ended = world.runner.wait(turn_id, 300)
    assert ended.turn.status is TurnStatus.ANSWERED
    assert world.runner.running(world.session.id) is None
    assert one.running, "a snapshot never changes"


@pytest.mark.behaviour("Resume", "What each step of an answer leaves is stored before the next step begins.")
def test_the_steps_so_far_are_stored_while_the_turn_runs(paused_world: tuple[World, ScriptedModel]) -> None:
    world, model = paused_world
    turn_id = world.runner.ask(world.session.id, PENALTY)
    assert model.begun.wait(300)
    stored = world.turns.get(turn_id)
    assert stored.status is TurnStatus.RUNNING and stored.path == ("router", "rewriter", "retriever", "analyst")


def test_a_session_runs_one_turn_at_a_time(paused_world: tuple[World, ScriptedModel]) -> None:
    world, model = paused_world
    world.runner.ask(world.session.id, PENALTY)
    assert model.begun.wait(300)
    with pytest.raises(TurnError, match="still answering"):
        world.runner.ask(world.session.id, "And then?")
    assert len(world.turns.of_session(world.session.id)) == 1


@pytest.mark.parametrize("error", [FullDiskError("The disk is full."), KeyError("odd")])
def test_waiting_question_that_fails_is_reported_and_the_next_is_asked(
    paused_world: tuple[World, ScriptedModel], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    world, model = paused_world
    assert model.gate is not None
    session, create, refused = world.session.id, world.turns.create, list[str]()
    turn_id = world.runner.ask(session, PENALTY)
    assert model.begun.wait(300)
    for question in ("Second?", "Third?"):
        world.runner.ask_next(session, question)

    def full(turn: Turn) -> Turn:
        if not refused:
            refused.append(turn.question)
            raise error
        return create(turn)

    monkeypatch.setattr(world.turns, "create", full)
    model.gate.set()
    world.runner.wait(turn_id, 300)
    wait_until(lambda: [one.trouble != "" for one in world.runner.waiting(session)] == [True])
    (kept,) = world.runner.waiting(session)
    assert kept.question == "Second?" and ("disk is full" in kept.trouble or "Something went wrong" in kept.trouble)
    assert [turn.question for turn in world.turns.of_session(session)] == [PENALTY, "Third?"]
    world.runner.wait(world.turns.of_session(session)[1].id, 300)
    world.runner.retry_waiting(session)
    assert not world.runner.waiting(session)
    assert [turn.question for turn in world.turns.of_session(session)][2] == "Second?"


def test_stop_ends_the_wait_for_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pincite.core.services.turns.VECTOR_SECONDS", 300.0)
    asked = threading.Event()

    def lacking(ids: Sequence[str], seconds: float) -> Lacking:
        asked.set()
        return Lacking.VECTORS

    world = World(tmp_path, ScriptedModel(RIGHT), await_documents=lacking)
    turn_id = world.runner.ask(world.session.id, PENALTY)
    assert asked.wait(300)
    world.runner.stop(turn_id)
    assert world.runner.wait(turn_id, 300).turn.status is TurnStatus.STOPPED
    world.close()


def test_the_conversation_is_what_the_turns_say(paused_world: tuple[World, ScriptedModel]) -> None:
    """There is no second memory that could differ from the turns."""
    world, model = paused_world
    assert model.gate is not None
    model.gate.set()
    first = world.ask(PENALTY).turn
    reviewed = (AnswerPart("As reviewed: 1.5 % per month."),)
    reviews = Reviews(world.database, world.turns, cite=lambda turn, text: (reviewed, ()))
    reviews.decide(first.id, ReviewDecision.EDITED, final_answer=reviewed[0].text)
    world.ask(PENALTY)
    assert "As reviewed: 1.5 % per month." in [message.text for message in model.requests[-1].history]


def test_finished_run_leaves_no_checkpoints(tmp_path: Path) -> None:
    world = World(tmp_path, ScriptedModel(RIGHT, RIGHT))
    for _ in range(2):
        world.ask(PENALTY)
    assert list(world.checkpoints.threads()) == []
    world.close()


def test_clearing_up_spares_a_run_that_begins_meanwhile(tmp_path: Path) -> None:
    world = World(tmp_path)

    def begin(thread_id: str) -> None:
        configured = {"thread_id": thread_id, "checkpoint_ns": ""}
        world.checkpoints.saver.put({"configurable": configured}, empty_checkpoint(), {}, {})

    def running() -> list[str]:
        begin("new")
        return []

    begin("old")
    forget_runs(world.checkpoints, running)
    assert list(world.checkpoints.threads()) == ["new"]
    world.close()


def test_a_failing_clean_up_leaves_the_answer_and_nobody_waiting(
    paused_world: tuple[World, ScriptedModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, model = paused_world
    assert model.gate is not None
    model.gate.set()

    def fail() -> None:
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr(world.runner, "_settle", fail)
    turn_id = world.runner.ask(world.session.id, PENALTY)
    assert world.runner.wait(turn_id).turn.status is TurnStatus.ANSWERED
    assert world.turns.get(turn_id).status is TurnStatus.ANSWERED


def test_a_turn_that_cannot_be_stored_at_all_leaves_nobody_waiting(
    paused_world: tuple[World, ScriptedModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, model = paused_world
    turn_id = world.runner.ask(world.session.id, PENALTY)
    assert model.begun.wait(300) and model.gate is not None

    def vanish(turn: Turn) -> None:
        raise KeyError("no such turn")

    monkeypatch.setattr(world.turns, "save", vanish)
    model.gate.set()
    world.runner.wait(turn_id, 300)
    wait_until(lambda: not world.runner.running(world.session.id))


def test_question_as_long_as_a_book_is_refused(tmp_path: Path) -> None:
    world = World(tmp_path)
    with pytest.raises(TurnError, match="8,000"):
        world.runner.ask(world.session.id, "why " * 10_000)
    assert world.turns.recent(5) == []
    world.close()


def test_an_end_that_could_not_be_stored_does_not_lock_the_session(
    paused_world: tuple[World, ScriptedModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, model = paused_world
    turn_id = world.runner.ask(world.session.id, PENALTY)
    assert model.begun.wait(300) and model.gate is not None

    def full(turn: Turn) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(threading, "excepthook", lambda arguments: None)
    with monkeypatch.context() as patch:
        patch.setattr(world.turns, "save", full)
        model.gate.set()
        world.runner.wait(turn_id, 300)
    assert world.ask(PENALTY).turn.status is TurnStatus.ANSWERED
    assert world.turns.get(turn_id).status is TurnStatus.INTERRUPTED


def test_stop_ends_the_turn_between_tokens_and_keeps_the_partial_answer(
    paused_world: tuple[World, ScriptedModel],
) -> None:
    world, model = paused_world
    turn_id = world.runner.ask(world.session.id, PENALTY)
    assert model.begun.wait(300) and model.gate is not None
    world.runner.stop(turn_id)
    model.gate.set()
    turn = world.runner.wait(turn_id, 300).turn
    assert turn.status is TurnStatus.STOPPED
    assert turn.answer == "Overdue" and not turn.citations
    assert world.runner.wait(world.runner.run_again(turn_id), 300).turn.status is TurnStatus.ANSWERED


def test_closing_leaves_running_turns_interrupted(paused_world: tuple[World, ScriptedModel]) -> None:
    world, model = paused_world
    turn_id = world.runner.ask(world.session.id, PENALTY)
    assert model.begun.wait(300) and model.gate is not None
    threading.Timer(0.05, model.gate.set).start()
    world.runner.close()
    assert world.turns.get(turn_id).status is TurnStatus.INTERRUPTED


CHILD = """
    import sys, threading
    from pathlib import Path
    from tests.graph.world import ScriptedModel, World
    model = ScriptedModel("Overdue amounts bear interest.")
    model.gate = threading.Event()
    world = World(Path(sys.argv[1]), model)
    world.runner.ask(world.session.id, "What interest do overdue amounts bear?")
    model.begun.wait(300)
    print("begun", flush=True)
    threading.Event().wait()
"""


@pytest.mark.behaviour(
    "Resume", "The trace of a continued answer shows where it continued and which steps were not run again."
)
def test_a_killed_process_leaves_an_interrupted_turn_that_runs_on_or_again(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CHILD), str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=PACKAGE_ROOT,
    )
    try:
        assert child.stdout is not None and child.stdout.readline() == "begun\n"
        second = World(tmp_path)
        (turn,) = second.turns.recent(5)
        assert turn.status is TurnStatus.RUNNING, "another living process's turn is left alone"
        with pytest.raises(TurnError):
            second.runner.ask(turn.session_id, PENALTY)
        second.close()
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    world = World(tmp_path, ScriptedModel(RIGHT, RIGHT))
    (turn,) = world.turns.recent(5)
    assert turn.status is TurnStatus.INTERRUPTED and "run the question again" in turn.error
    assert turn.answer == "Overdue", "what was streamed is kept as a draft"
    before = ("router", "rewriter", "retriever", "analyst")
    assert turn.path == before, "the trace so far is there"
    assert world.runner.can_continue(turn)
    searched = world.search.plans[:]
    world.runner.continue_turn(turn.id)
    ended = world.runner.wait(turn.id, 300).turn
    assert ended.status is TurnStatus.ANSWERED and ended.answer == RIGHT and ended.evidence and ended.plan
    assert ended.path == (*before, "continued", "generator", "judge"), "nothing was done twice"
    assert ended.trace[4].decided == {"went on at": "generator", "not run again": list(before)}
    assert world.search.plans == searched
    assert not world.runner.can_continue(ended)
    with pytest.raises(TurnError):
        world.runner.continue_turn(turn.id)
    with pytest.raises(TurnError):  # another process saw it as it was
        world.turns.take_up(turn)
    assert world.turns.get(turn.id).answer == RIGHT
    assert list(world.checkpoints.threads()) == []
    again = world.runner.wait(world.runner.run_again(turn.id), 300).turn
    assert again.status is TurnStatus.ANSWERED and again.answer == RIGHT
    world.close()


def test_a_whole_turn_needs_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **named: object) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    world = World(tmp_path)
    turn = world.ask(PENALTY).turn
    assert turn.status is TurnStatus.ANSWERED and "1.5 % per month" in turn.answer
    world.close()


def test_an_empty_question_is_refused(tmp_path: Path) -> None:
    world = World(tmp_path)
    with pytest.raises(TurnError):
        world.runner.ask(world.session.id, "  ")
    world.close()


def test_checkpoints_bring_back_only_our_own_values(tmp_path: Path) -> None:
    world = World(tmp_path, ScriptedModel(RIGHT))
    world.ask(PENALTY)
    serde = world.checkpoints.saver.serde
    kind, data = serde.dumps_typed(world.turns.recent(1)[0].verdict)
    assert type(serde.loads_typed((kind, data))).__name__ == "Verdict"
    stranger = serde.dumps_typed(world.settings)
    assert not isinstance(serde.loads_typed(stranger), type(world.settings)), "settings are not on the list"
    world.close()
