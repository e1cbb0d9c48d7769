"""The words, breaks, symbols, formulas and marks of notes in the paragraphs of a Word file."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from docx.oxml.ns import qn
from docx.oxml.xmlchemy import BaseOxmlElement
from fontTools import agl
from reportlab.pdfbase._fontdata import encodings

from core.documents.formats.word.numbering import value, written
from core.domain.documents import TICKED, UNTICKED

_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_LEFT_OUT = frozenset(
    [_FALLBACK, *map(qn, ("w:del", "w:moveFrom", "w:pPr", "w:rPr", "w:instrText", "w:delText", "m:deg"))]
)
_PICTURES = frozenset(map(qn, ("w:drawing", "w:pict", "w:object")))
_BOX = qn("w:txbxContent")
_SIGNS = {"☐": UNTICKED, "☑": TICKED, "☒": TICKED, "\u00ad": "", "\u2011": "-"}
_WINGDINGS = {0x6F: UNTICKED, 0xA8: UNTICKED, 0xFD: TICKED, 0xFE: TICKED, 0xFC: "✓", 0xFB: "✗", 0xE0: "→"}
UNKNOWN_SIGN = "◊"
_AROUND = {
    qn("m:num"): ("(", ")"), qn("m:den"): ("/(", ")"), qn("m:sup"): ("^(", ")"), qn("m:sub"): ("_(", ")"),
    qn("m:rad"): ("√(", ")"), qn("m:d"): ("(", ")"),
}  # fmt: skip
"""How parts of a formula are written in a line."""
_MOST_DEEP = 20
"""Styles upon styles."""


@dataclass(frozen=True, slots=True)
class Run:
    text: str
    bold: bool = False
    italic: bool = False
    raised: bool = False


@dataclass(frozen=True, slots=True)
class Break:
    """A new page: ``shown`` by Word when it last drew the file, or wanted by the file."""

    shown: bool


@dataclass(frozen=True, slots=True)
class Note:
    """A footnote or endnote, where it is referred to."""

    mark: str
    runs: tuple[Run, ...]


Piece: TypeAlias = Run | Break | Note
Notes: TypeAlias = Mapping[str, Mapping[str, BaseOxmlElement]]
"""By the tag of what refers to them, and by their ids."""


class Inline:
    """Reads paragraphs one after the other; notes are numbered as they come."""

    def __init__(self, styles: Mapping[str, BaseOxmlElement], notes: Notes) -> None:
        self._styles, self._notes = styles, notes
        self._counts = dict.fromkeys(notes, 0)
        self._fields: list[bool] = []
        """Of the fields that are open here, the outermost first: whether this is what it shows."""

    def pieces(self, paragraph: BaseOxmlElement, boxes: list[BaseOxmlElement]) -> Iterator[Piece]:
        """``boxes`` takes up the text boxes that hang on the paragraph."""
        self._fields = []
        yield from self._in(paragraph, boxes)

    def _in(self, parent: Iterable[BaseOxmlElement], boxes: list[BaseOxmlElement]) -> Iterator[Piece]:
        for child in parent:
            if child.tag in _LEFT_OUT:
                continue
            before, behind = _AROUND.get(child.tag, ("", ""))
            if before:
                yield Run(before)
            if child.tag in _PICTURES:
                boxes += _boxes(child)
            elif child.tag == qn("m:t"):
                yield Run(child.text or "")
            elif child.tag == qn("w:r"):
                yield from self._run(child, boxes)
            else:
                yield from self._in(child, boxes)
            if behind:
                yield Run(behind)

    def _run(self, run: BaseOxmlElement, boxes: list[BaseOxmlElement]) -> Iterator[Piece]:
        properties = run.find(qn("w:rPr"))
        if _is_on(properties, "w:vanish") or self._is_hidden_by_style(properties):
            return
        bold, italic = _is_on(properties, "w:b"), _is_on(properties, "w:i")
        align = properties.find(qn("w:vertAlign")) if properties is not None else None
        raised = align is not None and value(align) == "superscript"
        for child in run:
            if child.tag == qn("w:fldChar"):
                yield from self._field(child)
            elif not all(self._fields):
                continue  # what a field is made of, not what it shows
            elif child.tag == qn("w:lastRenderedPageBreak"):
                yield Break(shown=True)
            elif child.tag == qn("w:br") and value(child, "w:type") == "page":
                yield Break(shown=False)
            elif text := _text(child):
                yield Run(text, bold, italic, raised)
            elif child.tag in self._notes:
                yield from self._noted(child)
            elif child.tag not in _LEFT_OUT:
                yield from self._in([child], boxes)

    def _field(self, mark: BaseOxmlElement) -> Iterator[Run]:
        """A field begins, shows its result, or ends; a form's field is what is chosen in it."""
        kind = value(mark, "w:fldCharType")
        if kind == "begin":
            for box in mark.iter(qn("w:checkBox")):
                ticked = _is_on(box, "w:checked") or (box.find(qn("w:checked")) is None and _is_on(box, "w:default"))
                yield Run(f"{TICKED if ticked else UNTICKED} ")
            for choice in mark.iter(qn("w:ddList")):
                entries, chosen = choice.findall(qn("w:listEntry")), choice.find(qn("w:result"))
                at = value(chosen) if chosen is not None else "0"
                yield from (Run(value(entry)) for entry in entries[int(at) : int(at) + 1] if at.isdigit())
            self._fields.append(False)
        elif kind == "separate" and self._fields:
            self._fields[-1] = True
        elif self._fields:
            self._fields.pop()

    def _noted(self, reference: BaseOxmlElement) -> Iterator[Piece]:
        note = self._notes[reference.tag].get(value(reference, "w:id"))
        if note is not None:
            self._counts[reference.tag] += 1
            form = "decimal" if reference.tag == qn("w:footnoteReference") else "lowerRoman"
            mark = written(self._counts[reference.tag], form)
            pieces = [piece for one in note.iter(qn("w:p")) for piece in (*self._in(one, []), Run(" "))]
            yield Note(mark, tuple(piece for piece in pieces if isinstance(piece, Run)))

    def _is_hidden_by_style(self, properties: BaseOxmlElement | None) -> bool:
        named = properties.find(qn("w:rStyle")) if properties is not None else None
        return any(_is_on(style.find(qn("w:rPr")), "w:vanish") for style in styles_from(self._styles, named))


def styles_from(styles: Mapping[str, BaseOxmlElement], named: BaseOxmlElement | None) -> Iterator[BaseOxmlElement]:
    """The style that an element names, and those under it."""
    for _ in range(_MOST_DEEP):
        style = styles.get(value(named)) if named is not None else None
        if style is None:
            return
        yield style
        named = style.find(qn("w:basedOn"))


def _text(child: BaseOxmlElement) -> str:
    """What an element of a run says; empty where it says nothing, or holds others."""
    if child.tag == qn("w:t"):
        return "".join(_SIGNS.get(sign, sign) for sign in child.text or "")
    if child.tag == qn("w:sym"):
        return _symbol(value(child, "w:font"), value(child, "w:char"))
    plain = {"w:br": "\n", "w:cr": "\n", "w:tab": "\t", "w:noBreakHyphen": "-"}
    return next((sign for tag, sign in plain.items() if child.tag == qn(tag)), "")


def _symbol(font: str, code: str) -> str:
    """The sign that a font of symbols has at a place, as far as it is one of Unicode's."""
    place = int(code[-2:], 16) if code[-2:].isalnum() and not set(code[-2:].lower()) - set("0123456789abcdef") else 0
    if font.startswith("Wingdings"):
        return _WINGDINGS.get(place, UNKNOWN_SIGN)
    name = encodings["SymbolEncoding"][place] if font == "Symbol" else None
    return (agl.toUnicode(name) if name else "") or UNKNOWN_SIGN


def _boxes(picture: BaseOxmlElement) -> Iterator[BaseOxmlElement]:
    """Text boxes; those within others come with their paragraphs."""
    for child in picture:
        if child.tag == _BOX:
            yield child
        elif child.tag not in _LEFT_OUT:
            yield from _boxes(child)


def _is_on(properties: BaseOxmlElement | None, name: str) -> bool:
    found = properties.find(qn(name)) if properties is not None else None
    return found is not None and value(found) not in ("0", "false", "none", "off")
