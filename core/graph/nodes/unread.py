"""Unread parts of the searched documents, and the maximum confidence of "not found" that they allow."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from pincite.core.domain.documents import Document, DocumentStatus
from pincite.core.domain.presentation import MAX_UNSURE_DECLINE, UNREAD_DENIAL
from pincite.core.graph.context import TurnContext
from pincite.core.graph.state import TurnState
from pincite.core.text.plain import counted

if TYPE_CHECKING:
    from pincite.core.store.library import Library

FEW_DOCUMENTS = 3
"""Up to this many searched documents, each incomplete one is named; of more, only those that the answer uses."""


def searched_documents(state: TurnState, context: TurnContext) -> list[Document]:
    """Return the documents that a turn searches."""
    return [one for one in context.documents if one.id in state.document_ids or not state.document_ids]


def holes_of(searched: Sequence[Document], library: "Library", drawn_on: Collection[str]) -> list[str]:
    """Return what is missing of each document that the answer uses, and the number of other incomplete ones."""
    notices = []
    near = [document for document in searched if document.id in drawn_on or len(searched) <= FEW_DOCUMENTS]
    others = [document for document in searched if document not in near]
    if holes := [document for document in others if _hole(document, library)]:
        notices.append(f"{counted(len(holes), 'other document')} could not be searched in full; see Documents.")
    return [*filter(None, (_hole(document, library) for document in near)), *notices]


def max_denial(searched: Sequence[Document], library: "Library") -> float:
    """Return the maximum confidence of "not found" in these documents, by what of them was not read or indexed."""
    if any(not _is_read(document, library) for document in searched):
        return UNREAD_DENIAL
    return MAX_UNSURE_DECLINE if holes_of(searched, library, ()) else 1.0


def _is_read(document: Document, library: "Library") -> bool:
    return document.searchable and not document.not_read and not library.coverage(document.id).unread


def not_read(searched: Sequence[Document], library: "Library") -> list[str]:
    """Return what was not searched, which may hold the answer: pages, and parts of files that are never read."""
    lacking = [document for document in searched if document.not_read]
    notices = [f"Not read in “{document.name}”: {document.not_read}." for document in lacking[:FEW_DOCUMENTS]]
    if more := len(lacking) - FEW_DOCUMENTS:
        notices += [f"Not read in full: {counted(more, 'other document')}; see Documents."] if more > 0 else []
    return [*holes_of(searched, library, ()), *notices]


def _hole(document: Document, library: "Library") -> str:
    """Return the parts of a document that could not be searched; empty if there are none."""
    if document.status in (DocumentStatus.QUEUED, DocumentStatus.READING) and not document.searchable:
        return f"“{document.name}” is still being read; this answer covers what was read so far."
    if document.status is DocumentStatus.FAILED and not document.searchable:
        return f"“{document.name}” could not be read in full; this answer covers what was read of it."
    covered = library.coverage(document.id)
    if covered.unread:
        of_pages = f"of {counted(document.page_count, 'page')} of “{document.name}”."
        lost = covered.unread - covered.waiting
        return " ".join(
            f"{why}, so not searched: {number} {of_pages}"
            for why, number in (("Still being recognised", covered.waiting), ("Could not be read", lost))
            if number
        )
    if document.status is DocumentStatus.EMBEDDING:
        return f"“{document.name}” is not yet indexed by meaning and was searched by words only."
    if document.status is DocumentStatus.FAILED:
        return f"“{document.name}” is not fully indexed by meaning ({document.message}); it was searched by words."
    return ""
