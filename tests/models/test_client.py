"""The client of model servers: it connects only to the given address and returns when it should."""

import asyncio
import http.server
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import Mock

import httpx
import ollama
import pytest

from pincite.core.domain.errors import ModelUnavailableError, SettingsError, StoppedError
from pincite.core.domain.settings import Settings, is_this_machine, server_address
from pincite.core.models import client
from pincite.core.models.client import ServerTrouble, ask, ollama_at, stoppable, stream
from pincite.core.models.ollama import host_of
from pincite.core.models.ollama_embedder import OllamaEmbedder
from pincite.core.models.openai_server import openai_at
from pincite.core.services.registry import look_for_engines
from tests.model_servers import Script, fake_openai_server


@dataclass
class Served:
    """A server that answers every request alike, and remembers what it was asked."""

    reply: bytes = b'{"models": [], "model_info": {}, "embeddings": [[3, 4]]}'
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    seen: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    address: str = ""


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    servers: list[http.server.ThreadingHTTPServer] = []

    def start(**how: object) -> Served:
        served = Served(**how)  # type: ignore[arg-type]  # the test chooses what is served

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                served.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(served.status)
                for name, value in served.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(served.reply)

            do_POST = do_CONNECT = do_GET

            def log_message(self, format: str, *args: object) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        served.address = f"http://127.0.0.1:{server.server_port}"
        return served

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def silent() -> Iterator[str]:
    """Yield the address of a server that accepts connections and never replies."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


# ------------------------------------------------------------ where it goes


def test_no_proxy_of_the_environment_sees_a_passage(
    serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, server = serve(), serve()
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, proxy.address)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    vectors = OllamaEmbedder("m", host=server.address).embed(["a secret passage"])
    assert vectors.tolist() == [pytest.approx([0.6, 0.8])]
    assert proxy.seen == []
    assert any(b"a secret passage" in body for _, _, body in server.seen)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(serve: Callable[..., Served], status: int) -> None:
    elsewhere = serve()
    server = serve(status=status, headers={"Location": f"{elsewhere.address}/api/embed"})
    with pytest.raises(ModelUnavailableError, match="does not follow"):
        OllamaEmbedder("m", host=server.address).embed(["a secret passage"])
    assert elsewhere.seen == []


def test_no_cookie_goes_back_and_no_key_goes_out_in_clear(
    serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "a secret key")
    server = serve(headers={"Set-Cookie": "track=me"})
    OllamaEmbedder("m", host=server.address).embed(["one", "two"][:1])
    assert len(server.seen) == 2
    assert not any({"cookie", "authorization"} & set(headers) for _, headers, _ in server.seen)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("127.0.0.1", "http://127.0.0.1:11434"),
        ("LocalHost:8080", "http://localhost:8080"),
        (":5000", "http://127.0.0.1:5000"),
        ("http://models.example", "http://models.example:80"),
        ("https://models.example/ollama/", "https://models.example:443/ollama"),
        ("[::1]:11434", "http://[::1]:11434"),
    ],
)
def test_an_address_is_shown_as_what_it_is(written: str, meant: str) -> None:
    assert server_address(written) == meant


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:11434@elsewhere.example",
        "http://user:secret@127.0.0.1",
        "http://127.0.0.1\\@elsewhere.example",
        "http://127.0.0.1#@elsewhere.example",
        "http://elsewhere.example?127.0.0.1",
        "ftp://127.0.0.1",
        "file:///etc/passwd",
        "unix:///run/ollama.sock",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:0",
        "http://127.0.0.1\n.elsewhere.example",
        "http://lоcalhost",  # a Cyrillic letter
        "//",
        " ",
    ],
)
def test_an_address_that_hides_where_it_leads_is_refused(
    address: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SettingsError):
        server_address(address)
    monkeypatch.setenv("OLLAMA_HOST", address)
    with pytest.raises(ModelUnavailableError):
        host_of("")
    assert look_for_engines(settings).name == "quoting"


def test_only_this_machine_is_taken_for_it() -> None:
    here = ("http://127.0.0.1:11434", "http://localhost:1", "http://[::1]:1", "http://127.8.8.8:1/path")
    elsewhere = (
        "http://127.0.0.1.example:1",
        "http://localhost.example:1",
        "http://192.168.1.7:1",
        "http://1127.0.0.1:1",
    )
    assert all(map(is_this_machine, here)) and not any(map(is_this_machine, elsewhere))


# ------------------------------------------------------------ when it comes back


def test_a_call_ends_with_its_time_however_slowly_the_server_speaks(silent: str) -> None:
    with pytest.raises(ServerTrouble, match="within 0 seconds"):
        ask(ollama_at(silent), ollama.AsyncClient.list, seconds=0.3)


def test_stop_takes_effect_while_the_server_is_silent(silent: str) -> None:
    stop = threading.Event()
    asked = threading.Event()
    ended: list[BaseException] = []

    async def listed(server: ollama.AsyncClient) -> object:
        asked.set()
        return await server.list()

    def wait() -> None:
        try:
            with stoppable(stop.is_set):
                ask(ollama_at(silent), listed, seconds=600)
        except StoppedError as error:
            ended.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    assert asked.wait(300)
    begun = time.monotonic()
    stop.set()
    thread.join(300)
    assert ended and time.monotonic() - begun < 30


def test_a_compressed_reply_is_refused_unopened(serve: Callable[..., Served]) -> None:
    server = serve(headers={"Content-Encoding": "gzip"}, reply=b"\x1f\x8b" + bytes(100))
    with pytest.raises(ModelUnavailableError, match="compressed"):
        OllamaEmbedder("m", host=server.address).embed(["one"])
    assert all(headers["accept-encoding"] == "identity" for _, headers, _ in server.seen)


@pytest.mark.parametrize(
    "vectors",
    ["[]", "[[]]", "[[1, 2], [3]]", "[[1], [2]]", "[[0, 0]]", "[[1e999, 1]]", "[[NaN, 1]]", "[null]", "[[null]]", "1"],
)
def test_a_vector_that_is_none_is_refused(serve: Callable[..., Served], vectors: str) -> None:
    server = serve(reply=b'{"model_info": {}, "embeddings": %s}' % vectors.encode())
    with pytest.raises(ModelUnavailableError, match="could not embed"):
        OllamaEmbedder("m", host=server.address).embed(["one"])


def test_a_server_is_asked_from_inside_a_running_event_loop_too(serve: Callable[..., Served]) -> None:
    served = serve()

    async def number() -> int:
        return len(ask(ollama_at(served.address), ollama.AsyncClient.list, seconds=30).models)

    assert asyncio.run(number()) == 0


def test_certificates_are_read_once_and_not_for_every_call(
    serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    create = Mock(wraps=httpx.create_ssl_context)
    monkeypatch.setattr(httpx, "create_ssl_context", create)
    client._trusted.cache_clear()
    served = serve()
    for _ in range(3):
        ask(ollama_at(served.address), ollama.AsyncClient.list, seconds=30)
    assert create.call_count == 1


def test_a_stream_that_is_dropped_lets_the_server_go_also_on_the_thread_that_asks_it() -> None:
    with fake_openai_server(Script(pieces=("One ", "two "), gate=threading.Event())) as script:
        asked: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "?"}], "stream": True}
        parts = stream(
            openai_at(script.address, ""), lambda server: server.chat.completions.create(**asked), seconds=60
        )
        assert next(parts).choices[0].delta.content == "One "
        client._loop().call_soon_threadsafe(parts.close)
        assert script.hung_up.wait(60)
        assert asyncio.run_coroutine_threadsafe(asyncio.sleep(0, "alive"), client._loop()).result(60) == "alive"
