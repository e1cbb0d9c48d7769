"""A format of documents is one module and one line: the reading process finds it by how a file begins."""

import io
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from core.documents import formats, process
from core.documents.contract import Announce, OpenDocument, Stopped
from core.domain.documents import Page, PageStatus
from core.domain.errors import UnreadablePdfError
from core.domain.ports import PdfInfo
from tests.support import pdfs


class OpenNotes:
    """Pages parted by form feeds."""

    def __init__(self, path: Path) -> None:
        self._pages = path.read_text().removeprefix("NOTES").split("\f")

    def describe(self) -> PdfInfo:
        return PdfInfo(len(self._pages), (), {"title": "Notes"})

    def page(self, page_index: int, stopped: Stopped) -> Page:
        return Page(page_index, str(page_index + 1), self._pages[page_index], (), (), PageStatus.TEXT)

    def recognise(self, page_index: int, stopped: Stopped) -> Page:
        return Page(page_index, str(page_index + 1), "", (), (), PageStatus.EMPTY, "notes have no pictures")

    def image(self, page_index: int, width: int) -> bytes:
        raise UnreadablePdfError("Notes have no pictures.")

    def lines(self, page_index: int, boxes: Sequence[Sequence[float]]) -> list[str]:
        raise UnreadablePdfError("Notes have no pictures.")

    def close(self) -> None: ...


class Notes:
    def sniff(self, head: bytes) -> bool:
        return head.startswith(b"NOTES")

    def open_document(self, path: Path, announce: Announce) -> OpenDocument:
        return OpenNotes(path)

    def decrypt(self, path: Path, password: str, target: Path) -> None: ...


def _answers(*requests: dict[str, Any]) -> list[tuple[Any, ...]]:
    """What a reading process answers to these, after saying that it is ready."""
    asked, answered = io.BytesIO(b"".join(map(pickle.dumps, requests))), io.BytesIO()
    process.serve(asked, answered)
    answered.seek(0)
    messages = []
    while answered.tell() < len(answered.getvalue()):
        messages.append(pickle.load(answered))
    return messages[1:]


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(formats, "FORMATS", [*formats.FORMATS, Notes()])
    path = tmp_path / "anything.at.all"
    path.write_text("NOTESThe first.\fThe second.")
    return path


def test_a_new_format_is_opened_and_read(notes: Path) -> None:
    opened, _, page, _ = _answers(
        {"do": "open", "path": notes}, {"do": "read", "path": notes, "page_indexes": [1], "stopped": {}}
    )
    assert opened == ("info", (2, [], {"title": "Notes"}, ()))
    assert page[0] == "page" and page[1][:3] == (1, "2", "The second.")


def test_a_format_without_pictures_says_so(notes: Path) -> None:
    [refused] = _answers({"do": "render", "path": notes, "page_index": 0, "width": 100})
    assert refused == ("refused", "UnreadablePdfError", "Notes have no pictures.", "")


def test_the_other_formats_are_found_as_before(notes: Path, tmp_path: Path) -> None:
    path = tmp_path / "file.pdf"
    path.write_bytes(b"junk before\n" + pdfs.prose(["One."]))
    assert formats.format_of(path) is formats.pdf
    assert isinstance(formats.format_of(notes), Notes)
