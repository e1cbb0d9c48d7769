"""What the reading process does with one open PDF: its pages, one by one."""

import io
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from numpy.typing import NDArray

from pincite.core.documents.contents import with_contents
from pincite.core.documents.formats.pdf import labels, opening
from pincite.core.documents.formats.pdf.annotated import annotated, with_annotated, without_signs
from pincite.core.documents.formats.pdf.banded import in_bands
from pincite.core.documents.formats.pdf.blocks import compose
from pincite.core.documents.formats.pdf.drawn import drawn_on
from pincite.core.documents.formats.pdf.garbling import garbling
from pincite.core.documents.formats.pdf.illustrations import illustrations
from pincite.core.documents.formats.pdf.layout import Line, arrange
from pincite.core.documents.formats.pdf.margins import line_numbers
from pincite.core.documents.formats.pdf.pdfium_text import PageWords, display_of, read_words
from pincite.core.documents.formats.pdf.picture import compared_with_picture
from pincite.core.documents.formats.pdf.raised import resolved
from pincite.core.documents.formats.pdf.struck import struck_out
from pincite.core.documents.formats.pdf.typed import draw_typed, has_typed
from pincite.core.documents.formats.pdf.visibility import apart, without
from pincite.core.domain.documents import Block, Box, HiddenReason, HiddenText, Page, PageReason, PageStatus, Word
from pincite.core.domain.errors import UnreadablePdfError
from pincite.core.domain.page_layout import PackedWords, pack_boxes
from pincite.core.domain.ports import PdfInfo
from pincite.core.domain.spreads import halves

if TYPE_CHECKING:
    from pincite.core.documents.formats.pdf.second_opinion import SecondReader

_LITTLE_TEXT = 150
"""A page with fewer characters than this and a picture over most of it is a scan with a stamp, not a text page."""
_PICTURE_SHARE = 0.6
_MOSTLY = 0.9
_MAX_PIXELS = 40_000_000
_MAX_OBJECTS = 3000
_SHORT_DOCUMENT = 10
_SHORT_PAGE = 1500
"""Maximum characters of a page in a short document that is read a second time, to find where readers differ."""
_QUICKLY_READ_OBJECTS = 1000
"""pypdf takes seconds for pages of many drawings."""
_UNPLACED = "read by the second reader (pypdf), without places on the page"
_CACHED_PAGES = 3 * labels.WINDOW
_PAGES_OF_ONE_OPENING = 200
"""pdfium keeps what it parsed until the document is closed; opening it again lets go of that."""
_MAX_OPENINGS = 20
"""Finding a late page among 10,000 takes a fifth of a second after each opening."""


Announce = Callable[[int, str], None]
"""Called before a page is touched, so that one that kills the reader is known: "working", or "doubting" the text."""
Stopped = Mapping[int, str]
"""Pages that stopped a reader before, and how; nothing where only doubting did, which is then left out."""


@dataclass(frozen=True, slots=True)
class LaidPage:
    words: PageWords
    lines: list[Line]
    edges: list[labels.EdgeLine]
    pictures: float
    objects: int
    seconds: float
    hidden: tuple[HiddenText, ...] = ()
    illustrations: tuple[Box, ...] = ()


class OpenPdf:
    """One document with the pages looked at lately. Raises a DocumentError when it cannot be opened."""

    def __init__(self, path: Path, announce: Announce) -> None:
        self._path, self._announce = path, announce
        self._open()
        self._page_count = len(self._document)
        self._labels = opening.page_labels(self._document)
        self._left_out = opening.hidden(self._document)
        self._is_sheet = opening.is_sheet(self._document)
        self._recognised: dict[int, list[labels.EdgeLine]] = {}
        self._laid: dict[int, LaidPage | str] = {}

    def close(self) -> None:
        self._document.close()

    def describe(self) -> PdfInfo:
        notes = (*self._opening_notes, *opening.notes(self._document, self._path))
        return PdfInfo(self._page_count, opening.outline(self._document), opening.fields(self._document), notes)

    def page(self, page_index: int, stopped: Stopped) -> Page:
        """Read one page, looking at its neighbours for running lines."""
        started = time.perf_counter()
        laid = stopped.get(page_index) or self._lay(page_index, stopped)
        if isinstance(laid, str):
            return self._page(page_index, PageStatus.FAILED, laid, started)
        edges = {
            index: neighbour.edges
            for index in labels.window(page_index, self._page_count)
            if not stopped.get(index) and isinstance(neighbour := self._lay(index, stopped), LaidPage)
        }
        started = time.perf_counter() - laid.seconds
        # like pdfium, pypdf does not distinguish hidden text from shown, and without places nobody can
        doubted = page_index not in stopped and laid.objects <= _QUICKLY_READ_OBJECTS and not laid.hidden
        status, reason, other = self._judged(page_index, laid, doubted=doubted)
        if other or not laid.words.texts:
            page = self._page(page_index, status, reason, started, edges, text=other)
        else:
            page = self._composed(page_index, status, reason, started, edges, laid.words, laid.lines)
        hidden = (*laid.hidden, *self._left_out.get(page_index, ()))
        return replace(page, hidden=hidden, illustrations=laid.illustrations)

    def recognise(self, page_index: int, stopped: Stopped) -> Page:
        """Read one page from its picture; running lines and labels are found with the pages recognised just before."""
        from pincite.core.documents.formats.pdf import ocr

        started = time.perf_counter()
        if why := stopped.get(page_index):
            return self._page(page_index, PageStatus.FAILED, why, started)
        width, height = self._document.get_page_size(page_index)
        try:
            picture = self._bitmap(page_index, ocr.LONG_SIDE_PIXELS / max(width, height, 1.0)).to_numpy()
        except pdfium.PdfiumError as error:
            return self._page(page_index, PageStatus.FAILED, f"the page cannot be drawn ({error})", started)
        words = ocr.recognise(picture[:, :, :3].copy(), width, height)
        lines = in_bands(arrange(words))
        self._recognised[page_index] = labels.edge_lines(lines, height)
        window = range(page_index - labels.WINDOW + 1, page_index + 1)
        edges = {index: self._recognised[index] for index in window if index in self._recognised}
        if not words.texts:
            return self._page(page_index, PageStatus.EMPTY, "no text was recognised in the picture", started, edges)
        page = self._composed(page_index, PageStatus.OCR, "", started, edges, words, lines)
        laid = self._lay(page_index, stopped)
        return (
            replace(page, hidden=laid.hidden, illustrations=laid.illustrations) if isinstance(laid, LaidPage) else page
        )

    def image(self, page_index: int, width: int) -> bytes:
        """Draw a page as a PNG, forms filled in."""
        try:
            bitmap = self._bitmap(page_index, width / max(self._document.get_page_size(page_index)[0], 1.0))
        except pdfium.PdfiumError as error:
            raise UnreadablePdfError(f"Page {page_index + 1} of {self._path.name} cannot be drawn.") from error
        buffer = io.BytesIO()
        bitmap.to_pil().save(buffer, format="PNG", compress_level=1)
        return buffer.getvalue()

    def lines(self, page_index: int, boxes: Sequence[Sequence[float]]) -> list[str]:
        """Read lines from the page's picture. Raises a DocumentError where it cannot be drawn."""
        from pincite.core.documents.formats.pdf import ocr
        from pincite.core.documents.formats.pdf.picture import line_picture

        texts = []
        try:
            page = self._document[page_index]
            width, height = page.get_size()
            for left, top, right, bottom, turn in boxes:
                texts.append("")
                with suppress(ValueError):
                    box = (left * width, top * height, right * width, bottom * height)
                    texts[-1] = ocr.read_line(line_picture(page, box, int(turn)))
        except pdfium.PdfiumError as error:
            raise UnreadablePdfError(f"Page {page_index + 1} of {self._path.name} cannot be drawn.") from error
        return texts

    def _open(self) -> None:
        self._document, self._opening_notes = opening.open_document(self._path)
        with suppress(pdfium.PdfiumError):  # then forms are drawn empty
            self._document.init_forms()
        self._second_reader: SecondReader | None = None
        self._pages_left = max(_PAGES_OF_ONE_OPENING, len(self._document) // _MAX_OPENINGS)

    def _let_go(self) -> None:
        """Open the document again after many pages, unless that means to mend it again."""
        self._pages_left -= 1
        if self._pages_left < 0 and not self._opening_notes:
            self._document.close()
            self._open()

    def _bitmap(self, page_index: int, scale: float) -> pdfium.PdfBitmap:
        """Draw a page, never larger than _MAX_PIXELS. Raises PdfiumError."""
        self._let_go()
        page = self._document[page_index]
        try:
            width, height = page.get_size()
            return page.render(scale=min(scale, (_MAX_PIXELS / max(width * height, 1.0)) ** 0.5))
        finally:
            page.close()

    def _lay(self, page_index: int, stopped: Stopped) -> LaidPage | str:
        """Return a page laid out, or why it cannot be; it is kept for the neighbours that will ask again."""
        if page_index not in self._laid:
            while len(self._laid) >= _CACHED_PAGES:
                self._laid.pop(next(iter(self._laid)))
            self._announce(page_index, "working")
            self._let_go()
            try:
                self._laid[page_index] = self._laid_page(page_index, typed_too=page_index not in stopped)
            except pdfium.PdfiumError as error:
                self._laid[page_index] = f"the page cannot be read ({error})"
        return self._laid[page_index]

    def _laid_page(self, page_index: int, *, typed_too: bool) -> LaidPage:
        started = time.perf_counter()
        page = self._document[page_index]
        try:
            words = read_words(page)
            pictures = _picture_share(page) if words.characters < _LITTLE_TEXT else 0.0
            objects = pdfium_c.FPDFPage_CountObjects(page)
            annotations = annotated(page)
            if typed_too and has_typed(page):
                page, words = self._with_typed(page, page_index, words)
            words, hidden, rules, found = self._seen(page, words)
        finally:
            page.close()
        words = without_signs(words, annotations)
        lines = in_bands(arrange(words, rules, is_sheet=self._is_sheet))
        if (numbers := line_numbers(words, lines)).any():
            hidden = (*hidden, *_kept_apart(words, numbers, HiddenReason.LINE_NUMBER))
            words = without(words, numbers)
            lines = in_bands(arrange(words, rules, is_sheet=self._is_sheet))
        edges = labels.edge_lines(lines, words.height)
        words, lines = with_annotated(words, lines, annotations)
        return LaidPage(words, lines, edges, pictures, objects, time.perf_counter() - started, hidden, found)

    @staticmethod
    def _seen(
        page: pdfium.PdfPage, words: PageWords
    ) -> tuple[PageWords, tuple[HiddenText, ...], NDArray[np.float64], tuple[Box, ...]]:
        """Return the words of the text, those that are hidden, struck out or marks of notes, the rules and figures.

        An OCR layer is compared with its picture. The rules have shape (rules, 4), as the boxes of words.
        """
        drawn, displayed = drawn_on(page), display_of(page)
        rules = displayed(drawn.rules()[:, [0, 3, 2, 1]])
        seen = apart(page, words, drawn)
        if seen.layer:
            seen = compared_with_picture(page, seen)
        words = seen.words
        struck = struck_out(page, words, drawn.paths)
        kept = [_in_fractions(words, one.text, one.box, one.reason) for one in seen.hidden]
        if struck.any():
            kept += _kept_apart(words, struck, HiddenReason.STRUCK)
            words = without(words, struck)
        if words.levels.any():
            shown, gaps, gone = resolved(
                words.texts, words.levels, words.gaps, words.sizes, words.boxes, words.baselines
            )
            kept += _kept_apart(words, gone, HiddenReason.MARK)
            words = replace(without(words, gone, shown), gaps=gaps[~gone])
        size = np.maximum(np.array([words.width, words.height] * 2), 1.0)
        boxes = illustrations(drawn, displayed(drawn.bounds[:, [0, 3, 2, 1]]) / size, words.boxes / size).tolist()
        found = tuple(Box(*box) for box in boxes)
        return replace(words, levels=np.zeros(0, np.int8)), tuple(kept), rules, found

    def _with_typed(self, page: pdfium.PdfPage, page_index: int, words: PageWords) -> tuple[pdfium.PdfPage, PageWords]:
        """Return the page with what is typed onto it; its words hold that too, unless it hides or garbles others."""
        self._announce(page_index, "doubting")
        drawn = draw_typed(page)
        self._announce(page_index, "working")
        if not drawn:
            return page, words
        page.close()
        page = self._document[page_index]
        more = read_words(page)
        kept = (Counter(words.texts) & Counter(more.texts)).total()
        return page, more if len(more.texts) > len(words.texts) and kept >= _MOSTLY * len(words.texts) else words

    def _judged(self, page_index: int, laid: LaidPage, *, doubted: bool) -> tuple[PageStatus, str, str]:
        """Return the page's status, the reason for it, and pypdf's text where it replaces pdfium's."""
        words = laid.words
        own = sum(map(len, words.texts))
        why = garbling(words.raw_text) if own else ""
        picture = not own and bool(laid.pictures or words.characters or laid.hidden)
        short = own and self._page_count <= _SHORT_DOCUMENT and words.characters <= _SHORT_PAGE
        other = self._second_opinion(page_index) if doubted and (picture or why or short) else ""
        found = len("".join(other.split()))
        if not own and found:
            why = garbling(other)
            return (PageStatus.GARBLED, why, other) if why else (PageStatus.TEXT, _UNPLACED, other)
        if not own:
            return PageStatus.EMPTY, PageReason.PICTURE if picture else PageReason.BLANK, ""
        if why and found > 0.8 * own and not garbling(other):
            return PageStatus.TEXT, _UNPLACED, other
        if why:
            return PageStatus.GARBLED, why, ""
        if laid.pictures > _PICTURE_SHARE:
            return PageStatus.EMPTY, PageReason.MOSTLY_PICTURE, ""
        more = f"a second reader (pypdf) finds more characters here, {found} instead of {own}"
        return PageStatus.TEXT, more if found > 1.2 * own else "", ""

    def _second_opinion(self, page_index: int) -> str:
        from pincite.core.documents.formats.pdf.second_opinion import SecondReader

        self._announce(page_index, "doubting")
        self._second_reader = self._second_reader or SecondReader(self._path)
        return self._second_reader.page_text(page_index)

    def _composed(
        self,
        page_index: int,
        status: PageStatus,
        reason: str,
        started: float,
        edges: Mapping[int, list[labels.EdgeLine]],
        words: PageWords,
        lines: list[Line],
    ) -> Page:
        composed = compose(words, lines, labels.running_lines(page_index, edges))
        size = np.maximum(np.array([words.width, words.height] * 2), 1.0)
        spans = np.array([composed.starts, composed.ends], dtype="<u4").T.tobytes()
        packed = PackedWords(spans, pack_boxes(words.boxes[composed.order] / size))
        blocks = with_contents(composed.text, composed.blocks, page_index, self._page_count)
        page = self._page(page_index, status, reason, started, edges, text=composed.text, words=packed, blocks=blocks)
        return replace(page, page_label="–".join(printed)) if (printed := halves(page)) else page

    def _page(
        self,
        page_index: int,
        status: PageStatus,
        reason: str,
        started: float,
        edges: Mapping[int, list[labels.EdgeLine]] | None = None,
        *,
        text: str = "",
        words: Sequence[Word] = (),
        blocks: tuple[Block, ...] = (),
    ) -> Page:
        """Return a page under the label that the file gives it, else that its edges print, else its number."""
        own = self._labels[page_index] if self._labels else ""
        label = own or labels.printed_label(page_index, edges or {}) or str(page_index + 1)
        return Page(page_index, label, text, words, blocks, status, reason, time.perf_counter() - started)


def _kept_apart(words: PageWords, which: NDArray[np.bool_], reason: HiddenReason) -> list[HiddenText]:
    return [_in_fractions(words, words.texts[at], words.boxes[at], reason) for at in np.flatnonzero(which).tolist()]


def _in_fractions(words: PageWords, text: str, box: NDArray[np.float64], reason: HiddenReason) -> HiddenText:
    size = [words.width, words.height] * 2
    return HiddenText(text, Box(*(float(edge) for edge in np.clip(box / size, 0.0, 1.0))), reason)


def _picture_share(page: pdfium.PdfPage) -> float:
    """How much of the page its largest picture covers; a little where it has only drawings."""
    width, height = page.get_size()
    largest = 0.0
    for number, item in enumerate(page.get_objects(max_depth=4)):
        if number > _MAX_OBJECTS:
            break
        if item.type == pdfium_c.FPDF_PAGEOBJ_IMAGE:
            left, bottom, right, top = item.get_bounds()
            largest = max(largest, (right - left) * (top - bottom) / max(width * height, 1.0))
        else:
            largest = max(largest, 0.001)
    return min(largest, 1.0)
