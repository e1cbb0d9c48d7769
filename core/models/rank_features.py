"""Features of a candidate passage for the built-in reranker, computed without a language model.

Each figure becomes one of the candidate's scores under its name in FEATURES.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from pincite.core.domain.documents import PageKey, Passage
from pincite.core.domain.search import Candidate, SearchPlan
from pincite.core.text.terms import cached_terms, rarity

FEATURES: tuple[str, ...] = (
    "keyword share", "printed share", "dense gap", "document match", "passage coverage", "passage length",
    "page pairs", "page size", "page asked for", "numbered section", "top section", "path section",
)  # fmt: skip
EITHER_WAY = frozenset(("passage length", "page size"))
"""Features that may count for or against a passage as they increase; any other can only count for it."""
MAX_TOP_LINES = 6

_NUMBERED = re.compile(r"^([A-Za-z.]{1,40}(?: study)?)\s{0,9}-?\s{0,9}(\d[\w.-]*|[A-Z]|[IVX]{1,9})$")


def describe_candidates(
    plan: SearchPlan,
    candidates: Sequence[Candidate],
    pages: Mapping[PageKey, Sequence[Passage]],
    page_counts: Mapping[str, int],
) -> list[Candidate]:
    """Add every figure in FEATURES to the candidates' scores.

    ``pages`` holds all passages of the candidates' pages (missing pages: the candidates themselves); scores that the
    search left (keyword, keyword printed, dense, document match) are read, and count as 0 where there are none.
    """
    found = {candidate.passage.page: [candidate.passage] for candidate in candidates}
    texts = {page: [passage.text for passage in pages.get(page) or own] for page, own in found.items()}
    weights = rarity([{term for text in parts for term in cached_terms(text)} for parts in texts.values()])
    of_pages = {page: _page_figures(plan, found[page][0], parts, page_counts) for page, parts in texts.items()}
    tops = {
        name: max((candidate.scores.get(name, 0.0) for candidate in candidates), default=0.0)
        for name in ("keyword", "keyword printed", "dense")
    }
    asked = frozenset(cached_terms(plan.sub_queries[0].text))
    headings = _headings(plan)
    described = []
    for candidate in candidates:
        passage, score = candidate.passage, candidate.scores.get
        figures = {
            "keyword share": score("keyword", 0.0) / (tops["keyword"] or 1.0),
            "printed share": score("keyword printed", 0.0) / (tops["keyword printed"] or 1.0),
            "dense gap": score("dense", 0.0) - tops["dense"],
            "document match": score("document match", 0.0),
            "passage coverage": _covered(asked, frozenset(cached_terms(passage.text)), weights),
            "passage length": min(len(passage.text) / 1000, 1.0),
            "path section": _likeness(headings, passage.heading_path),
            **of_pages[passage.page],
        }
        described.append(candidate.scored(**figures))
    return described


def _page_figures(
    plan: SearchPlan, passage: Passage, texts: Sequence[str], page_counts: Mapping[str, int]
) -> dict[str, float]:
    text = "\n".join(texts)
    asked = frozenset(pairwise(cached_terms(plan.sub_queries[0].text)))
    printed = {pair for part in texts for pair in pairwise(cached_terms(part))}
    names = {str(passage.page_index + 1), passage.page_label}
    if passage.page_index == 0:
        names.add("first")
    if passage.page_index == page_counts.get(passage.document_id, 0) - 1:
        names.add("last")
    top_lines = [line for line in text[:400].split("\n") if line.strip()][:MAX_TOP_LINES]
    return {
        "page pairs": len(asked & printed) / (len(asked) or 1),
        "page size": min(len(text) / 4000, 1.0),
        "page asked for": float(bool(names.intersection(plan.wanted_pages))),
        "numbered section": max((_referred(section, text) for section in plan.wanted_sections), default=0.0),
        "top section": _likeness(_headings(plan), top_lines),
    }


def _headings(plan: SearchPlan) -> list[str]:
    return [section for section in plan.wanted_sections if not _NUMBERED.match(section)]


def _covered(wanted: frozenset[str], found: frozenset[str], weights: Mapping[str, float]) -> float:
    """Return the share of the wanted terms that is found, by their rarity among the candidates' pages."""
    heaviest = max(weights.values(), default=1.0)
    total = sum(weights.get(term, heaviest) for term in wanted)
    return sum(weights.get(term, heaviest) for term in wanted & found) / total if total else 0.0


def _likeness(wanted: Iterable[str], lines: Sequence[str]) -> float:
    """Return how closely a line matches one of the wanted headings: shared terms over all terms."""
    pairs = [(frozenset(cached_terms(heading)), frozenset(cached_terms(line))) for heading in wanted for line in lines]
    return max((len(heading & line) / len(heading | line) for heading, line in pairs if heading | line), default=0.0)


def _referred(section: str, text: str) -> float:
    """Return 1 if the numbered thing begins a line (its caption or heading), 0.4 if it is only mentioned, else 0."""
    pattern = _reference_pattern(section)
    found = {match.group(1) is not None for match in pattern.finditer(text)} if pattern else set()
    return 1.0 if True in found else 0.4 if found else 0.0


@lru_cache(maxsize=256)
def _reference_pattern(section: str) -> re.Pattern[str] | None:
    """Find "Table 2" at the start of a line, as in captions, else anywhere (group 1 is then None)."""
    match = _NUMBERED.match(section)
    if match is None:
        return None
    kind, number = match.group(1).rstrip("s."), re.escape(match.group(2))
    kind = "fig(?:ure)?s?" if kind.lower().startswith("fig") else re.escape(kind) + "s?"
    bare = rf"|(?:^|\n)\s{{0,9}}{number}\.?\s{{1,9}}[A-Z]" if kind.lower().startswith("section") else ""
    named = rf"{kind}\.?\s{{0,9}}-?\s{{0,9}}{number}\b"
    return re.compile(rf"((?:^|\n)\s{{0,9}}){named}|{named}{bare}", re.IGNORECASE)
