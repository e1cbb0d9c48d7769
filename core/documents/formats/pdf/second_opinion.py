"""pypdf, asked where pdfium yields nothing. Importing it costs half a second, so it is imported only when asked.

pypdf trusts a file's structure in places: on broken files it raises plain Python errors besides its own. All of them
end in ``translated``, as an UnreadablePdfError.
"""

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pypdf
from pypdf.errors import DependencyError, DeprecationError, FileNotDecryptedError, PyPdfError

from pincite.core.domain.errors import PasswordNeededError, UnreadablePdfError

_BROKEN_FILE = (ArithmeticError, AssertionError, AttributeError, LookupError, NotImplementedError, OSError)
_BROKEN_STRUCTURE = (RecursionError, TypeError, ValueError)

logging.getLogger("pypdf").setLevel(logging.ERROR)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn whatever pypdf raises about a file into UnreadablePdfError or PasswordNeededError."""
    try:
        yield
    except FileNotDecryptedError as error:
        raise PasswordNeededError(f"{path.name} is protected with a password.") from error
    except (PyPdfError, DependencyError, DeprecationError, *_BROKEN_FILE, *_BROKEN_STRUCTURE) as error:
        raise UnreadablePdfError(f"{path.name} is damaged ({type(error).__name__}).") from error


def rewritten(path: Path, password: str | None) -> bytes:
    """Return the document as pypdf rewrites it, without its lock.

    Raises PasswordNeededError or UnreadablePdfError.
    """
    with translated(path):
        reader = _open(path, password)
        if not len(reader.pages):
            raise UnreadablePdfError(f"{path.name} has no pages.")
        buffer = io.BytesIO()
        pypdf.PdfWriter(clone_from=reader).write(buffer)
        return buffer.getvalue()


class SecondReader:
    """A document as pypdf sees it, opened at the first question."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reader: pypdf.PdfReader | None = None

    def page_text(self, page_index: int) -> str:
        """Return what pypdf reads on one page, nothing where it cannot."""
        with suppress(UnreadablePdfError, PasswordNeededError), translated(self._path):
            self._reader = self._reader or _open(self._path)
            return self._reader.pages[page_index].extract_text()
        return ""


def is_portfolio(path: Path) -> bool:
    """Return whether the PDF is only a cover for the files it carries, as far as pypdf can read it."""
    with suppress(UnreadablePdfError, PasswordNeededError), translated(path):
        return "/Collection" in _open(path).root_object
    return False


def _open(path: Path, password: str | None = None) -> pypdf.PdfReader:
    reader = pypdf.PdfReader(path, strict=False)
    if reader.is_encrypted and not reader.decrypt(password or ""):
        raise PasswordNeededError(f"{path.name} is protected with a password.")
    return reader
