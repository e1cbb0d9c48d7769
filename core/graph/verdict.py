"""From what was found about each claim to one verdict: scores with reasons, confidence, gaps and a question back."""

import re
from collections.abc import Sequence

from pincite.core.graph.citations import numbers_in, quotation_for, support, without_markers
from pincite.core.graph.context import Documents
from pincite.core.grounding.sentences import split_sentences
from pincite.core.grounding.terms import content_terms
from pincite.core.types import Citation, Claim, ClaimStatus, Evidence, Score, Verdict

_DECLINE = re.compile(
    r"\b(?:documents?|passages?|evidence|sources?|context|text|excerpts?|information)\b[^.?!]{0,60}\b(?:do(?:es)? not|"
    r"don['’]t|doesn['’]t|cannot|did not|is not|are not)\b[^.?!]{0,40}\b(?:say|state|mention|contain|include|provide|"
    r"specify|answer|address|give|available|found|provided|enough)|\bnot (?:found|mentioned|stated|specified|contained|"
    r"answered) in (?:these|the|this|any|your) (?:documents?|passages?|sources?|text|evidence)|"
    r"\b(?:cannot|can['’]t|could not|unable to) (?:find|answer|determine)\b|\bno information (?:about|on|regarding)\b",
    re.IGNORECASE,
)


def declines(answer: str) -> bool:
    """Say whether an answer is, at its heart, that the documents do not say."""
    sentences = [answer[span.start : span.end] for span in split_sentences(answer)]
    return bool(sentences) and any(_DECLINE.search(sentence) for sentence in sentences[:2]) and len(sentences) <= 4


def claims_of(
    answer: str, evidence: Sequence[Evidence], citations: Sequence[Citation], documents: Documents
) -> tuple[Claim, ...]:
    """Every checkable sentence with its status against the passages it names."""
    known = {item.number: item for item in evidence}
    claims = []
    for span in split_sentences(answer):
        text = answer[span.start : span.end]
        plain = without_markers(text)
        if plain.endswith("?") or len(content_terms(plain)) < 2 or _DECLINE.search(plain):
            continue
        numbers = numbers_in(text)
        cited = [known[number] for number in numbers if number in known]
        strengths = {item.number: support(plain, item.passage.text) for item in cited}
        best = max(strengths, key=lambda number: strengths[number], default=None)
        strength = strengths[best] if best is not None else 0.0
        if strength >= 0.75:
            status, reason = ClaimStatus.SUPPORTED, "Its words and figures stand in the cited passage."
        elif strength >= 0.4:
            status, reason = ClaimStatus.PARTLY_SUPPORTED, "Only part of it stands in the cited passage."
        elif not cited:
            status, reason = ClaimStatus.UNSUPPORTED, "It names no passage."
        else:
            status, reason = ClaimStatus.UNSUPPORTED, "The cited passage does not say it."
        quotation = quotation_for(plain, known[best], documents.page_text) if best is not None else None
        claims.append(Claim(text, span.start, span.end, status, reason, numbers, quotation))
    return tuple(claims)


def verdict_of(
    question: str,
    answer: str,
    evidence: Sequence[Evidence],
    citations: Sequence[Citation],
    *,
    removed_markers: int,
    documents: Documents,
    threshold: float,
) -> Verdict:
    """Judge one draft without a model."""
    claims = claims_of(answer, evidence, citations, documents)
    declined = declines(answer)
    weights = {ClaimStatus.SUPPORTED: 1.0, ClaimStatus.PARTLY_SUPPORTED: 0.5}
    good = sum(weights.get(claim.status, 0.0) for claim in claims)
    faithful = good / len(claims) if claims else (1.0 if declined else 0.0)
    asked = set(content_terms(question))
    answered = asked & set(
        content_terms(answer + " " + " ".join(item.passage.text for item in evidence if _is_cited(item, citations)))
    )
    relevant = len(answered) / len(asked) if asked else 1.0
    marked = sum(len(claim.citations) for claim in claims) + removed_markers
    valid = (len(citations) / max(marked, len(citations))) if marked else (1.0 if declined else 0.0)
    overall = faithful * (0.4 + 0.3 * relevant + 0.3 * valid)
    bad = [claim for claim in claims if claim.status in (ClaimStatus.UNSUPPORTED, ClaimStatus.CONTRADICTED)]
    confidence = 0.75 if declined and not claims else overall
    reasons = [f"“{_short(claim.text)}”: {claim.reason}" for claim in bad]
    if removed_markers:
        reasons.append(f"{removed_markers} citation markers pointed to no passage and were removed.")
    missing = sorted(asked - answered)
    accepted = confidence >= threshold and not bad
    if not accepted and not reasons:
        reasons.append("The passages found cover the question only in part.")
    return Verdict(
        claims=claims,
        faithfulness=Score(
            faithful, f"{sum(c.status is ClaimStatus.SUPPORTED for c in claims)} of {len(claims)} claims are supported."
        ),
        relevance=Score(relevant, f"{len(answered)} of {len(asked)} terms of the question are dealt with."),
        completeness=Score(
            relevant,
            "Not dealt with: " + ", ".join(missing) if missing else "Every term of the question is dealt with.",
        ),
        citation_validity=Score(
            valid, f"{len(citations)} of {max(marked, len(citations))} citations were found in their page."
        ),
        overall=overall,
        confidence=confidence,
        accepted=accepted,
        reasons=tuple(reasons) if not accepted else (),
        gaps=tuple(without_markers(claim.text) for claim in bad),
        critic="No language model is connected; the checks are made by rule.",
        declined=declined,
    )


def _is_cited(item: Evidence, citations: Sequence[Citation]) -> bool:
    return any(citation.number == item.number for citation in citations)


def _short(text: str) -> str:
    plain = without_markers(text)
    return plain if len(plain) <= 90 else plain[:87].rsplit(" ", 1)[0] + "…"
