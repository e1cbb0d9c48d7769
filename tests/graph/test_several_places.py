"""A question that fits several places equally well gets the passages of each; a reply may name the right one."""

from typing import Any

import pytest

from pincite.core.domain.answers import Form, listed_passages
from pincite.core.domain.presentation import present
from pincite.core.domain.turns import TurnStatus
from tests.graph.world import Shelf

FEES = {"bridge.pdf": ["The fee is 400 euro per day."], "harbour.pdf": ["The fee is 900 euro per day."]}


@pytest.mark.behaviour(
    "Resume", "A question that several places answer differently gets the passages of each, and none as the answer."
)
@pytest.mark.behaviour(
    "Resume",
    "A reply that names which of the listed passages is meant continues the same run.",
    but=(
        "the reply is read together with the question, but it starts a new turn that plans and searches again, "
        "because no run waits for a person."
    ),
)
def test_what_two_documents_answer_otherwise_is_answered_by_neither(world: Any) -> None:
    one = world(shelf=Shelf({name: [f"{page} {name[:-4]}." for page in pages] for name, pages in FEES.items()}))
    turn = one.ask("What is the fee?").turn
    assert present(turn).form is Form.EVIDENCE and turn.status is TurnStatus.ANSWERED
    assert sorted(shown.where for shown in listed_passages(turn.parts)) == [f"{name}, page 1" for name in FEES]
    assert {"400 euro per day", "900 euro per day"} == {
        part.text[mark.start : mark.end] for part in turn.parts for mark in part.marked
    }
    chosen = one.ask("harbour").turn
    assert "900 euro" in chosen.answer and "400" not in chosen.answer
    assert "harbour" in chosen.plan.standalone_question and "fee" in chosen.plan.standalone_question


def test_what_names_its_document_or_has_one_answer_is_answered(world: Any) -> None:
    assert present(world(shelf=Shelf(FEES)).ask("What is the fee of the bridge?").turn).form is Form.ANSWER
    same = Shelf({name: ["The fee is 400 euro per day."] for name in FEES})
    assert present(world(shelf=same).ask("What is the daily fee?").turn).form is Form.ANSWER


@pytest.mark.behaviour(
    "Plans",
    "A question about two to four documents that it names or mentions is searched in each separately, and "
    "answered under each one's name.",
)
def test_a_question_of_two_documents_by_name_is_answered_by_each_under_its_name(world: Any) -> None:
    one = world(shelf=Shelf(FEES | {"mill.pdf": ["The fee is 100 euro per day."]}))
    turn = one.ask("What is the fee per day at Harbour and at Bridge?").turn
    assert "mill" not in turn.answer and "100 euro" not in turn.answer
    order = [turn.answer.index(text) for text in ("harbour.pdf:", "900 euro", "bridge.pdf:", "400 euro")]
    assert order == sorted(order)
    found = {name: score for item in turn.evidence for name, score in item.scores.items() if name.startswith("part")}
    assert found.keys() == {"part 1", "part 2"}, "each was searched separately"


def test_one_place_that_speaks_of_more_of_the_question_is_meant(world: Any) -> None:
    banks = {"one.pdf": ["Elm bank. The balance is 400 euro."], "two.pdf": ["Oak archers. The balance is 900 euro."]}
    assert present(world(shelf=Shelf(banks)).ask("What is the balance?").turn).form is Form.EVIDENCE
    assert "900 euro" in world(shelf=Shelf(banks)).ask("What is the balance of the archers?").turn.answer


def test_a_follow_up_that_names_another_document_is_asked_of_that_one(world: Any) -> None:
    one = world(shelf=Shelf(FEES))
    assert "900 euro" in one.ask("What is the fee per day at Harbour?").turn.answer
    followed = one.ask("And how long with Bridge?").turn
    assert followed.plan.standalone_question == "And how long with Bridge?", "it names its document"
    assert followed.plan.document_ids == ("id-bridge.pdf",)
