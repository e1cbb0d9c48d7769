"""The content of an HTML page, in its order. Text that a browser does not show is kept apart with its reason.

Pictures are not read, and ``lacks`` names what there is. Style sheets outside of the file are not fetched.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from xml.etree.ElementTree import Element

import cssselect2
import tinyhtml5

from pincite.core.documents.formats.content import Cell, Item, PageStart, Paragraph, Run, Table
from pincite.core.documents.formats.html import LABEL
from pincite.core.documents.formats.html.look import Look, Looks, children
from pincite.core.documents.formats.numerals import BULLET, numeral
from pincite.core.domain.documents import TICKED, UNTICKED, HiddenReason

_SPACES = re.compile(r"[ \t\r\n\f]+")
_HEADING = re.compile(r"h([1-6])")
_PICTURES = {
    "img": "pictures", "svg": "pictures", "canvas": "pictures", "picture": "pictures", "video": "videos",
    "audio": "sound", "object": "embedded objects", "embed": "embedded objects", "iframe": "embedded pages",
    "map": "pictures",
}  # fmt: skip
_NO_TEXT = frozenset(
    "head script style noscript noframes noembed datalist title param rp source track area link meta base".split()
)
"""Elements that contain no text of the page."""
_AROUND = {"mfrac": "(", "msqrt": "√("}
_EPUB_TYPE = "{http://www.idpf.org/2007/ops}type"
_NOTES = frozenset("footnote endnote rearnote doc-footnote doc-endnote".split())
_NUMERALS = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_MARKERS = {
    "lower-alpha": "lowerLetter", "lower-latin": "lowerLetter", "upper-alpha": "upperLetter",
    "upper-latin": "upperLetter", "lower-roman": "lowerRoman", "upper-roman": "upperRoman",
    "decimal-leading-zero": "decimalZero",
}  # fmt: skip
"""By ``list-style-type``."""
_MAX_COLUMNS = 200
_MAX_SPAN = 1000


def parse(source: bytes | str) -> Element:
    """Return the root of an HTML page, as browsers understand it."""
    options = dict[str, str]()
    if isinstance(source, bytes):
        try:
            source.decode("utf-8")
            options["likely_encoding"] = "utf-8"
        except UnicodeDecodeError:
            options["likely_encoding"] = "windows-1252"
    root: Element = tinyhtml5.parse(source, namespace_html_elements=False, **options)
    _drop_comments(root)
    return root


def _drop_comments(root: Element) -> None:
    """Join what is before and behind a comment, which selectors would take together with it."""
    for parent in list(root.iter()):
        before: Element | None = None
        for child in list(parent):
            if isinstance(child.tag, str):
                before = child
                continue
            if before is None:
                parent.text = (parent.text or "") + (child.tail or "")
            else:
                before.tail = (before.tail or "") + (child.tail or "")
            parent.remove(child)


def style_sheets(root: Element) -> list[str]:
    """Return the style sheets in a page that are for screens."""
    found = (one for one in root.iter("style") if one.get("media", "all").casefold() in ("", "all", "screen"))
    return ["".join(one.itertext()) for one in found]


@dataclass
class _Place:
    """Where a paragraph is: what it begins with, how deep in lists, its level as a heading."""

    label: str = ""
    depth: int = 0
    level: int = 0
    note: bool = False
    quotes: int = 0
    """Earlier e-mails that it is quoted from, each in the next."""


@dataclass
class Reading:
    """Reads one page after the other; ``lacks`` gathers the kinds of content that were not read.

    ``is_mail``: quoted paragraphs are marked, as in plain e-mails.
    """

    looks: Looks
    is_mail: bool = False
    lacks: dict[str, None] = field(default_factory=dict)
    _runs: list[Run] = field(default_factory=list)

    def items(self, root: Element) -> Iterator[Item]:
        """Yield the content of a page."""
        wrapped = cssselect2.ElementWrapper.from_html_root(root)
        look = self.looks.of(wrapped, Look())
        for child in wrapped.iter_children():
            if child.local_name in ("body", "frameset"):
                yield from self._element(child, self.looks.of(child, look), _Place())

    # ------------------------------------------------------------ blocks

    def _content(self, element: cssselect2.ElementWrapper, look: Look, place: _Place) -> Iterator[Item]:
        for child in children(element):
            if isinstance(child, str):
                self._add(child, look)
            else:
                yield from self._element(child, self.looks.of(child, look), place)

    def _element(self, element: cssselect2.ElementWrapper, look: Look, place: _Place) -> Iterator[Item]:
        tag, kinds = str(element.local_name), _kinds(element)
        if kinds & {"pagebreak", "doc-pagebreak"}:
            yield from self._paragraph(place)
            attributes = element.etree_element.attrib
            label = attributes.get("title") or attributes.get("aria-label") or _text(element)
            yield PageStart(label.strip())
        elif tag in _NO_TEXT:
            return
        elif tag in _PICTURES:
            for drawn in element.etree_element.iter() if tag == "svg" else ():
                if drawn.tag.rpartition("}")[2] == "text":
                    self._add(f" {''.join(drawn.itertext())} ", look)
            if look.displayed and not look.reason and not _is_tiny(element):
                self.lacks[_PICTURES[tag]] = None
        elif not look.displayed and not kinds & _NOTES:
            if text := " ".join(_text(element).split()):
                self._runs.append(Run(text, hidden=HiddenReason.INVISIBLE))
        elif tag == "br":
            self._runs.append(Run("\n"))
        elif tag in ("input", "select"):
            self._add(_value_of(element), look)
        elif tag in ("math", "mrow", "mfrac", "msqrt", "msup", "msub"):
            yield from self._formula(element, look, place)
        elif tag == "table":
            yield from self._paragraph(place)
            yield from self._table(element, look, place)
        elif tag in ("ul", "ol", "menu", "dir") and look.block:
            yield from self._paragraph(place)
            yield from self._list(element, look, place)
        elif look.block or tag in ("td", "th", "tr", "option", "hr"):
            yield from self._paragraph(place)
            heading = _HEADING.fullmatch(tag)
            inside = replace(place, level=int(heading[1])) if heading else place
            inside = replace(inside, note=inside.note or bool(kinds & _NOTES))
            inside.quotes += self.is_mail and tag == "blockquote"
            inside.label, place.label = element.etree_element.get(LABEL) or place.label, ""
            yield from self._content(element, look, inside)
            yield from self._paragraph(inside)
        else:
            yield from self._content(element, look, place)

    def _list(self, element: cssselect2.ElementWrapper, look: Look, place: _Place) -> Iterator[Item]:
        attributes = element.etree_element.attrib
        items = sum(child.local_name == "li" for child in element.iter_children())
        step = -1 if "reversed" in attributes else 1
        number = _whole(attributes.get("start"), items if step < 0 else 1)
        for child in children(element):
            if isinstance(child, str):
                self._add(child, look)
                continue
            inner = self.looks.of(child, look)
            is_item = child.local_name == "li" and inner.displayed
            label = child.etree_element.get(LABEL)
            if label is None and is_item and element.local_name == "ol":
                number = _whole(child.etree_element.get("value"), number)
                form = _NUMERALS.get(attributes.get("type", ""), "") or _MARKERS.get(inner.marker, "decimal")
                label = f"{numeral(number, form)}." if inner.marker != "none" else ""
                number += step
            elif label is None and is_item:
                label = BULLET if inner.marker != "none" else ""
            yield from self._paragraph(place)
            yield from self._element(
                child, inner, _Place(label or "", place.depth + is_item, note=place.note, quotes=place.quotes)
            )
        yield from self._paragraph(place)

    def _paragraph(self, place: _Place) -> Iterator[Paragraph]:
        """End the open paragraph, if it has text."""
        runs, self._runs = tuple(_trimmed(self._runs)), []
        if any(run.text.strip() for run in runs):
            is_seen = any(run.text.strip() and not run.hidden for run in runs)
            label, place.label = (place.label, "") if is_seen else ("", place.label)
            label = f"{'>' * place.quotes} {label}".strip()
            yield Paragraph(runs, place.level, label, max(place.depth - 1, 0), place.note)

    # ------------------------------------------------------------ tables

    def _table(self, element: cssselect2.ElementWrapper, look: Look, place: _Place) -> Iterator[Item]:
        """Yield a table, or the paragraphs of one that only arranges them."""
        rows = list(self._rows(element, look))
        is_layout = _kinds(element) & {"presentation", "none"} or any(one is not element for one in _inner(element))
        is_layout = is_layout or max((len(cells) for _, cells, _ in rows), default=0) < 2
        for child, inner in self._children(element, look):
            if child.local_name == "caption":
                yield from self._element(child, replace(inner, block=True), place)
        if is_layout:
            for _, cells, inner in rows:
                for cell in cells:
                    yield from self._element(cell, self.looks.of(cell, inner), place)
            return
        made, spans, heads = list[tuple[Cell, ...]](), dict[int, int](), False
        for at, (is_head, cells, inner) in enumerate(rows):
            line = tuple(self._cells(cells, inner, spans))
            heads |= at == 0 and (is_head or all(cell.local_name == "th" for cell in cells))
            made += [line] if line else []
        if made:
            yield Table(tuple(made), heads and len(made) > 1)

    def _cells(self, cells: Sequence[cssselect2.ElementWrapper], look: Look, spans: dict[int, int]) -> Iterator[Cell]:
        """Yield the cells of a row; ``spans``: of each column, how many more rows the cell above goes on."""
        column = 0

        def continued() -> Iterator[Cell]:
            nonlocal column
            while spans.get(column, 0) > 0:
                spans[column] -= 1
                column += 1
                yield Cell((), goes_on=True)

        for cell in cells:
            yield from continued()
            if column >= _MAX_COLUMNS:
                self.lacks[f"more than {_MAX_COLUMNS} columns of a table"] = None
                return
            attributes = cell.etree_element.attrib
            columns = min(max(_whole(attributes.get("colspan"), 1), 1), _MAX_COLUMNS - column)
            below = min(max(_whole(attributes.get("rowspan"), 1), 1), _MAX_SPAN) - 1
            spans.update(dict.fromkeys(range(column, column + columns), below))
            items = self._element(cell, self.looks.of(cell, look), _Place())
            yield Cell(tuple(item for item in items if isinstance(item, Paragraph)), columns)
            column += columns
        yield from continued()

    def _rows(
        self, element: cssselect2.ElementWrapper, look: Look, is_head: bool = False
    ) -> Iterator[tuple[bool, list[cssselect2.ElementWrapper], Look]]:
        for child, inner in self._children(element, look):
            if child.local_name == "tr":
                cells = [cell for cell, shown in self._children(child, inner) if cell.local_name in ("td", "th")]
                if cells and inner.displayed:
                    yield is_head, cells, inner
                elif text := " ".join(_text(child).split()):
                    self._runs.append(Run(text, hidden=HiddenReason.INVISIBLE))
            elif child.local_name in ("thead", "tbody", "tfoot"):
                if not inner.displayed:
                    self._runs.append(Run(" ".join(_text(child).split()), hidden=HiddenReason.INVISIBLE))
                    continue
                yield from self._rows(child, inner, child.local_name == "thead")

    def _children(
        self, element: cssselect2.ElementWrapper, look: Look
    ) -> Iterator[tuple[cssselect2.ElementWrapper, Look]]:
        return ((one, self.looks.of(one, look)) for one in children(element) if not isinstance(one, str))

    # ------------------------------------------------------------ within a line

    def _add(self, text: str, look: Look) -> None:
        if not look.preformatted:
            text = _SPACES.sub(" ", text)
            if text.startswith(" ") and (not self._runs or self._runs[-1].text.endswith((" ", "\n"))):
                text = text[1:]
        if text:
            self._runs.append(Run(text, look.bold, look.italic, look.raised, look.reason))

    def _formula(self, element: cssselect2.ElementWrapper, look: Look, place: _Place) -> Iterator[Item]:
        """Add a formula as one line: (a)/(b), x^(2)."""
        tag = str(element.local_name)
        parts = [one for one in children(element) if not isinstance(one, str)]
        for at, part in enumerate(parts):
            between = {"mfrac": ")/(", "msup": "^(", "msub": "_("}.get(tag, "") if at == 1 else ""
            self._add(between or (_AROUND.get(tag, "") if at == 0 else ""), look)
            if part.local_name not in ("annotation", "annotation-xml"):
                yield from self._element(part, replace(self.looks.of(part, look), block=False), place)
        if tag in ("mfrac", "msqrt") or (tag in ("msup", "msub") and len(parts) > 1):
            self._add(")", look)


def _trimmed(runs: Sequence[Run]) -> Iterator[Run]:
    """Yield the runs without spaces at the ends of their lines."""
    kept = list(runs)
    while kept and not kept[-1].hidden and not kept[-1].text.strip():
        kept.pop()
    while kept and not kept[0].hidden and not kept[0].text.strip():
        kept.pop(0)
    if kept and not kept[-1].hidden:
        kept[-1] = replace(kept[-1], text=kept[-1].text.rstrip())
    yield from kept


def _inner(element: cssselect2.ElementWrapper) -> Iterator[cssselect2.ElementWrapper]:
    return (one for one in element.iter_subtree() if one.local_name == "table")


def _kinds(element: cssselect2.ElementWrapper) -> set[str]:
    """Return the kinds of an element, by its role and by EPUB's types."""
    attributes = element.etree_element.attrib
    kinds = (attributes.get("role"), attributes.get(_EPUB_TYPE), attributes.get("epub:type"))
    return {kind for one in kinds if one for kind in one.split()}


def _text(element: cssselect2.ElementWrapper) -> str:
    def texts(inner: Element) -> Iterator[str]:
        if isinstance(inner.tag, str) and inner.tag not in _NO_TEXT:
            yield inner.text or ""
            for child in inner:
                yield from texts(child)
                yield child.tail or ""
            yield " "

    return "".join(texts(element.etree_element))


def _value_of(element: cssselect2.ElementWrapper) -> str:
    """Return what a field of a form shows."""
    attributes = element.etree_element.attrib
    if element.local_name == "select":
        options = list(element.etree_element.iter("option"))
        chosen = next((one for one in options if "selected" in one.attrib), options[0] if options else None)
        return "".join(chosen.itertext()) if chosen is not None else ""
    kind = attributes.get("type", "text").casefold()
    if kind in ("checkbox", "radio"):
        return f"{TICKED if 'checked' in attributes else UNTICKED} "
    shown = ("text", "number", "date", "email", "tel", "url", "search", "submit", "button", "reset", "time", "month")
    return attributes.get("value", "") if kind in shown else ""


def _is_tiny(element: cssselect2.ElementWrapper) -> bool:
    """Return whether a picture is one that only counts readers."""
    attributes = element.etree_element.attrib
    return any(attributes.get(side, "").strip().removesuffix("px") in ("0", "1") for side in ("width", "height"))


def _whole(value: str | None, otherwise: int) -> int:
    value = (value or "").strip()
    return int(value) if value.lstrip("-").isdecimal() and len(value) < 10 else otherwise
