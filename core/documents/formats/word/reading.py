"""The content of a Word file, in its order: paragraphs with their numbers, tables, and where Word's own pages begin.

Of tracked changes what was inserted is read as a proposal and what was deleted is not; text that nobody sees is kept
apart with its reason. Headers, footers and comments are read as notes, of diagrams the words. Pictures, charts and how
diagrams are drawn are not read, and ``lacks`` names them.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import docx
from docx.document import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import qn
from docx.oxml.xmlchemy import BaseOxmlElement
from docx.section import Section

from pincite.core.documents.formats.content import Cell, Content, Item, Layout, PageStart, Paragraph, Run, Table
from pincite.core.documents.formats.numerals import numeral
from pincite.core.documents.formats.word.inline import (
    Break,
    Inline,
    Note,
    change_of,
    is_placeholder,
    proposed,
    styles_from,
    with_deletions,
)
from pincite.core.documents.formats.word.numbering import Numbering, value
from pincite.core.documents.formats.word.unread import lacking
from pincite.core.documents.formats.word.visibility import Ground, Visibility

_HEADING = re.compile(r"heading ([1-9])|title", re.IGNORECASE)
_CONTAINERS = frozenset(map(qn, ("w:sdt", "w:sdtContent", "w:customXml", "w:ins", "w:moveTo")))
_MAX_HEADS_LENGTH = 400
"""Letters of a table's heads that are repeated on its further pages."""
_MAX_COLUMNS = 63
_RUNNING = ("header", "footer")
_OF_DIAGRAMS = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_WORDS = "{http://schemas.openxmlformats.org/drawingml/2006/main}t"


class WordFile:
    """``has_pages``: Word kept where its pages began."""

    def __init__(self, path: Path) -> None:
        self.document: Document = docx.Document(str(path))
        self._body = self.document.element.body
        self.has_pages = next(self._body.iter(qn("w:lastRenderedPageBreak")), None) is not None
        elements = self.document.styles.element.iter(qn("w:style"))
        self._styles = {value(style, "w:styleId"): style for style in elements}
        kinds = {
            "w:footnoteReference": RELATIONSHIP_TYPE.FOOTNOTES,
            "w:endnoteReference": RELATIONSHIP_TYPE.ENDNOTES,
            "w:commentReference": RELATIONSHIP_TYPE.COMMENTS,
        }
        notes = {qn(mark): dict(self._notes_of(kind)) for mark, kind in kinds.items()}
        self._visibility = Visibility(
            self._styles,
            self.document.styles.element.find(qn("w:docDefaults")),
            next(self._parts(RELATIONSHIP_TYPE.THEME), None),
            next(self._parts(RELATIONSHIP_TYPE.SETTINGS), None),
            self.document.element.find(qn("w:background")),
        )
        self._inline = Inline(self._styles, notes, self._visibility, dict(self._diagrams()))
        self.lacks = lacking(self.document)
        self._numbering = Numbering(next(self._parts(RELATIONSHIP_TYPE.NUMBERING), None))
        self._sections = list(self._body.iter(qn("w:sectPr")))
        self._section = self._labelled_section = 0
        self._page = self._first_of_section() or 1
        self._break_waits = False
        self._notes = list[Paragraph]()
        self._first_label = self._page_label()

    def content(self) -> Content:
        properties = self.document.core_properties
        return Content(
            "a Word file", tuple(self.items()), self._first_label if self.has_pages else None, self.lacks,
            properties.title, properties.author, properties.created, self._layout(),
        )  # fmt: skip

    def items(self) -> Iterator[Item]:
        """Yield all items; notes are at the end of their page, where the pages are known, else of their document.

        The headers and footers of all pages are notes of the first.
        """
        self._notes = list(self._running())
        for item in self._blocks(self._body, self._visibility.page):
            if isinstance(item, PageStart) and self.has_pages:
                yield from self._notes
                self._notes = []
            yield item
        yield from self._notes

    def _layout(self) -> Layout:
        section = self.document.sections[0] if len(self.document.sections) else None
        size = self.document.styles["Normal"].font.size if "Normal" in self.document.styles else None
        sides = {name: _points(section, f"{name}_margin") for name in ("left", "right", "top", "bottom")}
        lengths = {
            "width": _points(section, "page_width"),
            "height": _points(section, "page_height"),
            **sides,
            "letters": float(size.pt) if size else None,
        }
        return Layout(**{name: length for name, length in lengths.items() if length is not None})

    def _blocks(self, parent: BaseOxmlElement, ground: Ground) -> Iterator[Item]:
        for child in parent:
            if child.tag == qn("w:p"):
                yield from self._paragraph(child, ground)
            elif child.tag == qn("w:tbl"):
                yield from self._table(child, ground)
            elif child.tag in _CONTAINERS and not is_placeholder(child):
                yield from self._blocks(child, ground)

    def _paragraph(self, element: BaseOxmlElement, ground: Ground) -> Iterator[Item]:
        """Yield a paragraph, or its pieces on several pages; the text boxes that hang on it follow it."""
        boxes = list[BaseOxmlElement]()
        pieces = list(self._inline.pieces(element, boxes, ground))
        properties = element.find(qn("w:pPr"))
        own = properties if properties is not None else element.makeelement(qn("w:pPr"))
        if own.find(f"{qn('w:rPr')}/{qn('w:del')}") is not None and not _has_text(pieces):
            if left := tuple(piece for piece in pieces if isinstance(piece, Run) and piece.text.strip()):
                yield Paragraph(left)
            return  # a paragraph that was deleted is not counted
        if own.find(qn("w:pageBreakBefore")) is not None:
            yield from self._broken(Break(shown=False))
        in_force = list(self._in_force(own))
        level = next(filter(None, map(_heading_level, in_force)), 0)
        label, depth = self._label(in_force)
        runs = list[Run]()
        for piece in pieces:
            if isinstance(piece, Note):
                self._notes.append(Paragraph((Run(piece.mark, raised=True), *piece.runs), note=True))
                runs.append(Run(piece.mark, raised=True))
                continue
            begins = list(self._broken(piece))
            if begins and _has_text(runs):
                yield Paragraph(tuple(with_deletions(runs)), level, label, depth)
                runs, label = [], ""
            yield from begins
            if isinstance(piece, Run):
                runs.append(piece)
        if _has_text(runs):
            yield Paragraph(tuple(with_deletions(runs)), level, label, depth)
        elif any(run.hidden and run.text.strip() for run in runs):
            yield Paragraph(tuple(run for run in runs if run.hidden))
        for box in boxes:
            yield from self._blocks(box, self._visibility.ground_of_box(box, ground))
        if own.find(qn("w:sectPr")) is not None:
            self._section = min(self._section + 1, len(self._sections) - 1)
            kind = self._sections[self._section].find(qn("w:type"))
            if kind is None or value(kind) != "continuous":
                yield from self._broken(Break(shown=False))

    def _broken(self, piece: Run | Break) -> Iterator[PageStart]:
        """The page that begins before this piece; Word shows breaks that the file wants, but not before empty lines."""
        if isinstance(piece, Break):
            if self.has_pages and not piece.shown:
                self._break_waits = True
                return
        elif piece.hidden or not (self._break_waits and piece.text.strip()):
            return
        self._break_waits = False
        begun, self._labelled_section = self._section != self._labelled_section, self._section
        self._page = (self._first_of_section() if begun else 0) or self._page + 1
        yield PageStart(self._page_label())

    def _first_of_section(self) -> int:
        """Return the number of its first page, where the section sets one; else 0."""
        start = self._page_numbers("w:start")
        return int(start) if start.isdigit() else 0

    def _page_label(self) -> str:
        return numeral(self._page, self._page_numbers("w:fmt") or "decimal")

    def _page_numbers(self, name: str) -> str:
        kind = self._sections[self._section].find(qn("w:pgNumType")) if self._sections else None
        return value(kind, name) if kind is not None else ""

    def _table(self, table: BaseOxmlElement, ground: Ground) -> Iterator[Item]:
        rows, heads = list[tuple[Cell, ...]](), False
        every = list(_children(table, "w:tr"))
        for number, row in enumerate(every):
            cells, begins = list[Cell](), list[PageStart]()
            properties = row.find(qn("w:trPr"))
            own = properties if properties is not None else row.makeelement(qn("w:trPr"))
            if own.find(qn("w:del")) is not None:
                continue
            if (left_out := _count(own.find(qn("w:gridBefore")))) > 0:
                cells.append(Cell((), left_out))
            row_cells = list(_children(row, "w:tc"))
            added = own.find(qn("w:ins"))
            for at, cell in enumerate(row_cells):
                place = (number, at, number == len(every) - 1, at == len(row_cells) - 1)
                inside = list(self._cell(cell, self._visibility.ground_of_cell(table, row, cell, ground, place)))
                if cell.find(f"{qn('w:tcPr')}/{qn('w:cellDel')}") is not None:
                    inside = []
                if added is not None:
                    inside = [_proposed(item, change_of(added)) for item in inside]
                begins += [item for item in inside if isinstance(item, PageStart)]
                merged = cell.find(f"{qn('w:tcPr')}/{qn('w:vMerge')}")
                goes_on = merged is not None and merged.get(qn("w:val"), "continue") == "continue"
                paragraphs = () if goes_on else tuple(item for item in inside if isinstance(item, Paragraph))
                columns = max(1, _count(cell.find(f"{qn('w:tcPr')}/{qn('w:gridSpan')}")))
                cells.append(Cell(paragraphs, columns, goes_on and bool(rows)))
            if begins and rows:
                yield Table(tuple(rows), heads)
                rows = rows[:1] if heads else []
            yield from begins[:1]
            if cells and not rows:
                length = sum(len(one.text) for cell in cells for one in cell.paragraphs)
                heads = own.find(qn("w:tblHeader")) is not None and length <= _MAX_HEADS_LENGTH
            rows += [tuple(cells)] if cells else []
        if rows:
            yield Table(tuple(rows), heads and len(rows) > 1)

    def _cell(self, cell: BaseOxmlElement, ground: Ground) -> Iterator[Paragraph | PageStart]:
        """Yield a cell's paragraphs, and those of the tables within it."""
        for item in self._blocks(cell, ground):
            if not isinstance(item, Table):
                yield item
                continue
            for row in item.rows:
                lines = [one for inner in row for one in inner.paragraphs]
                yield Paragraph(
                    (Run(" ".join(one.text for one in lines)), *(run for one in lines for run in one.hidden))
                )

    def _label(self, in_force: list[BaseOxmlElement]) -> tuple[str, int]:
        """Number or bullet, and how deep: what a paragraph does not set itself is its style's."""
        numbered = [one.find(qn("w:numPr")) for one in in_force]
        number, level = (
            next((found for one in numbered if one is not None and (found := one.find(qn(name))) is not None), None)
            for name in ("w:numId", "w:ilvl")
        )
        depth = _count(level)
        return (self._numbering.label(value(number), depth) if number is not None else ""), depth

    def _in_force(self, own: BaseOxmlElement) -> Iterator[BaseOxmlElement]:
        """Yield a paragraph's own properties, its style's with its name, and those of the styles under that."""
        yield own
        for style in styles_from(self._styles, own.find(qn("w:pStyle"))):
            if (properties := style.find(qn("w:pPr"))) is not None:
                yield properties
            yield style

    def _running(self) -> Iterator[Paragraph]:
        """Yield the headers and footers that contain letters, each text once."""
        said, settings = set[str](), next(self._parts(RELATIONSHIP_TYPE.SETTINGS), None)
        even = settings is not None and _is_set(settings, "w:evenAndOddHeaders")
        for section in self._sections:
            shown = {"default", *(["first"] if _is_set(section, "w:titlePg") else []), *(["even"] if even else [])}
            references = [(name, one) for name in _RUNNING for one in section.iter(qn(f"w:{name}Reference"))]
            for kind, reference in references:
                relation = self.document.part.rels.get(str(reference.get(qn("r:id"))))
                if relation is None or relation.is_external or (value(reference, "w:type") or "default") not in shown:
                    continue
                runs = self._inline.runs_of(parse_xml(relation.target_part.blob))
                text = "".join(run.text for run in runs if not run.hidden).strip()
                if any(map(str.isalpha, text)) and text not in said:
                    said.add(text)
                    yield Paragraph((Run(f"{kind.capitalize()}: "), *runs), note=True)

    def _diagrams(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the words of each diagram, point by point, by the id of its data."""
        for identity, relation in self.document.part.rels.items():
            if relation.reltype.endswith("/diagramData") and not relation.is_external:
                points = parse_xml(relation.target_part.blob).iter(f"{_OF_DIAGRAMS}pt")
                texts = ("".join(one.text or "" for one in point.iter(_WORDS)).strip() for point in points)
                yield identity, list(filter(None, texts))

    def _notes_of(self, kind: str) -> Iterator[tuple[str, BaseOxmlElement]]:
        for element in self._parts(kind):
            yield from ((value(note, "w:id"), note) for note in element)

    def _parts(self, kind: str) -> Iterator[BaseOxmlElement]:
        for relation in self.document.part.rels.values():
            if relation.reltype == kind and not relation.is_external:
                yield parse_xml(relation.target_part.blob)


def _proposed(item: Paragraph | PageStart, change: str) -> Paragraph | PageStart:
    if isinstance(item, PageStart):
        return item
    return replace(item, runs=tuple(run for run in proposed(change, item.runs) if isinstance(run, Run)))


def _children(parent: BaseOxmlElement, name: str) -> Iterator[BaseOxmlElement]:
    """Rows or cells, also those that a content control holds."""
    for child in parent:
        if child.tag == qn(name):
            yield child
        elif child.tag in _CONTAINERS:
            yield from _children(child, name)


def _heading_level(properties: BaseOxmlElement) -> int:
    """By its place in the outline, or by the name of a style."""
    outline, name = properties.find(qn("w:outlineLvl")), properties.find(qn("w:name"))
    if outline is not None:
        return _count(outline) + 1 if _count(outline) < 9 else 0
    named = _HEADING.fullmatch(value(name)) if name is not None else None
    return int(named[1] or 1) if named else 0


def _is_set(properties: BaseOxmlElement, name: str) -> bool:
    found = properties.find(qn(name))
    return found is not None and value(found) not in ("0", "false", "off")


def _count(element: BaseOxmlElement | None) -> int:
    written_so = value(element) if element is not None else ""
    return min(int(written_so), _MAX_COLUMNS) if written_so.isdigit() else 0


def _points(section: Section | None, name: str) -> float | None:
    length = getattr(section, name, None)
    return float(length.pt) if length is not None else None


def _has_text(pieces: list[Run] | list[Run | Break | Note]) -> bool:
    return any(isinstance(piece, Run) and not piece.hidden and piece.text.strip() for piece in pieces)
