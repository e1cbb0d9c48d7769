"""PDF: read by pdfium, by pypdf where pdfium finds nothing, and by RapidOCR where there is only a picture."""
