"""The text at a place that a question names by page, number or title, if it asks only for that."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pincite.core.domain.answers import AnswerPart, PartKind
from pincite.core.domain.documents import Document, Page, Passage
from pincite.core.domain.search import Evidence, Intent, Reason
from pincite.core.graph.context import TurnContext
from pincite.core.graph.nodes.unread import max_denial
from pincite.core.graph.state import TurnState
from pincite.core.questions.places import without_places
from pincite.core.questions.wording import asks_only_for, asks_openly, other_terms
from pincite.core.search.overview import documents_meant
from pincite.core.search.stretches import Stretch, is_on, numbered, pages_called, titled, titles

MAX_PLACES = 4
MAX_OTHER_WORDS = 1
"""Number of content words that a question may have in addition to the place and still ask for that alone."""
NO_SUCH_PLACE = 0.95
"""Confidence that a place does not exist if every page of all documents was read and its number is on none."""


def placed(state: TurnState, context: TurnContext, searched: Sequence[Document]) -> TurnState | None:
    """Return the state with the text at the place, or with the answer that there is none; None for other questions."""
    asked = without_places(state.read.text)
    pages, numbers, title = state.read.pages, state.read.numbered, state.read.title
    beside = other_terms(asked, _names(searched))
    if state.attempts or not (pages or numbers or title) or len(beside) > MAX_OTHER_WORDS:
        return None
    context.progress.step("Looking up the place…")
    read = _read(asked, searched, context, () if numbers or title else pages)
    names = {document.id: document.name for document in searched}
    counts = {document.id: document.page_count for document in searched}
    found = [
        (document_id, stretch)
        for document_id, own in read.items()
        for stretch in [*_at(pages, numbers, own, counts[document_id]), *(titled(title, own) if title else ())]
    ]
    if (beside and (not found or not asks_openly(state.read.text))) or (title and not found):
        return None
    context.note(
        read={"documents": [names[document_id] for document_id in read]},
        decided={"place": [*(f"page {name}" for name in pages), *numbers, *([f"“{title}”"] if title else [])]},
        returned={"found": [f"{names[of]}, page {stretch.page.page_label}" for of, stretch in found]},
    )
    if found:
        evidence = tuple(_evidence(number, of, one, names[of]) for number, (of, one) in enumerate(found, start=1))
        # The text there is quoted even if a model could write: a model would also describe other places.
        quoted = context.model.writes_prose
        return replace(state, intent=Intent.SURVEY, evidence=evidence, nearest=(), by_code=quoted)
    return _nowhere(state, context, pages, numbers, searched)


def with_places(state: TurnState, context: TurnContext, searched: Sequence[Document]) -> TurnState:
    """Put the text of the pages, sections and tables that a question names before the other evidence.

    Of the documents that something was found in, where it was in any; under headings, on the pages that were found.
    """
    asked = without_places(state.read.text)
    pages, numbers = state.read.pages, state.read.numbered
    names = {document.id: document.name for document in searched}
    counts = {document.id: document.page_count for document in searched}
    drawn_on = {item.passage.document_id for item in state.evidence}
    among = [document for document in searched if document.id in drawn_on] or searched
    best = max((item.scores.get("reranked", 0.0) for item in state.evidence), default=1.0)
    read = _read(asked, among, context, () if numbers else pages) if pages or numbers else {}
    there = [
        replace(_evidence(0, document_id, stretch, names[document_id]), scores={"reranked": best})
        for document_id, own in read.items()
        for stretch in _at(pages, numbers, own, counts[document_id])
    ]
    there += (replace(item, scores={"reranked": best}) for item in _under_headings(state, context, among))
    if not there:
        return state
    there = there[:MAX_PLACES]
    rest = [item for item in state.evidence if not any(_holds(place.passage, item.passage) for place in there)]
    kept, room = list[Evidence](), context.evidence_characters
    for item in [*there, *rest]:
        if len(item.passage.text) <= room or not kept:
            kept.append(replace(item, number=len(kept) + 1))
            room -= len(item.passage.text)
    named = [f"{item.document_name}, page {item.passage.page_label}" for item in there]
    context.note(returned={"at the places named": named})
    return replace(state, evidence=tuple(kept), nearest=())


def _under_headings(state: TurnState, context: TurnContext, among: Sequence[Document]) -> Iterator[Evidence]:
    """Yield the text under headings, on pages that were found, that the question or a part of it asks for alone."""
    pieces = state.plan.pieces if state.plan else ()
    asked = [state.read.text, *(text for piece in pieces for text in piece.readings)]
    found = {item.passage.page for item in state.evidence}
    for document in among:
        places = {at + next_one for of, at in found if of == document.id for next_one in (0, 1)}
        own = context.library.pages(document.id, places)
        for title in titles(own):
            if any(asks_only_for(title, text, _names([document])) for text in asked):
                yield from (_evidence(0, document.id, one, document.name, title) for one in titled(title, own))


def _at(pages: Sequence[str], numbers: Sequence[str], own: Sequence[Page], page_count: int) -> list[Stretch]:
    """Return the pages with these names and the sections with these numbers, in one document."""
    return [*pages_called(pages, own, page_count), *numbered(numbers, own)]


def _holds(place: Passage, passage: Passage) -> bool:
    return place.page == passage.page and place.start <= passage.start and passage.end <= place.end


def _read(
    asked: str, searched: Sequence[Document], context: TurnContext, named: Sequence[str]
) -> dict[str, Sequence[Page]]:
    """Return the pages with these names, or all pages without names, of the documents that are meant, by id."""
    return {
        document.id: context.library.pages(
            document.id, _positions(document, named, context) if named else range(document.page_count)
        )
        for document in documents_meant(asked, searched)
    }


def _positions(document: Document, named: Sequence[str], context: TurnContext) -> set[int]:
    """Return the indexes of pages with these names: printed on them, or by their place in the file."""
    ends = {"first": 0, "last": document.page_count - 1}
    printed = {at for name in named for at in context.library.pages_labelled(document.id, name)}
    return printed | {ends[name] if name in ends else int(name) - 1 for name in named if name in ends or name.isdigit()}


def _names(documents: Iterable[Document]) -> str:
    return " ".join(document.words_of_facts for document in documents)


def _nowhere(
    state: TurnState, context: TurnContext, pages: Sequence[str], numbers: Sequence[str], searched: Sequence[Document]
) -> TurnState | None:
    """Answer that there is no such place, if its number is on no page; else return None to search the question."""
    for document in searched if numbers else ():
        everything = context.library.pages(document.id, range(document.page_count))
        if any(is_on(name, everything) for name in numbers):
            return None
    named = " and ".join([*(f"page {name}" for name in pages), *numbers])
    sure = min(NO_SUCH_PLACE, max_denial(searched, context.library))
    decline = AnswerPart(f"I found no {named} in these documents.", kind=PartKind.DECLINE, probability=sure)
    return replace(state, by_code=True, parts=(decline,))


def _evidence(number: int, document_id: str, stretch: Stretch, name: str, title: str = "") -> Evidence:
    page, path = stretch.page, (title,) if title else ()
    identity = f"{document_id}:{page.page_index}:{stretch.start}-{stretch.end}"
    passage = Passage(
        identity, document_id, page.page_index, page.page_label, stretch.text, stretch.start, stretch.end, path
    )
    return Evidence(number, passage, name, {}, Reason.NAMED)
