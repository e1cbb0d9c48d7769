"""PDF: read by pdfium, by pypdf where pdfium finds nothing, and by RapidOCR where there is only a picture."""

from pathlib import Path

from core.documents.contract import Announce, OpenDocument
from core.documents.formats.pdf import opening
from core.documents.formats.pdf.reading import OpenPdf


def sniff(head: bytes) -> bool:
    return opening.SIGNATURE in head


def open_document(path: Path, announce: Announce) -> OpenDocument:
    return OpenPdf(path, announce)


def decrypt(path: Path, password: str, target: Path) -> None:
    opening.save_unlocked(path, password, target)
