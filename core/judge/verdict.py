"""From the deterministic judge's findings to a turn's verdict: quotations in their pages, and what is accepted."""

import math
from collections.abc import Sequence
from dataclasses import replace

from pincite.core.domain.answers import AnswerPart, Citation, Claim, ClaimStatus, Likeness, Score, Span, Verdict
from pincite.core.domain.search import Evidence, Intent
from pincite.core.judge.citations import PageText, citation_of, page_citation, source_texts
from pincite.core.judge.judge import (
    BARELY_HELD,
    CAP_INVALID_CITATION,
    UNCITED_PENALTY,
    WORTH,
    AnswerFindings,
    CheckedClaim,
    at_most,
    capped,
    judge_answer,
)
from pincite.core.judge.sources import Sources, contained_share
from pincite.core.questions.wording import is_english
from pincite.core.text.marks import plain_text
from pincite.core.text.plain import counted, shortened

RULES_ONLY = "Checked without a language model."
WEAK_RELEVANCE = 0.5
"""Below this an answer may be true and still not be the answer; its confidence falls in proportion."""
UNKNOWN = 0.5
"""The probability of what nobody has weighed."""
MAX_CLAIMS = 19
"""Number of claims of the longest labelled answer."""
_WEAK = 0.75
"""Scores below this are given as reasons where an answer is not accepted."""
_BAD = (ClaimStatus.UNSUPPORTED, ClaimStatus.CONTRADICTED)


def judged_question(intent: Intent | None, asked: str) -> str:
    """What an answer is judged against; no page holds the words of a summary or a rewording."""
    return "" if intent in (Intent.SURVEY, Intent.REWORD) else asked


def verdict_of(
    question: str,
    answer: Sequence[AnswerPart],
    evidence: Sequence[Evidence],
    *,
    removed_markers: int,
    tied: int = 0,
    page_text: PageText,
    threshold: float,
    worked_out: Sequence[str] = (),
    readings: Sequence[str] = (),
    answered: float | None = None,
    read: float | None = None,
    states_what_is_read: bool = False,
) -> Verdict:
    """Judge one draft without a model.

    ``removed_markers`` pointed to no evidence: they cap faithfulness and the validity of citations and, unless every
    claim is nevertheless supported, the confidence. ``tied`` claims cited nothing until code found where their words
    are: they lower the validity of citations in proportion. ``states_what_is_read``: the draft has the words that code
    reads with certainty from the evidence as the answer, so that it need not repeat those of the question.

    If the engine gave the probability that its answer is right, that is the confidence, as far as the claims are
    supported. For prose the confidence is never more than the geometric mean of the probabilities that the evidence
    answers (``answered``) and that what code reads from it is the answer (``read``), if they were computed; for prose
    that declines it is 1 - ``answered``. ``worked_out``: what code computed from the evidence, in words; ``readings``:
    what it read with certainty from table cells as the answer.
    """
    ordered = sorted(evidence, key=lambda item: item.number)
    texts = source_texts(ordered)
    findings = judge_answer(question, answer, texts, worked_out=worked_out, readings=readings, citations_expected=True)
    likely = next((part.probability for part in answer if part.probability is not None), None)
    if findings.declined:
        unanswered = UNKNOWN if answered is None else 1 - answered
        sure = unanswered if likely is None else likely
        return replace(declined_verdict(sure, threshold, findings.gaps), answered=answered, read=read)
    claims = tuple(_claim(checked, ordered, page_text) for checked in findings.claims)
    faithfulness, validity = _kept(findings, claims), findings.citation_validity
    reasons = [f"“{shortened(claim.text)}”: {claim.reason}." for claim in claims if claim.status in _BAD]
    if tied and claims:
        note = f"{tied} of {counted(len(claims), 'claim')} cited nothing; the passages were found by code"
        validity = Score(validity.value * (1 - UNCITED_PENALTY * min(tied / len(claims), 1)), note)
    if removed_markers:
        note = f"{counted(removed_markers, 'citation')} pointed to no passage"
        validity = at_most(CAP_INVALID_CITATION, validity, note)
        faithfulness = at_most(CAP_INVALID_CITATION, faithfulness, note)
    supported = all(WORTH[claim.status] == 1.0 for claim in claims)
    if misled := bool(removed_markers) and not supported:
        reasons.append(f"{note} and {'were' if removed_markers > 1 else 'was'} removed.")
    uncited = bool(claims) and not any(claim.citations for claim in claims)
    if uncited:
        reasons.append("Nothing in the answer is tied to a page.")
    if not claims:
        reasons.append("The answer states nothing that can be checked.")
    relevant = 1.0 if states_what_is_read else findings.relevance.value
    confidence = findings.confidence * min(1.0, 0.5 + relevant / (2 * WEAK_RELEVANCE))
    if likely is not None:
        confidence = likely if supported else min(likely, findings.confidence)
    elif answered is not None:
        # what code finds hard to read off a page, a model does too
        confidence = min(confidence, math.sqrt(answered * (answered if read is None else read)))
    if misled or uncited or not claims:
        confidence = min(confidence, CAP_INVALID_CITATION)
    confidence = capped(confidence, [claim.status for claim in claims])
    if states_what_is_read:
        findings = replace(findings, completeness=Score(1.0, "says what is read off the pages"), gaps=())
    accepted = confidence >= threshold and not reasons
    if not accepted:
        scores = (findings.faithfulness, findings.citation_validity, findings.completeness)
        weak = [score.reason for score in scores if score.value < _WEAK]
        reasons += [f"{reason[0].upper()}{reason[1:]}." for reason in weak]
        reasons = reasons or [f"Pincite is only {confidence:.0%} sure that this answers the question."]
    return Verdict(
        claims=claims,
        faithfulness=faithfulness,
        relevance=findings.relevance,
        completeness=findings.completeness,
        citation_validity=validity,
        confidence=confidence,
        accepted=accepted,
        reasons=() if accepted else tuple(dict.fromkeys(reasons)),
        gaps=findings.gaps,
        critic=RULES_ONLY,
        answered=answered,
        read=read,
        calibrated=likely is not None or _was_fitted(question, answer, claims),
    )


def _was_fitted(question: str, answer: Sequence[AnswerPart], claims: Sequence[Claim]) -> bool:
    """Maximum length of the labelled prose, which answers questions in English; summaries are classified less well."""
    return bool(question) and len(claims) <= MAX_CLAIMS and is_english(plain_text(answer))


def checked_against_pictures(verdict: Verdict, citations: Sequence[Citation]) -> Verdict:
    """Nothing stays supported by words that the picture of their page does not show."""
    differing = [one for one in citations if one.read_back and one.read_back.likeness is Likeness.DIFFERS]
    claims = tuple(_checked_against(claim, differing) for claim in verdict.claims)
    if claims == verdict.claims:
        return verdict
    before = sum(WORTH[claim.status] for claim in verdict.claims)
    kept = sum(WORTH[claim.status] for claim in claims) / before
    changed = [new for old, new in zip(verdict.claims, claims, strict=True) if old is not new]
    return replace(
        verdict,
        claims=claims,
        faithfulness=Score(verdict.faithfulness.value * kept, "some of its words are not in the source"),
        citation_validity=at_most(
            CAP_INVALID_CITATION, verdict.citation_validity, "some words it cites are not in the source"
        ),
        confidence=capped(verdict.confidence, [ClaimStatus.CONTRADICTED]),
        accepted=False,
        reasons=(*verdict.reasons, *(f"“{shortened(claim.text)}”: {claim.reason}." for claim in changed)),
        question_back=verdict.question_back or "The file's text differs from what its page shows. Which is right?",
    )


def _checked_against(claim: Claim, differing: Sequence[Citation]) -> Claim:
    for citation in differing:
        own = claim.quotation is not None and (claim.quotation.page, claim.quotation.start, claim.quotation.end) == (
            citation.page, citation.start, citation.end
        )  # fmt: skip
        is_cited = citation.number in claim.citations and citation.quotation in claim.text
        if WORTH[claim.status] and (own or is_cited) and citation.read_back:
            seen = shortened(citation.read_back.recognised)
            where = "in the file" if citation.read_back.of_file else f"on the image of page {citation.page_label}"
            reason = f"{where} these words read “{seen}”"
            return replace(claim, status=ClaimStatus.UNSUPPORTED, reason=reason)
    return claim


def declined_verdict(confidence: float, threshold: float, gaps: tuple[str, ...] = ()) -> Verdict:
    """Return the verdict on "I found no answer", which is right with this probability."""
    accepted = confidence >= threshold
    return Verdict(
        claims=(),
        faithfulness=Score(1.0, "no claims to check"),
        relevance=Score(1.0, "it says that nothing was found"),
        completeness=Score(0.0, "it says that the documents do not answer"),
        citation_validity=Score(1.0, "no citation was needed"),
        confidence=confidence,
        accepted=accepted,
        reasons=() if accepted else (f"Pincite is only {confidence:.0%} sure that these documents contain no answer.",),
        gaps=gaps,
        critic=RULES_ONLY,
        declined=True,
    )


def _claim(checked: CheckedClaim, evidence: Sequence[Evidence], page_text: PageText) -> Claim:
    """Nothing counts as supported without a quotation, found on its page, for all that it cites."""
    if checked.claim.figures:
        return _claim_of_figures(checked, evidence, page_text)
    claim, status, reason = checked.claim, checked.status, checked.reason
    if claim.absent and status in (ClaimStatus.SEARCHED, ClaimStatus.NOT_CHECKED):
        return Claim(claim.in_context, claim.start, claim.end, status, reason, claim.citations)
    items = {item.number: item for item in evidence}
    bare = claim.bare
    numbers = claim.citations or (tuple(items) if claim.absent else ())
    located = {number: citation_of(claim, items[number], page_text) if number in items else None for number in numbers}
    missing = [number for number, citation in located.items() if citation is None]
    found = [citation for citation in located.values() if citation is not None]
    shares = [contained_share(bare, Sources.of([citation.quotation])) for citation in found]
    best = max(range(len(found)), key=lambda place: shares[place], default=None)
    if WORTH[status] and not located:
        status, reason = ClaimStatus.UNSUPPORTED, "it is not tied to any page"
    elif WORTH[status] and missing:
        status, reason = ClaimStatus.UNSUPPORTED, f"no quotation for it was found on the page of [{missing[0]}]"
    elif WORTH[status] and not (claim.verbatim or checked.likely) and max(shares) < BARELY_HELD:
        status, reason = ClaimStatus.UNSUPPORTED, "nothing on the cited page supports it"
    quotation = None if best is None else found[best]
    return Claim(claim.in_context, claim.start, claim.end, status, reason, claim.citations, quotation)


def _claim_of_figures(checked: CheckedClaim, evidence: Sequence[Evidence], page_text: PageText) -> Claim:
    """Check that each figure is where it was taken from, on a page that the claim cites."""
    claim, status, reason = checked.claim, checked.status, checked.reason
    cited = {item.passage.page: item for item in evidence if item.number in claim.citations}
    quotation = None
    for figure in claim.figures:
        item = cited.get((figure.document_id, figure.page_index))
        found = page_citation(item, Span(figure.start, figure.end), page_text) if item else None
        if WORTH[status] and (found is None or found.quotation != figure.text):
            where = f"page {item.passage.page_label}" if item else "a page that is cited"
            status, reason = ClaimStatus.UNSUPPORTED, f"“{figure.text}” is not in its place on {where}"
        quotation = quotation or found
    return Claim(claim.text, claim.start, claim.end, status, reason, claim.citations, quotation)


def _kept(findings: AnswerFindings, claims: Sequence[Claim]) -> Score:
    """What is left of the judge's score once claims without a located quotation are worth nothing."""
    before = sum(WORTH[checked.status] for checked in findings.claims)
    after = sum(WORTH[claim.status] for claim in claims)
    if after == before:
        return findings.faithfulness
    lost = sum(claim.status is not checked.status for claim, checked in zip(claims, findings.claims, strict=True))
    value = findings.faithfulness.value * after / before
    return Score(value, f"no quotation was located for {lost} of {len(claims)} claims")
