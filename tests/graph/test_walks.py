"""The ways a turn can go through the graph, each to its end."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pincite.core.answers.lists import NAMED_WHOLE
from pincite.core.answers.quoting import Quoting
from pincite.core.domain.answers import AnswerPart, ClaimStatus, Form, PartKind, listed_passages
from pincite.core.domain.documents import NOT_READ, Block, BlockKind, Coverage, Document, DocumentStatus, Page, Passage
from pincite.core.domain.errors import ModelInterruptedError, StoppedError, UnknownDocumentError
from pincite.core.domain.ports import AnswerRequest
from pincite.core.domain.presentation import UNREAD_DENIAL, Tier, present
from pincite.core.domain.search import Evidence, Intent, Mode, SearchPlan, SearchResult
from pincite.core.domain.turns import Exchange, TurnStatus
from pincite.core.graph.build import NOT_STORED
from pincite.core.graph.nodes.judge import capped_by_topic
from pincite.core.graph.nodes.router import _by_wish
from pincite.core.graph.state import TurnState
from pincite.core.judge.verdict import verdict_of
from pincite.core.questions.mentions import resolve_mentions
from pincite.core.questions.wording import NOT_FOUND
from tests.graph.world import CONTRACT, REPORT, ScriptedModel, Shelf, WordSearch
from tests.questions.asking import plan_after, read

pytestmark = pytest.mark.usefixtures("each_engine")

RIGHT = "Overdue amounts bear interest at 1.5 % per month. [1]"
WRONG = "Overdue amounts bear interest at 5 % per week. [1]"
PENALTY = "What interest do overdue amounts bear?"


def test_what_may_be_small_talk_is_put_to_the_documents_behind_the_question_before_it(world: Any) -> None:
    one = world()
    one.ask(PENALTY)
    assert one.ask("And a night?").turn.path[:3] == ("router", "rewriter", "retriever")
    assert one.search.plans[-1].question == "And a night?"
    assert one.ask("Thanks!").turn.path == ("router", "generator")


@pytest.mark.behaviour(
    "Memory",
    "With a model, a follow-up that only names another thing is reworded into a complete question, with no "
    "word that the two questions do not have.",
)
@pytest.mark.parametrize(
    ("reworded", "taken"),
    [("Within how many days does the supplier pay each invoice?", True), ("What is the weather in Lisbon?", False),
     ("Within how many days does the customer pay each invoice?", False), ("", False)],
)  # fmt: skip
def test_a_model_words_a_follow_up_but_adds_nothing_to_it(world: Any, reworded: str, taken: bool) -> None:
    one = world(ScriptedModel("Within 30 days of receipt. [1]", *["These documents do not say."] * 3))
    one.ask("Within how many days does the customer pay each invoice?", mode=Mode.DOCUMENTS)
    one.model.replies = [{"question": reworded}]
    turn = one.ask("And what about the supplier?", mode=Mode.DOCUMENTS).turn
    assert (turn.plan.standalone_question == reworded) is taken and turn.plan.question == "And what about the supplier?"
    assert "supplier" in turn.plan.standalone_question and "Lisbon" not in turn.plan.standalone_question


@pytest.mark.parametrize(
    ("asked", "reworded"),
    [("And without?", "Within how many days does the customer pay each invoice?"),
     ("Why is that?", "Within how many days does the customer pay each invoice?"), ("Why?", "?")],
)  # fmt: skip
def test_rewording_that_loses_the_point_in_a_follow_up_is_rejected(world: Any, asked: str, reworded: str) -> None:
    one = world(ScriptedModel("Within 30 days of receipt. [1]", *["These documents do not say."] * 3))
    one.ask("Within how many days does the customer pay each invoice?", mode=Mode.DOCUMENTS)
    one.model.replies = [{"question": reworded}]
    plan = one.ask(asked, mode=Mode.DOCUMENTS, fresh=True).turn.plan
    assert plan is None or plan.standalone_question != reworded


@pytest.mark.behaviour("Router", "Small talk is answered at once, without a search.")
def test_small_talk_goes_straight_to_the_generator(world: Any) -> None:
    turn = world(ScriptedModel("Hello there!")).ask("Hi!").turn
    assert turn.status is TurnStatus.ANSWERED and turn.intent is Intent.CHAT
    assert turn.path == ("router", "generator")
    assert turn.answer == "Hello there!" and turn.verdict is None


def test_a_right_answer_is_accepted_the_first_time(world: Any) -> None:
    turn = world(ScriptedModel(RIGHT)).ask(PENALTY).turn
    assert turn.status is TurnStatus.ANSWERED, turn.reasons
    assert turn.path == ("router", "rewriter", "retriever", "analyst", "generator", "judge")
    (citation,) = turn.citations
    assert (citation.document_name, citation.page_label) == ("Service contract.pdf", "1")
    assert "1.5 % per month" in citation.quotation


def test_a_retry_turns_a_wrong_answer_into_a_right_one(world: Any) -> None:
    model = ScriptedModel(WRONG, RIGHT)
    one = world(model)
    turn = one.ask(PENALTY).turn
    assert turn.status is TurnStatus.ANSWERED and turn.answer == RIGHT
    assert turn.path.count("generator") == 2 and turn.path[-1] == "judge"
    assert [attempt.number for attempt in turn.attempts] == [0, 1]
    assert one.search.plans[-1].attempt == 1
    assert not any("5 %" in query.text for query in one.search.plans[-1].sub_queries), (
        "what was refused is not searched"
    )
    assert model.requests[1].critique, "the generator sees what was wrong"


def test_exhausted_retries_keep_the_best_draft_and_go_to_review(world: Any) -> None:
    better = "Overdue amounts bear interest at 1.5 % per month. [1] The moon is made of green cheese. [1]"
    turn = world(ScriptedModel(WRONG, better, WRONG), review_threshold=1.0).ask(PENALTY).turn
    assert turn.status is TurnStatus.FLAGGED
    assert turn.path[-1] == "review" and turn.path.count("judge") == 4
    assert turn.verdict.confidence == max(one.verdict.confidence for one in turn.attempts), "the best, not the last"
    assert turn.reasons


def test_prose_that_no_attempt_made_hold_gives_way_to_quotations(world: Any) -> None:
    turn = world(ScriptedModel(WRONG, WRONG.replace("5 %", "6 %"), WRONG.replace("5 %", "7 %"))).ask(PENALTY).turn
    assert turn.status is TurnStatus.ANSWERED, turn.reasons
    assert all(part.verbatim or not part.text.strip() for part in turn.parts) and "1.5 % per month" in turn.answer
    assert "so the documents are quoted instead" in turn.notices[-1]
    assert [one.number for one in turn.attempts] == [0, 1, 2, 3] and turn.path[-2:] == ("generator", "judge")


def test_quotations_that_hold_no_better_leave_the_turn_to_a_person(world: Any) -> None:
    turn = world(ScriptedModel(WRONG), max_retries=0, review_threshold=1.0).ask(PENALTY).turn
    assert turn.status is TurnStatus.FLAGGED and turn.path.count("generator") == 2
    assert not any("quoted instead" in notice for notice in turn.notices)


class Slow(ScriptedModel):
    """Writes nothing until it is stopped."""

    def answer(self, request: AnswerRequest, stopped: Callable[[], bool]) -> Iterator[str]:
        self.begun.set()
        while not stopped():
            time.sleep(0.01)
        yield ""


def test_the_evidence_is_shown_while_a_model_writes_and_may_be_all_that_is_wanted(world: Any) -> None:
    model = Slow()
    one = world(model)
    turn_id = one.runner.ask(one.session.id, PENALTY)
    assert model.begun.wait(30)
    draft = one.runner.snapshot(turn_id).draft
    assert "1.5 % per month" in "".join(part.text for part in draft if part.verbatim)
    one.runner.show_evidence_only(turn_id)
    turn = one.runner.wait(turn_id, 60).turn
    assert turn.status is TurnStatus.ANSWERED and "1.5 % per month" in turn.answer
    assert turn.notices == ("scripted was stopped, so the documents are quoted instead.",)


def test_nothing_found_is_reported_without_generator_judge_or_review_wait(world: Any) -> None:
    turn = world(ScriptedModel()).ask("Which zebra won the lottery?").turn
    assert turn.status is TurnStatus.ANSWERED and present(turn).form is Form.NOT_FOUND
    assert turn.path == ("router", "rewriter", "retriever", "review")
    assert turn.answer == f"{NOT_FOUND} “zebra” and “lottery” do not appear in any passage searched."
    assert not turn.citations
    assert turn.verdict.declined and 0.5 < turn.verdict.confidence < 1
    assert turn.evidence and turn.evidence[0].reason == "below_the_score_floor"


def test_declining_model_answer_lists_words_that_occur_nowhere(world: Any) -> None:
    asked, says_not = "Which telescope did Ada Moreno buy?", "These documents do not say."
    turn = world(ScriptedModel(*[says_not] * 3)).ask(asked).turn
    assert "“telescope” and “buy” do not appear in any passage searched." in turn.notices
    unread = Shelf({"report.pdf": REPORT}, coverage=0.5)
    turn = world(ScriptedModel(*[says_not] * 3), shelf=unread).ask(asked).turn
    assert not any("in no passage" in notice for notice in turn.notices), "it may be on the page that was not read"


def test_a_question_about_a_whole_document_is_answered_from_its_sections(world: Any) -> None:
    turn = world(Quoting()).ask("Please summarise the service contract").turn
    assert turn.intent is Intent.SURVEY and turn.status is TurnStatus.ANSWERED, turn.reasons
    assert {citation.document_name for citation in turn.citations} == {"Service contract.pdf"}
    assert "30 days of receipt" in turn.answer


def test_every_document_has_its_say_in_an_overview(world: Any) -> None:
    turn = world(Quoting()).ask("Give me an overview of all documents").turn
    assert {citation.document_name for citation in turn.citations} == {"Service contract.pdf", "report.pdf"}


def test_topic_summary_is_a_search(world: Any) -> None:
    turn = world(ScriptedModel(RIGHT)).ask("Summarise what interest overdue amounts bear").turn
    assert turn.intent is Intent.DOCUMENT_SEARCH


def test_a_failing_node_leaves_a_visible_failed_turn(world: Any) -> None:
    class Broken(WordSearch):
        def search(self, plan: SearchPlan, library: object, **how: Any) -> SearchResult:
            raise ZeroDivisionError("shelf collapsed")

    one = world(ScriptedModel(), search=Broken(Shelf({"report.pdf": REPORT})))
    turn = one.turns.get(one.ask("What efficiency?", mode=Mode.DOCUMENTS).turn.id)
    assert turn.status is TurnStatus.FAILED
    assert turn.path == ("router", "rewriter", "retriever") and "ZeroDivisionError" in turn.trace[-1].error
    assert "collapsed" not in turn.error and "Run the question again" in turn.error


def test_a_note_that_cannot_be_stored_is_left_out_of_the_trace_and_not_the_turn(world: Any) -> None:
    class Odd(WordSearch):
        def search(self, plan: SearchPlan, library: object, **how: Any) -> SearchResult:
            return replace(super().search(plan, library, **how), reranker=object())  # type: ignore[arg-type]  # what a bug leaves

    one = world(ScriptedModel(RIGHT), search=Odd(Shelf({"Service contract.pdf": CONTRACT})))
    turn = one.turns.get(one.ask(PENALTY).turn.id)
    assert turn.status is TurnStatus.ANSWERED, turn.error
    step = next(step for step in turn.trace if step.node == "retriever")
    assert NOT_STORED in step.decided.values() and len(step.decided) > 1


def test_lost_model_is_reported_clearly_and_turn_can_be_run_again(world: Any) -> None:
    lost = ModelInterruptedError("The connection to scripted was lost.", hint="Run it with quoting.")
    one = world(ScriptedModel(lost, RIGHT))
    failed = one.ask(PENALTY).turn
    assert (
        failed.status is TurnStatus.FAILED
        and failed.error == "The connection to scripted was lost. Run it with quoting."
    )
    again = one.runner.wait(one.runner.run_again(failed.id), 300).turn
    assert again.status is TurnStatus.ANSWERED and again.question == failed.question and again.position == 1


def test_the_step_limit_gives_the_best_draft_to_review(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pincite.core.services.turns.STEPS_OF_AN_ATTEMPT", 2)
    monkeypatch.setattr("pincite.core.services.turns.OTHER_STEPS", 2)
    turn = world(ScriptedModel(WRONG, WRONG, WRONG)).ask(PENALTY).turn
    assert turn.status is TurnStatus.FLAGGED and turn.path[-1] == "review"
    assert any("limit of 8 steps" in reason for reason in turn.reasons)
    assert turn.answer == WRONG


def test_all_the_retries_that_can_be_chosen_fit_into_the_step_limit(world: Any) -> None:
    drafts = [WRONG.replace("5 %", f"{number} %") for number in (5, 6, 7, 8, 9, 11)]
    turn = world(ScriptedModel(*drafts), max_retries=5, review_threshold=1.0).ask(PENALTY).turn
    assert (turn.path.count("judge"), turn.path.count("review")) == (7, 1)
    assert any("7 attempts" in reason for reason in turn.reasons)


@pytest.mark.behaviour(
    "Enough?",
    "Where what was found more likely than not answers nothing, the search is widened before anything is "
    "written or quoted, up to three looks.",
)
def test_too_little_evidence_is_looked_for_wider_before_a_model_writes(world: Any) -> None:
    model = ScriptedModel(*["Overdue amounts bear interest at 1.5 % per month [1]."] * 2)
    one = world(model)
    asked = "What interest does someone have to bear each month who never pays what they owe on time?"
    turn = one.ask(asked, mode=Mode.DOCUMENTS).turn
    assert [plan.attempt for plan in one.search.plans][:2] == [0, 1]
    assert turn.path[:6] == ("router", "rewriter", "retriever", "analyst", "generator", "judge")
    looks = next(step for step in turn.trace if step.node == "retriever").decided["chance of an answer, look by look"]
    assert len(looks) == 2 and looks[0] < 0.5 < looks[1]
    assert any("1.5 %" in item.passage.text for item in model.requests[0].evidence), "the second look found it"
    assert "1.5 %" in turn.answer and turn.citations


def test_the_page_that_a_question_names_is_read_first_whatever_the_search_finds(world: Any) -> None:
    turn = world().ask("Within how many days of receipt is payment due according to page 2 of the contract?").turn
    assert [item.passage.page_label for item in turn.evidence][:1] == ["2"]
    assert len({item.passage.id for item in turn.evidence}) == len(turn.evidence)
    assert [item.number for item in turn.evidence] == list(range(1, len(turn.evidence) + 1))


def test_no_retry_repeats_the_one_before(world: Any) -> None:
    """Each looks for what is still missing and not for what was tried; where nothing is new there is no other."""
    one = world(ScriptedModel(WRONG, WRONG, WRONG))
    turn = one.ask(PENALTY, mode=Mode.DOCUMENTS).turn
    assert turn.status is TurnStatus.ANSWERED and turn.path.count("judge") == 3
    assert "quoted instead" in turn.notices[-1] and turn.path[-3:] == ("analyst", "generator", "judge")
    first, second, third = one.search.plans
    assert [plan.attempt for plan in (first, second, third)] == [0, 1, 2]
    gaps = {query.text for query in second.sub_queries} - {query.text for query in first.sub_queries}
    assert not gaps & {query.text for query in third.sub_queries}


@pytest.mark.behaviour(
    "Plans",
    "Each sub-query is searched in three variations.",
    but=(
        "yes: with a model that answers within four seconds, in up to three wordings of its own, asked for while "
        "the first search runs; else in one with the words that documents print."
    ),
)
def test_the_first_search_also_looks_for_what_the_model_words_otherwise(world: Any) -> None:
    model = ScriptedModel(WRONG, WRONG, WRONG)
    model.replies = [{"wordings": ["Default interest on invoices", PENALTY, 7, "Default interest on invoices"]}]
    one = world(model)
    turn = one.ask(PENALTY, mode=Mode.DOCUMENTS).turn
    own, worded, *retries = ([query.text for query in plan.sub_queries] for plan in one.search.plans)
    assert worded == [*own, "Default interest on invoices"] and len(retries) == 2
    assert not any("Default interest on invoices" in texts for texts in retries), "nobody is asked again"
    wordings = [step.decided.get("other wordings") for step in turn.trace if step.node == "retriever"]
    assert wordings == [["Default interest on invoices"], None, None]


class Dawdling(ScriptedModel):
    """Takes longer to word anything otherwise than a search waits for it."""

    name = "dawdling"
    asked = 0

    def structured(self, instructions: str, content: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if "wordings" in schema.get("required", ()):
            Dawdling.asked += 1
            raise StoppedError("The search no longer waits.")
        return super().structured(instructions, content, schema)


def test_a_model_that_takes_too_long_is_not_asked_for_wordings_again(world: Any) -> None:
    one = world(Dawdling(RIGHT, RIGHT))
    for _ in range(2):
        assert one.ask(PENALTY, mode=Mode.DOCUMENTS, fresh=True).turn.answer == RIGHT
    assert Dawdling.asked == 1 and len(one.search.plans) == 2


@pytest.mark.behaviour("Enough?", "A model is asked then what is missing, and that is searched before it writes.")
def test_what_a_model_finds_missing_is_searched_before_it_writes(world: Any) -> None:
    model = ScriptedModel(*["Overdue amounts bear interest at 1.5 % per month [1]."] * 2)
    model.replies = [{"missing": ["Late payment, overdue amounts, interest"]}]
    one = world(
        model, search=WordSearch(Shelf({"Service contract.pdf": CONTRACT, "report.pdf": REPORT}), retry_floor=0.5)
    )
    turn = one.ask("What must a debtor who is behind hand over on top?", mode=Mode.DOCUMENTS).turn
    looked = [[query.text for query in plan.sub_queries] for plan in one.search.plans]
    assert looked[1][-1] == "Late payment, overdue amounts, interest" and not model.replies and len(looked) <= 3
    assert any("1.5 %" in item.passage.text for item in model.requests[0].evidence)
    decided = next(step for step in turn.trace if step.node == "retriever").decided
    assert decided["what the model missed"] == ["Late payment, overdue amounts, interest"]


def test_quoting_widens_the_search_when_the_first_one_is_insufficient(world: Any) -> None:
    one = world(Quoting())
    turn = one.ask("What interest does someone have to bear each month who never pays what they owe on time?").turn
    assert [plan.attempt for plan in one.search.plans][:2] == [0, 1]
    assert any("1.5 %" in item.passage.text for item in turn.evidence)


def test_a_model_that_words_nothing_otherwise_changes_no_retry(world: Any) -> None:
    plans = []
    for reply in (None, {"wordings": "none"}, {}):
        model = ScriptedModel(WRONG, WRONG, WRONG)
        model.replies = [reply]
        one = world(model)
        one.ask(PENALTY, fresh=True, mode=Mode.DOCUMENTS)
        plans.append([query.text for query in one.search.plans[1].sub_queries])
    assert plans[0] == plans[1] == plans[2]


def test_quoting_does_not_select_twice_from_the_same_passages(world: Any) -> None:
    turn = world(Quoting(), review_threshold=1.0).ask(PENALTY).turn
    assert turn.status is TurnStatus.FLAGGED and turn.path.count("generator") < 3


@pytest.mark.parametrize("fault", ["relevance", "completeness"])
def test_answer_the_critic_finds_irrelevant_or_incomplete_is_not_accepted(world: Any, fault: str) -> None:
    model = ScriptedModel(RIGHT)
    model.replies = [critique("supported") | {fault: 1}]
    refused = world(model, max_retries=0).ask(PENALTY).turn.attempts[0].verdict
    assert not refused.accepted and any("scripted finds" in reason for reason in refused.reasons)
    praised = ScriptedModel(RIGHT)
    praised.replies = [critique("supported")]
    accepted = world(praised).ask(PENALTY, fresh=True).turn
    assert accepted.status is TurnStatus.ANSWERED
    assert refused.confidence < accepted.verdict.confidence


def out_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the nodes of a turn find its time used up, whatever other threads ask of the clock."""
    monkeypatch.setattr("pincite.core.graph.context.time", SimpleNamespace(monotonic=lambda: math.inf))


@pytest.mark.behaviour(
    "Enough?",
    "The retries end with their number, with the time limit, with the step limit, or where a search finds "
    "nothing new; the best draft is kept, not the last.",
)
def test_the_time_budget_ends_the_retries(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    one = world(ScriptedModel(WRONG, WRONG, WRONG), turn_seconds=5)
    out_of_time(monkeypatch)
    turn = one.ask(PENALTY).turn
    assert turn.path.count("rewriter") == 1 and "1.5 % per month" in turn.answer
    assert "quoted instead" in turn.notices[-1]


@pytest.mark.parametrize("in_time", [True, False])
def test_quotations_replace_an_empty_model_answer(world: Any, in_time: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    one = world(ScriptedModel(" "), turn_seconds=5)
    if not in_time:
        out_of_time(monkeypatch)
    turn = one.ask(PENALTY).turn
    assert "1.5 % per month" in turn.answer and turn.citations
    assert turn.status is (TurnStatus.ANSWERED if in_time else TurnStatus.FLAGGED)
    assert "scripted wrote nothing" in turn.notices[0] and ("5 seconds" in turn.notices[0]) != in_time


def test_an_invented_marker_is_removed_and_counts(world: Any) -> None:
    turn = (
        world(ScriptedModel("Overdue amounts bear interest at 1.5 % per month. [9]"), max_retries=0).ask(PENALTY).turn
    )
    assert "[9]" not in turn.answer
    assert turn.verdict.citation_validity.value < 1


def test_prose_that_names_no_page_is_never_accepted(world: Any) -> None:
    loose = "The law on late payment of invoices applies, and the interest is due once the period is over."
    turn = world(ScriptedModel(loose), max_retries=0).ask(PENALTY).turn
    refused = turn.attempts[0].verdict
    assert not refused.accepted and refused.confidence <= 0.5
    assert "Nothing in the answer is tied to a page." in refused.reasons and "law on late" not in turn.answer


def test_a_mention_searches_that_document_alone(world: Any) -> None:
    one = world()
    turn = one.ask("What does @service CONTRACT say about the efficiency of interest on overdue amounts?").turn
    assert turn.intent is Intent.TARGETED_SEARCH
    assert one.search.plans[0].document_ids == ("id-Service contract.pdf",)
    assert {item.document_name for item in turn.evidence} == {"Service contract.pdf"}


def test_partial_name_is_accepted_when_only_one_document_matches(world: Any) -> None:
    turn = world(ScriptedModel(RIGHT, RIGHT)).ask("@service What interest do overdue amounts bear?").turn
    assert "“@service” was taken to mean “Service contract.pdf”" in turn.notices[0]
    assert turn.status is TurnStatus.ANSWERED and {item.document_name for item in turn.evidence} == {
        "Service contract.pdf"
    }


def test_a_mention_is_no_word_of_the_question(world: Any) -> None:
    shelf = Shelf({"ACME_2023_10K.pdf": CONTRACT})
    turn = world(shelf=shelf).ask(f"@ACME_2023_10K.pdf {PENALTY}").turn
    assert "1.5 % per month" in turn.answer and turn.status is TurnStatus.ANSWERED
    [document] = shelf.list()
    assert resolve_mentions("@acme and the rest?", [document])[0] == "acme and the rest?"
    assert resolve_mentions("What does @ACME_2023_10K say?", [document])[0] == "What does ACME_2023_10K say?"
    assert resolve_mentions("@, what?", [document])[1] == resolve_mentions("@a what?", [document])[1] == ()
    assert "called “ac”" in resolve_mentions("@ac What?", [document, document])[2][0]
    assert "several documents have it" in resolve_mentions("@ac What?", [document, document])[2][0]


def test_evidence_is_counted_as_the_answer_cites_it(world: Any) -> None:
    shelf = Shelf({"a.pdf": [*CONTRACT, *REPORT]})
    draft = (
        "The turbine reached an efficiency of 41.7 percent 【2】. Overdue amounts bear interest at 1.5 % per month. [1]"
    )
    turn = world(ScriptedModel(draft), shelf=shelf, max_retries=0).ask("What interest, what efficiency?").turn
    numbers = [citation.number for citation in turn.citations]
    assert numbers == sorted(numbers) and "[1]" in turn.answer
    assert turn.answer.index("[1]") < turn.answer.index("[2]") and "【" not in turn.answer
    pages = {item.number: (item.passage.document_id, item.passage.page_index) for item in turn.evidence}
    assert all(pages[citation.number] == (citation.document_id, citation.page_index) for citation in turn.citations)


@pytest.mark.behaviour(
    "Router", "In the mode *Chat* nothing is searched, and the mode is offered only where a model can chat."
)
def test_chat_mode_never_searches(world: Any) -> None:
    one = world(ScriptedModel("Sure."))
    assert one.ask(PENALTY, mode=Mode.CHAT).turn.path == ("router", "generator")
    assert not one.search.plans


def test_unread_pages_are_reported(world: Any) -> None:
    turn = world(shelf=Shelf({"report.pdf": REPORT}, coverage=0.5)).ask("What efficiency did the turbine reach?").turn
    assert turn.notices == ("Could not be read, so not searched: 1 of 2 pages of “report.pdf”.",)


@pytest.mark.parametrize("question", ["How heavy is the turbine?", "Which zebra painted Quebec?", "What is on page 9?"])
def test_nothing_unread_supports_a_denial(world: Any, question: str) -> None:
    """By way of the judge, of the review after a search without results, and of a place that is looked up."""
    text = (
        "The turbine stands on the north pier and was built by Orlan Marine. It reached an efficiency of 41.7 percent "
        "in the second trial. Visitors keep to the marked paths, and children enter the pier with an adult only."
    )
    whole, partly = (
        world(Quoting(), shelf=Shelf({"report.pdf": (text, text)}, coverage=share)).ask(question).turn
        for share in (1.0, 0.5)
    )
    assert present(whole).form is present(partly).form is not Form.ANSWER
    assert any("Could not be read" in notice for notice in partly.notices)
    if present(partly).form is Form.NOT_FOUND:
        assert partly.verdict.confidence == min(whole.verdict.confidence, UNREAD_DENIAL) <= 0.6


def test_a_denial_over_a_word_file_names_what_was_not_read(world: Any) -> None:
    class Headed(Shelf):
        def list(self) -> list[Document]:
            return [replace(d, notes=(f"{NOT_READ}headers, comments.",)) for d in super().list()]

    shelf = {"lease.docx": ["The rent of the flat is 900 euros a month.", "The tenant keeps the stairs clean."]}
    for question in ("How heavy is the flat?", "Which zebra painted Quebec?", "What does clause 9.4 say?"):
        turn = world(Quoting(), shelf=Headed(shelf)).ask(question).turn
        assert present(turn).form is Form.EVIDENCE or turn.verdict.confidence <= UNREAD_DENIAL
        assert "Not read in “lease.docx”: headers, comments." in turn.notices


@pytest.mark.parametrize("before", ["", "The Tenant may keep one cat. "])
def test_what_is_only_proposed_is_never_a_headline_and_is_to_be_checked(world: Any, before: str) -> None:
    page = (
        "5.1 The flat has two rooms and a cellar. [Proposed insertion by R. Dahl, 2025-03-04: "
        f"{before}The Tenant may also keep one small dog weighing no more than 8 kilograms.]"
    )
    shelf = Shelf({"lease.docx": [page, "The rent is 1,450 euros a month."]})
    turn = world(Quoting(), shelf=shelf).ask("How heavy may the dog be?").turn
    assert "8 kilograms" in turn.answer and "Proposed insertion by R. Dahl" in turn.answer
    assert present(turn).form is Form.EVIDENCE


class HalfRead(Shelf):
    """A document with two more pages that are not read yet."""

    def list(self) -> list[Document]:
        return [replace(d, page_count=d.page_count + 2, status=DocumentStatus.READING) for d in super().list()]

    def page(self, document_id: str, page_index: int) -> Page:
        if page_index >= len(self.texts[document_id]):
            raise UnknownDocumentError(f"Page {page_index + 1} is not in the library.", hint="It may still be unread.")
        return super().page(document_id, page_index)

    def coverage(self, document_id: str) -> Coverage:
        pages = len(self.texts[document_id])
        return Coverage(pages + 2, pages)


@pytest.mark.parametrize(
    "question",
    [
        "What does page 2 of the contract say?",
        "What does section 44 say?",
        "What is on page 5?",
        "What is on the last page of the contract?",
        "What is said under section 7.3 and who led the measurements?",
        PENALTY,
    ],
)
def test_a_question_about_a_half_read_document_is_answered_from_what_is_read(world: Any, question: str) -> None:
    turn = world(Quoting(), shelf=HalfRead({"Service contract.pdf": CONTRACT, "report.pdf": REPORT})).ask(question).turn
    assert turn.status is not TurnStatus.FAILED, turn.error
    assert not turn.verdict.declined or turn.verdict.confidence <= UNREAD_DENIAL
    assert "last page" not in question or CONTRACT[-1] not in turn.answer, "it is not the last one"


def test_a_place_is_denied_only_if_its_number_is_nowhere_and_nothing_else_is_asked(world: Any) -> None:
    shelf = {
        "master.pdf": ["1 Fees. This clause 7.1 shall be read with the schedule.", "Fees are due in 30 days."],
        "amendment.pdf": ["The notice in item 7.1 is changed to 60 days by this amendment."],
    }
    changed = world(Quoting(), shelf=Shelf(shelf)).ask("Was clause 7.1 changed by an amendment?").turn
    assert "I found no clause" not in changed.answer
    mentioned = world(Quoting(), shelf=Shelf(shelf)).ask("What does clause 7.1 say?").turn
    assert "I found no clause" not in mentioned.answer
    nowhere = world(Quoting(), shelf=Shelf(shelf)).ask("What does clause 9.4 say?").turn
    assert nowhere.answer == "I found no clause 9.4 in these documents."


def test_document_without_vectors_is_reported_as_searched_by_words(world: Any) -> None:
    class HalfIndexed(Shelf):
        def list(self) -> list[Document]:
            return [replace(d, status=DocumentStatus.FAILED, message="Ollama is away") for d in super().list()]

    turn = world(ScriptedModel(RIGHT), shelf=HalfIndexed({"a.pdf": CONTRACT})).ask(PENALTY).turn
    assert turn.notices == ("“a.pdf” is not fully indexed by meaning (Ollama is away); it was searched by words.",)


def test_each_step_tells_what_it_read_and_decided(world: Any) -> None:
    turn = world(ScriptedModel(RIGHT)).ask(PENALTY).turn
    steps = {step.node: step for step in turn.trace}
    assert steps["rewriter"].returned["plan"]["standalone_question"] == PENALTY
    assert steps["retriever"].returned["evidence"][0]["scores"]["words"] > 0
    assert steps["judge"].returned["verdict"]["claims"][0]["status"] == "supported"
    assert all(step.seconds >= 0 and step.started_at for step in turn.trace)


def test_a_follow_up_builds_on_the_conversation_also_after_a_restart(world: Any, tmp_path: Path) -> None:
    first = world(ScriptedModel(RIGHT))
    first.ask(PENALTY)
    first.close()
    model = ScriptedModel(RIGHT)
    world(model).ask("And from which date?")
    assert [message.text for message in model.requests[0].history] == [PENALTY, RIGHT.removesuffix(" [1]")]


def critique(status: str, relevance: float = 10) -> dict[str, Any]:
    return {
        "claims": [{"number": 1, "status": status, "words": "at 1.5 % per month"}],
        "relevance": relevance,
        "completeness": 10,
        "missing": ["the due date"],
    }


def test_a_critic_can_lower_a_verdict_and_its_gaps_are_searched(world: Any) -> None:
    model = ScriptedModel("Interest on overdue amounts is 1.5 % per month. [1]", RIGHT)
    model.replies = [critique("not there"), None, critique("supported")]  # none of the question's wordings
    one = world(model)
    turn = one.ask(PENALTY).turn
    assert turn.status is TurnStatus.ANSWERED and turn.answer == RIGHT
    first, second = turn.attempts
    assert not first.verdict.accepted and "scripted: unsupported" in first.verdict.claims[0].reason
    assert second.verdict.accepted and second.verdict.critic == "scripted"
    assert "the due date" in [query.text for query in one.search.plans[-1].sub_queries]


def test_critic_cannot_reject_words_that_are_on_the_page(world: Any) -> None:
    model = ScriptedModel("Overdue amounts bear interest at 1.5 % per month from the due date. [1]")
    model.replies = [critique("contradicted")]
    assert world(model).ask(PENALTY).turn.verdict.claims[0].status == "supported"


def test_a_critic_cannot_raise_what_the_rules_found(world: Any) -> None:
    model = ScriptedModel(WRONG)
    model.replies = [critique("supported")]
    turn = world(model, max_retries=0).ask(PENALTY).turn
    refused = turn.attempts[0].verdict
    assert not refused.accepted and refused.claims[0].status != "supported"


@pytest.mark.parametrize("reply", [None, {}, {"claims": "no"}, {"claims": [{"number": 7, "status": "supported"}]}])
def test_a_useless_critique_leaves_the_verdict_of_the_rules(world: Any, reply: Any) -> None:
    model = ScriptedModel(RIGHT)
    model.replies = [reply]
    turn = world(model).ask(PENALTY).turn
    assert turn.status is TurnStatus.ANSWERED and "no usable reply" in turn.verdict.critic


def test_a_decline_is_accepted_once_a_looser_search_agrees(world: Any) -> None:
    model = ScriptedModel("These documents do not say.", "The documents do not say who signed it.")
    turn = world(model, review_threshold=0.0).ask("Who signed the overdue amounts of interest?").turn
    assert turn.status is TurnStatus.ANSWERED and turn.verdict.declined
    assert turn.path.count("retriever") == 2 and not turn.reasons


def test_a_looser_search_can_turn_a_decline_into_an_answer(world: Any) -> None:
    turn = world(ScriptedModel("These documents do not say.", RIGHT)).ask(PENALTY).turn
    assert turn.status is TurnStatus.ANSWERED and turn.answer == RIGHT


@pytest.mark.parametrize("mode", [Mode.AUTO, Mode.DOCUMENTS])
@pytest.mark.parametrize("question", ["What is the capital of France?", "capital of France", "Tell me a fact"])
def test_without_documents_no_model_answers_a_question(world: Any, mode: Mode, question: str) -> None:
    model = ScriptedModel("Paris is the capital of France.")
    turn = world(model, shelf=Shelf({})).ask(question, mode=mode).turn
    assert turn.status is TurnStatus.FAILED and "Paris" not in turn.answer
    assert "no documents to search" in turn.error and "Add a PDF" in turn.error
    assert not model.requests


@pytest.mark.behaviour("Router", "In the mode *Documents* nothing is answered from general knowledge.")
def test_documents_mode_answers_nothing_from_general_knowledge(world: Any) -> None:
    model = ScriptedModel("Hello!", "Paris is the capital of France.")
    one = world(model)
    for question in ("Thank you!", "capital of France"):
        assert one.ask(question, mode=Mode.DOCUMENTS).turn.intent is not Intent.CHAT


def test_small_talk_needs_no_documents(world: Any) -> None:
    assert world(ScriptedModel("Hello!"), shelf=Shelf({})).ask("Hi there, thank you!").turn.answer == "Hello!"


def test_an_unclear_reply_sends_a_question_to_the_documents(world: Any) -> None:
    turn = world(ScriptedModel("Paris.")).ask("capital of France").turn
    assert turn.intent is Intent.DOCUMENT_SEARCH and "Paris" not in turn.answer


def test_repeated_thanks_are_small_talk_at_once(world: Any) -> None:
    assert _by_wish(read("thank you " * 500), ())[0] is Intent.CHAT


def test_a_question_of_yes_or_no_is_answered_with_the_sentence_that_decides_and_no_word_before_it(world: Any) -> None:
    for asked in ("1.5 %", "5 %"):
        turn = world(Quoting()).ask(f"Do overdue amounts bear interest at {asked} per month?").turn
        assert turn.parts[0].kind is PartKind.VERBATIM and "1.5 % per month" in turn.parts[0].text
        assert {claim.status for claim in turn.verdict.claims} == {ClaimStatus.SUPPORTED}


def test_model_receives_what_code_read_and_a_disagreement_is_reported(world: Any) -> None:
    asked = "Who led the measurements in Lisbon?"
    model = ScriptedModel(*["The turbine reached an efficiency of 41.7 percent in the second trial. [1]"] * 3)
    turn = world(model).ask(asked).turn
    (read,) = model.requests[0].stated
    assert "Ada Moreno" in read.text
    statement = f"The pages themselves say: “{read.text}”."
    assert read.text in turn.answer and statement not in turn.notices, "the quotation replaces the notice"
    nameless = world(ScriptedModel("A doctor led the measurements in Lisbon. [1]"), max_retries=0).ask(asked).turn
    assert statement in nameless.notices and nameless.path.count("generator") == 1
    calm = world(ScriptedModel(*["Dr. Ada Moreno led the measurements in Lisbon. [1]"] * 3)).ask(asked).turn
    assert not any("Read by code" in notice for notice in calm.notices)


def test_what_a_model_thinks_is_kept_apart_and_judged_by_nobody(world: Any) -> None:
    thought = "<think>Interest is 9 % per week [7].</think>\n"
    turn = world(ScriptedModel(thought + RIGHT)).ask(PENALTY).turn
    assert turn.status is TurnStatus.ANSWERED and turn.path.count("generator") == 1
    assert turn.thoughts == "Interest is 9 % per week [7]."
    assert "9 %" not in turn.answer and all("9 %" not in claim.text for claim in turn.verdict.claims)
    step = next(step for step in turn.trace if step.node == "generator")
    assert step.returned["thoughts"] == turn.thoughts and step.returned["removed markers"] == 0


@pytest.mark.parametrize(
    "swallowed",
    [
        "Let me see: 9 %.</think>",
        "<thinking>Let me see: 9 %.</thinking>",
        " <thought>Let me see: 9 %.</thought>\n\n",
        "<reasoning>\nLet me see: 9 %.\n</reasoning>",
        "[THINK]Let me see: 9 %.[/THINK]",
        "◁think▷Let me see: 9 %.◁/think▷",
        "<|channel|>analysis<|message|>Let me see: 9 %.<|end|><|start|>assistant<|channel|>final<|message|>",
    ],
)
def test_thoughts_are_recognised_by_their_end_tag_alone(world: Any, swallowed: str) -> None:
    turn = world(ScriptedModel(swallowed + RIGHT)).ask(PENALTY).turn
    assert turn.thoughts == "Let me see: 9 %." and "9 %" not in turn.answer


def test_a_mark_that_a_document_speaks_of_ends_no_thoughts(world: Any) -> None:
    page = "Each prompt of the rotor controller closes with </think> and a blank line."
    shelf = Shelf({"manual.pdf": [page]})
    turn = world(ScriptedModel(f"{page} [1]"), shelf=shelf).ask("What closes each prompt of the rotor controller?").turn
    assert turn.answer.startswith("Each prompt") and not turn.thoughts


def test_a_model_that_only_thinks_leaves_the_word_to_quotations(world: Any) -> None:
    turn = world(ScriptedModel("<think>Nine percent, or was it")).ask(PENALTY).turn
    assert "1.5 %" in turn.answer and "wrote nothing" in turn.notices[0]


@pytest.mark.behaviour(
    "Router",
    "The text of a page or section that is named is quoted, and if there is no such page, the answer states it.",
)
def test_requested_page_is_quoted_and_missing_page_is_reported(world: Any) -> None:
    turn = world(Quoting()).ask("What does page 2 of the contract say?").turn
    assert turn.status is TurnStatus.ANSWERED and CONTRACT[1] in turn.answer, turn.reasons
    assert [citation.page_label for citation in turn.citations] == ["2"]
    nowhere = world(Quoting()).ask("What is on page 9?").turn
    assert nowhere.answer == "I found no page 9 in these documents." and nowhere.verdict.declined
    assert present(nowhere).tier is Tier.ANSWERED and nowhere.path == ("router", "rewriter", "retriever", "judge")
    written = world(ScriptedModel()).ask("What does page 2 of the contract say?").turn
    assert written.parts == turn.parts, "a model has no part in it"
    doubted = world(Quoting(), review_threshold=0.99).ask("What does page 2 of the contract say?").turn
    assert present(doubted).tier is Tier.DO_NOT_RELY and len(doubted.attempts) == 1 and doubted.parts == turn.parts
    section = world(Quoting()).ask("What does section 44 say?").turn
    assert section.answer == "I found no section 44 in these documents."


def test_a_question_for_a_page_reads_that_page_alone(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    one, read = world(Quoting()), list[int]()
    pages = one.shelf.pages

    def noted(document_id: str, wanted: Iterable[int]) -> Sequence[Page]:
        found = list(pages(document_id, wanted))
        read.extend(page.page_index for page in found)
        return found

    monkeypatch.setattr(one.shelf, "pages", noted)
    turn = one.ask("What does page 2 of the contract say?").turn
    assert [item.passage.page_index for item in turn.evidence] == [1] and set(read) == {1}


def test_what_is_counted_on_a_page_is_not_answered_with_the_page(world: Any) -> None:
    turn = world(Quoting()).ask("How many colours are on page 2 of the contract?").turn
    assert turn.intent is not Intent.SURVEY and present(turn).form is not Form.ANSWER


class Headed(Shelf):
    """Pages on which each line in capitals is a heading."""

    def page(self, document_id: str, page_index: int) -> Page:
        plain, blocks, at = super().page(document_id, page_index), list[Block](), 0
        for line in plain.text.split("\n"):
            kind = BlockKind.HEADING if line.isupper() else BlockKind.PARAGRAPH
            blocks.append(Block(at, at + len(line), kind))
            at += len(line) + 1
        return replace(plain, blocks=tuple(blocks))


def test_text_under_a_heading_is_quoted_when_the_question_names_only_the_heading(world: Any) -> None:
    shelf = Headed(
        {
            "terms.pdf": (
                "4 STOCK\nBoxes are kept dry.\n5 LATE FEES\nThe board sets a rate.\nIt is due by the week.\n6 LAW\nX.",
                "Nothing else is agreed between the two sides.",
            )
        }
    )
    for question in ("What do the terms say about late fees?", "late fees"):
        turn = world(Quoting(), shelf=shelf, search=WordSearch(shelf, floor=0.1)).ask(question).turn
        assert turn.parts[0].text == "5 LATE FEES\nThe board sets a rate.\nIt is due by the week.", turn.answer
        assert present(turn).tier is Tier.ANSWERED and turn.parts[0].probability == NAMED_WHOLE


@pytest.mark.behaviour("Plans", "Each part of a question is searched separately, and is answered or reported as open.")
def test_each_question_part_is_answered_or_reported_as_unanswered(world: Any) -> None:
    asked = "Who led the measurements in Lisbon, and what efficiency did the turbine reach?"
    turn = world(Quoting()).ask(asked).turn
    assert "Ada Moreno" in turn.answer and "41.7 percent" in turn.answer
    assert turn.answer.count("Ada Moreno") == 2, "the name, and the sentence that proves it"


def test_supported_answer_with_low_confidence_needs_checking_but_no_review(world: Any) -> None:
    turn = world(ScriptedModel(RIGHT)).ask(PENALTY).turn
    shown = replace(turn, verdict=replace(turn.verdict, confidence=0.5))
    assert present(shown).tier is Tier.CHECK and "50%" in present(shown).warning
    assert present(replace(shown, verdict=replace(turn.verdict, confidence=0.9))).tier is Tier.ANSWERED
    assert present(replace(shown, status=TurnStatus.FLAGGED)).tier is Tier.DO_NOT_RELY
    nothing = replace(shown, verdict=replace(turn.verdict, confidence=0.6, declined=True, claims=()))
    assert present(nothing).tier is Tier.ANSWERED, "it claims nothing"


@pytest.mark.behaviour(
    "Evaluator",
    "An answer is shown if it is sure by a calibrated confidence, else the most relevant passages; prose that "
    "is doubted has a line that names what to check, or waits for a person.",
)
def test_where_no_answer_is_sure_passages_are_listed_and_wait_for_nobody(world: Any) -> None:
    turn = world(Quoting()).ask("What is said of the notice?").turn
    assert (
        present(turn).form is Form.EVIDENCE
        and turn.status is TurnStatus.ANSWERED
        and present(turn).tier is Tier.ANSWERED
    )
    assert turn.citations and all(claim.status is ClaimStatus.SUPPORTED for claim in turn.verdict.claims)
    for one in listed_passages(turn.parts):
        [number] = one.numbers
        item = next(item for item in turn.evidence if item.number == number)
        assert item.document_name in one.where and all(part.text in item.passage.text for part in one.parts)


@pytest.mark.parametrize(
    ("sentence", "kept"),
    [("The bridge may be used by forty people.", False), ("The supplier’s insurer employs forty people.", True)],
)
def test_follow_up_that_refers_back_is_answered_about_its_referent(sentence: str, kept: bool) -> None:
    asked, before = "How many people does it employ?", Exchange("", "Who insures the supplier?", "A fund.")
    evidence = (Evidence(1, Passage("p", "d", 0, "1", sentence, 0, len(sentence)), "a.pdf"),)
    parts = (AnswerPart(sentence, (1,), PartKind.VERBATIM, 0, probability=0.9),)
    state = TurnState(asked, plan=plan_after(asked, [before]), parts=parts, evidence=evidence)
    verdict = verdict_of(asked, parts, evidence, removed_markers=0, page_text=lambda *_: sentence, threshold=0.5)
    capped = capped_by_topic(state, verdict, 0.5)
    assert (capped is verdict) == kept and (
        kept or (capped.confidence <= 0.3 and not capped.accepted and capped.reasons)
    )
