"""A question that is asked again, perhaps edited, is a version of itself: in its place, with the older answer kept."""

from dataclasses import replace
from pathlib import Path

import pytest

from pincite.core.domain.turns import TurnFilter, TurnStatus
from tests.graph.world import World

PENALTY, LAW = "What interest do overdue amounts bear?", "Which law governs the contract?"


@pytest.mark.behaviour("Resume", "A question is edited and asked again in its place; the older answer is a version.")
def test_an_edited_question_takes_the_place_of_the_older_one(tmp_path: Path) -> None:
    world = World(tmp_path)
    first, second = world.ask(PENALTY).turn, world.ask(LAW).turn
    edited = world.runner.wait(world.runner.run_again(first.id, question="What is the interest on them?"), 300).turn
    assert edited.status is TurnStatus.ANSWERED and edited.place == first.place == 0 and second.place == 1
    session = world.session.id
    assert [turn.id for turn in world.turns.newest(session, 9)] == [edited.id, second.id]
    assert [turn.id for turn in world.turns.conversation(session)] == [edited.id, second.id]
    assert [turn.id for turn in world.turns.of_session(session)] == [first.id, second.id, edited.id]
    assert world.turns.versions(edited) == world.turns.versions(first) == (first.id, edited.id)
    assert world.turns.count(session) == 2 and world.turns.versions(second) == (second.id,)
    assert [exchange.turn_id for exchange in world.turns.exchanges(session)] == [edited.id, second.id]
    assert world.turns.exchanges(session, before=edited.place) == ()
    third = world.ask(PENALTY).turn
    assert (third.position, third.place) == (3, 3)
    world.close()


def test_a_version_that_failed_leaves_the_older_answer_in_the_conversation(tmp_path: Path) -> None:
    world = World(tmp_path)
    first = world.ask(PENALTY).turn
    again = world.runner.wait(world.runner.run_again(first.id), 300).turn
    failed = world.turns.get(again.id)
    world.turns.save(replace(failed, status=TurnStatus.FAILED))
    session = world.session.id
    assert [exchange.turn_id for exchange in world.turns.exchanges(session)] == [first.id]
    assert [turn.id for turn in world.turns.conversation(session)] == [first.id], "what is exported"
    assert [turn.id for turn in world.turns.newest(session, 9)] == [again.id], "what is shown"
    assert world.turns.exchanges(session, before=9, asked_before=again.position) != ()
    world.close()


def test_only_the_newest_version_of_a_doubtful_answer_waits_for_review(tmp_path: Path) -> None:
    world = World(tmp_path)
    first = world.ask(PENALTY).turn
    world.turns.save(replace(world.turns.get(first.id), status=TurnStatus.FLAGGED))
    waiting = TurnFilter(TurnStatus.FLAGGED)
    assert world.turns.count_flagged() == 1 and [line.id for line in world.turns.lines(waiting, most=9)] == [first.id]
    again = world.runner.wait(world.runner.run_again(first.id), 300).turn
    assert world.turns.count_flagged() == world.turns.count_lines(waiting) == 0, "a newer version has an answer"
    world.turns.save(replace(world.turns.get(again.id), status=TurnStatus.FAILED))
    assert world.turns.count_flagged() == world.turns.count_lines(waiting) == 1
    world.close()


@pytest.mark.behaviour("Resume", "A conversation is continued from any of its answers in a new session.")
def test_a_branch_begins_with_the_conversation_up_to_an_answer(tmp_path: Path) -> None:
    world = World(tmp_path)
    first, second, third = (world.ask(question).turn for question in (PENALTY, LAW, PENALTY))
    edited = world.runner.wait(world.runner.run_again(first.id, question="What is the interest on them?"), 300).turn
    branch = world.runner.branch(second.id)
    copied = world.turns.conversation(branch)
    assert [turn.question for turn in copied] == [edited.question, LAW]
    assert {turn.id for turn in copied}.isdisjoint({first.id, second.id, third.id, edited.id})
    assert [(turn.position, turn.place) for turn in copied] == [(0, 0), (1, 1)]
    for copy, original in zip(copied, (edited, second), strict=True):
        original = world.turns.get(original.id)
        assert (copy.parts, copy.citations, copy.path) == (original.parts, original.citations, original.path)
    assert len(world.turns.conversation(world.session.id)) == 3
    asked = world.runner.wait(world.runner.ask(branch, PENALTY), 300).turn
    assert (asked.session_id, asked.place) == (branch, 2)
    world.sessions.delete(branch)
    assert len(world.turns.conversation(world.session.id)) == 3
    world.close()
