"""Line numbers in the margin of pleadings, transcripts and listings: on each line, or on every fifth.

They are recognised by their position and how they count, whatever the page is about.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pincite.core.documents.formats.pdf.layout import Line
from pincite.core.documents.formats.pdf.pdfium_text import PageWords

MIN_COUNT, MIN_FIFTHS = 4, 3
FIFTH, FIFTH_APART = 5, 3.0
"""Step where each fifth line has its number, and minimum number of ems between two."""
ALIGNED = 3.0
"""Points by which their right or left edges may differ."""
MAX_LENGTH = 4
HEAD_APART = 1.5
"""Ems between a column's head and its first figure at most."""


def line_numbers(words: PageWords, lines: Sequence[Line]) -> NDArray[np.bool_]:
    """Return which words are numbers of lines: from the first to the last of their column no word is further out.

    On the right they have a cell of their own.
    """
    opening = [line.segments[0].start for line in lines]
    closing = [part.start for line in lines for part in line.segments[1:][-1:] if part.end == part.start + 1]
    for outer, ends in ((0, opening), (2, closing)):
        numbers = [one for one in ends if words.texts[one].isdecimal() and len(words.texts[one]) <= MAX_LENGTH]
        found = np.zeros(len(words.texts), np.bool_)
        found[_counting(words, numbers)] = True
        if not found.any():
            continue
        top, bottom = words.boxes[found, 1].min(), words.boxes[found, 3].max()
        if _has_head(words, found) or _is_of_table(lines, found):
            continue
        others = words.boxes[~found & (words.boxes[:, 3] > top) & (words.boxes[:, 1] < bottom)]
        inside = (
            others[:, 0] >= words.boxes[found, 2].max() if outer == 0 else others[:, 2] <= words.boxes[found, 0].min()
        )
        if len(others) and inside.all():
            return found
    return np.zeros(len(words.texts), np.bool_)


def _is_of_table(lines: Sequence[Line], found: NDArray[np.bool_]) -> bool:
    """Whether most of the lines that have the numbers are rows of cells, or of figures alone: years of a table."""
    rows = [line for line in lines if any(found[part.start : part.end].any() for part in line.segments)]
    if 2 * sum(len(line.places) > 1 for line in rows) > len(rows):
        return True
    others = [[part for part in line.segments if not found[part.start : part.end].any()] for line in rows]
    cells = [own for own in others if len(own) > 1 or (own and not any(map(str.isalpha, own[0].text)))]
    return 2 * len(cells) > len(rows)


def _has_head(words: PageWords, found: NDArray[np.bool_]) -> bool:
    """Return whether a word is close above the numbers and shares an edge with them: they are a column of a table."""
    column = words.boxes[found]
    top, near = column[:, 1].min(), HEAD_APART * float(words.sizes[found].max())
    above = words.boxes[~found & (words.boxes[:, 3] <= top + ALIGNED) & (words.boxes[:, 3] > top - near)]
    edges = [np.abs(above[:, edge] - column[0, edge]) <= ALIGNED for edge in (0, 2)]
    return bool((edges[0] | edges[1]).any())


def _counting(words: PageWords, numbers: Sequence[int]) -> list[int]:
    """Those of one column that count on from each other, down the page; each fifth only where lines lie between."""
    places = np.array(numbers, np.int64)
    best: list[int] = []
    for edge in (0, 2):
        edges = words.boxes[places, edge]
        for at in np.unique(np.round(edges / ALIGNED), return_index=True)[1].tolist():
            column = places[np.abs(edges - edges[at]) <= ALIGNED]
            column = column[np.argsort(words.boxes[column, 1], kind="stable")].tolist()
            steps = {int(words.texts[below]) - int(words.texts[above]) for above, below in pairwise(column)}
            if len(column) > len(best) and _is_count(words, column, steps):
                best = column
    return best


def _is_count(words: PageWords, column: Sequence[int], steps: set[int]) -> bool:
    if steps == {1}:
        return len(column) >= MIN_COUNT
    apart = min((words.boxes[below, 1] - words.boxes[above, 3] for above, below in pairwise(column)), default=0.0)
    spaced = apart > FIFTH_APART * float(words.sizes[column].max(initial=1.0))
    fewest = MIN_FIFTHS if int(words.texts[column[0]]) % FIFTH == 0 else MIN_COUNT
    return steps == {FIFTH} and len(column) >= fewest and spaced
