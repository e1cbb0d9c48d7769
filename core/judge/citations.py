"""Find in the pages what the parts of an answer cite, tie each claim to what supports it, and renumber the evidence.

A quotation is always cut out of the page's own text; words that cannot be found there get no citation.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pincite.core.domain.answers import AnswerPart, Citation, PartKind, Span
from pincite.core.domain.search import Evidence
from pincite.core.judge.claims import ClaimText, extract_claims
from pincite.core.judge.features import sentence_by_meaning
from pincite.core.judge.judge import supporting_sources
from pincite.core.judge.sources import Sources
from pincite.core.text.marks import marked_text, read_marks, with_mark
from pincite.core.text.quotations import best_quotation, locate

PageText = Callable[[str, int], str]


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """``removed`` counts markers that pointed to no evidence, ``tied`` claims that cited nothing until code did."""

    parts: tuple[AnswerPart, ...]
    citations: tuple[Citation, ...]
    removed: int = 0
    tied: int = 0

    @property
    def text(self) -> str:
        return marked_text(self.parts)


def read_typed(text: str, evidence: Sequence[Evidence]) -> tuple[tuple[AnswerPart, ...], int]:
    """Return the parts of what a model or a person typed, and how many of its markers point to no evidence."""
    return read_marks(text, {item.number: item.passage.text for item in evidence})


def cite_edited(
    text: str, before: Sequence[AnswerPart], evidence: Sequence[Evidence], page_text: PageText
) -> CitedAnswer:
    """Add citations to a person's edit of an answer; the person's own citations stay.

    Unchanged parts that code quoted or stated keep their kind, the rest is prose: so the checks of one part do not
    depend on words that are added next to it.
    """
    parts, removed, position = list[AnswerPart](), 0, 0
    for part in before:
        shown = marked_text((part,))
        at = -1 if part.kind is PartKind.PROSE else _whole(shown, text, position)
        if at >= 0:
            typed, lost = _read_between(text[position:at], evidence)
            parts += [*typed, replace(part, probability=None)]
            removed, position = removed + lost, at + len(shown)
    typed, lost = _read_between(text[position:], evidence)
    cited = cite([*parts, *typed], evidence, page_text, recite=False)
    return replace(cited, removed=removed + lost)


def _whole(shown: str, text: str, position: int) -> int:
    """Return the offset of a part in the text as whole words; -1 if it is not there."""
    found = re.compile(rf"(?<!\w){re.escape(shown)}(?!\w)").search(text, position) if shown.strip() else None
    return found.start() if found else -1


def _read_between(text: str, evidence: Sequence[Evidence]) -> tuple[list[AnswerPart], int]:
    """Read typed text as parts with the white space around it."""
    typed, removed = read_typed(text, evidence)
    bare = text.strip()
    before, _, behind = text.partition(bare) if bare else (text, "", "")
    around = [AnswerPart(before)] if before else []
    return [*around, *typed, *([AnswerPart(behind)] if behind else [])], removed


def cite(
    parts: Sequence[AnswerPart],
    evidence: Sequence[Evidence],
    page_text: PageText,
    *,
    question: str = "",
    recite: bool = True,
) -> CitedAnswer:
    """Locate a quotation for every citation of a claim; a claim without one gets the source that supports it.

    ``recite`` also replaces the citations of claims that another passage supports, not the cited one.
    """
    known = {item.number: item for item in evidence}
    parts, tied = _tied(tuple(parts), known, page_text, question, recite=recite)
    citations: list[Citation] = []
    for claim in extract_claims(parts):
        for number in claim.citations:
            for citation in citations_of(claim, known[number], page_text):
                if citation not in citations:
                    citations.append(citation)
    return CitedAnswer(parts, tuple(citations), tied=tied)


def _tied(
    parts: tuple[AnswerPart, ...], known: Mapping[int, Evidence], page_text: PageText, question: str, *, recite: bool
) -> tuple[tuple[AnswerPart, ...], int]:
    """Give every claim of prose its supporting citations, and remove all others.

    Returns the parts, and how many claims cited nothing before.
    """
    ordered = sorted(known)
    pool = Sources.of(source_texts([known[number] for number in ordered]), question)
    claims = extract_claims(parts, pool)
    of_claims = {index for claim in claims for index in claim.parts}
    numbers = {index: part.numbers if index in of_claims else () for index, part in enumerate(parts)}
    supported: list[tuple[ClaimText, tuple[int, ...]]] = []
    for claim in claims:
        if claim.verbatim or claim.stated_by_code or (claim.citations and not recite):
            continue
        placed = replace(claim, citations=tuple(ordered.index(number) + 1 for number in claim.citations))
        likely = (ordered[place - 1] for place in supporting_sources(placed, pool))
        supported.append((claim, tuple(n for n in likely if citation_of(claim, known[n], page_text))))
    needed = {index: set[int]() for index in numbers}  # clauses of a sentence may share a mark
    for claim, found in supported:
        for index in claim.parts:
            needed[index].update(found or claim.citations)
    for claim, found in supported:
        if claim.parts and not claim.context:  # the cells of a table share what their row cites
            kept = {index: tuple(n for n in numbers[index] if n in needed[index]) for index in claim.parts}
            missing = tuple(n for n in found if not any(n in one for one in kept.values()))
            numbers |= kept | {claim.parts[-1]: (*kept[claim.parts[-1]], *missing)}
    added = [(claim.end, found) for claim, found in supported if found and not claim.parts]
    tied: Sequence[AnswerPart] = [replace(part, numbers=numbers[index]) for index, part in enumerate(parts)]
    for position, found in added:
        tied = with_mark(tied, position, found)
    return tuple(tied), len(added)


def renumbered(answer: CitedAnswer, evidence: Sequence[Evidence]) -> tuple[CitedAnswer, tuple[Evidence, ...]]:
    """Count the evidence as the answer cites it, 1, 2, 3 in order of appearance, and what it does not cite after that.

    Every number in the answer must be one of the evidence's.
    """
    cited = [number for part in answer.parts for number in part.numbers]
    numbers = dict.fromkeys([*cited, *(item.number for item in evidence)])
    places = {number: place for place, number in enumerate(numbers, start=1)}
    parts = tuple(
        replace(part, numbers=tuple(sorted(places[number] for number in part.numbers))) for part in answer.parts
    )
    citations = tuple(replace(citation, number=places[citation.number]) for citation in answer.citations)
    items = (replace(item, number=places[item.number]) for item in evidence)
    return replace(answer, parts=parts, citations=citations), tuple(sorted(items, key=lambda item: item.number))


def source_texts(evidence: Sequence[Evidence]) -> list[str]:
    """Return the passages with their context on the page: headings and column heads support claims too."""
    passages = [item.passage for item in evidence]
    return [f"{one.text}\n\n{one.context}" if one.context else one.text for one in passages]


def citations_of(claim: ClaimText, item: Evidence, page_text: PageText) -> tuple[Citation, ...]:
    """What backs a claim on the page of one passage: the best quotation, or each figure with its heads."""
    if claim.figures:
        places = (
            place
            for figure in claim.figures
            if (figure.document_id, figure.page_index) == (item.passage.document_id, item.passage.page_index)
            for place in (*figure.heads, (figure.start, figure.end))
        )
        return tuple(page_citation(item, Span(*place), page_text) for place in dict.fromkeys(places))
    citation = citation_of(claim, item, page_text)
    return (citation,) if citation else ()


def page_citation(item: Evidence, span: Span, page_text: PageText) -> Citation:
    """Return a span of the passage's page."""
    passage = item.passage
    page = page_text(passage.document_id, passage.page_index)
    return Citation(
        number=item.number,
        document_id=passage.document_id,
        document_name=item.document_name,
        page_index=passage.page_index,
        page_label=passage.page_label,
        quotation=page[span.start : span.end],
        start=span.start,
        end=span.end,
    )


def citation_of(claim: ClaimText, item: Evidence, page_text: PageText) -> Citation | None:
    """Return the words of a passage that support a claim best, verbatim from the page; None if none do.

    For a verbatim claim, exactly the quoted words at the place from which they were taken.
    """
    text = item.passage.text
    if claim.verbatim:
        quoted = claim.text
        start = text.find(quoted) if claim.place is None else claim.place
        span = Span(start, start + len(quoted))
        if start < 0 or text[span.start : span.end] != quoted:
            return None
        found = quotation_at(item, span, page_text)
        return found if found is not None and found.quotation == quoted else None
    stated = locate(claim.bare, text)
    if stated is None:
        best = best_quotation(claim.bare, [text])
        stated = best[1] if best else sentence_by_meaning(claim.bare, text)
    return quotation_at(item, stated, page_text) if stated else None


def quotation_at(item: Evidence, span: Span, page_text: PageText) -> Citation | None:
    """Return a span of a passage's text as a span of its page; None if it is not there (any more)."""
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
        placed = found
    return page_citation(item, placed, page_text)
