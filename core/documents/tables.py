"""Find the tables of stored pages by their rows and by the positions of the words in each cell.

Computed on each request, in milliseconds a page: nothing of them is kept that could go out of step.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf
from statistics import median

import numpy as np

from pincite.core.documents.grids import period_of, read_grid
from pincite.core.domain.documents import FURNITURE, Block, BlockKind, Box, Page
from pincite.core.domain.page_layout import PackedWords
from pincite.core.domain.tables import ALIGNED, DOUBTED, RULED, Cell, Table
from pincite.core.text.numbers import printed_figure

_MAX_CAPTION_LINES = 3
_MAX_CAPTION_LINE = 200
_SAME_COLUMN = 0.02
"""As a share of the page width."""
_MAX_LINES_ABOVE = 6
"""Lines above a table that are searched for its periods, if its rows have none."""
_MIDDLE = 0.1
"""Maximum distance of a centred cell from the middle, as a share of the column width."""
_CELL = re.compile(r"[^\t\n]+")
_WORD = re.compile(r"\S+")
_THREE_DIGITS = re.compile(r"\d{3}")
_LOWER = re.compile(r"[a-zà-öø-ÿ]")


@dataclass(slots=True)
class _RowOfCells:
    cells: list[Cell]
    heads: str
    ruled: bool = False
    """Whether the cells have positions from drawn rules."""


@dataclass(slots=True)
class _TableDraft:
    """Consecutive rows, and the lines above them."""

    caption: list[str]
    opening: list[Cell] | None = None
    """For rows at the top of a page: the cells of a heading before them, which may be a group of a continued table."""
    rows: list[_RowOfCells] = field(default_factory=list)


def find_tables(document_id: str, pages: Iterable[Page]) -> tuple[Table, ...]:
    """Return the tables of pages in order; a continued table has the heads, caption and unit of the page before."""
    found: list[Table] = []
    last_page, open_table = -2, None
    for page in pages:
        above = open_table if page.page_index == last_page + 1 else None
        tables: list[Table] = []
        for draft in _drafts(page):
            table = _table(draft, above if draft.opening is not None else None)
            if table is not None:
                if tables and not table.head_rows and _is_under(table, tables[-1]):
                    table = read_grid(table.cells, caption=table.caption, above=tables[-1])
                table = replace(table, document_id=document_id, page_index=page.page_index, page_label=page.page_label)
                tables.append(replace(table, box=_around(table.cells)))
        found += tables
        last_page, open_table = page.page_index, tables[-1] if tables else None
    return tuple(found)


def _drafts(page: Page) -> Iterator[_TableDraft]:
    """Yield runs of table rows; different heads begin a new table, the same heads continue the last one."""
    body = [block for block in page.blocks if block.kind not in FURNITURE]
    places = _Places(page)
    lines: list[Block] = []
    draft: _TableDraft | None = None
    for number, block in enumerate(body):
        if block.kind is not BlockKind.TABLE_ROW:
            lines.append(block)
            continue
        row = places.row(block)
        last = draft.rows[-1] if draft else None
        goes_on = last is not None and (row.heads == last.heads or not last.heads) and (not lines or row.heads)
        if last is not None and (row.ruled or last.ruled):
            goes_on = row.ruled and last.ruled and not lines and row.cells[0].row > last.cells[0].row
        if draft is None or not goes_on:
            if draft:
                yield draft
            first = [] if number == 0 else places.row(body[0]).cells
            opens = number == 0 or (number == 1 and body[0].kind is BlockKind.HEADING and len(first) == 1)
            draft = _opened(page, places, lines, row, first if opens else None)
        elif lines and last is not None and last.heads != row.heads:
            yield draft
            draft = _opened(page, places, lines, row, None)
        draft.rows.append(row)
        lines = []
    if draft:
        yield draft


def _is_under(table: Table, above: Table) -> bool:
    """Return whether the figures of a table without heads are aligned with those of the table above it."""
    edges, over = _right_edges(table), _right_edges(above)
    if len(table.columns) != len(above.columns) or not edges:
        return False
    return edges.keys() <= over.keys() and all(abs(edges[at] - over[at]) <= _SAME_COLUMN for at in edges)


def _right_edges(table: Table) -> dict[int, float]:
    """Return the median right edge of the figures in each column."""
    ends = dict[int, list[float]]()
    for cell in table.body:
        if cell.value is not None and cell.box:
            ends.setdefault(cell.column, []).append(cell.box.right)
    return {column: median(edges) for column, edges in ends.items()}


def _opened(
    page: Page, places: "_Places", lines: Sequence[Block], row: _RowOfCells, opening: list[Cell] | None
) -> _TableDraft:
    """Begin a table: its first rows are a line of periods above it and the lines below that one."""
    above = lines[-_MAX_LINES_ABOVE:]
    texts = [page.text[line.start : line.end] for line in above]
    heads = [at for at, text in enumerate(texts) if _over(text, row)] if not row.heads and not row.ruled else []
    if not heads:
        return _TableDraft(_caption([page.text[line.start : line.end] for line in lines]), opening)
    draft = _TableDraft(
        _caption([page.text[line.start : line.end] for line in lines[: len(lines) - len(above) + heads[-1]]])
    )
    draft.rows += [replace(places.row(line), heads="") for line in above[heads[-1] :]]
    return draft


def _over(text: str, row: _RowOfCells) -> bool:
    """Return whether a line has a period for each figure of the row below."""
    figures = sum(printed_figure(cell.text) is not None for cell in row.cells)
    cells = [cell.group() for cell in _CELL.finditer(text)]
    return 1 < figures <= len(cells) <= figures + 1 and all(map(period_of, cells[-figures:]))


def _caption(lines: Sequence[str]) -> list[str]:
    """Return the short lines directly above."""
    kept: list[str] = []
    for line in reversed(lines):
        if len(line) > _MAX_CAPTION_LINE or len(kept) == _MAX_CAPTION_LINES:
            break
        kept.insert(0, line)
    return kept


class _Places:
    """Positions of spans of a page's text."""

    def __init__(self, page: Page) -> None:
        words = PackedWords.of(page.words)
        self._text, self._boxes = page.text, words.boxes
        self._starts = words.spans[:, 0].tolist()

    def row(self, block: Block) -> _RowOfCells:
        spans = [match.span() for match in _CELL.finditer(self._text, block.start, block.end)]
        ruled = bool(block.places) and len(spans) == len(block.places)
        if ruled:
            cells = [replace(self._cell(*span), **at._asdict()) for span, at in zip(spans, block.places, strict=True)]
        else:
            cells = [self._cell(*part) for start, end in spans for part in self._figures(start, end)]
        return _RowOfCells(cells, block.column_heads, ruled)

    def _cell(self, start: int, end: int) -> Cell:
        return Cell(0, 0, self._text[start:end], start, end, self._box(start, end))

    def _figures(self, start: int, end: int) -> list[tuple[int, int]]:
        """Split a cell into the figures that were read as one because they are close; "1 234" stays one."""
        words = [match.span() for match in _WORD.finditer(self._text, start, end)]
        texts = [self._text[first:last] for first, last in words]
        if len(words) < 2 or all(map(_THREE_DIGITS.fullmatch, texts[1:])) or not all(map(printed_figure, texts)):
            return [(words[0][0], words[-1][1])] if words else []
        return words

    def _box(self, start: int, end: int) -> Box | None:
        first, last = bisect_left(self._starts, start), bisect_left(self._starts, end)
        if first == last:
            return None
        boxes = self._boxes[first:last]
        left, top = np.min(boxes[:, :2], axis=0).tolist()
        right, bottom = np.max(boxes[:, 2:], axis=0).tolist()
        return Box(left, top, right, bottom)


def _table(draft: _TableDraft, above: Table | None) -> Table | None:
    """Return None if the rows have no columns or unknown positions."""
    if draft.rows[0].ruled:
        return _ruled(draft, above)
    rows = [row.cells for row in draft.rows]
    if any(cell.box is None for cells in rows for cell in cells) or sum(len(cells) > 1 for cells in rows) < 2:
        return None
    table = _aligned(draft, _level(rows), above)
    if table is None:
        return None
    boxes = {cell.start: cell.box for cells in rows for cell in cells}
    cells = tuple(replace(cell, box=boxes.get(cell.start, cell.box)) for cell in table.cells)
    return replace(table, confidence=ALIGNED if _fits(table) else DOUBTED, cells=cells)


def _level(rows: list[list[Cell]]) -> list[list[Cell]]:
    """Turn the boxes of rows that run up or down the page, so that they run from left to right."""
    pairs = [(one.box, other.box) for cells in rows for one, other in pairwise(cells) if one.box and other.box]
    if 2 * sum(abs(b.top - a.top) > abs(b.left - a.left) for a, b in pairs) <= len(pairs):
        return rows
    down = 2 * sum(b.top > a.top for a, b in pairs) > len(pairs)
    return [[replace(cell, box=_turned(cell.box, down=down)) for cell in cells if cell.box] for cells in rows]


def _turned(box: Box, *, down: bool) -> Box:
    if down:
        return Box(box.top, 1 - box.right, box.bottom, 1 - box.left)
    return Box(1 - box.bottom, box.left, 1 - box.top, box.right)


def _fits(table: Table) -> bool:
    """Return whether the positions of the cells on the page agree with their rows, columns and heads.

    No two cells share a place, each row reads from left to right along one line, and each head is above its column.
    """
    ordered = sorted(table.cells, key=lambda cell: (cell.row, cell.column))
    pairs = [(one, other) for one, other in pairwise(ordered) if one.row == other.row]
    if any(one.column + one.columns > other.column or not _is_right_of(one.box, other.box) for one, other in pairs):
        return False
    heads = (cell for cell in table.cells if cell.row < table.head_rows and cell.column >= table.head_columns)
    return all(_is_above(head, table) for head in heads if head.text)


def _is_above(head: Cell, table: Table) -> bool:
    own = range(head.column, head.column + head.columns)
    boxes = [cell.box for cell in table.body if cell.column in own and cell.text and cell.box]
    over = head.box
    return not over or not boxes or any(box.left < over.right and over.left < box.right for box in boxes)


def _is_right_of(one: Box | None, other: Box | None) -> bool:
    """Return whether the second box is to the right of the first, in the same line."""
    return not one or not other or (one.left < other.left and one.top < other.bottom and other.top < one.bottom)


def _aligned(draft: _TableDraft, rows: list[list[Cell]], above: Table | None) -> Table | None:
    """Return a table with cells placed by their positions on the page."""
    columns = _columns(rows)
    if len(columns) < 2:
        return None
    if above is not None and len(above.columns) == len(columns) and not any(row.heads for row in draft.rows):
        rows = [draft.opening, *rows] if draft.opening else rows
        cells = _cells(rows, columns, heads=0)
        if read_grid(cells).head_rows == bool(draft.opening):
            return read_grid(cells, above=above)
    heads = sum(not row.heads for row in draft.rows) if draft.rows[-1].heads else 0
    caption, made = "\n".join(draft.caption), _cells(rows, columns, heads)
    table = read_grid(made, caption=caption, max_heads=heads) if heads else read_grid(made, caption=caption)
    return _as_continued(table, above) if above is not None and not caption else table


def _ruled(draft: _TableDraft, above: Table | None) -> Table | None:
    """Return a table with cells placed by rules; a continued table has the heads of the one before."""
    cells = [one for row in draft.rows for cell in row.cells for one in _in_each_row(cell)]
    width = max(cell.column + cell.columns for cell in cells)
    heads = max((row.cells[0].row + 1 for row in draft.rows if not row.heads), default=0)
    if not any(row.heads for row in draft.rows):
        heads = 0
        if above is not None and above.ruled and len(above.columns) == width:
            return replace(read_grid(cells, above=above), ruled=True, confidence=RULED)
    caption = "\n".join(draft.caption)
    body = (cell for row in draft.rows for cell in row.cells if cell.row >= heads)
    shared = any(max(cell.rows, cell.columns) > 1 and printed_figure(cell.text) is not None for cell in body)
    sure = DOUBTED if shared else RULED  # the row or column of a figure that spans several is unknown
    table = replace(read_grid(cells, caption=caption, heads=heads), ruled=True, confidence=sure)
    return _as_continued(table, above) if above is not None and not caption else table


def _in_each_row(cell: Cell) -> Iterator[Cell]:
    """Yield the cell once for every row that it spans."""
    return (replace(cell, row=cell.row + behind, rows=1) for behind in range(cell.rows))


def _as_continued(table: Table, above: Table) -> Table:
    """Continue the table before, with its caption and unit, if a table repeats its heads."""
    if not table.head_rows or [one.path for one in table.columns] != [one.path for one in above.columns]:
        return table
    unit, scale = table.unit or above.unit, table.scale or above.scale
    return replace(table, caption=above.caption, unit=unit, scale=scale, continued=True)


def _cells(rows: Sequence[list[Cell]], columns: Sequence[tuple[float, float]], heads: int) -> list[Cell]:
    mended = list(_mended(rows, columns))
    below = [
        mended[number + 1] if number < heads and number + 1 < len(mended) else None for number in range(len(mended))
    ]
    return [cell for number, cells in enumerate(mended) for cell in _placed(cells, number, columns, below[number])]


def _columns(rows: Sequence[Sequence[Cell]]) -> list[tuple[float, float]]:
    """Return the left and right edges of the columns: those of the row with most cells, extended by the others."""
    several = sorted((cells for cells in rows if len(cells) > 1), key=lambda cells: -len(cells))
    columns: list[tuple[float, float]] = []
    for cells in several:
        for cell in cells:
            left, right = _edges(cell)
            over = [number for number, (a, b) in enumerate(columns) if left < b and right > a]
            if not over:
                columns.append((left, right))
            elif len(over) == 1:
                a, b = columns[over[0]]
                wider = (min(a, left), max(b, right))
                others = (other for number, other in enumerate(columns) if number != over[0])
                if all(wider[1] <= a or wider[0] >= b for a, b in others):
                    columns[over[0]] = wider
    return sorted(columns)


def _edges(cell: Cell) -> tuple[float, float]:
    return (cell.box.left, cell.box.right) if cell.box else (0.0, 0.0)


def _mended(rows: Sequence[list[Cell]], columns: Sequence[tuple[float, float]]) -> Iterator[list[Cell]]:
    """Join a label over two lines: one alone in its row, continued in lower case on the next line."""
    pending: Cell | None = None
    for cells, following in pairwise([*rows, []]):
        first = cells[0]
        if pending is not None:
            cells = [_joined(pending, first), *cells[1:]]
            pending = None
        goes_on = following and _LOWER.match(following[0].text) and _edges(following[0])[0] < columns[0][1]
        if len(cells) == 1 and goes_on and _edges(first)[0] < columns[0][1]:
            pending = cells[0]
            continue
        yield cells


def _joined(first: Cell, second: Cell) -> Cell:
    return replace(
        first, text=f"{first.text} {second.text}", end=second.end, box=_around([first, second]) if second.box else None
    )


def _placed(
    cells: Sequence[Cell], row: int, columns: Sequence[tuple[float, float]], below: Sequence[Cell] | None
) -> Iterator[Cell]:
    """Assign a row and column to each cell; heads, which have a row ``below``, divide the columns."""
    under = [(own[0], own[-1]) for own in _under(cells, columns)]
    labels = int(below is not None and bool(under) and under[0][0] == 0)
    if below is not None:
        heads = cells[labels:]
        spans = _repeated(len(heads), columns, below) or _spans([_edges(cell) for cell in heads], columns)
        under[labels:] = spans or under[labels:]
    for cell, (first, last) in zip(cells, under, strict=True):
        yield replace(cell, row=row, column=first, columns=last - first + 1)


def _under(cells: Sequence[Cell], columns: Sequence[tuple[float, float]]) -> Iterator[list[int]]:
    """Return the columns that each cell overlaps, else the nearest, from left to right."""
    taken = -1
    for cell in cells:
        left, right = _edges(cell)
        over = [at for at, (a, b) in enumerate(columns) if left < b and right > a and at > taken]
        if not over:
            middle = (left + right) / 2
            free = range(taken + 1, len(columns)) or range(len(columns) - 1, len(columns))
            over = [min(free, key=lambda at: abs(sum(columns[at]) / 2 - middle))]
        taken = over[-1]
        yield over


def _repeated(count: int, columns: Sequence[tuple[float, float]], below: Sequence[Cell]) -> list[tuple[int, int]]:
    """Return the spans of heads over a row that repeats below each of them: "2026, 2025, 2026, 2025"."""
    texts = [cell.text for cell in below[-(len(columns) - 1) :]]
    each = len(texts) // max(count, 1)
    if count < 2 or each < 2 or each * count != len(columns) - 1 or texts != texts[:each] * count:
        return []
    return [(1 + at * each, (at + 1) * each) for at in range(count)]


def _spans(heads: Sequence[tuple[float, float]], columns: Sequence[tuple[float, float]]) -> list[tuple[int, int]]:
    """Return the first and last column of each head, from the second column on; empty if they do not fit.

    Of all ways to share out the columns from left to right, the one with the heads nearest to the middle of theirs. A
    head that is alone in its line, in the middle over all columns, applies to all.
    """
    if not heads:
        return []
    count, width = len(columns), columns[-1][1] - columns[1][0]
    if len(heads) == 1 and abs(columns[1][0] + columns[-1][1] - sum(heads[0])) / 2 < _MIDDLE * width:
        return [(1, count - 1)]
    best: dict[int, tuple[float, list[tuple[int, int]]]] = {1: (0.0, [])}
    for left, right in heads:
        spans = [
            (first, last, abs(columns[first][0] + columns[last][1] - left - right) / 2)
            for first in range(1, count)
            for last in range(first, count)
            if columns[first][0] < right and left < columns[last][1]
        ]
        reached: dict[int, tuple[float, list[tuple[int, int]]]] = {}
        for free, (cost, so_far) in best.items():
            for first, last, off in spans:
                more = cost + off + (_MIDDLE / 5 * width if last > first else 0.0)
                if first >= free and more < reached.get(last + 1, (inf, []))[0]:
                    reached[last + 1] = (more, [*so_far, (first, last)])
        best = reached
    return min(best.values(), key=lambda one: one[0])[1] if best else []


def _around(cells: Iterable[Cell]) -> Box | None:
    return Box.around(cell.box for cell in cells if cell.box)
