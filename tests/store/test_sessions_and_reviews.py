"""Sessions come, are found, exported and go without a trace; decisions of people are kept and work on."""

import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from pincite.core.domain.answers import AnswerPart, Citation
from pincite.core.domain.codec import readable
from pincite.core.domain.errors import TurnError
from pincite.core.domain.turns import FeedbackKind, ReviewDecision, Turn, TurnStatus
from pincite.core.judge.citations import cite_edited
from pincite.core.store.reviews import Reviews
from pincite.core.text.marks import plain_text, read_marks
from tests.graph.world import ScriptedModel, World
from tests.support.rows import run_sql

pytestmark = pytest.mark.usefixtures("each_engine")

RIGHT = "Overdue amounts bear interest at 1.5 % per month. [1]"
WRONG = "Overdue amounts bear interest at 5 % per week. [1]"
PENALTY = "What interest do overdue amounts bear?"


EVERYTHING = ("id-Service contract.pdf", "id-report.pdf")


class Desk:
    """A world with reviews wired as the runtime wires them."""

    def __init__(self, directory: Path, *answers: str, **choices: Any) -> None:
        self.model = ScriptedModel(*answers)
        self.world = World(
            directory, self.model, recall=lambda question, ids: self.reviews.reviewed_match(question, ids), **choices
        )
        self.reviews = Reviews(self.world.database, self.world.turns, cite=self._cite)

    def _cite(self, turn: Turn, text: str) -> tuple[tuple[AnswerPart, ...], tuple[Citation, ...]]:
        cited = cite_edited(text, (), turn.evidence, self.world.shelf.page_text)
        return cited.parts, cited.citations


@pytest.fixture
def flagged(tmp_path: Path) -> Iterator[tuple[Desk, Turn]]:
    desk = Desk(tmp_path, WRONG, WRONG, WRONG, review_threshold=1.0)
    turn = desk.world.ask(PENALTY).turn
    assert turn.status is TurnStatus.FLAGGED
    yield desk, turn
    desk.world.close()


@pytest.mark.behaviour("Memory", "What was asked and answered in sessions is found by word and by meaning.")
def test_a_session_is_named_after_its_first_question_and_found_by_it(tmp_path: Path) -> None:
    world = World(tmp_path, ScriptedModel(RIGHT, "Hello."))
    world.ask(PENALTY)
    world.ask("Hi!")
    other = world.sessions.create("Turbines")
    assert [session.title for session in world.sessions.list()] == ["Turbines", PENALTY]
    assert [session.id for session in world.sessions.list("overdue AMOUNTS")] == [world.session.id]
    assert [session.id for session in world.sessions.list("BEAR interest at 1.5")] == [world.session.id], "an answer"
    turn = world.turns.of_session(world.session.id)[0]
    edited = (AnswerPart("Eleven per cent."),)
    reviews = Reviews(world.database, world.turns, cite=lambda turn, text: (edited, ()))
    reviews.decide(turn.id, ReviewDecision.EDITED, final_answer="Eleven per cent.")
    assert [session.id for session in world.sessions.list("eleven per cent")] == [world.session.id], "a reviewed one"
    assert world.sessions.list("100%") == []
    world.sessions.rename(other.id, "  Wind   power ")
    assert world.sessions.get(other.id).title == "Wind power"
    world.close()


def test_a_deleted_session_leaves_nothing_behind(tmp_path: Path) -> None:
    world = World(tmp_path, ScriptedModel(RIGHT))
    turn = world.ask(PENALTY).turn
    reviews = Reviews(world.database, world.turns, cite=lambda turn, text: ((), ()))
    reviews.decide(turn.id, ReviewDecision.APPROVED)
    reviews.feedback(turn.id, FeedbackKind.GOOD)
    for table in ("turns", "trace_steps", "reviews", "feedback", "sessions"):
        assert run_sql(world, f"SELECT count(*) FROM {table}").scalar_one(), table
    world.sessions.delete(world.session.id)
    with pytest.raises(TurnError):
        world.turns.get(turn.id)
    for table in ("turns", "trace_steps", "reviews", "feedback", "sessions"):
        assert run_sql(world, f"SELECT count(*) FROM {table}").scalar_one() == 0, table
    world.close()


def test_the_export_names_document_page_and_quotation(tmp_path: Path) -> None:
    world = World(tmp_path, ScriptedModel(RIGHT))
    world.ask(PENALTY)
    text = world.sessions.export_markdown(world.session.id)
    assert f"## {PENALTY}" in text and RIGHT in text
    assert "- [1] Service contract.pdf, page 1: “Overdue amounts bear interest at 1.5 % per month" in text
    world.close()


def test_the_export_keeps_lists_and_markers_but_no_image_link_or_html(tmp_path: Path) -> None:
    hostile = "![x](http://evil.example/x) [y](http://evil.example) <img src=x> www.evil.example a@evil.example"
    answer = (
        f"- **Late:** [1](http://evil.example) {hostile}\n- 1.5 % [1, 2]. [2]\n\n[1]: http://evil.example\n\n|a|\n|-|"
    )
    parts, _ = read_marks(answer, {1: "", 2: ""})
    world = World(tmp_path, ScriptedModel(RIGHT))
    turn = world.ask(PENALTY).turn
    citation = replace(turn.citations[0], document_name=hostile, page_label="<b>", quotation=hostile)
    world.sessions.rename(world.session.id, hostile)
    for status in (TurnStatus.ANSWERED, TurnStatus.FLAGGED):
        world.turns.save(
            replace(turn, status=status, question=hostile, parts=parts, citations=(citation,), reasons=(hostile,))
        )
        text = world.sessions.export_markdown(world.session.id)
        blocks = MarkdownIt().enable("table").parse(text)
        kinds = {token.type for block in blocks for token in [block, *(block.children or ())]}
        assert kinds >= {"strong_open", "bullet_list_open", "table_open"}
        assert not kinds & {"image", "link_open", "html_block", "html_inline"}
        assert "- 1.5 % [1, 2]. [2]" in text
        outside_code = re.sub(r"`[^`]*`", "", text)
        assert not re.search(r"://|www\.|\w@", outside_code), "viewers make links of bare addresses, though not in code"
        assert hostile in text, "the quotation is there character for character"
    world.close()


FORGED = (
    "Nothing is known.\n\n*Reviewed (approved) by Ada, 2026-01-01.*\n\n- [1] Law.pdf, page 1: “Pay nothing.”",
    "# Law\n\n## What must I pay?\n\nNothing\n===\n\nx\n---",
    "It is so.\r## Heading\r\r*Confidence 100%.*\x0b## More\u2028## Yet more\x85## And more",
    "```\nAn open fence\n\n~~~\nand another",
    "<!-- an open comment\n\n<details>",
    "> quoted\nlazily\n\n1. one\n\n   *Reviewed (approved) by Ada, 2026-01-01.*",
    "    indented\n\n\tcode\n\n[1]: http://evil.example\n\n|a|\n|-|\n|b|",
    "\x1b[2J\x1b]8;;http://evil.example\x07red\u202edetrever\x9b31m",
)


@pytest.mark.parametrize("forged", FORGED)
def test_nothing_foreign_forges_a_line_of_the_export(tmp_path: Path, forged: str) -> None:
    world = World(tmp_path, ScriptedModel(RIGHT))
    turn = world.ask(PENALTY).turn
    citation = replace(turn.citations[0], document_name=forged, page_label=forged, quotation=forged)
    world.sessions.rename(world.session.id, forged)
    world.turns.save(
        replace(turn, status=TurnStatus.FLAGGED, question=forged, parts=(AnswerPart(forged),), citations=(citation,),
                reasons=(forged,))
    )  # fmt: skip
    text = world.sessions.export_markdown(world.session.id)
    blocks = MarkdownIt().enable("table").parse(text)
    outermost = [(token.type, token.tag) for token in blocks if token.level == 0 and token.nesting >= 0]
    assert outermost == [
        *(("heading_open", "h1"), ("paragraph_open", "p"), ("heading_open", "h2"), ("blockquote_open", "blockquote")),
        *(("paragraph_open", "p"), ("bullet_list_open", "ul")),
    ], text
    assert sum(token.type == "list_item_open" and token.level == 1 for token in blocks) == 1
    assert text.isprintable() or all(sign.isprintable() or sign == "\n" or sign in "\u2060\xa0\t" for sign in text)
    world.close()


def test_a_name_cannot_be_read_as_a_source_of_its_own(tmp_path: Path) -> None:
    world = World(tmp_path, ScriptedModel(RIGHT))
    turn = world.ask(PENALTY).turn
    citation = replace(turn.citations[0], document_name="Law.pdf, page 9: “Pay nothing.” x.pdf")
    world.turns.save(replace(turn, citations=(citation,)))
    assert "- [1] `Law.pdf, page 9: “Pay nothing.” x.pdf`, page 1: “" in world.sessions.export_markdown(turn.session_id)
    world.close()


def test_what_failed_and_who_reviewed_is_no_markdown_in_the_export(flagged: tuple[Desk, Turn]) -> None:
    desk, turn = flagged
    desk.world.turns.save(replace(turn, status=TurnStatus.FAILED, answer="", parts=(), error="Lost <b>"))
    assert "*Failed.* Lost \\<b\\>" in desk.world.sessions.export_markdown(turn.session_id)
    desk.world.turns.save(turn)
    desk.reviews.decide(turn.id, ReviewDecision.EDITED, final_answer=f"<i>{RIGHT}", reviewer="<b>")
    text = desk.world.sessions.export_markdown(turn.session_id)
    assert "by \\<b\\>, " in text and f"\\<i>{RIGHT}" in text


def test_edit_gets_new_citations_and_is_shown_from_then_on(flagged: tuple[Desk, Turn], tmp_path: Path) -> None:
    desk, turn = flagged
    assert desk.world.turns.count_flagged() == 1
    desk.reviews.decide(turn.id, ReviewDecision.EDITED, final_answer=RIGHT, note="read the clause", reviewer="Ada")
    desk.world.close()
    world = World(tmp_path)
    reviewed = world.turns.get(turn.id)
    assert reviewed.status is TurnStatus.REVIEWED and world.turns.count_flagged() == 0
    assert reviewed.review is not None and reviewed.review.reviewer == "Ada"
    assert reviewed.review.final_answer == RIGHT
    assert "1.5 % per month" in reviewed.review.citations[0].quotation
    world.close()


def test_later_turns_build_on_the_reviewed_answer(flagged: tuple[Desk, Turn]) -> None:
    desk, turn = flagged
    desk.reviews.decide(turn.id, ReviewDecision.EDITED, final_answer=RIGHT)
    desk.model.answers = [RIGHT]
    desk.world.ask("And how is it paid?")
    assert [message.text for message in desk.model.requests[-1].history] == [PENALTY, RIGHT.removesuffix(" [1]")]


@pytest.mark.behaviour(
    "Review",
    "The same question (the same words in the same order) gets the reviewed answer again, until its document "
    "changes or goes; a similar one is offered it.",
)
def test_the_same_question_gets_the_reviewed_answer_until_its_document_goes(flagged: tuple[Desk, Turn]) -> None:
    desk, turn = flagged
    desk.reviews.decide(turn.id, ReviewDecision.EDITED, final_answer=RIGHT, reviewer="Ada")
    elsewhere = desk.world.sessions.create()
    again = desk.world.runner.wait(desk.world.runner.ask(elsewhere.id, PENALTY.upper()), 20).turn
    assert again.reused_from == turn.id and again.answer == RIGHT and again.path == ("router",)
    assert "Ada" in again.notices[0]
    assert desk.reviews.reviewed_match("What interest do late amounts bear in 2019?", EVERYTHING) is None
    assert desk.reviews.reviewed_match(PENALTY, ["id-report.pdf"]) is None, "not within another scope"

    assert desk.reviews.mark_stale("id-Service contract.pdf", "“Service contract.pdf” was removed.") == [turn.id]
    assert desk.reviews.reviewed_match(PENALTY, EVERYTHING) is None
    stale = desk.world.turns.get(turn.id)
    assert stale.status is TurnStatus.FLAGGED and stale.reasons[0] == "“Service contract.pdf” was removed."
    assert stale.review is not None and stale.review.stale


def test_a_similar_question_is_offered_the_reviewed_answer(flagged: tuple[Desk, Turn]) -> None:
    desk, turn = flagged
    desk.reviews.decide(turn.id, ReviewDecision.EDITED, final_answer=RIGHT, reviewer="Ada")
    elsewhere = desk.world.sessions.create()
    desk.model.answers = [RIGHT] * 3
    asked = desk.world.runner.ask(elsewhere.id, "Overdue amounts bear what interest?")
    again = desk.world.runner.wait(asked, 20).turn
    assert not again.reused_from and "generator" in again.path
    assert any("A similar question was reviewed" in notice and PENALTY in notice for notice in again.notices)


def test_answer_without_citations_applies_only_to_the_searched_documents(flagged: tuple[Desk, Turn]) -> None:
    desk, turn = flagged
    contract, report = EVERYTHING
    desk.world.turns.save(replace(turn, document_ids=(contract,)))
    desk.reviews.decide(turn.id, ReviewDecision.EDITED, final_answer="These documents do not say.")
    assert desk.reviews.reviewed_match(PENALTY, [contract]) is not None
    assert desk.reviews.reviewed_match(PENALTY, [report]) is None
    assert desk.reviews.reviewed_match(PENALTY, EVERYTHING) is None


def test_old_decisions_go_stale_too(flagged: tuple[Desk, Turn], monkeypatch: pytest.MonkeyPatch) -> None:
    desk, turn = flagged
    desk.reviews.decide(turn.id, ReviewDecision.EDITED, final_answer=RIGHT)
    monkeypatch.setattr("pincite.core.store.reviews.MAX_COMPARED", 0)
    assert desk.reviews.reviewed_match(PENALTY, EVERYTHING) is None
    assert desk.reviews.mark_stale(EVERYTHING[0], "It was removed.") == [turn.id]


@pytest.mark.parametrize("status", [TurnStatus.FAILED, TurnStatus.STOPPED, TurnStatus.INTERRUPTED, TurnStatus.RUNNING])
@pytest.mark.parametrize("decision", list(ReviewDecision))
def test_what_was_never_finished_cannot_be_decided(
    flagged: tuple[Desk, Turn], status: TurnStatus, decision: ReviewDecision
) -> None:
    desk, turn = flagged
    desk.world.turns.save(replace(turn, status=status))
    with pytest.raises(TurnError):
        desk.reviews.decide(turn.id, decision, final_answer=RIGHT)
    assert desk.reviews.history(turn.id) == [] and desk.world.turns.get(turn.id).status is status


def test_a_turn_without_a_draft_cannot_be_approved(flagged: tuple[Desk, Turn]) -> None:
    desk, turn = flagged
    desk.world.turns.save(replace(turn, answer=" "))
    with pytest.raises(TurnError, match="no draft to approve"):
        desk.reviews.decide(turn.id, ReviewDecision.APPROVED)


@pytest.mark.parametrize("second", list(ReviewDecision))
def test_second_decision_is_refused_and_changes_nothing(flagged: tuple[Desk, Turn], second: ReviewDecision) -> None:
    desk, turn = flagged
    desk.reviews.decide(turn.id, ReviewDecision.EDITED, final_answer=RIGHT, reviewer="Ada")
    with pytest.raises(TurnError, match="Ada already edited this answer"):
        desk.reviews.decide(turn.id, second, final_answer="Other.", reviewer="Bob")
    (review,) = desk.reviews.history(turn.id)
    assert (review.reviewer, review.final_answer) == ("Ada", RIGHT)


def test_of_many_who_decide_at_once_one_does(flagged: tuple[Desk, Turn]) -> None:
    desk, turn = flagged
    line, told = threading.Barrier(6), list[str]()

    def decide(name: str) -> None:
        line.wait(300)
        try:
            desk.reviews.decide(turn.id, ReviewDecision.APPROVED, reviewer=name)
        except TurnError as error:
            told.append(error.message)

    tabs = [threading.Thread(target=decide, args=(f"tab {number}",)) for number in range(6)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    assert len(desk.reviews.history(turn.id)) == 1
    assert len(told) == 5 and all("already approved this answer" in message for message in told)


@pytest.mark.parametrize("decision", [ReviewDecision.APPROVED, ReviewDecision.REJECTED])
def test_an_edit_that_is_not_saved_is_never_decided_over(flagged: tuple[Desk, Turn], decision: ReviewDecision) -> None:
    desk, turn = flagged
    desk.reviews.keep_draft(turn.id, RIGHT)
    with pytest.raises(TurnError, match="unsaved edit"):
        desk.reviews.decide(turn.id, decision)
    draft = desk.reviews.draft(turn.id)
    assert draft is not None and draft.text == RIGHT and desk.reviews.history(turn.id) == []
    desk.reviews.discard_draft(turn.id)
    desk.reviews.decide(turn.id, decision)


def test_a_draft_outlives_a_restart_and_goes_with_its_decision(flagged: tuple[Desk, Turn], tmp_path: Path) -> None:
    desk, turn = flagged
    desk.reviews.keep_draft(turn.id, "half a sent")
    desk.reviews.keep_draft(turn.id, RIGHT)
    again = Desk(tmp_path)
    draft = again.reviews.draft(turn.id)
    assert draft is not None and draft.text == RIGHT and again.reviews.drafted() == {turn.id}
    again.reviews.decide(turn.id, ReviewDecision.EDITED, final_answer=RIGHT)
    assert again.reviews.draft(turn.id) is None
    again.reviews.keep_draft("no such turn", RIGHT)
    assert again.reviews.drafted() == set()
    again.world.close()


@pytest.mark.parametrize("decision", list(ReviewDecision))
def test_every_decision_can_be_taken_back(flagged: tuple[Desk, Turn], decision: ReviewDecision) -> None:
    desk, turn = flagged
    desk.reviews.decide(turn.id, decision, final_answer=RIGHT if decision is ReviewDecision.EDITED else "")
    desk.reviews.undo(turn.id)
    waiting = desk.world.turns.get(turn.id)
    assert waiting.status is TurnStatus.FLAGGED and waiting.review is None and waiting.reasons == turn.reasons
    assert desk.reviews.decided(most=9) == [] and desk.reviews.reviewed_match(PENALTY, EVERYTHING) is None
    draft = desk.reviews.draft(turn.id)
    assert (draft.text if draft else None) == (RIGHT if decision is ReviewDecision.EDITED else None)
    assert desk.reviews.history(turn.id)[0].undone_at, "what was decided is kept on record"
    desk.model.answers = [RIGHT]
    desk.world.ask("And how is it paid?")
    assert [message.text for message in desk.model.requests[-1].history] == [PENALTY, plain_text(turn.parts)]
    with pytest.raises(TurnError, match="no decision"):
        desk.reviews.undo(turn.id)


def test_a_question_is_looked_up_without_reading_the_reviews_again(
    flagged: tuple[Desk, Turn], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, turn = flagged
    for number in range(30):
        other = desk.world.turns.create(
            replace(turn, id=f"other{number}", question=f"{PENALTY[:-1]} in {number}?", place=-1)
        )
        desk.world.turns.save(other)
        desk.reviews.decide(other.id, ReviewDecision.EDITED, final_answer=RIGHT)
    desk.reviews.decide(turn.id, ReviewDecision.EDITED, final_answer=RIGHT)
    decoded = list[object]()

    def noted(kind: object, text: str) -> object:
        decoded.append(kind)
        return readable(kind, text)  # type: ignore[arg-type] # a kind as the codec takes it

    monkeypatch.setattr("pincite.core.store.turns.readable", noted)
    for _ in range(3):
        found = desk.reviews.reviewed_match("Which interest do overdue amounts bear?", EVERYTHING)
        assert found is not None and found.turn_id == turn.id
    assert decoded.count(Turn) <= 1, "of 31 reviewed turns the one that answers is decoded, once"
    desk.reviews.reviewed_match("Who measured the turbine?", EVERYTHING)
    assert decoded.count(Turn) <= 1, "a question like no other costs nothing"


def test_nothing_to_search_recalls_nothing(flagged: tuple[Desk, Turn]) -> None:
    desk, turn = flagged
    desk.reviews.decide(turn.id, ReviewDecision.EDITED, final_answer="Paris.")
    assert desk.reviews.reviewed_match(PENALTY, []) is None


def test_every_decision_is_kept(flagged: tuple[Desk, Turn]) -> None:
    desk, turn = flagged
    desk.reviews.decide(turn.id, ReviewDecision.REJECTED, note="wrong figure")
    desk.reviews.send(turn.id)
    desk.reviews.decide(turn.id, ReviewDecision.APPROVED)
    assert [review.decision for review in desk.reviews.history(turn.id)] == [
        ReviewDecision.REJECTED,
        ReviewDecision.APPROVED,
    ]
    assert desk.reviews.reviewed_match(PENALTY, EVERYTHING) is not None


def test_a_rejected_answer_is_never_offered_again(flagged: tuple[Desk, Turn]) -> None:
    desk, turn = flagged
    desk.reviews.decide(turn.id, ReviewDecision.REJECTED)
    assert desk.reviews.reviewed_match(PENALTY, EVERYTHING) is None


def test_thumbs_can_be_given_changed_and_taken_back(flagged: tuple[Desk, Turn]) -> None:
    desk, turn = flagged
    for kind in (FeedbackKind.GOOD, FeedbackKind.BAD, None):
        desk.reviews.feedback(turn.id, kind)
        assert desk.world.turns.get(turn.id).feedback == kind
