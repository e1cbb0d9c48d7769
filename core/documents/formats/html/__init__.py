"""Saved web pages (.html, and .mhtml with its parts)."""

import email
import email.message
import email.policy
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.core.documents.formats.content import Content, layout_for

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

KIND = "a web page (.html)"
ENDINGS = (".html", ".htm", ".xhtml", ".mhtml", ".mht")
LABEL = "data-label"
"""Attribute with the number of a heading or a list's item, in pages that are made from another format."""
_HEAD_BYTES = 1024
_AS_BROWSERS = {"iso-8859-1": "cp1252", "latin1": "cp1252", "latin-1": "cp1252", "us-ascii": "utf-8", "ascii": "utf-8"}
"""The encodings that browsers use for these names (WHATWG Encoding Standard)."""


def is_one(path: Path, name: str) -> bool:
    """Return whether the file is a web page, by its name or its first words."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return name.casefold().endswith(ENDINGS) or head.startswith((b"<!doctype html", b"<html"))


def save_as_pdf(path: Path, target: Path) -> None:
    from pincite.core.documents.formats.typeset import typeset

    source, sheets = _source(path.read_bytes())
    typeset(page_content(source, "a web page", sheets), path.name, target)


def page_content(source: bytes | str, kind: str, sheets: Sequence[str] = (), *, is_mail: bool = False) -> Content:
    """Return the content of one page; ``sheets``: its style sheets in other files."""
    from pincite.core.documents.formats.html.look import Looks
    from pincite.core.documents.formats.html.reading import Reading, parse, style_sheets

    root = parse(source)
    reading = Reading(Looks([*sheets, *style_sheets(root)]), is_mail)
    items = tuple(reading.items(root))
    titled = next(root.iter("title"), None)
    title = " ".join("".join(titled.itertext()).split()) if titled is not None else ""
    author, date = (next(filter(None, (_meta(root, name) for name in names)), "") for names in _FIELDS)
    return Content(
        kind,
        items,
        lacks=tuple(reading.lacks),
        title=title,
        author=author,
        created=_date(date),
        layout=layout_for(items),
    )


_FIELDS = (
    ("author", "dc.creator", "dcterms.creator", "article:author"),
    ("article:published_time", "dcterms.created", "dc.date", "dcterms.date", "date"),
)
"""Names of ``meta`` elements with the author and with the date."""


def _meta(root: "Element", name: str) -> str:
    for element in root.iter("meta"):
        if name in ((element.get("name") or "").casefold(), (element.get("property") or "").casefold()):
            return " ".join((element.get("content") or "").split())
    return ""


def _date(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _source(data: bytes) -> tuple[bytes | str, list[str]]:
    """Return a page and the style sheets that were saved with it."""
    if not data[:_HEAD_BYTES].lstrip().lower().startswith((b"from:", b"mime-version:", b"subject:", b"date:")):
        return data, []
    parts = list(email.message_from_bytes(data, policy=email.policy.default).walk())
    styles = [source_of(part) for part in parts if part.get_content_type() == "text/css"]
    sheets = [one if isinstance(one, str) else one.decode("utf-8", errors="replace") for one in styles]
    page = next(part for part in parts if part.get_content_type() in ("text/html", "application/xhtml+xml"))
    return source_of(page), sheets


def source_of(part: email.message.Message) -> bytes | str:
    """Return the text of a part of an e-mail; as bytes if its encoding is only in the text."""
    data, charset = part.get_payload(decode=True), part.get_content_charset()
    assert isinstance(data, bytes)
    try:
        return data.decode(_AS_BROWSERS.get((charset or "ascii").casefold(), charset or "ascii"))
    except (UnicodeDecodeError, LookupError):
        return data
