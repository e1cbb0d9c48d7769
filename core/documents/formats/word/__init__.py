"""Word (.docx): set as a PDF when it is added, which is then read like any other."""

import zipfile
from pathlib import Path

from pincite.core.domain.errors import UnreadablePdfError

PRODUCER = "Pincite, from a Word file"
WITH_PAGES = f"{PRODUCER} with its pages"
"""Producer where the file states on which pages Word last showed it."""
_DOCUMENT = "word/document.xml"


def is_one(path: Path) -> bool:
    """Return whether the file is a Word file, by what the package holds."""
    try:
        with zipfile.ZipFile(path) as package:
            return _DOCUMENT in package.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return False


def save_as_pdf(path: Path, target: Path) -> None:
    """Write the file's text as the pages of a PDF. Raises UnreadablePdfError."""
    from pincite.core.documents.formats.word.typeset import typeset

    try:
        typeset(path, target)
    except UnreadablePdfError:
        raise
    except Exception as error:  # four libraries report a broken package in dozens of ways, and none is ours
        what = f"{path.name} cannot be read as an ordinary Word document (.docx; {type(error).__name__})."
        raise UnreadablePdfError(what, hint="Save it as one, or as a PDF, in the program that shows it.") from error
