"""Sessions come, are found, exported and go without a trace; decisions of people are kept and work on."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from pincite.core.errors import TurnError
from pincite.core.graph.citations import cite
from pincite.core.retrieval.embed import MiniLmEmbedder
from pincite.core.store.reviews import Reviews
from pincite.core.types import Citation, FeedbackKind, ReviewDecision, Turn, TurnStatus
from pincite.tests.graph.world import ScriptedModel, World

RIGHT = "Overdue amounts bear interest at 1.5 % per month. [1]"
WRONG = "Overdue amounts bear interest at 5 % per week. [1]"
PENALTY = "What interest do overdue amounts bear?"


EVERYTHING = ("id-Service contract.pdf", "id-report.pdf")


class Desk:
    """A world with reviews wired as the runtime wires them."""

    def __init__(self, directory: Path, *answers: str) -> None:
        self.model = ScriptedModel(*answers)
        self.world = World(
            directory, self.model, recall=lambda question, ids: self.reviews.reviewed_match(question, ids)
        )
        self.reviews = Reviews(
            self.world.database,
            self.world.turns,
            embedder=MiniLmEmbedder,
            cite=self._cite,
            decided=self.world.runner.remember,
        )

    def _cite(self, turn: Turn, text: str) -> tuple[Citation, ...]:
        return cite(text, turn.evidence, self.world.shelf.page_text).citations


@pytest.fixture
def flagged(tmp_path: Path) -> Iterator[tuple[Desk, Turn]]:
    desk = Desk(tmp_path, WRONG, WRONG, WRONG)
    turn = desk.world.ask(PENALTY).turn
    assert turn.status is TurnStatus.FLAGGED
    yield desk, turn
    desk.world.close()


def test_a_session_is_named_after_its_first_question_and_found_by_it(tmp_path: Path) -> None:
    world = World(tmp_path, ScriptedModel(RIGHT, "Hello."))
    world.ask(PENALTY)
    world.ask("Hi!")
    other = world.sessions.create("Turbines")
    assert [session.title for session in world.sessions.list()] == ["Turbines", PENALTY]
    assert [session.id for session in world.sessions.list("overdue AMOUNTS")] == [world.session.id]
    assert world.sessions.list("100%") == []
    world.sessions.rename(other.id, "  Wind   power ")
    assert world.sessions.get(other.id).title == "Wind power"
    world.close()


def test_a_deleted_session_leaves_nothing_behind(tmp_path: Path) -> None:
    world = World(tmp_path, ScriptedModel(RIGHT))
    turn = world.ask(PENALTY).turn
    world.sessions.delete(world.session.id)
    with pytest.raises(TurnError):
        world.turns.get(turn.id)
    for table in ("turns", "trace_steps", "reviews", "feedback", "sessions"):
        assert world.database.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0, table
    for table in ("checkpoints", "writes"):
        assert world.checkpointer.conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0, table
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
    world = World(tmp_path, ScriptedModel(RIGHT))
    turn = world.ask(PENALTY).turn
    citation = replace(turn.citations[0], document_name=hostile, page_label="<b>", quotation=hostile)
    world.sessions.rename(world.session.id, hostile)
    for status in (TurnStatus.ANSWERED, TurnStatus.FLAGGED):
        world.turns.save(
            replace(turn, status=status, question=hostile, answer=answer, citations=(citation,), reasons=(hostile,))
        )
        text = world.sessions.export_markdown(world.session.id)
        blocks = MarkdownIt().enable("table").parse(text)
        kinds = {token.type for block in blocks for token in [block, *(block.children or ())]}
        assert kinds >= {"strong_open", "bullet_list_open", "table_open"}
        assert not kinds & {"image", "link_open", "html_block", "html_inline"}
        assert "- 1.5 % [1, 2]. [2]" in text
        assert not re.search(r"://|www\.|\w@", text), "viewers make links of bare addresses"
    world.close()


def test_what_failed_and_who_reviewed_is_no_markdown_in_the_export(flagged: tuple[Desk, Turn]) -> None:
    desk, turn = flagged
    desk.world.turns.save(replace(turn, status=TurnStatus.FAILED, answer="", error="Lost <b>"))
    assert "*Failed.* Lost \\<b\\>" in desk.world.sessions.export_markdown(turn.session_id)
    desk.world.turns.save(turn)
    desk.reviews.decide(turn.id, ReviewDecision.EDITED, final_answer=f"<i>{RIGHT}", reviewer="<b>")
    text = desk.world.sessions.export_markdown(turn.session_id)
    assert "by \\<b\\>, " in text and f"\\<i>{RIGHT}" in text


def test_an_edit_is_cited_anew_and_shown_from_then_on(flagged: tuple[Desk, Turn], tmp_path: Path) -> None:
    desk, turn = flagged
    assert [waiting.id for waiting in desk.world.turns.flagged()] == [turn.id]
    desk.reviews.decide(turn.id, ReviewDecision.EDITED, final_answer=RIGHT, note="read the clause", reviewer="Ada")
    desk.world.close()
    world = World(tmp_path)
    reviewed = world.turns.get(turn.id)
    assert reviewed.status is TurnStatus.REVIEWED and world.turns.flagged() == []
    assert reviewed.review is not None and reviewed.review.reviewer == "Ada"
    assert reviewed.review.final_answer == RIGHT
    assert "1.5 % per month" in reviewed.review.citations[0].quotation
    world.close()


def test_later_turns_build_on_the_reviewed_answer(flagged: tuple[Desk, Turn]) -> None:
    desk, turn = flagged
    desk.reviews.decide(turn.id, ReviewDecision.EDITED, final_answer=RIGHT)
    desk.model.answers = [RIGHT]
    desk.world.ask("And how is it paid?")
    assert [message.text for message in desk.model.requests[-1].history] == [PENALTY, RIGHT]


def test_the_same_question_gets_the_reviewed_answer_until_its_document_goes(flagged: tuple[Desk, Turn]) -> None:
    desk, turn = flagged
    desk.reviews.decide(turn.id, ReviewDecision.EDITED, final_answer=RIGHT, reviewer="Ada")
    elsewhere = desk.world.sessions.create()
    again = desk.world.runner.wait(
        desk.world.runner.ask(elsewhere.id, "Which interest do overdue amounts bear?"), 20
    ).turn
    assert again.reused_from == turn.id and again.answer == RIGHT and again.path == ("router",)
    assert "Ada" in again.notices[0]
    assert desk.reviews.reviewed_match("What interest do late amounts bear in 2019?", EVERYTHING) is None
    assert desk.reviews.reviewed_match(PENALTY, ["id-report.pdf"]) is None, "not within another scope"

    assert desk.reviews.mark_stale("id-Service contract.pdf", "“Service contract.pdf” was removed.") == [turn.id]
    assert desk.reviews.reviewed_match(PENALTY, EVERYTHING) is None
    stale = desk.world.turns.get(turn.id)
    assert stale.status is TurnStatus.FLAGGED and stale.reasons[0] == "“Service contract.pdf” was removed."
    assert stale.review is not None and stale.review.stale


def test_an_answer_that_cites_nothing_speaks_only_of_what_was_searched(flagged: tuple[Desk, Turn]) -> None:
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
    monkeypatch.setattr(Reviews.reviewed, "__defaults__", (0,))
    assert desk.reviews.reviewed() == []
    assert desk.reviews.mark_stale(EVERYTHING[0], "It was removed.") == [turn.id]


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
