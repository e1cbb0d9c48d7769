"""Which documents a turn may see."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.domain.documents import Collection, Coverage, Document, Page, Passage
from core.domain.turns import Turn
from core.graph.context import Documents


@dataclass(frozen=True, slots=True)
class Within:
    """A library of which only a collection's documents are seen: others can be neither named nor searched."""

    documents: Documents
    collection: Collection

    def list(self) -> list[Document]:
        return [document for document in self.documents.list() if document.id in self.collection.document_ids]

    def page(self, document_id: str, page_index: int) -> Page:
        return self.documents.page(document_id, page_index)

    def page_text(self, document_id: str, page_index: int) -> str:
        return self.documents.page_text(document_id, page_index)

    def coverage(self, document_id: str) -> Coverage:
        return self.documents.coverage(document_id)

    def opening_passages(self, document_id: str, limit: int) -> Sequence[Passage]:
        return self.documents.opening_passages(document_id, limit)


def scope_of(turn: Turn, documents: Sequence[Document]) -> tuple[str, ...]:
    """The documents chosen for a turn, which may be gone; empty where it searched all that there were."""
    if turn.scope is not None:
        return turn.scope
    there_then = {document.id for document in documents if document.added_at <= turn.started_at}
    return () if there_then <= set(turn.document_ids) else turn.document_ids
