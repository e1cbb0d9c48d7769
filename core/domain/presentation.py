"""How an answer is presented: decided here once, and read by pages, commands, exports and sessions."""

from dataclasses import dataclass
from enum import StrEnum

from pincite.core.domain.answers import ClaimStatus, Form, Verdict, form_of, lists_passages
from pincite.core.domain.turns import Turn, TurnStatus

MIN_ANSWER_CONFIDENCE, MIN_DECLINE_CONFIDENCE = 0.6, 0.8
"""Minimum confidence of an answer, and of "I found no answer", that is shown without a warning; with less Pincite looks
again.

From the first on 81 % of labelled quotations in English are right, by models that had seen nothing of their source:
`python -m training fit-quoting`. From the second on three of four "not found" are; where small PDFs were asked, half
of those between 0.7 and 0.8 were wrong.
"""
MAX_UNSURE_DECLINE = MIN_DECLINE_CONFIDENCE - 0.05
"""Maximum confidence of "I found no answer" if it may be in what was not counted or not searched by meaning, or if what
decides a yes-or-no question may have none of its words."""
UNREAD_DENIAL = MIN_ANSWER_CONFIDENCE
"""Maximum confidence of "I found no answer" if some of the documents was not read."""
_SURE_CLAIMS = (ClaimStatus.SUPPORTED, ClaimStatus.SEARCHED, ClaimStatus.SOURCE_REMOVED)
_WORST_FIRST = (
    ClaimStatus.CONTRADICTED,
    ClaimStatus.UNSUPPORTED,
    ClaimStatus.PARTLY_SUPPORTED,
    ClaimStatus.NOT_CHECKED,
)


class Tier(StrEnum):
    """How far an answer can be relied on."""

    ANSWERED = "answered"
    CHECK = "check_the_page"
    """A slim line shows what to look at; nobody has to decide anything."""
    DO_NOT_RELY = "do_not_rely"
    """It waits for a person."""


class Standing(StrEnum):
    """What an answer is to its reader."""

    REVIEWED = "reviewed"
    OUTDATED = "outdated"
    """It was reviewed, and a cited document has changed since."""
    WAITS = "waits for review"
    UNFINISHED = "unfinished"
    NOT_JUDGED = "not judged"
    EVIDENCE = "evidence"
    """No answer: passages are listed."""
    SOURCE_REMOVED = "source removed"
    REPEATED = "repeated"
    """It repeats a reviewed answer."""
    CHECK = "check"
    NOT_FOUND = "not found"
    ANSWERED = "answered"


@dataclass(frozen=True, slots=True)
class Presentation:
    standing: Standing
    form: Form
    tier: Tier
    warning: str = ""
    """What to look at, in one sentence, where the tier is CHECK or the confidence is not known."""
    confidence: float | None = None
    """Calibrated probability that the answer is right; None if it is not known or nothing is answered."""


def present(turn: Turn) -> Presentation:
    """Return how a turn is shown."""
    form, tier, verdict = form_of(turn.final_parts, turn.verdict), _tier_of_turn(turn), turn.verdict
    known = verdict is not None and verdict.calibrated and form is not Form.EVIDENCE
    unsure = verdict is not None and (tier is Tier.CHECK or not verdict.calibrated)
    return Presentation(
        standing=_standing(turn, form, tier),
        form=form,
        tier=tier,
        warning=_to_check(verdict) if verdict and unsure else "",
        confidence=verdict.confidence if verdict and known else None,
    )


def tier_of(verdict: Verdict) -> Tier:
    """Return the tier of an answer that waits for nobody; what declines states nothing that could be doubted."""
    sure = verdict.declined or verdict.confidence >= MIN_ANSWER_CONFIDENCE
    supported = all(claim.status in _SURE_CLAIMS for claim in verdict.claims)
    return Tier.ANSWERED if sure and supported else Tier.CHECK


def _tier_of_turn(turn: Turn) -> Tier:
    """A reviewed answer, and what nobody judged, is shown as it is."""
    if turn.status is TurnStatus.FLAGGED:
        return Tier.DO_NOT_RELY
    if turn.verdict is None or turn.review or turn.reused_from or lists_passages(turn.parts):
        return Tier.ANSWERED
    return tier_of(turn.verdict)


def _standing(turn: Turn, form: Form, tier: Tier) -> Standing:
    if turn.review:
        return Standing.OUTDATED if turn.review.stale else Standing.REVIEWED
    if turn.status is TurnStatus.FLAGGED:
        return Standing.WAITS
    if turn.status is not TurnStatus.ANSWERED:
        return Standing.UNFINISHED
    if turn.verdict is None:
        return Standing.NOT_JUDGED
    if form is Form.EVIDENCE:
        return Standing.EVIDENCE
    if any(claim.status is ClaimStatus.SOURCE_REMOVED for claim in turn.verdict.claims):
        return Standing.SOURCE_REMOVED
    if turn.reused_from:
        return Standing.REPEATED
    if tier is Tier.CHECK:
        return Standing.CHECK
    return Standing.NOT_FOUND if turn.verdict.declined else Standing.ANSWERED


def _to_check(verdict: Verdict) -> str:
    doubtful = next((claim for status in _WORST_FIRST for claim in verdict.claims if claim.status is status), None)
    if doubtful is not None:
        return f"Check the page: {doubtful.reason}."
    if not verdict.calibrated:
        return "Check the page: how likely this kind of answer is right is not known."
    sure = f"{verdict.confidence:.0%}"
    return f"Check the page: the words are there, but Pincite is only {sure} sure that they answer this."
