"""What a Word file says, in its order: paragraphs with their numbers, tables, and where Word's own pages begin.

Of tracked changes what was inserted is read and what was deleted is not; hidden text, headers, footers, comments and
pictures are left out.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import docx
from docx.document import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import qn
from docx.oxml.xmlchemy import BaseOxmlElement

from core.documents.formats.word.numbering import Numbering
from core.domain.documents import TICKED, UNTICKED

_HEADING = re.compile(r"heading ([1-9])|title", re.IGNORECASE)
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_LEFT_OUT = frozenset([_FALLBACK, *map(qn, ("w:del", "w:moveFrom", "w:pPr", "w:rPr", "w:instrText", "w:delText"))])
_TEXT = frozenset(map(qn, ("w:t", "m:t")))
_PICTURES = frozenset(map(qn, ("w:drawing", "w:pict", "w:object")))
_HELD_IN = frozenset(map(qn, ("w:sdt", "w:sdtContent", "w:customXml", "w:ins", "w:moveTo")))
_SIGNS = {"☐": UNTICKED, "☑": TICKED, "☒": TICKED, "\u00ad": "", "\u2011": "-"}
_MOST_DEEP = 20
"""Tables within tables, and styles upon styles."""


@dataclass(frozen=True, slots=True)
class Run:
    text: str
    bold: bool = False
    italic: bool = False
    raised: bool = False


@dataclass(frozen=True, slots=True)
class Paragraph:
    """``level``: of a heading, 1 = top; 0: text. ``label``: its number or bullet. ``note``: it is a footnote."""

    runs: tuple[Run, ...]
    level: int = 0
    label: str = ""
    depth: int = 0
    note: bool = False

    @property
    def text(self) -> str:
        return "".join(run.text for run in self.runs)


@dataclass(frozen=True, slots=True)
class Cell:
    paragraphs: tuple[Paragraph, ...]
    columns: int = 1


@dataclass(frozen=True, slots=True)
class Table:
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class PageStart:
    """Where a page begins, as Word last showed the file, or as the file wants it."""


Item: TypeAlias = Paragraph | Table | PageStart


class WordFile:
    """``has_pages``: Word kept where its pages began."""

    def __init__(self, path: Path) -> None:
        self.document: Document = docx.Document(str(path))
        self._body = self.document.element.body
        self.has_pages = next(self._body.iter(qn("w:lastRenderedPageBreak")), None) is not None
        self.pictures = sum(1 for _ in self._body.iter(qn("a:blip")))
        self._styles = {style.get(qn("w:styleId")): style for style in self.document.styles.element.iter(qn("w:style"))}
        self._notes = {
            mark: dict(self._notes_of(kind))
            for mark, kind in (
                (qn("w:footnoteReference"), RELATIONSHIP_TYPE.FOOTNOTES),
                (qn("w:endnoteReference"), RELATIONSHIP_TYPE.ENDNOTES),
            )
        }
        numbers = next(iter(self._part(RELATIONSHIP_TYPE.NUMBERING)), None)
        self._numbering = Numbering(numbers)
        self._waiting: list[Paragraph] = []
        self._noted_so_far = 0

    def items(self) -> Iterator[Item]:
        """Footnotes stand at the end of their page, where the pages are known, else of their document."""
        for item in self._blocks(self._body):
            if isinstance(item, PageStart) and self.has_pages:
                yield from self._waiting
                self._waiting = []
            yield item
        yield from self._waiting

    def _blocks(self, parent: BaseOxmlElement) -> Iterator[Item]:
        for child in parent:
            if child.tag == qn("w:p"):
                yield from self._paragraph(child)
            elif child.tag == qn("w:tbl"):
                yield from self._table(child)
            elif child.tag in _HELD_IN:
                yield from self._blocks(child)

    def _paragraph(self, element: BaseOxmlElement) -> Iterator[Item]:
        """A paragraph, or its pieces on several pages; the text boxes that hang on it stand behind it."""
        properties, level, numbered = element.find(qn("w:pPr")), 0, None
        if properties is not None and properties.find(qn("w:pageBreakBefore")) is not None and not self.has_pages:
            yield PageStart()
        for one in self._in_force(properties):
            numbered = one.find(qn("w:numPr")) if numbered is None else numbered
            level = level or _heading_level(one)
        label, depth = self._label(numbered)
        runs, boxes = list[Run](), list[BaseOxmlElement]()
        for run in self._inline(element, boxes):
            if isinstance(run, Run):
                runs.append(run)
                continue
            if _says(runs):
                yield Paragraph(tuple(runs), level, label, depth)
                runs, label = [], ""
            yield run
        if _says(runs):
            yield Paragraph(tuple(runs), level, label, depth)
        for box in boxes:
            yield from self._blocks(box)
        if properties is not None and properties.find(qn("w:sectPr")) is not None and not self.has_pages:
            yield PageStart()

    def _inline(self, parent: Iterable[BaseOxmlElement], boxes: list[BaseOxmlElement]) -> Iterator[Run | PageStart]:
        for child in parent:
            if child.tag in _LEFT_OUT:
                continue
            if child.tag in _PICTURES:
                boxes += child.iter(qn("w:txbxContent"))
            elif child.tag in _TEXT:
                yield Run("".join(_SIGNS.get(sign, sign) for sign in child.text or ""))
            elif child.tag == qn("w:r"):
                yield from self._run(child, boxes)
            else:
                yield from self._inline(child, boxes)

    def _run(self, run: BaseOxmlElement, boxes: list[BaseOxmlElement]) -> Iterator[Run | PageStart]:
        properties = run.find(qn("w:rPr"))
        if _is_on(properties, "w:vanish"):
            return
        bold, italic = _is_on(properties, "w:b"), _is_on(properties, "w:i")
        align = properties.find(qn("w:vertAlign")) if properties is not None else None
        raised = align is not None and align.get(qn("w:val")) == "superscript"
        for child in run:
            if child.tag == qn("w:t"):
                text = "".join(_SIGNS.get(sign, sign) for sign in child.text or "")
                yield Run(text, bold, italic, raised)
            elif child.tag == qn("w:lastRenderedPageBreak"):
                yield PageStart()
            elif child.tag == qn("w:br") and child.get(qn("w:type")) == "page":
                if not self.has_pages:
                    yield PageStart()
            elif child.tag in (qn("w:br"), qn("w:cr")):
                yield Run("\n")
            elif child.tag == qn("w:tab"):
                yield Run("\t")
            elif child.tag == qn("w:noBreakHyphen"):
                yield Run("-", bold, italic, raised)
            elif child.tag == qn("w:sym"):
                yield Run("◊")
            elif child.tag == qn("w:fldChar"):
                yield from _form_box(child)
            elif child.tag in self._notes:
                yield from self._noted(child)
            elif child.tag not in _LEFT_OUT:
                yield from self._inline([child], boxes)

    def _noted(self, reference: BaseOxmlElement) -> Iterator[Run]:
        note = self._notes[reference.tag].get(reference.get(qn("w:id")))
        if note is not None:
            self._noted_so_far += 1
            number = str(self._noted_so_far)
            runs = [
                run
                for one in note.iter(qn("w:p"))
                for run in (*self._inline(one, []), Run(" "))
                if isinstance(run, Run)
            ]
            self._waiting.append(Paragraph((Run(number, raised=True), *runs), note=True))
            yield Run(number, raised=True)

    def _table(self, table: BaseOxmlElement) -> Iterator[Item]:
        rows, pages = list[tuple[Cell, ...]](), 0
        for row in _rows(table):
            cells = list[Cell]()
            for cell in row.iterchildren(qn("w:tc")):
                span = cell.find(f"{qn('w:tcPr')}/{qn('w:gridSpan')}")
                inside = list(self._cell(cell))
                pages += sum(isinstance(item, PageStart) for item in inside)
                said = tuple(item for item in inside if isinstance(item, Paragraph))
                columns = span.get(qn("w:val")) if span is not None else "1"
                cells.append(Cell(said, min(int(columns), 63) if str(columns).isdigit() else 1))
            if pages and rows:
                yield Table(tuple(rows))
                yield PageStart()
                rows = []
            elif pages:
                yield PageStart()
            pages = 0
            if cells:
                rows.append(tuple(cells))
        if rows:
            yield Table(tuple(rows))

    def _cell(self, cell: BaseOxmlElement) -> Iterator[Paragraph | PageStart]:
        """A cell's paragraphs, and those of the tables within it."""
        for item in self._blocks(cell):
            if not isinstance(item, Table):
                yield item
                continue
            for row in item.rows:
                said = " ".join(one.text for inner in row for one in inner.paragraphs)
                yield Paragraph((Run(said),))

    def _label(self, numbered: BaseOxmlElement | None) -> tuple[str, int]:
        if numbered is None:
            return "", 0
        number, level = numbered.find(qn("w:numId")), numbered.find(qn("w:ilvl"))
        at = str(level.get(qn("w:val"))) if level is not None else "0"
        depth = int(at) if at.isdigit() else 0
        return (self._numbering.label(str(number.get(qn("w:val"))), depth) if number is not None else ""), depth

    def _in_force(self, properties: BaseOxmlElement | None) -> Iterator[BaseOxmlElement]:
        """A paragraph's own properties, its style's, and those of the styles under that."""
        if properties is not None:
            yield properties
        chosen = properties.find(qn("w:pStyle")) if properties is not None else None
        style = self._styles.get(chosen.get(qn("w:val"))) if chosen is not None else None
        for _ in range(_MOST_DEEP):
            if style is None:
                return
            own = style.find(qn("w:pPr"))
            named = style.find(qn("w:name"))
            if own is not None:
                yield own
            if named is not None and (_HEADING.fullmatch(named.get(qn("w:val")) or "")):
                yield style
            under = style.find(qn("w:basedOn"))
            style = self._styles.get(under.get(qn("w:val"))) if under is not None else None

    def _notes_of(self, kind: str) -> Iterator[tuple[str, BaseOxmlElement]]:
        for element in self._part(kind):
            for note in element:
                yield str(note.get(qn("w:id"))), note

    def _part(self, kind: str) -> Iterator[BaseOxmlElement]:
        for relation in self.document.part.rels.values():
            if relation.reltype == kind and not relation.is_external:
                yield parse_xml(relation.target_part.blob)


def _rows(table: BaseOxmlElement) -> Iterator[BaseOxmlElement]:
    for child in table:
        if child.tag == qn("w:tr"):
            yield child
        elif child.tag in _HELD_IN:
            yield from _rows(child)


def _heading_level(properties: BaseOxmlElement) -> int:
    """By its place in the outline, or by the name of a style."""
    outline, name = properties.find(qn("w:outlineLvl")), properties.find(qn("w:name"))
    if outline is not None and (at := str(outline.get(qn("w:val")))).isdigit():
        return int(at) + 1 if int(at) < 9 else 0
    named = _HEADING.fullmatch(name.get(qn("w:val")) or "") if name is not None else None
    return int(named[1] or 1) if named else 0


def _form_box(field: BaseOxmlElement) -> Iterator[Run]:
    """A form's box, ticked or not."""
    for box in field.iter(qn("w:checkBox")):
        ticked = _is_on(box, "w:checked") or (box.find(qn("w:checked")) is None and _is_on(box, "w:default"))
        yield Run(f"{TICKED if ticked else UNTICKED} ")


def _is_on(properties: BaseOxmlElement | None, name: str) -> bool:
    found = properties.find(qn(name)) if properties is not None else None
    return found is not None and found.get(qn("w:val")) not in ("0", "false", "none", "off")


def _says(runs: list[Run]) -> bool:
    return any(run.text.strip() for run in runs)
