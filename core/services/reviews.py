"""What can be said today of answers and of reviewers' texts, and what the reviews say of the confidence."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from core.domain.answers import AnswerKind, AnswerPart, Citation, Claim, ClaimStatus, Verdict
from core.domain.turns import Recalled, ReviewDecision, Turn
from core.judge.citations import CitedAnswer, cite_edited
from core.judge.confidence import Recalibration, ThresholdEffect
from core.judge.confidence import ReliabilityBin as ReliabilityBin
from core.judge.learning import OwnReviews as OwnReviews
from core.judge.learning import learn
from core.judge.promise import Labelled as Labelled
from core.judge.promise import Promise as Promise
from core.judge.promise import area_under as area_under
from core.judge.promise import kind_of_answer, promise, shipped_labels
from core.judge.promise import risk_coverage as risk_coverage
from core.judge.verdict import Thresholds, judged_question, verdict_of
from core.models.reader import large_reader
from core.models.selection import measured
from core.services.settings import SettingsInForce

if TYPE_CHECKING:
    from core.store.library import Library
    from core.store.reviews import Reviews
    from core.store.turns import Turns


class Verdicts:
    """Judges by rule, as a turn's own draft was judged."""

    def __init__(self, settings: SettingsInForce, turns: "Turns", library: "Library") -> None:
        self._settings = settings
        self._turns = turns
        self._library = library

    def cite(self, turn: Turn, text: str) -> tuple[tuple[AnswerPart, ...], tuple[Citation, ...]]:
        """A reviewer's text as parts, and the turn's evidence found for it."""
        cited = cite_edited(text, turn.parts, turn.evidence, self._library.page_text)
        return cited.parts, cited.citations

    def of_edit(self, turn_id: str, text: str) -> Verdict:
        """What the checks without a model say of a reviewer's text, against the turn's evidence. Raises TurnError."""
        turn = self._turns.without_trace(turn_id)
        if text.strip() == turn.answer.strip():
            return self._judged(turn, CitedAnswer(turn.parts, turn.citations))
        return self._judged(turn, cite_edited(text, turn.parts, turn.evidence, self._library.page_text))

    def as_it_stands(self, turn: Turn) -> Turn:
        """The turn as it can be shown today: with each citation where its words stand now, if they still do.

        Words that no longer stand on their page bear no claim out.
        """
        attempts = []
        for one in turn.attempts:
            verdict, citations = self._standing(one.verdict, one.citations)
            attempts.append(replace(one, verdict=verdict, citations=citations))
        verdict, citations = self._standing(turn.verdict, turn.citations)
        review = turn.review and replace(turn.review, citations=self._standing(None, turn.review.citations)[1])
        return replace(turn, verdict=verdict, citations=citations, attempts=tuple(attempts), review=review)

    def of_review(self, turn: Turn) -> Verdict | None:
        """What can be said today of the text that a reviewer approved or wrote; None of a rejection."""
        review = turn.review
        if review is None or review.decision is ReviewDecision.REJECTED:
            return None
        verdict = self._of_final(turn, review.parts, review.citations)
        if verdict and review.parts != turn.parts:
            verdict = replace(verdict, calibrated=False)  # fitted on drafts, and says nothing of a reviewer's words
        return self._standing(verdict, review.citations)[0]

    def recall(self, found: Recalled | None) -> Recalled | None:
        """A reviewed answer as it can be repeated; an edited one with a verdict of its own, not the draft's."""
        if found is None or not found.same:
            return found
        if any(self._library.located(citation) != citation for citation in found.citations):
            return None
        turn = self._turns.without_trace(found.turn_id)
        return replace(found, verdict=self._of_final(turn, found.parts, found.citations))

    def _of_final(self, turn: Turn, parts: tuple[AnswerPart, ...], citations: tuple[Citation, ...]) -> Verdict | None:
        return turn.verdict if parts == turn.parts else self._judged(turn, CitedAnswer(parts, citations))

    def _standing(
        self, verdict: Verdict | None, citations: Sequence[Citation]
    ) -> tuple[Verdict | None, tuple[Citation, ...]]:
        """The citations where they stand now, and the verdict with each claim that cites what is gone marked so."""
        located = [self._library.located(citation) for citation in citations]
        placed = tuple(now or before for now, before in zip(located, citations, strict=True))
        if verdict is None:
            return None, placed
        lost = {before.number for now, before in zip(located, citations, strict=True) if now is None}
        claims = tuple(self._today(claim, lost) for claim in verdict.claims)
        gone = any(claim.status is not before.status for claim, before in zip(claims, verdict.claims, strict=True))
        return replace(verdict, claims=claims, accepted=verdict.accepted and not gone), placed

    def _today(self, claim: Claim, lost: Set[int]) -> Claim:
        quotation = claim.quotation and self._library.located(claim.quotation)
        if lost & set(claim.citations) or (claim.quotation and quotation is None):
            reason = "what it quotes is no longer on its page"
            return replace(claim, status=ClaimStatus.SOURCE_REMOVED, reason=reason)
        return replace(claim, quotation=quotation)

    def _judged(self, turn: Turn, cited: CitedAnswer) -> Verdict:
        settings = self._settings.current
        return verdict_of(
            judged_question(turn.intent, turn.asked or turn.question),
            cited.parts,
            turn.evidence,
            removed_markers=cited.removed,
            page_text=self._library.page_text,
            threshold=settings.review_threshold,
            recalibration=Recalibration(settings.confidence_slope, settings.confidence_intercept),
            answered=turn.verdict.answered if turn.verdict else None,
            read=turn.verdict.read if turn.verdict else None,
        )


@dataclass(frozen=True, slots=True)
class ConfidenceMeasured:
    """``effects``: what a review threshold flags and catches."""

    answers: int
    reliability: tuple[ReliabilityBin, ...]
    effects: Mapping[float, ThresholdEffect]


class Confidence:
    """How far the confidence can be trusted, and its correction by the user's own reviews."""

    def __init__(self, settings: SettingsInForce, turns: "Turns", reviews: "Reviews", library: "Library") -> None:
        self._settings = settings
        self._turns = turns
        self._reviews = reviews
        self._library = library
        self._own: tuple[object, OwnReviews] | None = None
        self._kept: tuple[object, Mapping[AnswerKind, Promise]] | None = None
        self._said: tuple[object, dict[AnswerKind, list[tuple[float, bool]]]] | None = None

    @property
    def is_learned(self) -> bool:
        """Whether the confidence is corrected by the user's own reviews."""
        return self._recalibration != Recalibration()

    def measured(self) -> ConfidenceMeasured:
        """How the confidence of quoting did on questions from sources that it was not fitted on."""
        told = measured()
        bins = tuple(ReliabilityBin(*row) for row in told["reliability"])
        effects = {row[0]: ThresholdEffect(row[1], row[2]) for row in told["thresholds"]}
        return ConfidenceMeasured(sum(part.count for part in bins), bins, effects)

    def own_reviews(self) -> OwnReviews:
        """What the decisions that hold say of the confidence; judged again only when there are other ones."""
        decided = self._reviews.decision_times()
        if self._own is None or self._own[0] != decided:
            turns = (self._turns.without_trace(turn_id) for turn_id, _ in decided)
            self._own = (decided, learn(turns, self._library.page_text))
        return self._own[1]

    def labelled(self) -> Mapping[AnswerKind, tuple[Labelled, bool]]:
        """Of each kind, answers with what was said of them and whether they were right; and whether they are one's own.

        They are once there are enough of the kind. No lot chose which ones people decide about, so that by them a
        promise is an estimate and carries no certainty.
        """
        decided = self._reviews.decision_times()
        if self._said is None or self._said[0] != decided:
            self._said = (decided, self._decisions(turn_id for turn_id, _ in decided))
        learned = self._recalibration
        shipped = shipped_labels(large=large_reader() is not None)
        found = {
            kind: ([(learned.confidence(said), right) for said, right in rows], False) for kind, rows in shipped.items()
        }
        return found | {kind: (rows, True) for kind, rows in self._said[1].items() if len(rows) >= OwnReviews.needed}

    def _decisions(self, turn_ids: Iterable[str]) -> dict[AnswerKind, list[tuple[float, bool]]]:
        """Of each question the newest, where the newest come first: asked again it is no other answer."""
        found: dict[AnswerKind, dict[str, tuple[float, bool]]] = {}
        for turn_id in turn_ids:
            turn = self._turns.without_trace(turn_id)
            if turn.review and turn.verdict and (kind := kind_of_turn(turn)) is not AnswerKind.OTHER:
                label = (turn.verdict.confidence, turn.review.decision is ReviewDecision.APPROVED)
                found.setdefault(kind, {}).setdefault((turn.asked or turn.question).casefold(), label)
        return {kind: list(rows.values()) for kind, rows in found.items()}

    def promises(self, risk: float) -> Mapping[AnswerKind, Promise]:
        known = (self._reviews.decision_times(), self._recalibration, risk)
        if self._kept is None or self._kept[0] != known:
            self._kept = (known, {kind: promise(rows, risk) for kind, (rows, _) in self.labelled().items()})
        return self._kept[1]

    def thresholds(self) -> Thresholds | None:
        """From which confidence on each kind of answer keeps the promise; None where none is asked for."""
        if not (risk := self._settings.current.promised_risk):
            return None
        return {kind: kept.threshold for kind, kept in self.promises(risk).items() if kept.threshold is not None}

    def threshold_of(self, turn: Turn) -> float:
        """What decides about review of an answer of this kind; 1: none is sure enough."""
        promised = self.thresholds()
        if promised is None:
            return self._settings.current.review_threshold
        return promised.get(kind_of_turn(turn), 1.0)

    @property
    def _recalibration(self) -> Recalibration:
        settings = self._settings.current
        return Recalibration(settings.confidence_slope, settings.confidence_intercept)

    def learn(self, own: OwnReviews | None) -> None:
        """Correct the confidence by the user's own reviews from the next turn on; None returns to the shipped one."""
        learned = (own and own.learned) or Recalibration()
        self._settings.change(confidence_slope=learned.slope, confidence_intercept=learned.intercept)


def kind_of_turn(turn: Turn) -> AnswerKind:
    question = judged_question(turn.intent, turn.asked or turn.question)
    return kind_of_answer(question, turn.parts, turn.evidence)
