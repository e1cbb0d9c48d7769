"""A web page that a person names by its address: fetched once, and then a file like any other."""

import re
import time
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote

from pincite.core.domain.documents import all_endings
from pincite.core.domain.errors import DocumentError
from pincite.core.domain.settings import Settings

MAX_SECONDS = 60.0
MAX_REDIRECTS = 5
_WAIT_SECONDS = 15.0
"""For the connection, and between two parts of the reply."""
_MAX_NAME_LENGTH = 80
_BY_TYPE = {
    "text/html": ".html", "application/xhtml+xml": ".html", "application/pdf": ".pdf", "text/plain": ".txt",
    "text/markdown": ".md", "text/csv": ".csv", "application/epub+zip": ".epub",
}  # fmt: skip
_SIGNS = re.compile(r"[^\w.,()&+-]+")


@dataclass(frozen=True, slots=True)
class WebPage:
    name: str
    content: bytes
    address: str
    """Where it was in the end, after redirects."""


def is_address(text: str) -> bool:
    return text.strip().casefold().startswith(("http://", "https://"))


def fetch(address: str, settings: Settings) -> WebPage:
    """Return what is at an address, within limits of size and time. Raises DocumentError."""
    import httpx  # loaded only where a page is fetched

    address = address.strip()
    if not settings.web_pages:
        hint = "Turn on “Add web pages by their address” in the settings, or save the page and add the file."
        raise DocumentError("Web pages are not fetched.", hint=hint)
    if not is_address(address):
        raise DocumentError(f"{address} is no address of a web page.", hint="It begins with https:// or http://.")
    max_bytes, deadline, content = settings.max_file_mib * 2**20, time.monotonic() + MAX_SECONDS, bytearray()
    try:
        with (
            httpx.Client(
                follow_redirects=True, max_redirects=MAX_REDIRECTS, timeout=_WAIT_SECONDS, trust_env=False
            ) as client,
            client.stream("GET", address, headers={"user-agent": "Pincite", "accept": "text/html,*/*;q=0.8"}) as reply,
        ):
            if reply.status_code != httpx.codes.OK:
                raise DocumentError(
                    f"{address} cannot be fetched: the server answers {reply.status_code} {reply.reason_phrase}.",
                    hint="Check the address in a browser. A page behind a login is saved there and added as a file.",
                )
            for part in reply.iter_bytes():
                content += part
                if len(content) > max_bytes:
                    hint = "Raise max_file_mib in the settings."
                    raise DocumentError(f"{address} is larger than {settings.max_file_mib} MiB.", hint=hint)
                if time.monotonic() > deadline:
                    hint = "Save it in a browser, and add the file."
                    raise DocumentError(f"{address} took longer than {MAX_SECONDS:.0f} seconds.", hint=hint)
            kind, _, options = reply.headers.get("content-type", "").partition(";")
            charset = reply.charset_encoding if options else None
            return WebPage(_name(reply.url, kind.strip().casefold()), _marked(bytes(content), charset), str(reply.url))
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        hint = "Check the address, and that this machine is connected."
        raise DocumentError(f"{address} cannot be fetched ({error or type(error).__name__}).", hint=hint) from error


def _name(url: object, kind: str) -> str:
    """Return the name of the file: the last part of the address, or that of the server, and an ending."""
    from httpx import URL

    assert isinstance(url, URL)
    path = PurePosixPath(unquote(url.path))
    known = path.suffix.casefold() in all_endings()
    ending = path.suffix if known and kind not in ("text/html", "application/xhtml+xml") else _BY_TYPE.get(kind, "")
    stem = (path.stem if known else path.name) or "index"
    name = _SIGNS.sub(" ", f"{url.host} {stem}").strip()[:_MAX_NAME_LENGTH]
    return f"{name}{ending or path.suffix}"


def _marked(content: bytes, charset: str | None) -> bytes:
    """Return a text with the mark of UTF-8, if its encoding is only in the reply's header."""
    if not charset or content.startswith((b"%PDF", b"PK", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        return content
    try:
        return content.decode(charset).encode("utf-8-sig")
    except (UnicodeDecodeError, LookupError):
        return content
