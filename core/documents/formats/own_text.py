"""The words of a file that is not a PDF, kept in the PDF that shows it: quotations are compared with them.

How the file is set and read from its pages plays no part.
"""

import json
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from pypdf import PdfReader, PdfWriter
from pypdf.errors import PyPdfError

from pincite.core.documents.formats.content import PRODUCER, Item, Paragraph, Table

NAME = "word-file-text.json.z"
MAX_BYTES = 64 * 2**20


def attach(items: Iterable[Item], writer: PdfWriter) -> None:
    """Attach the words of a file's items to the PDF."""
    lines = [line for item in items for line in _lines(item)]
    writer.add_attachment(NAME, zlib.compress(json.dumps(lines).encode()))


def attached(pdf: Path) -> list[str]:
    """One text for each paragraph, also of cells, of the file that the PDF was made of.

    Empty for other PDFs, and for those made before the words were kept.
    """
    with suppress(PyPdfError, OSError, ValueError, KeyError, IndexError, TypeError, zlib.error):
        reader = PdfReader(pdf)
        if str(reader.metadata and reader.metadata.producer).startswith(PRODUCER):
            content = zlib.decompressobj().decompress(reader.attachments[NAME][0], MAX_BYTES)
            return [str(line) for line in json.loads(content)]
    return []


def _lines(item: Item) -> Iterator[str]:
    if isinstance(item, Paragraph):
        yield f"{item.label} {item.text}"
    elif isinstance(item, Table):
        yield from (line for row in item.rows for cell in row for one in cell.paragraphs for line in _lines(one))
