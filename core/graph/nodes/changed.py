"""What changes or replaces the passages found, in other documents or on later pages of their own."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from core.domain.answers import Span
from core.domain.documents import Document, Page, Passage
from core.domain.search import Change, Evidence, Reason
from core.graph.context import TurnContext
from core.graph.state import TurnState
from core.models.utterances import Changes, changes_of
from core.search.changes import ChangeFound, changes_on, mentions_in, places_of
from core.search.relations import Relation, relations_among
from core.text.sentences import split_sentences
from core.text.terms import content_terms

MAX_PASSAGES = 5
"""Number of passages, the best first, of which changes are looked for."""
MIN_SENTENCES = 2
"""Number of sentences of one page that change a text, from which on it amends its own document."""
ODDS = 4.0
"""Odds that a sentence of an amendment changes the place that it names, by those among the sentences learned from."""


def with_changes(state: TurnState, context: TurnContext) -> TurnState:
    """Add to the evidence what changes its best passages, and name the documents that replace those it is from.

    They are looked for in all documents that the person chose, though the question may name one of them.
    """
    chosen = [one for one in context.documents if not state.document_ids or one.id in state.document_ids]
    relations = relations_among(chosen)
    names = {document.id: document for document in context.documents}
    drawn_on = {item.passage.document_id for item in state.evidence}
    whole = {one.older.id: one for one in reversed(relations) if one.whole and one.older.id in drawn_on}
    replaced = {of: one.newer.name for of, one in whole.items() if not _asks_for_older(state, one)}
    best = sorted(state.evidence, key=lambda item: -item.scores.get("reranked", 0.0))[:MAX_PASSAGES]
    added, changes = dict[str, Evidence](), dict[str, tuple[Change, ...]]()
    for item in best:
        for document, one, place in _newer(item, relations, names, context):
            identity = _id(document, one)
            added.setdefault(identity, _as_evidence(identity, document, one, item))
            change = Change(identity, place.start, place.end, one.probability)
            changes[item.passage.id] = (*changes.get(item.passage.id, ()), change)
    if not added and not whole:
        return state
    kept = (
        replace(item, changes=changes.get(item.passage.id, ()), replaced_by=replaced.get(item.passage.document_id, ""))
        for item in state.evidence
    )
    numbered = [replace(item, number=number) for number, item in enumerate([*kept, *added.values()], start=1)]
    context.note(
        decided={"replaced by": {names[of].name: newer for of, newer in replaced.items()}},
        returned={"changes": [" ".join(item.passage.text.split()) for item in added.values()]},
    )
    alone = all(item.replaced_by for item in numbered)
    told = [f"{one.newer.name} replaces {one.older.name}." for of, one in whole.items() if alone or of not in replaced]
    return replace(state, evidence=tuple(numbered), notices=tuple(dict.fromkeys([*state.notices, *told])))


def _asks_for_older(state: TurnState, relation: Relation) -> bool:
    """Say whether the question names the older document, or its version."""
    older, newer = (set(content_terms(" ".join(one.called))) for one in (relation.older, relation.newer))
    meant = state.plan.document_ids if state.plan else ()
    return relation.older.id in meant or bool((older - newer).intersection(content_terms(state.standalone)))


def _newer(
    item: Evidence, relations: Sequence[Relation], documents: dict[str, Document], context: TurnContext
) -> Iterator[tuple[Document, ChangeFound, Span]]:
    """Yield what changes a passage and which words of it, the newest first: later amendments of what it is from."""
    own = documents[item.passage.document_id]
    amended = [one.older for one in relations if one.newer.id == own.id and not one.whole]
    for older in [own, *amended]:
        places = places_of(item.passage) if older.id == own.id else mentions_in(item.passage)
        amending = [one.newer for one in relations if one.older.id == older.id and not one.whole]
        for newer in amending[: amending.index(own)] if own in amending else amending:
            for one in changes_on(_pages(newer, context), frozenset(places), _chance):
                yield newer, one, places[one.number]
    page = context.library.page(*item.passage.page)
    places = places_of(item.passage) | (mentions_in(item.passage) if _amends_its_own(page) else {})
    places = {number: span for number, span in places.items() if "." in number}
    pages = [page for page in _pages(own, context) if page.page_index >= item.passage.page_index] if places else []
    for one in reversed(list(changes_on(pages, frozenset(places), _chance))):
        page = one.stretch.page
        after = page.page_index > item.passage.page_index or one.stretch.start >= item.passage.end
        if after and _amends_its_own(page):
            yield own, one, places[one.number]


def _pages(document: Document, context: TurnContext) -> Sequence[Page]:
    return context.library.pages(document.id, range(document.page_count))


def _chance(sentence: str) -> float:
    """Return the probability that a sentence of an amendment, which names a place, changes it."""
    changes = 1 - changes_of(sentence)[Changes.NOTHING]
    return ODDS * changes / (ODDS * changes + 1 - changes)


def _amends_its_own(page: Page) -> bool:
    sentences = (" ".join(page.text[span.start : span.end].split()) for span in split_sentences(page.text))
    return sum(changes_of(sentence)[Changes.NOTHING] < 0.5 for sentence in sentences) >= MIN_SENTENCES


def _id(document: Document, found: ChangeFound) -> str:
    stretch = found.stretch
    return f"{document.id}:{stretch.page.page_index}:{stretch.start}-{stretch.end}"


def _as_evidence(identity: str, document: Document, found: ChangeFound, changed: Evidence) -> Evidence:
    stretch, page = found.stretch, found.stretch.page
    passage = Passage(identity, document.id, page.page_index, page.page_label, stretch.text, stretch.start, stretch.end)
    return Evidence(0, passage, document.name, changed.scores, Reason.CHANGE, document.called)
