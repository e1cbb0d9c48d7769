"""Text documents of LibreOffice and others (.odt): turned into an HTML page with their styles, and read like one."""

import zipfile
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from pincite.core.documents.formats.content import Content, layout_for
from pincite.core.documents.formats.html import LABEL
from pincite.core.documents.formats.numerals import BULLET, numeral
from pincite.core.domain.documents import COMMENT, PROPOSAL
from pincite.core.domain.errors import UnreadablePdfError

KIND = "an OpenDocument text (.odt)"
ENDINGS = (".odt", ".fodt")
_TYPE = b"application/vnd.oasis.opendocument.text"
_URN = "urn:oasis:names:tc:opendocument:xmlns:"
_OFFICE, _TEXT, _TABLE, _STYLE, _DRAW = (
    f"{{{_URN}{name}:1.0}}" for name in ("office", "text", "table", "style", "drawing")
)
_FO = f"{{{_URN}xsl-fo-compatible:1.0}}"
_META, _DC = f"{{{_URN}meta:1.0}}", "{http://purl.org/dc/elements/1.1/}"
_MAX_DEPTH = 20
_MAX_REPEATED = 100
_NUMERALS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_CSS = {"color": "color", "background-color": "background-color", "font-size": "font-size",
        "font-weight": "font-weight", "font-style": "font-style"}  # fmt: skip
_SKIPPED = frozenset(
    [f"{_TEXT}{name}" for name in ("tracked-changes", "sequence-decls", "variable-decls", "user-field-decls",
                                   "bookmark", "note-citation")] + [f"{_OFFICE}forms", f"{_OFFICE}annotation-end"]
)  # fmt: skip
_TAGS = {f"{_TEXT}span": "span", f"{_TEXT}a": "span", f"{_TEXT}section": "div", f"{_TABLE}table-header-rows": "thead",
         f"{_TABLE}table": "table", f"{_TABLE}table-row": "tr", f"{_TEXT}line-break": "br"}  # fmt: skip
_BOXES = frozenset([f"{_DRAW}text-box", f"{_DRAW}custom-shape", f"{_DRAW}rect", f"{_DRAW}ellipse"])


def is_one(path: Path, name: str) -> bool:
    try:
        with zipfile.ZipFile(path) as package:
            return package.read("mimetype").strip() == _TYPE
    except (zipfile.BadZipFile, KeyError, OSError, ValueError):
        return name.casefold().endswith(".fodt")


def save_as_pdf(path: Path, target: Path) -> None:
    from pincite.core.documents.formats.html.look import Looks
    from pincite.core.documents.formats.html.reading import Reading
    from pincite.core.documents.formats.typeset import typeset

    document = _Document(path)
    reading = Reading(Looks([]))
    items = tuple(reading.items(document.page()))
    lacks = tuple(reading.lacks | document.lacks)
    stated = document.stated
    kind = "an OpenDocument text"
    created = datetime.fromisoformat(stated["created"]) if stated["created"] else None
    content = Content(kind, items, lacks=lacks, title=stated["title"], author=stated["author"], created=created,
                      layout=layout_for(items))  # fmt: skip
    typeset(content, path.name, target)


class _Document:
    def __init__(self, path: Path) -> None:
        content, styles, meta = _parts(path)
        self.lacks = dict[str, None]()
        self._roots = (styles, content)
        self._styles = {
            (one.get(f"{_STYLE}family"), one.get(f"{_STYLE}name")): one
            for root in self._roots for one in root.iter(f"{_STYLE}style")
        }  # fmt: skip
        lists = [one for root in self._roots for one in root.iter(f"{_TEXT}list-style", f"{_TEXT}outline-style")]
        self._lists = {one.get(f"{_STYLE}name") or "": _levels(one) for one in lists}
        self._outline = next((_levels(one) for one in lists if one.tag == f"{_TEXT}outline-style"), {})
        self._counts = dict[str, list[int]]()
        self._notes = list[Element]()
        self._changes = {one.get(f"{_TEXT}id") or "": one for one in content.iter(f"{_TEXT}changed-region")}
        self._body = next(content.iter(f"{_OFFICE}text"))
        self._running = [one for kind in ("header", "footer") for one in styles.iter(f"{_STYLE}{kind}")]
        found = {name: meta.findtext(f".//{tag}") for name, tag in
                 (("title", f"{_DC}title"), ("author", f"{_META}initial-creator"),
                  ("created", f"{_META}creation-date"))}  # fmt: skip
        self.stated = {name: (text or "").strip() for name, text in found.items()}

    def page(self) -> Element:
        """Return the document as an HTML page; its notes, headers and footers follow the text."""
        root = Element("html")
        body = SubElement(root, "body")
        for running in self._running:
            if "".join(running.itertext()).strip():
                note = SubElement(body, "div", {"role": "doc-footnote"})
                _add_text(note, f"{running.tag.rpartition('}')[2].capitalize()}: ")
                for paragraph in running.iter(f"{_TEXT}p"):
                    self._add(SubElement(note, "span"), paragraph)
        self._add(body, self._body)
        body.extend(self._notes)
        return root

    # ------------------------------------------------------------ elements

    def _add(self, parent: Element, source: Any) -> None:
        """Add what is inside an element."""
        if source.text:
            _add_text(parent, source.text)
        for child in source:
            if isinstance(child.tag, str) and child.tag not in _SKIPPED:
                self._element(parent, child)
            if child.tail:
                _add_text(parent, child.tail)

    def _element(self, parent: Element, child: Any) -> None:
        tag = child.tag
        if tag in (f"{_TEXT}p", f"{_TEXT}h"):
            level = int(child.get(f"{_TEXT}outline-level") or 0) if tag.endswith("h") else 0
            made = SubElement(parent, f"h{min(level, 6)}" if level else "p", self._css("paragraph", child))
            if level and (label := self._label("", self._outline, level - 1)):
                made.set(LABEL, label)
            self._add(made, child)
        elif tag == f"{_TEXT}list":
            self._list(parent, child)
        elif tag in (f"{_TEXT}s", f"{_TEXT}tab"):
            _add_text(parent, " ")
        elif tag == f"{_TEXT}note":
            self._note(parent, child)
        elif tag == f"{_OFFICE}annotation":
            self._comment(child)
        elif tag in (f"{_TEXT}change-start", f"{_TEXT}change-end", f"{_TEXT}change"):
            self._change(parent, child)
        elif tag == f"{_TABLE}table-cell":
            spans = {name: child.get(f"{_TABLE}number-{key}-spanned") or "1"
                     for name, key in (("colspan", "columns"), ("rowspan", "rows"))}  # fmt: skip
            for _ in range(min(int(child.get(f"{_TABLE}number-columns-repeated") or 1), _MAX_REPEATED)):
                self._add(SubElement(parent, "td", {**spans, **self._css("table-cell", child)}), child)
        elif tag in _TAGS:
            family = {"table": "table", "table-row": "table-row"}.get(tag.rpartition("}")[2], "text")
            made = SubElement(parent, _TAGS[tag], self._css(family, child))
            if child.get(f"{_TEXT}display") == "none" or child.get(f"{_TABLE}visibility") in ("collapse", "filter"):
                made.set("hidden", "")
            self._add(made, child)
        elif tag in (f"{_TEXT}hidden-text", f"{_TEXT}hidden-paragraph"):
            made = SubElement(parent, "span", {"hidden": ""} if child.get(f"{_TEXT}is-hidden") != "false" else {})
            _add_text(made, child.get(f"{_TEXT}string-value") or "")
            self._add(made, child)
        elif tag in (f"{_DRAW}image", f"{_DRAW}object", f"{_DRAW}object-ole", f"{_DRAW}plugin"):
            self.lacks["pictures" if tag.endswith("image") else "charts and embedded objects"] = None
        elif tag in _BOXES:
            around = child if child.get(f"{_DRAW}style-name") else child.getparent()
            self._add(SubElement(parent, "div", self._css("graphic", around)), child)
        else:
            self._add(parent, child)

    def _list(self, parent: Element, source: Any, style: str = "", depth: int = 0) -> None:
        own = source.get(f"{_TEXT}style-name") or style
        goes_on = source.get(f"{_TEXT}continue-numbering") == "true" or source.get(f"{_TEXT}continue-list")
        if depth == 0 and not goes_on:
            self._counts.pop(own, None)
        made = SubElement(parent, "ul")
        for item in source:
            line = SubElement(made, "li")
            holds_text = any(child.tag in (f"{_TEXT}p", f"{_TEXT}h") for child in item)
            if item.tag == f"{_TEXT}list-item" and holds_text:
                if start := item.get(f"{_TEXT}start-value"):
                    self._counts.setdefault(own, [0] * _MAX_DEPTH)[depth] = int(start) - 1
                line.set(LABEL, self._label(own, self._lists.get(own, {}), depth) or BULLET)
            else:
                line.set(LABEL, "")
            for child in item:
                if child.tag == f"{_TEXT}list":
                    self._list(line, child, own, min(depth + 1, _MAX_DEPTH - 1))
                else:
                    self._element(line, child)

    def _label(self, name: str, levels: Mapping[int, Any], depth: int) -> str:
        """Return the number of the next item or heading, with those of the levels above where they are shown."""
        level = levels.get(depth)
        if level is None or not (form := level.get(f"{_STYLE}num-format") or ""):
            return ""
        counts = self._counts.setdefault(name, [0] * _MAX_DEPTH)
        counts[depth] = counts[depth] + 1 if counts[depth] else int(level.get(f"{_TEXT}start-value") or 1)
        counts[depth + 1 :] = [0] * (_MAX_DEPTH - depth - 1)
        above = range(max(depth + 1 - int(level.get(f"{_TEXT}display-levels") or 1), 0), depth)
        forms = [levels[at].get(f"{_STYLE}num-format") or "1" for at in above if at in levels]
        numbers = [numeral(counts[at], _NUMERALS.get(kind, "decimal")) for at, kind in zip(above, forms, strict=False)]
        numbers.append(numeral(counts[depth], _NUMERALS.get(form, "decimal")))
        before, behind = (level.get(f"{_STYLE}num-{side}") or "" for side in ("prefix", "suffix"))
        return f"{before}{'.'.join(numbers)}{behind}".strip()

    def _note(self, parent: Element, source: Any) -> None:
        mark = (source.findtext(f"{_TEXT}note-citation") or "*").strip()
        SubElement(parent, "sup").text = mark
        note = Element("div", {"role": "doc-footnote"})
        SubElement(note, "sup").text = mark
        for paragraph in source.iter(f"{_TEXT}p"):
            self._add(SubElement(note, "span"), paragraph)
        self._notes.append(note)

    def _comment(self, source: Any) -> None:
        author, day = source.findtext(f"{_DC}creator") or "", (source.findtext(f"{_DC}date") or "")[:10]
        by = ", ".join(filter(None, (f"by {author.strip()}" if author.strip() else "", day)))
        text = " ".join(" ".join("".join(one.itertext()).split()) for one in source.iter(f"{_TEXT}p"))
        note = Element("div", {"role": "doc-footnote"})
        note.text = f"{COMMENT}{by}: {text.replace('[', '(').replace(']', ')')}]"
        self._notes.append(note)

    def _change(self, parent: Element, source: Any) -> None:
        """Mark what a tracked change inserts, and where it deletes."""
        region = self._changes.get(source.get(f"{_TEXT}change-id") or "")
        if region is None or not len(region):
            return
        kind = region[0].tag.rpartition("}")[2]
        info = next(region.iter(f"{_OFFICE}change-info"), region)
        author, day = info.findtext(f"{_DC}creator") or "", (info.findtext(f"{_DC}date") or "")[:10]
        by = ", ".join(filter(None, (f"by {author.strip()}" if author.strip() else "", day)))
        if source.tag == f"{_TEXT}change" and kind == "deletion":
            self.lacks["proposed deletions"] = None
            _add_text(parent, f" {PROPOSAL}deletion {by}: words are left out here] ")
        elif kind == "insertion":
            _add_text(parent, f"{PROPOSAL}insertion {by}: " if source.tag.endswith("start") else "]")

    # ------------------------------------------------------------ styles

    def _css(self, family: str, element: Any) -> dict[str, str]:
        """Return the attribute ``style`` for an element, with the styles under its own resolved."""
        space = _TABLE if family.startswith("table") else _DRAW if family == "graphic" else _TEXT
        name, declared = element.get(f"{space}style-name"), dict[str, str]()
        for _ in range(_MAX_DEPTH):
            style = self._styles.get((family, name))
            if style is None:
                break
            for properties in style:
                declared = {**_declarations(properties), **declared}
            name = style.get(f"{_STYLE}parent-style-name")
        return {"style": "; ".join(f"{key}: {value}" for key, value in declared.items())} if declared else {}


def _declarations(properties: Any) -> dict[str, str]:
    """Return the CSS declarations that correspond to the properties of a style."""
    found = {css: value for name, css in _CSS.items() if (value := properties.get(f"{_FO}{name}"))}
    if "background-color" in found and found["background-color"] == "transparent":
        del found["background-color"]
    if properties.get(f"{_TEXT}display") == "none":
        found["display"] = "none"
    if properties.get(f"{_STYLE}use-window-font-color") == "true":
        found["color"] = "auto"
    if fill := properties.get(f"{_DRAW}fill"):
        own = properties.get(f"{_DRAW}fill-color") or "url(unknown)"
        found |= {"background": own if fill == "solid" else "url(unknown)"} if fill != "none" else {}
    if (properties.get(f"{_STYLE}text-position") or "").startswith("super"):
        found["vertical-align"] = "super"
    if (properties.get(f"{_STYLE}text-line-through-style") or "none") != "none":
        found["text-decoration"] = "line-through"
    return found


def _levels(style: Any) -> dict[int, Any]:
    return {int(one.get(f"{_TEXT}level") or 1) - 1: one for one in style if isinstance(one.tag, str)}


def _add_text(parent: Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def _parts(path: Path) -> Iterator[Any]:
    """Yield the content, the styles and what the file states about itself."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    if not zipfile.is_zipfile(path):
        root = etree.parse(path, parser).getroot()
        yield from (root, root, root)
        return
    with zipfile.ZipFile(path) as package:
        names = package.namelist()
        if "META-INF/manifest.xml" in names and b"encryption-data" in package.read("META-INF/manifest.xml"):
            hint = "Save it without a password in the program that shows it."
            raise UnreadablePdfError(f"{path.name} is protected with a password.", hint=hint)
        for name in ("content.xml", "styles.xml", "meta.xml"):
            yield etree.fromstring(package.read(name) if name in names else b"<none/>", parser)
