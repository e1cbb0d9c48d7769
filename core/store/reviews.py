"""Decisions of people on turns, kept for good; feedback; and finding a reviewed answer to the same question again."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlalchemy import delete, exists, func, insert, select, update

from pincite.core.domain.answers import AnswerPart, Citation
from pincite.core.domain.codec import to_json
from pincite.core.domain.errors import TurnError
from pincite.core.domain.keys import in_words
from pincite.core.domain.search import APART
from pincite.core.domain.turns import (
    FeedbackKind,
    Recalled,
    Review,
    ReviewDecision,
    ReviewDraft,
    ReviewedLine,
    Turn,
    TurnStatus,
    now,
)
from pincite.core.questions.wording import normalised_words
from pincite.core.store.database import Database
from pincite.core.store.review_log import noted
from pincite.core.store.schema import drafts, feedback, reviews, turns
from pincite.core.store.turns import Turns, mark_changed, review_of, status_of
from pincite.core.text.marks import marked_text
from pincite.core.text.plain import storable
from pincite.core.text.terms import content_terms

MAX_COMPARED = 500

_later = reviews.alias("later")
_HAS_LATER = exists().where(_later.c.turn_id == reviews.c.turn_id, _later.c.id > reviews.c.id, _later.c.undone_at == "")
_HOLDS = (reviews.c.stale == "") & (reviews.c.undone_at == "") & ~_HAS_LATER
"""Condition for a decision to be the latest of its turn, and to count."""
_OF_TURNS = reviews.join(turns, turns.c.id == reviews.c.turn_id)

Parts = tuple[AnswerPart, ...]
Cite = Callable[[Turn, str], tuple[Parts, tuple[Citation, ...]]]


class Reviews:
    """``cite`` reads an edited answer."""

    def __init__(self, database: Database, turns: Turns, *, cite: Cite) -> None:
        self._database = database
        self._turns = turns
        self._cite = cite

    def decide(
        self, turn_id: str, decision: ReviewDecision, *, final_answer: str = "", note: str = "", reviewer: str = "local"
    ) -> Review:
        """Keep a decision for good; the conversation shows ``final_answer`` from then on. Raises TurnError.

        A turn is decided once: a second decision raises the error, and the first one can be taken back.
        """
        if decision is ReviewDecision.EDITED and not final_answer.strip():
            raise TurnError("An edited answer cannot be empty.", hint="Write the answer, or reject the draft.")
        with noted(self._database, reviews.c.turn_id == turn_id):
            turn = self._undecided(turn_id, decision)
            parts, citations = self._final(turn, decision, storable(final_answer))
            review = Review(
                turn_id=turn_id,
                decision=decision,
                final_answer=marked_text(parts),
                note=storable(note).strip(),
                reviewer=storable(reviewer).strip() or "local",
                decided_at=now(),
                citations=citations,
                parts=parts,
            )
            self._database.run(
                insert(reviews).values(
                    turn_id=turn_id,
                    decision=decision,
                    final_answer=review.final_answer,
                    note=review.note,
                    reviewer=review.reviewer,
                    decided_at=review.decided_at,
                    citations=to_json(citations, tuple[Citation, ...]),
                    parts=to_json(parts, Parts),
                )
            )
            self.discard_draft(turn_id)
            self._turns.save(replace(turn, status=TurnStatus.REVIEWED))
        return review

    def undo(self, turn_id: str) -> None:
        """Take the last decision back: the turn waits for review again, an edit as a draft. Raises TurnError."""
        with noted(self._database, reviews.c.turn_id == turn_id):
            turn = self._turns.get(turn_id)
            if turn.status is not TurnStatus.REVIEWED or turn.review is None:
                raise TurnError("There is no decision on this answer to undo.", hint="It is waiting for review.")
            last = select(func.max(_later.c.id)).where(_later.c.turn_id == turn_id, _later.c.undone_at == "")
            self._database.run(update(reviews).where(reviews.c.id == last.scalar_subquery()).values(undone_at=now()))
            if turn.review.decision is ReviewDecision.EDITED and self.draft(turn_id) is None:
                self._database.put(
                    drafts, {"turn_id": turn_id}, {"text": turn.review.final_answer, "updated_at": now()}
                )
            reasons = turn.reasons or ("A decision on this answer was undone.",)
            self._turns.save(replace(turn, status=TurnStatus.FLAGGED, reasons=reasons))

    def keep_draft(self, turn_id: str, text: str) -> None:
        """Keep what a reviewer has written so far; it decides nothing."""
        with self._database.transaction():
            if self._database.row(select(turns.c.id).where(turns.c.id == turn_id)):
                self._database.put(drafts, {"turn_id": turn_id}, {"text": text, "updated_at": now()})

    def discard_draft(self, turn_id: str) -> None:
        self._database.run(delete(drafts).where(drafts.c.turn_id == turn_id))

    def draft(self, turn_id: str) -> ReviewDraft | None:
        row = self._database.row(select(drafts).where(drafts.c.turn_id == turn_id))
        return ReviewDraft(**row) if row else None

    def drafted(self) -> set[str]:
        """Return the turns that have an edit which is not saved."""
        return set(self._database.run(select(drafts.c.turn_id)).scalars())

    def history(self, turn_id: str) -> list[Review]:
        """Return all decisions on a turn, oldest first."""
        rows = self._database.rows(select(reviews).where(reviews.c.turn_id == turn_id).order_by(reviews.c.id))
        return [review for row in rows if (review := review_of(row))]

    def send(self, turn_id: str, reason: str = "A review was asked for.") -> None:
        """Put any finished turn into the queue. Raises TurnError."""
        with self._database.transaction():
            turn = self._turns.get(turn_id)
            if turn.status not in (TurnStatus.ANSWERED, TurnStatus.REVIEWED, TurnStatus.FLAGGED):
                raise TurnError("Only a finished answer can be reviewed.", hint="Run the question again first.")
            self._flag(turn, reason)

    def feedback(self, turn_id: str, kind: FeedbackKind | None) -> None:
        """Thumb up or down; None takes it back."""
        with self._database.transaction():
            if kind is None:
                self._database.run(delete(feedback).where(feedback.c.turn_id == turn_id))
            else:
                self._database.put(feedback, {"turn_id": turn_id}, {"kind": kind, "given_at": now()})
            mark_changed(self._database, turn_id)

    def mark_stale(self, document_id: str, why: str) -> list[str]:
        """Reviewed turns that cite the document return to the queue; returns their ids."""
        cites = reviews.c.citations.contains(document_id, autoescape=True)
        query = select(reviews.c.turn_id).where(_HOLDS, cites).order_by(reviews.c.id.desc())
        with self._database.transaction():
            touched = list(self._database.run(query).scalars())
            for turn_id in touched:
                with noted(self._database, reviews.c.turn_id == turn_id):
                    counted = update(reviews).where(reviews.c.turn_id == turn_id, reviews.c.stale == "")
                    self._database.run(counted.values(stale=why))
                mark_changed(self._database, turn_id)
                self._flag(self._turns.get(turn_id), why)
        return touched

    def decided(self, *, most: int) -> list[ReviewedLine]:
        """Return turns with a latest decision that holds, newest decision first; no turn is decoded."""
        columns = reviews, turns.c.session_id, turns.c.question, turns.c.status
        newest_first = select(*columns).select_from(_OF_TURNS).where(_HOLDS).order_by(reviews.c.id.desc())
        rows = self._database.rows(newest_first.limit(most))
        return [
            ReviewedLine(row["turn_id"], row["session_id"], row["question"], status_of(row), review)
            for row in rows
            if (review := review_of(row))
        ]

    def count_decided(self) -> int:
        return self._database.count(select(func.count()).select_from(reviews).where(_HOLDS))

    def decision_times(self) -> tuple[tuple[str, str], ...]:
        """Return ids of the turns with a latest decision that holds, newest first, and when it was made."""
        columns = reviews.c.turn_id, reviews.c.decided_at
        rows = self._database.rows(select(*columns).where(_HOLDS).order_by(reviews.c.id.desc()).limit(MAX_COMPARED))
        return tuple((row["turn_id"], row["decided_at"]) for row in rows)

    def reviewed_match(self, question: str, document_ids: Sequence[str]) -> Recalled | None:
        """Return the reviewed answer to the same question, or else to a similar one, from documents of the scope.

        An answer that cites nothing (nothing was found) applies to the documents that were searched for it.
        """
        scope, asked, terms = set(document_ids), normalised_words(question), set(content_terms(question))
        similar = None
        rows = self._database.rows(
            select(reviews.c.turn_id, turns.c.question)
            .select_from(_OF_TURNS)
            .where(_HOLDS, reviews.c.decision != ReviewDecision.REJECTED)
            .order_by(reviews.c.id.desc())
            .limit(MAX_COMPARED)
        )
        for row in rows:
            same = normalised_words(row["question"]) == asked
            if same or (similar is None and terms and set(content_terms(row["question"])) == terms):
                turn = self._turns.without_trace(row["turn_id"])
                review = turn.review
                if review is not None and turn.intent not in APART and _speaks_of(turn, review, scope):
                    found = Recalled(
                        turn_id=turn.id,
                        question=turn.question,
                        parts=review.parts,
                        citations=review.citations,
                        verdict=turn.verdict,
                        evidence=turn.evidence,
                        reviewer=review.reviewer,
                        decided_at=review.decided_at,
                        same=same,
                    )
                    if same:
                        return found
                    similar = found
        return similar

    def _undecided(self, turn_id: str, decision: ReviewDecision) -> Turn:
        """Return the turn, where it can be decided so. Raises TurnError."""
        turn = self._turns.get(turn_id)
        if turn.status is TurnStatus.REVIEWED and turn.review:
            review = turn.review
            raise TurnError(
                f"{review.reviewer} already {review.decision} this answer ({review.decided_at[:16].replace('T', ' ')} "
                "UTC).",
                hint="Nothing was changed. To decide differently, undo that decision first.",
            )
        if turn.status is TurnStatus.RUNNING:
            raise TurnError("This answer is still being written.", hint="Wait until it is finished.")
        if turn.status not in (TurnStatus.ANSWERED, TurnStatus.FLAGGED):
            raise TurnError(
                f"This answer was never finished ({in_words(turn.status)}).", hint="Run the question again first."
            )
        if decision is ReviewDecision.EDITED:
            return turn
        if decision is ReviewDecision.APPROVED and not turn.answer.strip():
            raise TurnError("There is no draft to approve.", hint="Write the answer, or reject it.")
        draft = self.draft(turn_id)
        if draft and draft.text.strip() != turn.answer.strip():
            raise TurnError(
                "This answer has an unsaved edit, so nothing was decided.",
                hint="Save and approve the edit, or discard it first.",
            )
        return turn

    def _final(self, turn: Turn, decision: ReviewDecision, text: str) -> tuple[Parts, tuple[Citation, ...]]:
        if decision is ReviewDecision.REJECTED and not text.strip():
            return (AnswerPart("A reviewer rejected this answer."),), ()
        if decision is ReviewDecision.APPROVED or text.strip() == turn.answer.strip():
            return turn.parts, turn.citations
        return self._cite(turn, text)

    def _flag(self, turn: Turn, reason: str) -> None:
        if turn.status is TurnStatus.UNREADABLE:
            return
        reasons = tuple(dict.fromkeys([reason, *turn.reasons]))
        self._turns.save(replace(turn, status=TurnStatus.FLAGGED, reasons=reasons))


def _speaks_of(turn: Turn, review: Review, scope: set[str]) -> bool:
    """Return whether the answer speaks of nothing but documents of the scope."""
    cited = {citation.document_id for citation in review.citations}
    return bool(scope) and cited <= scope and bool(cited or scope <= set(turn.document_ids))
