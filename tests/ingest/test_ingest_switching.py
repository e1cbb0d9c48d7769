"""Promises of changing the embedder: search goes on with the old index while the new one is built; a kill, a failing
server or a change of mind loses nothing; the switch happens when the new index is whole, and can be taken back.

The Ollama half runs where a server at OLLAMA_HOST (or the default address) has ``all-minilm``.
"""

import multiprocessing
import signal
import threading
from pathlib import Path

import pytest

from pincite.core.domain.errors import IndexMismatchError
from pincite.core.domain.settings import Settings
from tests.contracts.test_embedder import ollama_has
from tests.ingest.doomed import build_until_killed
from tests.ingest.other_embedder import OtherEmbedder, choose
from tests.ingest.workshop import LONG_SECONDS, Workshop, make_pdf, open_workshop

pytestmark = pytest.mark.usefixtures("each_engine")

PAGES = [f"Chapter {number} of the contract speaks of matter{number}." for number in range(150)]


def closest_page(shop: Workshop, text: str) -> int:
    """The page that the active index finds for a text."""
    embedder, index = shop.indexes.active()
    [(passage_id, _)] = index.search(embedder.embed([text])[0], document_ids=(), limit=1)
    return shop.library.passages([passage_id])[0].page_index


def switched(shop: Workshop, name: str) -> bool:
    """Wait until the active embedder is the named one."""
    waited = threading.Event()
    for _ in range(int(LONG_SECONDS / 0.1)):
        if shop.indexes.active()[0].name == name:
            return True
        waited.wait(0.1)
    return False


def test_search_goes_on_with_the_old_index_until_the_new_one_is_whole(settings: Settings, tmp_path: Path) -> None:
    other = OtherEmbedder()
    other.opened.clear()
    with open_workshop(settings, embedders=lambda name, chosen: choose(other, name, chosen)) as shop:
        shop.ingest.add(make_pdf(tmp_path / "a.pdf", PAGES), "a.pdf")
        shop.finish()
        shop.indexes.switch_to("other")
        assert other.reached.wait(LONG_SECONDS)
        assert shop.indexes.active()[0].name == "minilm" and closest_page(shop, PAGES[3]) == 3
        progress = shop.indexes.progress()
        assert progress is not None and (progress.embedder, progress.total) == ("other", 150)
        other.opened.set()
        assert switched(shop, "other") and shop.indexes.progress() is None
        assert closest_page(shop, PAGES[3]) == 3 and shop.vectors() == 150
        embedded = len(other.embedded)
        assert shop.indexes.roll_back() and switched(shop, "minilm") and closest_page(shop, PAGES[4]) == 4
        assert shop.indexes.roll_back() and switched(shop, "other")
        assert len(other.embedded) == embedded, "going back and forth embeds nothing again"


def test_document_added_after_the_switch_is_kept_after_switching_back(settings: Settings, tmp_path: Path) -> None:
    other = OtherEmbedder()
    with open_workshop(settings, embedders=lambda name, chosen: choose(other, name, chosen)) as shop:
        first = shop.ingest.add(make_pdf(tmp_path / "a.pdf", PAGES[:3]), "a.pdf").document
        shop.finish()
        shop.indexes.switch_to("other")
        assert switched(shop, "other")
        second = shop.ingest.add(make_pdf(tmp_path / "b.pdf", PAGES[3:6]), "b.pdf").document
        shop.finish()
        shop.ingest.remove(first.id)
        shop.indexes.roll_back()
        assert switched(shop, "minilm")
        assert shop.vectors() == 3 and closest_page(shop, PAGES[4]) == 1
        shop.ingest.remove(second.id)
        assert shop.rows()["embeddings"] == shop.vectors() == 0


def test_model_that_goes_away_stops_the_build_and_not_the_search(settings: Settings, tmp_path: Path) -> None:
    other = OtherEmbedder()
    with open_workshop(settings, embedders=lambda name, chosen: choose(other, name, chosen)) as shop:
        shop.ingest.add(make_pdf(tmp_path / "a.pdf", PAGES[:5]), "a.pdf")
        shop.finish()
        other.broken = True
        shop.indexes.switch_to("other")
        waited = threading.Event()
        for _ in range(600):
            progress = shop.indexes.progress()
            if progress is None or progress.message:
                break
            waited.wait(0.1)
        assert progress is not None and "away" in progress.message and closest_page(shop, PAGES[2]) == 2
        other.broken = False
        shop.indexes.switch_to("other")
        assert switched(shop, "other")


def test_index_of_an_embedder_that_changed_is_not_asked(settings: Settings, tmp_path: Path) -> None:
    other = OtherEmbedder()
    with open_workshop(settings, embedders=lambda name, chosen: choose(other, name, chosen)) as shop:
        shop.ingest.add(make_pdf(tmp_path / "a.pdf", PAGES[:2]), "a.pdf")
        shop.indexes.switch_to("other")
        shop.finish()
        assert switched(shop, "other")
    newer = OtherEmbedder()
    newer.version = "2"
    with open_workshop(settings, embedders=lambda name, chosen: choose(newer, name, chosen)) as shop:
        with pytest.raises(IndexMismatchError, match=r"other@1.*other@2"):
            shop.indexes.active()
        shop.indexes.switch_to("other")
        waited = threading.Event()
        for _ in range(600):
            if shop.indexes.progress() is None:
                break
            waited.wait(0.1)
        assert closest_page(shop, PAGES[1]) == 1


def test_build_goes_on_after_a_kill(settings: Settings, tmp_path: Path) -> None:
    with open_workshop(settings) as shop:
        shop.ingest.add(make_pdf(tmp_path / "a.pdf", PAGES), "a.pdf")
        shop.finish()
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=build_until_killed, args=(settings,))
    process.start()
    process.join(LONG_SECONDS)
    assert process.exitcode == -signal.SIGKILL
    other = OtherEmbedder()
    with open_workshop(settings, embedders=lambda name, chosen: choose(other, name, chosen)) as shop:
        assert shop.indexes.active()[0].name == "minilm" and closest_page(shop, PAGES[3]) == 3
        assert switched(shop, "other") and closest_page(shop, PAGES[3]) == 3
        assert shop.vectors() == 150 and len([text for text in other.embedded if text != PAGES[3]]) < 150


@pytest.mark.skipif(not ollama_has("all-minilm"), reason="no Ollama server with all-minilm")
def test_minilm_to_ollama_and_back(settings: Settings, tmp_path: Path) -> None:
    with open_workshop(settings) as shop:
        shop.ingest.add(make_pdf(tmp_path / "a.pdf", PAGES[:20]), "a.pdf")
        shop.finish()
        shop.indexes.switch_to("ollama:all-minilm")
        assert switched(shop, "ollama:all-minilm") and closest_page(shop, PAGES[7]) == 7
        shop.indexes.switch_to("minilm")
        assert switched(shop, "minilm") and closest_page(shop, PAGES[7]) == 7
        assert shop.vectors() == 20
