"""Electronic books (.epub): their chapters in order, on the pages of the printed book where the file states them."""

import html
import posixpath
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lxml import etree

from pincite.core.documents.formats.content import Content, Item, PageStart, Paragraph
from pincite.core.domain.errors import UnreadablePdfError

KIND = "an electronic book (.epub)"
ENDINGS = (".epub",)
_CONTAINER = "META-INF/container.xml"
_EPUB_TYPE = "{http://www.idpf.org/2007/ops}type"
_OPF = "{http://www.idpf.org/2007/opf}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_PAGES = ("application/xhtml+xml", "text/html")
_ENTITY = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z][A-Za-z0-9]{0,40};")
"""Entities that XML does not define."""
_AMPERSAND = re.compile(rb"&(?![A-Za-z_][\w.-]{0,40};|#\d{1,8};|#x[0-9A-Fa-f]{1,8};)")
_MAX_BYTES = 2**28
"""Of all chapters together, unpacked."""


def is_one(path: Path, name: str) -> bool:
    try:
        with zipfile.ZipFile(path) as package:
            return _CONTAINER in package.namelist() and name.casefold().endswith(ENDINGS)
    except (zipfile.BadZipFile, OSError, ValueError):
        return False


def save_as_pdf(path: Path, target: Path) -> None:
    from pincite.core.documents.formats.typeset import typeset

    with zipfile.ZipFile(path) as package:
        typeset(_content(package, path.name), path.name, target)


def _content(package: zipfile.ZipFile, name: str) -> Content:
    from pincite.core.documents.formats.html.look import Looks
    from pincite.core.documents.formats.html.reading import Reading, style_sheets

    book = next(one.get("full-path") for one in _xml(package, _CONTAINER).iter("{*}rootfile"))
    root, folder = _xml(package, str(book)), posixpath.dirname(str(book))
    files = {one.get("id"): one for one in root.iter(f"{_OPF}item")}
    locked, names = _locked(package), set(package.namelist())
    labels = dict(_page_list(package, folder, files.values()))
    items, lacks, size = list[Item](), dict[str, None](), 0
    for reference in root.iter(f"{_OPF}itemref"):
        item = files.get(reference.get("idref"))
        if item is None or item.get("media-type") not in _PAGES or "nav" in (item.get("properties") or "").split():
            continue
        chapter = _path(folder, str(item.get("href")))
        if chapter in locked:
            hint = "Add a copy without copy protection, or a PDF of it."
            raise UnreadablePdfError(f"{name} is protected against copying.", hint=hint)
        if chapter not in names:
            lacks["a chapter that is missing"] = None
            continue
        source = package.read(chapter)
        if (size := size + len(source)) > _MAX_BYTES:
            raise UnreadablePdfError(f"{name} holds more text than can be read.", hint="Split the book.")
        page = _page(source)
        _mark_pages(page, {place: label for (file, place), label in labels.items() if file == chapter})
        sheets = [_path(posixpath.dirname(chapter), one.get("href") or "") for one in page.iter("link")]
        linked = [package.read(one).decode(errors="replace") for one in sheets
                  if one.endswith(".css") and one in names]  # fmt: skip
        reading = Reading(Looks([*linked, *style_sheets(page)]))
        items += reading.items(page)
        lacks |= reading.lacks
    stated = {key: (root.findtext(f".//{_DC}{key}") or "").strip() for key in ("title", "creator")}
    first = _first_label(items)
    kept = [one for one in items if first is not None or not isinstance(one, PageStart)]
    without_empty = list(_without_first_break(kept))
    return Content("an electronic book", tuple(without_empty), first, tuple(lacks), stated["title"], stated["creator"])


def _first_label(items: list[Item]) -> str | None:
    """Return the label of the first page: empty before the first that the file names; None where it names none."""
    named = [at for at, item in enumerate(items) if isinstance(item, PageStart) and item.label]
    if not named:
        return None
    before = any(isinstance(item, Paragraph) and item.text.strip() for item in items[: named[0]])
    first = items[named[0]]
    return first.label if isinstance(first, PageStart) and not before else "–"


def _without_first_break(items: list[Item]) -> Iterator[Item]:
    """Yield the items; a page that begins before any text is the first anyway."""
    begun = False
    for item in items:
        begun = begun or not isinstance(item, PageStart)
        if begun:
            yield item


def _page_list(package: zipfile.ZipFile, folder: str, files: Iterable[Any]) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the labels of the printed pages, by the file and the id where they begin."""
    for item in files:
        is_nav = "nav" in (item.get("properties") or "").split()
        place = _path(folder, item.get("href") or "")
        if place not in package.namelist() or not (is_nav or item.get("media-type") == "application/x-dtbncx+xml"):
            continue
        root = _page(package.read(place))
        found = [
            (link.get("href"), "".join(link.itertext()))
            for nav in root.iter("nav") if "page-list" in (nav.get(_EPUB_TYPE) or "") for link in nav.iter("a")
        ] or [
            (next((one.get("src") for one in target.iter("content")), ""), "".join(target.itertext()))
            for target in root.iter("pageTarget")
        ]  # fmt: skip
        for address, label in found:
            file, _, anchor = (address or "").partition("#")
            yield (_path(posixpath.dirname(place), file), anchor), label.strip()


def _mark_pages(page: Any, labels: Mapping[str, str]) -> None:
    """Put a mark before each element where a printed page begins."""
    for element in list(page.iter(etree.Element)):
        label = labels.get(element.get("id") or "")
        if label and element.getparent() is not None and "pagebreak" not in (element.get(_EPUB_TYPE) or ""):
            element.addprevious(etree.Element("span", role="doc-pagebreak", title=label))
    body = page.find("body")
    if body is not None and labels.get(""):
        body.insert(0, etree.Element("span", role="doc-pagebreak", title=labels[""]))


def _locked(package: zipfile.ZipFile) -> set[str]:
    """Return the files that are encrypted."""
    if "META-INF/encryption.xml" not in package.namelist():
        return set()
    return {
        unquote(one.get("URI") or "") for one in _xml(package, "META-INF/encryption.xml").iter("{*}CipherReference")
    }


def _page(source: bytes) -> Any:
    """Return the root of a chapter, which is XML, without the names of spaces, as of an HTML page."""
    known = _ENTITY.sub(lambda found: html.unescape(found[0].decode()).encode("ascii", "xmlcharrefreplace"), source)
    known = _AMPERSAND.sub(b"&amp;", known)
    options = {"resolve_entities": False, "no_network": True, "remove_comments": True, "remove_pis": True}
    root = etree.fromstring(known, etree.XMLParser(recover=True, **options))
    if root is None:
        raise ValueError("no XML")
    for element in root.iter(etree.Element):
        element.tag = etree.QName(element).localname
    for entity in list(root.iter(etree.Entity)):  # of the file's own, which may be another file's content
        _drop(entity)
    return root


def _drop(entity: Any) -> None:
    """Remove an entity and keep what is behind it."""
    parent, before = entity.getparent(), entity.getprevious()
    if before is not None:
        before.tail = (before.tail or "") + (entity.tail or "")
    else:
        parent.text = (parent.text or "") + (entity.tail or "")
    parent.remove(entity)


def _path(folder: str, href: str) -> str:
    return posixpath.normpath(posixpath.join(folder, unquote(href.partition("#")[0])))


def _xml(package: zipfile.ZipFile, name: str) -> etree._Element:
    return etree.fromstring(package.read(name), etree.XMLParser(resolve_entities=False, no_network=True))
