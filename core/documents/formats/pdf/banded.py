"""Tables without rules whose cells have several lines: white bands part the rows, white strips the columns."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from core.documents.formats.pdf.layout import Line, Segment
from core.domain.documents import Place

_FEWEST_COLUMNS = 3
_BAND = 0.35
"""Of the letters' size: the least height of the white between two rows; lines of one cell are closer."""
_APART = 3.0
"""Of the letters' size: a table ends where more is white."""


def in_bands(lines: Sequence[Line]) -> list[Line]:
    """Return the lines with the rows of such tables in place of their lines."""
    read, at = list[Line](), 0
    while at < len(lines):
        end = _end_of_table(lines, at)
        rows = _rows(lines[at:end])
        read += rows or [lines[at]]
        at = end if rows else at + 1
    return read


def _end_of_table(lines: Sequence[Line], start: int) -> int:
    """Return where the columns end that begin with a line of heads, whatever stands in each."""
    head, end = lines[start], start + 1
    right_to_left = head.segments[0].left > head.segments[-1].left
    if len(head.segments) < _FEWEST_COLUMNS or head.places or right_to_left:
        return start
    own = list(head.segments)
    while end < len(lines) and lines[end].zone == head.zone and not lines[end].places:
        more = [*own, *lines[end].segments]
        if lines[end].top - lines[end - 1].bottom > _APART * head.size or len(_strips(more)) != len(head.segments):
            break
        own, end = more, end + 1
    return end


def _strips(segments: Sequence[Segment]) -> list[tuple[float, float]]:
    """Return the columns: what is between white strips that no segment crosses."""
    return _merged(((one.left, one.right) for one in segments), 0.0)


def _merged(stretches: Iterator[tuple[float, float]], least: float) -> list[tuple[float, float]]:
    """Join stretches with less than ``least`` between them."""
    found: list[tuple[float, float]] = []
    for begin, end in sorted(stretches):
        if found and begin - found[-1][1] <= least:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


def _rows(lines: Sequence[Line]) -> list[Line]:
    """Return a line for each band; nothing if the bands are no rows.

    Every band has words in the first column. In some, one cell has more lines than another, and no cell has figures
    below each other, as the rows of a dense table would.
    """
    segments = [one for line in lines for one in line.segments]
    columns = _strips(segments)
    bands = _merged(((one.top, one.bottom) for one in segments), _BAND * lines[0].size) if lines else []
    if len(bands) < 3:
        return []
    cells: list[list[list[Segment]]] = [[[] for _ in columns] for _ in bands]
    for one in sorted(segments, key=lambda one: (one.base, one.left)):
        row = next(number for number, (top, bottom) in enumerate(bands) if top <= one.top <= bottom)
        column = next(number for number, (left, right) in enumerate(columns) if left <= one.left <= right)
        cells[row][column].append(one)
    counts = [[_lines(cell) for cell in row] for row in cells]
    uneven = any(len(set(row) - {0}) > 1 for row in counts[1:])
    stacked = any(sum(one.numeric for one in cell) > 1 for row in cells for cell in row if _lines(cell) > 1)
    if not uneven or stacked or not all(row[0] for row in cells) or not all(cells[0]):
        return []
    return [_line(row, number, lines[0].zone) for number, row in enumerate(cells)]


def _lines(cell: Sequence[Segment]) -> int:
    return len(cell) and 1 + sum(other.base - one.base > 0.45 * one.size for one, other in pairwise(cell))


def _line(row: Sequence[Sequence[Segment]], number: int, zone: int) -> Line:
    places = tuple(Place(number, column) for column, cell in enumerate(row) for _ in cell)
    return Line([one for cell in row for one in cell], zone, places)
