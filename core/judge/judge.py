"""Judge an answer against its sources without a language model: a verdict per claim, scores with reasons, a confidence.

Pure: texts in, findings out. Who wrote the answer and what happens next is left to the graph.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.domain.answers import AnswerPart, ClaimStatus, PartKind, Score, Span
from core.judge.checks import CONTRADICTIONS, Finding, FindingKind, check_claim
from core.judge.claims import ClaimText, declines
from core.judge.confidence import ConfidenceModels, Recalibration, shipped_models
from core.judge.features import ClaimMeasure, measure_answer, measure_claims
from core.judge.sources import Source, Sources
from core.text.marks import plain_text
from core.text.quotations import best_quotation
from core.text.sentences import split_sentences
from core.text.terms import content_terms, root, specificity

DOUBTED, DOUBTFUL = 0.4, 0.25
"""From these doubts on a claim counts as unsupported, or as partly supported."""
_BARELY_HELD, _HELD = 0.25, 0.45
"""Shares of a claim's terms: under the first the evidence hardly speaks of it; cited evidence must hold the second."""
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
_DENIES = re.compile(
    r"\b(?:not?|never|neither|nor|none|without|cannot|unless|den(?:y|ies|ied)|false|untrue|wrong(?:ly)?|kein\w*|nicht|"
    r"ohne)\b|n['’]t\b",
    re.IGNORECASE,
)
_EMPTY_WORDS = frozenset(
    content_terms(
        "document file page tell show explain describe summarise summarize give list find please mention name text say"
    )
)


@dataclass(frozen=True, slots=True)
class CheckedClaim:
    """A claim with its status, one line of reason, and the source sentence that comes closest."""

    text: str
    start: int
    end: int
    citations: tuple[int, ...]
    status: ClaimStatus
    reason: str
    doubt: float
    findings: tuple[Finding, ...]
    source_number: int | None
    """Which source (1-based) holds the best quotation."""
    quotation: Span | None
    """Where in that source's text it stands."""
    verbatim: bool = False


@dataclass(frozen=True, slots=True)
class AnswerFindings:
    """Everything the deterministic judge has to say of one answer."""

    claims: tuple[CheckedClaim, ...]
    faithfulness: Score
    relevance: Score
    completeness: Score
    citation_validity: Score
    overall: float
    confidence: float
    score: float
    """Log-odds behind the confidence, before any recalibration; what `refit` learns from."""
    declined: bool
    invalid_citations: tuple[int, ...]
    gaps: tuple[str, ...]
    reasons: tuple[str, ...]
    features: Mapping[str, float]


def judge_answer(
    question: str,
    answer: str | Sequence[AnswerPart],
    sources: Sequence[str],
    *,
    citations_expected: bool = False,
    models: ConfidenceModels | None = None,
    recalibration: Recalibration | None = None,
) -> AnswerFindings:
    """Judge `answer`; the number n of a part points to ``sources[n - 1]``. A bare text is prose that cites nothing.

    With `citations_expected` a claim without a mark costs faithfulness and citation validity.
    """
    models = models or shipped_models()
    prepared = [Source(text) for text in sources]
    pool = Sources(prepared, question)
    parts = (AnswerPart(answer),) if isinstance(answer, str) else tuple(answer)
    measures = measure_claims(parts, pool)
    doubts = [float(doubt) for doubt in models.claim.probabilities([measure.features for measure in measures])]
    claims = tuple(_check(measure, doubt, pool, sources) for measure, doubt in zip(measures, doubts, strict=True))
    features = measure_answer(measures, doubts, pool)
    named = dict.fromkeys(number for part in parts for number in part.numbers)
    invalid = tuple(number for number in named if not 1 <= number <= len(sources))
    declined = not claims and any(map(_declines, parts))
    uncited = [claim for claim in claims if citations_expected and not claim.citations]
    faithfulness = _faithfulness(claims, invalid, uncited, declined)
    relevance, completeness, gaps = _answering(question, plain_text(parts), declined)
    validity = _citation_validity(claims, invalid, uncited, citations_expected)
    score = -float(models.answer.log_odds([features])[0])
    reasons = [score.reason for score in (faithfulness, validity, completeness) if score.value < 0.75]
    return AnswerFindings(
        claims=claims,
        faithfulness=faithfulness,
        relevance=relevance,
        completeness=completeness,
        citation_validity=validity,
        overall=0.5 * faithfulness.value + 0.2 * validity.value + 0.15 * relevance.value + 0.15 * completeness.value,
        confidence=(recalibration or Recalibration()).confidence(score),
        score=score,
        declined=declined,
        invalid_citations=invalid,
        gaps=gaps,
        reasons=tuple(dict.fromkeys(reasons)),
        features=features,
    )


def _declines(part: AnswerPart) -> bool:
    """Say whether a part tells that the documents do not answer; what is quoted never does, whatever its words."""
    if part.kind is not PartKind.PROSE:
        return part.kind is PartKind.DECLINE
    return any(declines(part.text[span.start : span.end]) for span in split_sentences(part.text))


def _check(measure: ClaimMeasure, doubt: float, pool: Sources, texts: Sequence[str]) -> CheckedClaim:
    claim = measure.claim
    cited = [number for number in claim.citations if 1 <= number <= len(pool.sources)]
    findings = measure.findings
    status, reason = _status(findings, doubt, measure.features["coverage"])
    if any(_repeats(claim, pool.sources[number - 1]) for number in cited):
        status, reason = ClaimStatus.SUPPORTED, "stands word for word in what it cites"
    elif claim.verbatim:
        status, reason = ClaimStatus.UNSUPPORTED, "its words do not stand in what it cites"
    elif denial := next(filter(None, (_denial(claim, pool.sources[number - 1]) for number in cited)), ""):
        status, reason = ClaimStatus.UNSUPPORTED, f"it leaves out “{denial}” of the sentence that it repeats"
    elif cited:
        evidence = Sources([pool.sources[number - 1] for number in cited], pool.question)
        held = _held(claim, evidence)
        findings = check_claim(claim.bare, evidence)
        cited_status, cited_reason = _status(findings, doubt, held)
        better = _other_source(claim, pool, cited, held)
        if status is ClaimStatus.SUPPORTED and (cited_status is not ClaimStatus.SUPPORTED or held < _HELD) and better:
            status, reason = ClaimStatus.UNSUPPORTED, f"the support is in [{better}], not in the cited {_marks(cited)}"
        elif held < _HELD and not any(finding.kind is FindingKind.COMPUTED for finding in findings):
            status, reason = ClaimStatus.UNSUPPORTED, f"the cited {_marks(cited)} says nothing of it"
        elif WORTH[cited_status] <= WORTH[status]:
            status, reason = cited_status, cited_reason
    elif claim.citations:
        status, reason = ClaimStatus.UNSUPPORTED, f"{_marks(claim.citations)} is no source of this answer"
    number, quotation = _quotation(claim, cited, pool, texts)
    return CheckedClaim(
        claim.told, claim.start, claim.end, claim.citations, status, reason, doubt, findings, number, quotation,
        claim.verbatim,
    )  # fmt: skip


def _repeats(claim: ClaimText, source: Source) -> bool:
    """Say whether a source holds a claim word for word; for what is quoted, character for character."""
    if claim.verbatim:
        return claim.text in source.text
    return source.normalized.locate(claim.bare) is not None and not _denial(claim, source)


def _denial(claim: ClaimText, source: Source) -> str:
    """Return the word before a repeated claim in its sentence that denies it there, and that it leaves out."""
    span = source.normalized.locate(claim.bare)
    if span is None:
        return ""
    start = max((s.start for s in split_sentences(source.text) if s.start <= span.start), default=span.start)
    denies = _DENIES.search(source.text[start : span.start])
    return denies.group() if denies else ""


def speaks_of(claim: str, text: str) -> bool:
    """Say whether a text holds enough of a bare claim to be shown for it."""
    return _share_held(claim, Sources.of([text])) >= _BARELY_HELD


def bearing(claim: ClaimText, pool: Sources) -> tuple[int, ...]:
    """Return the numbers of the sources that bear a claim out: of those it cites, or else the one other that does.

    Where none does, what it cites. What cites nothing is tied to a source only where that holds nearly all of it.
    """
    cited = tuple(number for number in claim.citations if 1 <= number <= len(pool.sources))
    if not cited:
        other = _other_source(claim, pool, cited, ATTACHED - 0.2)
        return (other,) if other else ()
    if any(_repeats(claim, pool.sources[number - 1]) for number in cited):
        return tuple(number for number in cited if _held(claim, Sources([pool.sources[number - 1]])) >= _BARELY_HELD)
    evidence = Sources([pool.sources[number - 1] for number in cited], pool.question)
    held = _held(claim, evidence)
    against = any(finding.kind is not FindingKind.COMPUTED for finding in check_claim(claim.bare, evidence))
    other = _other_source(claim, pool, cited, 0.0 if against else held) if against or held < _HELD else None
    if other:
        return (other,)
    return tuple(n for n in cited if _held(claim, Sources([pool.sources[n - 1]])) >= _BARELY_HELD) or cited


def _status(findings: Sequence[Finding], doubt: float, held: float) -> tuple[ClaimStatus, str]:
    """Return the status that findings, doubt and overlap add up to, with its reason."""
    against = [finding for finding in findings if finding.kind in CONTRADICTIONS]
    rival = [finding for finding in findings if "; the closest passage says" in finding.detail]
    missing = [finding for finding in findings if finding.kind in (FindingKind.NUMBER, FindingKind.DATE)]
    partial = [finding for finding in findings if finding.kind is not FindingKind.COMPUTED]
    computed = [finding for finding in findings if finding.kind is FindingKind.COMPUTED]
    if against or rival:
        return ClaimStatus.CONTRADICTED, (against or rival)[0].detail
    if missing:
        return ClaimStatus.UNSUPPORTED, missing[0].detail
    if doubt >= DOUBTED:
        return ClaimStatus.UNSUPPORTED, (partial[0].detail if partial else "the evidence hardly speaks of it")
    if partial:
        return ClaimStatus.PARTLY_SUPPORTED, partial[0].detail
    if doubt >= DOUBTFUL or held < _BARELY_HELD:
        return ClaimStatus.PARTLY_SUPPORTED, "only part of it is found in the evidence"
    return ClaimStatus.SUPPORTED, (f"computed: {computed[0].detail}" if computed else "found in the evidence")


def _held(claim: ClaimText, evidence: Sources) -> float:
    """Return how much of a claim, by telling terms, some sentences of the evidence hold between them."""
    return _share_held(claim.bare, evidence)


def _share_held(bare: str, evidence: Sources) -> float:
    terms = frozenset(content_terms(bare))
    top = frozenset(term for _, sentence in evidence.ranked(terms)[:3] for term in sentence.terms)
    roots = {root(term) for term in top}
    total = sum(specificity(term) for term in terms) or 1.0
    return sum(specificity(term) for term in terms if term in top or root(term) in roots) / total


def _other_source(claim: ClaimText, pool: Sources, cited: Sequence[int], held: float) -> int | None:
    """Return the number of a source that was not cited and bears the claim out clearly better than those that were."""
    best, best_held = None, max(held + 0.2, _HELD)
    for number, source in enumerate(pool.sources, start=1):
        if number not in cited:
            alone = Sources([source], pool.question)
            share = _held(claim, alone)
            if share > best_held and not any(
                f.kind is not FindingKind.COMPUTED for f in check_claim(claim.bare, alone)
            ):
                best, best_held = number, share
    return best


def _quotation(
    claim: ClaimText, cited: Sequence[int], pool: Sources, texts: Sequence[str]
) -> tuple[int | None, Span | None]:
    numbers = list(cited or range(1, len(texts) + 1))
    found = best_quotation(claim.bare, [texts[number - 1] for number in numbers])
    return (numbers[found[0]], found[1]) if found else (None, None)


def _faithfulness(
    claims: Sequence[CheckedClaim], invalid: Sequence[int], uncited: Sequence[CheckedClaim], declined: bool
) -> Score:
    if not claims:
        return Score(
            1.0, "it claims nothing: it says that the documents do not say" if declined else "it claims nothing"
        )
    counts = {status: sum(claim.status is status for claim in claims) for status in ClaimStatus}
    value = sum(WORTH[claim.status] for claim in claims) / len(claims)
    value *= 1 - UNCITED_PENALTY * len(uncited) / len(claims)
    if counts[ClaimStatus.CONTRADICTED]:
        value = min(value, CAP_CONTRADICTION)
    if invalid:
        value = min(value, CAP_INVALID_CITATION)
    told = ", ".join(f"{count} {status.value}" for status, count in counts.items() if count)
    if uncited:
        told += f", {len(uncited)} without a citation"
    return Score(value, f"of {len(claims)} claims {told}")


def _citation_validity(
    claims: Sequence[CheckedClaim], invalid: Sequence[int], uncited: Sequence[CheckedClaim], expected: bool
) -> Score:
    cited = [claim for claim in claims if claim.citations]
    if not cited and not invalid:
        if expected and claims:
            return Score(0.0, "no claim carries a citation")
        return Score(1.0, "no citation was needed")
    good = sum(WORTH[claim.status] for claim in cited)
    value = good / (len(cited) + len(uncited) + len(invalid))
    if invalid:
        return Score(min(value, CAP_INVALID_CITATION), f"{_marks(invalid)} points to nothing")
    weak = [claim for claim in cited if claim.status is not ClaimStatus.SUPPORTED]
    if weak:
        return Score(value, f"{len(weak)} of {len(cited)} cited claims are not borne out by what they cite")
    return Score(value, f"{len(uncited)} claims carry no citation" if uncited else "every citation bears its claim out")


def _answering(question: str, answer: str, declined: bool) -> tuple[Score, Score, tuple[str, ...]]:
    """Return relevance and completeness: what share of the question, and of its parts, the answer takes up."""
    said = {root(term) for term in content_terms(answer)}
    wanted = _asked(question)
    taken = [term for term in wanted if root(term) in said]
    total = sum(specificity(term) for term in wanted)
    value = sum(specificity(term) for term in taken) / total if total else 1.0
    left = [term for term in wanted if term not in taken]
    relevance = Score(value, f"does not speak of “{left[0]}”" if left else "speaks of what was asked")
    parts = [part.strip(" ,") for part in _PART.split(question) if part and _asked(part)]
    gaps = tuple(part for part in parts if not any(root(term) in said for term in _asked(part)))
    if declined:
        return relevance, Score(0.0, "it says that the documents do not answer"), tuple(parts)
    done = len(parts) - len(gaps)
    reason = f"leaves open: {gaps[0]}" if gaps else "takes up every part of the question"
    return relevance, Score(done / len(parts) if parts else 1.0, reason), gaps


def _asked(question: str) -> list[str]:
    return [term for term in dict.fromkeys(content_terms(question)) if term not in _EMPTY_WORDS]


def _marks(numbers: Sequence[int]) -> str:
    return "".join(f"[{number}]" for number in numbers)
