"""The formats of files that can become documents: a new one is a module of this folder and its line here."""

from pathlib import Path

from core.documents.contract import Format
from core.documents.formats import pdf
from core.domain.errors import EmptyFileError

FORMATS: list[Format] = [
    pdf,
]
_HEAD_BYTES = 1024


def format_of(path: Path) -> Format:
    """Return the format that knows the file by its first bytes; PDFs are known without them, where they are damaged."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if not head:
        raise EmptyFileError(f"{path.name} is empty.", hint="Choose a file that has something in it.")
    return next((known for known in FORMATS if known.sniff(head)), pdf)
