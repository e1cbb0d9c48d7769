"""Promises about the vectors' folder: whatever happens to it, nothing stops or is left out, and it is made anew."""

import shutil
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

from core.domain.settings import Settings
from tests.ingest.workshop import LONG_SECONDS, Workshop, make_pdf, open_workshop

PAGES = [f"Chapter {number} of the contract speaks of matter{number}." for number in range(70)]
MORE = [f"Section {number} of the other paper deals with thing{number}." for number in range(70)]


def books(folder: Path) -> Path:
    return folder / "chroma.sqlite3"


def graph_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*.bin"))


def flip(path: Path, at: float = 0.3) -> None:
    content = bytearray(path.read_bytes())
    if content:
        content[int(len(content) * at)] ^= 0x40
        path.write_bytes(content)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def each(paths: Iterable[Path], damage: Callable[[Path], object]) -> None:
    for path in paths:
        damage(path)


def lose_graph(folder: Path) -> None:
    for path in graph_files(folder):
        shutil.rmtree(path.parent, ignore_errors=True)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "missing": shutil.rmtree,
    "emptied": lambda folder: each([path for path in folder.rglob("*") if path.is_file()], Path.unlink),
    "books missing": lambda folder: books(folder).unlink(),
    "books empty": lambda folder: books(folder).write_bytes(b""),
    "books truncated": lambda folder: truncate(books(folder)),
    "books no database": lambda folder: books(folder).write_bytes(b"\0" * 50_000),
    "books flipped at the front": lambda folder: flip(books(folder), at=0.001),
    "books flipped in the middle": lambda folder: flip(books(folder), at=0.5),
    "books flipped at the end": lambda folder: flip(books(folder), at=0.97),
    "graph missing": lose_graph,
    "graph empty": lambda folder: each(graph_files(folder), lambda path: path.write_bytes(b"")),
    "graph truncated": lambda folder: each(graph_files(folder), truncate),
    "graph flipped": lambda folder: each(graph_files(folder), flip),
}


def settled(shop: Workshop) -> bool:
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
    """A data directory with a document, and beside it its vectors as they were the day before."""
    folder = tmp_path_factory.mktemp("library")
    settings = Settings(data_dir=folder / "data", ocr=False)
    with open_workshop(settings) as shop:
        shop.ingest.add(make_pdf(folder / "a.pdf", MORE), "a.pdf")
        shop.finish()
        assert settled(shop)
    shutil.copytree(settings.vectors_dir, folder / "yesterday")
    with open_workshop(settings) as shop:
        shop.ingest.remove(shop.library.list()[0].id)
        shop.ingest.add(make_pdf(folder / "b.pdf", PAGES), "b.pdf")
        shop.finish()
        assert settled(shop)
    return folder


@pytest.fixture
def copied(library: Path, tmp_path: Path) -> Settings:
    shutil.copytree(library / "data", tmp_path / "data")
    shutil.copytree(library / "yesterday", tmp_path / "yesterday")
    return Settings(data_dir=tmp_path / "data", ocr=False)


def is_made_good(settings: Settings) -> None:
    with open_workshop(settings) as shop:
        assert pages_found(shop, PAGES[41])[0] == 41, "searched meanwhile too"
        assert settled(shop)
        assert pages_found(shop, PAGES[17])[0] == 17
        assert shop.indexes.check() == []
        shop.ingest.remove(shop.library.list()[0].id)
        assert shop.vectors() == 0 and set(shop.rows().values()) == {0}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_folder_is_noticed_and_made_anew(copied: Settings, damage: str) -> None:
    DAMAGES[damage](copied.vectors_dir)
    is_made_good(copied)


def test_folder_of_another_day_is_noticed_and_made_anew(copied: Settings, tmp_path: Path) -> None:
    shutil.rmtree(copied.vectors_dir)
    shutil.copytree(tmp_path / "yesterday", copied.vectors_dir)
    is_made_good(copied)


def test_one_file_of_another_day_is_noticed(copied: Settings, tmp_path: Path) -> None:
    shutil.copyfile(books(tmp_path / "yesterday"), books(copied.vectors_dir))
    is_made_good(copied)


def test_folder_as_it_was_left_is_not_made_anew(copied: Settings) -> None:
    made = {path.name for path in copied.vectors_dir.iterdir()}
    with open_workshop(copied) as shop:
        assert settled(shop) and pages_found(shop, PAGES[3])[0] == 3
        shop.finish()
    assert {path.name for path in copied.vectors_dir.iterdir()} == made


def test_folder_damaged_while_it_is_open_stops_no_question(copied: Settings) -> None:
    with open_workshop(copied) as shop:
        assert settled(shop) and pages_found(shop, PAGES[5])[0] == 5
        shutil.rmtree(copied.vectors_dir)
        assert pages_found(shop, PAGES[6])[0] == 6
        shop.ingest.add(make_pdf(copied.data_dir / "c.pdf", MORE[:5]), "c.pdf")
        shop.finish()
        assert settled(shop)
    with open_workshop(copied) as shop:
        assert settled(shop) and shop.vectors() == 75 and shop.indexes.check() == []


def test_what_else_is_in_the_folder_is_not_deleted(copied: Settings) -> None:
    (copied.vectors_dir / "notes.txt").write_text("mine")
    truncate(books(copied.vectors_dir))
    with open_workshop(copied) as shop:
        assert settled(shop)
    assert (copied.vectors_dir / "notes.txt").read_text() == "mine"


def test_vectors_lost_from_the_database_are_made_again(copied: Settings) -> None:
    with open_workshop(copied) as shop:
        assert settled(shop)
    with open_workshop(copied) as shop:
        shop.ingest.close()
        connection = shop.database.connection
        connection.execute("DELETE FROM embeddings WHERE rowid % 3 = 0")
        connection.execute(
            "UPDATE embeddings SET vector = ? WHERE rowid % 3 = 1", (np.full(384, np.nan, dtype="<f4").tobytes(),)
        )
        assert "words alone" in shop.indexes.check()[0] and shop.vectors() < 30
    with open_workshop(copied) as shop:
        waited = threading.Event()
        for _ in range(int(LONG_SECONDS / 0.1)):
            if not shop.indexes.check():
                break
            waited.wait(0.1)
        assert settled(shop) and shop.vectors() == 70 and shop.indexes.check() == []


def test_panic_of_chroma_ends_neither_question_nor_worker(copied: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    panic = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})
    with open_workshop(copied) as shop:
        assert settled(shop) and pages_found(shop, PAGES[5])[0] == 5
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
        assert settled(shop) and shop.indexes.check() == []


def test_folder_that_cannot_be_written_leaves_the_search_whole(copied: Settings, tmp_path: Path) -> None:
    shutil.rmtree(copied.vectors_dir)
    copied.vectors_dir.symlink_to(tmp_path / "nowhere" / "at" / "all")
    with open_workshop(copied) as shop:
        shop.ingest.add(make_pdf(tmp_path / "c.pdf", MORE[:5]), "c.pdf")
        shop.finish()
        assert pages_found(shop, MORE[3])[0] == 3 and shop.vectors() == 75
