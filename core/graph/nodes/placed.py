"""What stands at a place that a question names by page, number or title, where it asks for nothing else."""

from collections.abc import Sequence
from dataclasses import replace

from core.domain.answers import AnswerPart, PartKind
from core.domain.documents import Document, Page, Passage
from core.domain.search import Evidence, Intent, Reason
from core.graph.context import TurnContext
from core.graph.state import TurnState
from core.search.overview import documents_meant
from core.search.places import names_a_section, numbered_in, pages_in, without_places
from core.search.stretches import Stretch, numbered, opens_a_line, pages_called, titled
from core.text.questions import OF_DOCUMENTS
from core.text.terms import content_terms

MOST_BESIDE = 1
"""Telling words that a question may hold beside the place and still ask for nothing else: "say", "show"."""
SURE = 0.95
"""That a place does not exist where every page was read and no line begins with its number; never measured."""


def placed(state: TurnState, context: TurnContext, searched: Sequence[Document]) -> TurnState | None:
    """The state with what stands at the place, or with the answer that there is none; None for any other question."""
    asked = without_places(state.standalone)
    pages, numbers = pages_in(state.standalone), numbered_in(state.standalone)
    by_title = not (pages or numbers) and names_a_section(state.standalone)
    if state.attempts or not (pages or numbers or by_title) or (not by_title and _asks_more(asked, searched)):
        return None
    context.progress.step("Looking up the place…")
    read = {
        document.id: [context.documents.page(document.id, at) for at in range(document.page_count)]
        for document in documents_meant(asked, searched)
    }
    names = {document.id: document.name for document in searched}
    titles = list[str]()
    found = list[tuple[str, Stretch]]()
    for document_id, own in read.items():
        stretches = [*pages_called(pages, own), *(one for name in numbers for one in numbered(name, own))]
        if by_title:
            title, stretches = titled(asked, own)
            if _asks_more(asked, searched, title):
                continue
            titles += [f"“{title}”"]
        found += [(document_id, stretch) for stretch in stretches]
    if by_title and not found:
        return None
    context.note(
        read={"documents": [names[document_id] for document_id in read]},
        decided={"place": [*(f"page {name}" for name in pages), *numbers, *dict.fromkeys(titles)]},
        returned={"found": [f"{names[of]}, page {stretch.page.page_label}" for of, stretch in found]},
    )
    if found:
        evidence = tuple(_evidence(number, of, one, names[of]) for number, (of, one) in enumerate(found, start=1))
        # What stands there is quoted, whatever else could write: a model tells of other places too.
        quoted = context.model.writes_prose
        return replace(state, intent=Intent.SURVEY, evidence=evidence, nearest=(), by_code=quoted)
    everything = [page for own in read.values() for page in own]
    return _nowhere(state, context, pages, numbers, everything, list(read))


def _asks_more(asked: str, documents: Sequence[Document], title: str = "") -> bool:
    names = " ".join(value for one in documents for value in (one.name, *(field.value for field in one.metadata)))
    beside = set(content_terms(asked)) - OF_DOCUMENTS - set(content_terms(f"{names} {title}"))
    return len(beside) > MOST_BESIDE


def _nowhere(
    state: TurnState,
    context: TurnContext,
    pages: Sequence[str],
    numbers: Sequence[str],
    everything: Sequence[Page],
    document_ids: Sequence[str],
) -> TurnState | None:
    """Say that there is no such place, where nothing speaks for one; else the question is searched like any other."""
    if any(opens_a_line(name, everything) for name in numbers):
        return None
    named = " and ".join([*(f"page {name}" for name in pages), *numbers])
    sure = SURE * min((context.documents.coverage(one) for one in document_ids), default=0.0)
    told = AnswerPart(f"I found no {named} in these documents.", kind=PartKind.DECLINE, probability=sure)
    return replace(state, by_code=True, parts=(told,))


def _evidence(number: int, document_id: str, stretch: Stretch, name: str) -> Evidence:
    page = stretch.page
    identity = f"{document_id}:{page.page_index}:{stretch.start}-{stretch.end}"
    passage = Passage(identity, document_id, page.page_index, page.page_label, stretch.text, stretch.start, stretch.end)
    return Evidence(number, passage, name, {}, Reason.NAMED)
