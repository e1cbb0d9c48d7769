"""Tables of words without rules, with cells of several lines: white bands part the rows, white strips the columns."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from pincite.core.documents.formats.pdf.layout import Line, Segment, by_rows
from pincite.core.domain.documents import Place

_MIN_COLUMNS = 3
_BAND = 0.35
"""Of the letters' size: the least height of the white between two rows; lines of one cell are closer."""
_MAX_FIGURES = 0.3
"""Share of the words' cells that may be figures."""
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
    """Return where the columns end that begin with a bold line of heads, whatever each contains."""
    head, end = lines[start], start + 1
    right_to_left = head.segments[0].left > head.segments[-1].left
    bold = all(one.bold and not one.numeric for one in head.segments)
    if len(head.segments) < _MIN_COLUMNS or head.places or right_to_left or not bold:
        return start
    above = lines[start - 1] if start else None
    if above and len(above.segments) > 1 and above.zone == head.zone and head.top - above.bottom < head.size:
        return start
    own = list(head.segments)
    while end < len(lines) and lines[end].zone == head.zone and not lines[end].places:
        more = [*own, *lines[end].segments]
        apart = lines[end].top - lines[end - 1].bottom > _APART * head.size
        wider = len(lines[end].segments) > len(head.segments) or len(_strips(more)) != len(head.segments)
        if apart or wider:
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
    """Return a line for each band; nothing if the bands are no rows of a table of words.

    Every band has words in the first column; in some, one cell has more lines than another. A table of figures, or with
    figures in several lines of several cells, may as well have dense rows.
    """
    segments = [one for line in lines for one in line.segments]
    columns = _strips(segments)
    bands = _merged(((one.top, one.bottom) for one in segments), _BAND * lines[0].size) if lines else []
    if len(bands) < 3:
        return []
    cells: list[list[list[Segment]]] = [[[] for _ in columns] for _ in bands]
    for one in (one for row in by_rows(segments, right_to_left=False) for one in row):
        row = next(number for number, (top, bottom) in enumerate(bands) if top <= one.top <= bottom)
        column = next(number for number, (left, right) in enumerate(columns) if left <= one.left <= right)
        cells[row][column].append(one)
    if not all(row[0] for row in cells) or not all(cells[0]) or any(_lines(cell) > 1 for cell in cells[0]):
        return []
    body = cells[1:]
    uneven = any(len({_lines(cell) for cell in row if cell}) > 1 for row in body)
    numeric = [one.numeric for row in body for cell in row[1:] for one in cell]
    if not uneven or sum(numeric) > _MAX_FIGURES * len(numeric) or any(map(_has_rows, body)):
        return []
    return [_line(row, number, lines[0].zone) for number, row in enumerate(cells)]


def _has_rows(band: Sequence[Sequence[Segment]]) -> bool:
    """Whether several cells have digits in more than one line, or each cell as many lines as the others, of several."""
    counts = [_lines(cell) for cell in band]
    digits = [sum(any(map(str.isdigit, one.text)) for one in cell) for cell in band]
    return sum(count > 1 for count in digits) > 1 or (min(counts) > 2 and len(set(counts)) == 1)


def _lines(cell: Sequence[Segment]) -> int:
    return len(cell) and 1 + sum(other.base - one.base > 0.45 * one.size for one, other in pairwise(cell))


def _line(row: Sequence[Sequence[Segment]], number: int, zone: int) -> Line:
    places = tuple(Place(number, column) for column, cell in enumerate(row) for _ in cell)
    return Line([one for cell in row for one in cell], zone, places)
