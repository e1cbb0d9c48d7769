"""The evidence binder: answers and the pages that they cite as one PDF, with a manifest and a seal to prove it by.

The pages are the sources' own, with highlight annotations on the quoted words and a stamp on a strip below. The seal is
the SHA-256 of all bytes before it, in a last line that PDF viewers pass over: one changed byte breaks it. It is no
signature: whoever makes everything anew can seal it anew; what stands in the sources is proved by them.
"""

import hashlib
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from pypdf import PageObject, PdfReader, PdfWriter, Transformation
from pypdf.annotations import Highlight
from pypdf.errors import PyPdfError
from pypdf.generic import ArrayObject, FloatObject, NameObject, RectangleObject, TextStringObject

from core import __version__
from core.documents.marking import bars_of
from core.domain.answers import Citation
from core.domain.documents import Box, Page, PageKey
from core.domain.turns import Turn, TurnStatus, now

FORMAT = "pincite-binder/1"
MANIFEST = "pincite-manifest.json"
SEAL = b"\n%pincite-sha256:"
STRIP_POINTS = 24
MOST_PASSES = 3
_MARK = "ffe259"
_FONT_ENCODING = "cp1252"


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A cited page: its PDF, and the page as it was read; None where it is not there any more."""

    document_name: str
    path: Path | None
    page: Page | None


def bind(turns: Sequence[Turn], exhibits: dict[PageKey, Exhibit]) -> bytes:
    """``exhibits``: each page that a citation of the turns names."""
    citations = [place for turn in turns for place in turn.final_citations]
    keys = list(dict.fromkeys(place.page for place in citations))
    writer, bound = _put_together(turns, exhibits, dict.fromkeys(keys, 0))
    for _ in range(MOST_PASSES):  # the cover says on which pages the exhibits stand, and its own length moves them
        told = bound
        writer, bound = _put_together(turns, exhibits, told)
        if bound == told:
            break
    writer.add_outline_item(title="Questions and answers", page_number=0)
    for place in dict.fromkeys(replace(place, number=0) for place in citations):
        page = exhibits[place.page].page
        if place.page in bound and page is not None:
            _mark(writer, bound[place.page], page, place)
            name = f"{place.document_name}, {_page(place)}: “{_short(place.quotation)}”"
            writer.add_outline_item(title=name, page_number=bound[place.page])
    writer.add_metadata({"/Title": "Evidence binder", "/Producer": f"Pincite {__version__}"})
    writer.add_attachment(MANIFEST, json.dumps(_manifest(turns, bound), ensure_ascii=False, indent=1).encode())
    out = io.BytesIO()
    writer.write(out)
    return sealed(out.getvalue())


def _put_together(
    turns: Sequence[Turn], exhibits: dict[PageKey, Exhibit], told: dict[PageKey, int]
) -> tuple[PdfWriter, dict[PageKey, int]]:
    """Cover and exhibits, and where these came to stand; ``told``: what the cover says of that."""
    writer = PdfWriter()
    for sheet in PdfReader(io.BytesIO(_cover(turns, told))).pages:
        writer.add_page(sheet)
    added = {key: _added(writer, key, exhibit) for key, exhibit in exhibits.items()}
    return writer, {key: position for key, position in added.items() if position is not None}


def sealed(content: bytes) -> bytes:
    return content + SEAL + hashlib.sha256(content).hexdigest().encode() + b"\n"


def _page(place: Citation) -> str:
    position = f"page {place.page_index + 1} of the file"
    return position if place.page_label in ("", str(place.page_index + 1)) else f"p. {place.page_label} ({position})"


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


def _mark(writer: PdfWriter, position: int, page: Page, place: Citation) -> None:
    """A highlight annotation over the words of a quotation, one quadrangle a line."""
    words = (word.box for word in page.words if word.start < place.end and word.end > place.start)
    corners = [_corners(bar, writer.pages[position]) for bar in bars_of(words)]
    if not corners:
        return
    lefts, bottoms, rights, tops = zip(*corners, strict=True)
    quads = [
        value for left, bottom, right, top in corners for value in (left, top, right, top, left, bottom, right, bottom)
    ]
    note = Highlight(
        rect=(min(lefts), min(bottoms), max(rights), max(tops)),
        quad_points=ArrayObject(map(FloatObject, quads)),
        highlight_color=_MARK,
        printing=True,
    )
    note[NameObject("/Contents")] = TextStringObject(place.quotation)
    writer.add_annotation(position, note)


def _corners(box: Box, page: PageObject) -> tuple[float, float, float, float]:
    """Left, bottom, right and top in points; the strip below is none of the page as it was read."""
    shown = page.cropbox
    left, bottom = float(shown.left), float(shown.bottom) + STRIP_POINTS
    width, height = float(shown.width), float(shown.height) - STRIP_POINTS
    top = bottom + height
    return left + box.left * width, top - box.bottom * height, left + box.right * width, top - box.top * height


def _manifest(turns: Sequence[Turn], bound: dict[PageKey, int]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "made_at": now(),
        "made_by": f"Pincite {__version__}",
        "answers": [_answer_manifest(turn, bound) for turn in turns],
    }


def _answer_manifest(turn: Turn, bound: dict[PageKey, int]) -> dict[str, Any]:
    review, verdict = turn.review, turn.verdict
    told: dict[str, Any] = {
        "question": turn.question,
        "asked_at": turn.started_at,
        "engine": turn.engine,
        "status": turn.status.value,
        "parts": [
            {"text": part.text, "kind": part.kind.value, "citations": list(part.numbers)} for part in turn.final_parts
        ],
        "citations": [_citation_manifest(place, bound) for place in turn.final_citations],
    }
    if verdict is not None:
        told["confidence"] = verdict.confidence
        told["claims"] = [
            {"text": claim.text, "status": claim.status.value, "reason": claim.reason} for claim in verdict.claims
        ]
    if review is not None:
        told["review"] = {
            "decision": review.decision.value,
            "reviewer": review.reviewer,
            "decided_at": review.decided_at,
            "note": review.note,
        }
    return told


def _citation_manifest(place: Citation, bound: dict[PageKey, int]) -> dict[str, Any]:
    return {
        "number": place.number,
        "document": place.document_name,
        "sha256": place.document_id,
        "page_index": place.page_index,
        "page_label": place.page_label,
        "start": place.start,
        "end": place.end,
        "quotation": place.quotation,
        "binder_page_index": bound.get(place.page),
    }


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else f"{flat[:59]}…"


def drawable(text: str) -> str:
    """With a question mark for each character that the cover's font lacks; the manifest has them all."""
    return " ".join(text.split()).encode(_FONT_ENCODING, "replace").decode(_FONT_ENCODING)


def _cover(turns: Sequence[Turn], bound: dict[PageKey, int]) -> bytes:
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
    say(f"Made {now()[:16].replace('T', ' ')} UTC by Pincite {__version__}. The attached file {MANIFEST} holds all of "
        "it for machines; “pincite verify” proves it against the sources.", small)  # fmt: skip
    for turn in turns:
        say(turn.question, head)
        for line in _answer_lines(turn):
            say(line)
        say(_finding(turn), small)
        for (number, key), group in groupby(turn.final_citations, lambda place: (place.number, place.page)):
            first, *rest = group
            where = f"page {bound[key] + 1} of this binder" if key in bound else "not here: its source is gone"
            quoted = "; ".join(f"“{place.quotation}”" for place in (first, *rest))
            say(f"{first.document_name}, {_page(first)} ({where}): {quoted}", small, before=f"<b>[{number}]</b> ")
    everything = "".join(f"{turn.question}{turn.answer}" for turn in turns)
    if drawable(everything) != " ".join(everything.split()):
        say("Characters that this cover’s font lacks are shown as “?”; the manifest and the pages have them.", small)
    out = io.BytesIO()
    SimpleDocTemplate(out, pagesize=A4, leftMargin=22 * mm, rightMargin=22 * mm, topMargin=20 * mm,
                      bottomMargin=20 * mm, title="Evidence binder").build(told)  # fmt: skip
    return out.getvalue()


def _answer_lines(turn: Turn) -> Iterable[str]:
    """The answer's paragraphs, each part followed by the numbers that it cites."""
    text = "".join(
        part.text + (f" [{', '.join(map(str, part.numbers))}]" if part.numbers else "") for part in turn.final_parts
    )
    return [line for line in text.splitlines() if line.strip()] or ["(no answer)"]


def _finding(turn: Turn) -> str:
    if turn.review:
        told = turn.review
        note = f" “{told.note}”" if told.note else ""
        return f"Reviewed and {told.decision} by {told.reviewer} on {told.decided_at[:10]}.{note}"
    if turn.status is TurnStatus.FLAGGED:
        return f"Not to be relied on yet; it waits for review: {' '.join(turn.reasons)}"
    if turn.verdict is None:
        return f"Not checked ({turn.status})."
    counts = dict.fromkeys(dict.fromkeys(claim.status for claim in turn.verdict.claims), 0)
    for claim in turn.verdict.claims:
        counts[claim.status] += 1
    claims = ", ".join(f"{number} {status}" for status, number in counts.items()) or "none"
    return f"Claims: {claims}. Probability that it is right: {turn.verdict.confidence:.0%}. Not reviewed by a person."
