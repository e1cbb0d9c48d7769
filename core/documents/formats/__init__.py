"""What can become a document: PDFs, and files of the other formats here, which are set as PDFs when they are added.

A format is a module of this folder, and its name in the list.
"""

from pathlib import Path
from typing import Protocol

from pincite.core.documents.formats import word
from pincite.core.documents.formats.pdf import opening


class Format(Protocol):
    """What it raises about a file are DocumentErrors."""

    def is_one(self, path: Path) -> bool:
        """Whether the file is of this format."""

    def save_as_pdf(self, path: Path, target: Path) -> None:
        """Write its content as pages; the same file gives the same pages."""


FORMATS: list[Format] = [word]


def save_as_pdf(path: Path, password: str, target: Path) -> None:
    """Write a PDF that opens without a password, of a locked PDF or a file of another format."""
    known = next((one for one in FORMATS if one.is_one(path)), None)
    if known:
        known.save_as_pdf(path, target)
    else:
        opening.save_unlocked(path, password, target)
