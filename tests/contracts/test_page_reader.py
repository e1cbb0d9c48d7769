"""What every page reader promises: each asked page in its turn, an honest error for a file, and locks that come off."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.documents import PageStatus
from pincite.core.domain.errors import DocumentError, NotAPdfError, PasswordNeededError
from pincite.core.domain.ports import PageReader
from pincite.core.domain.settings import Settings
from tests.ingest.pdfium_reader import PdfiumReader
from tests.support import pdfs


@pytest.fixture(scope="module", params=["processes", "pdfium"])
def reader(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageReader]:
    if request.param == "pdfium":
        yield PdfiumReader()
        return
    reader = ProcessReader(Settings(data_dir=tmp_path_factory.mktemp("data")))
    yield reader
    reader.close()


def _file(folder: Path, content: bytes) -> Path:
    path = folder / "file.pdf"
    path.write_bytes(content)
    return path


def test_opening_returns_page_count_and_file_metadata(reader: PageReader, tmp_path: Path) -> None:
    info = reader.open(_file(tmp_path, pdfs.with_outline(["Introduction", "Method"])))
    assert info.page_count == 2
    assert (info.fields["title"], info.fields["author"]) == ("Harbour Rules", "Harbour Office")


@pytest.mark.parametrize(
    ("content", "error"),
    [(b"Dear Sir or Madam", NotAPdfError), (pdfs.locked(pdfs.prose(["secret"]), "sesame"), PasswordNeededError)],
)
def test_what_cannot_be_opened_is_named(
    reader: PageReader, tmp_path: Path, content: bytes, error: type[DocumentError]
) -> None:
    with pytest.raises(error, match=r"file\.pdf"):
        reader.open(_file(tmp_path, content))


def test_the_asked_pages_come_in_the_order_asked(reader: PageReader, tmp_path: Path) -> None:
    path = _file(tmp_path, pdfs.prose([f"Sheet {number}." for number in range(6)]))
    pages = list(reader.read(path, [4, 1, 2]))
    assert [(page.page_index, page.text.strip()) for page in pages] == [(n, f"Sheet {n}.") for n in (4, 1, 2)]
    assert {page.status for page in pages} == {PageStatus.TEXT}
    assert list(reader.read(path, [])) == []


def test_page_without_text_is_returned_with_a_reason(reader: PageReader, tmp_path: Path) -> None:
    first, second = reader.read(_file(tmp_path, pdfs.prose(["One.", ""])), [0, 1])
    assert (first.status, second.status) == (PageStatus.TEXT, PageStatus.EMPTY)
    assert not second.text and second.reason


def test_whoever_leaves_in_the_middle_can_come_again(reader: PageReader, tmp_path: Path) -> None:
    path = _file(tmp_path, pdfs.prose([f"Sheet {number}." for number in range(4)]))
    pages = reader.read(path, range(4))
    next(pages)
    pages.close()  # type: ignore[attr-defined]  # it is a generator
    assert next(reader.read(path, [3])).text.strip() == "Sheet 3."


def test_every_page_to_recognise_comes_back(reader: PageReader, tmp_path: Path) -> None:
    pages = list(reader.recognise(_file(tmp_path, pdfs.prose(["", ""])), [1, 0]))
    assert [(page.page_index, page.status) for page in pages] == [(1, PageStatus.EMPTY), (0, PageStatus.EMPTY)]


def test_a_page_is_drawn_at_the_width_asked(reader: PageReader, tmp_path: Path) -> None:
    image = reader.render(_file(tmp_path, pdfs.prose(["Picture me."])), 0, width=400)
    assert image.startswith(b"\x89PNG")
    assert abs(int.from_bytes(image[16:20], "big") - 400) <= 1


def test_the_right_password_takes_the_lock_off_and_a_wrong_one_does_not(reader: PageReader, tmp_path: Path) -> None:
    path, copy = _file(tmp_path, pdfs.locked(pdfs.prose(["The secret is safe."]), "sesame")), tmp_path / "copy.pdf"
    with pytest.raises(PasswordNeededError):
        reader.save_as_pdf(path, "another", copy)
    assert not copy.exists()
    reader.save_as_pdf(path, "sesame", copy)
    assert "secret" in next(reader.read(copy, [0])).text
