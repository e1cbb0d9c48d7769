"""Measure an answer against its sources: the numbers that the confidence model weighs.

One row per claim and one per answer, in a fixed order of names. The measures know nothing of where an answer came
from: only its own text, its sources and the question.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pincite.core.grounding.checks import Finding, FindingKind, check_claim
from pincite.core.grounding.claims import ClaimText, extract_claims
from pincite.core.grounding.numbers import quantities
from pincite.core.grounding.sources import Sentence, Sources
from pincite.core.grounding.terms import FUNCTION_WORDS, root, specificity, stem, words


@dataclass(frozen=True, slots=True)
class ClaimMeasure:
    """A claim with its findings, its best sentence and its features by name."""

    claim: ClaimText
    findings: tuple[Finding, ...]
    best: Sentence | None
    features: dict[str, float]


def measure_claims(answer: str, sources: Sources) -> tuple[ClaimMeasure, ...]:
    """Return one measure per claim of `answer`."""
    claims = extract_claims(answer)
    return tuple(_measure(claim, position, len(claims), sources) for position, claim in enumerate(claims))


def _measure(claim: ClaimText, position: int, count: int, sources: Sources) -> ClaimMeasure:
    bare = claim.bare
    findings = check_claim(bare, sources)
    spoken = words(bare)
    stems = [stem(word) for word in spoken]
    content = [stem(word) for word in spoken if word.lower() not in FUNCTION_WORDS]
    terms = frozenset(content)
    known = sources.terms | sources.question_terms
    ranked = sources.ranked(terms)
    total = sum(sources.weight(term) for term in terms) or 1.0
    novel = [term for term in terms if term not in known]
    top = [sentence for _, sentence in ranked[:3]]
    in_top = frozenset(term for sentence in top for term in sentence.terms)
    pairs = list(zip(stems, stems[1:], strict=False))
    triples = list(zip(stems, stems[1:], stems[2:], strict=False))
    familiar = [pair for pair in zip(content, content[1:], strict=False) if pair[0] in sources.terms and pair[1] in sources.terms]
    apart = sum(not any(pair[0] in s.terms and pair[1] in s.terms for _, s in ranked[:12]) for pair in familiar)
    novel_pairs = [pair for pair in pairs if pair not in sources.pairs]
    telling = sum(specificity(term) for term in terms) or 1.0
    kinds = Counter(finding.kind for finding in findings)
    features = {
        "terms": float(len(terms)),
        "novel": float(len(novel)),
        "novel_share": len(novel) / max(1, len(terms)),
        "novel_telling": sum(specificity(term) for term in novel),
        "novel_telling_share": sum(specificity(term) for term in novel) / telling,
        "novel_roots": float(sum(root(term) not in sources.roots for term in novel)),
        "novel_roots_share": sum(specificity(term) for term in novel if root(term) not in sources.roots) / telling,
        "coverage": sum(sources.weight(term) for term in terms if term in known) / total,
        "best": ranked[0][0] if ranked else 0.0,
        "best_three": sum(sources.weight(term) for term in terms & in_top) / total,
        "second_gap": (ranked[0][0] - ranked[1][0]) if len(ranked) > 1 else 0.0,
        "pair_share": 1 - len(novel_pairs) / max(1, len(pairs)),
        "triple_share": sum(triple in sources.triples for triple in triples) / max(1, len(triples)),
        "longest_run": _longest_run(stems, sources) / max(1, len(stems)),
        "apart_share": apart / max(1, len(familiar)),
        "unknown_names": float(kinds[FindingKind.NAME]),
        "unknown_figures": float(kinds[FindingKind.NUMBER] + kinds[FindingKind.DATE]),
        "figures": float(len(quantities(bare))),
        "position": position / max(1, count - 1),
        "item": float(claim.text[:1] in "-*+•|0123456789"),
        "structured": float(any(source.record for source in sources.sources)),
        "record_denies": float(kinds[FindingKind.RECORD_DENIES]),
        "record_silent": float(kinds[FindingKind.RECORD_SILENT]),
        "record_affirms": float(kinds[FindingKind.RECORD_AFFIRMS]),
        "schedule": float(kinds[FindingKind.SCHEDULE]),
    }
    return ClaimMeasure(claim, findings, ranked[0][1] if ranked else None, features)


def _longest_run(stems: Sequence[str], sources: Sources) -> int:
    best = run = 0
    for triple in zip(stems, stems[1:], stems[2:], strict=False):
        run = run + 1 if triple in sources.triples else 0
        best = max(best, run)
    return best + 2 if best else 0
