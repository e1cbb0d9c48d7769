"""The content of a file as the pages of a PDF: its headings, paragraphs, lists and tables, plainly set.

A page begins where one of the file's own begins, with its label, where it has pages; else where one is full.
"""

import io
import unicodedata
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from pypdf import PdfWriter
from reportlab.lib import colors
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfbase.ttfonts import TTFError, TTFont
from reportlab.platypus import (
    BaseDocTemplate,
    CondPageBreak,
    Flowable,
    Frame,
    LongTable,
    PageBreak,
    PageTemplate,
    TableStyle,
)
from reportlab.platypus import Paragraph as Set

from pincite.core.documents.formats.content import UNKNOWN_SIGN, Content, Item, Layout, PageStart, Paragraph, Run, Table
from pincite.core.documents.formats.drawn import Drawn
from pincite.core.documents.formats.left_out import LeftOut, not_read_field
from pincite.core.documents.formats.own_text import attach
from pincite.core.domain.documents import Box, HiddenReason, HiddenText
from pincite.core.domain.errors import UnreadablePdfError

_FONT = "Vera"
_OTHERS = ("DejaVuSans", "NotoSans-Regular", "arial", "Arial", "Arial Unicode", "LiberationSans-Regular")
"""Fonts of the system, for signs that reportlab's own lacks."""
_NARROWER = 0.82
"""Of the file's letter sizes: the font is wider than those of most files, and a page should hold what Word's did."""
_HEADING_SIZES = (1.6, 1.35, 1.2, 1.1)
_MIN_POINTS, _MAX_POINTS = 6.0, 14.0
_INDENT = 14.0
_APART = 1.55
"""Letters' sizes between paragraphs: with less the reader takes those of one line for one text."""
_UNDER_A_HEADING = 6.0
"""Letters' sizes that a heading needs below it; reportlab's own way to keep it there never ends before some tables."""
_PADDING, _SMALLEST = 2.0, 0.4
_SPARE = 1.05
"""Of a word's measured width: bold and other fonts are wider."""
_MAX_PER_WORD = 8.0
"""Letters' sizes that one word or figure can claim in a table that has no room; a longer one is broken."""
_MIN_SIDE, _LINE = 200.0, 10.0
_ADDRESS = 28.0
"""Points to the left of a sheet for the numbers of its rows."""
_MAX_LACKING = 0.02
"""Of the letters of a file."""
_LAST_SIGN = 0xFFFF
"""Further ones come out of reportlab's PDFs as others."""


def typeset(content: Content, name: str, target: Path) -> None:
    """Write the PDF. Raises UnreadablePdfError, with the file's name, where no font here has its letters."""
    _check_letters(content.items, name)
    out = io.BytesIO()
    pages = _Pages(out, content.layout, content.first_label or "")
    pages.build(_flowables(content.items, _Styles(content.layout), pages) or [Set("", ParagraphStyle("empty"))])
    writer = PdfWriter(clone_from=io.BytesIO(out.getvalue()))
    metadata = {"/Title": content.title, "/Author": content.author, "/Producer": content.producer}
    if content.created:
        metadata["/CreationDate"] = _utc(content.created).strftime("D:%Y%m%d%H%M%SZ")
    writer.metadata = {key: value for key, value in metadata.items() if value}
    writer.metadata = {**(writer.metadata or {}), **pages.left_out.as_fields(), **not_read_field(content.lacks)}
    if content.first_label is not None:
        for at, label in enumerate(pages.labels):
            writer.set_page_label(at, at, prefix=label)
    attach(content.items, writer)
    writer.write(target)


def _utc(time: datetime) -> datetime:
    return time.astimezone(UTC) if time.tzinfo else time


class _Pages(BaseDocTemplate):  # type: ignore[misc]  # reportlab ships no types
    """Notes the headings for the outline, and of which of the file's pages each page is a part."""

    def __init__(self, out: io.BytesIO, layout: Layout, label: str) -> None:
        width, height = max(layout.width, _MIN_SIDE), max(layout.height, _MIN_SIDE)
        sides = (layout.left, layout.right, layout.top, layout.bottom)
        left, right, top, bottom = (min(max(side, 24.0), 0.2 * min(width, height)) for side in sides)
        super().__init__(out, pagesize=(width, height), invariant=True)
        frame = Frame(left, bottom, width - left - right, height - top - bottom, 0, 0, 0, 0)
        self.addPageTemplates(PageTemplate(frames=[frame]))
        self.room = width - left - right
        self.labels: list[str] = []
        self._label = label
        self.left_out = LeftOut()
        self._level, self._headings = -1, 0

    def afterPage(self) -> None:  # reportlab's name
        self.labels.append(self._label)

    def afterFlowable(self, flowable: Flowable) -> None:
        self._label = getattr(flowable, "label", self._label)
        level = getattr(flowable, "heading_level", 0)
        if level:
            self._level = min(level - 1, self._level + 1)  # an outline leaves no level out
            self._headings += 1
            key = f"heading-{self._headings}"
            self.canv.bookmarkPage(key)
            self.canv.addOutlineEntry(flowable.getPlainText(), key, level=self._level)


class _Hidden(Flowable):  # type: ignore[misc]  # reportlab ships no types
    """Sets nothing: notes where a text that nobody sees would have stood."""

    def __init__(self, text: str, reason: HiddenReason, pages: _Pages) -> None:
        super().__init__()
        self._text, self._reason, self._pages = text, reason, pages

    def wrap(self, width: float, height: float) -> tuple[float, float]:
        return 0.0, 0.0

    def draw(self) -> None:
        left, bottom = self.canv.absolutePosition(0, 0)
        width, height = self._pages.pagesize
        box = Box(left / width, max(1 - (bottom + _LINE) / height, 0.0), 1 - left / width, 1 - bottom / height)
        self._pages.left_out.add(id(self), self.canv.getPageNumber() - 1, HiddenText(self._text, box, self._reason))


def _hidden(paragraph: Paragraph, pages: _Pages) -> list[Flowable]:
    """One for each stretch of a paragraph's hidden runs of one reason."""
    parts = groupby(paragraph.hidden, lambda run: run.hidden)
    return [_Hidden("".join(run.text for run in part), reason, pages) for reason, part in parts if reason]


class _Styles:
    def __init__(self, layout: Layout) -> None:
        points = min(max(layout.letters, _MIN_POINTS), _MAX_POINTS) * _NARROWER
        self._body = _style(None, points, fontName=_FONT, spaceAfter=_APART * points)

    def of(self, paragraph: Paragraph) -> ParagraphStyle:
        points = self._body.fontSize
        if paragraph.level:
            points *= _HEADING_SIZES[min(paragraph.level, len(_HEADING_SIZES)) - 1]
            apart = _APART * points
            return _style(self._body, points, fontName="VeraBd", spaceBefore=apart, spaceAfter=apart)
        if paragraph.note:
            return _style(self._body, 0.85 * points, spaceAfter=0)
        return _style(self._body, points, leftIndent=_INDENT * min(paragraph.depth + 1, 8) if paragraph.label else 0)

    @property
    def points(self) -> float:
        return float(self._body.fontSize)

    def cell(self, scale: float) -> ParagraphStyle:
        return _style(self._body, scale * self.points, spaceAfter=0)


def _style(parent: ParagraphStyle | None, points: float, **more: object) -> ParagraphStyle:
    return ParagraphStyle("style", parent=parent, fontSize=points, leading=1.2 * points, **more)


def _flowables(items: Sequence[Item], styles: _Styles, pages: _Pages) -> list[Flowable]:
    made = list[Flowable]()
    for item in items:
        if isinstance(item, PageStart):
            made.append(PageBreak())
            made[-1].label = item.label
        elif isinstance(item, Table):
            made.append(_table(item, styles, pages))
        else:
            made += _hidden(item, pages)
            if not item.text.strip():
                continue
            flowable = Set(_marked_up(item), styles.of(item))
            flowable.heading_level = item.level
            made += [CondPageBreak(_UNDER_A_HEADING * styles.points), flowable] if item.level else [flowable]
    return made


def _table(table: Table, styles: _Styles, pages: _Pages) -> Flowable:
    count = max(sum(cell.columns for cell in row) for row in table.rows)
    room = pages.room - (_ADDRESS if table.letters else 0.0)
    widths, scale = _widths(table, count, room, styles.points)
    style = styles.cell(scale)
    rows, looks = list[list[Any]](), [*_lines_of(table), ("VALIGN", (0, 0), (-1, -1), "TOP")]
    looks += [(f"{side}PADDING", (0, 0), (-1, -1), _PADDING) for side in ("LEFT", "RIGHT")]
    for number, row in enumerate(table.rows):
        cells = list[Any]()
        for cell in row:
            if cell.columns > 1:
                looks.append(("SPAN", (len(cells), number), (len(cells) + cell.columns - 1, number)))
            inside = [
                one
                for paragraph in cell.paragraphs
                for one in (
                    *_hidden(paragraph, pages),
                    *([Set(_marked_up(paragraph), style)] if paragraph.text else []),
                )
            ]
            cells += [inside, *[""] * (cell.columns - 1)]
        rows.append(cells + [""] * (count - len(cells)))
    heads, apart = int(table.heads), _APART * styles.points
    if table.letters:
        rows = [
            ["", *map(Drawn, table.letters)],
            *([Drawn(name), *row] for name, row in zip(table.numbers, rows, strict=True)),
        ]
        widths, heads = [_ADDRESS, *widths], heads + 1
        looks = [(name, *(_moved(place) for place in looks_at[:2]), *looks_at[2:]) for name, *looks_at in looks]
        looks += [(f"{side}PADDING", (0, 0), (-1, -1), _PADDING) for side in ("LEFT", "RIGHT")]
    return LongTable(rows, colWidths=widths, style=TableStyle(looks), repeatRows=heads, splitInRow=1, spaceAfter=apart)


def _moved(place: tuple[int, int]) -> tuple[int, int]:
    """Return the place of a cell after a row and a column came before all."""
    column, row = (at + 1 if at >= 0 else at for at in place)
    return column, row


def _lines_of(table: Table) -> list[Any]:
    """Return the lines between the cells, except within merged cells.

    Merged cells are no spans: reportlab does not part spans where a page ends.
    """
    line = (0.4, colors.grey)
    if not any(cell.goes_on for row in table.rows for cell in row):
        return [("GRID", (0, 0), (-1, -1), *line)]
    looks: list[Any] = [("LINEABOVE", (0, 0), (-1, 0), *line), ("LINEBEFORE", (0, 0), (-1, -1), *line)]
    looks += [("LINEAFTER", (0, 0), (-1, -1), *line), ("LINEBELOW", (0, -1), (-1, -1), *line)]
    for number, row in enumerate(table.rows[1:]):
        at = 0
        for cell in row:
            if not cell.goes_on:
                looks.append(("LINEBELOW", (at, number), (at + cell.columns - 1, number), *line))
            at += cell.columns
    return looks


def _widths(table: Table, count: int, room: float, points: float) -> tuple[list[float], float]:
    """Return each column's width, and how much smaller letters must be so that no word or figure is broken in it."""
    least, wanted = [1.0] * count, [1.0] * count
    for row in table.rows:
        at = 0
        for cell in row:
            for text in (paragraph.text for paragraph in cell.paragraphs if cell.columns == 1):
                tokens = [stringWidth(token, _FONT, points) for token in text.split()]
                least[at] = max(least[at], min(max(tokens, default=0.0), max(room / count, _MAX_PER_WORD * points)))
                wanted[at] = max(wanted[at], sum(tokens) + points * len(tokens) / 3)
            at += cell.columns
    for_words = room - 2 * count * _PADDING
    scale = min(1.0, max(for_words / (_SPARE * sum(least)), _SMALLEST))
    more = [most - low + 1 for most, low in zip(wanted, least, strict=True)]
    left = (room - sum(_SPARE * scale * low + 2 * _PADDING for low in least)) / sum(more)
    shares = (_SPARE * scale * low + 2 * _PADDING + left * extra for low, extra in zip(least, more, strict=True))
    return [max(share, 2 * _PADDING + 1) for share in shares], scale


def _marked_up(paragraph: Paragraph) -> str:
    """As reportlab's markup."""
    label = [Run(f"{paragraph.label} ", bold=bool(paragraph.level))] if paragraph.label else []
    return "".join(map(_run, (*label, *(run for run in paragraph.runs if not run.hidden))))


def _run(run: Run) -> str:
    parts = []
    for font, signs in groupby("".join(map(_drawable, run.text)), _font_for):
        text = escape("".join(signs))
        parts.append(text if font == _FONT else f'<font name="{font}">{text}</font>')
    text = "".join(parts).replace("\n", "<br/>").replace("\t", "&nbsp;&nbsp;&nbsp; ")
    for wanted, tag in ((run.bold, "b"), (run.italic, "i"), (run.raised, "super")):
        text = f"<{tag}>{text}</{tag}>" if wanted else text
    return text


def _check_letters(items: Sequence[Item], name: str) -> None:
    """Raises UnreadablePdfError where more than a few letters could not be shown."""
    rows = [row for item in items if isinstance(item, Table) for row in item.rows]
    paragraphs = [item for item in items if isinstance(item, Paragraph)]
    paragraphs += [one for row in rows for cell in row for one in cell.paragraphs]
    letters = Counter(sign for paragraph in paragraphs for sign in paragraph.text if sign.isalnum())
    lacking = [sign for sign in letters if _drawable(sign) == UNKNOWN_SIGN]
    if sum(letters[sign] for sign in lacking) > _MAX_LACKING * letters.total():
        hint = "Save it as a PDF in the program that shows it, and add that."
        raise UnreadablePdfError(f"{name} is in letters that no font here can show (“{lacking[0]}”).", hint=hint)


@cache
def _drawable(sign: str) -> str:
    """Return the sign, or plainer equivalents, where a font has them; else the sign for an unknown one."""
    plain = unicodedata.normalize("NFKC", sign)
    return next((one for one in (sign, plain) if all(map(_font_for, one))), UNKNOWN_SIGN)


@cache
def _font_for(sign: str) -> str:
    """Return the font that has the sign; empty where none has, or where none here can set it from right to left."""
    if sign in "\n\t " or ord(sign) in _signs_of(_FONT):
        return _FONT
    if unicodedata.bidirectional(sign) in ("R", "AL") or ord(sign) > _LAST_SIGN:
        return ""
    return next((font for font in _OTHERS if ord(sign) in _signs_of(font)), "")


@cache
def _signs_of(font: str) -> frozenset[int]:
    """Return the code points that a font has; none if it is not installed. It can be used from then on."""
    try:
        face = TTFont(font, f"{font}.ttf")
    except (TTFError, OSError):
        return frozenset()
    pdfmetrics.registerFont(face)
    if font == _FONT:
        for style in ("VeraBd", "VeraIt", "VeraBI"):
            pdfmetrics.registerFont(TTFont(style, f"{style}.ttf"))
        pdfmetrics.registerFontFamily(_FONT, _FONT, "VeraBd", "VeraIt", "VeraBI")
    else:
        pdfmetrics.registerFontFamily(font, font, font, font, font)
    return frozenset(face.face.charToGlyph)
