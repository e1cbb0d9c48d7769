"""Learn from people's decisions how far the confidence can be trusted on this user's own answers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import ClassVar

from core.domain.turns import ReviewDecision, Turn
from core.judge.citations import source_texts
from core.judge.confidence import (
    Recalibration,
    ReliabilityBin,
    ThresholdEffect,
    calibration_error,
    refit,
    reliability,
    threshold_effect,
)
from core.judge.judge import judge_answer
from core.judge.verdict import judged_question

MOST = 200
"""So many of the newest decisions are learned from: judging them again takes some seconds."""
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


def learn(turns: Iterable[Turn]) -> OwnReviews:
    """Judge the reviewed drafts again and fit on the decisions, once there are enough of both kinds.

    No more of the turns are asked for than are learned from.
    """
    judged = (turn for turn in turns if turn.review and turn.verdict and turn.verdict.claims and turn.evidence)
    drafts = [
        (turn, turn.review is not None and turn.review.decision is ReviewDecision.APPROVED)
        for turn in islice(judged, MOST)
    ]
    stood = [approved for _, approved in drafts]
    right, wrong = stood.count(True), stood.count(False)
    if right + wrong < OwnReviews.needed or min(right, wrong) < OwnReviews.needed_of_each:
        return OwnReviews(right, wrong)
    scores = [
        judge_answer(
            judged_question(turn.intent, turn.asked or turn.question), turn.parts, source_texts(turn.evidence)
        ).score
        for turn, _ in drafts
    ]
    shipped = [Recalibration().confidence(score) for score in scores]
    refitted = list(shipped)
    for fold in range(_FOLDS):
        others = [place for place in range(len(scores)) if place % _FOLDS != fold]
        learned = refit([scores[place] for place in others], [stood[place] for place in others])
        refitted[fold::_FOLDS] = [learned.confidence(score) for score in scores[fold::_FOLDS]]
    return OwnReviews(
        right,
        wrong,
        learned=refit(scores, stood),
        shipped=reliability(shipped, stood, bins=_BINS),
        shipped_error=calibration_error(shipped, stood, bins=_BINS),
        refitted=reliability(refitted, stood, bins=_BINS),
        refitted_error=calibration_error(refitted, stood, bins=_BINS),
        effects={
            threshold: threshold_effect(refitted, stood, threshold)
            for threshold in (round(0.05 * step, 2) for step in range(1, 20))
        },
    )
