"""What can become a document: PDFs, and files of the other formats here, which are set as PDFs when they are added.

A format is a module, registered as an entry point of the group ``pincite.formats``; the endings of those in this folder
are also in ``core.domain.documents``.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from pincite.core.documents.formats.pdf import opening
from pincite.core.domain.errors import DocumentError, UnreadablePdfError
from pincite.core.domain.plugins import Group, plugins

Attachment = tuple[str, bytes]
"""Name and content of a file that another contains."""


class Format(Protocol):
    @property
    def KIND(self) -> str:
        """Such as "an ordinary Word document (.docx)"."""

    @property
    def ENDINGS(self) -> tuple[str, ...]:
        """Such as (".docx",)."""

    def is_one(self, path: Path, name: str) -> bool:
        """Return whether the file is of this format; ``name`` is how it is called, ``path`` where it is."""

    def save_as_pdf(self, path: Path, target: Path) -> Sequence[Attachment] | None:
        """Write its content as pages; the same file gives the same pages. Return the files attached to it.

        It may raise any error about a file that it cannot read.
        """


def save_as_pdf(path: Path, name: str, password: str, target: Path) -> list[Attachment]:
    """Write a PDF that opens without a password, of a locked PDF or a file of another format.

    Returns the files that it contains. Raises a DocumentError.
    """
    name = unicodedata.normalize("NFC", name)
    formats: Iterable[Format] = plugins(Group.FORMATS).values()
    known = next((one for one in formats if one.is_one(path, name)), None)
    if known is None:
        opening.save_unlocked(path, password, target)
        return []
    try:
        return list(known.save_as_pdf(path, target) or ())
    except (DocumentError, MemoryError):
        raise
    except Exception as error:  # the libraries report a broken file in dozens of ways, and none is ours
        what = f"{path.name} cannot be read as {known.KIND} ({type(error).__name__})."
        raise UnreadablePdfError(what, hint="Save it as one, or as a PDF, in the program that shows it.") from error
