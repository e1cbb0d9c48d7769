"""Line numbers in the margin of pleadings, transcripts and listings: on each line, or on every fifth.

They are told by where they stand and how they count, whatever the page is about.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from core.documents.formats.pdf.layout import Line
from core.documents.formats.pdf.pdfium_text import PageWords

FEWEST = 4
STEPS = (1, 5)
"""By what they count."""
ALIGNED = 3.0
"""Points by which their right or left edges may differ."""
LONGEST = 4


def line_numbers(words: PageWords, lines: Sequence[Line]) -> NDArray[np.bool_]:
    """Which words are numbers of the lines that they open, with nothing further left."""
    first = [line.segments[0].start for line in lines]
    numbers = [at for at in first if words.texts[at].isdecimal() and len(words.texts[at]) <= LONGEST]
    found = np.zeros(len(words.texts), np.bool_)
    found[_counting(words, numbers)] = True
    if np.count_nonzero(found) < FEWEST or words.boxes[~found, 0].min(initial=np.inf) < words.boxes[found, 2].max():
        return np.zeros(len(words.texts), np.bool_)
    return found


def _counting(words: PageWords, numbers: Sequence[int]) -> list[int]:
    """Those of one column that count on from each other, down the page."""
    places = np.array(numbers, np.int64)
    best: list[int] = []
    for edge in (0, 2):
        edges = words.boxes[places, edge]
        for at in np.unique(np.round(edges / ALIGNED), return_index=True)[1].tolist():
            column = places[np.abs(edges - edges[at]) <= ALIGNED]
            column = column[np.argsort(words.boxes[column, 1], kind="stable")].tolist()
            steps = {int(words.texts[below]) - int(words.texts[above]) for above, below in pairwise(column)}
            if len(column) > len(best) and len(steps) == 1 and steps <= set(STEPS):
                best = column
    return best
