"""Measure an answer against its sources: the few numbers that the confidence model weighs.

A handful per claim and two per answer. They know nothing of where an answer came from, and they look at the sentences
nearest to a claim only, so that further passages change little.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from core.domain.answers import AnswerPart
from core.judge.checks import Finding, FindingKind, check_claim
from core.judge.claims import ClaimText, extract_claims
from core.judge.sources import Sources, held_terms
from core.text.terms import content_terms, specificity, stem, words

_SUPPORTING = ("held", "pairs")
_AGAINST = ("missing", "unknown_names", "unknown_figures")


@dataclass(frozen=True, slots=True)
class ClaimMeasure:
    """A claim with its findings and its features by name."""

    claim: ClaimText
    findings: tuple[Finding, ...]
    features: Mapping[str, float]


def measure_claims(answer: str | Sequence[AnswerPart], sources: Sources) -> tuple[ClaimMeasure, ...]:
    """Return one measure per claim of `answer`; a bare text is prose that cites nothing."""
    claims = extract_claims((AnswerPart(answer),) if isinstance(answer, str) else answer)
    return tuple(_measure(claim, sources) for claim in claims)


def _measure(claim: ClaimText, sources: Sources) -> ClaimMeasure:
    # Made again elsewhere from what it carries, or copied: its words leave nothing to doubt.
    if claim.stated_by_code or (claim.verbatim and any(claim.text in source.text for source in sources.sources)):
        return ClaimMeasure(claim, (), dict.fromkeys(_SUPPORTING, 1.0) | dict.fromkeys(_AGAINST, 0.0))
    findings = check_claim(claim.bare, sources)
    terms = frozenset(content_terms(claim.bare))
    near = sources.near(terms)
    telling = sum(map(specificity, terms))
    held = sum(map(specificity, held_terms(terms, near)))
    pairs = list(pairwise(stem(word) for word in words(claim.bare)))
    known = {pair for sentence in near for pair in pairwise(sentence.stems)}
    kinds = [finding.kind for finding in findings]
    features = {
        "missing": telling - held,
        "held": held / (telling or 1.0),
        "pairs": sum(pair in known for pair in pairs) / max(1, len(pairs)),
        "unknown_names": float(kinds.count(FindingKind.NAME_MISSING)),
        "unknown_figures": float(kinds.count(FindingKind.FIGURE_MISSING) + kinds.count(FindingKind.FIGURE_DIFFERS)),
    }
    return ClaimMeasure(claim, findings, features)


def measure_answer(claims: Sequence[ClaimMeasure], doubts: Sequence[float]) -> dict[str, float]:
    """Return the features of an answer: the chance that any claim is wrong, and the doubt per word."""
    lengths = [len(claim.claim.bare) for claim in claims]
    mean = sum(map(math.prod, zip(lengths, doubts, strict=True))) / max(1, sum(lengths))
    return {"any": _log_odds(1 - math.prod(1 - doubt for doubt in doubts)), "mean": _log_odds(mean)}


def _log_odds(share: float, margin: float = 1e-3) -> float:
    return math.log((share + margin) / (1 - share + margin))
