"""Struck-out words: a thin bar runs through their letters, or a strike-out annotation lies on them.

Such words are no longer in force. What becomes of them is reading's work.
"""

import ctypes
from collections.abc import Iterator

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from numpy.typing import NDArray

from pincite.core.documents.formats.pdf.pdfium_text import PageWords, annotations, display_of

THICKEST = 0.3
"""Of the em: a thicker bar blacks words out. pdfium counts a hair's width around a line to it."""
HIGHEST, LOWEST = 0.55, 0.12
"""Of the em above the baseline: where a bar runs through letters. Underlines and the rules of tables run below."""
MAX_SHARE = 0.6
"""Share of a word's width that a bar must cover."""
_MIN_LENGTH = 3.0
"""Points."""


def struck_out(page: pdfium.PdfPage, words: PageWords, paths: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which words are struck out. ``paths``, shape (n, 4): bounds in page space of all that is painted."""
    if not words.places.size:
        return np.zeros(len(words.texts), np.bool_)
    bars, quads = (_displayed(page, boxes) for boxes in (paths, np.array(list(_annotated(page)))))
    bars = bars[(bars[:, 2] - bars[:, 0] > _MIN_LENGTH) & (bars[:, 3] - bars[:, 1] < THICKEST * words.sizes.max())]
    return _barred(words, bars) | _under(words, quads)


def _displayed(page: pdfium.PdfPage, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    """From left, bottom, right, top in page space to left, top, right, bottom in points of the displayed page."""
    return display_of(page)(boxes.reshape(-1, 4)[:, [0, 3, 2, 1]])


def _barred(words: PageWords, bars: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether one of these bars runs through the letters of each word."""
    height = (words.baselines[:, 1, None] - (bars[None, :, 1] + bars[None, :, 3]) / 2) / words.sizes[:, None]
    thin = bars[None, :, 3] - bars[None, :, 1] < THICKEST * words.sizes[:, None]
    return np.asarray(((height > LOWEST) & (height < HIGHEST) & thin & _covered(words, bars)).any(axis=1), np.bool_)


def _under(words: PageWords, quads: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether one of these annotations lies on each word."""
    middle = words.baselines[:, 1, None] - 0.3 * words.sizes[:, None]
    across = (quads[None, :, 1] < middle) & (quads[None, :, 3] > middle)
    return np.asarray((across & _covered(words, quads)).any(axis=1), np.bool_)


def _covered(words: PageWords, boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Shape (words, boxes): whether most of a word's width is shared."""
    left, right = words.boxes[:, 0, None], words.boxes[:, 2, None]
    shared = np.minimum(right, boxes[None, :, 2]) - np.maximum(left, boxes[None, :, 0])
    return np.asarray(shared >= MAX_SHARE * np.maximum(right - left, 1e-6))


def _annotated(page: pdfium.PdfPage) -> Iterator[tuple[float, float, float, float]]:
    """What strike-out annotations lie on, in page space."""
    points = pdfium_c.FS_QUADPOINTSF()
    for annotation, subtype in annotations(page):
        if subtype == pdfium_c.FPDF_ANNOT_STRIKEOUT:
            for at in range(pdfium_c.FPDFAnnot_CountAttachmentPoints(annotation)):
                if pdfium_c.FPDFAnnot_GetAttachmentPoints(annotation, at, ctypes.byref(points)):
                    across, down = (
                        [getattr(points, f"{axis}{corner}") for corner in range(1, 5)] for axis in ("x", "y")
                    )
                    yield min(across), min(down), max(across), max(down)
