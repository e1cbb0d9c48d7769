"""Promise: after ``kill -9`` at any moment and a new start, ingest continues, repeats no page and duplicates no row.

One library is ingested by several processes in turn; each kills itself after a number of SQL statements.
"""

import multiprocessing
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pincite.core.domain.documents import DocumentStatus
from pincite.core.domain.settings import Settings
from pincite.core.store.sqlite import SqliteDatabase
from tests.ingest.doomed import FILES, RECOGNISED, ingest_until_killed
from tests.ingest.pdfium_reader import PdfiumReader
from tests.ingest.workshop import LONG_SECONDS, Workshop, make_pdf, open_workshop
from tests.support.rows import sqlite_of

MAX_STARTS = 80


@pytest.fixture(scope="module")
def start() -> Iterator[multiprocessing.context.ForkServerContext]:
    """Starts processes from one that has the heavy libraries loaded."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["chromadb", "onnxruntime", "tests.ingest.doomed"])
    yield context


def _state(shop: Workshop) -> tuple[object, ...]:
    """Everything that must come out the same, however often the work was interrupted."""
    connection = sqlite_of(shop).connection
    passages = connection.execute("SELECT id, heading_path, context FROM passages ORDER BY id").fetchall()
    pages = connection.execute("SELECT document_id, page_index, status, text FROM pages ORDER BY 1, 2").fetchall()
    found = sorted(shop.found("matter5 part17 Bremen Ghent"))
    vectors = {document.id: shop.indexes.active()[1].lacking([document.id]) for document in shop.library.list()}
    return [tuple(row) for row in passages], [tuple(row) for row in pages], found, vectors, shop.rows()


def _finished_pages(settings: Settings) -> set[str]:
    database = SqliteDatabase(settings.database_path)
    rows = database.connection.execute("SELECT document_id, page_index FROM pages").fetchall()
    database.close()
    return {f"{row['document_id']} {row['page_index']}" for row in rows}


@pytest.mark.parametrize(("least", "further"), [(4, 200), pytest.param(20, 20, marks=pytest.mark.campaign)])
def test_ingest_survives_being_killed_anywhere(
    settings: Settings, tmp_path: Path, start: multiprocessing.context.ForkServerContext, least: int, further: int
) -> None:
    """``least``: the minimum number of kills; ``further``: by how many statements the limit grows per process."""
    for number, pages in enumerate(FILES):
        make_pdf(tmp_path / f"{number}.pdf", pages)
    untouched = settings.but(data_dir=tmp_path / "untouched")
    with open_workshop(untouched, PdfiumReader(recognised=RECOGNISED)) as shop:
        for number in range(len(FILES)):
            shop.ingest.add(tmp_path / f"{number}.pdf", f"{number}.pdf")
        shop.finish()
        expected = _state(shop)

    moments = random.Random(7)
    kills = 0
    for attempt in range(MAX_STARTS):
        finished = _finished_pages(settings)
        log = tmp_path / f"read-{attempt}"
        statements = moments.randrange(1, 60 + further * attempt)
        process = start.Process(target=ingest_until_killed, args=(settings, tmp_path, statements, log))
        process.start()
        process.join(LONG_SECONDS)
        assert process.exitcode in (0, -signal.SIGKILL), "ended on its own, or by the kill"
        if log.exists():
            assert not finished.intersection(log.read_text().splitlines()), "a finished page was read again"
        if process.exitcode == 0:
            break
        kills += 1
    assert kills >= least, f"only {kills} kills before the work was done"

    with open_workshop(settings, PdfiumReader(recognised=RECOGNISED)) as shop:
        shop.finish()
        assert _state(shop) == expected
        assert {document.status for document in shop.library.list()} == {DocumentStatus.READY}
        for document in shop.library.list():
            shop.ingest.remove(document.id)
        assert set(shop.rows().values()) == {0} and shop.vectors() == 0
        assert not list(settings.files_dir.glob("*.pdf"))
