"""The words, breaks, symbols, formulas and marks of notes in the paragraphs of a Word file."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeAlias

from docx.oxml.ns import qn
from docx.oxml.xmlchemy import BaseOxmlElement
from fontTools import agl
from reportlab.pdfbase._fontdata import encodings

from pincite.core.documents.formats.content import UNKNOWN_SIGN, Run
from pincite.core.documents.formats.numerals import numeral
from pincite.core.documents.formats.word.numbering import value
from pincite.core.documents.formats.word.visibility import Ground, Visibility
from pincite.core.domain.documents import COMMENT, PROPOSAL, TICKED, UNTICKED, HiddenReason

_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_LEFT_OUT = frozenset(
    [_FALLBACK, *map(qn, ("w:del", "w:moveFrom", "w:pPr", "w:rPr", "w:instrText", "w:delText", "m:deg"))]
)
_PICTURES = frozenset(map(qn, ("w:drawing", "w:pict", "w:object")))
_BOX = qn("w:txbxContent")
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
_COMMENT = qn("w:commentReference")
_UNBRACKETED = str.maketrans("[]", "()")
"""Of a comment, which a bracket ends."""
_SIGNS = {"☐": UNTICKED, "☑": TICKED, "☒": TICKED, "\u00ad": "", "\u2011": "-"}
_WINGDINGS = {0x6F: UNTICKED, 0xA8: UNTICKED, 0xFD: TICKED, 0xFE: TICKED, 0xFC: "✓", 0xFB: "✗", 0xE0: "→"}
BLANK = "____"
"""Text for a field that nobody filled in, as on paper: its label is not the label of what follows."""
_AROUND = {
    qn("m:num"): ("(", ")"), qn("m:den"): ("/(", ")"), qn("m:sup"): ("^(", ")"), qn("m:sub"): ("_(", ")"),
    qn("m:rad"): ("√(", ")"), qn("m:d"): ("(", ")"),
}  # fmt: skip
"""How parts of a formula are written in a line."""
_MAX_DEPTH = 20
"""Styles upon styles."""
_DELETED = frozenset(map(qn, ("w:del", "w:moveFrom")))
_INSERTED = frozenset(map(qn, ("w:ins", "w:moveTo")))
_MAX_AUTHOR_LENGTH = 60
_SENTENCE_END = re.compile(r"[.!?;](?=[\"”’)]*(?:\s|$))")


@dataclass(frozen=True, slots=True)
class Break:
    """A new page: ``shown`` by Word when it last drew the file, or wanted by the file."""

    shown: bool


@dataclass(frozen=True, slots=True)
class Note:
    """A footnote or endnote, where it is referred to; a comment, which has no mark."""

    mark: str
    runs: tuple[Run, ...]


Piece: TypeAlias = Run | Break | Note
Notes: TypeAlias = Mapping[str, Mapping[str, BaseOxmlElement]]
"""By the tag of what refers to them, and by their ids."""


class Inline:
    """Reads paragraphs one after the other; notes are numbered as they come."""

    def __init__(
        self,
        styles: Mapping[str, BaseOxmlElement],
        notes: Notes,
        visibility: Visibility,
        diagrams: Mapping[str, Sequence[str]],
    ) -> None:
        """``diagrams``: the words of each, by the id of its data."""
        self._styles, self._notes, self._visibility, self._diagrams = styles, notes, visibility, diagrams
        self._paragraph: BaseOxmlElement | None = None
        self._ground = visibility.page
        self._counts = dict.fromkeys(notes, 0)
        self._fields: list[bool] = []
        """Of the fields that are open here, the outermost first: whether this is what it shows."""

    def pieces(self, paragraph: BaseOxmlElement, boxes: list[BaseOxmlElement], ground: Ground) -> Iterator[Piece]:
        """Yield the pieces of a paragraph on ``ground``; the text boxes that hang on it are added to ``boxes``."""
        self._fields, self._paragraph, self._ground = [], paragraph.find(qn("w:pPr")), ground
        yield from self._in(paragraph, boxes)

    def _in(self, parent: Iterable[BaseOxmlElement], boxes: list[BaseOxmlElement]) -> Iterator[Piece]:
        for change, children in groupby(parent, _change):
            found = self._each(children, boxes)
            yield from proposed(change, list(found)) if change else found

    def _each(self, children: Iterable[BaseOxmlElement], boxes: list[BaseOxmlElement]) -> Iterator[Piece]:
        for child in children:
            if child.tag in _DELETED and (gone := "".join(text.text or "" for text in child.iter(qn("w:delText")))):
                yield Run(gone, hidden=HiddenReason.STRUCK, change=change_of(child))
            if child.tag in _LEFT_OUT:
                continue
            if is_placeholder(child):
                yield Run(BLANK)
                continue
            before, behind = _AROUND.get(child.tag, ("", ""))
            if before:
                yield Run(before)
            if child.tag in _PICTURES:
                boxes += _boxes(child)
                named = (str(one.get(qn("r:dm"))) for one in child.iter(_DIAGRAM))
                yield from (Run("\n".join(words)) for one in named if (words := self._diagrams.get(one)))
            elif child.tag == qn("m:t"):
                yield Run(child.text or "")
            elif child.tag == qn("w:r"):
                yield from self._run(child, boxes)
            elif child.tag == qn("m:r"):
                yield from _kept_apart(self._in(child, boxes), self._hides(child))
            else:
                yield from self._in(child, boxes)
            if behind:
                yield Run(behind)

    def _run(self, run: BaseOxmlElement, boxes: list[BaseOxmlElement]) -> Iterator[Piece]:
        yield from _kept_apart(self._shown(run, boxes), self._hides(run))

    def _hides(self, run: BaseOxmlElement) -> HiddenReason | None:
        return self._visibility.reason(run, self._paragraph, self._ground)

    def _shown(self, run: BaseOxmlElement, boxes: list[BaseOxmlElement]) -> Iterator[Piece]:
        properties = run.find(qn("w:rPr"))
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
        """Yield the runs of a field at its beginning, result or end; of a form field, the chosen value."""
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
            mark = numeral(self._counts[reference.tag], form)
            around = self._paragraph, self._ground
            runs = self.runs_of(note)
            self._paragraph, self._ground = around
            if reference.tag == _COMMENT:
                plain_runs = [replace(run, text=run.text.translate(_UNBRACKETED)) for run in runs[:-1]]
                mark, runs = "", [Run(f"{COMMENT}{_by(note)}: "), *plain_runs, Run("]")]
            yield Note(mark, tuple(runs))

    def runs_of(self, element: BaseOxmlElement) -> list[Run]:
        """Return the runs of an element's paragraphs, with a space behind each: a note, a header."""
        pieces = list[Piece]()
        for one in element.iter(qn("w:p")):
            self._paragraph, self._ground = one.find(qn("w:pPr")), self._visibility.page
            pieces += [*self._in(one, []), Run(" ")]
        return [piece for piece in pieces if isinstance(piece, Run)]


def proposed(change: str, pieces: Sequence[Piece]) -> list[Piece]:
    """What a tracked change put in, so that whoever reads it sees that it is a proposal."""
    shown = [at for at, one in enumerate(pieces) if isinstance(one, Run) and not one.hidden and one.text.strip()]
    if not shown:
        return list(pieces)
    first, last = shown[0], shown[-1]
    whole = "".join(pieces[at].text for at in shown)  # type: ignore[union-attr]  # these are runs
    space, after = whole[: len(whole) - len(whole.lstrip())], whole[len(whole.rstrip()) :]
    remarks = list(pieces)
    for at, side in ((last, str.rstrip), (first, str.lstrip)):
        if isinstance(one := remarks[at], Run):
            remarks[at] = replace(one, text=side(one.text))
    return [
        *remarks[:first],
        Run(f"{space}[{change}: "),
        *remarks[first : last + 1],
        Run(f"]{after}"),
        *remarks[last + 1 :],
    ]


def change_of(element: BaseOxmlElement) -> str:
    """Who proposes what a tracked change put in, and when."""
    return f"{PROPOSAL[1:]}{'insertion' if element.tag in _INSERTED else 'deletion'} {_by(element)}".rstrip()


def _by(element: BaseOxmlElement) -> str:
    """Return who wrote something and when, as far as the file states it: "by R. Dahl, 2026-06-04"."""
    author = " ".join(re.sub(r"[^\w'’.,&-]+", " ", value(element, "w:author")).split())[:_MAX_AUTHOR_LENGTH].strip(
        " .,"
    )
    day = value(element, "w:date")[:10]
    parts = [f"by {author}" if author else "", day if re.fullmatch(r"\d{4}-\d\d-\d\d", day) else ""]
    return ", ".join(filter(None, parts))


def is_placeholder(element: BaseOxmlElement) -> bool:
    """Return whether an element is a field that nobody filled in, which shows what to do with it."""
    return element.tag == qn("w:sdt") and element.find(f"{qn('w:sdtPr')}/{qn('w:showingPlcHdr')}") is not None


def with_deletions(runs: Sequence[Run]) -> list[Run]:
    """Mark the end of a sentence that a proposal takes words out of: without them it may mean the contrary.

    Words with a proposed replacement need no more than the label of the replacement.
    """
    told, waiting = list[Run](), ""
    for at, run in enumerate(runs):
        if run.change:
            follows = next((one.text.lstrip() for one in runs[at + 1 :] if not one.hidden and one.text.strip()), "")
            waiting = (
                waiting if follows.startswith(f"{PROPOSAL}insertion") else f" [{run.change}: words are left out here]"
            )
        elif waiting and not run.hidden and (end := _SENTENCE_END.search(run.text)):
            told += [replace(run, text=run.text[: end.start()]), Run(waiting)]
            run, waiting = replace(run, text=run.text[end.start() :]), ""
        told.append(run)
    return [*told, Run(waiting)] if waiting and any(not run.hidden and run.text.strip() for run in told) else told


def _change(element: BaseOxmlElement) -> str:
    return change_of(element) if element.tag in _INSERTED else ""


def _kept_apart(pieces: Iterable[Piece], reason: HiddenReason | None) -> Iterator[Piece]:
    for piece in pieces:
        if reason is None or isinstance(piece, Break):
            yield piece
        else:
            runs = (piece,) if isinstance(piece, Run) else piece.runs
            yield from (replace(run, hidden=run.hidden or reason) for run in runs)


def styles_from(styles: Mapping[str, BaseOxmlElement], named: BaseOxmlElement | None) -> Iterator[BaseOxmlElement]:
    """Yield the style that an element names, and those under it."""
    for _ in range(_MAX_DEPTH):
        style = styles.get(value(named)) if named is not None else None
        if style is None:
            return
        yield style
        named = style.find(qn("w:basedOn"))


def _text(child: BaseOxmlElement) -> str:
    """Return the text of an element of a run; empty where it has none, or holds others."""
    if child.tag == qn("w:t"):
        return "".join(_SIGNS.get(sign, sign) for sign in child.text or "")
    if child.tag == qn("w:sym"):
        return _symbol(value(child, "w:font"), value(child, "w:char"))
    plain = {"w:br": "\n", "w:cr": "\n", "w:tab": "\t", "w:noBreakHyphen": "-"}
    return next((sign for tag, sign in plain.items() if child.tag == qn(tag)), "")


def _symbol(font: str, code: str) -> str:
    """Return the sign that a font of symbols has at a place, as far as it is one of Unicode's."""
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
