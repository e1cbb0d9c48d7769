"""A user's own decisions correct the confidence once they are many and mixed enough, and not before."""

from dataclasses import replace
from pathlib import Path

from core.domain.answers import ClaimStatus, Verdict
from core.domain.documents import Passage
from core.domain.search import Evidence, Mode
from core.domain.turns import Review, ReviewDecision, Turn, TurnStatus
from core.judge.confidence import Recalibration, reliability
from core.judge.learning import OwnReviews, learn
from core.judge.verdict import verdict_of
from core.text.marks import read_marks

TEXT = "The tenant pays a rent of 900 euros on the first day of each month. The tenant may keep one cat."
FAITHFUL = "The rent is 900 euros, paid on the first day of each month [1]."
CAPPED = "The rent is 950 euros, paid on the first day of each month [1]."
OFF_THE_QUESTION = "The tenant may keep one cat [1]."
INVENTED = "Subletting needs the written consent of the landlord and costs a fee [1]."


def page_text(document_id: str, page_index: int) -> str:
    return TEXT


def decided(number: int, answer: str, decision: ReviewDecision) -> Turn:
    evidence = (Evidence(1, Passage("p", "d", 0, "1", TEXT, 0, len(TEXT)), "lease.pdf"),)
    parts = read_marks(answer)[0]
    verdict = verdict_of("What is the rent?", parts, evidence, removed_markers=0, page_text=page_text, threshold=0.65)
    review = Review(str(number), decision, answer, "", "anna", "2026-01-01T00:00:00+00:00")
    return Turn(
        str(number), "s", number, "What is the rent?", Mode.DOCUMENTS, ("d",), "ollama", TurnStatus.REVIEWED, "",
        answer=answer, parts=parts, verdict=verdict, evidence=evidence, review=review,
    )  # fmt: skip


def test_few_or_one_sided_decisions_only_count() -> None:
    approved = [decided(number, FAITHFUL, ReviewDecision.APPROVED) for number in range(60)]
    assert learn([], page_text) == OwnReviews(0, 0)
    assert learn(approved, page_text) == OwnReviews(60, 0)
    assert learn([*approved[:20], decided(99, INVENTED, ReviewDecision.EDITED)], page_text) == OwnReviews(20, 1)


def test_drafts_that_claim_nothing_teach_nothing() -> None:
    empty = replace(decided(1, FAITHFUL, ReviewDecision.APPROVED), verdict=None)
    assert learn([empty], page_text) == OwnReviews(0, 0)


def test_decisions_against_the_confidence_correct_it() -> None:
    strict = [decided(number, FAITHFUL, ReviewDecision.REJECTED) for number in range(40)]
    own = learn(
        [*strict, *(decided(100 + number, FAITHFUL, ReviewDecision.APPROVED) for number in range(20))], page_text
    )
    assert own.learned is not None and own.learned != Recalibration()
    assert own.refitted_error < own.shipped_error, "a third of them stood, far fewer than was said"
    assert sum(part.count for part in own.refitted) == 60
    assert own.effects[0.95].flagged == 1.0


def test_a_learned_correction_reaches_the_verdict(tmp_path: Path) -> None:
    turn = decided(1, FAITHFUL, ReviewDecision.APPROVED)
    assert turn.verdict is not None
    doubting = verdict_of(
        turn.question,
        turn.parts,
        turn.evidence,
        removed_markers=0,
        page_text=page_text,
        threshold=0.65,
        recalibration=Recalibration(1.0, -4.0),
    )
    assert doubting.confidence < turn.verdict.confidence
    assert not doubting.accepted


def test_what_is_calibrated_is_the_confidence_that_is_shown() -> None:
    answers = (CAPPED, OFF_THE_QUESTION, INVENTED, FAITHFUL)
    turns = [decided(number, answers[number % 4], ReviewDecision(("approved", "rejected")[number % 2]))
             for number in range(80)]  # fmt: skip
    own = learn(turns, page_text)
    shown = [turn.verdict.confidence for turn in turns if turn.verdict]
    stood = [turn.review.decision is ReviewDecision.APPROVED for turn in turns if turn.review]
    assert own.shipped == reliability(shown, stood, bins=5)


def test_what_a_critic_lowered_teaches_nothing_of_the_rules() -> None:
    turns = [decided(number, FAITHFUL, ReviewDecision.APPROVED) for number in range(60)]
    lowered = [decided(100 + number, FAITHFUL, ReviewDecision.REJECTED) for number in range(40)]
    lowered = [replace(turn, verdict=_doubted(turn.verdict)) for turn in lowered]
    own = learn([*turns, *lowered], page_text)
    assert (own.right, own.wrong) == (60, 40)
    assert sum(part.count for part in own.shipped) == 60


def _doubted(verdict: Verdict | None) -> Verdict:
    assert verdict is not None
    claims = tuple(replace(claim, status=ClaimStatus.UNSUPPORTED) for claim in verdict.claims)
    return replace(verdict, claims=claims, critic="a model")
