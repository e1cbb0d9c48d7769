"""Lines of a page read from its picture, to compare its file's text with what it shows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pypdfium2 as pdfium
from numpy.typing import NDArray

from pincite.core.documents.formats.pdf.pdfium_text import PageWords
from pincite.core.documents.formats.pdf.visibility import HiddenWord, Seen, without
from pincite.core.domain.answers import Likeness
from pincite.core.domain.documents import HiddenReason
from pincite.core.text.likeness import compare

LINE_PIXELS = 48
"""The height that the recogniser reads lines at."""
_MAX_SCALE = 10.0
_MARGIN = 0.12
_SAMPLE = 4
"""Number of lines of an OCR layer that are compared with the scan; quotations are read back in any case."""


def line_picture(page: pdfium.PdfPage, box: Sequence[float], turn: int = 0) -> NDArray[np.uint8]:
    """Draw the content of a box (points of the displayed page), upright, as high as the recogniser reads.

    Raises ValueError where the box has no room on the page, PdfiumError where it cannot be drawn.
    """
    width, height = page.get_size()
    left, top, right, bottom = box
    tall = bottom - top if turn % 2 == 0 else right - left
    edge = _MARGIN * tall
    scale = min(LINE_PIXELS / max(tall + 2 * edge, 1.0), _MAX_SCALE)
    edges = (left - edge, height - bottom - edge, width - right - edge, top - edge)
    crop = tuple(max(side, 0.0) for side in edges)
    picture = page.render(scale=scale, crop=crop).to_numpy()[:, :, :3]
    return np.ascontiguousarray(np.rot90(picture, turn))


def compared_with_picture(page: pdfium.PdfPage, seen: Seen) -> Seen:
    """Keep an OCR layer where a sample of its lines agrees with the picture, else hide it."""
    from pincite.core.documents.formats.pdf import ocr

    words, layer = seen.words, dict(seen.layer)
    lines = _lines(words, sorted(layer))
    chosen = [lines[at] for at in np.unique(np.linspace(0, len(lines) - 1, _SAMPLE).round().astype(int))]
    found = []
    for line in chosen:
        edges = np.concatenate([words.boxes[line, :2].min(axis=0), words.boxes[line, 2:].max(axis=0)])
        line_text = " ".join(words.texts[at] for at in line)
        found.append(compare(line_text, ocr.read_line(line_picture(page, edges.tolist(), int(words.turns[line[0]])))))
    agreed = sum(likeness is Likeness.AGREES for likeness in found)
    differ = sum(likeness is Likeness.DIFFERS for likeness in found)
    covered = any(reason is HiddenReason.COVERED for reason in layer.values())
    if differ <= agreed and (agreed or not covered):
        return seen
    removed = np.zeros(len(words.texts), np.bool_)
    removed[list(layer)] = True
    hidden = [HiddenWord(words.texts[at], words.boxes[at], HiddenReason.NOT_SHOWN) for at in layer]
    return replace(seen, words=without(words, removed), hidden=(*seen.hidden, *hidden), layer=())


def _lines(words: PageWords, chosen: Sequence[int]) -> list[list[int]]:
    """Return the chosen words by line."""
    lines: list[list[int]] = []
    for at in chosen:
        before = lines[-1][-1] if lines else -2
        goes_on = before == at - 1 and words.gaps[at] < 2 and words.turns[at] == words.turns[before]
        if goes_on and _level(words.boxes[before], words.boxes[at], int(words.turns[at])):
            lines[-1].append(at)
        else:
            lines.append([at])
    return lines


def _level(one: NDArray[np.float64], other: NDArray[np.float64], turn: int) -> bool:
    low, high = (1, 3) if turn % 2 == 0 else (0, 2)
    shared = min(one[high], other[high]) - max(one[low], other[low])
    return bool(shared > 0.5 * min(one[high] - one[low], other[high] - other[low]))
