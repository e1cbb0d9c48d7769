"""Promises about vectors: whatever happens to them, nothing stops or is omitted, and they are rebuilt."""

import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from pincite.core.domain.settings import Settings
from tests.ingest.workshop import LONG_SECONDS, Workshop, make_pdf, open_workshop
from tests.support.rows import sqlite_of

PAGES = [f"Chapter {number} of the contract speaks of matter{number}." for number in range(70)]
MORE = [f"Section {number} of the other paper deals with thing{number}." for number in range(70)]


def vectors_rebuilt(shop: Workshop) -> bool:
    """Wait until Chroma holds what SQLite holds."""
    waited = threading.Event()
    for _ in range(int(LONG_SECONDS / 0.1)):
        if shop.indexes.in_step and not shop.indexes.check():
            return True
        waited.wait(0.1)
    return False


def pages_found(shop: Workshop, text: str) -> list[int]:
    embedder, index = shop.indexes.active()
    found = index.search(embedder.embed([text])[0], document_ids=(), limit=3)
    return [shop.library.passages([name])[0].page_index for name, _ in found]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    with open_workshop(Settings(data_dir=folder / "data", ocr=False)) as shop:
        shop.ingest.add(make_pdf(folder / "b.pdf", PAGES), "b.pdf")
        shop.finish()
        assert vectors_rebuilt(shop)
    return folder


@pytest.fixture
def copied(library: Path, tmp_path: Path) -> Settings:
    shutil.copytree(library / "data", tmp_path / "data")
    return Settings(data_dir=tmp_path / "data", ocr=False)


def test_vectors_lost_from_the_database_are_rebuilt(copied: Settings) -> None:
    with open_workshop(copied) as shop:
        assert vectors_rebuilt(shop)
    with open_workshop(copied) as shop:
        shop.ingest.close()
        connection = sqlite_of(shop).connection
        connection.execute("DELETE FROM embeddings WHERE rowid % 3 = 0")
        connection.execute(
            "UPDATE embeddings SET vector = ? WHERE rowid % 3 = 1", (np.full(384, np.nan, dtype="<f4").tobytes(),)
        )
        assert shop.indexes.check()[0].endswith("found by words only: 47.") and shop.vectors() == 47
    with open_workshop(copied) as shop:
        waited = threading.Event()
        for _ in range(int(LONG_SECONDS / 0.1)):
            if not shop.indexes.check():
                break
            waited.wait(0.1)
        assert vectors_rebuilt(shop) and shop.vectors() == 70 and shop.indexes.check() == []


def test_panic_of_chroma_ends_neither_question_nor_worker(copied: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    panic = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})
    with open_workshop(copied) as shop:
        assert vectors_rebuilt(shop) and pages_found(shop, PAGES[5])[0] == 5
        import chromadb

        with monkeypatch.context() as patch:
            for name in ("query", "get", "upsert", "delete"):
                patch.setattr(chromadb.Collection, name, lambda *_, **__: (_ for _ in ()).throw(panic("index out of")))
            assert pages_found(shop, PAGES[6])[0] == 6
            shop.ingest.add(make_pdf(copied.data_dir / "c.pdf", MORE[:5]), "c.pdf")
            shop.finish()
            assert pages_found(shop, MORE[3])[0] == 3
            shop.ingest.remove(shop.library.list()[0].id)
    with open_workshop(copied) as shop:
        assert vectors_rebuilt(shop) and shop.indexes.check() == []
