"""From words to lines in reading order: segments, rows, and columns of prose as opposed to columns of a table.

Knows geometry and the order of the page's content; what a line is for (heading, table row, …) is decided in blocks.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import attrgetter
from statistics import median

import numpy as np
from numpy.typing import NDArray

from pincite.core.documents.formats.pdf.pdfium_text import RIGHT_TO_LEFT, PageWords
from pincite.core.documents.formats.pdf.ruled import RuledTable, ruled_tables
from pincite.core.domain.documents import Place

_RULE = re.compile(r"[_.…\u2013\u2014-]{4,}")
_LETTERS = re.compile(r"[^\W\d_]{2}")
NO_RULES = np.zeros((0, 4))
STRAY = -1
"""The zone of what runs another way than the page."""
COMMENT = -2
"""The zone of what people wrote on the page."""
_DEEPEST = 6
_WAVERS = 6
"""Points between the beginnings of lines of one column."""
_CURRENCIES = frozenset("$€£¥₹")
_FIXED_SIGNS = _CURRENCIES | {")", "%", ")%", "%)"}


@dataclass(slots=True, eq=False)
class Segment:
    """Words that follow each other closely on one line: the words ``start`` to ``end`` of the page."""

    start: int
    end: int
    words: Sequence[str]
    left: float
    top: float
    right: float
    bottom: float
    base: float
    size: float
    bold: bool
    text: str = field(init=False)
    numeric: bool = field(init=False)

    def __post_init__(self) -> None:
        self.text = " ".join(self.words[self.start : self.end])
        self.numeric = not _LETTERS.search(self.text)


@dataclass(slots=True, eq=False)
class Line:
    """Segments side by side on one row. ``zone`` numbers the column or band of the page that the line belongs to.

    In a table with rules it is a row, and ``places`` has the cell of each segment.
    """

    segments: list[Segment]
    zone: int
    places: tuple[Place, ...] = ()
    left: float = field(init=False)
    right: float = field(init=False)
    top: float = field(init=False)
    bottom: float = field(init=False)
    size: float = field(init=False)

    def __post_init__(self) -> None:
        self.left, self.right = min(part.left for part in self.segments), max(part.right for part in self.segments)
        self.top, self.bottom = min(part.top for part in self.segments), max(part.bottom for part in self.segments)
        self.size = max(part.size for part in self.segments)


def arrange(page: PageWords, rules: NDArray[np.float64] = NO_RULES, *, is_sheet: bool = False) -> list[Line]:
    """Return the page's lines in reading order; stray words that run another way come last.

    ``rules``: the lines that the page draws, shape (rules, 4) as the boxes of its words. ``is_sheet``: they are the
    cells of a sheet.
    """
    if not page.texts:
        return []
    _close_up(page)
    turn = 0
    if page.turns.any():
        turn = int(np.bincount(page.turns, weights=list(map(len, page.texts)), minlength=4).argmax())
    boxes = _turned(page.boxes, turn, page.width, page.height)
    figures = np.fromiter((not _LETTERS.search(text) for text in page.texts), np.bool_, len(page.texts))
    tables = ruled_tables(_turned(rules, turn, page.width, page.height), boxes, figures, certain=is_sheet)
    cells = _cells_of(tables, boxes)
    segments = _segments(page, turn, boxes, cells)
    framed = [segment for segment in segments if cells[segment.start, 0] >= 0]
    segments = [segment for segment in segments if cells[segment.start, 0] < 0]
    straight, stray = segments, []
    if (page.turns != turn).any():
        straight = [segment for segment in segments if _runs_with(page, segment, turn)]
        stray = [segment for segment in segments if not _runs_with(page, segment, turn)]
    right_to_left = page.right_to_left and 2 * sum(
        bool(RIGHT_TO_LEFT.search(segment.text)) for segment in (*segments, *framed)
    ) > len(segments) + len(framed)
    own: dict[int, list[Segment]] = {}
    for segment in framed:
        own.setdefault(int(cells[segment.start, 0]), []).append(segment)
    frames = {number: _frame(inside, tables[number]) for number, inside in own.items()}
    frame_numbers = {id(frame): number for number, frame in frames.items()}
    lines: list[Line] = []
    for zone, found in enumerate(_zones([*straight, *frames.values()], right_to_left, depth=0)):
        for row in by_rows(found, right_to_left):
            unframed = [segment for segment in row if id(segment) not in frame_numbers]
            lines += [Line(_joined(unframed), zone)] if unframed else []
            for number in (frame_numbers[id(segment)] for segment in row if id(segment) in frame_numbers):
                lines += _ruled_rows(tables[number], own[number], cells, zone, right_to_left, page.turns != turn)
    return _down(lines) + [Line([segment], STRAY) for segment in stray]


def _cells_of(tables: Sequence[RuledTable], boxes: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the table and the cell that each word is in, or -1 for both; shape (words, 2)."""
    cells = np.full((len(boxes), 2), -1, np.int64)
    for number, table in enumerate(tables):
        own = table.cell_of(boxes)
        cells[own >= 0, 0] = number
        cells[own >= 0, 1] = own[own >= 0]
    return cells


def _frame(own: Sequence[Segment], table: RuledTable) -> Segment:
    """Return a segment that replaces a whole table while the order of the page is found."""
    left, top, right, bottom = table.box
    first = min(own, key=attrgetter("start"))
    return replace(
        first, end=first.start + 1, left=left, top=top, right=right, bottom=bottom, base=top + 0.9 * first.size
    )


def _ruled_rows(
    table: RuledTable,
    own: Sequence[Segment],
    cells: NDArray[np.int64],
    zone: int,
    right_to_left: bool,
    aside: NDArray[np.bool_],
) -> list[Line]:
    """Return the rows of a table with rules; a cell's segments follow each other as they are read.

    ``aside`` marks the words that run another way than the page: they follow each other as the file has them.
    """
    rows: dict[int, list[tuple[Place, list[Segment]]]] = {}
    for cell in sorted({int(cells[one.start, 1]) for one in own}):
        inside = [one for one in own if cells[one.start, 1] == cell]
        read = [one for row in by_rows(inside, right_to_left) for one in row]
        if aside[[one.start for one in inside]].any():
            read = sorted(inside, key=attrgetter("start"))
        rows.setdefault(table.places[cell].row, []).append((table.places[cell], read))
    lines = []
    for _, row in sorted(rows.items()):
        row.sort(key=lambda one: one[0].column, reverse=right_to_left)
        lines.append(Line([one for _, read in row for one in read], zone, tuple(at for at, read in row for _ in read)))
    return lines


def _down(lines: Sequence[Line]) -> list[Line]:
    """Read what is below lines to sign on column by column: a name, then who it is, then the next name."""
    read: list[Line] = []
    at = 0
    while at < len(lines):
        rows = [lines[at]]
        while len(lines[at].segments) > 1 and all(_RULE.fullmatch(part.text) for part in lines[at].segments):
            below = at + len(rows)
            if below == len(lines) or not _is_below(lines[below], rows[-1]):
                break
            rows.append(lines[below])
        if len(rows) > 1:
            columns = zip(*(row.segments for row in rows), strict=True)
            read += [Line([segment], rows[0].zone) for column in columns for segment in column]
        else:
            read += rows
        at += len(rows)
    return read


def _is_below(line: Line, above: Line) -> bool:
    """Return whether each part is directly below a part of the line above, from the same edge or within it."""
    near = line.zone == above.zone and line.top - above.bottom < 2 * line.size
    return (
        near
        and len(line.segments) == len(above.segments)
        and all(
            own.left < over.right and own.right > over.left
            for own, over in zip(line.segments, above.segments, strict=True)
        )
    )


def _close_up(page: PageWords) -> None:
    """Take out the space behind a currency sign, and before a closing sign in a cell of its own."""
    texts, gaps = page.texts, page.gaps
    if _FIXED_SIGNS.isdisjoint(texts):
        return
    for index in [index for index, text in enumerate(texts) if text in _FIXED_SIGNS]:
        if texts[index] in _CURRENCIES:
            if index + 1 < len(texts) and gaps[index + 1] == 1 and texts[index + 1][0] in "0123456789(—–-":
                gaps[index + 1] = 0
        elif index and gaps[index] == 1 and texts[index - 1][-1] in "0123456789)":
            apart = page.boxes[index, 0] - page.boxes[index - 1, 2] > 0.6 * page.sizes[index]
            gaps[index] = 0 if apart or texts[index][0] == ")" else 1


def _runs_with(page: PageWords, segment: Segment, turn: int) -> bool:
    return turn in page.turns[segment.start : segment.end] or len(segment.text) < 3


def _turned(boxes: NDArray[np.float64], turn: int, width: float, height: float) -> NDArray[np.float64]:
    """Turn the page so that most of its words run from left to right."""
    if not turn:
        return boxes
    left, top, right, bottom = boxes.T
    turned = {
        0: (left, top, right, bottom),
        1: (top, width - right, bottom, width - left),
        2: (width - right, height - bottom, width - left, height - top),
        3: (height - bottom, left, height - top, right),
    }[turn]
    return np.stack(turned, axis=1)


def _segments(page: PageWords, turn: int, boxes: NDArray[np.float64], cells: NDArray[np.int64]) -> list[Segment]:
    """Cut the words where the line breaks, another cell begins, or the white space is wider than the em."""
    left, _, right, _ = boxes.T
    base = page.baselines[:, 1]
    if turn:
        base = _turned(page.baselines[:, [0, 1, 0, 1]], turn, page.width, page.height)[:, 1]
    size = page.sizes
    distance = np.maximum(left[1:] - right[:-1], left[:-1] - right[1:])
    smaller, larger = np.minimum(size[1:], size[:-1]), np.maximum(size[1:], size[:-1])
    cut = (page.gaps[1:] >= 2) | (np.abs(np.diff(base)) > 0.7 * larger)
    cut |= (page.gaps[1:] == 1) & (distance > smaller)
    cut |= (page.gaps[1:] == 0) & (distance > 12 * size[1:])
    cut |= (cells[1:] != cells[:-1]).any(axis=1)
    cut[[at - 1 for at, text in enumerate(page.texts) if text[0] in _CURRENCIES and _is_amount(page.texts, at)]] = True
    starts = np.concatenate([[0], np.flatnonzero(cut) + 1])
    ends = np.concatenate([starts[1:], [len(size)]])
    weights = np.cumsum(np.fromiter(map(len, page.texts), np.int64, len(size)))
    middle = np.searchsorted(weights, (weights[ends - 1] + weights[starts]) / 2)
    middle = np.clip(middle, starts, ends - 1)
    base, size = base[middle], size[middle]
    columns = (
        np.minimum.reduceat(left, starts),
        base - 0.9 * size,
        np.maximum.reduceat(right, starts),
        base + 0.25 * size,
        base,
        size,
        np.logical_and.reduceat(page.bold, starts),
    )
    return [
        Segment(start, end, page.texts, *values)
        for start, end, *values in zip(starts.tolist(), ends.tolist(), *(c.tolist() for c in columns), strict=True)
    ]


def _is_amount(texts: Sequence[str], at: int) -> bool:
    """Return whether an amount with its currency directly follows another, as in a table of close columns: "$4 $5"."""
    before = "".join(texts[max(at - 2, 0) : at])
    return any(map(before.startswith, _CURRENCIES)) and before[-1:].isdigit() and not _LETTERS.search(before)


def by_rows(segments: Sequence[Segment], right_to_left: bool) -> Iterator[list[Segment]]:
    """Yield the segments at each height, top to bottom."""
    row: list[Segment] = []
    start = largest = 0.0
    for segment in sorted(segments, key=attrgetter("base")):
        if row and segment.base - start > 0.45 * min(segment.size, largest):
            yield _across(row, right_to_left)
            row = []
        if not row:
            start = segment.base
        largest = max(largest, segment.size) if row else segment.size
        row.append(segment)
    if row:
        yield _across(row, right_to_left)


def _across(row: list[Segment], right_to_left: bool) -> list[Segment]:
    return sorted(row, key=lambda segment: -segment.right if right_to_left else segment.left)


def _joined(row: list[Segment]) -> list[Segment]:
    """Join again what a wide space, a raised sign or a full stop behind one had parted in running text."""
    joined = row[:1]
    for segment in row[1:]:
        last = joined[-1]
        gap = segment.left - last.right
        wide = len(row) == 2 and gap < 2.2 * last.size and not segment.numeric and not last.numeric
        near = wide or gap < 0.5 * last.size
        if last.end == segment.start and near and last.end - last.start > 1:
            joined[-1] = replace(
                last,
                end=segment.end,
                top=min(last.top, segment.top),
                right=segment.right,
                bottom=max(last.bottom, segment.bottom),
                size=max(last.size, segment.size),
                bold=last.bold and segment.bold,
            )
        else:
            joined.append(segment)
    return joined


@dataclass(frozen=True, slots=True)
class _Columns:
    """A band of the page with text in two columns."""

    before: list[Segment]
    left: list[Segment]
    right: list[Segment]
    after: list[Segment]
    in_content_order: bool

    @property
    def weight(self) -> int:
        return len(self.left) + len(self.right)


def _zones(segments: list[Segment], right_to_left: bool, depth: int) -> Iterator[list[Segment]]:
    """Yield stretches of the page, each to be read row by row, in reading order."""
    segments = sorted(segments, key=attrgetter("top"))
    gutters = _gutters(segments) if depth < _DEEPEST else []
    found = [columns for gutter in gutters if (columns := _columns(segments, gutter))]
    if not found:
        if segments:
            yield segments
        return
    best = max(found, key=lambda columns: columns.weight)
    yield from _zones(best.before, right_to_left, depth + 1)
    if best.in_content_order:
        yield from _cells(best)
    else:
        for side in (best.right, best.left) if right_to_left else (best.left, best.right):
            yield from _zones(side, right_to_left, depth + 1)
    yield from _zones(best.after, right_to_left, depth + 1)


def _gutters(segments: list[Segment]) -> list[float]:
    """Left of edges that several segments share, away from the left margin: where a column may begin.

    In a scan the lines of a column begin a little apart.
    """
    if len(segments) < 4:
        return []
    margin = min(segment.left for segment in segments)
    extent = max(segment.right for segment in segments) - margin
    edges = Counter(round(segment.left / 4) for segment in segments if segment.left - margin > 0.12 * extent)
    common = sorted((edge for edge, count in edges.items() if count >= 3), key=lambda edge: -edges[edge])
    return [min(one.left for one in segments if abs(one.left - 4 * edge) <= _WAVERS) - 1 for edge in common[:6]]


def _columns(ordered: list[Segment], gutter: float) -> _Columns | None:
    """Find the largest band that no segment crosses at the gutter and that reads as two columns of prose.

    ``ordered`` runs from top to bottom.
    """
    runs: list[tuple[int, int]] = []
    begin = 0
    for index, segment in enumerate(ordered):
        if segment.left < gutter - 1 and segment.right > gutter + 1:
            runs.append((begin, index))
            begin = index + 1
    runs.append((begin, len(ordered)))
    found = [columns for first, last in runs if (columns := _band(ordered, first, last, gutter))]
    return max(found, key=lambda columns: columns.weight, default=None)


def _band(ordered: list[Segment], begin: int, end: int, gutter: float) -> _Columns | None:
    if end - begin < 6:
        return None
    left = [segment for segment in ordered[begin:end] if segment.left < gutter]
    right = [segment for segment in ordered[begin:end] if segment.left >= gutter]
    if len(left) < 3 or len(right) < 3:
        return None
    figures = any(sum(segment.numeric for segment in side) > 0.4 * len(side) for side in (right, left))
    if figures and not (_flowing(left) or _flowing(right)):
        return None
    top = max(left[0].top, right[0].top)
    bottom = min(max(segment.bottom for segment in left), max(segment.bottom for segment in right))
    if bottom - top < 2.5 * left[0].size:
        return None
    switches = _switches(left, right)
    side_by_side = switches <= 0.2 * (len(left) + len(right)) and (_flowing(left) or _flowing(right))
    prose = _prose(left) and _prose(right)
    if not side_by_side and not prose and not (switches == 1 and _wordy(left) and _wordy(right)):
        return None
    cells = 3 <= switches < 0.7 * min(len(left), len(right)) * 2 and _monotone(left) and _monotone(right)
    return _Columns(ordered[:begin], left, right, ordered[end:], in_content_order=cells)


def _switches(left: list[Segment], right: list[Segment]) -> int:
    """How often the page's content changes sides: once for columns, at each line for rows."""
    sides = sorted([(segment.start, 0) for segment in left] + [(segment.start, 1) for segment in right])
    return sum(first[1] != second[1] for first, second in pairwise(sides))


def _prose(side: list[Segment]) -> bool:
    """Return whether lines are long and fill their column, or are in several such columns and begin in mid-sentence."""
    width = max(segment.right for segment in side) - min(segment.left for segment in side)
    widths = median(segment.right - segment.left for segment in side)
    if median(len(segment.text) for segment in side) < 20:
        return False
    if widths >= 0.55 * width:
        return True
    ordered = sorted(side, key=attrgetter("top"))
    parted = (columns for gutter in _gutters(side) if (columns := _columns(ordered, gutter)))
    return _in_mid_sentence(side) and any(columns.weight >= 0.8 * len(side) for columns in parted)


def _flowing(side: list[Segment]) -> bool:
    """Return whether it is prose with lines that begin in mid-sentence, as labels of a table or a figure hardly do."""
    return len(side) >= 4 and _in_mid_sentence(side) and _prose(side)


def _in_mid_sentence(side: list[Segment]) -> bool:
    return sum(segment.text[0].islower() for segment in side) >= 0.4 * len(side)


def _wordy(side: list[Segment]) -> bool:
    return sum(len(segment.text) for segment in side) >= 8 * len(side)


def _monotone(side: list[Segment]) -> bool:
    """Return whether one side has content all the way down the page."""
    tops = [segment.top for segment in sorted(side, key=lambda segment: segment.start)]
    return all(second >= first - 1 for first, second in pairwise(tops))


def _cells(columns: _Columns) -> Iterator[list[Segment]]:
    """Yield the cells of a table of prose as its content gives them."""
    on_left = {segment.start for segment in columns.left}
    cell: list[Segment] = []
    for segment in sorted(columns.left + columns.right, key=lambda segment: segment.start):
        if cell and (cell[-1].start in on_left) != (segment.start in on_left):
            yield cell
            cell = []
        cell.append(segment)
    yield cell
