"""What the reader promises whatever the file: an honest message, a receipt for every page, and no harm to the caller.

Files are opened in processes of their own; a page that hangs or swells costs itself only.
"""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
import pytest

from pincite.core.documents.formats.pdf import opening, reading
from pincite.core.documents.formats.pdf.reading import OpenPdf
from pincite.core.documents.reader import ProcessReader, _Worker
from pincite.core.domain.documents import OutlineEntry, Page, PageStatus
from pincite.core.domain.errors import (
    DocumentError,
    EmptyFileError,
    NotAPdfError,
    PasswordNeededError,
    ReaderStoppedError,
    UnreadablePdfError,
)
from pincite.core.domain.settings import Settings
from tests.support import pdfs


def _file(folder: Path, content: bytes, name: str = "file.pdf") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def test_every_page_comes_back_in_order_with_its_text(reader: ProcessReader, tmp_path: Path) -> None:
    path = _file(tmp_path, pdfs.prose([f"Page number {number} of many." for number in range(60)]))
    pages = list(reader.read(path, range(60)))
    assert [page.page_index for page in pages] == list(range(60))
    assert all(f"Page number {page.page_index} of many." in page.text for page in pages)
    assert {page.status for page in pages} == {PageStatus.TEXT}


def test_reading_a_page_alone_gives_what_reading_all_gives(reader: ProcessReader, tmp_path: Path) -> None:
    texts = [f"Chapter text {number} stands here." for number in range(8)]
    path = _file(tmp_path, pdfs.prose(texts, header="Harbour Rules", footer="- {number} -"))
    together = [replace(page, seconds=0.0) for page in reader.read(path, range(8))]
    alone = [replace(next(reader.read(path, [index])), seconds=0.0) for index in range(8)]
    assert alone == together


def test_words_are_spans_of_the_text_and_lie_on_the_page(reader: ProcessReader, tmp_path: Path) -> None:
    path = _file(tmp_path, pdfs.two_columns(" ".join(pdfs.SENTENCES), " ".join(reversed(pdfs.SENTENCES))))
    page = next(reader.read(path, [0]))
    words = [page.text[word.start : word.end] for word in page.words]
    assert words == page.text.split()
    for word in page.words:
        assert 0 <= word.box.left < word.box.right <= 1
        assert 0 <= word.box.top < word.box.bottom <= 1
    assert all(page.text[block.start : block.end].strip() for block in page.blocks)


@pytest.mark.parametrize(
    ("content", "error", "reason"),
    [
        (b"", EmptyFileError, "is empty"),
        (b"PK\x03\x04 this is a word processor's file", NotAPdfError, "is of no format that Pincite reads"),
        (b"%PDF-1.7\nand then nothing that makes sense", UnreadablePdfError, "is damaged"),
        (pdfs.locked(pdfs.prose(["secret"]), "sesame"), PasswordNeededError, "is protected with a password"),
    ],
)
def test_unreadable_file_is_reported_with_the_reason(
    reader: ProcessReader, tmp_path: Path, content: bytes, error: type[DocumentError], reason: str
) -> None:
    with pytest.raises(error) as raised:
        reader.open(_file(tmp_path, content, "letter.pdf"))
    assert f"letter.pdf {reason}" in str(raised.value)
    assert raised.value.hint


@pytest.mark.parametrize("password", ["sesame", "pässwört", "ﬁsh\u00adbone"])
def test_the_right_password_opens_and_a_wrong_one_does_not(
    reader: ProcessReader, tmp_path: Path, password: str
) -> None:
    path = _file(tmp_path, pdfs.locked(pdfs.prose(["The secret is safe."]), password))
    copy = tmp_path / "copy.pdf"
    reader.save_as_pdf(path, password, copy)
    assert reader.open(copy).page_count == 1
    assert "secret" in next(reader.read(copy, [0])).text
    with pytest.raises(PasswordNeededError, match="does not open"):
        reader.save_as_pdf(path, "another", tmp_path / "other.pdf")
    assert not (tmp_path / "other.pdf").exists()
    assert password.encode() not in copy.read_bytes()


def test_an_empty_user_password_is_no_obstacle(reader: ProcessReader, tmp_path: Path) -> None:
    path = _file(tmp_path, pdfs.locked(pdfs.prose(["Anyone may read this."]), ""))
    assert reader.open(path).page_count == 1
    assert "Anyone may read" in next(reader.read(path, [0])).text


def test_an_endless_page_costs_itself_only(tmp_path: Path) -> None:
    reader = ProcessReader(Settings(data_dir=tmp_path, page_seconds=8, reader_memory_mib=8192))
    try:
        first, second = reader.read(_file(tmp_path, pdfs.endless()), [0, 1])
    finally:
        reader.close()
    assert first.status is PageStatus.FAILED
    assert "8 seconds" in first.reason and "page_seconds" in first.reason
    assert second.status is PageStatus.TEXT and "harbour office" in second.text


def test_a_page_that_swells_is_stopped_at_the_memory_limit(tmp_path: Path) -> None:
    reader = ProcessReader(Settings(data_dir=tmp_path, reader_memory_mib=256))
    try:
        page = next(reader.read(_file(tmp_path, pdfs.swelling(600)), [0]))
        after = next(reader.read(_file(tmp_path, pdfs.prose(["Still here."]), "next.pdf"), [0]))
    finally:
        reader.close()
    assert page.status is PageStatus.FAILED
    assert "reader_memory_mib" in page.reason or "crashed" in page.reason
    assert "Still here." in after.text


def test_page_is_retried_once_after_a_reader_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, ask, asked = ProcessReader(Settings(data_dir=tmp_path)), _Worker.ask, []

    def ask_and_crash(worker: _Worker, request: Mapping[str, Any], seconds: float) -> Iterator[tuple[Any, ...]]:
        for message in ask(worker, request, seconds):
            yield message
            if message == ("working", 1):
                asked.append(request["page_indexes"])
                if len(asked) < crashes:
                    worker._process.kill()  # what it had sent before that is lost: how much depends on the machine
                    raise worker._stopped(seconds)

    monkeypatch.setattr(_Worker, "ask", ask_and_crash)
    content = pdfs.prose(["First.", "Second.", "Third."])
    try:
        for crashes, status in ((2, PageStatus.TEXT), (99, PageStatus.FAILED)):
            asked.clear()
            pages = list(reader.read(_file(tmp_path, content, f"{crashes}.pdf"), [0, 1, 2]))
            assert [page.status for page in pages] == [PageStatus.TEXT, status, PageStatus.TEXT]
            assert len(asked) == 2
        assert "crashed" in pages[1].reason
    finally:
        reader.close()


def test_closing_ends_a_page_that_is_being_read_and_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = ProcessReader(Settings(data_dir=tmp_path, page_seconds=300, reader_memory_mib=8192))
    path, receive, workers, ended = _file(tmp_path, pdfs.endless()), _Worker._receive, list[_Worker](), list[object]()
    waiting = threading.Event()

    def seen(worker: _Worker, seconds: float) -> tuple[Any, ...]:
        workers.append(worker)
        waiting.set()
        return receive(worker, seconds)

    def read() -> None:
        try:
            ended.extend(reader.read(path, [0]))
        except ReaderStoppedError as error:
            ended.append(error)

    monkeypatch.setattr(_Worker, "_receive", seen)
    thread = threading.Thread(target=read)
    thread.start()
    assert waiting.wait(300)
    reader.close()
    thread.join(300)
    assert len(ended) == 1 and isinstance(ended[0], ReaderStoppedError), "no page is given up for it"
    assert all(worker._process.poll() is not None for worker in workers)
    with pytest.raises(ReaderStoppedError):
        reader.render(path, 0, width=100)


def test_reader_stays_usable_after_stopping_mid_document(reader: ProcessReader, tmp_path: Path) -> None:
    path = _file(tmp_path, pdfs.prose([f"Page {number}." for number in range(50)]))
    pages = reader.read(path, range(50))
    next(pages)
    pages.close()  # type: ignore[attr-defined]  # it is a generator
    assert next(reader.read(path, [49])).text == "Page 49."


def test_blank_pages_and_pictures_are_distinguished(reader: ProcessReader, tmp_path: Path) -> None:
    blank = next(reader.read(_file(tmp_path, pdfs.prose([""])), [0]))
    picture = next(reader.read(_file(tmp_path, pdfs.scanned("A letter."), "scan.pdf"), [0]))
    assert (blank.status, blank.reason) == (PageStatus.EMPTY, "blank_page")
    assert (picture.status, picture.reason) == (PageStatus.EMPTY, "a_picture_without_text")


def test_reopening_a_long_document_changes_no_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _file(tmp_path, pdfs.prose([f"Chapter {number}." for number in range(9)], header="Rules", footer="{number}"))
    openings: list[Path] = []
    open_document = opening.open_document

    def watched_open(path: Path, password: str | None = None) -> tuple[pdfium.PdfDocument, tuple[str, ...]]:
        openings.append(path)
        return open_document(path, password)

    def pages() -> list[Page]:
        pdf = OpenPdf(path, lambda page_index, what: None)
        return [replace(pdf.page(index, {}), seconds=0.0) for index in range(9)]

    monkeypatch.setattr(opening, "open_document", watched_open)
    at_once = pages()
    assert len(openings) == 1
    monkeypatch.setattr(reading, "_PAGES_OF_ONE_OPENING", 2)
    assert pages() == at_once
    assert len(openings) > 3


def test_what_is_typed_into_form_fields_is_text_of_the_page(reader: ProcessReader, tmp_path: Path) -> None:
    path = _file(tmp_path, pdfs.filled_in(pdfs.prose(["Name of the tenant:"]), field="Wilhelmina Quist"))
    page = next(reader.read(path, [0]))
    assert page.text == "Name of the tenant:\nWilhelmina Quist"
    places = {page.text[word.start : word.end]: word.box for word in page.words}
    assert places["tenant:"].bottom < places["Quist"].top
    copy = tmp_path / "copy.pdf"
    reader.save_as_pdf(path, "", copy)
    assert b"Wilhelmina Quist" in copy.read_bytes(), "the copy keeps its fields"


def test_outline_and_fields_are_reported(reader: ProcessReader, tmp_path: Path) -> None:
    info = reader.open(_file(tmp_path, pdfs.with_outline(["Introduction", "Method"])))
    assert info.outline == (OutlineEntry("Introduction", 0, 1), OutlineEntry("Method", 1, 1))
    assert (info.fields["title"], info.fields["author"]) == ("Harbour Rules", "Harbour Office")


def test_carried_files_are_named_as_not_read(reader: ProcessReader, tmp_path: Path) -> None:
    cover = pdfs.prose(["See the attached files."])
    plain = _file(tmp_path, pdfs.with_attachment(cover, "figures.csv", b"1,2"))
    portfolio = _file(tmp_path, pdfs.with_attachment(cover, "a.pdf", b"%PDF", portfolio=True), "portfolio.pdf")
    assert any("without the file it carries" in note for note in reader.open(plain).notes)
    assert any("is a portfolio" in note for note in reader.open(portfolio).notes)


def test_a_damaged_file_that_can_be_saved_is_read_with_a_note(reader: ProcessReader, tmp_path: Path) -> None:
    whole = pdfs.prose(["This sentence survives."])
    broken = whole.replace(b"startxref", b"startxxxx").replace(b"xref\n0", b"xxxx\n0")
    path = _file(tmp_path, broken)
    assert reader.open(path).page_count == 1
    assert "This sentence survives." in next(reader.read(path, [0])).text


def test_a_page_is_drawn_at_the_width_that_was_asked(reader: ProcessReader, tmp_path: Path) -> None:
    image = reader.render(_file(tmp_path, pdfs.prose(["Picture me."])), 0, width=700)
    assert image.startswith(b"\x89PNG")
    assert abs(int.from_bytes(image[16:20], "big") - 700) <= 1
