"""The evidence binder: answers and the pages that they cite as one PDF, with a manifest and a seal to prove it by.

The pages are the sources' own, with highlight annotations on the quoted words and a stamp on a strip below. The seal is
the SHA-256 of all bytes before it, in a last line that PDF viewers pass over: one changed byte breaks it. It is no
signature: whoever makes everything anew can seal it anew; what stands in the sources is proved by them.
"""

import hashlib
import io
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from xml.sax.saxutils import escape

from pypdf import PageObject, PdfReader, PdfWriter, Transformation
from pypdf.errors import PyPdfError
from pypdf.generic import RectangleObject

from core.domain.documents import PageKey
from core.export.manifest import Exhibit, Exhibits, Manifest, ToldAnswer, as_json, bound
from core.export.marks import add_highlight, shortened
from core.export.styles import CitationStyle, cited, plain

MANIFEST = "pincite-manifest.json"
SEAL = b"\n%pincite-sha256:"
STRIP_POINTS = 24
MOST_PASSES = 3
_FONT_ENCODING = "cp1252"


def bind(manifest: Manifest, exhibits: Exhibits) -> bytes:
    """``exhibits``: each page that a citation of the answers names."""
    manifest = bound(manifest, {})
    for _ in range(MOST_PASSES):  # the cover says on which pages the exhibits stand, and its own length moves them
        told = manifest
        writer, places = _put_together(told, exhibits)
        manifest = bound(told, places)
        if manifest == told:
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


def _put_together(manifest: Manifest, exhibits: Exhibits) -> tuple[PdfWriter, dict[PageKey, int]]:
    """Cover and exhibits, and where these came to stand."""
    writer = PdfWriter()
    for sheet in PdfReader(io.BytesIO(cover_of(manifest))).pages:
        writer.add_page(sheet)
    added = {key: _added(writer, key, exhibit) for key, exhibit in exhibits.items()}
    return writer, {key: position for key, position in added.items() if position is not None}


def sealed(content: bytes) -> bytes:
    return content + SEAL + hashlib.sha256(content).hexdigest().encode() + b"\n"


def _added(writer: PdfWriter, key: PageKey, exhibit: Exhibit) -> int | None:
    """The position at which the page stands in the binder; None where it cannot be copied."""
    if exhibit.path is None or exhibit.page is None:
        return None
    try:
        page = writer.add_page(PdfReader(exhibit.path).pages[key[1]])
        page.transfer_rotation_to_content()
        _stamp(page, f"{exhibit.document_name} · page {exhibit.page.page_label or key[1] + 1} "
                     f"({key[1] + 1} of the file)", f"SHA-256 {key[0]}")  # fmt: skip
    except (PyPdfError, OSError, ValueError, KeyError, IndexError, TypeError, RecursionError):
        return None
    return len(writer.pages) - 1


def _stamp(page: PageObject, name: str, digest: str) -> None:
    from reportlab.pdfgen.canvas import Canvas

    box = page.cropbox
    left, bottom, width = float(box.left), float(box.bottom), float(box.width)
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(width, STRIP_POINTS))
    canvas.setFillGray(1)
    canvas.rect(0, 0, width, STRIP_POINTS, stroke=0, fill=1)
    canvas.setFillGray(0.25)
    canvas.line(8, STRIP_POINTS - 1, width - 8, STRIP_POINTS - 1)
    canvas.setFont("Helvetica", 7)
    canvas.drawString(8, STRIP_POINTS - 10, drawable(name)[: int(width / 3.6)])
    canvas.setFont("Helvetica", 5.5)
    canvas.drawString(8, STRIP_POINTS - 18, digest)
    canvas.save()
    strip = PdfReader(io.BytesIO(out.getvalue())).pages[0]
    grown = RectangleObject((left, bottom - STRIP_POINTS, float(box.right), float(box.top)))
    page.mediabox, page.cropbox = grown, grown
    page.merge_transformed_page(strip, Transformation().translate(left, bottom - STRIP_POINTS))


def drawable(text: str) -> str:
    """With a question mark for each character that the cover's font lacks; the manifest has them all."""
    return " ".join(text.split()).encode(_FONT_ENCODING, "replace").decode(_FONT_ENCODING)


def cover_of(manifest: Manifest) -> bytes:
    """The first pages of a binder, as a PDF."""
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.styles import ParagraphStyle
    from reportlab.lib.units import mm
    from reportlab.platypus import Paragraph, SimpleDocTemplate

    body = ParagraphStyle("body", fontName="Helvetica", fontSize=10, leading=14, spaceAfter=5)
    small = ParagraphStyle("small", parent=body, fontSize=8, leading=11, textColor="#404848", spaceAfter=4)
    head = ParagraphStyle("head", parent=body, fontName="Helvetica-Bold", fontSize=12, leading=16, spaceBefore=14)
    title = ParagraphStyle("title", parent=head, fontSize=18, leading=24, spaceBefore=0)
    told: list[Paragraph] = []

    def say(text: str, style: ParagraphStyle = body, *, before: str = "") -> None:
        told.append(Paragraph(before + escape(drawable(text)), style))

    say("Evidence binder", title)
    made = f"Made {manifest.made_at[:16].replace('T', ' ')} UTC by Pincite {manifest.made_with['pincite']}."
    say(f"{made} The attached file {MANIFEST} holds all of it for machines; “pincite verify” proves it against the "
        "sources.", small)  # fmt: skip
    for answer in manifest.answers:
        say(answer.question, head)
        for line in _lines(answer):
            say(line)
        say(answer.finding, small)
        for number, where, quoted in _sources(answer, manifest.style):
            say(f"{where}: {quoted}", small, before=f"<b>[{number}]</b> ")
    everything = "".join(f"{answer.question}{part.text}" for answer in manifest.answers for part in answer.parts)
    if drawable(everything) != " ".join(everything.split()):
        say("Characters that this cover’s font lacks are shown as “?”; the manifest and the pages have them.", small)
    out = io.BytesIO()
    SimpleDocTemplate(out, pagesize=A4, leftMargin=22 * mm, rightMargin=22 * mm, topMargin=20 * mm,
                      bottomMargin=20 * mm, title="Evidence binder").build(told)  # fmt: skip
    return out.getvalue()


def _lines(answer: ToldAnswer) -> Iterable[str]:
    """The answer's paragraphs, each part followed by the numbers that it cites and by how it was computed."""
    text = "".join(
        part.text
        + (f" [{', '.join(map(str, part.citations))}]" if part.citations else "")
        + (f"\n= {part.formula}\n" if part.formula else "")
        for part in answer.parts
    )
    return [line for line in text.splitlines() if line.strip()] or ["(no answer)"]


def _sources(answer: ToldAnswer, style: str) -> Iterator[tuple[int, str, str]]:
    """The number of each source, where it is, and what is quoted of it."""
    groups = [list(group) for _, group in groupby(answer.citations, lambda place: (place.number, place.page))]
    notes = cited([(group[0].number, group[0]) for group in groups], CitationStyle(style))
    for note, (place, *rest) in zip(notes, groups, strict=True):
        position = place.binder_page_index
        where = f"page {position + 1} of this binder" if position is not None else "not here: its source is gone"
        quoted = "; ".join(f"“{one.quotation}”" for one in (place, *rest))
        yield place.number, f"{note} ({where})", quoted
