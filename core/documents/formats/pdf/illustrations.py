"""Where a page has figures: pictures, photographs, and drawings such as charts, by the objects that it draws."""

import numpy as np
import pypdfium2.raw as pdfium_c
from numpy.typing import NDArray

from pincite.core.documents.formats.pdf.drawn import Drawn

MAX_FIGURES = 12
_MARGINS = np.array([-0.05, -0.04, 0.05, 0.04])
"""Around a drawing: the labels of its axes."""
_CELLS = 64
"""Of the grid on which what lies close together is joined, along each side."""
_MIN_SIDES = (0.12, 0.06)
"""Width and height of a figure, as shares of the page."""
_MAX_SHARE = 0.7
"""Of the page: what covers more is its background or its scan."""
_MIN_SHAPES = 3
"""Sizes of areas without words, such as bars, that make a drawing."""
_MIN_AREA_SIDE, _MAX_AREAS = 0.008, 500
_MAX_WORDS = 0.3
"""Share of a drawing that words may cover; tables are fuller."""


def illustrations(drawn: Drawn, bounds: NDArray[np.float64], words: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the boxes of the figures on a page, in reading order.

    ``bounds`` has the displayed boxes of the drawn objects and ``words`` those of the words, as shares of the page:
    left, top, right, bottom. The result has the same form.
    """
    sides = bounds[:, 2:] - bounds[:, :2]
    inside = (bounds[:, :2] > -0.2).all(axis=1) & (bounds[:, 2:] < 1.2).all(axis=1)
    fitting = inside & (sides.prod(axis=1) <= _MAX_SHARE)
    pictures = bounds[fitting & (drawn.kinds == pdfium_c.FPDF_PAGEOBJ_IMAGE)]
    paths = bounds[fitting & (drawn.kinds == pdfium_c.FPDF_PAGEOBJ_PATH)]
    found = [box for box in _joined(pictures) if _is_large(box, words)]
    drawings = [box for box in _joined(paths) if _is_large(box, words) and _is_drawing(box, paths, words)]
    found += [np.clip(box + _MARGINS, 0, 1) for box in drawings]
    apart = _joined(np.array(found).reshape(-1, 4))
    return np.array(sorted(apart, key=lambda box: (box[1], box[0]))[:MAX_FIGURES]).reshape(-1, 4)


def _joined(boxes: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return the boxes around everything that touches, on a coarse grid."""
    grid = np.zeros((_CELLS, _CELLS), np.bool_)
    cells = np.clip((boxes * _CELLS), 0, _CELLS - 1).astype(np.int64)
    for left, top, right, bottom in cells:
        grid[top : bottom + 1, left : right + 1] = True
    groups, number = np.zeros(grid.shape, np.int64), 0
    for row, column in np.argwhere(grid):
        if not groups[row, column]:
            number += 1
            _flood(grid, groups, (int(row), int(column)), number)
    of = groups[cells[:, 1], cells[:, 0]]
    own = (boxes[of == group] for group in range(1, number + 1))
    return [np.clip(np.concatenate([one[:, :2].min(axis=0), one[:, 2:].max(axis=0)]), 0, 1) for one in own if len(one)]


def _flood(grid: NDArray[np.bool_], groups: NDArray[np.int64], start: tuple[int, int], number: int) -> None:
    waiting = [start]
    groups[start] = number
    while waiting:
        row, column = waiting.pop()
        for near in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            if min(near) >= 0 and max(near) < _CELLS and grid[near] and not groups[near]:
                groups[near] = number
                waiting.append(near)


def _is_large(box: NDArray[np.float64], words: NDArray[np.float64]) -> bool:
    """Return whether a box is as large as figures are, and not full of words."""
    sides = box[2:] - box[:2]
    return bool((sides >= _MIN_SIDES).all() and sides.prod() <= _MAX_SHARE and _covered(box, words) <= _MAX_WORDS)


def _is_drawing(box: NDArray[np.float64], paths: NDArray[np.float64], words: NDArray[np.float64]) -> bool:
    """Return whether most areas that are drawn there are without words and of different sizes, unlike cells."""
    own = paths[_holds(box, (paths[:, :2] + paths[:, 2:]) / 2)]
    areas = own[((own[:, 2:] - own[:, :2]) > _MIN_AREA_SIDE).all(axis=1)][:_MAX_AREAS]
    centers = (words[:, :2] + words[:, 2:]) / 2
    empty = [area for area in areas if not _holds(area, centers).any()]
    sizes = {(round(width, 2), round(height, 2)) for width, height in (area[2:] - area[:2] for area in empty)}
    return len(sizes) >= _MIN_SHAPES and len(empty) > len(areas) / 2 and len(sizes) > len(empty) / 4


def _covered(box: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """Return the share of a box that others cover, each counted by itself."""
    low, high = np.maximum(others[:, :2], box[:2]), np.minimum(others[:, 2:], box[2:])
    area = np.clip(high - low, 0, None).prod(axis=1).sum()
    return float(area / max((box[2:] - box[:2]).prod(), 1e-9))


def _holds(box: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.bool_]:
    inside = (points >= box[:2]) & (points <= box[2:])
    return np.asarray(inside.all(axis=1), np.bool_)
