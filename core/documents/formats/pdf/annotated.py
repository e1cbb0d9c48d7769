"""Annotations of a page, in addition to its text: whether boxes are ticked, and people's comments.

A ticked box appears in the text as ``[ticked]``, another as ``[unticked]``, on its own line of the page. A comment
follows the page's text, with its author's name, as a block of its own.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from numpy.typing import NDArray

from pincite.core.documents.formats.pdf.layout import COMMENT, Line, Segment
from pincite.core.documents.formats.pdf.pdfium_text import PageWords, annotations, display_of
from pincite.core.documents.formats.pdf.visibility import without
from pincite.core.domain.documents import TICKED, UNTICKED

MAX_EXAMINED = 1_000
MAX_CHARACTERS = 2_000
"""Of a comment."""
OFF = "Off"
"""How the specification calls the state of a box that is not ticked."""
_COMMENTING = frozenset(
    (
        pdfium_c.FPDF_ANNOT_TEXT,
        pdfium_c.FPDF_ANNOT_HIGHLIGHT,
        pdfium_c.FPDF_ANNOT_UNDERLINE,
        pdfium_c.FPDF_ANNOT_SQUIGGLY,
        pdfium_c.FPDF_ANNOT_CARET,
    )
)
_UNSEEN = pdfium_c.FPDF_ANNOT_FLAG_HIDDEN | pdfium_c.FPDF_ANNOT_FLAG_NOVIEW
_ABOVE_BASELINE = 0.35
"""Of the em: where the middle of small letters is."""


@dataclass(frozen=True, slots=True)
class Annotated:
    """A box or a comment by its place: left, top, right, bottom in points of the displayed page."""

    words: tuple[str, ...]
    place: NDArray[np.float64]
    is_comment: bool


def annotated(page: pdfium.PdfPage) -> list[Annotated]:
    """Return the boxes of a page and its comments, in the file's order."""
    found: list[tuple[tuple[str, ...], tuple[float, float, float, float], bool]] = []
    for annotation, kind in islice(annotations(page), MAX_EXAMINED):
        rect = pdfium_c.FS_RECTF()
        words: tuple[str, ...] = ()
        if pdfium_c.FPDFAnnot_GetFlags(annotation) & _UNSEEN:
            continue
        if kind == pdfium_c.FPDF_ANNOT_WIDGET:
            words = _state(annotation)
        elif kind in _COMMENTING:
            words = _comment(annotation)
        if words and pdfium_c.FPDFAnnot_GetRect(annotation, ctypes.byref(rect)):
            bounds = (rect.left, rect.top, rect.right, rect.bottom)
            found.append((words, bounds, kind != pdfium_c.FPDF_ANNOT_WIDGET))
    if not found:
        return []
    places = display_of(page)(np.array([place for _, place, _ in found], dtype=np.float64))
    return [Annotated(words, place, own) for (words, _, own), place in zip(found, places, strict=True)]


def without_signs(words: PageWords, boxes: Sequence[Annotated]) -> PageWords:
    """Return the words but for the signs that are drawn in boxes."""
    places = [one.place for one in boxes if not one.is_comment]
    middles = (words.boxes[:, :2] + words.boxes[:, 2:]) / 2
    signs = np.zeros(len(words.texts), np.bool_)
    for left, top, right, bottom in places:
        signs |= np.all((middles >= (left, top)) & (middles <= (right, bottom)), axis=1)
    signs &= np.array([len(text) == 1 for text in words.texts], np.bool_)
    return without(words, signs) if signs.any() else words


def with_annotated(words: PageWords, lines: list[Line], found: Sequence[Annotated]) -> tuple[PageWords, list[Line]]:
    """Return the words and lines of a page, each box in the line of its label, a line for each comment behind them."""
    for one in found:
        at = None if one.is_comment else _labelled(lines, one.place)
        if one.is_comment or at is not None:
            line, part = at or (0, 0)
            size = lines[line].size if lines else 10.0
            start = len(words.texts)
            words = _more(words, one, size)
            left, top, right, bottom = one.place.tolist()
            own = Segment(start, len(words.texts), words.texts, left, top, right, bottom, bottom, size, bold=False)
            if at is None:
                lines = [*lines, Line([own], COMMENT)]
            else:
                segments = lines[line].segments
                behind = part + (left > segments[part].left)
                lines[line] = Line([*segments[:behind], own, *segments[behind:]], lines[line].zone)
    return words, [part for line in lines for part in _by_box(line)]


def _by_box(line: Line) -> list[Line]:
    """Return a line of several boxes as one for each box with its label."""
    parts = line.segments
    boxes = [at for at, part in enumerate(parts) if part.text in (TICKED, UNTICKED)]
    if len(boxes) < 2:
        return [line]
    behind = boxes[0] > 0 and boxes[-1] == len(parts) - 1
    cuts = [at + 1 for at in boxes[:-1]] if behind else [at for at in boxes if at]
    groups = (parts[first:last] for first, last in zip([0, *cuts], [*cuts, len(parts)], strict=True))
    return [Line(group, line.zone) for group in groups]


def _labelled(lines: Sequence[Line], box: NDArray[np.float64]) -> tuple[int, int] | None:
    """Return the numbers of the line and the part of it nearest to a box, at the box's height."""
    left, top, right, bottom = box.tolist()
    candidates = [
        (max(part.left - right, left - part.right, 0.0), at, number)
        for at, line in enumerate(lines)
        for number, part in enumerate(line.segments)
        if top < part.base - _ABOVE_BASELINE * part.size < bottom and part.text not in (TICKED, UNTICKED)
    ]
    return min(candidates)[1:] if candidates else None


def _state(annotation: pdfium_c.FPDF_ANNOTATION) -> tuple[str, ...]:
    """Buttons that stay pressed have an appearance for each state."""
    state = _string(annotation, b"AS")
    return ((UNTICKED if state == OFF else TICKED),) if state else ()


def _comment(annotation: pdfium_c.FPDF_ANNOTATION) -> tuple[str, ...]:
    comment = _string(annotation, b"Contents")[:MAX_CHARACTERS].split()
    author = _string(annotation, b"T").split()
    return ("Comment", *(("by", *author) if author else ()), "–", *comment) if comment else ()


def _string(annotation: pdfium_c.FPDF_ANNOTATION, key: bytes) -> str:
    size = pdfium_c.FPDFAnnot_GetStringValue(annotation, key, None, 0)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    pdfium_c.FPDFAnnot_GetStringValue(annotation, key, ctypes.cast(buffer, ctypes.POINTER(pdfium_c.FPDF_WCHAR)), size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace")


def _more(words: PageWords, one: Annotated, size: float) -> PageWords:
    """Further words, all in one place."""
    count = len(one.words)
    return replace(
        words,
        texts=[*words.texts, *one.words],
        boxes=np.concatenate([words.boxes.reshape(-1, 4), np.tile(one.place, (count, 1))]),
        baselines=np.concatenate([words.baselines.reshape(-1, 2), np.tile(one.place[[0, 3]], (count, 1))]),
        sizes=np.concatenate([words.sizes, np.full(count, size)]),
        bold=np.concatenate([words.bold, np.zeros(count, np.bool_)]),
        gaps=np.concatenate([words.gaps, np.ones(count, np.int8)]),
        turns=np.concatenate([words.turns, np.zeros(count, np.int8)]),
        places=np.concatenate([words.places.reshape(-1, 2), np.full((count, 2), -1)]),
    )
