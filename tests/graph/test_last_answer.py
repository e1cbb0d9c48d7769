"""A question about the last answer is answered from it: never searched, and not part of the next question."""

from typing import Any

import pytest

from pincite.core.answers.quoting import Quoting
from pincite.core.domain.answers import Form, PartKind
from pincite.core.domain.presentation import present
from pincite.core.domain.search import Intent
from pincite.core.domain.turns import TurnStatus
from pincite.core.graph.nodes.router import NEEDS_A_MODEL, SOURCE_CHANGED
from tests.graph.test_walks import RIGHT
from tests.graph.world import ScriptedModel

ASKED = "What interest do overdue amounts bear?"


@pytest.mark.behaviour(
    "Memory",
    "“Are you sure?”, “On which page?” and similar questions are answered from the last answer, its verdict "
    "and its quotations; for “Shorter, please”, a model writes it again from the same passages. Neither is "
    "searched.",
)
@pytest.mark.parametrize(
    "asked", ["Are you sure?", "On which page is that?", "Where did you get that from?", "Bist du sicher?"]
)
def test_source_question_about_last_answer_is_answered_without_a_search(world: Any, asked: str) -> None:
    one = world(Quoting())
    answered = one.ask(ASKED).turn
    searches = len(one.search.plans)
    reply = one.ask(asked).turn
    assert (reply.intent, present(reply).form, reply.status) == (Intent.LAST_ANSWER, Form.EVIDENCE, TurnStatus.ANSWERED)
    assert len(one.search.plans) == searches and reply.citations == answered.citations
    assert [part.text for part in reply.parts if part.verbatim] == [answered.citations[-1].quotation], "the sentence"
    assert f"{answered.verdict.confidence:.0%} sure" in reply.parts[0].text
    assert reply.answer.split("\n\n")[1] == "Service contract.pdf, page 1", "each part is a paragraph"
    assert any(part.text == "Service contract.pdf, page 1" for part in reply.parts if part.kind is PartKind.NOTE)


def test_remark_about_an_answer_is_not_part_of_the_next_question(world: Any) -> None:
    one = world(Quoting())
    one.ask(ASKED)
    one.ask("Are you sure?")
    again = one.ask("On which page?").turn
    assert again.citations, "it is still about the answer"
    followed = one.ask("And who pays it?").turn
    assert "interest" in followed.plan.standalone_question and "sure" not in followed.plan.standalone_question


def test_another_form_needs_a_model(world: Any) -> None:
    one = world(Quoting())
    one.ask(ASKED)
    searches = len(one.search.plans)
    assert one.ask("Shorter, please").turn.answer == NEEDS_A_MODEL
    assert len(one.search.plans) == searches


def test_model_rewords_the_last_answer_from_the_same_passages_and_it_is_judged(world: Any) -> None:
    model = ScriptedModel(RIGHT, "1.5 % per month [1].")
    one = world(model)
    answered = one.ask(ASKED).turn
    reworded = one.ask("Shorter, please").turn
    assert reworded.path == ("router", "generator", "judge") and reworded.intent is Intent.REWORD
    assert model.requests[-1].reworded == answered.answer and model.requests[-1].question == "Shorter, please"
    cited = {(place.document_id, place.page_index) for place in answered.citations}
    assert {(item.passage.document_id, item.passage.page_index) for item in reworded.evidence} == cited
    assert reworded.answer == "1.5 % per month [1]." and reworded.citations and reworded.verdict is not None


def test_a_new_form_that_does_not_hold_goes_to_a_person_and_nothing_is_searched(world: Any) -> None:
    one = world(ScriptedModel(RIGHT, "The contract ends after 900 years and costs 7 million euros [1]."))
    one.ask(ASKED)
    searches = len(one.search.plans)
    turn = one.ask("Put it in one sentence").turn
    assert turn.status is TurnStatus.FLAGGED and len(one.search.plans) == searches


def test_a_model_that_writes_nothing_leaves_the_answer_as_it_was(world: Any) -> None:
    one = world(ScriptedModel(RIGHT, ""))
    answered = one.ask(ASKED).turn
    turn = one.ask("Shorter, please").turn
    assert turn.answer == answered.answer and any("stands as it was" in notice for notice in turn.notices)


def test_after_small_talk_it_is_about_the_small_talk(world: Any) -> None:
    one = world(ScriptedModel(RIGHT, "Roses are red.", "Roses."))
    one.ask(ASKED)
    assert one.ask("write me a haiku about tea").turn.intent is Intent.CHAT
    assert one.ask("Shorter, please").turn.answer == "Roses."


def test_what_is_no_longer_on_its_page_is_not_shown_again(world: Any) -> None:
    one = world(ScriptedModel(RIGHT))
    one.ask(ASKED)
    one.shelf.texts = {name: ("Another text.",) * len(pages) for name, pages in one.shelf.texts.items()}
    for asked in ("Are you sure?", "Shorter, please"):
        reply = one.ask(asked).turn
        assert reply.answer == SOURCE_CHANGED and not reply.citations and not reply.evidence


def test_with_no_answer_before_it_such_a_message_is_put_to_the_documents(world: Any) -> None:
    assert world(Quoting()).ask("On which page is that?").turn.intent is Intent.DOCUMENT_SEARCH
