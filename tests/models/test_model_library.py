"""The models of an Ollama server: listed with requirements, fetched with progress, stopped, removed; errors too."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pincite.core.domain.errors import ModelUnavailableError
from pincite.core.domain.models import Fetch, KeptModel
from pincite.core.domain.settings import Settings
from pincite.core.models.ollama import KEEP_ALIVE, OllamaProvider, chat_models, host_of
from pincite.core.models.ollama_library import kept_models, recommended
from pincite.core.services.engines import Engines
from pincite.core.services.model_library import ModelLibrary
from pincite.core.services.settings import SettingsInForce


class Shop:
    """An Ollama server that has one model and fetches others in three steps."""

    def __init__(self) -> None:
        self.names = ["small:1b"]
        self.gate = threading.Event()
        """Waited for in the middle of a fetch."""
        self.hung_up = threading.Event()
        self.refuses = ""
        self.loaded: list[dict[str, Any]] = []
        """How models were asked to be loaded."""
        shop = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                entries = [
                    {"model": name, "size": 7_000_000, "details": {"parameter_size": "1B", "quantization_level": "Q4"}}
                    for name in shop.names
                ]
                self._say({"models": entries if self.path == "/api/tags" else entries[:1]})

            def do_POST(self) -> None:
                asked = self._asked()
                if self.path == "/api/show":
                    self._say({"model_info": {"x.context_length": 4096}, "capabilities": ["completion"]})
                elif self.path == "/api/generate":
                    shop.loaded.append(asked)
                    self._say({"model": asked["model"], "done": True, "done_reason": "load"})
                elif shop.refuses:
                    self._say({"error": shop.refuses})
                else:
                    self._fetch(asked["model"])

            def do_DELETE(self) -> None:
                shop.names.remove(self._asked()["model"])
                self._say({})

            def _fetch(self, name: str) -> None:
                self.send_response(200)
                self.end_headers()
                try:
                    self._line({"status": "pulling manifest"})
                    self._line({"status": "pulling abc", "completed": 40, "total": 100})
                    while not shop.gate.wait(0.02):
                        self._line({"status": "pulling abc", "completed": 40, "total": 100})
                    shop.names.append(name)
                    self._line({"status": "success"})
                except OSError:
                    shop.hung_up.set()

            def _asked(self) -> dict[str, Any]:
                return json.loads(self.rfile.read(int(self.headers["Content-Length"])))  # type: ignore[no-any-return]

            def _say(self, value: object) -> None:
                self.send_response(200)
                self.end_headers()
                self._line(value)

            def _line(self, value: object) -> None:
                self.wfile.write(json.dumps(value).encode() + b"\n")
                self.wfile.flush()

            def log_message(self, format: str, *values: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def shop() -> Iterator[Shop]:
    shop = Shop()
    yield shop
    shop.close()


def library_at(address: str, tmp_path: Path) -> ModelLibrary:
    return ModelLibrary(lambda: Settings(data_dir=tmp_path, ollama_host=address))


def waited_for(library: ModelLibrary, wanted: Any) -> Fetch:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        fetch = library.fetching()
        if fetch and wanted(fetch):
            return fetch
        time.sleep(0.01)
    raise AssertionError(library.fetching())


def test_each_model_is_listed_with_its_requirements(shop: Shop, tmp_path: Path) -> None:
    assert library_at(shop.address, tmp_path).list() == [
        KeptModel("small:1b", 7_000_000, "1B", "Q4", 4096, chats=True, loaded=True)
    ]


def test_a_fetch_tells_how_far_it_is_and_the_model_is_there_afterwards(shop: Shop, tmp_path: Path) -> None:
    library = library_at(shop.address, tmp_path)
    library.fetch("large:9b")
    now = waited_for(library, lambda fetch: fetch.now.total).now
    assert (now.done, now.total) == (40, 100)
    library.fetch("other:1b")
    assert waited_for(library, lambda fetch: fetch.running).name == "large:9b", "one at a time"
    shop.gate.set()
    assert waited_for(library, lambda fetch: not fetch.running).error == ""
    assert [model.name for model in library.list()] == ["small:1b", "large:9b"]


def test_stopped_fetch_disconnects_from_the_server_and_reports_it_can_resume(shop: Shop, tmp_path: Path) -> None:
    library = library_at(shop.address, tmp_path)
    library.fetch("large:9b")
    waited_for(library, lambda fetch: fetch.now.total)
    library.stop()
    assert "was stopped" in waited_for(library, lambda fetch: not fetch.running).error
    assert shop.hung_up.wait(300), "the connection is closed"


def test_errors_are_reported_with_a_remedy(shop: Shop, tmp_path: Path) -> None:
    library = library_at(shop.address, tmp_path)
    shop.refuses = "pull model manifest: no such host"
    library.fetch("large:9b")
    message = waited_for(library, lambda fetch: not fetch.running).error
    assert "no such host" in message and "internet connection" in message
    library.fetch("a b")
    assert "not the name of a model" in waited_for(library, lambda f: f.name == "a b" and not f.running).error


def test_removed_model_is_not_listed(shop: Shop, tmp_path: Path) -> None:
    library = library_at(shop.address, tmp_path)
    assert library.list()
    library.remove("small:1b")
    assert library.list() == []


def test_an_address_that_nobody_allowed_is_not_asked(tmp_path: Path) -> None:
    assert library_at("http://192.0.2.7:11434", tmp_path).list() == []


def test_missing_server_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match="does not answer"):
        library_at("http://127.0.0.1:9", tmp_path).list()


@pytest.mark.parametrize(("gib", "name"), [(8, "qwen2.5:1.5b"), (12, "qwen2.5:7b"), (64, "qwen2.5:14b")])
def test_the_recommended_model_fits_the_memory(monkeypatch: pytest.MonkeyPatch, gib: int, name: str) -> None:
    monkeypatch.setattr("os.sysconf", lambda asked: gib * 2**18 if asked == "SC_PHYS_PAGES" else 4096)
    assert recommended() == name


def test_a_real_server_tells_of_its_models() -> None:
    try:
        names = chat_models(host_of(""))
    except ModelUnavailableError as error:
        pytest.skip(str(error))
    kept = {model.name: model for model in kept_models(host_of(""))}
    assert set(names) == {name for name, model in kept.items() if model.chats}
    assert all(model.size > 1_000_000 and model.context_tokens >= 128 for model in kept.values())


def in_force(settings: Settings) -> SettingsInForce:
    return cast(SettingsInForce, SimpleNamespace(current=settings))


def test_the_model_that_would_answer_is_loaded_once_before_it_is_asked(shop: Shop, tmp_path: Path) -> None:
    engines = Engines(in_force(Settings(data_dir=tmp_path, ollama_host=shop.address)))
    for _ in range(3):
        engines.warm()
    for thread in threading.enumerate():
        if thread.name == "warm":
            thread.join(300)
    (asked,) = shop.loaded
    assert (asked["model"], asked["keep_alive"], asked.get("prompt", "")) == ("small:1b", KEEP_ALIVE, "")
    assert asked["options"]["num_ctx"] == 4096, "as at every call, else it would be loaded again"


def test_nothing_is_loaded_where_no_server_answers(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, ollama_host="http://127.0.0.1:9")
    Engines(in_force(settings)).warm()
    assert not [thread for thread in threading.enumerate() if thread.name == "warm"]
    OllamaProvider().warm(settings, "gone")
