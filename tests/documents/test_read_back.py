"""A file's text is compared with what its page shows, and nothing stays supported by words that nobody sees."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from docx.document import Document
from pypdf import PdfWriter

from pincite.core.documents.formats.content import PRODUCER, Paragraph, Run
from pincite.core.documents.formats.own_text import attach
from pincite.core.documents.read_back import MAX_LINES, OwnText, compare_with_own_text, read_back
from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.answers import Likeness, ReadBack
from pincite.core.domain.documents import Box, Page, PageStatus, Word
from pincite.core.domain.errors import DocumentError
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import TurnStatus
from pincite.core.services.bootstrap import open_pincite
from pincite.core.text.likeness import compare
from pincite.pages.components.answer import read_back_in_words
from tests.support import words
from tests.support.hidden_pdfs import HONEST, Made, changed_maps, honest


def seen_in(made: Made, reader: ProcessReader, folder: Path) -> ReadBack:
    path = folder / "made.pdf"
    path.write_bytes(made.content)
    page = next(iter(reader.read(path, [0])))
    start = page.text.index(made.text)
    return read_back(page, start, start + len(made.text), lambda boxes: reader.lines(path, 0, boxes))


def test_a_changed_character_map_is_seen_through(reader: ProcessReader, tmp_path: Path) -> None:
    for made in changed_maps(3):
        seen = seen_in(made, reader, tmp_path)
        assert seen.likeness is Likeness.DIFFERS
        assert made.shown.split("EUR ")[1][:3] in seen.recognised, "what a reader sees is reported"


def test_what_a_page_shows_agrees_whichever_way_it_is_turned(reader: ProcessReader, tmp_path: Path) -> None:
    kinds = list(HONEST)
    made = [one for one in honest(2 * len(kinds)) if one.kind in ("turned page", kinds[0], kinds[1])]
    assert len(made) == 6
    for one in made:
        assert seen_in(one, reader, tmp_path).likeness is Likeness.AGREES, one.kind


def words_of(text: str) -> tuple[Word, ...]:
    found, at = [], 0
    for number, word in enumerate(text.split(" ")):
        found.append(Word(at, at + len(word), Box(0.1, 0.02 * number, 0.2, 0.02 * number + 0.01)))
        at += len(word) + 1
    return tuple(found)


def test_a_long_quotation_is_read_at_its_ends(tmp_path: Path) -> None:
    text = " ".join(f"line{number:03}" for number in range(40))
    page = Page(0, "1", text, words_of(text), (), PageStatus.TEXT)
    asked: list[Any] = []

    def lines(boxes: Any) -> list[str]:
        asked.extend(boxes)
        return [f"line{round(box[1] / 0.02):03}" for box in boxes]

    assert read_back(page, 0, len(text), lines).likeness is Likeness.AGREES
    assert len(asked) == MAX_LINES


def test_a_recognised_page_came_from_its_picture() -> None:
    page = Page(0, "1", "anything", words_of("anything"), (), PageStatus.OCR)
    assert read_back(page, 0, 8, lambda boxes: pytest.fail("nobody looks")).likeness is Likeness.AGREES


def test_what_cannot_be_read_gainsays_nothing() -> None:
    assert compare("The fee is EUR 950", "") is Likeness.UNKNOWN
    assert compare("Плата 950", "Nnata 123") is Likeness.UNKNOWN, "the recogniser does not know the script"
    page = Page(0, "1", "the fee", (), (), PageStatus.TEXT)
    assert read_back(page, 0, 7, lambda boxes: []).likeness is Likeness.UNKNOWN


def test_a_box_off_the_page_and_a_missing_file_stop_nothing(reader: ProcessReader, tmp_path: Path) -> None:
    path = tmp_path / "made.pdf"
    path.write_bytes(next(iter(honest(1))).content)
    assert reader.lines(path, 0, [(1.0, 1.0, 1.0, 1.0, 0), (0.5, 0.5, 0.5, 0.5, 0)]) == ["", ""]
    with pytest.raises((DocumentError, OSError)):
        reader.lines(tmp_path / "none.pdf", 0, [(0.0, 0.0, 1.0, 1.0, 0)])


def of_word(fill: Callable[[Document], object], reader: ProcessReader, folder: Path) -> tuple[Page, list[str]]:
    path, target = folder / "file.docx", folder / "file.pdf"
    path.write_bytes(words.made(fill))
    reader.save_as_pdf(path, "", target)
    return next(iter(reader.read(target, [0]))), reader.own_text(target)


def test_every_word_file_block_is_in_its_xml_text(reader: ProcessReader, tmp_path: Path) -> None:
    def fill(document: Document) -> None:
        words.lease(document)
        words.numbered(document, (0, "Rent"), (1, "It is paid monthly."))
        cells = document.add_table(rows=1, cols=2).rows[0].cells
        cells[0].text, cells[1].text = "Two lines\nof a cell", "Other lines\nbeside them"

    page, own_text = of_word(fill, reader, tmp_path)
    assert len(page.blocks) > 3
    for block in page.blocks:
        seen = compare_with_own_text(page, block.start, block.end, OwnText(own_text))
        assert (seen.likeness, seen.of_file) == (Likeness.AGREES, True), page.text[block.start : block.end]


@pytest.mark.parametrize(("ours", "theirs"), [("EUR 950", "EUR 590"), ("is due", "is not due"), ("monthly", "yearly")])
def test_what_a_word_file_does_not_say_differs_from_it(
    ours: str, theirs: str, reader: ProcessReader, tmp_path: Path
) -> None:
    sentence = "The rent of EUR 950 is due monthly."
    page, own_text = of_word(lambda document: document.add_paragraph(sentence), reader, tmp_path)
    assert compare_with_own_text(page, 0, len(page.text), OwnText(own_text)).likeness is Likeness.AGREES
    changed = [line.replace(ours, theirs) for line in own_text]
    seen = compare_with_own_text(page, 0, len(page.text), OwnText(changed))
    assert seen.likeness is Likeness.DIFFERS and theirs in seen.recognised


@pytest.mark.parametrize(
    ("quoted", "own"),
    [("EUR 900 monthly", "EUR 590 monthly"), ("not allowed", "is allowed"), ("5 days", "within 15 days"),
     ("fee is 900 EUR", "The fee is 90 EUR"), ("allowed", "disallowed")],
)  # fmt: skip
def test_short_quotations_are_compared_word_by_word(quoted: str, own: str) -> None:
    assert not OwnText([own]).holds(quoted) and OwnText([own, quoted]).holds(quoted)


def test_exponents_and_marks_of_notes_are_as_in_the_file() -> None:
    own = OwnText(["An area of 40 m2 costs 950 euros", "10-6 of it"])
    assert own.holds("area of 40 m²") and own.holds("costs 950 euros¹") and own.holds("10⁻⁶ of it")


def test_a_pdf_that_calls_itself_a_word_file_is_still_compared_with_its_picture(tmp_path: Path) -> None:
    made = next(iter(changed_maps(1)))
    writer = PdfWriter(clone_from=io.BytesIO(made.content))
    writer.metadata = {"/Producer": PRODUCER}
    attach([Paragraph((Run(made.text),))], writer)
    writer.write(tmp_path / "offer.pdf")
    app = open_pincite(Settings(data_dir=tmp_path / "data", engine="quoting"))
    try:
        app.ingest.add(tmp_path / "offer.pdf", "offer.pdf")
        assert app.ingest.wait(timeout_seconds=300)
        turn = app.runner.wait(app.runner.ask(app.sessions.create().id, made.question), 120).turn
        assert any(one.read_back and one.read_back.likeness is Likeness.DIFFERS for one in turn.citations)
    finally:
        app.close()


def test_an_answer_over_a_word_file_is_compared_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "lease.docx"
    path.write_bytes(words.made(lambda document: document.add_paragraph("The monthly rent of the shop is EUR 950.")))
    app = open_pincite(Settings(data_dir=tmp_path / "data", engine="quoting"))
    try:
        app.ingest.add(path, path.name)
        assert app.ingest.wait(timeout_seconds=300)
        turn = app.runner.wait(app.runner.ask(app.sessions.create().id, "What is the monthly rent?"), 120).turn
        assert {one.read_back for one in turn.citations} == {ReadBack(Likeness.AGREES, of_file=True)}
        assert read_back_in_words(turn.citations) == "Quotations against the text of the file: 2 match."
    finally:
        app.close()


def test_answer_from_a_changed_map_waits_for_review_with_a_reason(tmp_path: Path) -> None:
    made = next(iter(changed_maps(1)))
    path = tmp_path / "offer.pdf"
    path.write_bytes(made.content)
    app = open_pincite(Settings(data_dir=tmp_path / "data", engine="quoting"))
    try:
        app.ingest.add(path, path.name)
        assert app.ingest.wait(timeout_seconds=300)
        session = app.sessions.create()
        turn = app.runner.wait(app.runner.ask(session.id, made.question), 120).turn
        assert turn.status is TurnStatus.FLAGGED
        assert any("on the image of page 1 these words read" in reason for reason in turn.reasons), turn.reasons
        assert turn.path.count("generator") == 1, "trying again would change nothing"
        assert any(one.read_back and one.read_back.likeness is Likeness.DIFFERS for one in turn.citations)
    finally:
        app.close()
