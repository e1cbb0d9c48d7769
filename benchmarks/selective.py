"""Does a confidence know when an answer is right? Risk over coverage: the surest answers first."""

from collections.abc import Iterator, Sequence
from itertools import groupby


def risk_coverage_area(confidences: Sequence[float], right: Sequence[bool]) -> float:
    """Return the mean share of wrong answers among the surest 1, 2, … n; of equal confidences in every order alike."""
    risks = []
    for seen, wrong, group, wrong_in_group in _groups(confidences, right):
        risks += [(wrong + wrong_in_group * taken / group) / (seen + taken) for taken in range(1, group + 1)]
    return sum(risks) / len(risks) if risks else 0.0


def coverage_at_risk(confidences: Sequence[float], right: Sequence[bool], risk: float) -> float:
    """Return the largest share of answers, most confident first, with an error rate of at most ``risk``.

    Answers with equal confidence are kept together, because no threshold separates them.
    """
    covered = 0
    for seen, wrong, group, wrong_in_group in _groups(confidences, right):
        if wrong + wrong_in_group <= risk * (seen + group):
            covered = seen + group
    return covered / len(right) if right else 0.0


def _groups(confidences: Sequence[float], right: Sequence[bool]) -> Iterator[tuple[int, int, int, int]]:
    """Answers and wrong ones before, answers and wrong ones of one confidence, the surest first."""
    seen = wrong = 0
    ranked = sorted(zip(confidences, right, strict=True), key=lambda pair: -pair[0])
    for _, members in groupby(ranked, key=lambda pair: pair[0]):
        group = list(members)
        wrong_in_group = sum(not is_right for _, is_right in group)
        yield seen, wrong, len(group), wrong_in_group
        seen, wrong = seen + len(group), wrong + wrong_in_group
