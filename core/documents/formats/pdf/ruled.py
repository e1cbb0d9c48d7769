"""Tables with cells drawn by rules: where the lines cross determines which words are in which cell."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pdfplumber.table import cells_to_tables, edges_to_intersections, intersections_to_cells, merge_edges

from pincite.core.domain.documents import Place

MAX_CROSSINGS = 3_000
"""Of the rules of a page; one with more is a drawing."""
MAX_CELL_WORDS = 80
"""A cell with more holds prose, which is read as prose."""
MAX_LINES = 3
"""Lines in a cell over all columns, or in every cell of a row: with more it is a frame around several rows."""
_MIN_LENGTH, _NEAR = 6.0, 2.0
"""Points: of a rule, and between rules that are one."""


@dataclass(frozen=True, slots=True)
class RuledTable:
    """``boxes`` has shape (cells, 4): left, top, right, bottom in points; ``places`` is where each cell is."""

    boxes: NDArray[np.float64]
    places: tuple[Place, ...]

    @property
    def box(self) -> tuple[float, float, float, float]:
        left, top = self.boxes[:, :2].min(axis=0).tolist()
        right, bottom = self.boxes[:, 2:].max(axis=0).tolist()
        return left, top, right, bottom

    def cell_of(self, boxes: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of the cell that the middle of each box is in, or -1; shape (boxes,)."""
        across, down = (boxes[:, :2] + boxes[:, 2:]).T / 2
        left, top, right, bottom = self.boxes.T[:, :, None]
        inside = (left <= across) & (across < right) & (top <= down) & (down < bottom)
        return np.where(inside.any(axis=0), inside.argmax(axis=0), -1)


def ruled_tables(
    rules: NDArray[np.float64], words: NDArray[np.float64], figures: NDArray[np.bool_], *, certain: bool = False
) -> list[RuledTable]:
    """Return the tables of two rows and columns or more, none within another.

    ``rules`` and ``words`` are boxes of shape (n, 4): left, top, right, bottom; ``figures`` marks the words without
    letters. A table is left out if a word is between its cells or runs over a rule, or a cell holds prose or rows;
    ``certain``: not for what its cells hold, since they are those of a sheet.
    """
    edges = list(_edges(rules))
    merged = merge_edges(edges, _NEAR, _NEAR, _NEAR, _NEAR) if len(edges) >= 4 else []
    level = sum(edge["orientation"] == "h" for edge in merged)
    if not 4 <= level * (len(merged) - level) <= MAX_CROSSINGS:
        return []
    cells = intersections_to_cells(edges_to_intersections(merged, _NEAR, _NEAR))
    found = [table for boxes in cells_to_tables(cells) if (table := _table(np.array(boxes, np.float64)))]
    kept: list[RuledTable] = []
    for table in sorted(found, key=lambda one: _area(one.box)):
        if _holds(table, words, figures, certain=certain) and not any(
            _intersect(table.box, other.box) for other in kept
        ):
            kept.append(table)
    return kept


def _area(box: tuple[float, float, float, float]) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _intersect(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    across, down = (min(one[at + 2], other[at + 2]) - max(one[at], other[at]) for at in (0, 1))
    return min(across, down) > _NEAR


def _edges(rules: NDArray[np.float64]) -> Iterable[dict[str, object]]:
    """Yield rules as pdfplumber describes them."""
    for left, top, right, bottom in rules.tolist():
        width, height = right - left, bottom - top
        if max(width, height) < _MIN_LENGTH:
            continue
        place = {"x0": left, "x1": right, "top": top, "bottom": bottom, "width": width, "height": height}
        yield place | {"orientation": "h" if width > height else "v"}


def _table(boxes: NDArray[np.float64]) -> RuledTable | None:
    columns, rows = (sorted(set(boxes[:, [at, at + 2]].ravel().tolist())) for at in (0, 1))
    if len(columns) < 3 or len(rows) < 3:
        return None
    places = tuple(
        Place(
            rows.index(top),
            columns.index(left),
            rows.index(bottom) - rows.index(top),
            columns.index(right) - columns.index(left),
        )
        for left, top, right, bottom in boxes.tolist()
    )
    return RuledTable(boxes, places)


def _holds(table: RuledTable, words: NDArray[np.float64], figures: NDArray[np.bool_], *, certain: bool) -> bool:
    left, top, right, bottom = table.box
    across, down = (words[:, :2] + words[:, 2:]).T / 2
    inside = (left <= across) & (across < right) & (top <= down) & (down < bottom)
    own = words[inside]
    cells = table.cell_of(own)
    if len(own) == 0 or (cells < 0).any() or (int(np.bincount(cells).max()) > MAX_CELL_WORDS and not certain):
        return False
    over = (own[:, 0] < table.boxes[cells, 0] - _NEAR) | (own[:, 2] > table.boxes[cells, 2] + _NEAR)
    filled = sorted({table.places[cell] for cell in cells.tolist()})
    several = sum(count > 1 for count in Counter(place.row for place in filled).values()) > 1
    return several and not over.any() and (certain or not _frames_rows(table, own, cells, figures[inside]))


def _frames_rows(
    table: RuledTable, words: NDArray[np.float64], cells: NDArray[np.int64], figures: NDArray[np.bool_]
) -> bool:
    """Return whether rules frame several rows together: lines of figures, or as many lines in each cell, or a page."""
    width = max(place.column + place.columns for place in table.places)
    lines: dict[int, list[tuple[int, bool]]] = {}
    for cell in sorted(set(cells.tolist())):
        place, at = table.places[cell], np.flatnonzero(cells == cell)
        at = at[np.argsort((words[at, 1] + words[at, 3]) / 2, kind="stable")]
        middle, height = (words[at, 1] + words[at, 3]) / 2, np.median(words[at, 3] - words[at, 1])
        parts = np.split(at, np.flatnonzero(np.diff(middle) > height / 2) + 1)
        stacked = len(parts) > 1 and sum(bool(figures[part].all()) for part in parts) > 1
        if place.columns == width and len(parts) > MAX_LINES:
            return True
        lines.setdefault(place.row, []).append((len(parts), stacked))
    for row in lines.values():
        counts = [count for count, _ in row]
        if any(stacked for _, stacked in row) and sum(count > 1 for count in counts) > 1:
            return True
        if len(counts) > 1 and min(counts) > MAX_LINES and len(set(counts)) == 1:
            return True
    return False
