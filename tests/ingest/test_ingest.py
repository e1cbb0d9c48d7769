"""Promises of ingest: what comes in is read, searchable, embedded and recognised; what goes out leaves nothing.

Real pdfium, SQLite, FTS5, MiniLM and Chroma; OCR's words are scripted.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from pincite.core.domain.documents import (
    Block,
    BlockKind,
    Coverage,
    DocumentStatus,
    JobStage,
    JobStatus,
    MetadataField,
    MetadataSource,
    Page,
    PageStatus,
    Passage,
)
from pincite.core.domain.errors import (
    EmptyFileError,
    NotAPdfError,
    PasswordNeededError,
    TooLargeError,
    UnknownDocumentError,
)
from pincite.core.domain.ports import PdfInfo, Vectors
from pincite.core.domain.settings import Settings
from pincite.core.models.minilm import MiniLmEmbedder
from pincite.core.services.registry import make_embedder
from pincite.core.store.exact import MeaningIndex
from pincite.core.store.indexes import Indexes
from pincite.core.store.sessions import Sessions
from pincite.core.store.sqlite import SqliteDatabase
from tests.ingest.pdfium_reader import PdfiumReader
from tests.ingest.workshop import LONG_SECONDS, describe, make_pdf, open_workshop
from tests.support.rows import sqlite_of
from tests.support.waiting import wait_until

RATES = "Late payments bear interest at nine percent a year, counted by the day from the due date."
PARKING = "Employees park their bicycles in the yard behind the mill, never in the stairwell."


class Gate:
    """Holds the reader at one page until it is let through."""

    def __init__(self, page_index: int) -> None:
        self._page_index = page_index
        self.reached = threading.Event()
        self.opened = threading.Event()

    def __call__(self, page_index: int) -> None:
        if page_index == self._page_index:
            self.reached.set()
            assert self.opened.wait(LONG_SECONDS)


def test_added_document_can_be_found_by_word_and_by_meaning(settings: Settings, tmp_path: Path) -> None:
    with open_workshop(settings) as shop:
        outcome = shop.ingest.add(make_pdf(tmp_path / "a.pdf", [RATES, PARKING]), "terms.pdf")
        assert not outcome.known and outcome.replaces is None
        shop.finish()
        document = shop.library.get(outcome.document.id)
        assert (document.status, document.searchable, document.page_count) == (DocumentStatus.READY, True, 2)
        assert document.passage_count == shop.rows()["passages"] == shop.rows()["passage_words"] == shop.vectors() == 2
        [found] = shop.library.passages(shop.found("bicycles"))
        assert found.page_index == 1
        assert found.text == shop.library.page_text(document.id, 1)[found.start : found.end]
        embedder, index = shop.indexes.active()
        nearest, _ = index.search(embedder.embed(["penalty for paying too late"])[0], document_ids=(), limit=1)[0]
        assert shop.library.passages([nearest])[0].page_index == 0


def test_same_bytes_under_another_name_are_recognised_and_stored_once(settings: Settings, tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "a.pdf", [RATES])
    with open_workshop(settings) as shop:
        first = shop.ingest.add(path, "a.pdf")
        again = shop.ingest.add(path.read_bytes(), "b.pdf")
        assert again.known and again.document.id == first.document.id and again.document.name == "a.pdf"
        assert [file.suffix for file in settings.files_dir.iterdir()] == [".pdf"]
        shop.finish()
        assert shop.rows()["documents"] == 1


def test_file_that_cannot_become_a_document_gets_its_own_message_and_leaves_nothing(
    settings: Settings, tmp_path: Path
) -> None:
    with open_workshop(settings.but(max_file_mib=1)) as shop:
        with pytest.raises(EmptyFileError, match=r"empty\.pdf"):
            shop.ingest.add(b"", "empty.pdf")
        with pytest.raises(NotAPdfError):
            shop.ingest.add(b"Dear Sir or Madam", "letter.pdf")
        with pytest.raises(TooLargeError, match="limit is 1 MiB"):
            shop.ingest.add(bytes(2 * 2**20), "big.pdf")
        with pytest.raises(PasswordNeededError):
            shop.ingest.add(make_pdf(tmp_path / "locked.pdf", [RATES], password="sesame"), "locked.pdf")
        assert list(settings.files_dir.iterdir()) == []
        assert set(shop.rows().values()) == {0}


def test_document_over_the_page_limit_is_refused_with_the_limit(settings: Settings, tmp_path: Path) -> None:
    with (
        open_workshop(settings.but(max_pages=1)) as shop,
        pytest.raises(TooLargeError, match="2 pages; the limit is 1"),
    ):
        shop.ingest.add(make_pdf(tmp_path / "long.pdf", [RATES, PARKING]), "long.pdf")


def test_password_opens_the_file_for_good_and_is_kept_nowhere(settings: Settings, tmp_path: Path) -> None:
    password = "open-sesame-4711"
    path = make_pdf(tmp_path / "locked.pdf", [RATES], password=password)
    with open_workshop(settings) as shop:
        document = shop.ingest.add(path, "locked.pdf", password=password).document
        shop.finish()
        assert shop.library.get(document.id).status is DocumentStatus.READY
        assert PdfiumReader().open(shop.library.file_path(document.id)).page_count == 1
        assert shop.ingest.add(path, "locked.pdf").known
    kept = [file for file in settings.data_dir.rglob("*") if file.is_file()]
    assert kept and not [file for file in kept if password.encode() in file.read_bytes()]


def test_name_never_reaches_the_file_system(settings: Settings, tmp_path: Path) -> None:
    with open_workshop(settings) as shop:
        content = make_pdf(tmp_path / "a.pdf", [RATES]).read_bytes()
        document = shop.ingest.add(content, "../../outside.pdf").document
        assert shop.library.file_path(document.id).parent == settings.files_dir
        for wicked in ("../../outside", "", "a/b", "ABC"):
            with pytest.raises(UnknownDocumentError):
                shop.library.file_path(wicked)
        with pytest.raises(UnknownDocumentError):
            shop.ingest.remove("../../outside")
    assert not list(tmp_path.rglob("outside*"))


def test_page_read_so_far_can_be_searched_while_the_rest_is_being_read(settings: Settings, tmp_path: Path) -> None:
    gate = Gate(70)
    pages = [f"Chapter {number} speaks of topic{number}." for number in range(71)]
    with open_workshop(settings, PdfiumReader(gate)) as shop:
        document = shop.ingest.add(make_pdf(tmp_path / "long.pdf", pages), "long.pdf").document
        assert gate.reached.wait(LONG_SECONDS)
        assert shop.found("topic3") and not shop.library.get(document.id).searchable
        [job] = shop.ingest.jobs()
        assert job.status is JobStatus.RUNNING and job.total == 71 and 0 < job.done < 71
        gate.opened.set()
        shop.finish()
        assert shop.found("topic70") and shop.library.get(document.id).searchable


def test_cancelled_job_keeps_what_was_read_and_retry_goes_on_from_there(settings: Settings, tmp_path: Path) -> None:
    gate = Gate(70)
    read: list[int] = []

    def before_page(page_index: int) -> None:
        read.append(page_index)
        gate(page_index)

    pages = [f"Chapter {number} speaks of topic{number}." for number in range(71)]
    with open_workshop(settings, PdfiumReader(before_page)) as shop:
        document = shop.ingest.add(make_pdf(tmp_path / "long.pdf", pages), "long.pdf").document
        assert gate.reached.wait(LONG_SECONDS)
        shop.ingest.cancel(document.id)
        gate.opened.set()
        shop.finish()
        assert shop.library.get(document.id).status is DocumentStatus.CANCELLED
        stored = {receipt.page_index for receipt in shop.library.receipts(document.id)}
        assert stored and 70 not in stored
        read.clear()
        shop.ingest.retry(document.id)
        shop.finish()
        assert shop.library.get(document.id).status is DocumentStatus.READY
        assert not stored.intersection(read)
        assert shop.rows()["pages"] == 71 and shop.rows()["passages"] == shop.vectors() == 71


def test_passages_missing_from_the_keyword_index_are_indexed_in_a_stage_of_its_own(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_workshop(settings) as shop:
        document = shop.ingest.add(make_pdf(tmp_path / "a.pdf", [RATES, PARKING]), "a.pdf").document
        shop.finish()
        sqlite_of(shop).connection.execute("DELETE FROM passage_words")
        seen: list[tuple[JobStage, int, int]] = []
        prepare = shop.keywords.prepare

        def watched(passages: Sequence[Passage]) -> Callable[[], None]:
            [job] = shop.ingest.jobs()
            seen.append((job.stage, job.done, job.total))
            return prepare(passages)

        monkeypatch.setattr(shop.keywords, "prepare", watched)
        shop.ingest.retry(document.id)
        shop.finish()
        assert seen == [(JobStage.KEYWORDS, 0, 2)]
        assert shop.found("bicycles") and shop.library.get(document.id).status is DocumentStatus.READY


class SecondThoughts(PdfiumReader):
    """Reads more on each page once ``more`` is set."""

    more = ""

    def read(self, path: Path, page_indexes: Sequence[int]) -> Iterator[Page]:
        for page in super().read(path, page_indexes):
            yield replace(page, text=page.text + self.more)


def test_another_application_on_the_same_library_searches_no_stale_vectors(settings: Settings, tmp_path: Path) -> None:
    reader = SecondThoughts()
    with open_workshop(settings, reader) as shop:
        document = shop.ingest.add(make_pdf(tmp_path / "a.pdf", [RATES, PARKING]), "a.pdf").document
        shop.finish()
        embedder, own = shop.indexes.active()
        other = Indexes(shop.database, settings, make_embedder)
        dragons = embedder.embed(["a dragon sleeps on a heap of gold"])[0]

        def closest_passages(index: MeaningIndex) -> list[tuple[str, float]]:
            return index.search(dragons, document_ids=[document.id], limit=2)

        before = closest_passages(other.active()[1])
        reader.more = " A dragon sleeps on the gold."
        shop.ingest.retry(document.id, [1])
        shop.finish()
        assert closest_passages(own)[0][1] > before[0][1] + 0.1
        assert closest_passages(other.active()[1]) == closest_passages(own)


def test_one_page_is_read_again_on_request_without_doubling(settings: Settings, tmp_path: Path) -> None:
    read: list[int] = []
    with open_workshop(settings, PdfiumReader(read.append)) as shop:
        document = shop.ingest.add(make_pdf(tmp_path / "a.pdf", [RATES, PARKING]), "a.pdf").document
        shop.finish()
        before = shop.rows(), shop.vectors()
        read.clear()
        shop.ingest.retry(document.id, [1])
        shop.finish()
        assert read == [1]
        assert (shop.rows(), shop.vectors()) == before


def test_removed_document_leaves_no_rows_vectors_or_files(settings: Settings, tmp_path: Path) -> None:
    with open_workshop(settings) as shop:
        kept = shop.ingest.add(make_pdf(tmp_path / "a.pdf", [RATES]), "a.pdf").document
        shop.finish()
        before = shop.rows(), shop.vectors()
        removed = shop.ingest.add(make_pdf(tmp_path / "b.pdf", [PARKING, RATES]), "b.pdf").document
        shop.finish()
        assert shop.rows() != before[0]
        shop.ingest.remove(removed.id)
        assert (shop.rows(), shop.vectors()) == before
        assert [file.stem for file in settings.files_dir.iterdir()] == [kept.id]
        shop.ingest.remove(kept.id)
        assert set(shop.rows().values()) == {0} and shop.vectors() == 0
        assert list(settings.files_dir.iterdir()) == []


def test_document_removed_while_it_is_being_read_leaves_nothing(settings: Settings, tmp_path: Path) -> None:
    gate = Gate(70)
    pages = [f"Chapter {number} speaks of topic{number}." for number in range(71)]
    with open_workshop(settings, PdfiumReader(gate)) as shop:
        document = shop.ingest.add(make_pdf(tmp_path / "long.pdf", pages), "long.pdf").document
        assert gate.reached.wait(LONG_SECONDS)
        shop.ingest.remove(document.id)
        gate.opened.set()
        after = shop.ingest.add(make_pdf(tmp_path / "b.pdf", [PARKING]), "b.pdf").document
        shop.finish([after.id])
        shop.ingest.remove(after.id)
        assert set(shop.rows().values()) == {0} and shop.vectors() == 0
        assert list(settings.files_dir.iterdir()) == []


def test_removed_document_can_come_back_at_once(settings: Settings, tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "a.pdf", [RATES, PARKING])
    with open_workshop(settings) as shop:
        for _ in range(3):
            document = shop.ingest.add(path, "a.pdf").document
            shop.finish()
            assert shop.library.file_path(document.id).exists()
            assert shop.rows()["passages"] == shop.vectors() == 2
            shop.ingest.remove(document.id)
        shop.ingest.add(path, "a.pdf")
        shop.ingest.remove(document.id)
        shop.ingest.add(path, "a.pdf")
        shop.finish()
        assert shop.library.file_path(document.id).exists() and shop.vectors() == 2


def test_new_version_is_offered_as_replacement_and_keeps_unchanged_embeddings(
    settings: Settings, tmp_path: Path
) -> None:
    embedded: list[str] = []

    class Watched(MiniLmEmbedder):
        def embed(self, texts: Sequence[str]) -> Vectors:
            embedded.extend(texts)
            return super().embed(texts)

    with open_workshop(settings, embedders=lambda name, settings: Watched()) as shop:
        old = shop.ingest.add(make_pdf(tmp_path / "1.pdf", [RATES, PARKING]), "terms.pdf").document
        shop.finish()
        embedded.clear()
        outcome = shop.ingest.add(make_pdf(tmp_path / "2.pdf", [RATES, "Cars park in front."]), "terms.pdf")
        assert outcome.replaces is not None and outcome.replaces.id == old.id
        shop.ingest.replace(old.id, outcome.document.id)
        shop.finish()
        assert [document.id for document in shop.library.list()] == [outcome.document.id]
        assert len(embedded) == 1 and "Cars park" in embedded[0]
        assert shop.rows()["embeddings"] == shop.rows()["passages"] == shop.vectors() == 2


def test_a_session_that_chose_a_document_chooses_its_newer_version(settings: Settings, tmp_path: Path) -> None:
    with open_workshop(settings) as shop:
        old = shop.ingest.add(make_pdf(tmp_path / "1.pdf", [RATES]), "terms.pdf").document
        other = shop.ingest.add(make_pdf(tmp_path / "3.pdf", [PARKING]), "parking.pdf").document
        shop.finish()
        sessions = Sessions(shop.database)
        chosen, free = sessions.create(document_ids=(other.id, old.id)), sessions.create()
        new = shop.ingest.add(make_pdf(tmp_path / "2.pdf", [RATES, "Cars park in front."]), "terms.pdf").document
        shop.ingest.replace(old.id, new.id)
        shop.finish()
        assert (
            set(sessions.get(chosen.id).document_ids) == {other.id, new.id} and not sessions.get(free.id).document_ids
        )


def test_a_document_that_was_replaced_and_is_added_again_stays(settings: Settings, tmp_path: Path) -> None:
    gate = Gate(1)
    first, second = make_pdf(tmp_path / "1.pdf", [RATES]), make_pdf(tmp_path / "2.pdf", [PARKING, RATES])
    with open_workshop(settings, PdfiumReader(gate)) as shop:
        old = shop.ingest.add(first, "terms.pdf").document
        shop.finish()
        new = shop.ingest.add(second, "terms.pdf").document
        assert gate.reached.wait(LONG_SECONDS)
        shop.ingest.replace(old.id, new.id)
        gate.opened.set()
        shop.finish()
        assert [document.id for document in shop.library.list()] == [new.id]
        shop.ingest.add(first, "terms.pdf")
        shop.ingest.retry(new.id, [0])
        shop.finish()
        assert {document.id for document in shop.library.list()} == {old.id, new.id}


def test_headings_in_force_are_known_on_each_page_that_is_read_again(settings: Settings, tmp_path: Path) -> None:
    class Headed(PdfiumReader):
        """Finds a heading on every fourth page."""

        def read(self, path: Path, page_indexes: Sequence[int]) -> Iterator[Page]:
            for page in super().read(path, page_indexes):
                kind = BlockKind.PARAGRAPH if page.page_index % 4 else BlockKind.HEADING
                yield replace(page, words=(), blocks=(Block(0, len(page.text), kind, 1),))

    with open_workshop(settings, Headed()) as shop:
        pages = [f"Part {number}" for number in range(12)]
        document = shop.ingest.add(make_pdf(tmp_path / "a.pdf", pages), "a.pdf").document
        shop.finish()
        before = [shop.library.passages_of_pages([(document.id, index)]) for index in range(12)]
        shop.ingest.retry(document.id, [2, 7, 11])
        shop.finish()
        assert [shop.library.passages_of_pages([(document.id, index)]) for index in range(12)] == before
        assert [found.heading_path for [found] in before][7:9] == [("Part 4",), ("Part 8",)]


def test_scanned_page_is_recognised_in_the_background(settings: Settings, tmp_path: Path) -> None:
    with open_workshop(settings, PdfiumReader(recognised={1: "Stamped and signed in Bremen."})) as shop:
        document = shop.ingest.add(make_pdf(tmp_path / "a.pdf", [RATES, "", ""]), "a.pdf").document
        shop.finish()
        statuses = [receipt.status for receipt in shop.library.receipts(document.id)]
        assert statuses == [PageStatus.TEXT, PageStatus.OCR, PageStatus.EMPTY]
        assert shop.library.coverage(document.id) == Coverage(3, 2)
        assert "OCR found no text" in shop.library.receipts(document.id)[2].reason
        [found] = shop.library.passages(shop.found("Bremen"))
        assert found.page_index == 1 and shop.vectors() == shop.rows()["passages"] == 2


def test_recognised_first_page_identifies_the_document(settings: Settings, tmp_path: Path) -> None:
    def by_first_line(info: PdfInfo, pages: Sequence[Page], name: str) -> tuple[MetadataField, ...]:
        if pages[0].text:  # recognised; the worker that embeds it ends before the title is there
            wait_until(lambda: shop.vectors() == 2)
            time.sleep(0.2)
        title = MetadataField("title", pages[0].text.partition(".")[0] or name, MetadataSource.FIRST_PAGES)
        return (title, MetadataField("author", "nobody", MetadataSource.PDF))

    def author_corrected(index: int) -> None:
        [document] = shop.library.list()
        if document.status is DocumentStatus.RECOGNISING:
            kept = (field for field in document.metadata if field.name != "author")
            shop.ingest.set_metadata(document.id, [*kept, MetadataField("author", "A. Tide", MetadataSource.USER)])

    reader = PdfiumReader(author_corrected, {0: "Lease of the quay. Stamped in Bremen."})
    with open_workshop(settings, reader, describe=by_first_line) as shop:
        document = shop.ingest.add(make_pdf(tmp_path / "scan.pdf", ["", RATES]), "scan.pdf").document
        shop.finish()
        known = shop.library.get(document.id)
        assert known.title == "Lease of the quay" and known.status is DocumentStatus.READY
        assert {field.name: field.value for field in known.metadata}["author"] == "A. Tide"
        assert len(shop.found("quay")) == shop.rows()["passages"] == shop.vectors() == 2  # under its title, both pages


def test_page_waiting_for_ocr_is_reported_as_pending(settings: Settings, tmp_path: Path) -> None:
    seen: list[tuple[bool, Coverage]] = []

    def look(index: int) -> None:
        [document] = shop.library.list()
        if document.status is DocumentStatus.RECOGNISING:
            seen.append((shop.library.receipts(document.id)[0].waiting, shop.library.coverage(document.id)))

    with open_workshop(settings, PdfiumReader(look)) as shop:
        document = shop.ingest.add(make_pdf(tmp_path / "a.pdf", ["", RATES]), "a.pdf").document
        shop.finish()
        assert seen == [(True, Coverage(2, 1, waiting=1))]
        assert not shop.library.receipts(document.id)[0].waiting  # nobody works on it any more
        assert shop.library.coverage(document.id) == Coverage(2, 1)


def test_what_an_older_reader_read_is_read_again_and_searched_meanwhile(settings: Settings, tmp_path: Path) -> None:
    found_meanwhile: list[tuple[int, int]] = []

    def look(index: int) -> None:
        found_meanwhile.append((len(shop.found("parking")), len(shop.found("Bremen"))))

    reader = PdfiumReader(look, {2: "Stamped and signed in Bremen."})
    with open_workshop(settings, reader) as shop:
        document = shop.ingest.add(make_pdf(tmp_path / "a.pdf", [RATES, PARKING, ""]), "a.pdf").document
        shop.finish()
        assert shop.library.outdated() == []
        sqlite_of(shop).connection.execute("UPDATE pages SET reader = 0 WHERE page_index > 0")  # as older versions do
        assert shop.library.outdated() == [document.id]
        before = shop.rows()
        found_meanwhile.clear()
        shop.ingest.read_again([document.id, "gone"])
        shop.finish()
        assert found_meanwhile == [(1, 1), (1, 1)], "each page was read, and could be found until it was"
        assert shop.library.outdated() == [] and shop.rows() == before
        assert len(shop.found("parking")) == len(shop.found("Bremen")) == 1


def test_what_cannot_be_read_again_stays_as_it_was(settings: Settings, tmp_path: Path) -> None:
    class Failing(PdfiumReader):
        def read(self, path: Path, page_indexes: Sequence[int]) -> Iterator[Page]:
            return (replace(page, text="", status=PageStatus.FAILED) for page in super().read(path, page_indexes))

    path = make_pdf(tmp_path / "a.pdf", [PARKING, ""])
    with open_workshop(settings, PdfiumReader(recognised={1: "Stamped and signed in Bremen."})) as shop:
        document = shop.ingest.add(path, "a.pdf").document
        shop.finish()
        sqlite_of(shop).connection.execute("UPDATE pages SET reader = 0")
    with open_workshop(settings.but(ocr=False), Failing()) as shop:
        shop.ingest.read_again([document.id])
        shop.finish()
        assert len(shop.found("parking")) == len(shop.found("Bremen")) == 1
        assert shop.library.outdated() == [], "a scan is not offered while OCR is off"
        shop.library.file_path(document.id).unlink()
        sqlite_of(shop).connection.execute("UPDATE pages SET reader = 0")
        assert shop.library.outdated() == [], "nor is what has no file"


def test_scan_is_identified_even_after_interrupted_recognition(settings: Settings, tmp_path: Path) -> None:
    def by_first_line(info: PdfInfo, pages: Sequence[Page], name: str) -> tuple[MetadataField, ...]:
        return (MetadataField("title", pages[0].text.partition(".")[0] or name, MetadataSource.FIRST_PAGES),)

    def interrupt(index: int) -> None:
        if index == 9 and not interrupted and shop.library.list()[0].status is DocumentStatus.RECOGNISING:
            interrupted.append(index)
            shop.ingest.cancel(document.id)

    interrupted: list[int] = []
    reader = PdfiumReader(interrupt, dict.fromkeys(range(10), "Lease of the quay. Stamped in Bremen."))
    with open_workshop(settings, reader, describe=by_first_line) as shop:
        document = shop.ingest.add(make_pdf(tmp_path / "scan.pdf", [""] * 10), "scan.pdf").document
        shop.finish()
        assert interrupted and shop.library.get(document.id).title == "scan.pdf"
        shop.ingest.retry(document.id)
        shop.finish()
        assert shop.library.get(document.id).title == "Lease of the quay"
        contexts = sqlite_of(shop).connection.execute("SELECT DISTINCT context FROM passages").fetchall()
        assert [row["context"] for row in contexts] == ["Lease of the quay"]


def test_what_people_took_away_does_not_come_back(settings: Settings, tmp_path: Path) -> None:
    def of_acme(info: PdfInfo, pages: Sequence[Page], name: str) -> tuple[MetadataField, ...]:
        return (MetadataField("company", "Acme", MetadataSource.FIRST_PAGES), *describe(info, pages, name))

    with open_workshop(settings, describe=of_acme) as shop:
        document = shop.ingest.add(make_pdf(tmp_path / "a.pdf", [RATES, PARKING]), "a.pdf").document
        shop.finish()
        for kept in (["company", "title"], ["title"], ["title"]):
            assert [field.name for field in shop.library.get(document.id).metadata] == kept
            left = [field for field in shop.library.get(document.id).metadata if field.name == "title"]
            shop.ingest.set_metadata(document.id, left)
            shop.ingest.retry(document.id, [0])
            shop.finish()


def test_page_with_crashed_ocr_is_failed_and_can_be_retried(settings: Settings, tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "a.pdf", [RATES, ""])
    with open_workshop(settings, PdfiumReader(crashes=frozenset({1}))) as shop:
        document = shop.ingest.add(path, "a.pdf").document
        shop.finish()
        receipt = shop.library.receipts(document.id)[1]
        assert (receipt.status, receipt.reason) == (PageStatus.FAILED, "a picture without text; the reader crashed")
    with open_workshop(settings, PdfiumReader(recognised={1: "Stamped and signed in Bremen."})) as shop:
        shop.ingest.retry(document.id)
        shop.finish()
        assert shop.library.receipts(document.id)[1].status is PageStatus.OCR


def test_a_page_to_be_read_again_while_the_rest_is_read_is_read_again(settings: Settings, tmp_path: Path) -> None:
    def once_more(index: int) -> None:
        if index == pages - 1 and not again:
            [document] = shop.library.list()
            again.extend(receipt.page_index for receipt in shop.library.receipts(document.id)[:1])
            shop.ingest.retry(document.id, again)

    pages = 20
    again: list[int] = []
    path = make_pdf(tmp_path / "a.pdf", [f"{RATES} Page {number}." for number in range(pages)])
    with open_workshop(settings, PdfiumReader(before_page=once_more)) as shop:
        document = shop.ingest.add(path, "a.pdf").document
        shop.finish()
        assert again == [0]
        assert [receipt.status for receipt in shop.library.receipts(document.id)] == [PageStatus.TEXT] * pages
        assert shop.rows()["passages"] == shop.vectors() == pages


def test_ocr_that_is_switched_off_leaves_scanned_pages_alone(settings: Settings, tmp_path: Path) -> None:
    reader = PdfiumReader(recognised={0: "Stamped and signed in Bremen."})
    with open_workshop(settings.but(ocr=False), reader) as shop:
        document = shop.ingest.add(make_pdf(tmp_path / "a.pdf", [""]), "a.pdf").document
        shop.finish()
        assert shop.library.get(document.id).status is DocumentStatus.READY
        assert shop.library.coverage(document.id) == Coverage(1) and not shop.found("Bremen")
    with open_workshop(settings, reader) as shop:
        shop.ingest.retry(document.id)
        shop.finish()
        assert shop.found("Bremen")


def test_many_files_at_once_keep_searches_answered(settings: Settings, tmp_path: Path) -> None:
    with open_workshop(settings) as shop:
        first = shop.ingest.add(make_pdf(tmp_path / "first.pdf", [RATES]), "first.pdf").document
        shop.finish()
        embedder, index = shop.indexes.active()
        for number in range(50):
            text = f"Report {number}. {PARKING} The code word is word{number}."
            shop.ingest.add(make_pdf(tmp_path / f"{number}.pdf", [text] * 3), f"{number}.pdf")
        vector = embedder.embed(["interest on late payments"])[0]
        assert index.search(vector, document_ids=[first.id], limit=1)[0][0].startswith(first.id)
        assert shop.found("nine percent")
        shop.finish()
        assert shop.rows()["documents"] == 51 and shop.rows()["passages"] == shop.vectors() == 151
        assert {document.status for document in shop.library.list()} == {DocumentStatus.READY}


def test_second_process_on_the_same_folder_leaves_the_work_to_the_first(settings: Settings, tmp_path: Path) -> None:
    read: list[int] = []
    with open_workshop(settings) as first:
        first.ingest.add(make_pdf(tmp_path / "a.pdf", [RATES]), "a.pdf")
        first.finish()
        with open_workshop(settings, PdfiumReader(read.append)) as second:
            document = second.ingest.add(make_pdf(tmp_path / "b.pdf", [PARKING]), "b.pdf").document
            second.finish([document.id])
            assert read == []
            assert second.library.get(document.id).status is DocumentStatus.READY
            second.ingest.remove(document.id)
        first.finish()
    with open_workshop(settings) as third:
        third.finish()
        wait_until(lambda: third.rows()["removals"] == 0)
        assert third.rows()["removals"] == 0 and not third.library.file_path(document.id).exists()


def test_complete_vectors_do_not_end_a_job_with_unindexed_words(settings: Settings, tmp_path: Path) -> None:
    """Found by a kill between the words and their being searchable: the document was ready, and never found."""
    with open_workshop(settings) as shop:
        document = shop.ingest.add(make_pdf(tmp_path / "a.pdf", ["The rent is due."]), "a.pdf").document
        shop.finish()
    with closing(SqliteDatabase(settings.database_path)) as database, database.transaction() as connection:
        connection.execute("UPDATE jobs SET status = 'running', stage = ?", (JobStage.KEYWORDS,))
        connection.execute("UPDATE documents SET searchable = 0, status = 'reading'")
        connection.execute("DELETE FROM passage_words")
    with open_workshop(settings) as shop:
        shop.finish([document.id])
        assert shop.library.get(document.id).status is DocumentStatus.READY
        assert shop.library.get(document.id).searchable and shop.found("rent")
