"""Which documents a turn may see."""

from collections.abc import Sequence

from pincite.core.domain.documents import Document
from pincite.core.domain.turns import Turn


def scope_of(turn: Turn, documents: Sequence[Document]) -> tuple[str, ...]:
    """Return the documents chosen for a turn, which may be gone; empty where it searched all that there were."""
    if turn.scope is not None:
        return turn.scope
    there_then = {document.id for document in documents if document.added_at <= turn.started_at}
    return () if there_then <= set(turn.document_ids) else turn.document_ids
