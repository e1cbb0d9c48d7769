"""Promises of the library: what was read comes back as it was, names lead to documents, pages to receipts."""

from dataclasses import replace
from pathlib import Path

import pytest

from pincite.core.domain.answers import Citation
from pincite.core.domain.documents import (
    Block,
    BlockKind,
    Box,
    HiddenReason,
    HiddenText,
    MetadataField,
    MetadataSource,
    OutlineEntry,
    Page,
    PageReason,
    PageStatus,
    Passage,
    Word,
)
from pincite.core.domain.errors import UnknownDocumentError
from pincite.core.domain.ports import PdfInfo
from pincite.core.domain.settings import Settings
from pincite.core.store.database import Database
from pincite.core.store.fts5 import Fts5Index
from pincite.core.store.library import Library
from pincite.core.store.schema import documents
from pincite.core.store.shelf import Shelf
from pincite.core.store.sqlite import SqliteDatabase
from pincite.core.text.plain import shown
from tests.store.older import as_format

ONE, TWO = "1" * 64, "2" * 64
TEXT = "Überschrift\nZins 9 % p. a. 🙂 ab Fälligkeit."
PAGE = Page(
    page_index=0,
    page_label="iv",
    text=TEXT,
    words=(Word(0, 11, Box(0.1, 0.1, 0.5, 0.125)), Word(12, 16, Box(0.1, 0.2, 0.25, 0.225))),
    blocks=(
        Block(0, 11, BlockKind.HEADING, level=1),
        Block(12, len(TEXT), BlockKind.TABLE_ROW, column_heads="Zins | Tag"),
    ),
    status=PageStatus.TEXT,
    seconds=0.25,
)
PASSAGE = Passage(
    id=f"{ONE}:0:0",
    document_id=ONE,
    page_index=0,
    page_label="iv",
    text=TEXT[12:],
    start=12,
    end=len(TEXT),
    heading_path=("Überschrift",),
    context="Vertrag",
)
OUTLINE = (OutlineEntry("Überschrift", 0, 1),)


@pytest.fixture
def database(settings: Settings) -> SqliteDatabase:
    return SqliteDatabase(settings.database_path)


@pytest.fixture
def shelf(database: SqliteDatabase, settings: Settings) -> Shelf:
    made = Shelf(database, Library(database, settings), Fts5Index(database), settings)
    info = PdfInfo(page_count=4, outline=OUTLINE, fields={}, notes=("An XFA form.",))
    made.add_document(ONE, "Vertrag.pdf", 1000, info)
    made.add_document(TWO, "report.pdf", 2000, info)
    return made


@pytest.fixture
def library(database: SqliteDatabase, settings: Settings) -> Library:
    return Library(database, settings)


def test_page_comes_back_as_it_was_read(shelf: Shelf, library: Library) -> None:
    shelf.put_pages(ONE, [PAGE], [PASSAGE])
    kept = library.page(ONE, 0)
    assert replace(kept, words=()) == replace(PAGE, words=())
    for word, original in zip(kept.words, PAGE.words, strict=True):
        assert (word.start, word.end) == (original.start, original.end)
        assert [word.box.left, word.box.top, word.box.right, word.box.bottom] == pytest.approx(
            [original.box.left, original.box.top, original.box.right, original.box.bottom], abs=1e-4
        )
    assert library.page_text(ONE, 0) == TEXT and library.page_text(ONE, 1) == ""
    with pytest.raises(UnknownDocumentError, match="Page 2"):
        library.page(ONE, 1)


def test_passages_come_in_the_order_asked_and_missing_ones_are_left_out(shelf: Shelf, library: Library) -> None:
    second = replace(PASSAGE, id=f"{ONE}:0:1", start=0, end=11, text=TEXT[:11])
    shelf.put_pages(ONE, [PAGE], [PASSAGE, second])
    assert library.passages([second.id, "gone", PASSAGE.id]) == [second, PASSAGE]
    assert library.passages_of_pages([(ONE, 0)]) == library.opening_passages(ONE, 9) == [second, PASSAGE]
    assert library.passages_of_pages([(ONE, 0), (TWO, 0)]) == [second, PASSAGE]
    assert library.opening_passages(ONE, 1) == [second] and library.passages([]) == []


def test_document_knows_its_figures_outline_and_notes(shelf: Shelf, library: Library) -> None:
    shelf.put_pages(ONE, [PAGE], [PASSAGE])
    document = library.get(ONE)
    assert (document.name, document.page_count, document.passage_count) == ("Vertrag.pdf", 4, 1)
    assert document.notes == ("An XFA form.",) and library.outline(ONE) == OUTLINE
    assert [kept.id for kept in library.list()] == [TWO, ONE]


def test_receipts_and_coverage_tell_what_became_of_each_page(shelf: Shelf, library: Library) -> None:
    failed = Page(1, "2", "", (), (), PageStatus.FAILED, reason="crashed")
    scan = Page(2, "3", "Stempel", (), (), PageStatus.OCR)
    shelf.put_pages(ONE, [PAGE, failed, scan], [PASSAGE])
    receipts = library.receipts(ONE)
    assert [(r.page_index, r.page_label, r.status) for r in receipts] == [
        (0, "iv", PageStatus.TEXT),
        (1, "2", PageStatus.FAILED),
        (2, "3", PageStatus.OCR),
    ]
    assert receipts[0].characters == len(TEXT) and receipts[1].reason == "crashed"
    assert library.coverage(ONE).read == 0.5 and library.coverage(TWO).read == library.coverage("gone").read == 0
    for reason, coverage in ((PageReason.PICTURE, (0.5, 0.5)), (PageReason.BLANK, (0.75, 2 / 3))):
        empty = Page(3, "4", "", (), (), PageStatus.EMPTY, reason=reason)
        shelf.put_pages(ONE, [empty], [])
        covered = library.coverage(ONE)
        assert (covered.read, covered.found) == pytest.approx(coverage)


def test_pages_that_are_not_read_yet_are_left_out(shelf: Shelf, library: Library) -> None:
    second = Page(1, "2", "Zwei", (), (), PageStatus.TEXT)
    shelf.put_pages(ONE, [PAGE, second], [PASSAGE])
    assert [page.page_index for page in library.pages(ONE, range(9))] == [0, 1]
    assert [page.page_index for page in library.pages(ONE, {1, 7})] == [1]
    assert list(library.pages(ONE, ())) == list(library.pages("gone", range(3))) == []


def test_a_printed_name_or_the_beginning_of_an_id_leads_to_the_document(shelf: Shelf, library: Library) -> None:
    assert library.find("VERTRAG.pdf").id == library.find("vertrag").id == library.find(ONE).id == ONE
    with pytest.raises(UnknownDocumentError, match="No document is called"):
        library.find("nothing.pdf")
    library.rename(TWO, " Vertrag.pdf ")
    assert library.find("vertrag.pdf").id == ONE, "that is how it is printed"
    assert library.find(TWO[:8]).id == TWO
    assert {library.get(TWO).name, *(document.name for document in library.list())} == {
        "Vertrag.pdf",
        "Vertrag (2).pdf",
    }
    assert library.get(library.find("vertrag (2)").id).name == "Vertrag (2).pdf"
    library.rename(TWO, "Ver\u202etrag  zwei.pdf")
    assert library.find(shown(library.get(TWO).name)).id == library.find("ver\u202etrag zwei").id == TWO


def test_metadata_is_replaced_as_a_whole_and_records_its_source(shelf: Shelf, library: Library) -> None:
    company = MetadataField("company", "ACME", MetadataSource.PDF)
    year = MetadataField("year", "2018", MetadataSource.USER)
    library.set_metadata(ONE, [company])
    library.set_metadata(ONE, [year, company, year])
    assert library.get(ONE).metadata == (year, company)


def test_pages_put_again_replace_the_old_ones_in_every_table(
    shelf: Shelf, library: Library, database: SqliteDatabase
) -> None:
    shelf.put_pages(ONE, [replace(PAGE, status=PageStatus.GARBLED)], [PASSAGE])
    assert shelf.pages_to_recognise(ONE) == [0]
    read = replace(PAGE, text="Neu", words=(), blocks=(), status=PageStatus.OCR)
    passage = replace(PASSAGE, text="Neu", start=0, end=3)
    shelf.put_pages(ONE, [read], [passage])
    words = Fts5Index(database)
    assert library.passages([PASSAGE.id])[0].text == "Neu" and shelf.pages_to_recognise(ONE) == []
    assert words.search("Fälligkeit", document_ids=(), limit=5) == []
    assert [name for name, _ in words.search("neu", document_ids=(), limit=5)] == [PASSAGE.id]


def test_missing_document_is_reported_clearly(library: Library, settings: Settings) -> None:
    with pytest.raises(UnknownDocumentError):
        library.get(ONE)
    assert library.outline(ONE) == () and library.receipts(ONE) == []
    assert library.file_path(ONE) == Path(settings.files_dir / f"{ONE}.pdf")


@pytest.mark.parametrize(
    ("now", "quotation", "found"),
    [
        ("See Section 5 of the act.", ".5", None),
        ("The fee is 1,400 euro.", "400", None),
        ("The fee is 400 euro or 400 dollars.", "400", None),
        ("As read anew: the fee\nis 400 euro.", "the fee is 400 euro.", "the fee\nis 400 euro."),
        ("A fee of 400.", "400", "400"),
    ],
)
def test_a_citation_moves_with_its_words_and_only_with_them(
    shelf: Shelf, library: Library, now: str, quotation: str, found: str | None
) -> None:
    shelf.put_pages(ONE, [replace(PAGE, text=now, words=(), blocks=())], [])
    citation = Citation(1, ONE, "Vertrag.pdf", 0, "iv", quotation, 900, 900 + len(quotation))
    moved = library.located(citation)
    assert (moved and moved.quotation) == found and (moved is not None) == library.is_on_page(citation)
    assert moved is None or now[moved.start : moved.end] == moved.quotation


def test_a_fact_that_was_taken_away_is_kept_as_that(shelf: Shelf, library: Library) -> None:
    taken_away = MetadataField("company", "", MetadataSource.USER)
    library.set_metadata(ONE, [MetadataField("title", "Lease", MetadataSource.PDF), taken_away])
    assert [field.name for field in library.get(ONE).metadata] == ["title"]
    assert library.corrected(ONE) == [taken_away]


def test_words_that_earlier_versions_stored_are_read_as_keys(
    shelf: Shelf, library: Library, database: SqliteDatabase, settings: Settings
) -> None:
    hidden = (HiddenText("gone", Box(0, 0, 0.1, 0.1), HiddenReason.STRUCK),)
    blank = Page(1, "2", "", (), (), PageStatus.EMPTY, reason=PageReason.BLANK)
    title = MetadataField("title", "Vertrag", MetadataSource.FIRST_PAGES)
    shelf.put_pages(ONE, [replace(PAGE, hidden=hidden), blank], [PASSAGE])
    library.set_metadata(ONE, [title])
    before = [library.page(ONE, 0), library.page(ONE, 1)]
    with database.transaction() as connection:
        for statement in (
            "UPDATE pages SET reason = 'blank page' WHERE reason = 'blank_page'",
            "UPDATE pages SET hidden = replace(hidden, 'struck_out', 'struck out') WHERE hidden LIKE '%struck_out%'",
            "UPDATE metadata SET source = 'first pages'",
        ):
            assert connection.execute(statement).rowcount == 1
    database.close()
    as_format(14, settings.database_path)

    opened = Library(SqliteDatabase(settings.database_path), settings)
    assert [opened.page(ONE, 0), opened.page(ONE, 1)] == before and opened.get(ONE).metadata == (title,)
    assert opened.coverage(ONE).blank == 1


def test_metadata_of_any_length_is_kept_in_its_order(database: Database, settings: Settings) -> None:
    library = Library(database, settings)
    row = {"id": ONE, "name": "a.pdf", "byte_size": 1, "added_at": "", "status": "ready"}
    database.run(database.insert(documents).values(row))
    long = "".join(chr(0x4E00 + number * 7919 % 20000) for number in range(9000))
    fields = [MetadataField("csl", long, MetadataSource.USER), MetadataField("author", "Ng", MetadataSource.USER)]
    library.set_metadata(ONE, [*fields, *fields])
    assert library.get(ONE).metadata == tuple(fields) and library.corrected(ONE) == fields
