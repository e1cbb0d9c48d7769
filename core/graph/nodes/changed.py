"""Amendments and newer versions of the passages found, in other documents or on later pages of their own."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from pincite.core.domain.answers import Span
from pincite.core.domain.documents import Document, Page, Passage
from pincite.core.domain.search import Change, Evidence, Reason
from pincite.core.graph.context import TurnContext
from pincite.core.graph.state import TurnState
from pincite.core.questions.utterances import Changes, changes_of
from pincite.core.search.changes import ChangeFound, changes_on, mentions_in, names_any, places_of
from pincite.core.search.relations import Relation, names_older, relations_among
from pincite.core.text.sentences import split_sentences

MAX_PASSAGES = 5
"""Number of best passages for which amendments are searched."""
MIN_SENTENCES = 2
"""Minimum number of amending sentences on a page that amends its own document."""
ODDS = 4.0
"""Prior odds that a sentence of an amendment changes the place that it names, from the training sentences."""


def with_changes(state: TurnState, context: TurnContext) -> TurnState:
    """Add the amendments of the best passages to the evidence, and name the documents that replace their documents.

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
    pages = _Pages(context)
    for item in best:
        for document, one, place in _newer(item, relations, names[item.passage.document_id], pages):
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
    notices = [
        f"{one.newer.name} replaces {one.older.name}." for of, one in whole.items() if alone or of not in replaced
    ]
    return replace(state, evidence=tuple(numbered)).noted(*notices)


def _asks_for_older(state: TurnState, relation: Relation) -> bool:
    meant = state.plan.document_ids if state.plan else ()
    return relation.older.id in meant or names_older(state.read.text, relation)


def _newer(
    item: Evidence, relations: Sequence[Relation], own: Document, pages: "_Pages"
) -> Iterator[tuple[Document, ChangeFound, Span]]:
    """Yield the amendments of a passage with the amending words, the newest first."""
    places, mentions = places_of(item.passage), mentions_in(item.passage)
    amended = [one.older for one in relations if one.newer.id == own.id and not one.whole]
    for older in [own, *amended]:
        at = places if older.id == own.id else mentions
        amending = [one.newer for one in relations if one.older.id == older.id and not one.whole]
        for newer in amending[: amending.index(own)] if own in amending else amending:
            for one in changes_on(pages.naming(newer, frozenset(at)), frozenset(at), _chance):
                yield newer, one, at[one.number]
    at = {number: span for number, span in (mentions | places).items() if "." in number}
    found = list(
        changes_on(pages.naming(own, frozenset(at), from_page=item.passage.page_index), frozenset(at), _chance)
    )
    for one in reversed(found):
        page = one.stretch.page
        after = page.page_index > item.passage.page_index or one.stretch.start >= item.passage.end
        original = one.number in places or _amends_its_own(pages.page(own, item.passage.page_index))
        if after and original and _amends_its_own(page):
            yield own, one, at[one.number]


class _Pages:
    """Pages of a turn's documents that name places, found by their text before they are loaded."""

    def __init__(self, context: TurnContext) -> None:
        self._library = context.library
        self._texts: dict[str, list[str]] = {}

    def naming(self, document: Document, numbers: frozenset[str], *, from_page: int = 0) -> Sequence[Page]:
        if not numbers:
            return ()
        if document.id not in self._texts:
            self._texts[document.id] = [self._library.page_text(document.id, at) for at in range(document.page_count)]
        named = [at for at, text in enumerate(self._texts[document.id]) if at >= from_page and names_any(text, numbers)]
        return self._library.pages(document.id, named) if named else ()

    def page(self, document: Document, page_index: int) -> Page:
        return self._library.page(document.id, page_index)


def _chance(sentence: str) -> float:
    """Return the probability that a sentence of an amendment, which names a place, changes it."""
    changes = 1 - changes_of(sentence)[Changes.NOTHING]
    return ODDS * changes / (ODDS * changes + 1 - changes)


def _amends_its_own(page: Page) -> bool:
    sentences = (" ".join(page.text[span.start : span.end].split()) for span in split_sentences(page.text))
    changing = (1 for sentence in sentences if changes_of(sentence)[Changes.NOTHING] < 0.5)
    return len(list(islice(changing, MIN_SENTENCES))) == MIN_SENTENCES


def _id(document: Document, found: ChangeFound) -> str:
    stretch = found.stretch
    return f"{document.id}:{stretch.page.page_index}:{stretch.start}-{stretch.end}"


def _as_evidence(identity: str, document: Document, found: ChangeFound, changed: Evidence) -> Evidence:
    stretch, page = found.stretch, found.stretch.page
    passage = Passage(identity, document.id, page.page_index, page.page_label, stretch.text, stretch.start, stretch.end)
    return Evidence(0, passage, document.name, changed.scores, Reason.CHANGE, document.called)
