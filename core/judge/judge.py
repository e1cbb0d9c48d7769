"""Judge an answer against its sources without a language model: a verdict per claim, scores with reasons, a confidence.

The trained checker decides what a claim means; code has the last word on what it can compute: quotations, figures,
dates. Texts in, findings out: who wrote the answer and what happens next is left to the graph.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pincite.core.domain.answers import AnswerPart, ClaimStatus, PartKind, Score, engine_declines
from pincite.core.domain.keys import in_words
from pincite.core.judge.checks import CONTRADICTIONS, FindingKind, check_claim
from pincite.core.judge.claims import ClaimText, declines
from pincite.core.judge.confidence import shipped_models
from pincite.core.judge.features import LIKELY, SURE, ClaimMeasure, check_meaning, measure_claims
from pincite.core.judge.sources import Sources, contained_share
from pincite.core.questions.wording import comparison
from pincite.core.text.marks import plain_text
from pincite.core.text.sentences import split_sentences
from pincite.core.text.stating import NotComputableError, formula, reads_so, relation, statement
from pincite.core.text.terms import content_terms, root, specificity

DOUBTED, DOUBTFUL = 0.7, 0.15
"""Minimum doubts from which a claim counts as unsupported, or as to be checked."""
MIN_SUPPORT, CONTRADICTED = SURE, 0.95
"""Minimum probabilities of the checker that outweigh what code finds, and that a claim is contradicted."""
BARELY_HELD, HELD = 0.25, 0.45
"""Minimum shares of a claim's terms in any evidence, below which it is off topic, and in the cited evidence."""
CLEARLY = 0.2
"""Minimum difference in the share of a claim's terms for another source to replace the cited ones."""
ATTACHED = 0.75
"""Minimum share of a claim's terms in a source that is cited for a claim without a citation."""
MAX_OTHERS = 2
"""Maximum number of other sources that are checked for a claim."""
WORTH = {
    ClaimStatus.SUPPORTED: 1.0,
    ClaimStatus.SEARCHED: 1.0,
    ClaimStatus.NOT_CHECKED: 1.0,
    ClaimStatus.PARTLY_SUPPORTED: 0.5,
    ClaimStatus.UNSUPPORTED: 0.0,
    ClaimStatus.CONTRADICTED: 0.0,
}
CAP_INVALID_CITATION = 0.5
CAP_CONTRADICTION = 0.4
UNCITED_PENALTY = 0.5
"""Share of faithfulness that an answer loses if no claim has a citation; less in proportion if some have one."""
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
    likely: bool = False
    """Whether the checker gives support a probability above one half."""


@dataclass(frozen=True, slots=True)
class AnswerFindings:
    """The result of the deterministic judge for one answer."""

    claims: tuple[CheckedClaim, ...]
    faithfulness: Score
    relevance: Score
    completeness: Score
    citation_validity: Score
    confidence: float
    """Calibrated probability that the sources support everything in the answer, capped by the findings."""
    declined: bool
    gaps: tuple[str, ...]


def judge_answer(
    question: str,
    answer: str | Sequence[AnswerPart],
    sources: Sequence[str],
    *,
    worked_out: Sequence[str] = (),
    readings: Sequence[str] = (),
    citations_expected: bool = False,
) -> AnswerFindings:
    """Judge `answer`; the number n of a part points to ``sources[n - 1]``. A bare text is prose that cites nothing.

    The figures of ``worked_out``, which code computed from the sources, need not be in any of them. ``readings``: what
    code read with certainty from table cells as the answer, in words.
    With `citations_expected` a claim without a mark costs faithfulness and citation validity.
    """
    models = shipped_models()
    pool = Sources.of(sources, question, worked_out, readings)
    parts = (AnswerPart(answer),) if isinstance(answer, str) else tuple(answer)
    measures = measure_claims(parts, pool)
    doubts = models.doubts(measures)
    claims = tuple(_check(measure, doubt, pool) for measure, doubt in zip(measures, doubts, strict=True))
    named = dict.fromkeys(number for part in parts for number in part.numbers)
    invalid = tuple(number for number in named if not 1 <= number <= len(sources))
    declined = engine_declines(parts) or (_only_declines(claims) and bool(claims or any(map(_declines, parts))))
    if declined:
        claims, measures = (), ()
    stated = [checked for checked in claims if not checked.claim.absent]
    uncited = sum(not checked.claim.citations for checked in stated) if citations_expected else 0
    relevance, completeness, gaps = _answering(question, plain_text(parts), declined)
    return AnswerFindings(
        claims=claims,
        faithfulness=_faithfulness(claims, invalid, uncited, declined),
        relevance=relevance,
        completeness=completeness,
        citation_validity=_citation_validity(claims, invalid, uncited, citations_expected and bool(stated)),
        confidence=capped(models.confidence(measures), [checked.status for checked in claims]),
        declined=declined,
        gaps=gaps,
    )


def _only_declines(claims: Sequence[CheckedClaim]) -> bool:
    """Return whether an answer only states that something is absent, and the evidence does not contradict it."""
    return all(one.claim.absent and one.status is not ClaimStatus.CONTRADICTED for one in claims)


def capped(confidence: float, statuses: Sequence[ClaimStatus]) -> float:
    """Cap the confidence of an answer with a contradicted claim."""
    return min(confidence, CAP_CONTRADICTION) if ClaimStatus.CONTRADICTED in statuses else confidence


def _declines(part: AnswerPart) -> bool:
    """Return whether a part states that the documents do not answer; a quotation never does, whatever its words."""
    if part.kind is not PartKind.PROSE:
        return part.kind is PartKind.DECLINE
    return any(declines(part.text[span.start : span.end]) for span in split_sentences(part.text))


def _check(measure: ClaimMeasure, doubt: float, pool: Sources) -> CheckedClaim:
    claim = measure.claim
    if claim.figures:
        return _recomputed(claim, pool.question)
    if claim.citations and pool.cited(claim.citations) is None:
        reason = f"{_marks(claim.citations)} is not a source for this answer"
        return CheckedClaim(claim, ClaimStatus.UNSUPPORTED, reason)
    if measure.repeated:
        return CheckedClaim(claim, ClaimStatus.SUPPORTED, "appears word for word in what it cites")
    if claim.verbatim:
        return CheckedClaim(claim, ClaimStatus.UNSUPPORTED, "its words do not appear in what it cites")
    status, reason = status_of(measure, doubt)
    if claim.citations and WORTH[status] < 1.0:
        cited, contained = _marks(claim.citations), measure.features["held"]
        if other := _other_source(claim, pool, contained):
            status, reason = ClaimStatus.UNSUPPORTED, f"the support is in [{other}], not in the cited {cited}"
        elif contained < BARELY_HELD and status is not ClaimStatus.CONTRADICTED and not measure.likely:
            status, reason = ClaimStatus.UNSUPPORTED, f"the cited {cited} says nothing about it"
    return CheckedClaim(claim, status, reason, measure.likely)


def _recomputed(claim: ClaimText, question: str) -> CheckedClaim:
    """Return whether a statement follows from the figures that it carries; their places are checked with the page.

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


def supporting_sources(claim: ClaimText, pool: Sources) -> tuple[int, ...]:
    """Return the numbers of the sources that support a claim: of those it cites, or else the one other that does.

    If none does, what it cites. What cites nothing is tied to a source only if that contains nearly all of its terms.
    """
    cited = pool.cited(claim.citations)
    if cited is None:
        other = _other_source(claim, pool, ATTACHED - CLEARLY)
        return (other,) if other else ()
    numbers = [number for number in claim.citations if 1 <= number <= len(pool.sources)]
    shares = {number: contained_share(claim.bare, Sources([pool.sources[number - 1]])) for number in numbers}
    holding = tuple(number for number in numbers if shares[number] >= BARELY_HELD)
    if any(source.normalized.locate(claim.bare) for source in cited.sources):
        return holding
    together = contained_share(claim.bare, cited)
    supported = _is_supported(claim, cited)
    other = _other_source(claim, pool, together if supported else 0.0) if not supported or together < HELD else None
    return (other,) if other else holding or tuple(numbers)


def _is_supported(claim: ClaimText, evidence: Sources) -> bool:
    """Return whether no computed finding contradicts a claim, and the checker, if there is one, supports it."""
    if any(finding.kind in CONTRADICTIONS for finding in check_claim(claim.bare, evidence)):
        return False
    meaning = check_meaning(claim.bare, evidence)
    return meaning is None or meaning.supported >= LIKELY


def _other_source(claim: ClaimText, pool: Sources, cited_share: float) -> int | None:
    """Return the number of an uncited source that supports the claim clearly better than the cited ones."""
    shares = {
        number: contained_share(claim.bare, pool.only(source))
        for number, source in enumerate(pool.sources, start=1)
        if number not in claim.citations
    }
    better = [number for number, share in shares.items() if share > max(cited_share + CLEARLY, HELD)]
    ranked = sorted(better, key=lambda number: -shares[number])[:MAX_OTHERS]
    return next((one for one in ranked if _is_supported(claim, pool.only(pool.sources[one - 1]))), None)


def status_of(measure: ClaimMeasure, doubt: float) -> tuple[ClaimStatus, str]:
    """Return the status of a claim, with its reason, from findings, the checker and the claim's doubt.

    Findings of code decide, unless the checker is certain that the evidence supports the claim: then a person must
    check it. About rows and columns of a table code always overrules the checker.
    """
    meaning = measure.meaning
    details = {finding.kind: finding.detail for finding in reversed(measure.findings)}  # the first of each kind
    supported, contradicted = (meaning.supported, meaning.contradicted) if meaning else (0.0, 0.0)
    if detail := details.get(FindingKind.OTHER_CELL):
        return ClaimStatus.CONTRADICTED, detail
    for kind, status in _COMPUTED:
        if detail := details.get(kind):
            return (ClaimStatus.PARTLY_SUPPORTED if supported >= MIN_SUPPORT else status), detail
    if contradicted >= CONTRADICTED:
        return ClaimStatus.CONTRADICTED, next(iter(details.values()), "") or "its passage says otherwise"
    if measure.claim.absent and meaning:
        return ClaimStatus.SEARCHED, "nothing in the passages found says otherwise"
    if measure.claim.absent:
        return ClaimStatus.NOT_CHECKED, "whether the passages found say otherwise was not checked"
    doubtful = next(iter(details.values()), "")
    sure = supported >= MIN_SUPPORT and not _CHANGED & details.keys()
    if doubt >= DOUBTED:
        return ClaimStatus.UNSUPPORTED, doubtful or "its passage does not say it"
    if doubt >= DOUBTFUL or (doubtful and not sure):
        return ClaimStatus.PARTLY_SUPPORTED, doubtful or "its passage may not say all of it"
    if meaning is None:
        return ClaimStatus.NOT_CHECKED, "its words were found, their meaning was not checked"
    return ClaimStatus.SUPPORTED, "its passage says so"


_CHANGED = {FindingKind.REWORDED, FindingKind.COUNTED}
"""Findings about a replaced word in a repeated sentence: it may reverse the meaning, and a person sees that at once."""
_COMPUTED = (
    (FindingKind.CONTRADICTED, ClaimStatus.CONTRADICTED),
    (FindingKind.FIGURE_DIFFERS, ClaimStatus.CONTRADICTED),
    (FindingKind.FIGURE_MISSING, ClaimStatus.UNSUPPORTED),
    (FindingKind.REPORTED, ClaimStatus.UNSUPPORTED),
)


def _faithfulness(claims: Sequence[CheckedClaim], invalid: Sequence[int], uncited: int, declined: bool) -> Score:
    if not claims:
        summary = "it makes no claims"
        return Score(1.0, f"{summary}: it says that the documents do not answer" if declined else summary)
    counts = {status: sum(checked.status is status for checked in claims) for status in WORTH}
    value = sum(WORTH[status] * count for status, count in counts.items()) / len(claims)
    value *= 1 - UNCITED_PENALTY * uncited / len(claims)
    summary = ", ".join(f"{count} {in_words(status)}" for status, count in counts.items() if count)
    score = Score(value, f"{len(claims)} checked: {summary}" + (f", {uncited} without a citation" if uncited else ""))
    if counts[ClaimStatus.CONTRADICTED]:
        score = at_most(CAP_CONTRADICTION, score)
    return at_most(CAP_INVALID_CITATION, score) if invalid else score


def at_most(cap: float, score: Score, because: str = "") -> Score:
    """Return the score, capped; the reason then names the cap. ``because`` replaces that reason."""
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
    weak = sum(WORTH[checked.status] < 1.0 for checked in cited)
    if weak:
        return Score(value, f"not supported by what they cite: {weak} of {len(cited)} cited claims")
    return Score(value, f"claims without a citation: {uncited}" if uncited else "every citation supports its claim")


def _answering(question: str, answer: str, declined: bool) -> tuple[Score, Score, tuple[str, ...]]:
    """Return relevance and completeness: the share of the question, and of its parts, that the answer addresses."""
    answer_terms = {root(term) for term in content_terms(answer)}
    wanted = _asked(question)
    left = [term for term in wanted if root(term) not in answer_terms]
    total = sum(map(specificity, wanted))
    value = 1 - sum(map(specificity, left)) / total if total else 1.0
    relevance = Score(value, f"does not mention “{left[0]}”" if left else "addresses what was asked")
    parts = [part.strip(" ,") for part in _PART.split(question) if part and _asked(part)]
    gaps = tuple(part for part in parts if not any(root(term) in answer_terms for term in _asked(part)))
    if declined:
        return relevance, Score(0.0, "it says that the documents do not answer"), tuple(parts)
    reason = f"does not answer: {gaps[0]}" if gaps else "addresses every part of the question"
    return relevance, Score(1 - len(gaps) / len(parts) if parts else 1.0, reason), gaps


def _asked(question: str) -> list[str]:
    return [term for term in dict.fromkeys(content_terms(question)) if term not in _EMPTY_WORDS]


def _marks(numbers: Sequence[int]) -> str:
    return "".join(f"[{number}]" for number in numbers)
