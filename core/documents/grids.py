"""From rows of cells to a table: which rows and columns are heads, groups, totals, periods, units and scales.

Looks at the cells and, where they are known, at their left edges. Where the cells come from is others' work.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby

from pincite.core.domain.tables import Cell, Heading, Table
from pincite.core.text.numbers import printed_figure, quantities, stated_measure, uses_decimal_comma

Grid = Mapping[tuple[int, int], Cell]
_MAX_HEAD_ROWS = 5
_MAX_HEAD_COLUMNS = 3
_YEAR = re.compile(r"(?:19|20)\d\d(?:\s*[*(].*)?")
_NIL = frozenset("-–—")
_SAME_EDGE = 0.004
"""Left edges that differ by less of the page's width are one."""


@dataclass(slots=True)
class _Group:
    label: str
    left: float
    inner: float = -1.0
    """The left edge of its first row."""


def read_grid(
    cells: Sequence[Cell],
    *,
    caption: str = "",
    above: Table | None = None,
    max_heads: int = _MAX_HEAD_ROWS,
    heads: int | None = None,
) -> Table:
    """Make a table of cells with row, column and text.

    ``above``: the table that these rows go on with; ``max_heads``: the number of rows above the first row under heads;
    ``heads``: the number of rows of heads, if it is known.
    """
    comma = uses_decimal_comma(cell.text for cell in cells)
    cells = [_valued(cell, decimal_comma=comma) for cell in cells]
    if not above and (title := _title(cells)):
        cells = [replace(cell, row=cell.row - 1) for cell in cells if cell is not title]
        heads = heads and heads - 1
        caption = f"{caption}\n{title.text}".strip()
    row_count = max((cell.row for cell in cells), default=-1) + 1
    column_count = max((cell.column + cell.columns for cell in cells), default=0)
    grid = {(cell.row, cell.column): cell for cell in cells}
    found = heads if heads is not None else min(max_heads, _head_rows(grid, row_count, column_count))
    head_rows = 0 if above else found
    head_columns = _head_columns(cells, column_count, head_rows)
    if above:
        columns: tuple[Heading, ...] = above.columns
        caption, (unit, scale) = caption or above.caption, (above.unit, above.scale)
    else:
        columns = tuple(_column(cells, column, head_rows) for column in range(column_count))
        columns = (*columns[:head_columns], *_dated(columns[head_columns:], caption))
        unit, scale = _stated(caption, columns[0] if head_columns else Heading())
    rows = _rows(grid, row_count, column_count, head_rows, head_columns)
    kept = _without_years(cells, columns, head_rows)
    return Table(kept, rows, columns, head_rows, head_columns, caption, unit, scale, continued=above is not None)


def _title(cells: Sequence[Cell]) -> Cell | None:
    """Return the only cell of the first row, if it is at the left above a row of heads: it heads the whole table."""
    first, second = ([cell for cell in cells if cell.row == row and cell.text] for row in (0, 1))
    heads = len(second) > 1 and not any(map(_is_figure, second))
    return first[0] if heads and len(first) == 1 and first[0].column == 0 else None


def _stated(caption: str, corner: Heading) -> tuple[str, int]:
    """Return the unit and scale of all figures: the corner's ("in millions"), else the caption's; no percentages."""
    unit, scale = stated_measure(caption)
    if unit == "%":
        unit, scale = "", 0
    return (corner.unit or unit, corner.scale or scale) if corner.unit != "%" else (unit, scale)


@lru_cache(maxsize=16384)
def period_of(text: str) -> str:
    """Return the dates and years that a head names, as printed; "" where it names none."""
    return ", ".join(quantity.text.strip() for quantity in quantities(text) if quantity.kind == "date")


def _valued(cell: Cell, *, decimal_comma: bool) -> Cell:
    printed = printed_figure(cell.text, decimal_comma=decimal_comma)
    if printed is None:
        return cell
    return replace(cell, value=printed.value, unit=printed.unit, scale=printed.scale)


def _is_year(cell: Cell) -> bool:
    return cell.value is not None and bool(_YEAR.fullmatch(cell.text)) and cell.value == int(cell.text[:4])


def _is_figure(cell: Cell) -> bool:
    return cell.value is not None and not _is_year(cell)


def _is_day(cell: Cell) -> bool:
    return any(quantity.kind == "date" and quantity.date[1:] != (0, 0) for quantity in quantities(cell.text))


def _head_rows(grid: Grid, row_count: int, column_count: int) -> int:
    """How many of the first rows are heads: at most those before the first figure that is no year."""
    first = next((row for row in range(row_count) if _figures(grid, row, column_count)), row_count)
    if first == 0:
        return 0
    of_figures = 2 * sum(_figures(grid, row, column_count) for row in range(first, row_count)) > sum(
        len(_filled_cells(grid, row, column_count)) for row in range(first, row_count)
    )
    count = 1
    while count < min(first, _MAX_HEAD_ROWS) and _goes_on(grid, count, column_count, of_figures=of_figures):
        count += 1
    return count


def _head_columns(cells: Sequence[Cell], column_count: int, head_rows: int) -> int:
    """Return the columns of words before the first column of figures; one where there are no columns of figures."""
    body = [cell for cell in cells if cell.row >= head_rows and cell.text]
    figures = Counter(cell.column for cell in body if _is_figure(cell) or (cell.column and _is_day(cell)))
    filled = Counter(cell.column for cell in body)
    first = next((column for column in range(1, column_count) if 2 * figures[column] > filled[column]), 1)
    words = all(not figures[column] for column in range(first))
    return min(first if words and first <= _MAX_HEAD_COLUMNS else 1, max(column_count - 1, 0))


def _filled_cells(grid: Grid, row: int, column_count: int) -> list[Cell]:
    """Return the row's cells behind its label."""
    return [cell for column in range(1, column_count) if (cell := grid.get((row, column))) and cell.text]


def _figures(grid: Grid, row: int, column_count: int) -> int:
    cells = _filled_cells(grid, row, column_count)
    return sum(_is_figure(cell) or cell.text in _NIL for cell in cells)


def _goes_on(grid: Grid, row: int, column_count: int, *, of_figures: bool) -> bool:
    """A row before the first figures goes on with the heads: in a table of words only where it names no row itself."""
    if not _filled_cells(grid, row, column_count):
        return False
    label, over = grid.get((row, 0)), grid.get((row - 1, 0))
    return of_figures or label is None or not label.text or (over is not None and over.text == label.text)


def _column(cells: Sequence[Cell], column: int, head_rows: int) -> Heading:
    over = [cell for cell in cells if cell.row < head_rows and cell.column <= column < cell.column + cell.columns]
    texts = list(dict.fromkeys(cell.text for cell in sorted(over, key=lambda cell: cell.row) if cell.text))
    if not texts:
        return Heading()
    unit, scale = stated_measure(" ".join(texts))
    return Heading(texts[-1], tuple(texts[:-1]), period_of(" ".join(texts)), unit, scale)


def _dated(columns: tuple[Heading, ...], caption: str) -> tuple[Heading, ...]:
    """Where no head names a period and the line above the table names one, it is that of all its figures."""
    period = period_of(caption.rpartition("\n")[2])
    if not period or "," in period or any(column.period for column in columns):
        return columns
    return tuple(replace(column, label=column.label or period, period=period) for column in columns)


def _rows(grid: Grid, row_count: int, column_count: int, head_rows: int, head_columns: int) -> tuple[Heading, ...]:
    """Return the headings of the rows: a row of a label alone opens a group, which a row further left or a total ends.

    Of several columns of labels the last names the row, those before it are groups.
    """
    headings: list[Heading] = []
    groups: list[_Group] = []
    for row in range(row_count):
        labels = [cell for column in range(head_columns) if (cell := grid.get((row, column))) and cell.text]
        text = labels[-1].text if labels else ""
        if row < head_rows:
            headings.append(Heading(text))
            continue
        left = labels[0].box.left if labels and labels[0].box else 0.0
        alone = any(map(str.isalpha, text)) and len(labels) == 1 and not _filled_cells(grid, row, column_count)
        if labels:
            _leave(groups, left, opens=alone)
        path = (*(group.label for group in groups), *dict.fromkeys(cell.text for cell in labels[:-1]))
        total = not alone and _is_total(grid, row, column_count, head_rows, text)
        unit, scale = stated_measure(" ".join([text, *path[-1:]]))
        headings.append(Heading(text, path, period_of(text), unit, scale, total))
        if alone:
            groups.append(_Group(text, left))
        elif total and groups and left <= groups[-1].left + _SAME_EDGE:
            groups.pop()
    return tuple(headings)


def _leave(groups: list[_Group], left: float, *, opens: bool) -> None:
    """Close the groups that a row at this edge is not in."""
    while groups:
        last = groups[-1]
        inside = left > last.left + _SAME_EDGE
        level = abs(left - last.left) <= _SAME_EDGE
        if inside or (level and not opens and last.inner <= last.left + _SAME_EDGE):
            last.inner = left if last.inner < 0 else last.inner
            return
        if level and opens and last.inner < 0:  # a title of two lines, or a group that begins with a group
            return
        groups.pop()


def _is_total(grid: Grid, row: int, column_count: int, head_rows: int, label: str) -> bool:
    """Return whether every figure of the row is the sum of those above it, up to the same row."""
    if label.lower().startswith("total"):
        return True
    figures = [(column, cell.value) for column in range(1, column_count) if (cell := grid.get((row, column)))]
    wanted = [(column, value) for column, value in figures if value is not None]
    if not wanted:
        return False
    sums = dict.fromkeys((column for column, _ in wanted), wanted[0][1] * 0)
    for above in range(row - 1, head_rows - 1, -1):
        for column in sums:
            cell = grid.get((above, column))
            sums[column] += cell.value if cell and cell.value is not None else 0
        if row - above > 1 and all(sums[column] == value != 0 for column, value in wanted):
            return True
    return False


def _without_years(cells: Sequence[Cell], columns: Sequence[Heading], head_rows: int) -> tuple[Cell, ...]:
    """Years in a column of years are no figures."""
    ordered = sorted(cells, key=lambda cell: (cell.column, cell.row))
    years = set[int]()
    for column, group in groupby(ordered, key=lambda cell: cell.column):
        body = [cell for cell in group if cell.row >= head_rows and cell.text]
        if body and all(map(_is_year, body)):
            years.add(column)
    return tuple(
        replace(cell, value=None, unit="", scale=0) if cell.column in years or cell.row < head_rows else cell
        for cell in sorted(cells, key=lambda cell: (cell.row, cell.column))
    )
