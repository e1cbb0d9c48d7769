"""Promise: a document is found under the title that it has now, whenever that was corrected, without being read again.

Its title is part of what is indexed of each passage.
"""

from pathlib import Path

from pincite.core.domain.documents import DocumentStatus, MetadataField, MetadataSource
from pincite.core.domain.settings import Settings
from tests.ingest.pdfium_reader import PdfiumReader
from tests.ingest.workshop import Workshop, make_pdf, open_workshop
from tests.support.rows import sqlite_of

PAGES = [f"Clause {number} speaks of matter{number}." for number in range(20)]
OLD, NEW = "terms", "Charter of the Bremen shipyard"


def titled(title: str) -> tuple[MetadataField, ...]:
    return (MetadataField("title", title, MetadataSource.USER),)


def contexts(shop: Workshop) -> set[str]:
    return {row["context"] for row in sqlite_of(shop).connection.execute("SELECT context FROM passages")}


def similarity(shop: Workshop, text: str) -> float:
    embedder, index = shop.indexes.active()
    return index.search(embedder.embed([text])[0], document_ids=(), limit=1)[0][1]


def test_corrected_title_is_reindexed_by_word_and_by_meaning(settings: Settings, tmp_path: Path) -> None:
    read: list[int] = []
    with open_workshop(settings, PdfiumReader(read.append)) as shop:
        document = shop.ingest.add(make_pdf(tmp_path / "a.pdf", PAGES), f"{OLD}.pdf").document
        shop.finish()
        assert len(shop.found(OLD)) == len(PAGES) and contexts(shop) == {OLD} and not shop.found("shipyard")
        before, passages, rows = similarity(shop, NEW), set(shop.found("clause")), shop.rows()
        read.clear()
        shop.ingest.set_metadata(document.id, titled(NEW))
        assert shop.library.get(document.id).searchable
        shop.finish()
        assert set(shop.found("shipyard")) == passages == set(shop.found("clause")) and not shop.found(OLD)
        assert similarity(shop, NEW) > before + 0.2 and shop.vectors() == len(PAGES)
        assert read == [] and shop.rows() == rows
        assert shop.library.get(document.id).status is DocumentStatus.READY


def test_other_facts_are_kept_without_indexing_anything(settings: Settings, tmp_path: Path) -> None:
    with open_workshop(settings) as shop:
        document = shop.ingest.add(make_pdf(tmp_path / "a.pdf", PAGES[:2]), f"{OLD}.pdf").document
        shop.finish()
        author = MetadataField("author", "A. Tide", MetadataSource.USER)
        shop.ingest.set_metadata(document.id, (*titled(OLD), author))
        assert shop.stores.jobs.unfinished() == () and author in shop.library.get(document.id).metadata


def test_title_corrected_while_the_document_is_read_holds_for_all_its_pages(settings: Settings, tmp_path: Path) -> None:
    def correct(index: int) -> None:
        if index == len(PAGES) - 1:
            [document] = shop.library.list()
            shop.ingest.set_metadata(document.id, titled(NEW))

    with open_workshop(settings, PdfiumReader(correct)) as shop:
        shop.ingest.add(make_pdf(tmp_path / "a.pdf", PAGES), f"{OLD}.pdf")
        shop.finish()
        assert contexts(shop) == {NEW} and shop.vectors() == len(PAGES)


def test_title_does_not_restart_a_stopped_document_but_is_indexed_later(settings: Settings, tmp_path: Path) -> None:
    with open_workshop(settings) as shop:
        document = shop.ingest.add(make_pdf(tmp_path / "a.pdf", PAGES[:3]), f"{OLD}.pdf").document
        shop.finish()
        shop.ingest.close()
        shop.stores.jobs.enqueue(document.id)
        shop.ingest.cancel(document.id)
        shop.ingest.set_metadata(document.id, titled(NEW))
        assert shop.library.get(document.id).status is DocumentStatus.CANCELLED and contexts(shop) == {OLD}
    with open_workshop(settings) as shop:
        shop.ingest.retry(document.id)
        shop.finish()
        assert contexts(shop) == {NEW} and shop.vectors() == 3
