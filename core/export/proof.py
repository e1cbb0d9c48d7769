"""Prove an export: is it as it was made, and do its quotations stand where it says? Needs no library."""

import hashlib
import io
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pypdf import PdfReader
from pypdf.errors import PyPdfError

from core.domain.documents import Page, PageStatus
from core.domain.errors import DocumentError, PinciteError
from core.domain.ports import PageReader
from core.export.binder import MANIFEST, SEAL, cover_of
from core.export.manifest import Manifest, PinCite, ToldAnswer, from_manifest
from core.export.marks import shortened


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
    cited = {place.source.sha256 for answer in manifest.answers for place in answer.citations}
    for digest, path in given.items():
        if digest not in cited:
            yield Finding(False, f"{path.name} is none of the documents that are cited here.")
    for answer in manifest.answers:
        yield from _agrees_with_itself(answer)
        for place in answer.citations:
            yield _in_source(place, given.get(place.source.sha256), reader)
    if is_binder:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "binder.pdf"
            copy.write_bytes(content.rpartition(SEAL)[0] or content)
            yield from _pages(manifest, copy, given)


def _pages(manifest: Manifest, copy: Path, given: Mapping[str, Path]) -> Iterator[Finding]:
    """What the binder's own pages show: the manifest's answers, the quotations under their marks, the sources' text."""
    places = [place for answer in manifest.answers for place in answer.citations]
    texts = _texts(copy)
    cover = _texts(io.BytesIO(cover_of(manifest)))
    same = [_flat(text) for text in cover] == [_flat(text) for text in texts[: len(cover)]]
    yield Finding(same, "The cover says what the manifest says." if same else
                  "The cover says something else than the manifest.")  # fmt: skip
    for place in places:
        yield _marked_in_binder(place, copy)
    for (digest, page_index), position in {place.page: place.binder_page_index for place in places}.items():
        if position is not None and digest in given:
            source = "".join(_texts(given[digest], page_index))
            if _flat(source) not in _flat("".join(texts[position : position + 1])):
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


def _in_source(place: PinCite, path: Path | None, reader: PageReader) -> Finding:
    what = f"[{place.number}] “{shortened(place.quotation)}”"
    where = f"{place.source.name}, page {place.page_index + 1}"
    if path is None:
        return Finding(None, f"{what}: {where} was not given, so it is not held against its source.")
    text = _page(path, place.page_index, reader).text
    if text[place.start : place.end] == place.quotation:
        return Finding(True, f"{what} stands word for word on {where}, whose hash is right.")
    if _flat(place.quotation) in _flat(text):
        return Finding(True, f"{what} stands on {where}, though not at the place that was noted; the hash is right.")
    return Finding(False, f"{what} does not stand on {where}.")


def _marked_in_binder(place: PinCite, copy: Path) -> Finding:
    """Whether the words under the highlight annotations of the copied page hold the quotation."""
    what = f"[{place.number}] “{shortened(place.quotation)}”"
    position = place.binder_page_index
    if position is None:
        return Finding(None, f"{what}: its page is not in the binder, because the source was gone when it was made.")
    holds = any(_flat(place.quotation) in marked for marked in _marked(copy, position))
    return Finding(holds, f"{what} is {'' if holds else 'not '}what is marked on page {position + 1} of the binder.")


def _texts(pdf: Path | io.BytesIO, page_index: int | None = None) -> list[str]:
    """The text of each page, or of one, as pdfium has it; none where it cannot be read."""
    from pypdfium2 import PdfDocument, PdfiumError

    with suppress(PdfiumError, IndexError):
        document = PdfDocument(pdf)
        pages = range(len(document)) if page_index is None else [page_index]
        return [document[at].get_textpage().get_text_bounded() for at in pages]
    return []


def _marked(copy: Path, position: int) -> list[str]:
    """What stands under each highlight of a page, line by line."""
    from pypdfium2 import PdfDocument, PdfiumError

    marked = []
    with suppress(PyPdfError, PdfiumError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        text = PdfDocument(copy)[position].get_textpage()
        for note in PdfReader(copy).pages[position].get("/Annots", ()):
            if note.get_object().get("/Subtype") == "/Highlight":
                corners = [float(value) for value in note.get_object()["/QuadPoints"]]
                quads = [corners[at : at + 8] for at in range(0, len(corners), 8)]
                marked.append(_flat("".join(_under(text, quad) for quad in quads)))
    return marked


def _under(text: Any, quad: Sequence[float]) -> str:
    across, up = quad[::2], quad[1::2]
    return str(text.get_text_bounded(min(across), min(up), max(across), max(up)))


def _page(path: Path, page_index: int, reader: PageReader) -> Page:
    """Empty where it cannot be read."""
    with suppress(PinciteError, OSError):
        for page in reader.read(path, [page_index]):
            return page
    return Page(page_index, "", "", (), (), PageStatus.FAILED)


def _flat(text: str) -> str:
    return "".join(text.split())
