"""Decisions of people on turns, kept for good; feedback; and finding a reviewed answer to the same question again."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pincite.core.errors import TurnError
from pincite.core.grounding.terms import content_terms
from pincite.core.ports import Embedder
from pincite.core.store.codec import to_json
from pincite.core.store.database import Database
from pincite.core.store.turns import Turns, now, review_of
from pincite.core.types import Citation, FeedbackKind, Review, ReviewDecision, Turn, TurnStatus, Verdict

SAME_MEANING = 0.85
"""Cosine similarity that two questions with the same words must reach: word order and wording still count.

Similarity alone cannot decide: with all-MiniLM-L6-v2 "the first quarter" and "the second quarter" are at 0.94, and
rewordings of one question between 0.74 and 0.98.
"""
MOST_COMPARED = 500

_FIGURE = re.compile(r"\d[\d.,]*")
_RELATION = re.compile(
    r"\b(?:not|no|never|without|except|before|after|above|below|under|over|up|down|out|more|less|most|least|"
    r"between|during|through|off)\b(?=\s+\w)|n['’]t\b",
    re.IGNORECASE,
)
_ASKING = frozenset(
    content_terms(
        "please tell give show list name state say explain describe find number percentage percent share amount count "
        "date author wrote writer written person people apply applies come comes exactly much many document report "
        "file according kind type sort mentioned stated given"
    )
)
_NAME = re.compile(r"(?<!^)(?<![.?!]\s)\b[A-Z][\w&'’-]+")

Cite = Callable[[Turn, str], tuple[Citation, ...]]


@dataclass(frozen=True, slots=True)
class Recalled:
    """A reviewed answer to a question that means the same."""

    turn_id: str
    question: str
    answer: str
    citations: tuple[Citation, ...]
    verdict: Verdict | None
    reviewer: str
    decided_at: str
    similarity: float


class Reviews:
    """``cite`` finds an edited answer's citations; ``decided`` tells the conversation's memory of the final text."""

    def __init__(
        self,
        database: Database,
        turns: Turns,
        *,
        embedder: Callable[[], Embedder],
        cite: Cite,
        decided: Callable[[Turn, str], None],
    ) -> None:
        self._database = database
        self._turns = turns
        self._embedder = embedder
        self._cite = cite
        self._decided = decided

    def decide(
        self, turn_id: str, decision: ReviewDecision, *, final_answer: str = "", note: str = "", reviewer: str = "local"
    ) -> Review:
        """Keep a decision for good; the conversation shows ``final_answer`` from then on. Raises TurnError."""
        turn = self._turns.get(turn_id)
        if turn.status is TurnStatus.RUNNING:
            raise TurnError("This turn is still running.", hint="Wait until it has ended.", can_retry=True)
        if decision is ReviewDecision.EDITED and not final_answer.strip():
            raise TurnError("An edited answer needs a text.", hint="Write the answer, or reject the draft.")
        text, citations = self._final(turn, decision, final_answer)
        review = Review(turn_id, decision, text, note.strip(), reviewer.strip() or "local", now(), citations)
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO reviews (turn_id, decision, final_answer, note, reviewer, decided_at, citations) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    turn_id,
                    review.decision,
                    review.final_answer,
                    review.note,
                    review.reviewer,
                    review.decided_at,
                    to_json(review.citations, tuple[Citation, ...]),
                ),
            )
            self._turns.save(replace(turn, status=TurnStatus.REVIEWED))
        self._decided(turn, review.final_answer)
        return review

    def history(self, turn_id: str) -> list[Review]:
        """All decisions on a turn, oldest first."""
        rows = self._database.connection.execute(
            "SELECT * FROM reviews WHERE turn_id = ? ORDER BY id", (turn_id,)
        ).fetchall()
        return [review_of(row) for row in rows]

    def send(self, turn_id: str, reason: str = "A person asked for a review.") -> None:
        """Put any finished turn into the queue. Raises TurnError."""
        turn = self._turns.get(turn_id)
        if turn.status not in (TurnStatus.ANSWERED, TurnStatus.REVIEWED, TurnStatus.FLAGGED):
            raise TurnError("Only an answered turn can be reviewed.", hint="Run the question again first.")
        self._flag(turn, reason)

    def feedback(self, turn_id: str, kind: FeedbackKind | None) -> None:
        """Thumb up or down; None takes it back."""
        with self._database.transaction() as connection:
            if kind is None:
                connection.execute("DELETE FROM feedback WHERE turn_id = ?", (turn_id,))
            else:
                connection.execute(
                    "INSERT INTO feedback (turn_id, kind, given_at) VALUES (?, ?, ?) "
                    "ON CONFLICT (turn_id) DO UPDATE SET kind = excluded.kind, given_at = excluded.given_at",
                    (turn_id, kind, now()),
                )

    def mark_stale(self, document_id: str, why: str) -> list[str]:
        """Reviewed turns that cite the document return to the queue; returns their ids."""
        with self._database.transaction() as connection:
            rows = connection.execute(
                "SELECT turn_id FROM reviews WHERE id IN (SELECT MAX(id) FROM reviews GROUP BY turn_id) "
                "AND stale = '' AND instr(citations, ?)",
                (document_id,),
            ).fetchall()
            touched = [row["turn_id"] for row in rows]
            for turn_id in touched:
                connection.execute("UPDATE reviews SET stale = ? WHERE turn_id = ? AND stale = ''", (why, turn_id))
                self._flag(self._turns.get(turn_id), why)
        return touched

    def reviewed(self, most: int | None = MOST_COMPARED) -> list[Turn]:
        """Turns whose latest decision holds, newest decision first; all of them where ``most`` is None."""
        rows = self._database.connection.execute(
            "SELECT turn_id FROM reviews WHERE id IN (SELECT MAX(id) FROM reviews GROUP BY turn_id) AND stale = '' "
            "ORDER BY id DESC LIMIT ?",
            (-1 if most is None else most,),
        ).fetchall()
        return [self._turns.get(row["turn_id"]) for row in rows]

    def reviewed_match(self, question: str, document_ids: Sequence[str]) -> Recalled | None:
        """The reviewed answer to a question that means the same, from documents of the scope; None: there is none.

        Figures, years and names of the two questions must agree: "2018" and "2019" are nearly the same vector. An
        answer that cites nothing ("the documents do not say") speaks of the documents that were searched for it alone.
        """
        scope = set(document_ids)
        candidates = [
            turn
            for turn in self.reviewed()
            if turn.review is not None
            and turn.review.decision is not ReviewDecision.REJECTED
            and _same_details(question, turn.question)
            and {c.document_id for c in turn.review.citations} <= scope
            and (turn.review.citations or scope <= set(turn.document_ids))
        ]
        if not candidates:
            return None
        vectors = self._embedder().embed([question, *(turn.question for turn in candidates)])
        similarities = vectors[1:] @ vectors[0]
        best = int(similarities.argmax())
        turn, review = candidates[best], candidates[best].review
        if review is None or float(similarities[best]) < SAME_MEANING:
            return None
        return Recalled(
            turn_id=turn.id,
            question=turn.question,
            answer=review.final_answer,
            citations=review.citations,
            verdict=turn.verdict,
            reviewer=review.reviewer,
            decided_at=review.decided_at,
            similarity=float(similarities[best]),
        )

    def _final(self, turn: Turn, decision: ReviewDecision, text: str) -> tuple[str, tuple[Citation, ...]]:
        if decision is ReviewDecision.REJECTED:
            return text.strip() or "A reviewer rejected this answer.", self._cite(turn, text) if text.strip() else ()
        if decision is ReviewDecision.APPROVED or text.strip() == turn.answer.strip():
            return turn.answer, turn.citations
        return text.strip(), self._cite(turn, text)

    def _flag(self, turn: Turn, reason: str) -> None:
        reasons = tuple(dict.fromkeys([reason, *turn.reasons]))
        self._turns.save(replace(turn, status=TurnStatus.FLAGGED, reasons=reasons))


def _same_details(one: str, other: str) -> bool:
    """Say whether figures, names, negations and every word that narrows the question agree."""
    return all(details(one) == details(other) for details in (_figures, _names, _narrowing))


def _figures(question: str) -> set[str]:
    return {figure.rstrip(".,") for figure in _FIGURE.findall(question)}


def _names(question: str) -> set[str]:
    return {name.casefold() for name in _NAME.findall(question)}


def _narrowing(question: str) -> set[str]:
    terms = (set(content_terms(question)) | {word.lower() for word in _RELATION.findall(question)}) - _ASKING
    return {term for term in terms if not term[0].isdigit()}
