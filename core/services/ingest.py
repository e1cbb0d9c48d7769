"""Taking documents in and showing their pages, with the settings of reading that hold now."""

import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.core.documents.marking import framed, lines_of, mark_words, show_hidden
from pincite.core.documents.read_back import OwnText, compare_with_own_text, read_back
from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.answers import Citation, Likeness, ReadBack
from pincite.core.domain.documents import AddOutcome, DocumentStatus, HiddenReason, Page, PageKey
from pincite.core.domain.errors import AccessError, DocumentError, PinciteError
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import now
from pincite.core.graph.context import Lacking
from pincite.core.ingest.pipeline import Ingest
from pincite.core.services.web_pages import fetch

if TYPE_CHECKING:
    from pincite.core.store.library import Library

OF_READING = ("ocr", "max_file_mib", "max_pages", "page_seconds", "reader_memory_mib")
"""The settings with which reader and ingest are opened."""
THUMBNAIL_WIDTH, LINES_WIDTH = 80, 1100
"""Pixels of the whole page."""
FEW_PASSAGES = 200
"""Maximum number of new passages for which a question waits until they have vectors."""
BEING_INDEXED = (DocumentStatus.QUEUED, DocumentStatus.READING, DocumentStatus.EMBEDDING)
MAX_SEEN = 10_000
"""Maximum number of quotations for which the comparison with the picture is cached."""


class Documents:
    """``ingest`` and its reader, reopened when a reading setting changes."""

    def __init__(
        self,
        settings: Settings,
        library: "Library",
        open_ingest: Callable[[Settings, ProcessReader], Ingest],
        quarantined: Callable[[], list[Path]],
    ) -> None:
        """``quarantined``: PDFs that lay among the library's files and are none of its documents."""
        self._library = library
        self._open_ingest = open_ingest
        self.quarantined = quarantined
        self._settings = settings
        self._last_own_text = (Path(), 0, OwnText([]))
        self._seen: dict[tuple[str, int, int, int, str], ReadBack] = {}
        self._lock, self._closed = threading.Lock(), False
        self._open(settings)

    def asked_by(
        self, library: "Library", open_ingest: Callable[[Ingest, Settings, ProcessReader], Ingest]
    ) -> "UserDocuments":
        """Return the same for a user, who sees the documents of this library."""
        return UserDocuments(self, library, open_ingest)

    def use(self, settings: Settings) -> None:
        with self._lock:
            changed = any(getattr(settings, name) != getattr(self._settings, name) for name in OF_READING)
            if changed and not self._closed:
                self._close()
                self._open(settings)
            self._settings = settings

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._close()

    def _close(self) -> None:
        self._ingest.stop()
        self._reader.close()  # a page that is being recognised may take minutes: its process is ended
        self._ingest.close()

    @property
    def ingest(self) -> Ingest:
        return self._ingest

    def _open(self, settings: Settings) -> None:
        self._reader = ProcessReader(settings)
        self._ingest = self._open_ingest(settings, self._reader)

    def page_image(
        self,
        document_id: str,
        page_index: int,
        *,
        width: int = 900,
        marks: Sequence[tuple[int, int]] = (),
        hidden: Collection[HiddenReason] = (),
    ) -> bytes:
        """Return a PNG of the page with these spans of its text marked, and what is hidden on it for these reasons.

        Raises a DocumentError.
        """
        image = self._reader.render(self._library.file(document_id), page_index, width=width)
        if not marks and not hidden:
            return image
        page = self._library.page(document_id, page_index)
        marked = mark_words(image, page, marks) if marks else image
        apart = [item for item in page.hidden if item.reason in hidden]
        return show_hidden(marked, apart) if apart else marked

    def small_image(self, document_id: str, page_index: int, span: tuple[int, int] | None = None) -> bytes:
        """Return a PNG of the page at a thumbnail's size, or of the lines of this span of its text, marked.

        Raises a DocumentError.
        """
        if span is None:
            return framed(self.page_image(document_id, page_index, width=THUMBNAIL_WIDTH))
        image = self.page_image(document_id, page_index, width=LINES_WIDTH, marks=[span])
        return lines_of(image, self._library.page(document_id, page_index), span)

    def find(self, document_id: str, words: str) -> list[PageKey]:
        """Return the pages of a document that contain these words, in any case and across line breaks."""
        wanted = " ".join(words.split()).casefold()
        count = self._library.get(document_id).page_count if wanted else 0
        texts = ((at, self._library.page_text(document_id, at)) for at in range(count))
        return [(document_id, at) for at, text in texts if wanted in " ".join(text.split()).casefold()]

    def recognised(self, document_id: str, page_index: int) -> list[Page]:
        """Return a page as OCR reads it; empty where it cannot."""
        with suppress(PinciteError):
            return list(self._reader.recognise(self._library.file(document_id), [page_index]))
        return []

    def read_back(self, citation: Citation) -> ReadBack:
        """Compare a quotation with the picture of its page or, in other formats, with the text of the file."""
        place = (citation.document_id, citation.page_index, citation.start, citation.end, citation.quotation)
        if place not in self._seen:
            try:
                page = self._library.page(citation.document_id, citation.page_index)
                path = self._library.file(citation.document_id)
                span = (citation.start, citation.end)
                own_text = self._own_text(path)
                of_file = compare_with_own_text(page, *span, own_text) if own_text.lines else None
                seen = of_file or ReadBack(Likeness.UNKNOWN)
                if seen.likeness is not Likeness.DIFFERS:  # the file's own text does not prove what is displayed
                    pictured = read_back(page, *span, partial(self._reader.lines, path, citation.page_index))
                    seen = pictured if of_file is None or pictured.likeness is Likeness.DIFFERS else of_file
            except (PinciteError, OSError):
                return ReadBack(Likeness.UNKNOWN)
            if len(self._seen) >= MAX_SEEN:
                self._seen.clear()
            self._seen[place] = seen
        return self._seen[place]

    def _own_text(self, path: Path) -> OwnText:
        known, written = self._last_own_text, path.stat().st_mtime_ns
        if known[:2] != (path, written):
            known = self._last_own_text = (path, written, OwnText(self._reader.own_text(path)))
        return known[2]

    def add_web_page(self, address: str) -> AddOutcome:
        """Fetch a page and add it. Raises a DocumentError."""
        page = fetch(address, self._settings)
        return self.ingest.add(page.content, page.name, note=f"Fetched from {page.address} on {now()[:10]}.")

    def add_quarantined(self) -> list[tuple[str, DocumentError]]:
        """Take in what was set aside; return the names that cannot become documents, and why. Those stay there."""
        stayed: list[tuple[str, DocumentError]] = []
        for path in self.quarantined():
            try:
                self.ingest.add(path, path.name)
            except DocumentError as error:
                stayed.append((path.name, error))
        return stayed

    def lacking(self, document_ids: Sequence[str], seconds: float) -> Lacking:
        """Wait at most this many seconds and return what the search of these documents still lacks.

        Of scans, the first recognised page is awaited; of a few new passages, their vectors. Raises FullDiskError.
        """
        deadline = time.monotonic() + seconds

        def awaited(ids: Sequence[str], *, searchable_only: bool = False) -> bool:
            left = max(0.0, deadline - time.monotonic())
            return not ids or self.ingest.wait(ids, searchable_only=searchable_only, timeout_seconds=left)

        documents = [document for document in self._library.list() if document.id in document_ids]
        unread = [document.id for document in documents if not document.searchable]  # others are being read again
        if not awaited(unread, searchable_only=True):
            return Lacking.TEXT
        documents = [document for document in self._library.list() if document.id in document_ids]
        scanned = [document for document in documents if document.status is DocumentStatus.RECOGNISING]
        if not awaited([document.id for document in scanned if not document.passage_count]):
            return Lacking.TEXT
        new = [document for document in documents if document.status in BEING_INDEXED]
        few = sum(document.passage_count for document in new) <= FEW_PASSAGES
        return Lacking.NOTHING if not few or awaited([document.id for document in new]) else Lacking.VECTORS


class UserDocuments(Documents):
    """What a user sees of them; the work is done by those of everybody."""

    def __init__(
        self,
        everybodys: Documents,
        library: "Library",
        open_ingest: Callable[[Ingest, Settings, ProcessReader], Ingest],
    ) -> None:
        self._everybodys, self._library, self._open_for_user = everybodys, library, open_ingest
        self._last_own_text = (Path(), 0, OwnText([]))
        self._seen = {}
        self._lock = threading.Lock()
        self._of: tuple[Ingest, Ingest] | None = None
        self.quarantined = list

    @property
    def _reader(self) -> ProcessReader:  # type: ignore[override]
        return self._everybodys._reader

    @property
    def _settings(self) -> Settings:  # type: ignore[override]
        return self._everybodys._settings

    @property
    def ingest(self) -> Ingest:
        with self._lock:
            working = self._everybodys.ingest
            if self._of is None or self._of[0] is not working:
                self._of = working, self._open_for_user(working, self._settings, self._reader)
            return self._of[1]

    def add_web_page(self, address: str) -> AddOutcome:
        """Raises AccessError: the server's network is not open to its users."""
        raise AccessError("Web pages are not added on a server with accounts.", hint="Save the page, and add the file.")

    def close(self) -> None:
        """Those of everybody are closed by themselves."""
