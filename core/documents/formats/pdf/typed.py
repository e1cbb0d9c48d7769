"""What is typed onto a page: form fields, free text and stamps. PDFs keep them apart from the text of the page."""

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from pincite.core.documents.formats.pdf.pdfium_text import annotations

_TYPED = frozenset({pdfium_c.FPDF_ANNOT_WIDGET, pdfium_c.FPDF_ANNOT_FREETEXT, pdfium_c.FPDF_ANNOT_STAMP})


def has_typed(page: pdfium.PdfPage) -> bool:
    """Return whether anything on the page may hold typed text."""
    return any(subtype in _TYPED for _, subtype in annotations(page))


def draw_typed(page: pdfium.PdfPage) -> bool:
    """Make it part of the page's content, in memory; False when there is nothing. The page must be opened again."""
    drawn: bool = pdfium_c.FPDFPage_Flatten(page, pdfium_c.FLAT_NORMALDISPLAY) == pdfium_c.FLATTEN_SUCCESS
    return drawn
