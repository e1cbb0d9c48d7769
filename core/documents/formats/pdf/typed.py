"""What is typed onto a page: form fields, free text and stamps. PDFs keep them apart from the text of the page."""

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

_TYPED = frozenset({pdfium_c.FPDF_ANNOT_WIDGET, pdfium_c.FPDF_ANNOT_FREETEXT, pdfium_c.FPDF_ANNOT_STAMP})
_MOST_LOOKED_AT = 1000


def has_typed(page: pdfium.PdfPage) -> bool:
    """Return whether anything on the page may hold typed text."""
    count = min(pdfium_c.FPDFPage_GetAnnotCount(page), _MOST_LOOKED_AT)
    return any(_subtype(page, number) in _TYPED for number in range(count))


def draw_typed(page: pdfium.PdfPage) -> bool:
    """Make it part of the page's content, in memory; False when there is nothing. The page must be opened again."""
    drawn: bool = pdfium_c.FPDFPage_Flatten(page, pdfium_c.FLAT_NORMALDISPLAY) == pdfium_c.FLATTEN_SUCCESS
    return drawn


def _subtype(page: pdfium.PdfPage, number: int) -> int | None:
    annotation = pdfium_c.FPDFPage_GetAnnot(page, number)
    if not annotation:
        return None
    try:
        subtype: int = pdfium_c.FPDFAnnot_GetSubtype(annotation)
        return subtype
    finally:
        pdfium_c.FPDFPage_CloseAnnot(annotation)
