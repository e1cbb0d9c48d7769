"""Tables whose cells are drawn with rules: where the lines cross says which words stand in which cell."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pdfplumber.table import cells_to_tables, edges_to_intersections, intersections_to_cells, merge_edges

from core.domain.documents import Place

MOST_RULES = 1500
"""A page with more is a drawing."""
LONGEST_CELL_WORDS = 80
"""A cell with more holds prose, which is read as prose."""
_LEAST_LENGTH, _NEAR = 6.0, 2.0
"""Points: of a rule, and between rules that are one."""


@dataclass(frozen=True, slots=True)
class RuledTable:
    """``boxes`` has shape (cells, 4): left, top, right, bottom in points; ``places`` says where each cell is."""

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


def ruled_tables(rules: NDArray[np.float64], words: NDArray[np.float64]) -> list[RuledTable]:
    """Return the tables of two rows and columns or more; both arrays have shape (n, 4): left, top, right, bottom.

    A table is left out where a word stands between its cells, runs over a rule, or a cell holds prose.
    """
    edges = list(_edges(rules))
    if not 4 <= len(edges) <= MOST_RULES:
        return []
    merged = merge_edges(edges, _NEAR, _NEAR, _NEAR, _NEAR)
    cells = intersections_to_cells(edges_to_intersections(merged, _NEAR, _NEAR))
    found = [table for boxes in cells_to_tables(cells) if (table := _table(np.array(boxes, np.float64)))]
    return [table for table in found if _holds(table, words)]


def _edges(rules: NDArray[np.float64]) -> Iterable[dict[str, object]]:
    """Yield rules as pdfplumber describes them."""
    for left, top, right, bottom in rules.tolist():
        width, height = right - left, bottom - top
        if max(width, height) < _LEAST_LENGTH:
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


def _holds(table: RuledTable, words: NDArray[np.float64]) -> bool:
    left, top, right, bottom = table.box
    across, down = (words[:, :2] + words[:, 2:]).T / 2
    inside = (left <= across) & (across < right) & (top <= down) & (down < bottom)
    own = words[inside]
    cells = table.cell_of(own)
    if len(own) == 0 or (cells < 0).any():
        return False
    over = (own[:, 0] < table.boxes[cells, 0] - _NEAR) | (own[:, 2] > table.boxes[cells, 2] + _NEAR)
    filled = {table.places[cell] for cell in set(cells.tolist())}
    several = len({place.row for place in filled}) > 1 and len({place.column for place in filled}) > 1
    return several and not over.any() and int(np.bincount(cells).max()) <= LONGEST_CELL_WORDS
