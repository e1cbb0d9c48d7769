"""Write the evidence binder: answers and the pages that they cite as one PDF, with a manifest and a seal to verify it.

The pages are copied from the sources, with highlight annotations on the quoted words and a stamp on a strip below. The
seal is the SHA-256 of all bytes before it, in a last line that PDF viewers ignore: one changed byte breaks it. It is
not a signature: anyone who recreates the whole file can also recreate the seal; only the sources prove their contents.
"""

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

from pypdf import PageObject, PdfReader, PdfWriter
from pypdf.errors import PyPdfError
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    IndirectObject,
    NameObject,
    RectangleObject,
)

from pincite.core.domain.documents import PageKey
from pincite.core.export.manifest import Exhibit, Exhibits, Manifest, PinCite, ToldAnswer, as_json, bound
from pincite.core.export.marks import add_highlight, shortened
from pincite.core.export.styles import PLAIN, References, fragments, plain

MANIFEST = "pincite-manifest.json"
SEAL = b"\n%pincite-sha256:"
ENDING, LABEL = ".pdf", "Export with the cited pages (PDF)"
STRIP_POINTS = 24
MAX_PASSES = 3
_FONT, _FONT_ENCODING = b"/PinciteStrip", "cp1252"
_TAGS = (("i", "italic"), ("b", "bold"), ("super", "superscript"), ("sub", "subscript"))
"""Markup of ReportLab for each look of a fragment."""


def write(manifest: Manifest, exhibits: Exhibits) -> bytes:
    """Return the binder as a PDF."""
    return bind(manifest, exhibits)


def bind(manifest: Manifest, exhibits: Exhibits) -> bytes:
    """Return the binder as a PDF; ``exhibits`` has each page that a citation of the answers names."""
    manifest = bound(_cited(manifest), {})
    opened = cache(PdfReader)  # a source of many cited pages is parsed once
    for _ in range(MAX_PASSES):  # the cover lists the pages of the exhibits, and its own length moves them
        written = manifest
        writer, places = _put_together(written, exhibits, opened)
        manifest = bound(written, places)
        if manifest == written:
            break
    citations = [place for answer in manifest.answers for place in answer.citations]
    writer.add_outline_item(title="Questions and answers", page_number=0)
    for place in dict.fromkeys(replace(place, number=0) for place in citations):
        page = exhibits[place.page].page
        if place.binder_page_index is not None and page is not None:
            add_highlight(
                writer, place.binder_page_index, page, (place.start, place.end), place.quotation, STRIP_POINTS
            )
            name = f"{plain(place)}: “{shortened(place.quotation)}”"
            writer.add_outline_item(title=name, page_number=place.binder_page_index)
    writer.add_metadata({"/Title": "Evidence binder", "/Producer": f"Pincite {manifest.made_with['pincite']}"})
    writer.add_attachment(MANIFEST, as_json(manifest).encode())
    out = io.BytesIO()
    writer.write(out)
    return sealed(out.getvalue())


def _put_together(
    manifest: Manifest, exhibits: Exhibits, opened: Callable[[Path], PdfReader]
) -> tuple[PdfWriter, dict[PageKey, int]]:
    """Return a writer with the cover and the exhibits, and the position of each exhibit."""
    writer = PdfWriter()
    for sheet in PdfReader(io.BytesIO(cover_of(manifest))).pages:
        writer.add_page(sheet)
    added = {key: _added(writer, key, exhibit, opened) for key, exhibit in exhibits.items()}
    return writer, {key: position for key, position in added.items() if position is not None}


def sealed(content: bytes) -> bytes:
    return content + SEAL + hashlib.sha256(content).hexdigest().encode() + b"\n"


def _added(writer: PdfWriter, key: PageKey, exhibit: Exhibit, opened: Callable[[Path], PdfReader]) -> int | None:
    """Add a page to the binder and return its position there; None if it cannot be copied."""
    if exhibit.path is None or exhibit.page is None:
        return None
    try:
        page = writer.add_page(opened(exhibit.path).pages[key[1]])
    except (PyPdfError, OSError, ValueError, KeyError, IndexError, TypeError, RecursionError):
        return None
    printed = f"page {exhibit.page.page_label or key[1] + 1} ({key[1] + 1} of the file)"
    _stamp(writer, page, f"{exhibit.document_name} · {printed}", f"SHA-256 {key[0]}")
    return len(writer.pages) - 1


def _stamp(writer: PdfWriter, page: PageObject, name: str, digest: str) -> None:
    """Set a page upright and write on a strip below it; what it draws itself is not read, however much that is."""
    upright, (left, bottom, right, top) = _upright(page)
    low = bottom - STRIP_POINTS
    drawn = (
        b"\nQ q 1 g %f %f %f %f re f 0.25 g 0.25 G %f %f m %f %f l S "
        b"BT %s 7 Tf %f %f Td %s Tj ET BT %s 5.5 Tf %f %f Td %s Tj ET Q"
    ) % (
        *(left, low, right - left, STRIP_POINTS, left + 8, bottom - 1, right - 8, bottom - 1),
        *(_FONT, left + 8, bottom - 10, _string(drawable(name)[: int((right - left) / 3.6)])),
        *(_FONT, left + 8, bottom - 18, _string(digest)),
    )
    contents = page.get(NameObject("/Contents"), ArrayObject()).get_object()
    own = contents if isinstance(contents, ArrayObject) else [page.raw_get("/Contents")]
    streams = [_stream(writer, b"q " + upright), *own, _stream(writer, drawn)]
    page[NameObject("/Contents")] = ArrayObject(streams)
    resources = DictionaryObject(page.get("/Resources", DictionaryObject()).get_object())
    fonts = DictionaryObject(resources.get("/Font", DictionaryObject()).get_object())
    helvetica = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica", "/Encoding": "/WinAnsiEncoding"}
    font = DictionaryObject({NameObject(key): NameObject(value) for key, value in helvetica.items()})
    fonts[NameObject(_FONT.decode())] = font
    resources[NameObject("/Font")] = fonts
    page[NameObject("/Resources")] = resources
    page.mediabox = page.cropbox = RectangleObject((left, low, right, top))


def _upright(page: PageObject) -> tuple[bytes, tuple[float, float, float, float]]:
    """What turns a page's content as the page is turned to be shown, and the edges that it then has."""
    box, turned = page.cropbox, page.rotation % 360
    left, bottom, right, top = map(float, (box.left, box.bottom, box.right, box.top))
    page.pop("/Rotate", None)
    match turned:
        case 90:
            return b"0 -1 1 0 %f %f cm\n" % (-bottom, right), (0, 0, top - bottom, right - left)
        case 180:
            return b"-1 0 0 -1 %f %f cm\n" % (right, top), (0, 0, right - left, top - bottom)
        case 270:
            return b"0 1 -1 0 %f %f cm\n" % (top, -left), (0, 0, top - bottom, right - left)
    return b"", (left, bottom, right, top)


def _stream(writer: PdfWriter, content: bytes) -> IndirectObject:
    stream = DecodedStreamObject()
    stream.set_data(content)
    return writer._add_object(stream)


def _string(text: str) -> bytes:
    """As a string in a PDF's content."""
    escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return b"(%s)" % escaped.encode(_FONT_ENCODING)


def drawable(text: str) -> str:
    """With a question mark for each character that the cover's font lacks; the manifest has them all."""
    return " ".join(text.split()).encode(_FONT_ENCODING, "replace").decode(_FONT_ENCODING)


def cover_of(manifest: Manifest) -> bytes:
    """Return the first pages of a binder, as a PDF."""
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.styles import ParagraphStyle
    from reportlab.lib.units import mm
    from reportlab.platypus import Paragraph, SimpleDocTemplate

    body = ParagraphStyle("body", fontName="Helvetica", fontSize=10, leading=14, spaceAfter=5)
    small = ParagraphStyle("small", parent=body, fontSize=8, leading=11, textColor="#404848", spaceAfter=4)
    head = ParagraphStyle("head", parent=body, fontName="Helvetica-Bold", fontSize=12, leading=16, spaceBefore=14)
    title = ParagraphStyle("title", parent=head, fontSize=18, leading=24, spaceBefore=0)
    paragraphs: list[Paragraph] = []

    def say(text: str, style: ParagraphStyle = body, *, before: str = "") -> None:
        paragraphs.append(Paragraph(before + escape(drawable(text)), style))

    say("Evidence binder", title)
    made = f"Made {manifest.made_at[:16].replace('T', ' ')} UTC by Pincite {manifest.made_with['pincite']}."
    say(f"{made} The attached file {MANIFEST} holds all of it for machines; “pincite verify” proves it against the "
        "sources.", small)  # fmt: skip
    for answer in manifest.answers:
        say(answer.question, head)
        for line in _lines(answer):
            say(line)
        say(answer.finding, small)
        for group in _groups(answer):
            say(_where(group), small, before=f"<b>[{group[0].number}]</b> {_markup(_citation(group[0]))} ")
    if manifest.references:
        say("References", head)
    for entry in manifest.references:
        say("", small, before=_markup(entry))
    say("Documents", head)
    for source in dict.fromkeys(place.source for answer in manifest.answers for place in answer.citations):
        say(f"{source.name}: SHA-256 {source.sha256}", small)
    everything = "".join(f"{answer.question}{part.text}" for answer in manifest.answers for part in answer.parts)
    if drawable(everything) != " ".join(everything.split()):
        say("Characters that this cover’s font lacks are shown as “?”; the manifest and the pages have them.", small)
    out = io.BytesIO()
    SimpleDocTemplate(out, pagesize=A4, leftMargin=22 * mm, rightMargin=22 * mm, topMargin=20 * mm,
                      bottomMargin=20 * mm, title="Evidence binder").build(paragraphs)  # fmt: skip
    return out.getvalue()


def _lines(answer: ToldAnswer) -> Iterable[str]:
    """Return the answer's paragraphs, each part followed by the numbers that it cites and by how it was computed."""
    text = "".join(
        part.text
        + (f" [{', '.join(map(str, part.citations))}]" if part.citations else "")
        + (f"\n= {part.formula}\n" if part.formula else "")
        for part in answer.parts
    )
    return [line for line in text.splitlines() if line.strip()] or ["(no answer)"]


def _groups(answer: ToldAnswer) -> Iterator[list[PinCite]]:
    """Yield the places of each number and page together."""
    for _, group in groupby(answer.citations, lambda place: (place.number, place.page)):
        yield list(group)


def _cited(manifest: Manifest) -> Manifest:
    """Return the manifest with the citations by its style: the cover is made of it alone, also when it is verified."""
    if manifest.style == PLAIN:
        return manifest
    groups = [group for answer in manifest.answers for group in _groups(answer)]
    written = References([[(group[0], "")] for group in groups], manifest.style)
    notes = iter(written.notes)
    answers = []
    for answer in manifest.answers:
        citations = [
            replace(place, cited=note) for group in _groups(answer) for note in [next(notes)] for place in group
        ]
        answers.append(replace(answer, citations=tuple(citations)))
    return replace(manifest, answers=tuple(answers), references=tuple(written.sources))


def _citation(place: PinCite) -> str:
    return place.cited or escape(plain(place))


def _where(group: list[PinCite]) -> str:
    """Return where the page is in the binder, and what is quoted from it."""
    position = group[0].binder_page_index
    where = f"page {position + 1} of this binder" if position is not None else "not here: its source is gone"
    return f"({where}): {'; '.join(f'“{one.quotation}”' for one in group)}"


def _markup(citing: str) -> str:
    """Return a citation in the markup of ReportLab."""
    marked = ""
    for fragment in fragments(citing):
        text = escape(fragment.text.encode(_FONT_ENCODING, "replace").decode(_FONT_ENCODING))
        for tag, look in _TAGS:
            text = f"<{tag}>{text}</{tag}>" if getattr(fragment, look) else text
        marked += text
    return marked
