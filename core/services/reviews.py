"""Current verdicts of answers and of reviewers' texts, and the calibration of the confidence."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pincite.core.answers.selection import measured
from pincite.core.domain.answers import AnswerPart, Citation, Claim, ClaimStatus, Verdict
from pincite.core.domain.turns import Recalled, ReviewDecision, Turn
from pincite.core.judge.citations import CitedAnswer, cite_edited
from pincite.core.judge.confidence import ReliabilityBin as ReliabilityBin
from pincite.core.judge.confidence import ThresholdEffect, shipped_models
from pincite.core.judge.verdict import judged_question, verdict_of
from pincite.core.services.settings import SettingsInForce

if TYPE_CHECKING:
    from pincite.core.store.library import Library
    from pincite.core.store.turns import Turns


ASKED_BACK = "Which one do you mean?"
"""How turns of earlier versions begin that asked back."""


class Verdicts:
    """Judges by rule, as a turn's own draft was judged."""

    def __init__(self, settings: SettingsInForce, turns: "Turns", library: "Library") -> None:
        self._settings = settings
        self._turns = turns
        self._library = library

    def cite(self, turn: Turn, text: str) -> tuple[tuple[AnswerPart, ...], tuple[Citation, ...]]:
        """Return a reviewer's text as parts, and the turn's evidence found for it."""
        cited = cite_edited(text, turn.parts, turn.evidence, self._library.page_text)
        return cited.parts, cited.citations

    def of_edit(self, turn_id: str, text: str) -> Verdict:
        """Check a reviewer's text against the turn's evidence, without a model. Raises TurnError."""
        turn = self._turns.without_trace(turn_id)
        if text.strip() == turn.answer.strip():
            return self._judged(turn, CitedAnswer(turn.parts, turn.citations))
        return self._judged(turn, cite_edited(text, turn.parts, turn.evidence, self._library.page_text))

    def as_current(self, turn: Turn) -> Turn:
        """Return the turn for display: with each citation at the current place of its words, if they still exist.

        Words that are no longer on their page support no claim.
        """
        attempts = []
        for one in turn.attempts:
            verdict, citations = self._standing(one.verdict, one.citations)
            attempts.append(replace(one, verdict=verdict, citations=citations))
        verdict, citations = self._standing(turn.verdict, turn.citations)
        review = turn.review and replace(turn.review, citations=self._standing(None, turn.review.citations)[1])
        return replace(turn, verdict=verdict, citations=citations, attempts=tuple(attempts), review=review)

    def of_review(self, turn: Turn) -> Verdict | None:
        """Return the current verdict of the text that a reviewer approved or wrote; None for a rejection."""
        review = turn.review
        if review is None or review.decision is ReviewDecision.REJECTED:
            return None
        verdict = self._of_final(turn, review.parts, review.citations)
        if verdict and review.parts != turn.parts:
            verdict = replace(verdict, calibrated=False)  # fitted on drafts, so it does not apply to a reviewer's words
        return self._standing(verdict, review.citations)[0]

    def recall(self, found: Recalled | None) -> Recalled | None:
        """Return a reviewed answer as it can be repeated; an edited one with a verdict of its own, not the draft's."""
        if found is None or not found.same:
            return found
        if found.parts and found.parts[0].text.endswith(ASKED_BACK):
            return None
        if any(self._library.located(citation) != citation for citation in found.citations):
            return None
        turn = self._turns.without_trace(found.turn_id)
        return replace(found, verdict=self._of_final(turn, found.parts, found.citations))

    def _of_final(self, turn: Turn, parts: tuple[AnswerPart, ...], citations: tuple[Citation, ...]) -> Verdict | None:
        return turn.verdict if parts == turn.parts else self._judged(turn, CitedAnswer(parts, citations))

    def _standing(
        self, verdict: Verdict | None, citations: Sequence[Citation]
    ) -> tuple[Verdict | None, tuple[Citation, ...]]:
        """Return the citations at their current places, and the verdict; claims that lost their source are marked."""
        located = [self._library.located(citation) for citation in citations]
        placed = tuple(now or before for now, before in zip(located, citations, strict=True))
        if verdict is None:
            return None, placed
        lost = {before.number for now, before in zip(located, citations, strict=True) if now is None}
        claims = tuple(self._today(claim, lost) for claim in verdict.claims)
        changed = any(claim.status is not before.status for claim, before in zip(claims, verdict.claims, strict=True))
        return replace(verdict, claims=claims, accepted=verdict.accepted and not changed), placed

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
            tied=cited.tied,
            page_text=self._library.page_text,
            threshold=settings.review_threshold,
            answered=turn.verdict.answered if turn.verdict else None,
            read=turn.verdict.read if turn.verdict else None,
        )


@dataclass(frozen=True, slots=True)
class ConfidenceMeasured:
    """How the confidence did on labelled answers from sources that it was not fitted on."""

    reliability: tuple[ReliabilityBin, ...]
    """Of quoted answers."""
    effects: Mapping[float, ThresholdEffect]
    """By review threshold, what it flags and catches of language models' answers."""
    answers: int
    """Number of language models' answers."""


def measured_confidence() -> ConfidenceMeasured:
    prose = shipped_models().measured
    effects = {row[0]: ThresholdEffect(row[1], row[2]) for row in prose["thresholds"]}
    bins = tuple(ReliabilityBin(*row) for row in measured()["reliability"])
    return ConfidenceMeasured(bins, effects, prose["all"]["n"])
