"""Counting and listing over whole documents, by code, over every page that was read: the retriever's other way."""

from collections.abc import Sequence
from dataclasses import replace

from core.documents.counting import Found, Pages, find_all, find_mentions
from core.domain.answers import Counted
from core.domain.documents import Document, PageStatus
from core.graph.context import Documents, TurnContext
from core.graph.state import TurnState
from core.search.census import evidence_of, shown
from core.text.questions import Census, census
from core.text.stating import count_statement
from core.text.terms import content_terms

UNWEIGHED = 0.5
"""The most that a count by a form can be sure of that has no running labels: no labelled data weigh it."""
READ = (PageStatus.TEXT, PageStatus.OCR)


def taken_as_census(state: TurnState, searched: Sequence[Document]) -> Census | None:
    """What is to be counted or listed, where the question speaks of nothing but documents beside it."""
    asked = census(state.asked)
    if asked is None:
        return None
    names = " ".join(value for one in searched for value in (one.name, *(field.value for field in one.metadata)))
    return None if asked.rest - set(content_terms(names)) else asked


def counted(state: TurnState, context: TurnContext, searched: Sequence[Document], asked: Census) -> TurnState | None:
    """The state with all that was found; None where the pages hold nothing of a form that is known."""
    context.progress.step("Reading every page…")
    pages = _pages(searched, context.documents, state.plan.wanted_pages if state.plan else ())
    read = [(of, page) for of, page in pages if page.status in READ]
    every = pages if _names(asked.noun)[0] == "page" else read
    found = find_mentions(asked.term, every) if asked.term else find_all(asked.noun, every)
    if found is None or not read:
        return None
    one, many = (f"mention of “{asked.term}”", f"mentions of “{asked.term}”") if asked.term else _names(asked.noun)
    documents = len({of for of, _ in pages})
    result = Counted(one, many, found.places, len(read), documents, asked.by_page)
    names = {document.id: document.name for document in searched}
    evidence = evidence_of(result, {(of, page.page_index): page for of, page in pages}, names)
    context.note(
        read={"documents": list(names.values()), "pages": len(pages)},
        decided={"counted": many, "sure": _sure(found, searched, context.documents)},
        returned={"count": count_statement(result), "shown": [place.text for place in shown(result)]},
    )
    return replace(state, counted=result, sure=_sure(found, searched, context.documents), evidence=evidence, nearest=())


def _sure(found: Found, searched: Sequence[Document], documents: Documents) -> float:
    """How complete the count is: by the labels, and by the pages that could be read."""
    read = min(documents.coverage(document.id) for document in searched)
    return read * (UNWEIGHED if found.sure is None else found.sure)


def _names(noun: str) -> tuple[str, str]:
    lower = noun.lower()
    if lower.endswith("ies"):
        return f"{lower[:-3]}y", lower
    return lower.removesuffix("s"), lower


def _pages(searched: Sequence[Document], documents: Documents, wanted: Sequence[str]) -> Pages:
    """Every page, or those that the question names by label or position."""
    found = []
    for document in searched:
        read = [documents.page(document.id, at) for at in range(document.page_count)]
        for page in read:
            named = {page.page_label, str(page.page_index + 1)}
            if not wanted or named & set(wanted):
                found.append((document.id, page))
    return found
