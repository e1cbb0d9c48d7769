"""Web pages by their address: fetched once, within limits, and never without being allowed."""

import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pincite.core.domain.errors import DocumentError
from pincite.core.domain.settings import Settings
from pincite.core.services import web_pages
from pincite.core.services.bootstrap import open_pincite
from pincite.core.services.web_pages import fetch
from tests.support.pdfs import prose

PAGES = {
    "/lease": ("text/html; charset=iso-8859-1", "<h1>Lease</h1><p>Die Größe ist 40 m².</p>".encode("latin-1")),
    "/report.pdf": ("application/pdf", prose(["The loss is 3 million euros."])),
    "/notes": ("text/plain", b"The rent is 900 euros."), "/large": ("text/html", b"x" * 2 * 2**20),
    "/page.pdf": ("text/html", b"<p>Log in first.</p>"),
}  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path in ("/moved", "/round"):
            self.send_response(302)
            self.send_header("location", "/lease" if self.path == "/moved" else "/round")
            self.end_headers()
            return
        kind, content = PAGES.get(self.path, ("text/html", b"gone"))
        self.send_response(200 if self.path in PAGES else 404)
        self.send_header("content-type", kind)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    opened = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=opened.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{opened.server_port}"
    opened.shutdown()


@pytest.mark.parametrize(
    ("path", "name"),
    [("/lease", "127.0.0.1 lease.html"), ("/report.pdf", "127.0.0.1 report.pdf"), ("/notes", "127.0.0.1 notes.txt"),
     ("/moved", "127.0.0.1 lease.html"), ("/page.pdf", "127.0.0.1 page.html")],
)  # fmt: skip
def test_pages_and_files_are_fetched(server: str, path: str, name: str, tmp_path: Path) -> None:
    page = fetch(f" {server}{path} ", Settings(data_dir=tmp_path))
    assert page.name == name and page.content and page.address.startswith(server)


@pytest.mark.parametrize(
    ("address", "message"),
    [("{}/nothing", "the server answers 404"), ("{}/round", "redirects"), ("{}/large", "larger than 1 MiB"),
     ("file:///etc/passwd", "no address"), ("javascript:1", "no address"), ("", "no address"), ("http://", "fetched"),
     ("http://127.0.0.1:1/", "cannot be fetched"), ("http://no.such.host.invalid/", "cannot be fetched")],
)  # fmt: skip
def test_what_cannot_be_fetched_is_told_with_what_to_do(
    server: str, address: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(DocumentError, match=message) as raised:
        fetch(address.format(server), Settings(data_dir=tmp_path, max_file_mib=1))
    assert raised.value.hint


def test_nothing_is_fetched_where_it_is_turned_off(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="not fetched"):
        fetch("http://127.0.0.1:1/", Settings(data_dir=tmp_path, web_pages=False))


def test_a_slow_page_ends_at_its_limit(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_pages, "MAX_SECONDS", -1.0)
    with pytest.raises(DocumentError, match="took longer"):
        fetch(f"{server}/lease", Settings(data_dir=tmp_path))


@pytest.mark.behaviour("Formats", "A web page is fetched once, by its address, and says where and when.")
def test_a_page_becomes_a_document_that_says_where_it_is_from(server: str, tmp_path: Path) -> None:
    with closing(open_pincite(Settings(data_dir=tmp_path / "data", engine="quoting", ocr=False))) as app:
        document = app.documents.add_web_page(f"{server}/lease").document
        app.ingest.wait([document.id])
        assert "Die Größe ist 40 m²." in app.library.page_text(document.id, 0)
        assert app.library.get(document.id).notes[0].startswith(f"Fetched from {server}/lease on 2")
        app.settings.change(web_pages=False)
        with pytest.raises(DocumentError, match="not fetched"):
            app.documents.add_web_page(f"{server}/notes")
