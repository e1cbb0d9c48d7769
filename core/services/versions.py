"""Two versions of a document compared: what changed between them, and which documents are versions of one."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING

from pincite.core.documents.versions import compare
from pincite.core.domain.documents import Document, DocumentStatus
from pincite.core.domain.errors import DocumentError
from pincite.core.domain.versions import Comparison
from pincite.core.export.versions import FORMS
from pincite.core.search.relations import Relation
from pincite.core.text.checker import installed_checker

if TYPE_CHECKING:
    from pincite.core.store.library import Library

MAX_KEPT = 4
"""Number of comparisons that are kept in memory."""


class Versions:
    """Compares documents of a library; what was compared last is kept until one of them is read again."""

    def __init__(self, library: "Library", relations: Callable[[], Sequence[Relation]] = tuple) -> None:
        self._library = library
        self._relations = relations
        self._kept = OrderedDict[tuple[str, int, str, int], Comparison]()
        self._lock = Lock()

    def compare(self, older_id: str, newer_id: str) -> Comparison:
        """Raises DocumentError."""
        older, newer = self._readable(older_id), self._readable(newer_id)
        if older.id == newer.id:
            raise DocumentError("A document has no differences from itself.", hint="Choose two documents.")
        key = (older.id, older.passage_count, newer.id, newer.passage_count)
        if (kept := self._kept.get(key)) is not None:
            return kept
        pages = [self._library.pages(one.id, range(one.page_count)) for one in (older, newer)]
        found = compare(older.id, pages[0], newer.id, pages[1], installed_checker())
        with self._lock:
            self._kept[key] = found
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        return found

    def earlier_of(self, document_id: str) -> str:
        """Return the id of the document that this one replaces, or else amends; empty if none is known."""
        own = [one for one in self._relations() if one.newer.id == document_id]
        return next((one.older.id for one in sorted(own, key=lambda one: not one.whole)), "")

    def export(self, comparison: Comparison, ending: str) -> bytes:
        """Return the differences as a file of one of ``core.export.versions.FORMS``."""
        names = [self._library.get(one).name for one in (comparison.older_id, comparison.newer_id)]
        return FORMS[ending](comparison, names[0], names[1])

    def _readable(self, document_id: str) -> Document:
        document = self._library.get(document_id)
        if document.status is DocumentStatus.FAILED:
            raise DocumentError(f"{document.name} could not be read.", hint=document.message)
        if not document.searchable:
            raise DocumentError(f"{document.name} has not been read yet.", hint="Wait until it is read.")
        if self._library.coverage(document.id).text == 0:
            raise DocumentError(f"No text of {document.name} could be read.", hint="Its pages may need OCR.")
        return document
