"""Turn markers like [2] in an answer into citations that were found in the page, and drop those that point nowhere.

A quotation is always cut out of the page's own text; what cannot be found there gets no citation.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pincite.core.grounding.claims import citation_numbers as citation_numbers
from pincite.core.grounding.quotations import best_quotation, locate
from pincite.core.grounding.sentences import split_sentences
from pincite.core.grounding.terms import content_terms
from pincite.core.types import Citation, Evidence, Span

MARKER = re.compile(r"\[(\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*)\]")
_LENTICULAR = str.maketrans("【】", "[]")
"""Some models write 【2】."""
_NUMBER = re.compile(r"\d[\d.,]*")
STRONG_SUPPORT = 0.75
"""Share of a sentence's terms that a quotation must hold before it is attached to a sentence without a marker."""

PageText = Callable[[str, int], str]


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """``removed`` counts markers that pointed to no evidence."""

    text: str
    citations: tuple[Citation, ...]
    removed: int


def without_markers(text: str) -> str:
    return " ".join(MARKER.sub(" ", text).split())


def cite(answer: str, evidence: Sequence[Evidence], page_text: PageText, *, attach: bool = True) -> CitedAnswer:
    """Locate a quotation for every marker. ``attach`` marks strongly supported sentences that carry none."""
    known = {item.number: item for item in evidence}
    text, removed = _drop_unknown(answer.strip().translate(_LENTICULAR), known)
    if attach:
        text = _attach(text, evidence)
    citations: list[Citation] = []
    for span in split_sentences(text):
        sentence = text[span.start : span.end]
        for number in citation_numbers(sentence):
            citation = quotation_for(without_markers(sentence), known[number], page_text)
            if citation is not None and citation not in citations:
                citations.append(citation)
    return CitedAnswer(text, tuple(citations), removed)


def renumbered(answer: CitedAnswer, evidence: Sequence[Evidence]) -> tuple[CitedAnswer, tuple[Evidence, ...]]:
    """Count the evidence as the answer cites it, 1, 2, 3 in order of appearance, and what it does not cite after that.

    Every number in the answer must be one of the evidence's.
    """
    numbers = dict.fromkeys([*citation_numbers(answer.text), *(item.number for item in evidence)])
    places = {number: place for place, number in enumerate(numbers, start=1)}

    def count(match: re.Match[str]) -> str:
        return f"[{', '.join(str(place) for place in sorted(places[n] for n in citation_numbers(match.group())))}]"

    citations = tuple(replace(citation, number=places[citation.number]) for citation in answer.citations)
    counted = CitedAnswer(MARKER.sub(count, answer.text), citations, answer.removed)
    items = (replace(item, number=places[item.number]) for item in evidence)
    return counted, tuple(sorted(items, key=lambda item: item.number))


def quotation_for(claim: str, item: Evidence, page_text: PageText) -> Citation | None:
    """The words of one passage that back a claim best, as they stand in the page; None when nothing does."""
    span = locate(claim, item.passage.text)
    if span is None:
        best = best_quotation(claim, [item.passage.text])
        span = best[1] if best else None
    return quotation_at(item, span, page_text) if span else None


def quotation_at(item: Evidence, span: Span, page_text: PageText) -> Citation | None:
    """Cut a span of a passage's text out of the page it stands on; None when it is not there (any more)."""
    passage = item.passage
    if span.end > len(passage.text):
        return None
    quotation = passage.text[span.start : span.end]
    page = page_text(passage.document_id, passage.page_index)
    placed = Span(passage.start + span.start, passage.start + span.end)
    if page[placed.start : placed.end] != quotation:
        found = locate(quotation, page)
        if found is None:
            return None
        placed, quotation = found, page[found.start : found.end]
    return Citation(
        number=item.number,
        document_id=passage.document_id,
        document_name=item.document_name,
        page_index=passage.page_index,
        page_label=passage.page_label,
        passage_id=passage.id,
        quotation=quotation,
        start=placed.start,
        end=placed.end,
    )


def support(claim: str, text: str) -> float:
    """Share of a claim's terms that a text holds; 0 when a number of the claim is missing from it."""
    terms = set(content_terms(claim))
    if not terms or set(_figures(claim)) - set(_figures(text)):
        return 0.0
    return len(terms & set(content_terms(text))) / len(terms)


def _figures(text: str) -> list[str]:
    return [match.group().rstrip(".,").replace(",", "") for match in _NUMBER.finditer(text)]


def _drop_unknown(text: str, known: dict[int, Evidence]) -> tuple[str, int]:
    removed = 0

    def keep(match: re.Match[str]) -> str:
        nonlocal removed
        numbers = citation_numbers(match.group())
        kept = [number for number in numbers if number in known]
        removed += len(numbers) - len(kept)
        return f"[{', '.join(map(str, kept))}]" if kept else ""

    cleaned = MARKER.sub(keep, text)
    return (re.sub(r"(?<![ \t])[ \t]++([.,;:!?])", r"\1", cleaned) if removed else cleaned), removed


def _attach(text: str, evidence: Sequence[Evidence]) -> str:
    pieces: list[str] = []
    position = 0
    for span in split_sentences(text):
        sentence = text[span.start : span.end]
        pieces.append(text[position : span.end])
        position = span.end
        if MARKER.search(sentence) or len(content_terms(sentence)) < 3:
            continue
        strengths = [(support(sentence, item.passage.text), -item.number) for item in evidence]
        strength, number = max(strengths, default=(0.0, 0))
        if strength >= STRONG_SUPPORT:
            pieces.append(f" [{-number}]")
    return "".join(pieces) + text[position:]
