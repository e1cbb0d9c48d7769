"""Learn from people's decisions how far the confidence can be trusted on this user's own answers."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import ClassVar

from core.domain.answers import Verdict
from core.domain.logistic import log_odds
from core.domain.turns import ReviewDecision, Turn
from core.judge.citations import PageText
from core.judge.confidence import (
    LEAST,
    Recalibration,
    ReliabilityBin,
    ThresholdEffect,
    calibration_error,
    refit,
    reliability,
    threshold_effects,
)
from core.judge.judge import WORTH
from core.judge.verdict import RULES_ONLY, judged_question, verdict_of

MOST = 100
"""Maximum number of decisions, the newest, that are learned from: judging them again takes some seconds."""
_FOLDS, _BINS = 5, 5


@dataclass(frozen=True, slots=True)
class OwnReviews:
    """What the decisions say of the shipped confidence, and of one refitted on other decisions; empty while few."""

    right: int
    """Drafts that were approved as they stood."""
    wrong: int
    """Drafts that were edited or rejected."""
    learned: Recalibration | None = None
    shipped: tuple[ReliabilityBin, ...] = ()
    shipped_error: float = 0.0
    refitted: tuple[ReliabilityBin, ...] = ()
    refitted_error: float = 0.0
    effects: Mapping[float, ThresholdEffect] = field(default_factory=dict)
    """By review threshold, with the refitted confidence."""
    needed: ClassVar[int] = 50
    needed_of_each: ClassVar[int] = 15
    """So many decisions, and so many for and against, before they say more than the labelled answers that ship."""


def learn(turns: Iterable[Turn], page_text: PageText) -> OwnReviews:
    """Judge the reviewed drafts again and fit on the decisions, once there are enough of both kinds.

    No more of the turns are asked for than are learned from. What a critic lowered says nothing of the rules' number.
    """
    judged = (turn for turn in turns if turn.review and turn.verdict and turn.verdict.claims and turn.evidence)
    drafts = list(islice(judged, MOST))
    right = sum(map(_approved, drafts))
    wrong = len(drafts) - right
    if right + wrong < OwnReviews.needed or min(right, wrong) < OwnReviews.needed_of_each:
        return OwnReviews(right, wrong)
    with ThreadPoolExecutor(thread_name_prefix="learning") as pool:
        verdicts = list(pool.map(lambda turn: _judged_again(turn, page_text), drafts))
    shipped, stood = [], []
    for turn, verdict in zip(drafts, verdicts, strict=True):
        if turn.verdict is not None and (turn.verdict.critic == RULES_ONLY or _worth(turn.verdict) >= _worth(verdict)):
            shipped.append(verdict.confidence)
            stood.append(_approved(turn))
    scores = [log_odds(confidence, least=LEAST) for confidence in shipped]
    refitted = list(shipped)
    for fold in range(_FOLDS):
        others = [place for place in range(len(scores)) if place % _FOLDS != fold]
        learned = refit([scores[place] for place in others], [stood[place] for place in others])
        refitted[fold::_FOLDS] = [learned.confidence(confidence) for confidence in shipped[fold::_FOLDS]]
    return OwnReviews(
        right,
        wrong,
        learned=refit(scores, stood),
        shipped=reliability(shipped, stood, bins=_BINS),
        shipped_error=calibration_error(shipped, stood, bins=_BINS),
        refitted=reliability(refitted, stood, bins=_BINS),
        refitted_error=calibration_error(refitted, stood, bins=_BINS),
        effects=threshold_effects(refitted, stood),
    )


def _judged_again(turn: Turn, page_text: PageText) -> Verdict:
    return verdict_of(
        judged_question(turn.intent, turn.asked or turn.question),
        turn.parts,
        turn.evidence,
        removed_markers=0,
        page_text=page_text,
        threshold=0.0,
        answered=turn.verdict.answered if turn.verdict else None,
        read=turn.verdict.read if turn.verdict else None,
    )


def _approved(turn: Turn) -> bool:
    return turn.review is not None and turn.review.decision is ReviewDecision.APPROVED


def _worth(verdict: Verdict) -> float:
    return sum(WORTH[claim.status] for claim in verdict.claims)
