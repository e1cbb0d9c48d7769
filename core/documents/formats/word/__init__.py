"""Word (.docx)."""

import zipfile
from pathlib import Path

KIND = "an ordinary Word document (.docx)"
ENDINGS = (".docx",)
_DOCUMENT = "word/document.xml"


def is_one(path: Path, name: str) -> bool:
    """Return whether the file is a Word file, by what the package holds."""
    try:
        with zipfile.ZipFile(path) as package:
            return _DOCUMENT in package.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return False


def save_as_pdf(path: Path, target: Path) -> None:
    from pincite.core.documents.formats.typeset import typeset
    from pincite.core.documents.formats.word.reading import WordFile

    typeset(WordFile(path).content(), path.name, target)
