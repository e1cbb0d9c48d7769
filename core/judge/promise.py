"""How sure must an answer be, so that of those that are shown no more than a promised share is wrong?

The threshold is the lowest of a fixed grid at which the exact upper bound of Clopper and Pearson (1934) on the share of
wrong answers stays within the promise. The doubt is shared out over the grid, and a threshold that stands the test
hands its share on to the next lower one (Wiens, 2003), so that choosing the lowest costs no certainty: learn-then-test,
Angelopoulos et al. (2021). A promise is made of each kind of answer apart.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from core.domain.answers import AnswerKind, AnswerPart, PartKind
from core.domain.search import Evidence
from core.text.questions import NOT_FOUND, in_english

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
    kept, handed_on = Promise(None, 0.0, 1.0, len(labelled)), 0.0
    for threshold in GRID:
        shown = [right for confidence, right in labelled if confidence >= threshold]
        doubt = handed_on + (1 - CERTAINTY) / len(GRID)
        wrong, handed_on = len(shown) - sum(shown), 0.0
        if 0 < risk < 1 and wrong < len(shown) and _at_most(wrong, len(shown), risk) <= doubt:
            bound = min(risk, upper_bound(wrong, len(shown), doubt))
            kept, handed_on = Promise(threshold, len(shown) / len(labelled), bound, len(labelled)), doubt
    return kept


@cache
def shipped_labels(*, large: bool) -> Mapping[AnswerKind, Labelled]:
    """Labelled answers of each kind, by models that had seen nothing of their source; ``large``: by the large reader.

    Made by ``python -m benchmarks promises``.
    """
    written = json.loads(files("core.judge").joinpath("labelled.json").read_text(encoding="utf-8"))
    rows = written["any"] | written["large" if large else "small"]
    kinds = (kind for kind in AnswerKind if kind.name in rows)
    return {kind: [(said, bool(right)) for said, right in rows[kind.name]] for kind in kinds}


def kind_of_answer(question: str, answer: Sequence[AnswerPart], evidence: Sequence[Evidence]) -> AnswerKind:
    """By what its engine weighed; OTHER where none did, or where what it weighed was not labelled."""
    first = next((part for part in answer if part.probability is not None), None)
    if first is None:
        return AnswerKind.OTHER
    if first.kind is PartKind.FIGURE:
        return AnswerKind.COMPUTED if first.computation else AnswerKind.FIGURE
    quoted = first.verbatim
    if not quoted and not first.text.startswith(NOT_FOUND):
        return AnswerKind.OTHER
    if in_english(question, [item.passage.text for item in evidence]):
        return AnswerKind.QUOTED if quoted else AnswerKind.NOT_FOUND
    return AnswerKind.QUOTED_ELSE if quoted else AnswerKind.NOT_FOUND_ELSE


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
