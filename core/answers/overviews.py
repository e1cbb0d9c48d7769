"""Quotations for whole documents (a summary and an outline), or for a named place (its beginning)."""

from collections.abc import Iterator, Sequence

from pincite.core.answers.lists import MAX_WORDS
from pincite.core.answers.units import CELLS, SENTENCE_ENDS, quotation_of, units_of
from pincite.core.domain.answers import AnswerPart, PartKind
from pincite.core.domain.search import Evidence, Reason, spread
from pincite.core.text.sentences import split_sentences

MAX_PLACES = 7
"""Number of places that are named, or of sections in all outlines together; each document has at least one."""
MAX_OPENING_WORDS = 60
"""Length of what begins a document that has no summary of its own."""
MIN_SENTENCE_WORDS, MAX_SENTENCE_WORDS = 6, 60


def overview_quotes(evidence: Sequence[Evidence]) -> list[AnswerPart]:
    """Return the text at the named places; else the type, summary and outline of each document."""
    if named := [item for item in evidence if item.reason is Reason.NAMED]:
        return [opening(item) for item in named[:MAX_PLACES]]
    by_document: dict[str, list[Evidence]] = {}
    for item in evidence:
        by_document.setdefault(item.passage.document_id, []).append(item)
    sections = max(MAX_PLACES // max(len(by_document), 1), 1)
    return [part for own in by_document.values() for part in _overview(own, sections)]


def _overview(own: Sequence[Evidence], sections: int) -> Iterator[AnswerPart]:
    """Yield a line with the kind of the document, its summary or beginning, and a sentence of each section."""
    first = own[0]
    yield AnswerPart(f"{first.document_name}{f': {first.about}' if first.about else ''}", kind=PartKind.NOTE)
    summary = next((item for item in own if item.reason is Reason.SUMMARY), None)
    begun = opening(summary or first, MAX_WORDS if summary else MAX_OPENING_WORDS)
    yield begun
    shown = summary or first
    telling = [(item, lead) for item in own if item is not shown and (lead := _first_sentence(item)) is not None]
    telling = [(item, lead) for item, lead in telling if lead.text not in begun.text]
    for at in sorted(list(spread(len(telling)))[:sections]):
        item, lead = telling[at]
        heading = " ".join(" ".join(item.passage.heading_path[-1:]).split())
        if heading and not " ".join(lead.text.split()).startswith(heading):
            yield AnswerPart(f"{heading}:", kind=PartKind.NOTE)
        yield lead


def opening(item: Evidence, words: int = MAX_WORDS) -> AnswerPart:
    """Return how a passage begins, in whole sentences."""
    text, last = item.passage.text, 0
    for span in split_sentences(text):
        if last and len(text[: span.end].split()) > words:
            break
        last = span.end
    return AnswerPart(text[:last].rstrip(), (item.number,), PartKind.VERBATIM, 0)


def _first_sentence(item: Evidence) -> AnswerPart | None:
    for unit in units_of(item):
        length = len(unit.text.split())
        whole = unit.text.endswith(SENTENCE_ENDS) and CELLS not in unit.quoted
        if whole and MIN_SENTENCE_WORDS <= length <= MAX_SENTENCE_WORDS:
            return quotation_of(unit)
    return None
