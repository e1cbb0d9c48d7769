"""What the reading process does with one open document: its pages as plain values, one by one.

Plain values (strings, numbers, bytes) because they cross to the application, which trusts nothing else from here.
"""

import io
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from core.documents.formats.pdf import labels, opening
from core.documents.formats.pdf.blocks import compose
from core.documents.formats.pdf.garbling import garbling
from core.documents.formats.pdf.layout import Line, arrange
from core.documents.formats.pdf.pdfium_text import PageWords, read_words
from core.documents.formats.pdf.typed import draw_typed, has_typed
from core.domain.documents import BlockKind, PageReason, PageStatus
from core.domain.errors import UnreadablePdfError
from core.domain.page_layout import pack_boxes

if TYPE_CHECKING:
    from core.documents.formats.pdf.second_opinion import SecondReader

_LITTLE_TEXT = 150
"""A page with fewer characters than this and a picture over most of it is a scan with a stamp, not a text page."""
_PICTURE_SHARE = 0.6
_MOSTLY = 0.9
_MOST_PIXELS = 40_000_000
_MOST_OBJECTS = 3000
_SHORT_DOCUMENT = 10
_SHORT_PAGE = 1500
"""Pages of short documents with no more characters than this are read a second time, to tell where readers differ."""
_QUICKLY_READ_OBJECTS = 1000
"""pypdf takes seconds for pages of many drawings."""
_UNPLACED = "read by the second reader (pypdf), without places on the page"
_CACHED_PAGES = 3 * labels.WINDOW
_PAGES_OF_ONE_OPENING = 200
"""pdfium keeps what it parsed until the document is closed; opening it again lets go of that."""
_MOST_OPENINGS = 20
"""Finding a late page among 10,000 takes a fifth of a second after each opening."""

PlainPage = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LaidPage:
    words: PageWords
    lines: list[Line]
    edges: list[labels.EdgeLine]
    pictures: float
    objects: int
    seconds: float


class OpenPdf:
    """One document with the pages looked at lately. Raises a DocumentError when it cannot be opened."""

    def __init__(self, path: Path, password: str | None, announce: Callable[[int, str], None]) -> None:
        """``announce`` is told each page before it is touched, so that who dies of it can be named."""
        self.path, self.password, self._announce = path, password, announce
        self._open()
        self.page_count = len(self.document)
        self.labels = opening.page_labels(self.document)
        self.recognised_edges: dict[int, list[labels.EdgeLine]] = {}
        self._laid: dict[int, LaidPage | str] = {}

    def _open(self) -> None:
        self.document, self.opening_notes = opening.open_document(self.path, self.password)
        with suppress(pdfium.PdfiumError):  # then forms are drawn empty
            self.document.init_forms()
        self._second_reader: SecondReader | None = None
        self._pages_left = max(_PAGES_OF_ONE_OPENING, len(self.document) // _MOST_OPENINGS)

    def _let_go(self) -> None:
        """Open the document again after many pages, unless that means to mend it again."""
        self._pages_left -= 1
        if self._pages_left < 0 and not self.opening_notes:
            self.document.close()
            self._open()

    def close(self) -> None:
        self.document.close()

    def describe(self) -> dict[str, Any]:
        return {
            "page_count": self.page_count,
            "page_labels": list(self.labels),
            "outline": opening.outline(self.document),
            "fields": opening.fields(self.document),
            "notes": [*self.opening_notes, *opening.notes(self.document, self.path, self.password)],
        }

    def page(self, page_index: int, poisoned: Mapping[int, str]) -> PlainPage:
        """Read one page, looking at its neighbours for running lines.

        ``poisoned`` pages stopped a reader before: it says how, or nothing where only the second reader was stopped.
        """
        started = time.perf_counter()
        if poisoned.get(page_index):
            return self.failed(page_index, poisoned[page_index])
        laid = self._lay(page_index, poisoned)
        if isinstance(laid, str):
            return self.failed(page_index, laid, time.perf_counter() - started)
        edges = {
            index: neighbour.edges
            for index in labels.window(page_index, self.page_count)
            if not poisoned.get(index) and isinstance(neighbour := self._lay(index, poisoned), LaidPage)
        }
        running = labels.running_lines(page_index, edges)
        label = self.label(page_index, labels.printed_label(page_index, edges))
        doubted = page_index not in poisoned and laid.objects <= _QUICKLY_READ_OBJECTS
        if not laid.words.texts:
            return self._textless(page_index, label, laid, doubted)
        return self._written(page_index, label, laid, running, doubted)

    def image(self, page_index: int, width: int) -> bytes:
        """Draw a page as a PNG, forms filled in. Raises UnreadablePdfError."""
        try:
            bitmap = self.bitmap(page_index, width / max(self.document.get_page_size(page_index)[0], 1.0))
        except pdfium.PdfiumError as error:
            raise UnreadablePdfError(f"Page {page_index + 1} of {self.path.name} cannot be drawn.") from error
        buffer = io.BytesIO()
        bitmap.to_pil().save(buffer, format="PNG", compress_level=1)
        return buffer.getvalue()

    def bitmap(self, page_index: int, scale: float) -> pdfium.PdfBitmap:
        """Draw a page, never larger than _MOST_PIXELS. Raises PdfiumError."""
        self._let_go()
        page = self.document[page_index]
        try:
            width, height = page.get_size()
            scale = min(scale, (_MOST_PIXELS / max(width * height, 1.0)) ** 0.5)
            return page.render(scale=scale)
        finally:
            page.close()

    def save_unlocked(self, target: Path) -> None:
        """Write the document without its lock."""
        partial = target.with_suffix(".partial")
        untouched, _ = opening.open_document(self.path, self.password)
        with closing(untouched):
            untouched.save(partial, flags=pdfium_c.FPDF_REMOVE_SECURITY)
        partial.replace(target)

    def label(self, page_index: int, printed: str | None = None) -> str:
        own = self.labels[page_index] if self.labels else ""
        return own or printed or str(page_index + 1)

    def failed(self, page_index: int, reason: str, seconds: float = 0.0) -> PlainPage:
        return self.plain(page_index, self.label(page_index), PageStatus.FAILED, reason, seconds)

    def _lay(self, page_index: int, poisoned: Mapping[int, str]) -> LaidPage | str:
        """Lay a page out, or say why it cannot be; kept for the neighbours that will ask again."""
        if page_index not in self._laid:
            while len(self._laid) >= _CACHED_PAGES:
                self._laid.pop(next(iter(self._laid)))
            started = time.perf_counter()
            self._announce(page_index, "working")
            self._let_go()
            try:
                page = self.document[page_index]
            except pdfium.PdfiumError as error:
                self._laid[page_index] = f"the page cannot be opened ({error})"
                return self._laid[page_index]
            try:
                words = read_words(page)
                pictures = _picture_share(page) if words.characters < _LITTLE_TEXT else 0.0
                objects = pdfium_c.FPDFPage_CountObjects(page)
                if page_index not in poisoned and has_typed(page):
                    words = self._with_typed(page, page_index, words)
                lines = arrange(words)
            except pdfium.PdfiumError as error:
                self._laid[page_index] = f"the page's text cannot be read ({error})"
                return self._laid[page_index]
            finally:
                page.close()
            edges = labels.edge_lines(lines, words.height)
            self._laid[page_index] = LaidPage(words, lines, edges, pictures, objects, time.perf_counter() - started)
        return self._laid[page_index]

    def _with_typed(self, page: pdfium.PdfPage, page_index: int, words: PageWords) -> PageWords:
        """The page's words with those typed onto it, unless drawing them in hides or garbles others."""
        self._announce(page_index, "doubting")
        drawn = draw_typed(page)
        self._announce(page_index, "working")
        if not drawn:
            return words
        again = self.document[page_index]
        try:
            more = read_words(again)
        finally:
            again.close()
        kept = (Counter(words.texts) & Counter(more.texts)).total()
        return more if len(more.texts) > len(words.texts) and kept >= _MOSTLY * len(words.texts) else words

    def _textless(self, page_index: int, label: str, laid: LaidPage, doubted: bool) -> PlainPage:
        started = time.perf_counter()
        status, text = PageStatus.EMPTY, ""
        reason: str = PageReason.BLANK
        if laid.pictures or laid.words.characters:
            reason = PageReason.PICTURE
            text = self._second_opinion(page_index) if doubted else ""
        if text.strip():
            status, reason = PageStatus.TEXT, _UNPLACED
            if why := garbling(text):
                status, reason = PageStatus.GARBLED, why
        return self.plain(page_index, label, status, reason, laid.seconds + time.perf_counter() - started, text=text)

    def _second_opinion(self, page_index: int) -> str:
        from core.documents.formats.pdf.second_opinion import SecondReader

        self._announce(page_index, "doubting")
        self._second_reader = self._second_reader or SecondReader(self.path, self.password)
        return self._second_reader.page_text(page_index)

    def _written(
        self, page_index: int, label: str, laid: LaidPage, running: dict[int, BlockKind], doubted: bool
    ) -> PlainPage:
        started = time.perf_counter()
        status, reason = PageStatus.TEXT, ""
        why = garbling(laid.words.raw_text)
        if doubted and (why or (self.page_count <= _SHORT_DOCUMENT and laid.words.characters <= _SHORT_PAGE)):
            other = self._second_opinion(page_index)
            found, own = len("".join(other.split())), sum(map(len, laid.words.texts))
            if why and found > 0.8 * own and not garbling(other):
                seconds = laid.seconds + time.perf_counter() - started
                return self.plain(page_index, label, PageStatus.TEXT, _UNPLACED, seconds, text=other)
            if found > 1.2 * own:
                reason = f"a second reader (pypdf) finds more characters here, {found} instead of {own}"
        if why:
            status, reason = PageStatus.GARBLED, why
        elif laid.pictures > _PICTURE_SHARE:
            status, reason = PageStatus.EMPTY, PageReason.MOSTLY_PICTURE
        return self.composed(
            page_index, label, (status, reason), laid.words, laid.lines, running, started - laid.seconds
        )

    def composed(
        self,
        page_index: int,
        label: str,
        standing: tuple[PageStatus, str],
        words: PageWords,
        lines: list[Line],
        running: Mapping[int, BlockKind],
        started: float,
    ) -> PlainPage:
        """Write a page out. ``standing`` is its status and the reason for it."""
        composed = compose(words, lines, running)
        size = np.maximum(np.array([words.width, words.height] * 2), 1.0)
        return self.plain(
            page_index,
            label,
            *standing,
            time.perf_counter() - started,
            text=composed.text,
            spans=np.array([composed.starts, composed.ends], dtype="<u4").T.tobytes(),
            boxes=pack_boxes(words.boxes[composed.order] / size),
            blocks=[(b.start, b.end, b.kind.value, b.level, b.column_heads) for b in composed.blocks],
        )

    def plain(
        self, page_index: int, label: str, status: PageStatus, reason: str, seconds: float, **content: Any
    ) -> PlainPage:
        """A page as it crosses to the application."""
        base = {"text": "", "spans": b"", "boxes": b"", "blocks": []}
        return base | {
            "page_index": page_index,
            "page_label": label,
            "status": status.value,
            "reason": str(reason),
            "seconds": seconds,
            **content,
        }


def _picture_share(page: pdfium.PdfPage) -> float:
    """How much of the page its largest picture covers; a little where it has only drawings."""
    width, height = page.get_size()
    largest = 0.0
    for number, item in enumerate(page.get_objects(max_depth=4)):
        if number > _MOST_OBJECTS:
            break
        if item.type == pdfium_c.FPDF_PAGEOBJ_IMAGE:
            left, bottom, right, top = item.get_bounds()
            largest = max(largest, (right - left) * (top - bottom) / max(width * height, 1.0))
        else:
            largest = max(largest, 0.001)
    return min(largest, 1.0)
