"""A page reader on plain pdfium, in this process: real pages for tests that are not about reading."""

import io
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pypdfium2
import pypdfium2.raw

from pincite.core.domain.documents import Page, PageReason, PageStatus
from pincite.core.domain.errors import NotAPdfError, PasswordNeededError
from pincite.core.domain.ports import PdfInfo

_PDFIUM = threading.Lock()


class PdfiumReader:
    """``before_page`` is called with each page's index before it is read; what OCR finds comes from ``recognised``.

    On the pages in ``crashes`` OCR crashes.
    """

    def __init__(
        self,
        before_page: Callable[[int], None] = lambda index: None,
        recognised: dict[int, str] | None = None,
        crashes: frozenset[int] = frozenset(),
    ) -> None:
        self._crashes = crashes
        self._before_page = before_page
        self._recognised = recognised or {}

    def open(self, path: Path) -> PdfInfo:
        with _PDFIUM:
            document = _document(path)
            fields = {name.lower(): value for name, value in document.get_metadata_dict().items() if value}
            return PdfInfo(len(document), (), fields)

    def read(self, path: Path, page_indexes: Sequence[int]) -> Iterator[Page]:
        for index in page_indexes:
            self._before_page(index)
            with _PDFIUM:
                document = _document(path)
                text = document[index].get_textpage().get_text_range().replace("\r\n", "\n")
            status = PageStatus.TEXT if text.strip() else PageStatus.EMPTY
            yield Page(index, str(index + 1), text, (), (), status, "" if text.strip() else PageReason.PICTURE)

    def recognise(self, path: Path, page_indexes: Sequence[int]) -> Iterator[Page]:
        for index in page_indexes:
            self._before_page(index)
            text = self._recognised.get(index, "")
            if index in self._crashes:
                yield Page(index, str(index + 1), "", (), (), PageStatus.FAILED, "the reader crashed")
            else:
                yield Page(index, str(index + 1), text, (), (), PageStatus.OCR if text else PageStatus.EMPTY)

    def render(self, path: Path, page_index: int, *, width: int) -> bytes:
        buffer = io.BytesIO()
        with _PDFIUM:
            page = _document(path)[page_index]
            page.render(scale=width / page.get_width()).to_pil().save(buffer, format="PNG")
        return buffer.getvalue()

    def lines(self, path: Path, page_index: int, boxes: Sequence[Sequence[float]]) -> list[str]:
        return ["" for _ in boxes]

    def own_text(self, path: Path) -> list[str]:
        return []

    def save_as_pdf(self, path: Path, password: str, target: Path, name: str = "") -> list[tuple[str, bytes]]:
        with _PDFIUM:
            _document(path, password).save(target, flags=pypdfium2.raw.FPDF_REMOVE_SECURITY)
        return []


def _document(path: Path, password: str | None = None) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(path, password=password)
    except pypdfium2.PdfiumError as error:
        if error.err_code == pypdfium2.raw.FPDF_ERR_PASSWORD:
            raise PasswordNeededError(f"{path.name} needs a password.") from error
        raise NotAPdfError(f"{path.name} is not a PDF.") from error
