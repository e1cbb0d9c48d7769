"""Scanned pages are read offline, with places, and laid out like any other page."""

from difflib import SequenceMatcher
from pathlib import Path

import pytest

from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.documents import PageStatus
from tests.support import pdfs

TEXT = "The penalty for late payment is 1.5 percent per month, counted from day 31."


def test_a_scanned_page_is_recognised_with_places(reader: ProcessReader, tmp_path: Path) -> None:
    path = tmp_path / "scan.pdf"
    path.write_bytes(pdfs.scanned(TEXT))
    page = next(reader.recognise(path, [0]))
    assert page.status is PageStatus.OCR
    assert page.text == TEXT
    first = page.words[0].box
    assert 0.08 < first.left < 0.13 and 0.08 < first.top < 0.13 and first.right < 0.2


def test_a_page_is_recognised_after_lines_of_another_were_read_back(reader: ProcessReader, tmp_path: Path) -> None:
    """RapidOCR keeps the options of a call: after one without line detection, it found no lines on any later page."""
    path, other = tmp_path / "scan.pdf", tmp_path / "other.pdf"
    path.write_bytes(pdfs.scanned(TEXT))
    other.write_bytes(pdfs.prose(["The penalty is 1.5 percent."]))
    page = next(reader.read(other, [0]))
    first, last = page.words[0].box, page.words[-1].box
    assert reader.lines(other, 0, [[first.left, first.top, last.right, last.bottom, 0]]) == [page.text]
    assert next(reader.recognise(path, [0])).text == TEXT


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_rotated_scan_is_recognised_with_words_in_their_places(
    reader: ProcessReader, tmp_path: Path, degrees: int
) -> None:
    path = tmp_path / "scan.pdf"
    sentences = " ".join(pdfs.SENTENCES)
    path.write_bytes(pdfs.scanned(sentences, degrees=degrees))
    page = next(reader.recognise(path, [0]))
    assert page.status is PageStatus.OCR
    assert SequenceMatcher(None, page.text, sentences).ratio() > 0.95
    first, last = page.words[0].box, page.words[-1].box
    if degrees == 180:
        assert first.left > last.left and first.top > last.top > 0.8
    else:
        assert (first.left < last.left) == (degrees == 90)


def test_blank_page_is_reported_as_containing_no_text(reader: ProcessReader, tmp_path: Path) -> None:
    path = tmp_path / "blank.pdf"
    path.write_bytes(pdfs.prose([""]))
    page = next(reader.recognise(path, [0]))
    assert (page.status, page.reason) == (PageStatus.EMPTY, "no text was recognised in the picture")
