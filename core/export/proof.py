"""Verify an export: is it unchanged, and are its quotations at the places that it cites? Needs no library."""

import hashlib
import io
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from pypdf import PageObject, PdfReader, PdfWriter
from pypdf.errors import PyPdfError
from pypdf.generic import RectangleObject
from pypdfium2 import PdfDocument, PdfiumError

from pincite.core.domain.answers import Likeness, PartKind
from pincite.core.domain.documents import Box, Page, PageStatus
from pincite.core.domain.errors import DocumentError, NotAPdfError, PinciteError
from pincite.core.domain.ports import PageReader
from pincite.core.export.binder import MANIFEST, SEAL, STRIP_POINTS, cover_of
from pincite.core.export.manifest import Manifest, PinCite, ToldAnswer, from_manifest
from pincite.core.export.marks import shortened
from pincite.core.export.styles import PLAIN
from pincite.core.text.likeness import compare

Read = Callable[[Path, int], Page]
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u00ad]")
_PICTURE_WIDTH = 1000
"""Pixels; fine enough that another digit is seen."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One line of the proof; ``holds`` None: it could not be checked."""

    holds: bool | None
    sentence: str


def prove(file: Path, sources: Sequence[Path], reader: PageReader) -> Iterator[Outcome]:
    """Check a binder's seal, cover, pages and marks, and of a binder or a JSON export each quotation in the sources.

    Raises DocumentError where the file is neither.
    """
    content = file.read_bytes()
    is_binder = not content.lstrip().startswith(b"{")
    if is_binder:
        yield _seal(content)
    manifest = from_manifest(_attached(content) if is_binder else content)
    read = cache(partial(_read, reader))
    places = [place for answer in manifest.answers for place in answer.citations]
    with tempfile.TemporaryDirectory() as folder:
        digests = {hashlib.sha256(path.read_bytes()).hexdigest(): path for path in sources}
        given = {digest: _as_pdf(path, reader, Path(folder) / digest) for digest, path in digests.items()}
        for digest, path in given.items():
            if digest not in {place.source.sha256 for place in places}:
                yield Outcome(False, f"{path.name} is not one of the documents cited here.")
        for answer in manifest.answers:
            yield from _agrees_with_itself(answer)
        for place in places:
            yield _in_source(place, given.get(place.source.sha256), read)
        if is_binder:
            copy = Path(folder) / "binder.pdf"
            copy.write_bytes(content.rpartition(SEAL)[0] or content)
            yield from _pages(manifest, copy, given, read)


def _as_pdf(path: Path, reader: PageReader, folder: Path) -> Path:
    """Return the source; of another format than PDF, what is read of it, under the same name in a folder of its own."""
    with suppress(DocumentError):  # of what cannot be read, each of its pages is reported
        try:
            reader.open(path)
        except NotAPdfError:
            folder.mkdir()
            reader.save_as_pdf(path, "", folder / path.name)
            return folder / path.name
    return path


def _pages(manifest: Manifest, copy: Path, given: Mapping[str, Path], read: Read) -> Iterator[Outcome]:
    """What the binder's pages show: the manifest's answers, the quotations under their marks, the sources' pages."""
    places = [place for answer in manifest.answers for place in answer.citations]
    if manifest.style != PLAIN and not all(place.cited for place in places):
        yield Outcome(None, "An earlier version made the cover, in a citation style; it was not compared.")
    else:
        cover = _texts(io.BytesIO(cover_of(manifest)))
        same = cover == _texts(copy)[: len(cover)]
        yield Outcome(same, "The cover matches the manifest." if same else
                      "The cover does not match the manifest.")  # fmt: skip
    for (digest, page_index), position in {place.page: place.binder_page_index for place in places}.items():
        here = [place for place in places if place.page == (digest, page_index)]
        if position is None:
            what = f"[{here[0].number}] “{shortened(here[0].quotation)}”"
            yield Outcome(None, f"{what}: its page is not in the binder, as the source is missing or cannot be copied.")
            continue
        alone, source = copy.with_name(f"{position}.pdf"), given.get(digest)
        marks = _marks(copy, position, alone)
        for place in here:
            yield _marked_in_binder(place, marks, alone, source, read)
        if source is not None and _picture(alone, 0) != _picture(source, page_index):
            yield Outcome(False, f"Page {position + 1} of the binder is not page {page_index + 1} of {source.name}.")


def _seal(content: bytes) -> Outcome:
    body, found, digest = content.rpartition(SEAL)
    whole = bool(found) and digest == hashlib.sha256(body).hexdigest().encode() + b"\n"
    return Outcome(whole, "The seal holds: no byte has changed since the binder was made." if whole else
                   "The seal is broken or missing: the file was changed after it was made.")  # fmt: skip


def _attached(content: bytes) -> bytes:
    with suppress(PyPdfError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return PdfReader(io.BytesIO(content)).attachments[MANIFEST][0]
    raise DocumentError("This file is not an evidence binder, or its manifest cannot be read.",
                        hint="Give a PDF that Pincite exported as a binder.")  # fmt: skip


def _agrees_with_itself(answer: ToldAnswer) -> Iterator[Outcome]:
    """Yield a failure for each quotation that no citation contains, and each checked claim that the answer lacks."""
    quotations = [_flat(place.quotation) for place in answer.citations]
    for part in answer.parts:
        if part.kind in (PartKind.HEADLINE, PartKind.VERBATIM) and _flat(part.text) not in quotations:
            yield Outcome(False, f"“{shortened(part.text)}” is presented as a quotation, but no citation contains it.")
    answer_text = _flat("".join(part.text for part in answer.parts))
    for claim in answer.claims:
        if _flat(claim.text) not in answer_text:
            yield Outcome(False, f"“{shortened(claim.text)}” is listed as checked, but the answer does not say it.")


def _in_source(place: PinCite, path: Path | None, read: Read) -> Outcome:
    what = f"[{place.number}] “{shortened(place.quotation)}”"
    where = f"{place.source.name}, page {place.page_index + 1}"
    if path is None:
        return Outcome(None, f"{what}: {where} was not given, so it was not compared with its source.")
    text = read(path, place.page_index).text
    if text[place.start : place.end] == place.quotation:
        return Outcome(True, f"{what} is word for word on {where}, and the hash matches.")
    if _flat(place.quotation) in _flat(text):
        return Outcome(True, f"{what} is on {where}, but not at the recorded place; the hash matches.")
    return Outcome(False, f"{what} is not on {where}.")


def _read(reader: PageReader, path: Path, page_index: int) -> Page:
    """Return a page as it can be seen, recognised where the file has no text of it; empty where it cannot be read."""
    with suppress(PinciteError, OSError):
        page = next(iter(reader.read(path, [page_index])))
        return page if page.status is PageStatus.TEXT else next(iter(reader.recognise(path, [page_index])))
    return Page(page_index, "", "", (), (), PageStatus.FAILED)


def _marked_in_binder(
    place: PinCite, marks: Sequence[Sequence[Box]], alone: Path, source: Path | None, read: Read
) -> Outcome:
    """Return whether the words under a highlight of the copied page are the quotation.

    Where they must be recognised, the source's page is read if it is there: that copy and source look alike is checked
    apart, and recognition reads the same picture the same way, but not always its copy.
    """
    page = read(alone, 0)
    if page.status is PageStatus.OCR and source is not None:
        page = read(source, place.page_index)
    under = [_words(page, boxes) for boxes in marks]
    quotation = place.quotation
    quoted_words = _unbroken(quotation.split())
    what = f"[{place.number}] “{shortened(quotation)}”"
    where = f"what is marked on page {(place.binder_page_index or 0) + 1} of the binder"
    if any("".join(quoted_words) in "".join(words) or Counter(quoted_words) <= Counter(words) for words in under):
        return Outcome(True, f"{what} is {where}.")
    if page.status is not PageStatus.OCR or source is not None:
        return Outcome(False, f"{what} is not {where}.")
    if any(compare(quotation, " ".join(words)) is Likeness.AGREES for words in under):
        return Outcome(True, f"{what} reads like {where}.")
    return Outcome(None, f"{what}: {where} could not be read; give its source.")


def _words(page: Page, boxes: Sequence[Box]) -> list[str]:
    marked = (word for word in page.words if any(_lies_in(word.box, box) for box in boxes))
    return _unbroken(page.text[word.start : word.end] for word in marked)


def _unbroken(words: Iterable[str]) -> list[str]:
    """Without hyphens behind letters: whether one at which a line breaks is read depends on what follows."""
    return [_HYPHEN.sub("", word) for word in words]


def _lies_in(word: Box, mark: Box) -> bool:
    across, down = (word.left + word.right) / 2, (word.top + word.bottom) / 2
    return mark.left <= across <= mark.right and mark.top <= down <= mark.bottom


def _texts(pdf: Path | io.BytesIO) -> list[str]:
    """Return the text of each page as pdfium has it, without white space; none where it cannot be read."""
    with suppress(PdfiumError), closing(PdfDocument(pdf)) as document:
        return [_flat(page.get_textpage().get_text_range()) for page in document]
    return []


def _picture(pdf: Path, page_index: int) -> bytes:
    """What the page shows, without annotations; none where it cannot be drawn."""
    with suppress(PdfiumError, IndexError), closing(PdfDocument(pdf)) as document:
        page = document[page_index]
        drawn = page.render(scale=_PICTURE_WIDTH / page.get_width(), may_draw_forms=False, draw_annots=False)
        return bytes(drawn.buffer)
    return b""


def _marks(copy: Path, position: int, alone: Path) -> list[list[Box]]:
    """The places of each highlight's lines on a page of the binder, which is written ``alone``, without its strip."""
    with suppress(PyPdfError, OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        writer = PdfWriter()
        page = writer.add_page(PdfReader(copy).pages[position])
        shown = page.cropbox
        page.mediabox = page.cropbox = RectangleObject(
            (shown.left, float(shown.bottom) + STRIP_POINTS, shown.right, shown.top)
        )
        notes = [note.get_object() for note in page.get("/Annots", ())]
        quads = [[float(n) for n in note["/QuadPoints"]] for note in notes if note.get("/Subtype") == "/Highlight"]
        writer.write(alone)
        return [[_box(corners[at : at + 8], page) for at in range(0, len(corners), 8)] for corners in quads]
    return []


def _box(quad: Sequence[float], page: PageObject) -> Box:
    xs, ys, area = quad[::2], quad[1::2], page.cropbox
    left, top, width, height = float(area.left), float(area.top), float(area.width), float(area.height)
    return Box((min(xs) - left) / width, (top - max(ys)) / height, (max(xs) - left) / width, (top - min(ys)) / height)


def _flat(text: str) -> str:
    return "".join(text.split())
