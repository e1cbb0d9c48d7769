"""Promise: whatever a page contains, others can write while it is processed; who must wait gets a clear message."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pincite.core.domain.documents import Block, BlockKind, Page
from pincite.core.domain.errors import BusyError
from pincite.core.domain.settings import Settings
from pincite.core.ingest.stages import MAX_PAGE_LENGTH
from pincite.core.store import keywords as keywords_module
from pincite.core.store import shelf as shelf_module
from pincite.core.store import sqlite as database_module
from pincite.core.store.sqlite import SqliteDatabase
from tests.ingest.pdfium_reader import PdfiumReader
from tests.ingest.workshop import make_pdf, open_workshop
from tests.support.rows import sqlite_of

CHARACTERS = 71_000
PAGES = {
    "no spaces": "x" * CHARACTERS,
    "one heading": "heading " * (CHARACTERS // 8),
    "numbers": " ".join(f"{number},{number % 1000:03}.5" for number in range(CHARACTERS // 12)),
    "signs": "." * CHARACTERS,
    "ideographs": "漢字" * (CHARACTERS // 2),
}


class OneTextReader(PdfiumReader):
    """A reader that finds the same text on each page, all of it one heading with the longest of column heads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def read(self, path: Path, page_indexes: Sequence[int]) -> Iterator[Page]:
        block = Block(0, len(self._text), BlockKind.HEADING, 1, column_heads=self._text)
        for page in super().read(path, page_indexes):
            yield replace(page, text=self._text, words=(), blocks=(block,))


def watch(function: Callable[..., Any], database: SqliteDatabase, calls: list[str]) -> Callable[..., Any]:
    def watched(*arguments: Any) -> Any:
        if database.connection.in_transaction:
            calls.append(function.__name__)
        return function(*arguments)

    return watched


@pytest.mark.parametrize("kind", PAGES)
def test_nothing_that_takes_time_is_done_under_the_write_lock(
    settings: Settings, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    with open_workshop(settings, OneTextReader(PAGES[kind])) as shop:
        monkeypatch.setattr(keywords_module, "index_terms", watch(keywords_module.index_terms, sqlite_of(shop), calls))
        for name in ("encode_layout", "embedding_key"):
            monkeypatch.setattr(shelf_module, name, watch(getattr(shelf_module, name), sqlite_of(shop), calls))
        document = shop.ingest.add(make_pdf(tmp_path / "a.pdf", ["text"]), "a.pdf").document
        assert shop.ingest.wait([document.id], searchable_only=True, timeout_seconds=300)
        assert calls == [] and shop.library.get(document.id).passage_count > 50
        contexts = sqlite_of(shop).connection.execute("SELECT max(length(context)) FROM passages").fetchone()[0]
        assert contexts < 2_000, "a heading is repeated with each passage, and so has a limit"


def test_page_that_is_too_long_is_cut_and_its_receipt_reports_it(settings: Settings, tmp_path: Path) -> None:
    with open_workshop(settings, OneTextReader("A line of the ledger.\n" * 30_000)) as shop:
        document = shop.ingest.add(make_pdf(tmp_path / "a.pdf", ["text"]), "a.pdf").document
        assert shop.ingest.wait([document.id], searchable_only=True, timeout_seconds=300)
        (receipt,) = shop.library.receipts(document.id)
        assert receipt.characters == MAX_PAGE_LENGTH
        assert "only the first 400,000 of its 660,000 characters" in receipt.reason
        shop.ingest.cancel(document.id)


def test_writer_that_waits_too_long_gets_a_busy_error(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "BUSY_SECONDS", 0.1)
    with closing(SqliteDatabase(settings.database_path)) as database:
        holds, may_end = threading.Event(), threading.Event()

        def hold() -> None:
            with database.transaction():
                holds.set()
                assert may_end.wait(300)

        holder = threading.Thread(target=hold)
        holder.start()
        assert holds.wait(300)
        try:
            with pytest.raises(BusyError, match="Try again") as told, database.transaction():
                pass
            with pytest.raises(BusyError):
                database.connection.execute("DELETE FROM documents")
        finally:
            may_end.set()
            holder.join()
        assert "locked" not in str(told.value)
        with database.transaction():
            pass


def test_a_commit_that_fails_leaves_no_transaction_open(settings: Settings) -> None:
    with closing(SqliteDatabase(settings.database_path)) as database:
        with pytest.raises(Exception, match="FOREIGN KEY"), database.transaction() as connection:
            connection.execute("PRAGMA defer_foreign_keys = ON")
            connection.execute(
                "INSERT INTO pages (document_id, page_index, page_label, status, layout) VALUES ('a', 0, '', '', x'')"
            )
        assert not database.connection.in_transaction
