"""Measure an answer against its sources: the few numbers that the confidence model weighs.

Seven per claim and five per answer. They know nothing of where an answer came from, and they look at the sentences
nearest to a claim only, so that further passages change little.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pincite.core.domain.answers import AnswerPart, Span
from pincite.core.domain.logistic import log_odds
from pincite.core.judge.checks import Finding, FindingKind, check_claim
from pincite.core.judge.claims import ClaimText, extract_claims
from pincite.core.judge.restated import restates, restates_reading, without_other_words
from pincite.core.judge.sources import Sources, contained_terms
from pincite.core.text.checker import Meaning, installed_checker
from pincite.core.text.numbers import in_one_spelling
from pincite.core.text.sentences import split_sentences
from pincite.core.text.terms import content_terms, specificity, stem, words

_SUPPORTING = ("held", "pairs")
_AGAINST = ("missing", "unknown_names", "unknown_figures")
MEANING = ("supported", "contradicted")
"""Names of the features that come from the trained checker."""
REPEATED = Meaning(1.0, 0.0)
LIKELY = 0.5
"""Minimum probability of the checker that the evidence supports a claim more likely than not."""
SURE = 0.9
"""Minimum probability of the checker for a claim to be what code read off a table cell."""
MIN_PROBABILITY = 0.01
"""The checker's probabilities count as log-odds up to that of this one."""


@dataclass(frozen=True, slots=True)
class ClaimMeasure:
    """A claim with its findings and its features by name."""

    claim: ClaimText
    findings: tuple[Finding, ...]
    features: Mapping[str, float]
    meaning: Meaning | None = None
    """None if no checker is installed."""
    repeated: bool = False
    """Whether the evidence contains it word for word."""
    terms: frozenset[str] = frozenset()
    unseen: frozenset[str] = frozenset()
    """Those of its terms that are nowhere in the evidence."""

    @property
    def likely(self) -> bool:
        """Whether the checker finds more likely than not that the evidence supports it."""
        return self.meaning is not None and self.meaning.supported >= LIKELY


def measure_claims(answer: str | Sequence[AnswerPart], sources: Sources) -> tuple[ClaimMeasure, ...]:
    """Return one measure per claim of `answer`, against what it cites or, without a citation, all sources."""
    claims = extract_claims((AnswerPart(answer),) if isinstance(answer, str) else answer, sources)
    return tuple(
        measure_claim(claim, (None if claim.absent else sources.cited(claim.citations)) or sources) for claim in claims
    )


def measure_claim(claim: ClaimText, evidence: Sources) -> ClaimMeasure:
    """Compare one claim with its evidence."""
    # Recomputed elsewhere from its figures, or copied: its words leave nothing to doubt.
    if claim.stated_by_code or (claim.verbatim and any(claim.text in source.text for source in evidence.sources)):
        return ClaimMeasure(claim, (), _undoubted(REPEATED), REPEATED, repeated=True)
    repeated = any(restates(claim.bare, sentence.text) for sentence in evidence.sentences)
    meaning = REPEATED if repeated else _meaning_of(claim.bare, evidence)
    if claim.absent and not repeated:
        # of what is not there no words can be found
        features = _undoubted(meaning and replace(meaning, supported=1 - meaning.contradicted))
        return ClaimMeasure(claim, (), features, meaning)
    claim = replace(claim, absent=False)
    findings = check_claim(claim.bare, evidence)
    if not findings and any(states_reading(claim.bare, one, evidence.question) for one in evidence.readings):
        return ClaimMeasure(claim, (), _undoubted(REPEATED), REPEATED)
    terms = frozenset(content_terms(claim.bare))
    near = evidence.near(terms)
    telling = sum(map(specificity, terms))
    contained = sum(map(specificity, contained_terms(terms, near)))
    pairs = list(pairwise(stem(word) for word in words(claim.bare)))
    known = {pair for sentence in near for pair in pairwise(sentence.stems)}
    kinds = [finding.kind for finding in findings]
    features = {
        "missing": telling - contained,
        "held": contained / (telling or 1.0),
        "pairs": sum(pair in known for pair in pairs) / max(1, len(pairs)),
        "unknown_names": float(kinds.count(FindingKind.NAME_MISSING)),
        "unknown_figures": float(kinds.count(FindingKind.FIGURE_MISSING) + kinds.count(FindingKind.FIGURE_DIFFERS)),
        **(_meaning_features(meaning) if meaning else {}),
    }
    unseen = terms.difference(*(sentence.terms for sentence in evidence.sentences))
    return ClaimMeasure(claim, findings, features, meaning, repeated, terms, unseen)


def _undoubted(meaning: Meaning | None) -> dict[str, float]:
    """Return the features of a claim without doubts."""
    words_found = dict.fromkeys(_SUPPORTING, 1.0) | dict.fromkeys(_AGAINST, 0.0)
    return words_found | (_meaning_features(meaning) if meaning else {})


def check_meaning(claim: str, evidence: Sources) -> Meaning | None:
    """Return what the trained checker finds in the stretches of the evidence nearest to a claim."""
    checker = installed_checker()
    if checker is None:
        return None
    texts = evidence.stretches(frozenset(content_terms(claim)))
    return checker.check(in_one_spelling(claim), list(map(in_one_spelling, texts)))


def states_reading(claim: str, reading: str, question: str) -> bool:
    """Return whether a claim states what code read off a table cell, in the words of the reading and the question."""
    if not restates_reading(claim, reading, question):
        return False
    added = _added_meaning(claim, frozenset(map(stem, words(reading))))
    return added is None or added.supported >= SURE


def _meaning_of(claim: str, evidence: Sources) -> Meaning | None:
    """Return the checker's findings; of figures from table rows, what the claim adds to the row may contradict it.

    The checker reads rows badly, so that it finds "was not 512" in one; it knows that "512" contradicts that.
    """
    meaning, rows = check_meaning(claim, evidence), evidence.rows_of(claim)
    known = frozenset(one for row in rows for line in (row, *row.heads) for one in line.stems)
    added = _added_meaning(claim, known) if meaning and rows else None
    if meaning is None or added is None or added.contradicted < LIKELY:
        return meaning
    return Meaning(min(meaning.supported, added.supported), max(meaning.contradicted, added.contradicted))


def _added_meaning(claim: str, known: frozenset[str]) -> Meaning | None:
    """Return whether a claim without words of unknown stems supports the whole claim; None if it has no such words."""
    checker, bare = installed_checker(), without_other_words(claim, known)
    if checker is None or bare == claim:
        return None
    return checker.check(in_one_spelling(claim), [in_one_spelling(bare)])


def sentence_by_meaning(claim: str, text: str) -> Span | None:
    """Return the sentence of a passage that supports a claim by its meaning, such as one in another language."""
    checker = installed_checker()
    if checker is None:
        return None
    spans = split_sentences(text)
    likely = [checker.check(claim, [text[span.start : span.end]]).supported for span in spans]
    best = max(range(len(spans)), key=likely.__getitem__, default=None)
    return spans[best] if best is not None and likely[best] >= LIKELY else None


def _meaning_features(meaning: Meaning) -> dict[str, float]:
    found = (meaning.supported, meaning.contradicted)
    return {name: log_odds(value, least=MIN_PROBABILITY) for name, value in zip(MEANING, found, strict=True)}


def measure_answer(
    claims: Sequence[ClaimMeasure], by_words: Sequence[float], by_meaning: Sequence[float] | None
) -> dict[str, float]:
    """Return the features of an answer from two doubts per claim: by its words alone, and with the checker.

    Of each kind the chance that any claim is wrong and the doubt per character; and the share of unseen terms.
    """
    terms = frozenset[str]().union(*(claim.terms for claim in claims))
    unseen = frozenset[str]().union(*(claim.unseen for claim in claims))
    features = {**_summed(claims, by_words), "unseen": len(unseen) / max(1, len(terms))}
    if by_meaning is not None:
        features |= {f"{name}_by_meaning": value for name, value in _summed(claims, by_meaning).items()}
    return features


def _summed(claims: Sequence[ClaimMeasure], doubts: Sequence[float]) -> dict[str, float]:
    lengths = [len(claim.claim.bare) for claim in claims]
    mean = sum(map(math.prod, zip(lengths, doubts, strict=True))) / max(1, sum(lengths))
    return {"any": _log_odds(1 - math.prod(1 - doubt for doubt in doubts)), "mean": _log_odds(mean)}


def _log_odds(share: float, margin: float = 1e-3) -> float:
    return math.log((share + margin) / (1 - share + margin))
