"""The words of a Word file's own XML, kept in the PDF that shows the file, so that quotations are compared with them.

Nothing of how the file is set plays a part: no styles, no numbering, no pages.
"""

import json
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path

from docx.oxml import parse_xml
from docx.oxml.xmlchemy import BaseOxmlElement
from pypdf import PdfReader, PdfWriter
from pypdf.errors import PyPdfError

from core.documents.formats.word import PRODUCER

NAME = "word-file-text.json.z"
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_TEXTS = frozenset(
    [
        f"{_WORD}t",
        "{http://schemas.openxmlformats.org/drawingml/2006/main}t",
        "{http://schemas.openxmlformats.org/officeDocument/2006/math}t",
    ]
)
_GAPS = frozenset(f"{_WORD}{name}" for name in ("tab", "br", "cr", "p", "ptab"))
_LINES = frozenset(f"{_WORD}{name}" for name in ("p", "tr"))


def attach(path: Path, writer: PdfWriter) -> None:
    """Attach the words of the Word file at ``path`` to the PDF."""
    writer.add_attachment(NAME, zlib.compress(json.dumps(_lines(path)).encode()))


def attached(pdf: Path) -> list[str]:
    """One text for each outer paragraph or table row of the Word file that the PDF was made of.

    Empty for other PDFs, and for those made before the words were kept.
    """
    with suppress(PyPdfError, OSError, ValueError, KeyError, IndexError, TypeError, zlib.error):
        reader = PdfReader(pdf)
        if str(reader.metadata and reader.metadata.producer).startswith(PRODUCER):
            return [str(line) for line in json.loads(zlib.decompress(reader.attachments[NAME][0]))]
    return []


def _lines(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as package:
        names = [name for name in package.namelist() if name.startswith("word/") and name.endswith(".xml")]
        roots = [parse_xml(package.read(name)) for name in sorted(names, key=lambda name: name != "word/document.xml")]
    texts = (_text(line) for root in roots for line in root.iter(*_LINES, *_TEXTS) if _is_outer(line))
    return [text for text in texts if text]


def _is_outer(element: BaseOxmlElement) -> bool:
    return next(element.iterancestors(*_LINES), None) is None


def _text(line: BaseOxmlElement) -> str:
    return " ".join(
        "".join(part.text or "" if part.tag in _TEXTS else " " for part in line.iter(*_TEXTS, *_GAPS)).split()
    )
