"""Work a language model's critique into a verdict: it may lower what the rules found, never raise it."""

from collections.abc import Sequence
from dataclasses import replace

from core.domain.answers import Claim, ClaimStatus, Score, Verdict
from core.domain.search import Evidence
from core.graph.prompts import Critique
from core.judge.judge import WORTH
from core.text.quotations import locate


def weigh(
    verdict: Verdict, critique: Critique | None, *, critic: str, evidence: Sequence[Evidence], threshold: float
) -> Verdict:
    """Cap the critic by the verdict of the rules; without a usable critique the verdict stands and says so."""
    if critique is None:
        return replace(verdict, critic=f"{critic} gave no usable reply; the checks are made by rule.")
    claims = tuple(
        _lowered(claim, *critique.claims[number], critic, evidence) if number in critique.claims else claim
        for number, claim in enumerate(verdict.claims)
    )
    before, after = _faithfulness(verdict.claims), _faithfulness(claims)
    kept = after / before if before else 1.0
    faithful = verdict.faithfulness.value * kept
    relevance = _lower(verdict.relevance, critique.relevance, critic)
    completeness = _lower(verdict.completeness, critique.completeness, critic)
    bad = [claim for claim in claims if WORTH[claim.status] == 0.0]
    confidence = verdict.confidence * kept
    return replace(
        verdict,
        claims=claims,
        faithfulness=Score(faithful, verdict.faithfulness.reason if kept == 1.0 else f"{critic} doubts some claims."),
        relevance=relevance,
        completeness=completeness,
        overall=verdict.overall * kept,
        confidence=confidence,
        accepted=verdict.accepted and not bad and confidence >= threshold,
        reasons=(*verdict.reasons, *(f"“{' '.join(claim.text.split())}”: {claim.reason}" for claim in bad)),
        gaps=tuple(dict.fromkeys([*verdict.gaps, *critique.missing])),
        critic=critic,
    )


def _lowered(claim: Claim, status: ClaimStatus, reason: str, critic: str, evidence: Sequence[Evidence]) -> Claim:
    """A claim that stands word for word in its evidence is supported, whatever a critic says."""
    if WORTH[status] >= WORTH[claim.status] or any(locate(claim.text, item.passage.text) for item in evidence):
        return claim
    return replace(claim, status=status, reason=f"{critic}: {reason or status.value}")


def _lower(score: Score, said: float, critic: str) -> Score:
    return score if said >= score.value else Score(said, f"{critic} says so.")


def _faithfulness(claims: Sequence[Claim]) -> float:
    return sum(WORTH[claim.status] for claim in claims) / len(claims) if claims else 0.0
