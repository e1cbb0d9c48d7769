"""Prove an export: is it as it was made, and do its quotations stand where it says? Needs no library."""

import hashlib
import io
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from pypdf import PageObject, PdfReader
from pypdf.errors import PyPdfError
from pypdfium2 import PdfDocument, PdfiumError

from core.domain.answers import Likeness
from core.domain.documents import Box, PageStatus
from core.domain.errors import DocumentError, PinciteError
from core.domain.ports import PageReader
from core.export.binder import MANIFEST, SEAL, cover_of
from core.export.manifest import Manifest, PinCite, ToldAnswer, from_manifest
from core.export.marks import shortened
from core.text.likeness import compare


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the proof; ``holds`` None: it could not be checked."""

    holds: bool | None
    sentence: str


def prove(file: Path, sources: Sequence[Path], reader: PageReader) -> Iterator[Finding]:
    """Check a binder's seal, cover, pages and marks, and of a binder or a JSON export each quotation in the sources.

    Raises DocumentError where the file is neither.
    """
    content = file.read_bytes()
    is_binder = not content.lstrip().startswith(b"{")
    if is_binder:
        yield _seal(content)
    manifest = from_manifest(_attached(content) if is_binder else content)
    given = {hashlib.sha256(path.read_bytes()).hexdigest(): path for path in sources}
    places = [place for answer in manifest.answers for place in answer.citations]
    for digest, path in given.items():
        if digest not in {place.source.sha256 for place in places}:
            yield Finding(False, f"{path.name} is none of the documents that are cited here.")
    for answer in manifest.answers:
        yield from _agrees_with_itself(answer)
    read = cache(partial(_read, reader))
    for place in places:
        yield _in_source(place, given.get(place.source.sha256), read)
    if is_binder:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "binder.pdf"
            copy.write_bytes(content.rpartition(SEAL)[0] or content)
            yield from _pages(manifest, copy, given, reader)


def _pages(manifest: Manifest, copy: Path, given: Mapping[str, Path], reader: PageReader) -> Iterator[Finding]:
    """What the binder's own pages show: the manifest's answers, the quotations under their marks, the sources' text."""
    places = [place for answer in manifest.answers for place in answer.citations]
    texts, cover = _texts(copy), _texts(io.BytesIO(cover_of(manifest)))
    same = cover == texts[: len(cover)]
    yield Finding(same, "The cover says what the manifest says." if same else
                  "The cover says something else than the manifest.")  # fmt: skip
    for place in places:
        yield _marked_in_binder(place, copy, reader)
    for (digest, page_index), position in {place.page: place.binder_page_index for place in places}.items():
        if position is not None and digest in given:
            source = _texts(given[digest], page_index)
            if not all(text in page for text, page in zip(source, texts[position:] or [""], strict=False)):
                name = given[digest].name
                yield Finding(False, f"Page {position + 1} of the binder is not page {page_index + 1} of {name}.")


def _seal(content: bytes) -> Finding:
    body, found, digest = content.rpartition(SEAL)
    whole = bool(found) and digest == hashlib.sha256(body).hexdigest().encode() + b"\n"
    return Finding(whole, "The seal holds: no byte was changed since the binder was made." if whole else
                   "The seal is broken or missing: the file was changed after it was made.")  # fmt: skip


def _attached(content: bytes) -> bytes:
    with suppress(PyPdfError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return PdfReader(io.BytesIO(content)).attachments[MANIFEST][0]
    raise DocumentError("This file is no evidence binder, or its manifest cannot be read.",
                        hint="Give a PDF that Pincite exported as a binder.")  # fmt: skip


def _agrees_with_itself(answer: ToldAnswer) -> Iterator[Finding]:
    """What is copied in the answer is one of its citations' quotations; what was checked is what it says."""
    quotations = [_flat(place.quotation) for place in answer.citations]
    for part in answer.parts:
        if part.kind in ("headline", "verbatim") and _flat(part.text) not in quotations:
            yield Finding(False, f"“{shortened(part.text)}” is told as a quotation, but no citation has it.")
    if answer.review is None:
        said = _flat("".join(part.text for part in answer.parts))
        for claim in answer.claims:
            if _flat(claim.text) not in said:
                yield Finding(False, f"“{shortened(claim.text)}” is told as checked, but the answer does not say it.")


def _in_source(place: PinCite, path: Path | None, read: Callable[[Path, int], str]) -> Finding:
    what = f"[{place.number}] “{shortened(place.quotation)}”"
    where = f"{place.source.name}, page {place.page_index + 1}"
    if path is None:
        return Finding(None, f"{what}: {where} was not given, so it is not held against its source.")
    text = read(path, place.page_index)
    if text[place.start : place.end] == place.quotation:
        return Finding(True, f"{what} stands word for word on {where}, whose hash is right.")
    if _flat(place.quotation) in _flat(text):
        return Finding(True, f"{what} stands on {where}, though not at the place that was noted; the hash is right.")
    return Finding(False, f"{what} does not stand on {where}.")


def _read(reader: PageReader, path: Path, page_index: int) -> str:
    """The text of a page that can be seen, recognised where the file has none; empty where it cannot be read."""
    with suppress(PinciteError, OSError):
        page = next(iter(reader.read(path, [page_index])))
        return (page if page.status is PageStatus.TEXT else next(iter(reader.recognise(path, [page_index])))).text
    return ""


def _marked_in_binder(place: PinCite, copy: Path, reader: PageReader) -> Finding:
    """Whether the words under a highlight of the copied page are the quotation, or what is seen there reads like it."""
    what = f"[{place.number}] “{shortened(place.quotation)}”"
    position = place.binder_page_index
    if position is None:
        return Finding(None, f"{what}: its page is not in the binder, because the source was gone when it was made.")
    where = f"what is marked on page {position + 1} of the binder."
    marks = _marks(copy, position)
    if any(_flat(place.quotation) in words for words, _ in marks):
        return Finding(True, f"{what} is {where}")
    if any(not words and _looks_like(place.quotation, copy, position, boxes, reader) for words, boxes in marks):
        return Finding(True, f"{what} is what is seen of {where}")
    return Finding(False, f"{what} is not {where}")


def _looks_like(quotation: str, copy: Path, position: int, boxes: Sequence[Box], reader: PageReader) -> bool:
    """Whether the words that are recognised at these places read like the quotation."""
    with suppress(PinciteError, OSError):
        page = next(iter(reader.recognise(copy, [position])))
        words = (word for word in page.words if any(_lies_in(word.box, box) for box in boxes))
        seen = " ".join(page.text[word.start : word.end] for word in words)
        return compare(quotation, seen) is Likeness.AGREES
    return False


def _lies_in(word: Box, mark: Box) -> bool:
    across, down = (word.left + word.right) / 2, (word.top + word.bottom) / 2
    return mark.left <= across <= mark.right and mark.top <= down <= mark.bottom


def _texts(pdf: Path | io.BytesIO, page_index: int | None = None) -> list[str]:
    """The text of each page, or of one, as pdfium has it, without white space; none where it cannot be read."""
    with suppress(PdfiumError, IndexError), closing(PdfDocument(pdf)) as document:
        pages = range(len(document)) if page_index is None else [page_index]
        return [_flat(document[at].get_textpage().get_text_range()) for at in pages]
    return []


def _marks(copy: Path, position: int) -> list[tuple[str, list[Box]]]:
    """What stands under each highlight of a page, and the places of its lines, as fractions of the page."""
    marks = []
    with suppress(PyPdfError, PdfiumError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        page = PdfReader(copy).pages[position]
        notes = [note.get_object() for note in page.get("/Annots", ())]
        quads = [[float(n) for n in note["/QuadPoints"]] for note in notes if note.get("/Subtype") == "/Highlight"]
        with closing(PdfDocument(copy)) as document:
            text = document[position].get_textpage()
            for corners in quads:
                lines = [_edges(corners[at : at + 8]) for at in range(0, len(corners), 8)]
                words = _flat("".join(text.get_text_bounded(*line) for line in lines))
                marks.append((words, [_fractions(line, page) for line in lines]))
    return marks


def _edges(quad: Sequence[float]) -> tuple[float, float, float, float]:
    """Left, bottom, right and top."""
    across, up = quad[::2], quad[1::2]
    return min(across), min(up), max(across), max(up)


def _fractions(edges: tuple[float, float, float, float], page: PageObject) -> Box:
    left, bottom, right, top = edges
    area = page.cropbox
    width, height = float(area.width), float(area.height)
    x0, y1 = float(area.left), float(area.top)
    return Box((left - x0) / width, (y1 - top) / height, (right - x0) / width, (y1 - bottom) / height)


def _flat(text: str) -> str:
    return "".join(text.split())
