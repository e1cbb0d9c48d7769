"""With PostgreSQL any number of processes read, recognise and embed, each document in one of them."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pincite.core.domain.documents import DocumentStatus
from pincite.core.domain.settings import Settings
from tests.ingest.other_embedder import OtherEmbedder
from tests.ingest.pdfium_reader import PdfiumReader
from tests.ingest.test_ingest import PARKING, RATES, Gate
from tests.ingest.workshop import LONG_SECONDS, Workshop, make_pdf, open_workshop
from tests.support.databases import end_connections


@pytest.fixture
def gate() -> Gate:
    return Gate(1)


@pytest.fixture
def workers(tmp_path: Path, postgresql: str, gate: Gate) -> Iterator[tuple[Workshop, Workshop]]:
    """Two that share a library; the first is held at the second page of what it reads."""
    with ExitStack() as opened:
        opened.callback(gate.opened.set)
        one, two = (
            Settings(data_dir=tmp_path / name, database_url=postgresql, shared_files=str(tmp_path / "files"))
            for name in ("one", "two")
        )
        yield (opened.enter_context(open_workshop(one, PdfiumReader(gate))), opened.enter_context(open_workshop(two)))


@pytest.mark.behaviour("Several processes", "Several workers read documents at the same time, each one of its own.")
def test_a_worker_takes_the_next_document_while_another_reads(
    workers: tuple[Workshop, Workshop], gate: Gate, tmp_path: Path
) -> None:
    one, two = workers
    two.ingest.close()
    held = one.ingest.add(make_pdf(tmp_path / "a.pdf", [RATES, PARKING]), "a.pdf").document.id
    assert gate.reached.wait(LONG_SECONDS)
    with open_workshop(two.settings) as other:
        free = other.ingest.add(make_pdf(tmp_path / "b.pdf", [PARKING, RATES, RATES]), "b.pdf").document.id
        other.finish([free])
        assert other.library.get(free).status is DocumentStatus.READY
        assert other.library.get(held).status is DocumentStatus.READING and not other.library.receipts(held)
        gate.opened.set()
        other.finish()
        assert [page.page_index for page in other.library.receipts(held)] == [0, 1]
        assert other.vectors() == other.rows()["passages"] == other.rows()["passage_words"] == 5


@pytest.mark.behaviour("Several processes", "A worker that lost the database leaves its document to the others.")
def test_what_a_worker_lost_its_claim_to_another_reads(
    workers: tuple[Workshop, Workshop], gate: Gate, postgresql: str, tmp_path: Path
) -> None:
    one, two = workers
    two.ingest.close()
    held = one.ingest.add(make_pdf(tmp_path / "a.pdf", [RATES, PARKING]), "a.pdf").document.id
    assert gate.reached.wait(LONG_SECONDS)
    end_connections(postgresql)
    others = Gate(1)
    with open_workshop(two.settings, PdfiumReader(others)) as other:
        assert others.reached.wait(LONG_SECONDS)
        gate.opened.set()
        time.sleep(1.0)
        assert not one.library.receipts(held), "the first left it"
        others.opened.set()
        other.finish()
        assert len(other.library.receipts(held)) == other.vectors() == other.rows()["passages"] == 2


def test_a_worker_without_its_embedder_leaves_the_documents_of_others(
    workers: tuple[Workshop, Workshop], gate: Gate, tmp_path: Path
) -> None:
    """One embeds a document, slowly; in the other the embedder is away."""
    gate.opened.set()
    for shop in workers:
        shop.ingest.close()
    slow, away = OtherEmbedder(), OtherEmbedder()
    slow.opened.clear()
    away.broken = True
    one_settings, two_settings = (shop.settings.but(embedding_model="other") for shop in workers)
    with open_workshop(one_settings, embedders=lambda name, settings: slow) as first:
        held = first.ingest.add(make_pdf(tmp_path / "a.pdf", [RATES, PARKING]), "a.pdf").document.id
        assert slow.reached.wait(LONG_SECONDS)
        with open_workshop(two_settings, embedders=lambda name, settings: away) as second:
            lost = second.ingest.add(make_pdf(tmp_path / "b.pdf", [PARKING]), "b.pdf").document.id
            second.finish([lost])
            assert second.library.get(lost).status is DocumentStatus.FAILED
            assert second.library.get(held).status is DocumentStatus.EMBEDDING
            slow.opened.set()
            second.finish([held])
            assert second.library.get(held).status is DocumentStatus.READY
