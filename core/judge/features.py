"""Measure an answer against its sources: the numbers that the confidence model weighs.

One row per claim and one per answer, in a fixed order of names. The measures know nothing of where an answer came
from: only its own text, its sources and the question.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from core.domain.answers import AnswerPart
from core.judge.checks import Finding, FindingKind, check_claim
from core.judge.claims import ClaimText, extract_claims
from core.judge.sources import Sentence, Sources
from core.text.numbers import quantities
from core.text.terms import FUNCTION_WORDS, root, specificity, stem, words


@dataclass(frozen=True, slots=True)
class ClaimMeasure:
    """A claim with its findings, its best sentence, how much of it that sentence holds, and its features by name."""

    claim: ClaimText
    findings: tuple[Finding, ...]
    best: Sentence | None
    features: Mapping[str, float]


def measure_claims(answer: str | Sequence[AnswerPart], sources: Sources) -> tuple[ClaimMeasure, ...]:
    """Return one measure per claim of `answer`; a bare text is prose that cites nothing."""
    claims = extract_claims((AnswerPart(answer),) if isinstance(answer, str) else answer)
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
    pairs = list(pairwise(stems))
    familiar = [pair for pair in pairwise(content) if pair[0] in sources.terms and pair[1] in sources.terms]
    apart = sum(not any(one in s.terms and other in s.terms for _, s in ranked[:12]) for one, other in familiar)
    spoken_pairs = list(pairwise(content))
    novel_pairs = [pair for pair in pairs if pair not in sources.pairs]
    telling = sum(specificity(term) for term in terms) or 1.0
    kinds = Counter(finding.kind for finding in findings)
    features = {
        "terms": float(len(terms)),
        "novel": float(len(novel)),
        "novel_share": len(novel) / max(1, len(terms)),
        "novel_telling": sum(specificity(term) for term in novel),
        "novel_telling_share": sum(specificity(term) for term in novel) / telling,
        "novel_roots_share": sum(specificity(term) for term in novel if root(term) not in sources.roots) / telling,
        "coverage": sum(sources.weight(term) for term in terms if term in known) / total,
        "best": ranked[0][0] if ranked else 0.0,
        "best_three": sum(sources.weight(term) for term in terms & in_top) / total,
        "content_pair_share": sum(pair in sources.content_pairs for pair in spoken_pairs) / max(1, len(spoken_pairs)),
        "pair_share": 1 - len(novel_pairs) / max(1, len(pairs)),
        "apart_share": apart / max(1, len(familiar)),
        "unknown_names": float(kinds[FindingKind.NAME]),
        "unknown_figures": float(kinds[FindingKind.NUMBER] + kinds[FindingKind.DATE]),
        "figures": float(len(quantities(bare))),
        "position": position / max(1, count - 1),
        "item": float(claim.text[:1] in "-*+•|0123456789"),
    }
    return ClaimMeasure(claim, findings, ranked[0][1] if ranked else None, features)


def measure_answer(claims: Sequence[ClaimMeasure], doubts: Sequence[float], sources: Sources) -> dict[str, float]:
    """Return the features of an answer from its claims, the doubt about each (0 to 1) and the shape of its sources."""
    highest = sorted(doubts, reverse=True)
    characters = sum(len(source.text) for source in sources.sources)
    return {
        "doubt_highest": _log_odds(highest[0] if highest else 0.0, 1e-3),
        "doubt_top_three": _log_odds(sum(highest[:3]) / max(1, len(highest[:3])), 1e-3),
        "doubt_mean": _log_odds(sum(highest) / max(1, len(highest)), 1e-3),
        "doubt_any": _log_odds(1 - math.prod(1 - doubt for doubt in highest), 1e-3),
        "pair_share": _log_odds(_mean([claim.features["pair_share"] for claim in claims]), 2e-2),
        "best_three": _log_odds(_mean([claim.features["best_three"] for claim in claims]), 2e-2),
        "single": float(len(sources.sources) <= 1),
        "long": 1 / (1 + math.exp(min(50.0, (2000 - characters) / 300))),
    }


def _log_odds(share: float, margin: float) -> float:
    return math.log((share + margin) / (1 - share + margin))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.5
