"""How sure must an answer be, so that of those that are shown no more than a promised share is wrong?

The threshold is the lowest of a fixed grid at which the exact upper bound of Clopper and Pearson (1934) on the share of
wrong answers stays within the promise. The doubt is shared out over the grid (Bonferroni), so that choosing the lowest
costs no certainty: learn-then-test, Angelopoulos et al. (2021), with the plainest correction.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

GRID = tuple(round(0.95 - 0.05 * step, 2) for step in range(14))
"""Thresholds that can be chosen, fixed before any answer is looked at."""
CERTAINTY = 0.95
_STEPS = 40
"""Of a bisection; the bound is exact to 10 to the power of -12."""

Labelled = Sequence[tuple[float, bool]]
"""Answers: the confidence that was shown, and whether it was right."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What a risk asks for: the threshold, None where none keeps it, and what it does to the labelled answers."""

    threshold: float | None
    coverage: float
    """Share of the answers that is shown."""
    bound: float
    """At most this share of what is shown is wrong, with ``CERTAINTY``."""
    answers: int


def promise(labelled: Labelled, risk: float) -> Promise:
    """The lowest threshold at which at most ``risk`` of what is shown is wrong."""
    kept = Promise(None, 0.0, 1.0, len(labelled))
    for threshold in GRID:
        shown = [right for confidence, right in labelled if confidence >= threshold]
        bound = upper_bound(len(shown) - sum(shown), len(shown), (1 - CERTAINTY) / len(GRID))
        if bound <= risk:
            kept = Promise(threshold, len(shown) / len(labelled), bound, len(labelled))
    return kept


def upper_bound(wrong: int, shown: int, doubt: float) -> float:
    """The largest share of wrong answers at which so few wrong ones still happen with probability ``doubt``."""
    if wrong >= shown:
        return 1.0
    low, high = wrong / shown, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _at_most(wrong, shown, middle) > doubt else (low, middle)
    return high


def _at_most(wrong: int, shown: int, share: float) -> float:
    """The probability of so many wrong ones or fewer."""
    odds = math.log(share), math.log1p(-share)
    ways = math.lgamma(shown + 1)
    return math.fsum(
        math.exp(ways - math.lgamma(k + 1) - math.lgamma(shown - k + 1) + k * odds[0] + (shown - k) * odds[1])
        for k in range(wrong + 1)
    )


def risk_coverage(labelled: Labelled) -> list[tuple[float, float]]:
    """Share shown against share of that which is wrong, the surest answers first (El-Yaniv and Wiener, 2010)."""
    curve, wrong = [], 0
    for number, (_, right) in enumerate(sorted(labelled, key=lambda one: -one[0]), start=1):
        wrong += not right
        curve.append((number / len(labelled), wrong / number))
    return curve


def area_under(curve: Sequence[tuple[float, float]]) -> float:
    """AURC: the mean risk over all coverages; smaller is better."""
    return sum(risk for _, risk in curve) / len(curve) if curve else 0.0
