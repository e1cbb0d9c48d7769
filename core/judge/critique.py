"""The critic: what a language model is asked about an answer, how its reply is read, and how it lowers the verdict.

It looks at each claim and its passage in one structured call. It may lower what the judge found, never raise it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pincite.core.domain.answers import Claim, ClaimStatus, Score, Verdict
from pincite.core.domain.keys import in_words
from pincite.core.domain.search import Evidence
from pincite.core.judge.judge import WORTH
from pincite.core.text.foreign import in_line
from pincite.core.text.prompts import PROMPTS
from pincite.core.text.quotations import locate

WEAK = 0.5
"""Relevance or completeness below which an answer is not accepted; its confidence falls in proportion."""
MAX_REASON_LENGTH = 200
_STATUSES = {
    "supported": ClaimStatus.SUPPORTED,
    "contradicted": ClaimStatus.CONTRADICTED,
    "not there": ClaimStatus.UNSUPPORTED,
}
MAX_POINTS = 1_000
"""Maximum distance of a score from the scale for it to count."""
CRITIC_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "claims": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "number": {"type": "integer"},
                    "words": {"type": "string"},
                    "status": {"type": "string", "enum": ["supported", "contradicted", "not there"]},
                },
                "required": ["number", "status"],
            },
        },
        "relevance": {"type": "number"},
        "completeness": {"type": "number"},
        "missing": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["claims", "relevance", "completeness"],
}


@dataclass(frozen=True, slots=True)
class Critique:
    """What the model found: status and deciding words by claim number (0-based), two scores from 0 to 1, and gaps."""

    claims: Mapping[int, tuple[ClaimStatus, str]]
    relevance: float
    completeness: float
    missing: tuple[str, ...]


def critic_question(claims: Sequence[Claim]) -> str:
    """Return what the critic is asked of the answer that it has just written from passages which it has read."""
    lines = (
        f"{number}. {in_line(claim.text)} (passage {', '.join(f'[{one}]' for one in claim.citations) or 'none'})"
        for number, claim in enumerate(claims, start=1)
        if claim.status is not ClaimStatus.SEARCHED
    )
    return PROMPTS["critic"] + "\n".join(lines)


def read_critique(reply: Mapping[str, Any] | None, count: int) -> Critique | None:
    """None unless the reply speaks of at least one of the ``count`` claims in the agreed form."""
    if reply is None or not isinstance(reply.get("claims"), list):
        return None
    found: dict[int, tuple[ClaimStatus, str]] = {}
    for entry in reply["claims"]:
        status = _STATUSES.get(str(entry.get("status"))) if isinstance(entry, dict) else None
        if status is None:
            continue
        number, words = entry.get("number"), entry.get("words")
        if isinstance(number, int) and 1 <= number <= count:
            found[number - 1] = (status, words[:MAX_REASON_LENGTH] if isinstance(words, str) else "")
    relevance, completeness = _share(reply.get("relevance")), _share(reply.get("completeness"))
    if not found or relevance is None or completeness is None:
        return None
    missing = reply.get("missing")
    named = [gap[:MAX_REASON_LENGTH] for gap in missing if isinstance(gap, str)] if isinstance(missing, list) else []
    return Critique(found, relevance, completeness, tuple(named[:3]))


def _share(points: object) -> float | None:
    """Points of ten as a share; None for what is no number, such as NaN."""
    if not isinstance(points, int | float) or not -MAX_POINTS <= points <= MAX_POINTS:
        return None
    return min(max(points / 10, 0.0), 1.0)


def weigh(
    verdict: Verdict, critique: Critique | None, *, critic: str, evidence: Sequence[Evidence], threshold: float
) -> Verdict:
    """Cap the critic by the judge's verdict; without a usable critique the verdict is kept, with a note."""
    if critique is None:
        return replace(verdict, critic=f"{critic} gave no usable reply, so the answer was checked without it.")
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
    weak = [
        f"{critic} finds {fault} ({said:.0%})."
        for fault, said in (
            ("that it misses the question", critique.relevance),
            ("it incomplete", critique.completeness),
        )
        if said < WEAK
    ]
    confidence = verdict.confidence * kept
    for said in (critique.relevance, critique.completeness):
        confidence *= min(1.0, 0.5 + said / (2 * WEAK))
    return replace(
        verdict,
        claims=claims,
        faithfulness=Score(faithful, verdict.faithfulness.reason if kept == 1.0 else f"{critic} doubts some claims."),
        relevance=relevance,
        completeness=completeness,
        confidence=confidence,
        accepted=verdict.accepted and not bad and not weak and confidence >= threshold,
        reasons=(*verdict.reasons, *(f"“{' '.join(claim.text.split())}”: {claim.reason}" for claim in bad), *weak),
        gaps=tuple(dict.fromkeys([*verdict.gaps, *critique.missing])),
        critic=critic,
    )


def _lowered(claim: Claim, status: ClaimStatus, words: str, critic: str, evidence: Sequence[Evidence]) -> Claim:
    """Lower a claim to the critic's status, unless its words are verbatim in the evidence.

    The words that decide are shown only where they are found in a passage that the claim cites.
    """
    unasked = claim.status is ClaimStatus.SEARCHED
    if (
        unasked
        or WORTH[status] >= WORTH[claim.status]
        or any(locate(claim.text, item.passage.text) for item in evidence)
    ):
        return claim
    cited = [item.passage.text for item in evidence if item.number in claim.citations]
    located = status is ClaimStatus.CONTRADICTED and words and any(locate(words, text) for text in cited)
    finding = f"contradicted by “{words}”" if located else in_words(status)
    return replace(claim, status=status, reason=f"{critic}: {finding}")


def _lower(score: Score, finding: float, critic: str) -> Score:
    return score if finding >= score.value else Score(finding, f"{critic} says so.")


def _faithfulness(claims: Sequence[Claim]) -> float:
    return sum(WORTH[claim.status] for claim in claims) / len(claims) if claims else 0.0
