"""What tests of ingest work with: PDFs made on the spot, and ingest on real stores in a folder of its own."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fpdf import FPDF
from sqlalchemy import text as sql

from pincite.core.domain.documents import MetadataField, MetadataSource, Page
from pincite.core.domain.ports import Embedder, KeywordIndex, PageReader, PdfInfo
from pincite.core.domain.settings import Settings
from pincite.core.ingest.pipeline import Ingest
from pincite.core.ingest.stages import Describe, Stores
from pincite.core.services.registry import make_embedder
from pincite.core.store.database import Database
from pincite.core.store.indexes import Indexes
from pincite.core.store.jobs import Jobs
from pincite.core.store.library import Library
from pincite.core.store.open import open_database
from pincite.core.store.shelf import Shelf
from tests.ingest.pdfium_reader import PdfiumReader

TABLES = ("documents", "metadata", "pages", "passages", "passage_words", "embeddings", "jobs", "removals")
LONG_SECONDS = 300.0


def make_pdf(path: Path, pages: Sequence[str], *, password: str = "") -> Path:
    """One page for each text; an empty text gives a page without any."""
    document = FPDF()
    document.set_creation_date(datetime(2026, 1, 1, tzinfo=UTC))
    if password:
        document.set_encryption(owner_password="owner", user_password=password)
    for text in pages:
        document.add_page()
        document.set_font("helvetica", size=11)
        document.multi_cell(0, 6, text)
    document.output(str(path))
    return path


def describe(info: PdfInfo, first_pages: Sequence[Page], file_name: str) -> tuple[MetadataField, ...]:
    return (MetadataField("title", Path(file_name).stem, MetadataSource.FILE_NAME),)


@dataclass(frozen=True)
class Workshop:
    settings: Settings
    database: Database
    library: Library
    keywords: KeywordIndex
    indexes: Indexes
    stores: Stores
    ingest: Ingest

    def rows(self) -> dict[str, int]:
        """How many rows each table of the library has."""
        return {table: self.database.count(sql(f"SELECT count(*) FROM {table}")) for table in TABLES}

    def vectors(self) -> int:
        return self.indexes.active()[1].count()

    def finish(self, document_ids: Sequence[str] | None = None) -> None:
        assert self.ingest.wait(document_ids, timeout_seconds=LONG_SECONDS)

    def found(self, words: str) -> list[str]:
        """Ids of the passages that the keyword index finds."""
        return [passage_id for passage_id, _ in self.keywords.search(words, document_ids=(), limit=50)]


@contextmanager
def open_workshop(
    settings: Settings,
    reader: PageReader | None = None,
    embedders: Callable[[str, Settings], Embedder] = make_embedder,
    describe: Describe = describe,
) -> Iterator[Workshop]:
    database = open_database(settings)
    library = Library(database, settings)
    keywords = database.keyword_index()
    indexes = Indexes(database, settings, embedders)
    shelf = Shelf(database, library, keywords, settings)
    jobs, lock = Jobs(database, shelf, indexes), database.lock("ingest", shared=True)
    stores = Stores(library, shelf, jobs, indexes, lock, database.claim)
    ingest = Ingest(stores, reader or PdfiumReader(), describe, settings)
    try:
        yield Workshop(settings, database, library, keywords, indexes, stores, ingest)
    finally:
        ingest.close()
        indexes.close()
        database.close()
