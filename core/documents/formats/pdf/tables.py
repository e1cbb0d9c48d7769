"""Rows of tables among the lines of a page, and the column heads that go with each.

A table here is what reads as one: neighbouring lines with cells that are figures, or that are below each other.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from pincite.core.documents.formats.pdf.layout import Line, Segment
from pincite.core.domain.documents import TICKED, UNTICKED, Place
from pincite.core.text.years import YEAR

_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"^(?:FY ?|Q[1-4] ?)?(?:19|20)\d\d[A-Za-z*]?(?:[/–-]\d\d(?:\d\d)?)?,?$")
_MAX_HEAD_LINES = 4

Column = tuple[float, float, str]
"""Left edge, right edge and text of a column's head."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """``heads`` is the head line, columns parted by " | "; ``tabs`` is how many tabs precede each segment.

    ``places`` is where each cell is, if rules are drawn around the cells.
    """

    heads: str = ""
    tabs: tuple[int, ...] = ()
    places: tuple[Place, ...] = ()


def find_tables(lines: Sequence[Line]) -> dict[int, TableRow]:
    """Return the table rows by the number of their line."""
    rows: dict[int, TableRow] = {}
    for start, end in _runs(lines):
        if _is_table(lines[start:end]):
            rows |= _table(lines, start, end)
    for start, end in _ruled_runs(lines):
        rows |= _ruled_table(lines, start, end)
    return rows


def _ruled_runs(lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """Yield the stretches of lines that are the rows of one table with rules."""
    start = 0
    for end in range(1, len(lines) + 1):
        own = lines[end - 1].places
        if own and (end == len(lines) or not lines[end].places or lines[end].places[0].row <= own[0].row):
            yield start, end
        if not own or end == len(lines) or not lines[end].places or lines[end].places[0].row <= own[0].row:
            start = end


def _ruled_table(lines: Sequence[Line], start: int, end: int) -> dict[int, TableRow]:
    count = _ruled_heads(lines[start:end])
    columns = dict[int, list[str]]()
    for line in lines[start : start + count]:
        for place, text in _cells(line):
            for column in range(place.column, place.column + place.columns):
                columns.setdefault(column, []).append(text)
    heads = " | ".join(" ".join(columns[column]) for column in sorted(columns))
    rows = {}
    for number, line in enumerate(lines[start:end]):
        before = (None, *line.places[:-1])
        tabs = tuple(
            abs(own.column - last.column) if last and own is not last else 0
            for last, own in zip(before, line.places, strict=True)
        )
        rows[start + number] = TableRow(heads if number >= count else "", tabs, tuple(dict.fromkeys(line.places)))
    return rows


def _cells(line: Line) -> list[tuple[Place, str]]:
    """Return the cells of a row with rules, each with its words."""
    texts = dict[Place, list[str]]()
    for place, segment in zip(line.places, line.segments, strict=True):
        texts.setdefault(place, []).append(segment.text)
    return [(place, " ".join(parts)) for place, parts in texts.items()]


def _ruled_heads(rows: Sequence[Line]) -> int:
    """Return how many of the first rows are heads of the columns.

    Those that the cells of the first row cover, and one more below a cell over several columns; none if figures are
    among them. Of two columns, the first row heads the others only if it alone is bold, or is above figures.
    """
    width = max(place.column + place.columns for row in rows for place in row.places)
    titles = sum(1 for _ in takewhile(lambda row: row.places[0].columns == width, rows[:-1]))
    first = rows[titles]
    last = first.places[0].row + max(place.rows for place in first.places)
    if any(place.columns > 1 for place in first.places):
        last = max(last, first.places[0].row + 2)
    count = sum(row.places[0].row < last for row in rows)
    heads, body = rows[titles:count], rows[count:]
    if count == len(rows) or any(map(_data, heads)):
        return 0
    bold = all(segment.bold for segment in first.segments) and not all(row.segments[0].bold for row in body)
    return count if width > 2 or bold or any(map(_data, body)) else 0


def _runs(lines: Sequence[Line]) -> list[tuple[int, int]]:
    """Stretches of one zone that begin and end with several cells, with at most three lines of one cell in a row."""
    runs = []
    start, end = -1, -1
    for index, line in enumerate(lines):
        other = start >= 0 and (line.zone != lines[start].zone or bool(line.places))
        if other or (start >= 0 and (index - end > 3 or _apart(lines[index - 1], line))):
            runs.append((start, end + 1))
            start = -1
        if _is_row(line) and not line.places:
            start = index if start < 0 else start
            end = index
    if start >= 0:
        runs.append((start, end + 1))
    return runs


def _apart(first: Line, second: Line) -> bool:
    return second.top - first.bottom > 3 * second.size


def _is_table(lines: Sequence[Line]) -> bool:
    several = [line for line in lines if _is_row(line)]
    if len(several) < 2:
        return False
    cells = [cell for line in several for cell in line.segments[1:]]
    if sum(_figure(cell) for cell in cells) >= 0.4 * len(cells):
        return True
    edges = Counter(edge for cell in cells for edge in {("l", round(cell.left / 5)), ("r", round(cell.right / 5))})
    aligned = sum(max(edges["l", round(c.left / 5)], edges["r", round(c.right / 5)]) >= 2 for c in cells)
    return len(several) >= 3 and aligned >= 0.6 * len(cells)


def _figure(cell: Segment) -> bool:
    return cell.numeric and bool(_DIGIT.search(cell.text) or cell.text in "—–-")


def _data(line: Line) -> bool:
    """Return whether a line contains figures other than years."""
    return any(_figure(cell) and not all(_YEAR.match(word) for word in cell.text.split()) for cell in line.segments[1:])


def _table(lines: Sequence[Line], start: int, end: int) -> dict[int, TableRow]:
    first = _first_row(lines, start, end)
    start_of_heads = _start_of_heads(lines, start) if 0 < first - start <= _MAX_HEAD_LINES else first
    data = lines[min(first, end - 1)]
    columns = _columns(
        [line for line in lines[start_of_heads:first] if len(line.segments) > 1 or _is_apart(line, data)]
    )
    heads = " | ".join(text for _, _, text in columns)
    rows = {index: TableRow() for index in range(start_of_heads, first)}
    for index in range(first, end):
        line = lines[index]
        if index > first and (_begins_new_table(line) or (_is_title(lines[index - 1], data) and _names_columns(line))):
            return rows | _table(lines, index, end)
        if not _is_title(line, data):
            rows[index] = TableRow(heads, _tabs(line.segments, columns))
    return rows


def _first_row(lines: Sequence[Line], start: int, end: int) -> int:
    """Return the first line of figures; in a table without figures the second line."""
    return next((index for index in range(start, end) if _data(lines[index])), min(start + 1, end))


def _is_row(line: Line) -> bool:
    """Several cells, and not a bullet or a number with the text it introduces, nor a box with its label."""
    if any(part.text in (TICKED, UNTICKED) for part in line.segments):
        return False
    first, *others = line.segments
    return len(others) > 1 or (len(others) == 1 and (len(first.text) > 4 or others[0].numeric))


def _begins_new_table(line: Line) -> bool:
    """Heads in the middle of a table: cells with years, and no figures."""
    dated = any(YEAR.search(cell.text) for cell in line.segments[1:])
    return len(line.segments) > 1 and dated and not _data(line)


def _is_title(line: Line, data: Line) -> bool:
    """One cell in larger letters than the table's rows."""
    return len(line.segments) == 1 and line.size >= 1.1 * data.size


def _names_columns(line: Line) -> bool:
    return _is_row(line) and not any(map(_figure, line.segments[1:]))


def _start_of_heads(lines: Sequence[Line], start: int) -> int:
    """Return where the heads begin: up to two lines of one cell may be above the first with several."""
    first = start
    while first and start - first < 2 and lines[first - 1].zone == lines[start].zone:
        if not _is_over_columns(lines[first - 1], lines[start]):
            break
        first -= 1
    return first


def _is_over_columns(line: Line, below: Line) -> bool:
    """Return whether a line is one cell directly above the columns and clear of the labels' column."""
    return len(line.segments) == 1 and _is_apart(line, below) and below.top - line.bottom < 1.2 * line.size


def _is_apart(line: Line, below: Line) -> bool:
    """Return whether the line is above the columns of figures, not above their labels."""
    return len(below.segments) > 1 and line.left > below.segments[1].left - 6 * line.size


def _columns(heads: Sequence[Line]) -> list[Column]:
    """Return the columns with the words above each; the head line with the most cells determines where they are."""
    if not heads:
        return []
    base = max(heads, key=lambda line: len(line.segments))
    columns = [(cell.left, cell.right) for cell in base.segments]
    texts: list[list[str]] = [[] for _ in columns]
    for line in heads:
        for cell in line.segments:
            over = [n for n, (left, right) in enumerate(columns) if cell.left < right and cell.right > left]
            for number in over or [_closest_column(cell, columns)]:
                texts[number].append(cell.text)
    return [(left, right, " ".join(text)) for (left, right), text in zip(columns, texts, strict=True)]


def _closest_column(cell: Segment, columns: Sequence[tuple[float, float]]) -> int:
    middle = (cell.left + cell.right) / 2
    return min(range(len(columns)), key=lambda number: abs((columns[number][0] + columns[number][1]) / 2 - middle))


def _tabs(cells: Sequence[Segment], columns: Sequence[Column]) -> tuple[int, ...]:
    """Leave a cell empty where a row has none under a head, so that each figure keeps its column."""
    if not columns or len(cells) >= len(columns) + 1 or len(cells) < 2:
        return tuple(int(number > 0) for number in range(len(cells)))
    places = [(left, right) for left, right, _ in columns]
    under = [_closest_column(cell, places) for cell in cells[1:]]
    offset = 0 if places[0][0] < cells[0].right else 1
    under = [0, *(number + offset for number in under)]
    if any(second <= first for first, second in pairwise(under)):
        return tuple(int(number > 0) for number in range(len(cells)))
    return (0, *(second - first for first, second in pairwise(under)))
