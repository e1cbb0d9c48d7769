"""What can be said of a candidate for a question without a language model: figures that the built-in reranker weighs.

Each figure becomes one of the candidate's scores under the name in FEATURES. Lexical figures count terms by rarity
among the candidates' pages; positional ones look at headings, page numbers and neighbours; shape tells tables from
prose.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from core.domain.documents import PageKey, Passage
from core.domain.search import Candidate, SearchPlan
from core.text.terms import FUNCTION_WORDS, content_terms, rarity, stem

WINDOW_TERMS = 25
"""About one sentence or three table rows."""

_DIGITS = re.compile(r"\d")
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_FIGURE_ROW = re.compile(r"\d[\d,.%)]{0,30}+\s{1,30}[$€£(]?\s?\(?\d")
_PAGE_AT_END = re.compile(r"(?:\.{3}|\s|^)\d{1,3}$")
_WANTS_FIGURE = re.compile(
    r"\b(?:how (?:many|much)|percent\w*|%|ratio|rate|amount|number|total|average|sum|difference|margin|price|cost|"
    r"score|accuracy|value|year|years|when|date|highest|lowest|largest|increase|decrease|growth|higher|lower)\b",
    re.IGNORECASE,
)
_WANTS_NAME = re.compile(r"\b(?:who|whose|whom|which|name|names|where|list)\b", re.IGNORECASE)
_NUMBERED = re.compile(r"^([A-Za-z.]{1,40}(?: study)?)\s{0,9}-?\s{0,9}(\d[\w.-]*|[A-Z]|[IVX]{1,9})$")


@dataclass(frozen=True, slots=True)
class _Analysis:
    """A text's terms in order and its shape."""

    terms: tuple[str, ...]
    term_set: frozenset[str]
    figure_rows: float
    contents_rows: float


@dataclass(frozen=True, slots=True)
class _Weights:
    """Rarity of terms among the candidates' pages; a term on none of them counts as rarest."""

    by_term: Mapping[str, float]
    heaviest: float

    def share(self, wanted: frozenset[str], found: frozenset[str]) -> float:
        """The share of the wanted terms that is found, by weight."""
        if not wanted:
            return 0.0
        weigh, heaviest = self.by_term.get, self.heaviest
        return sum(weigh(term, heaviest) for term in wanted & found) / sum(weigh(term, heaviest) for term in wanted)


@lru_cache(maxsize=65536)
def _term(word: str) -> str:
    return "" if word in FUNCTION_WORDS else stem(word)


@lru_cache(maxsize=4096)
def _line_terms(line: str) -> frozenset[str]:
    return frozenset(content_terms(line))


def _terms_of(text: str) -> tuple[str, ...]:
    """The same as content_terms, faster for scripts with spaces."""
    if _UNSPACED.search(text):
        return tuple(content_terms(text))
    return tuple(filter(None, map(_term, _WORD.findall(text.lower().replace("_", " ")))))


@lru_cache(maxsize=8192)
def _analyse(text: str) -> _Analysis:
    terms = _terms_of(text)
    lines = [line for line in text.split("\n") if line.strip()]
    return _Analysis(
        terms=terms,
        term_set=frozenset(terms),
        figure_rows=sum(bool(_FIGURE_ROW.search(line)) for line in lines) / max(len(lines), 1),
        contents_rows=sum(map(_is_contents_row, lines)) / len(lines) if len(lines) > 5 else 0.0,
    )


def _is_contents_row(line: str) -> bool:
    line = line.rstrip()
    return line[-1].isdigit() and bool(_PAGE_AT_END.search(line, max(0, len(line) - 6)))


@dataclass(frozen=True, slots=True)
class _Question:
    terms: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    printed: frozenset[str]
    entities: frozenset[str]
    years: frozenset[str]
    figures: frozenset[str]
    headings: tuple[frozenset[str], ...]
    numbered: tuple[re.Pattern[str], ...]
    pages: frozenset[str]
    wants_figure: bool
    wants_name: bool


def _question_of(plan: SearchPlan) -> _Question:
    main = plan.sub_queries[0]
    ordered = content_terms(main.text)
    terms = frozenset(ordered)
    printed = frozenset(term for text in main.variations for term in content_terms(text)) - terms
    numbered = [match for section in plan.wanted_sections if (match := _NUMBERED.match(section))]
    headings = [section for section in plan.wanted_sections if not _NUMBERED.match(section)]
    return _Question(
        terms=terms,
        pairs=frozenset(pairwise(ordered)),
        printed=printed,
        entities=frozenset(term for entity in plan.entities for term in content_terms(entity)) & terms,
        years=frozenset(plan.time_ranges),
        figures=frozenset(term for term in terms if _DIGITS.search(term)) - frozenset(plan.time_ranges),
        headings=tuple(frozenset(content_terms(heading)) for heading in headings),
        numbered=tuple(_reference_pattern(match) for match in numbered),
        pages=frozenset(plan.wanted_pages),
        wants_figure=bool(_WANTS_FIGURE.search(main.text)),
        wants_name=bool(_WANTS_NAME.search(main.text)),
    )


def _reference_pattern(match: re.Match[str]) -> re.Pattern[str]:
    """Find "Table 2" at the start of a line, where captions stand, else anywhere (group 1 is then None)."""
    kind, number = match.group(1).rstrip("s."), re.escape(match.group(2))
    kind = "fig(?:ure)?s?" if kind.lower().startswith("fig") else re.escape(kind) + "s?"
    bare = rf"|(?:^|\n)\s{{0,9}}{number}\.?\s{{1,9}}[A-Z]" if kind.lower().startswith("section") else ""
    named = rf"{kind}\.?\s{{0,9}}-?\s{{0,9}}{number}\b"
    return re.compile(rf"((?:^|\n)\s{{0,9}}){named}|{named}{bare}", re.IGNORECASE)


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
    question = _question_of(plan)
    by_page: dict[PageKey, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        by_page[_key(candidate.passage)].append(candidate)
    texts = {key: [p.text for p in pages.get(key) or [c.passage for c in found]] for key, found in by_page.items()}
    page_terms = {key: frozenset().union(*(_analyse(text).term_set for text in parts)) for key, parts in texts.items()}
    by_term = rarity(list(page_terms.values()))
    weights = _Weights(by_term, max(by_term.values(), default=1.0))
    tops = {
        name: max((c.scores.get(name, 0.0) for c in candidates), default=0.0)
        for name in ("keyword", "keyword printed", "dense")
    }
    page_sums = {key: sum(c.scores.get("keyword", 0.0) for c in found) for key, found in by_page.items()}
    page_dense = {key: max(c.scores.get("dense", 0.0) for c in found) for key, found in by_page.items()}
    top_sum = max(page_sums.values(), default=0.0)
    shares = _document_shares(candidates)
    page_figures = {
        key: _page_figures(
            question, key, found[0].passage.page_label, texts[key], page_terms[key], weights, page_counts
        )
        for key, found in by_page.items()
    }
    described = []
    for candidate in candidates:
        key = _key(candidate.passage)
        scores = candidate.scores
        neighbours = [(key[0], key[1] - 1), (key[0], key[1] + 1)]
        figures = {
            "keyword share": _ratio(scores.get("keyword", 0.0), tops["keyword"]),
            "printed share": _ratio(scores.get("keyword printed", 0.0), tops["keyword printed"]),
            "dense cosine": scores.get("dense", 0.0),
            "dense gap": scores.get("dense", 0.0) - tops["dense"],
            "page keyword share": _ratio(page_sums[key], top_sum),
            "page dense gap": page_dense[key] - tops["dense"],
            "neighbour keyword share": _ratio(max(page_sums.get(near, 0.0) for near in neighbours), top_sum),
            "document share": shares[key[0]],
            "document match": scores.get("document match", 0.0),
            **_passage_figures(question, candidate.passage, weights),
            **page_figures[key],
        }
        described.append(replace(candidate, scores={**scores, **figures}))
    return described


def _passage_figures(question: _Question, passage: Passage, weights: _Weights) -> dict[str, float]:
    analysis = _analyse(passage.text)
    headings = [_line_terms(heading) for heading in passage.heading_path]
    heading_terms = frozenset[str]().union(*headings)
    return {
        "passage coverage": weights.share(question.terms, analysis.term_set),
        "sentence coverage": _window_coverage(question.terms, analysis.terms, weights),
        "printed coverage": weights.share(question.printed, analysis.term_set),
        "heading coverage": weights.share(question.terms, heading_terms),
        "passage years": _share(question.years, analysis.term_set),
        "passage figure rows": analysis.figure_rows,
        "passage length": min(len(passage.text) / 1000, 1.0),
        "path section": max((_likeness(wanted, heading)
                             for heading in headings for wanted in question.headings), default=0.0),
    }  # fmt: skip


def _page_figures(
    question: _Question,
    key: PageKey,
    label: str,
    texts: Sequence[str],
    terms: frozenset[str],
    weights: _Weights,
    page_counts: Mapping[str, int],
) -> dict[str, float]:
    text = "\n".join(texts)
    analyses = [_analyse(part) for part in texts]
    size = max(sum(len(part) for part in texts), 1)
    figure_rows = sum(a.figure_rows * len(part) for a, part in zip(analyses, texts, strict=True)) / size
    pairs = frozenset(pair for a in analyses for pair in pairwise(a.terms))
    first_lines = (
        [_line_terms(line) for line in text[:400].split("\n") if line.strip()][:6] if question.headings else []
    )
    return {
        "page coverage": weights.share(question.terms, terms),
        "page printed coverage": weights.share(question.printed, terms),
        "page pairs": _share(question.pairs, pairs),
        "page entities": weights.share(question.entities, terms),
        "page years": _share(question.years, terms),
        "page figures": _share(question.figures, terms),
        "top section": max((_likeness(wanted, line)
                            for line in first_lines for wanted in question.headings), default=0.0),
        "numbered section": max((_reference(pattern, text) for pattern in question.numbered), default=0.0),
        "page asked for": _page_asked_for(question.pages, key, label, page_counts),
        "figure page": figure_rows if question.wants_figure else 0.0,
        "figure page unasked": 0.0 if question.wants_figure else figure_rows,
        "contents page": max((a.contents_rows for a in analyses), default=0.0),
        "page size": min(size / 4000, 1.0),
        "first page": 1.0 if key[1] == 0 else 0.0,
        "page depth": key[1] / max(page_counts.get(key[0], 1), 1),
    }  # fmt: skip


EITHER_WAY = frozenset(
    "dense cosine|neighbour keyword share|passage figure rows|passage length|figure page|figure page unasked|page size|"
    "first page|page depth|contents page".split("|")
)
"""Figures of which more may speak for or against a passage; more of any other can only speak for it."""

FEATURES: tuple[str, ...] = (
    "keyword share", "printed share", "dense cosine", "dense gap", "page keyword share", "page dense gap",
    "neighbour keyword share", "document share", "document match",
    "passage coverage", "sentence coverage", "printed coverage", "heading coverage", "passage years",
    "passage figure rows", "passage length", "path section",
    "page coverage", "page printed coverage", "page pairs", "page entities", "page years", "page figures",
    "top section", "numbered section", "page asked for", "figure page", "figure page unasked", "contents page",
    "page size", "first page", "page depth",
)  # fmt: skip


def _key(passage: Passage) -> PageKey:
    return passage.document_id, passage.page_index


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


def _share(wanted: frozenset[object] | frozenset[str] | frozenset[tuple[str, str]], found: frozenset[object]) -> float:
    return len(wanted & found) / len(wanted) if wanted else 0.0


def _window_coverage(wanted: frozenset[str], terms: Sequence[str], weights: _Weights) -> float:
    """The best coverage within WINDOW_TERMS consecutive terms."""
    places = [place for place, term in enumerate(terms) if term in wanted]
    best = 0.0
    for number, place in enumerate(places):
        inside = frozenset(terms[other] for other in places[number:] if other < place + WINDOW_TERMS)
        best = max(best, weights.share(wanted, inside))
    return best


def _likeness(wanted: frozenset[str], line: frozenset[str]) -> float:
    """How much a heading is the wanted one, and nothing else: shared terms over all terms."""
    return len(wanted & line) / len(wanted | line) if wanted and line else 0.0


def _reference(pattern: re.Pattern[str], text: str) -> float:
    """1 where the numbered thing stands at a line's start (its caption or heading), 0.4 where it is only mentioned."""
    best = 0.0
    for match in pattern.finditer(text):
        if match.group(1) is not None:
            return 1.0
        best = 0.4
    return best


def _page_asked_for(pages: frozenset[str], key: PageKey, label: str, page_counts: Mapping[str, int]) -> float:
    names = {str(key[1] + 1), label}
    if key[1] == 0:
        names.add("first")
    if key[1] == page_counts.get(key[0], 0) - 1:
        names.add("last")
    return 1.0 if pages & names else 0.0


def _document_shares(candidates: Sequence[Candidate]) -> dict[str, float]:
    """Each document's part of the candidates' fused scores: how much the search as a whole points to it."""
    sums: dict[str, float] = defaultdict(float)
    for candidate in candidates:
        sums[candidate.passage.document_id] += candidate.scores.get("fused", 0.0)
    total = sum(sums.values())
    return {document: _ratio(value, total) for document, value in sums.items()}
