"""Choose passages that represent whole documents: openings, summaries, and beginnings of sections, within a budget.

For questions about documents as such ("summarise the contract"), because their words are on no page.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pincite.core.domain.documents import Document, Passage
from pincite.core.domain.search import Evidence, Reason, spread
from pincite.core.questions.matching import match_documents

if TYPE_CHECKING:
    from pincite.core.store.library import Library

MAX_PASSAGES = 5_000
"""Of a longer document, its beginning."""
MIN_CHARACTERS = 40
"""Minimum length of a passage; shorter ones are headings and captions."""
MIN_SECTIONS = 3
MAX_SUMMARIES = 2
"""Passages of a document's own summary that come before its sections."""
_SUMMARY_HEADING = re.compile(
    r"[\W\d]{0,40}+(?:(?:executive |management )?(?:abstract|summary)|overview|highlights|conclusions?|"
    r"key (?:findings|points|messages)|at a glance|in brief|zusammenfassung|résumé|resumen|conclusión)\b",
    re.IGNORECASE,
)


def documents_meant(question: str, documents: Sequence[Document]) -> list[Document]:
    """Return the documents with names or metadata that fit the question best, or all if none fits."""
    scores = match_documents(question, (), documents)
    return [document for document in documents if scores[document.id] == max(scores.values())]


def overview(documents: Sequence[Document], library: "Library", *, context_characters: int) -> tuple[Evidence, ...]:
    """Return passages that represent the documents, an equal share of the budget for each, in reading order."""
    evidence: list[Evidence] = []
    for document in documents:
        passages = library.opening_passages(document.id, MAX_PASSAGES)
        telling = _telling(passages)
        room = context_characters // len(documents)
        taken = set[str]()
        for passage in sorted(passages, key=lambda passage: telling.get(passage.id, (9, 0))):
            if passage.id in telling and (not taken or len(passage.text) <= room):
                taken.add(passage.id)
                room -= len(passage.text)
        evidence += [
            Evidence(
                0,
                passage,
                document.name,
                {},
                Reason.SUMMARY if telling[passage.id][0] == 0 else Reason.SECTION,
                about=document.about,
            )
            for passage in passages
            if passage.id in taken
        ]
        if sum(len(item.passage.text) for item in evidence) >= context_characters:
            break
    return tuple(replace(item, number=number) for number, item in enumerate(evidence, start=1))


def _telling(passages: Sequence[Passage]) -> Mapping[str, tuple[int, int]]:
    """Return the passages that represent their document, with a sort key: summaries, the opening, then sections.

    Sections come in an order that covers the document evenly however few are taken; without headings every passage
    counts as one.
    """
    long_passages = [passage for passage in passages if len(passage.text) >= MIN_CHARACTERS] or passages[:1]
    openings = {passage.heading_path: passage for passage in reversed(long_passages)}.values()
    sections = openings if len(openings) >= MIN_SECTIONS else long_passages
    opening_ids = {passage.id for passage in sections}
    summaries = [p for p in reversed(openings) if p.heading_path and _SUMMARY_HEADING.match(p.heading_path[-1])]
    order = [passage for passage in long_passages if passage.id in opening_ids]
    keys = {order[place].id: (2, rank) for rank, place in enumerate(spread(len(order)))}
    keys |= {passage.id: (1, 0) for passage in long_passages[:1]}
    return keys | {passage.id: (0, rank) for rank, passage in enumerate(summaries[:MAX_SUMMARIES])}
