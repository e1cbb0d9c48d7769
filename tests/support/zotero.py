"""A program that answers as Zotero's local API does: CSL JSON as text, files as addresses of this machine."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

BRIDGES = {
    "id": "http://zotero.org/users/1/items/LEE2021X", "type": "article-journal", "title": "Deep learning of bridges",
    "container-title": "Journal of Bridges", "volume": "12", "page": "101-120", "language": "en",
    "author": [{"family": "Lee", "given": "Ann B."}, {"literal": "Bridge Office"}],
    "issued": {"date-parts": [["2021", 3, 4]]},
}  # fmt: skip


@contextmanager
def zotero(folder: Path, *, allowed: bool = True) -> Iterator[str]:
    """Yield the address of an API with one collection, one within it, and a group; its PDFs are in the folder."""
    replies = _replies(folder)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = replies.get(self.path.removeprefix("/api/"))
            self.send_response(403 if not allowed else 404 if found is None else 200)
            if isinstance(found, tuple):
                found, following = found
                self.send_header("Link", f'<http://127.0.0.1:{server.server_port}/api/{following}>; rel="next"')
            self.end_headers()
            self.wfile.write(found.encode() if isinstance(found, str) else json.dumps(found).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/api/"
    server.shutdown()


def _replies(folder: Path) -> dict[str, Any]:
    mine, group = "users/0", "groups/7"
    top = "items/top?include=data,csljson"
    attachments = "children?itemType=attachment"
    survey = {"type": "report", "title": "Survey of lime trees", "issued": {"literal": "spring 1999"}}
    lee = _item("LEE2021X", "journalArticle", json.dumps([BRIDGES]))
    return {
        f"{mine}/groups": [{"id": 7, "data": {"name": "Chambers"}}],
        f"{mine}/collections": [
            {"key": "THESIS01", "data": {"name": "Thesis", "parentCollection": False}},
            {"key": "CHAPTER1", "data": {"name": "Chapter 1", "parentCollection": "THESIS01"}},
        ],
        f"{group}/collections": [{"key": "GROUP001", "data": {"name": "Cases", "parentCollection": False}}],
        f"{mine}/collections/THESIS01/collections": [{"key": "CHAPTER1", "data": {"name": "Chapter 1"}}],
        f"{mine}/collections/CHAPTER1/collections": [],
        f"{mine}/collections/THESIS01/{top}": ([lee], f"{mine}/collections/THESIS01/more"),
        f"{mine}/collections/THESIS01/more": [
            _item("NOTE0001", "note", "[]"), _item("BARE0001", "book", json.dumps([{"type": "book", "title": "Bare"}])),
        ],
        f"{mine}/collections/CHAPTER1/{top}": [lee, _item("SURVEY01", "report", json.dumps([survey])),
                                               _item("ALONE001", "attachment", "[]")],
        f"{mine}/items/LEE2021X/{attachments}": [
            _attachment("FILE0001"), _attachment("SNAPSHOT"), _attachment("LINK0001", "linked_url"),
        ],
        f"{mine}/items/SURVEY01/{attachments}": [_attachment("FILE0002"), _attachment("GONE0001")],
        f"{mine}/items/BARE0001/{attachments}": [],
        f"{mine}/items/FILE0001/file/view/url": (folder / "Lee 2021.pdf").as_uri(),
        f"{mine}/items/SNAPSHOT/file/view/url": (folder / "snapshot.html").as_uri(),
        f"{mine}/items/FILE0002/file/view/url": (folder / "survey.pdf").as_uri(),
        f"{mine}/items/ALONE001/file/view/url": (folder / "alone.pdf").as_uri(),
    }  # fmt: skip


def _item(key: str, kind: str, csl: str) -> dict[str, Any]:
    return {"key": key, "data": {"itemType": kind}, "csljson": csl}


def _attachment(key: str, mode: str = "imported_file") -> dict[str, Any]:
    return {"key": key, "data": {"itemType": "attachment", "linkMode": mode}}
