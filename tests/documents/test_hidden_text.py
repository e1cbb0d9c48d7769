"""Promises about text that nobody sees: it is kept apart with its reason, and what is seen stays."""

from collections.abc import Callable
from pathlib import Path

import pytest
from fpdf import FPDF

from pincite.core.documents.formats.pdf.drawn import MAX_OBJECTS
from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.documents import HiddenReason, Page, PageStatus, hidden_summary
from pincite.core.domain.settings import Settings
from tests.support.hidden_pdfs import ATTACKS, HONEST, Made, attacks, honest

Read = Callable[[Made], Page]
ONLY_READ_BACK = "changed character map"
"""Visible print with a different text."""


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> ProcessReader:
    return ProcessReader(Settings(data_dir=tmp_path_factory.mktemp("data"), page_seconds=60))


@pytest.fixture
def read(reader: ProcessReader, tmp_path: Path) -> Read:
    def read_first(made: Made) -> Page:
        path = tmp_path / "made.pdf"
        path.write_bytes(made.content)
        return next(iter(reader.read(path, [0])))

    return read_first


HIDDEN = [made for made in attacks(2 * len(ATTACKS)) if made.kind != ONLY_READ_BACK]


@pytest.mark.parametrize("made", HIDDEN, ids=lambda made: made.kind)
def test_what_nobody_sees_is_kept_apart(read: Read, made: Made) -> None:
    page = read(made)
    assert made.text not in page.text
    assert not [word for word in made.text.split() if word.replace(",", "").isdigit() and word in page.text]
    kept = "".join(item.text for item in page.hidden)
    assert made.text.split("EUR ")[1].split()[0] in kept


@pytest.mark.parametrize("made", list(honest(2 * len(HONEST))), ids=lambda made: made.kind)
def test_what_only_looks_odd_is_read_as_it_was(read: Read, made: Made) -> None:
    page = read(made)
    assert page.status is PageStatus.TEXT
    assert set(made.text.split()) <= set(page.text.split())
    assert page.hidden == ()


def test_print_behind_more_drawings_than_are_looked_at_is_seen(read: Read) -> None:
    document = FPDF()
    document.add_page()
    document.set_font("Helvetica", size=12)
    for number in range(MAX_OBJECTS + 10):
        document.rect(10 + number % 180, 10 + number // 180, 0.4, 0.4)
    document.text(20, 200, "The fee is EUR 4,250.")
    page = read(Made(kind="map", content=bytes(document.output()), text="The fee is EUR 4,250.", question=""))
    assert "The fee is EUR 4,250." in page.text and page.hidden == ()


def test_hidden_text_reason_is_shown_in_words(read: Read) -> None:
    page = read(next(attacks(1)))
    assert {item.reason for item in page.hidden} == {HiddenReason.WHITE}
    count = sum(len(item.text) for item in page.hidden)
    assert hidden_summary(page.hidden) == f"{count} hidden characters: white on white"


def test_a_layer_that_lies_leaves_its_scan_to_be_recognised(read: Read) -> None:
    lying = next(made for made in HIDDEN if made.kind == "layer that lies")
    page = read(lying)
    assert page.wants_recognition
    assert {item.reason for item in page.hidden} == {HiddenReason.NOT_SHOWN}
