"""A question that fits several things equally well is asked back, before an answer is guessed; a reply never is."""

from typing import Any

from core.domain.turns import TurnStatus
from tests.graph.world import Shelf

FEES = {"bridge.pdf": ["The fee is 400 euro per day."], "harbour.pdf": ["The fee is 900 euro per day."]}


def test_a_question_that_two_documents_answer_otherwise_is_asked_back(world: Any) -> None:
    one = world(shelf=Shelf(FEES))
    turn = one.ask("What is the fee?").turn
    assert sorted(turn.options) == ["bridge.pdf", "harbour.pdf"] and turn.path[2:] == ("retriever", "judge")
    assert turn.status is TurnStatus.ANSWERED and "Which one" in turn.answer
    assert sorted(citation.quotation for citation in turn.citations) == sorted(page for [page] in FEES.values())
    assert all(turn.answer.index(name) < turn.answer.index(FEES[name][0]) for name in turn.options)
    chosen = one.ask("harbour.pdf").turn
    assert not chosen.options and "harbour" in chosen.plan.standalone_question
    assert "fee" in chosen.plan.standalone_question


def test_what_is_asked_back_and_not_sure_enough_waits_with_its_choices(world: Any) -> None:
    turn = world(shelf=Shelf(FEES), review_threshold=1.0).ask("What is the fee?").turn
    assert turn.status is TurnStatus.FLAGGED and sorted(turn.options) == sorted(FEES) and len(turn.attempts) == 1


def test_a_reply_is_never_asked_back_and_the_question_asked_again_is(world: Any) -> None:
    one = world(shelf=Shelf(FEES))
    assert one.ask("What is the fee?").turn.options
    again = one.ask("What is the fee?").turn
    assert again.options and again.plan.standalone_question == "What is the fee?"
    assert not one.ask("the one that I mean").turn.options


def test_asked_again_it_is_answered_as_it_is(world: Any) -> None:
    one = world(shelf=Shelf(FEES))
    again = one.runner.wait(one.runner.run_again(one.ask("What is the fee?").turn.id), 30).turn
    assert not again.options and again.citations


def test_a_follow_up_goes_on_with_the_place_that_the_last_answer_quotes(world: Any) -> None:
    limits = {
        "loan.pdf": ["Late payments bear interest of 2 % a month. The sum is limited to 90 euro."],
        "lease.pdf": ["The tenant is liable for broken glass. The sum is limited to 700 euro."],
    }
    assert world(shelf=Shelf(limits)).ask("How much is the sum limited to?").turn.options
    one = world(shelf=Shelf(limits))
    assert "2 %" in one.ask("What interest is there?").turn.answer
    followed = one.ask("And how much is the sum limited to?").turn
    assert not followed.options and "90 euro" in followed.answer and "700" not in followed.answer


def test_what_names_its_document_or_has_one_answer_is_not_asked_back(world: Any) -> None:
    assert not world(shelf=Shelf(FEES)).ask("What is the fee of the bridge?").turn.options
    same = Shelf({name: ["The fee is 400 euro per day."] for name in FEES})
    assert not world(shelf=same).ask("What is the fee?").turn.options


def test_a_question_of_two_documents_by_name_is_answered_by_each_under_its_name(world: Any) -> None:
    one = world(shelf=Shelf(FEES | {"mill.pdf": ["The fee is 100 euro per day."]}))
    turn = one.ask("What is the fee per day at Harbour and at Bridge?").turn
    assert not turn.options and "mill" not in turn.answer and "100 euro" not in turn.answer
    order = [turn.answer.index(text) for text in ("harbour.pdf:", "900 euro", "bridge.pdf:", "400 euro")]
    assert order == sorted(order)
    found = {name: score for item in turn.evidence for name, score in item.scores.items() if name.startswith("part")}
    assert found.keys() == {"part 1", "part 2"}, "each was searched by itself"


def test_one_place_that_speaks_of_more_of_the_question_is_meant(world: Any) -> None:
    banks = {"one.pdf": ["Elm bank. The balance is 400 euro."], "two.pdf": ["Oak archers. The balance is 900 euro."]}
    assert world(shelf=Shelf(banks)).ask("What is the balance?").turn.options
    assert not world(shelf=Shelf(banks)).ask("What is the balance of the archers?").turn.options


def test_a_follow_up_that_names_another_document_is_asked_of_that_one(world: Any) -> None:
    one = world(shelf=Shelf(FEES))
    assert "900 euro" in one.ask("What is the fee per day at Harbour?").turn.answer
    followed = one.ask("And how long with Bridge?").turn
    assert "Harbour" in followed.plan.standalone_question and followed.plan.document_ids == ("id-bridge.pdf",)
