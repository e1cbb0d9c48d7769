"""Spreadsheets (.xlsx, .csv): each sheet as tables, on pages that are called by their cells."""

import csv
import io
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile
from pathlib import Path
from typing import Any

from pincite.core.documents.formats.content import (
    CSV,
    MAX_WIDTH,
    PER_SIGN,
    SPREADSHEET,
    Cell,
    Content,
    Item,
    Layout,
    PageStart,
    Paragraph,
    Run,
    Table,
)
from pincite.core.documents.formats.contrast import MIN_POINTS, Color, reason_by_color, rgb
from pincite.core.documents.formats.plain import decoded
from pincite.core.domain.documents import HiddenReason
from pincite.core.domain.errors import UnreadablePdfError

KIND = "a spreadsheet (.xlsx, .csv)"
TEXTS = (".csv", ".tsv")
ENDINGS = (".xlsx", ".xlsm", *TEXTS)
_SEPARATOR = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)
_WORKBOOK = "xl/workbook.xml"
_MAX_ROWS = 40
"""Rows on a page."""
_MAX_CELLS = 500_000
_MIN_SIDE = 1.0
"""Points that a row must be high and a column wide."""
_MARGIN, _LETTERS = 30.0, 10.0
_MAX_SIGNS = 60
"""Characters that a column is wide at most."""


class _OneColumn(csv.excel):
    delimiter = "\x1f"


@dataclass(frozen=True, slots=True)
class _Shown:
    """A cell: what it shows, and why nobody sees it; ``is_text``: no number or date."""

    text: str
    hidden: HiddenReason | None = None
    is_text: bool = True
    struck: str = ""
    """A part of it that is struck out."""


@dataclass(frozen=True, slots=True)
class _Row:
    number: int
    cells: tuple[_Shown, ...]

    @property
    def filled(self) -> int:
        return sum(bool(cell.text.strip()) for cell in self.cells)

    @property
    def hidden(self) -> HiddenReason | None:
        """Return why none of its cells is seen; None if one is."""
        reasons = [cell.hidden for cell in self.cells if cell.text.strip()]
        return reasons[0] if all(reasons) else None

    @property
    def is_title(self) -> bool:
        """Return whether only its first cell has text, as a title above a table."""
        return self.filled == 1 and len(self.cells) == 1


def is_one(path: Path, name: str) -> bool:
    try:
        with zipfile.ZipFile(path) as package:
            return _WORKBOOK in package.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return name.casefold().endswith(TEXTS)


def save_as_pdf(path: Path, target: Path) -> None:
    from pincite.core.documents.formats.typeset import typeset

    content = _workbook(path) if zipfile.is_zipfile(path) else _text(path)
    typeset(content, path.name, target)


def _text(path: Path) -> Content:
    text = decoded(path.read_bytes(), path.name)
    stated = _SEPARATOR.match(text)  # by Excel
    text = text[stated.end() :] if stated else text
    try:
        dialect: Any = csv.Sniffer().sniff(text[:20_000], delimiters=stated[1] if stated else ",;\t|")
    except csv.Error:  # one column, or fields with several of them
        dialect = csv.excel
    if not stated and len({line.count(dialect.delimiter) for line in text.splitlines()[:50] if '"' not in line}) > 2:
        dialect = _OneColumn  # commas of its sentences
    rows = [
        _Row(number, tuple(_Shown(value.strip(), is_text=not _is_number(value)) for value in line))
        for number, line in enumerate(csv.reader(io.StringIO(text, newline=""), dialect), 1)
    ]
    return _content(CSV, [("", _checked(rows, path.name), 0)], [])


def _workbook(path: Path) -> Content:
    import openpyxl

    data = path.read_bytes()  # openpyxl minds how a file is called
    book = openpyxl.load_workbook(io.BytesIO(data), data_only=True, rich_text=True)
    formulas = openpyxl.load_workbook(io.BytesIO(data))
    lacks, sheets = list[str](), list[tuple[str, list[_Row], int]]()
    for sheet in book.worksheets:
        if sheet._charts:
            lacks.append("charts")
        if sheet._images:
            lacks.append("pictures")
        rows = _checked(list(_rows(sheet)), path.name)
        sheets.append((sheet.title, rows, _head_rows(sheet)))
        if _lacks_results(sheet, formulas[sheet.title]):
            lacks.append(f"formulas of “{sheet.title}” without a stored result")
    lacks += ["sheets that only hold a chart"] if book.chartsheets else []
    content = _content(SPREADSHEET, sheets, lacks)
    stated = book.properties
    return replace(content, title=stated.title or "", author=stated.creator or "", created=stated.created)


def _rows(sheet: Any) -> Iterator[_Row]:
    from openpyxl.utils import get_column_letter

    hidden_columns = set[int]()
    for dimension in sheet.column_dimensions.values():
        if dimension.hidden or (dimension.customWidth and dimension.width < _MIN_SIDE / PER_SIGN):
            hidden_columns |= set(range(dimension.min or 0, (dimension.max or 0) + 1))
    of_sheet = HiddenReason.SWITCHED if sheet.sheet_state != "visible" else None
    lines = defaultdict[int, dict[int, Any]](dict)
    for (number, column), cell in sheet._cells.items():  # a sheet may be a million rows high and empty
        if cell.value is not None or getattr(cell, "comment", None):
            lines[number][column] = cell
    for number, line in sorted(lines.items()):
        dimension = sheet.row_dimensions.get(number)
        low = dimension is not None and dimension.height is not None and dimension.height < _MIN_SIDE
        of_row = HiddenReason.SWITCHED if dimension is not None and (dimension.hidden or low) else None
        cells = [_Shown("")] * max(line)
        for column, cell in line.items():
            away = HiddenReason.SWITCHED if column in hidden_columns else None
            cells[column - 1] = _cell(cell, of_sheet or of_row or away)
        notes = [
            f"Comment on {get_column_letter(column)}{number}: {' '.join(cell.comment.text.split())}"
            for column, cell in sorted(line.items())
            if getattr(cell, "comment", None)
        ]
        yield _Row(number, (*cells, *(_Shown(note) for note in notes)))


def _cell(cell: Any, hidden: HiddenReason | None) -> _Shown:
    from openpyxl.cell.rich_text import CellRichText, TextBlock

    from pincite.core.documents.formats.sheets.numbers import shown

    if cell.value is None:
        return _Shown("")
    parts = list(cell.value) if isinstance(cell.value, CellRichText) else [cell.value]
    struck = "".join(one.text for one in parts if isinstance(one, TextBlock) and one.font.strike)
    if len(parts) > 1 or struck:
        value = "".join(str(one) for one in parts if not (isinstance(one, TextBlock) and one.font.strike))
    else:
        value = parts[0]
    text, is_text = shown(value, cell.number_format), isinstance(value, str)
    if not text.strip() and str(value).strip():
        text, hidden = str(value), hidden or HiddenReason.INVISIBLE
    if cell.font.strike:
        hidden = hidden or HiddenReason.STRUCK
    if cell.font.sz is not None and cell.font.sz < MIN_POINTS:
        hidden = hidden or HiddenReason.SMALL
    ground = _color(cell.fill.fgColor) if cell.fill.fill_type == "solid" else None if cell.fill.fill_type else _PAPER
    return _Shown(text, hidden or reason_by_color(_color(cell.font.color), ground), is_text, struck)


_PAPER: Color = (255, 255, 255)
_THEME: dict[int, Color] = {0: _PAPER, 1: (0, 0, 0)}
"""The first colours of nearly every theme: light and dark."""


def _color(color: Any) -> Color | None:
    if color is None:
        return None
    if color.type == "rgb":
        return rgb(str(color.rgb)[-6:])
    return _THEME.get(color.theme) if color.type == "theme" and not color.tint else None


def _lacks_results(shown: Any, formulas: Any) -> bool:
    """Return whether a cell has a formula, but not what came of it when the file was last saved."""
    computed = (place for place, cell in formulas._cells.items() if cell.data_type == "f")
    return any(place not in shown._cells or shown._cells[place].value is None for place in computed)


def _head_rows(sheet: Any) -> int:
    """Return the number of the row with the heads of the columns, if the file states it (frozen, filtered, a table)."""
    tables = [table.ref for table in sheet.tables.values() if table.headerRowCount]
    filtered = sheet.auto_filter.ref
    for reference in [*tables, *([filtered] if filtered else [])]:
        return int("".join(filter(str.isdigit, reference.partition(":")[0])))
    frozen = "".join(filter(str.isdigit, sheet.freeze_panes or ""))
    return int(frozen) - 1 if frozen else 0


def _checked(rows: list[_Row], name: str) -> list[_Row]:
    if sum(len(row.cells) for row in rows) > _MAX_CELLS:
        hint = "Export the part that matters as a file of its own."
        raise UnreadablePdfError(f"{name} has more than {_MAX_CELLS:,} cells.", hint=hint)
    return [row for row in rows if row.filled]


def _content(kind: str, sheets: Sequence[tuple[str, list[_Row], int]], lacks: Sequence[str]) -> Content:
    items = list[Item]()
    for name, rows, told in sheets:
        head = told or _guessed_head(rows)
        reason = next((row.hidden for row in rows), None) if all(row.hidden for row in rows) else None
        for at, part in enumerate(_pages(rows, head)):
            items.append(PageStart(_label(name, part[1:] if at and part[0].number == head else part)))
            items += [Paragraph((Run(name, hidden=reason),), level=1)] if name and not at else []
            items += _tables(part, head)
    first = items[0].label if items and isinstance(items[0], PageStart) else "1"
    layout = _layout([row for _, rows, _ in sheets for row in rows])
    return Content(kind, tuple(items[1:]), first, tuple(dict.fromkeys(lacks)), layout=layout)


def _pages(rows: Sequence[_Row], head: int) -> Iterator[list[_Row]]:
    """Yield the rows of each page; the heads of the columns are repeated."""
    heads = [row for row in rows if row.number == head]
    for at in range(0, len(rows), _MAX_ROWS):
        part = [*rows[at : at + _MAX_ROWS]]
        yield part if at == 0 or not heads or heads[0] in part or rows[at].number < head else [*heads, *part]


def _label(name: str, rows: Sequence[_Row]) -> str:
    """Return for example "Budget A1:F40"."""
    from openpyxl.utils import get_column_letter

    last = get_column_letter(max(len(row.cells) for row in rows) or 1)
    return f"{name} A{rows[0].number}:{last}{rows[-1].number}".strip()


def _tables(rows: Sequence[_Row], head: int) -> Iterator[Item]:
    """Yield the tables of a page, which empty rows part, and the titles above them as paragraphs."""
    from openpyxl.utils import get_column_letter

    for row in rows:
        if row.hidden:
            yield Paragraph((Run("\t".join(cell.text for cell in row.cells), hidden=row.hidden),))
    for found in _groups(rows, head):
        group = [row for row in found if not row.hidden]
        lines = list(dropwhile(lambda row: row.is_title and row.number != head, group))
        for row in group[: len(group) - len(lines)]:
            yield Paragraph((_run(row.cells[0]),))
        if lines:
            width = max(at for row in lines for at, cell in enumerate(row.cells, 1) if cell.text and not cell.hidden)
            beyond = [cell for row in lines for cell in row.cells[width:] if cell.text]
            yield from (Paragraph((_run(cell),)) for cell in beyond)  # all of them are hidden
            filled = [(*row.cells[:width], *[_Shown("")] * (width - len(row.cells))) for row in lines]
            made = tuple(tuple(Cell(_paragraphs(cell)) for cell in cells) for cells in filled)
            letters = tuple(get_column_letter(at) for at in range(1, width + 1))
            yield Table(
                made, len(lines) > 1 and lines[0].number == head, letters, tuple(str(row.number) for row in lines)
            )


def _groups(rows: Sequence[_Row], head: int) -> Iterator[list[_Row]]:
    """Yield rows that follow each other; those on a later page follow the heads of their columns."""
    group = list[_Row]()
    for row in rows:
        if group and row.number > group[-1].number + 1 and not (group[-1].number == head and len(group) == 1):
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def _guessed_head(rows: Sequence[_Row]) -> int:
    """Return the number of the row that names the columns of the first table; 0 if there is none."""
    below = dropwhile(lambda row: row.hidden or row.is_title, rows)
    first = [row for row in next(_groups(list(below), 0), []) if not row.hidden]
    return first[0].number if len(first) > 1 and _is_head(first) else 0


def _is_head(rows: Sequence[_Row]) -> bool:
    """Return whether the first row names columns: words over at least as many cells as most rows, and figures below."""
    first, *others = rows
    is_words = all(cell.is_text for cell in first.cells) and not any(cell.hidden for cell in first.cells)
    figures = any(not cell.is_text for row in others for cell in row.cells)
    return is_words and first.filled >= max(row.filled for row in others) - 1 and (figures or first.filled > 1)


def _paragraphs(cell: _Shown) -> tuple[Paragraph, ...]:
    struck = (Run(cell.struck, hidden=HiddenReason.STRUCK),) if cell.struck else ()
    return (Paragraph((_run(cell), *struck)),) if cell.text.strip() or struck else ()


def _run(cell: _Shown) -> Run:
    return Run(cell.text, hidden=cell.hidden)


def _layout(rows: Sequence[_Row]) -> Layout:
    """Return a page that is as wide as the widest row needs."""
    widths = dict[int, int]()
    for row in rows:
        for at, cell in enumerate(row.cells):
            longest = max(map(len, cell.text.split("\n")), default=0)
            widths[at] = max(widths.get(at, 3), min(longest, _MAX_SIGNS))
    wanted = sum(signs * PER_SIGN + 6 for signs in widths.values()) + 2 * _MARGIN + 40
    width = min(max(wanted, 595.0), MAX_WIDTH)
    return Layout(width, max(0.707 * width, 842.0), _MARGIN, _MARGIN, _MARGIN, _MARGIN, _LETTERS)


def _is_number(text: str) -> bool:
    digits = text.strip().strip("%€$£()+- ").replace(",", "").replace(".", "").replace(" ", "")
    return digits.isdecimal()
