"""Judge an answer against its sources without a language model: a verdict per claim, scores with reasons, a confidence.

Pure: texts in, findings out. Who wrote the answer and what happens next is left to the graph.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.domain.answers import AnswerPart, ClaimStatus, PartKind, Score, engine_declines
from core.judge.changed import restates
from core.judge.checks import CONTRADICTIONS, DENIES, Finding, FindingKind, check_claim
from core.judge.claims import ClaimText, declines
from core.judge.confidence import shipped_models
from core.judge.features import ClaimMeasure, measure_answer, measure_claims
from core.judge.sources import Source, Sources, share_held
from core.text.marks import plain_text
from core.text.questions import comparison
from core.text.sentences import split_sentences
from core.text.stating import NotComputableError, formula, reads_so, relation, statement
from core.text.terms import content_terms, root, specificity

DOUBTED, DOUBTFUL = 0.4, 0.25
"""From these doubts on a claim counts as unsupported, or as partly supported."""
BARELY_HELD, HELD = 0.25, 0.45
"""Shares of a claim's terms: under the first the evidence hardly speaks of it; cited evidence must hold the second."""
CLEARLY = 0.2
"""By so much more of a claim's terms another source must bear it out than the cited ones."""
ATTACHED = 0.75
"""Share of a claim's terms that a source must hold to be cited for a claim that cites nothing itself."""
WORTH = {
    ClaimStatus.SUPPORTED: 1.0,
    ClaimStatus.PARTLY_SUPPORTED: 0.5,
    ClaimStatus.UNSUPPORTED: 0.0,
    ClaimStatus.CONTRADICTED: 0.0,
}
CAP_INVALID_CITATION = 0.5
CAP_CONTRADICTION = 0.4
UNCITED_PENALTY = 0.5
"""Share of its faithfulness that an answer loses when no claim is cited; in proportion when some are not."""
_PART = re.compile(
    r"[?;]|,?\s(?:and|as well as|und)\s(?=(?:what|who|when|where|why|how|which|whether|is|are|does|do|did)\b)", re.I
)
_EMPTY_WORDS = frozenset(
    content_terms(
        "document file page tell show explain describe summarise summarize give list find please mention name text say"
    )
)


@dataclass(frozen=True, slots=True)
class CheckedClaim:
    """A claim with its status and one line of reason."""

    claim: ClaimText
    status: ClaimStatus
    reason: str


@dataclass(frozen=True, slots=True)
class AnswerFindings:
    """Everything the deterministic judge has to say of one answer."""

    claims: tuple[CheckedClaim, ...]
    faithfulness: Score
    relevance: Score
    completeness: Score
    citation_validity: Score
    confidence: float
    """Calibrated probability that it says nothing its sources do not bear out, capped by what was found."""
    declined: bool
    gaps: tuple[str, ...]


def judge_answer(
    question: str,
    answer: str | Sequence[AnswerPart],
    sources: Sequence[str],
    *,
    worked_out: Sequence[str] = (),
    citations_expected: bool = False,
) -> AnswerFindings:
    """Judge `answer`; the number n of a part points to ``sources[n - 1]``. A bare text is prose that cites nothing.

    The figures of ``worked_out``, which code computed from the sources, need stand in none.
    With `citations_expected` a claim without a mark costs faithfulness and citation validity.
    """
    models = shipped_models()
    pool = Sources.of(sources, question, worked_out)
    parts = (AnswerPart(answer),) if isinstance(answer, str) else tuple(answer)
    measures = measure_claims(parts, pool)
    doubts = models.doubts(measures)
    claims = tuple(_check(measure, doubt, pool) for measure, doubt in zip(measures, doubts, strict=True))
    named = dict.fromkeys(number for part in parts for number in part.numbers)
    invalid = tuple(number for number in named if not 1 <= number <= len(sources))
    declined = engine_declines(parts) or (not claims and any(map(_declines, parts)))
    uncited = sum(not checked.claim.citations for checked in claims) if citations_expected else 0
    relevance, completeness, gaps = _answering(question, plain_text(parts), declined)
    return AnswerFindings(
        claims=claims,
        faithfulness=_faithfulness(claims, invalid, uncited, declined),
        relevance=relevance,
        completeness=completeness,
        citation_validity=_citation_validity(claims, invalid, uncited, citations_expected),
        confidence=capped(models.confidence(measure_answer(measures, doubts)), [checked.status for checked in claims]),
        declined=declined,
        gaps=gaps,
    )


def capped(confidence: float, statuses: Sequence[ClaimStatus]) -> float:
    """Let no answer with a contradicted claim count as likely right."""
    return min(confidence, CAP_CONTRADICTION) if ClaimStatus.CONTRADICTED in statuses else confidence


def _declines(part: AnswerPart) -> bool:
    """Say whether a part tells that the documents do not answer; what is quoted never does, whatever its words."""
    if part.kind is not PartKind.PROSE:
        return part.kind is PartKind.DECLINE
    return any(declines(part.text[span.start : span.end]) for span in split_sentences(part.text))


def _check(measure: ClaimMeasure, doubt: float, pool: Sources) -> CheckedClaim:
    claim, findings = measure.claim, measure.findings
    if claim.figures:
        return _made_again(claim, pool.question)
    cited = _cited(claim, pool)
    status, reason = status_of(findings, doubt, measure.features["held"])
    if any(_repeats(claim, source) for source in cited.sources):
        status, reason = ClaimStatus.SUPPORTED, "appears word for word in what it cites"
    elif claim.verbatim:
        status, reason = ClaimStatus.UNSUPPORTED, "its words do not appear in what it cites"
    elif denial := next(filter(None, (_denial(claim, source) for source in cited.sources)), ""):
        status, reason = ClaimStatus.UNSUPPORTED, f"it leaves out “{denial}” from the sentence that it repeats"
    elif cited.sources:
        held = share_held(claim.bare, cited)
        findings = check_claim(claim.bare, cited)
        cited_status, cited_reason = status_of(findings, doubt, held)
        worse = cited_status is not ClaimStatus.SUPPORTED or held < HELD
        if status is ClaimStatus.SUPPORTED and worse and (better := _other_source(claim, pool, held)):
            told = f"the support is in [{better}], not in the cited {_marks(claim.citations)}"
            status, reason = ClaimStatus.UNSUPPORTED, told
        elif held < HELD:
            status, reason = ClaimStatus.UNSUPPORTED, f"the cited {_marks(claim.citations)} says nothing about it"
        elif WORTH[cited_status] <= WORTH[status]:
            status, reason = cited_status, cited_reason
    elif claim.citations:
        status, reason = ClaimStatus.UNSUPPORTED, f"{_marks(claim.citations)} is not a source for this answer"
    return CheckedClaim(claim, status, reason)


def _made_again(claim: ClaimText, question: str) -> CheckedClaim:
    """Say whether the figures that a statement carries give it; where they stand is checked with the page.

    What answers yes or no must compare as the question does.
    """
    misread = next((figure for figure in claim.figures if not reads_so(figure)), None)
    if misread is not None:
        return CheckedClaim(claim, ClaimStatus.UNSUPPORTED, f"“{misread.text}” is not read as {misread.value}")
    try:
        again = statement(claim.figures, claim.computation)
        sign = relation(claim.computation) if claim.computation else ""
    except NotComputableError as error:
        return CheckedClaim(claim, ClaimStatus.UNSUPPORTED, f"it cannot be computed: {error}")
    if again != claim.text:
        return CheckedClaim(claim, ClaimStatus.UNSUPPORTED, f"recomputed from its figures, it reads “{again}”")
    compared = comparison(question) if sign else None
    if sign and (compared is None or compared.sign != sign):
        return CheckedClaim(claim, ClaimStatus.UNSUPPORTED, "it makes a different comparison from the question")
    if claim.computation is None:
        return CheckedClaim(claim, ClaimStatus.SUPPORTED, "confirmed from its table cells")
    return CheckedClaim(claim, ClaimStatus.SUPPORTED, f"recomputed: {formula(claim.figures, claim.computation)}")


def _cited(claim: ClaimText, pool: Sources) -> Sources:
    """Return those of the sources that a claim cites."""
    numbers = [number for number in claim.citations if 1 <= number <= len(pool.sources)]
    return pool.only(*(pool.sources[number - 1] for number in numbers))


def _disagrees(claim: ClaimText, evidence: Sources) -> bool:
    return bool(check_claim(claim.bare, evidence))


def _repeats(claim: ClaimText, source: Source) -> bool:
    """Say whether a source holds a claim word for word; for what is quoted, character for character."""
    if claim.verbatim:
        return claim.text in source.text
    if any(restates(claim.bare, sentence.text) for sentence in source.sentences):
        return True
    return source.normalized.locate(claim.bare) is not None and not _denial(claim, source)


def _denial(claim: ClaimText, source: Source) -> str:
    """Return the word before a repeated claim in its sentence that denies it there, and that it leaves out."""
    span = source.normalized.locate(claim.bare)
    if span is None:
        return ""
    start = max((s.start for s in split_sentences(source.text) if s.start <= span.start), default=span.start)
    denies = DENIES.search(source.text[start : span.start])
    return denies.group() if denies else ""


def bearing(claim: ClaimText, pool: Sources) -> tuple[int, ...]:
    """Return the numbers of the sources that bear a claim out: of those it cites, or else the one other that does.

    Where none does, what it cites. What cites nothing is tied to a source only where that holds nearly all of it.
    """
    cited = _cited(claim, pool)
    if not cited.sources:
        other = _other_source(claim, pool, ATTACHED - CLEARLY)
        return (other,) if other else ()
    numbers = [number for number in claim.citations if 1 <= number <= len(pool.sources)]
    held = {number: share_held(claim.bare, Sources([pool.sources[number - 1]])) for number in numbers}
    holding = tuple(number for number in numbers if held[number] >= BARELY_HELD)
    if any(_repeats(claim, source) for source in cited.sources):
        return holding
    together = share_held(claim.bare, cited)
    against = _disagrees(claim, cited)
    other = _other_source(claim, pool, 0.0 if against else together) if against or together < HELD else None
    return (other,) if other else holding or tuple(numbers)


def _other_source(claim: ClaimText, pool: Sources, held: float) -> int | None:
    """Return the number of a source that was not cited and bears the claim out clearly better than those that were."""
    best, best_held = None, max(held + CLEARLY, HELD)
    for number, source in enumerate(pool.sources, start=1):
        if number not in claim.citations:
            alone = pool.only(source)
            share = share_held(claim.bare, alone)
            if share > best_held and not _disagrees(claim, alone):
                best, best_held = number, share
    return best


def status_of(findings: Sequence[Finding], doubt: float, share_found: float) -> tuple[ClaimStatus, str]:
    """Return the status that findings, doubt and overlap add up to, with its reason; nothing found leaves it whole."""
    details = {finding.kind: finding.detail for finding in reversed(findings)}  # the first of each kind is told
    against = next((details[kind] for kind in details if kind in CONTRADICTIONS), "")
    partial = details.get(FindingKind.NAME_MISSING) or next(iter(details.values()), "")
    if against:
        return ClaimStatus.CONTRADICTED, against
    if FindingKind.FIGURE_MISSING in details:
        return ClaimStatus.UNSUPPORTED, details[FindingKind.FIGURE_MISSING]
    if doubt >= DOUBTED:
        return ClaimStatus.UNSUPPORTED, partial or "the evidence hardly mentions it"
    if partial or doubt >= DOUBTFUL or share_found < BARELY_HELD:
        return ClaimStatus.PARTLY_SUPPORTED, partial or "only part of it is found in the evidence"
    return ClaimStatus.SUPPORTED, "found in the evidence"


def _faithfulness(claims: Sequence[CheckedClaim], invalid: Sequence[int], uncited: int, declined: bool) -> Score:
    if not claims:
        told = "it makes no claims"
        return Score(1.0, f"{told}: it says that the documents do not answer" if declined else told)
    counts = {status: sum(checked.status is status for checked in claims) for status in WORTH}
    value = sum(WORTH[status] * count for status, count in counts.items()) / len(claims)
    value *= 1 - UNCITED_PENALTY * uncited / len(claims)
    told = ", ".join(f"{count} {status.value}" for status, count in counts.items() if count)
    score = Score(value, f"{len(claims)} checked: {told}" + (f", {uncited} without a citation" if uncited else ""))
    if counts[ClaimStatus.CONTRADICTED]:
        score = at_most(CAP_CONTRADICTION, score)
    return at_most(CAP_INVALID_CITATION, score) if invalid else score


def at_most(cap: float, score: Score, because: str = "") -> Score:
    """The score, or the cap where it is higher, which is then told; ``because`` takes the place of its reason."""
    reason = because or score.reason
    if score.value <= cap:
        return replace(score, reason=reason)
    return Score(cap, f"{reason} (at most {cap:.0%} then; it was {score.value:.0%})")


def _citation_validity(claims: Sequence[CheckedClaim], invalid: Sequence[int], uncited: int, expected: bool) -> Score:
    cited = [checked for checked in claims if checked.claim.citations]
    if not cited and not invalid:
        if expected and claims:
            return Score(0.0, "no claim carries a citation")
        return Score(1.0, "no citation was needed")
    value = sum(WORTH[checked.status] for checked in cited) / (len(cited) + uncited + len(invalid))
    if invalid:
        return at_most(CAP_INVALID_CITATION, Score(value, f"{_marks(invalid)} points to nothing"))
    weak = sum(checked.status is not ClaimStatus.SUPPORTED for checked in cited)
    if weak:
        return Score(value, f"not supported by what they cite: {weak} of {len(cited)} cited claims")
    return Score(value, f"claims without a citation: {uncited}" if uncited else "every citation supports its claim")


def _answering(question: str, answer: str, declined: bool) -> tuple[Score, Score, tuple[str, ...]]:
    """Return relevance and completeness: what share of the question, and of its parts, the answer takes up."""
    said = {root(term) for term in content_terms(answer)}
    wanted = _asked(question)
    left = [term for term in wanted if root(term) not in said]
    total = sum(map(specificity, wanted))
    value = 1 - sum(map(specificity, left)) / total if total else 1.0
    relevance = Score(value, f"does not mention “{left[0]}”" if left else "addresses what was asked")
    parts = [part.strip(" ,") for part in _PART.split(question) if part and _asked(part)]
    gaps = tuple(part for part in parts if not any(root(term) in said for term in _asked(part)))
    if declined:
        return relevance, Score(0.0, "it says that the documents do not answer"), tuple(parts)
    reason = f"does not answer: {gaps[0]}" if gaps else "addresses every part of the question"
    return relevance, Score(1 - len(gaps) / len(parts) if parts else 1.0, reason), gaps


def _asked(question: str) -> list[str]:
    return [term for term in dict.fromkeys(content_terms(question)) if term not in _EMPTY_WORDS]


def _marks(numbers: Sequence[int]) -> str:
    return "".join(f"[{number}]" for number in numbers)
