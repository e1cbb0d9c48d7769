"""Highlight annotations on the quoted words of a page, and a copy of a document with all its citations marked."""

import io
from collections.abc import Sequence

from pypdf import PageObject, PdfReader, PdfWriter
from pypdf.annotations import Highlight
from pypdf.errors import PyPdfError
from pypdf.generic import ArrayObject, FloatObject, NameObject, TextStringObject

from pincite.core.documents.marking import bars_of
from pincite.core.domain.answers import Citation
from pincite.core.domain.documents import Box, Page
from pincite.core.domain.errors import DocumentError
from pincite.core.export.manifest import Exhibit

_COLOUR = "ffe259"
Corners = tuple[float, float, float, float]


def marked_copy(exhibits: Sequence[tuple[Citation, str, Exhibit]]) -> bytes:
    """One document's PDF as it is, with each of the citations marked; each comes with the question that it answers.

    Raises DocumentError.
    """
    source = next((exhibit.path for _, _, exhibit in exhibits if exhibit.path), None)
    if source is None:
        raise DocumentError("The PDF of this document is missing.", hint="Add the same file again.")
    try:
        writer = PdfWriter(clone_from=PdfReader(source))
        for place, question, exhibit in exhibits:
            if exhibit.page is not None:
                note = f"Cited for: {question}"
                add_highlight(writer, place.page_index, exhibit.page, (place.start, place.end), note)
        out = io.BytesIO()
        writer.write(out)
    except (PyPdfError, OSError, ValueError, KeyError, IndexError, TypeError, RecursionError) as error:
        raise DocumentError(f"{source.name} cannot be copied ({error}).",
                            hint="Export the evidence of one answer instead.") from error  # fmt: skip
    return out.getvalue()


def add_highlight(
    writer: PdfWriter, position: int, page: Page, span: tuple[int, int], note: str, strip: float = 0
) -> None:
    """Mark the words of a span, one quadrangle a line; ``strip``: height in points of a strip below the page."""
    start, end = span
    words = (word.box for word in page.words if word.start < end and word.end > start)
    corners = [_corners(bar, writer.pages[position], strip) for bar in bars_of(words)]
    if not corners:
        return
    lefts, bottoms, rights, tops = zip(*corners, strict=True)
    quads = [
        value for left, bottom, right, top in corners for value in (left, top, right, top, left, bottom, right, bottom)
    ]
    mark = Highlight(
        rect=(min(lefts), min(bottoms), max(rights), max(tops)),
        quad_points=ArrayObject(map(FloatObject, quads)),
        highlight_color=_COLOUR,
        printing=True,
    )
    mark[NameObject("/Contents")] = TextStringObject(note)
    writer.add_annotation(position, mark)


def _corners(box: Box, page: PageObject, strip: float) -> Corners:
    """Left, bottom, right and top in points, before the page is turned to be shown; the box is of the page as shown."""
    area = page.cropbox
    left, bottom = float(area.left), float(area.bottom) + strip
    width, height = float(area.width), float(area.height) - strip
    xs, ys = (box.left, box.right), (1 - box.bottom, 1 - box.top)
    match page.rotation % 360:
        case 90:
            xs, ys = (box.top, box.bottom), (box.left, box.right)
        case 180:
            xs, ys = (1 - box.right, 1 - box.left), (box.top, box.bottom)
        case 270:
            xs, ys = (1 - box.bottom, 1 - box.top), (1 - box.right, 1 - box.left)
    return left + xs[0] * width, bottom + ys[0] * height, left + xs[1] * width, bottom + ys[1] * height


def shortened(text: str, most: int = 60) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"
