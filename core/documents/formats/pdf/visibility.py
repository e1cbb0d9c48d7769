"""Which words of a page a reader of it sees. The drawn page is the judge, where the page's own statements give cause.

Owns the telling of hidden text from shown text; what becomes of either is reading's work.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import groupby

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from numpy.typing import NDArray

from pincite.core.documents.formats.pdf.drawn import Drawn, Statements, Style, set_active, text_objects
from pincite.core.documents.formats.pdf.pdfium_text import (
    PageWords,
    annotations,
    character_boxes,
    display_of,
    fold,
    text_object,
)
from pincite.core.domain.documents import HiddenReason

Picture = NDArray[np.uint8]
"""Shape (height, width, 3): blue, green, red, as pdfium draws."""

_MIN_HEIGHT = 2.0
"""Minimum points of the em on a page of a letter's size: text that is lower, or squeezed to less, is no print."""
_MIN_WIDTH = 0.08
"""Of the em, for each letter of a word."""
_LETTER_SIDE = 842.0
_SEEN = 24
"""Of 255: minimum difference of a word's pixels from the page without it; with less, it cannot be made out."""
_INK = 60
"""Of 255: minimum variation of a picture under a word to count as showing it."""
_SCALES = (1.0, 5.0)
"""Pixels a point: drawn small first, and larger where that leaves a doubt."""
_MAX_PIXELS = 12_000_000
_INVISIBLE_MODES = (pdfium_c.FPDF_TEXTRENDERMODE_INVISIBLE, pdfium_c.FPDF_TEXTRENDERMODE_CLIP)
_STROKED_MODES = (
    pdfium_c.FPDF_TEXTRENDERMODE_STROKE,
    pdfium_c.FPDF_TEXTRENDERMODE_FILL_STROKE,
    pdfium_c.FPDF_TEXTRENDERMODE_STROKE_CLIP,
    pdfium_c.FPDF_TEXTRENDERMODE_FILL_STROKE_CLIP,
)
_HARMLESS_ANNOTATIONS = frozenset(
    {
        pdfium_c.FPDF_ANNOT_LINK,
        pdfium_c.FPDF_ANNOT_WIDGET,
        pdfium_c.FPDF_ANNOT_POPUP,
        pdfium_c.FPDF_ANNOT_TEXT,
        pdfium_c.FPDF_ANNOT_HIGHLIGHT,
        pdfium_c.FPDF_ANNOT_UNDERLINE,
        pdfium_c.FPDF_ANNOT_STRIKEOUT,
    }
)


@dataclass(frozen=True, slots=True)
class HiddenWord:
    """``box`` is in points of the displayed page: left, top, right, bottom."""

    text: str
    box: NDArray[np.float64]
    reason: HiddenReason


@dataclass(frozen=True, slots=True)
class Seen:
    """The words that a reader sees, and those that are kept apart."""

    words: PageWords
    hidden: tuple[HiddenWord, ...] = ()
    layer: tuple[tuple[int, HiddenReason], ...] = ()
    """Those of ``words`` that are not drawn, but lie on a picture that may show them: an OCR layer, if it does."""


@dataclass(frozen=True, slots=True)
class _Run:
    """A word, or the part of it that is drawn in one style. ``box`` is in points of the displayed page."""

    word: int
    text: str
    box: NDArray[np.float64]
    style: Style | None


_ONLY_STROKED = (pdfium_c.FPDF_TEXTRENDERMODE_STROKE, pdfium_c.FPDF_TEXTRENDERMODE_STROKE_CLIP)
_WHITE = 235


def apart(page: pdfium.PdfPage, words: PageWords, drawn: Drawn) -> Seen:
    """Return a page's words, with the hidden ones apart. Raises PdfiumError where the page cannot be drawn."""
    if not words.texts or min(words.width, words.height) < 1:
        return Seen(words)
    pixels = _Pixels(page, words, drawn)
    if not _any_cause(page, words, drawn) and pixels.all_inked():
        return Seen(words)
    runs = _runs(page, words)
    return _parted(words, runs, pixels.reasons(runs))


def without(words: PageWords, removed: NDArray[np.bool_], shown: Sequence[str] | None = None) -> PageWords:
    """Return the words but for those that are ``removed``; ``shown``: what is left of each."""
    kept = ~removed
    texts = [text for text, stays in zip(shown or words.texts, kept, strict=True) if stays]
    gaps = np.where(np.concatenate([[False], removed[:-1]]) & (words.gaps == 0), 1, words.gaps).astype(np.int8)
    return replace(
        words,
        texts=texts,
        boxes=words.boxes[kept],
        baselines=words.baselines[kept],
        sizes=words.sizes[kept],
        bold=words.bold[kept],
        gaps=gaps[kept],
        turns=words.turns[kept],
        places=words.places[kept],
        levels=words.levels[kept] if words.levels.size else words.levels,
        characters=sum(map(len, texts)),
        raw_text=" ".join(texts),
    )


# ---------------------------------------------------------------- what the page states


def _any_cause(page: pdfium.PdfPage, words: PageWords, drawn: Drawn) -> bool:
    """Return whether what the page states gives cause to look closer than at where there is ink."""
    if not drawn.whole or any(map(Statements().odd, drawn.texts)):
        return True
    if _too_small(words, words.boxes, words.texts).any() or _outside(words, words.boxes).any():
        return True
    return _has_covering_annotation(page) or drawn.any_covered()


def _has_covering_annotation(page: pdfium.PdfPage) -> bool:
    return any(subtype not in _HARMLESS_ANNOTATIONS for _, subtype in annotations(page))


def _too_small(words: PageWords, boxes: NDArray[np.float64], texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return whether texts in boxes of shape (texts, 4) are lower, or narrower, than any print."""
    least = _MIN_HEIGHT * min(1.0, max(words.width, words.height) / _LETTER_SIDE)
    sides = boxes[:, 2:] - boxes[:, :2]
    long = np.fromiter((len(text) > 2 for text in texts), np.bool_, len(texts))
    letters = np.fromiter(map(len, texts), np.float64, len(texts))
    squeezed = sides.max(axis=1) < _MIN_WIDTH * letters * sides.min(axis=1)
    return np.asarray((sides.max(axis=1) < least) | (long & ((sides.min(axis=1) < least) | squeezed)))


def _outside(words: PageWords, boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether the middles of boxes of shape (n, 4) lie outside the page."""
    middles = (boxes[:, :2] + boxes[:, 2:]) / 2
    return np.asarray(((middles < 0) | (middles > np.array([words.width, words.height]))).any(axis=1))


# ---------------------------------------------------------------- what its pixels show


def _runs(page: pdfium.PdfPage, words: PageWords) -> list[_Run]:
    """Return the words, parted where the style changes."""
    displayed, runs = display_of(page), list[_Run]()
    style = cache(Statements().style)
    text_page = page.get_textpage()
    try:
        handle = ctypes.cast(text_page.raw, ctypes.c_void_p).value
        for word, (first, last) in enumerate(words.places.tolist()):
            indexes = range(first, last + 1)
            drawn_by = [(index, text_object(handle, index)) for index in indexes]
            styled = [(index, style(item)) for index, item in drawn_by if item]  # pdfium adds characters of its own
            parts = [(look, [index for index, _ in part]) for look, part in groupby(styled, lambda pair: pair[1])]
            if len(parts) <= 1:
                look = parts[0][0] if parts else None
                runs.append(_Run(word, words.texts[word], words.boxes[word], look))
                continue
            for look, part in parts:
                boxes = displayed(character_boxes(handle, part))
                box = np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])
                text = "".join(chr(pdfium_c.FPDFText_GetUnicode(text_page, index)) for index in part)
                runs.append(_Run(word, fold(text), box, look))
    finally:
        text_page.close()
    return runs


class _Pixels:
    """A page drawn with its text and without: what does not differ was not seen."""

    def __init__(self, page: pdfium.PdfPage, words: PageWords, drawn: Drawn) -> None:
        self._page, self._words = page, words
        self._drawn = drawn
        self._annotated = _has_covering_annotation(page)
        self._full, self._factor = self._picture(_SCALES[0])

    def all_inked(self) -> bool:
        """Return whether anything is visible where each word is."""
        left, top, right, bottom = _inner(self._full, self._words.boxes * self._factor).T
        green = self._full[:, :, 1].astype(np.int16)
        steps = np.zeros((green.shape[0] + 1, green.shape[1]), np.int32)
        steps[1:, 1:] = (np.abs(np.diff(green, axis=1)) >= _SEEN).cumsum(axis=1, dtype=np.int32).cumsum(axis=0)
        plain = steps[bottom, right - 1] - steps[top, right - 1] - steps[bottom, left] + steps[top, left] == 0
        return not any(
            any(map(str.isalnum, self._words.texts[at]))
            and _varies(self._full[top[at] : bottom[at], left[at] : right[at]]) < _SEEN
            for at in np.flatnonzero(plain)
        )

    def reasons(self, runs: Sequence[_Run]) -> list[tuple[HiddenReason | None, bool]]:
        """For each run why it is hidden, if it is, and whether a picture may show it in its place."""
        boxes = np.array([run.box for run in runs])
        small = _too_small(self._words, boxes, [run.text for run in runs])
        outside = _outside(self._words, boxes)
        found: list[tuple[HiddenReason | None, bool]] = [(None, False)] * len(runs)
        open_ones = list(range(len(runs)))
        for scale in _SCALES:
            full, bare, factor = self._with_and_without(scale)
            edges = _inner(full, boxes * factor).tolist()
            doubted = []
            for number in open_ones:
                run = runs[number]
                if outside[number] or small[number]:
                    reason = HiddenReason.OUTSIDE if outside[number] else HiddenReason.SMALL
                    found[number] = (reason, False)
                    continue
                left, top, right, bottom = edges[number]
                with_text, alone = (picture[top:bottom, left:right] for picture in (full, bare))
                ground = _ground_reason(run, alone)
                overlaid = ground and _overlaps(boxes, number)
                unsigned = ground is None and not any(map(str.isalnum, run.text))  # dashes and rules leave their boxes
                if ground not in _CERTAIN and not overlaid and (unsigned or _differs(with_text, alone) >= _SEEN):
                    found[number] = (None, False)
                    continue
                reason = ground or self._reason(run)
                if reason is HiddenReason.NO_MARK and _lacks_font(run):
                    continue
                found[number] = (reason, reason in _LAYERS and _varies(alone) >= _INK)
                if ground is None:
                    doubted.append(number)
            open_ones = doubted
            if not open_ones:
                break
        return found

    @cached_property
    def _covering(self) -> NDArray[np.float64]:
        """What is painted over an area, as it is displayed."""
        return display_of(self._page)(self._drawn.bounds[self._drawn.covering()][:, [0, 3, 2, 1]])

    def _with_and_without(self, scale: float) -> tuple[Picture, Picture, float]:
        """Return the page with its text and without, and pixels a point."""
        full, factor = (self._full, self._factor) if scale == _SCALES[0] else self._picture(scale)
        texts = self._drawn.texts if self._drawn.whole else text_objects(self._page)
        try:
            for item in texts:
                set_active(item, False)
            return full, self._picture(scale)[0], factor
        finally:
            for item in texts:
                set_active(item, True)

    def _picture(self, scale: float) -> tuple[Picture, float]:
        factor = min(scale, (_MAX_PIXELS / max(self._words.width * self._words.height, 1.0)) ** 0.5)
        return self._page.render(scale=factor).to_numpy()[:, :, :3], factor

    def _reason(self, run: _Run) -> HiddenReason:
        """Return why a run leaves no mark, where its style alone does not show it."""
        if run.style is not None and run.style.switched:
            return HiddenReason.SWITCHED
        if run.style is not None and run.style.clipped:
            return HiddenReason.CLIPPED
        met = self._covering
        left, top, right, bottom = run.box
        covered = (met[:, 0] < right) & (met[:, 2] > left) & (met[:, 1] < bottom) & (met[:, 3] > top)
        return HiddenReason.COVERED if self._annotated or covered.any() else HiddenReason.NO_MARK


_CERTAIN = (HiddenReason.INVISIBLE, HiddenReason.TRANSPARENT)
_LAYERS = (HiddenReason.INVISIBLE, HiddenReason.TRANSPARENT, HiddenReason.COVERED, HiddenReason.CLIPPED)


def _inner(picture: Picture, boxes: NDArray[np.float64]) -> NDArray[np.int64]:
    """The pixels of boxes (shape (n, 4): left, top, right, bottom), but for edges that neighbours may reach into."""
    left, top, right, bottom = boxes.T
    down = 0.08 * (bottom - top)
    across = np.minimum(down, 0.2 * (right - left))
    limits = np.array(picture.shape[1::-1])
    first = np.clip(np.floor(np.stack([left + across, top + down], axis=1)), 0, limits - 1)
    last = np.clip(np.ceil(np.stack([right - across, bottom - down], axis=1)), first + 1, limits)
    return np.concatenate([first, last], axis=1).astype(np.int64)


def _differs(one: Picture, other: Picture) -> int:
    return int(np.abs(one.astype(np.int16) - other).max(initial=0))


def _varies(picture: Picture) -> int:
    """By how much its pixels differ from each other, in the colour in which they do most."""
    pixels = picture.reshape(-1, picture.shape[2])
    return int((pixels.max(axis=0) - pixels.min(axis=0)).max())


def _lacks_font(run: _Run) -> bool:
    """Return whether another machine may have the font of a script that this one lacks."""
    return run.style is not None and not run.style.embedded and max(run.text) > "\u024f"


def _ground_reason(run: _Run, alone: Picture) -> HiddenReason | None:
    """Why the run's own style leaves nothing to see on this ground."""
    style = run.style
    if style is None:
        return None
    if style.mode in _INVISIBLE_MODES:
        return HiddenReason.INVISIBLE
    colors = [style.stroke] if style.mode in _STROKED_MODES else []
    colors += [style.fill] if style.mode not in _ONLY_STROKED else []
    if max(color[3] for color in colors) < _SEEN:
        return HiddenReason.TRANSPARENT
    if all(_differs(alone, np.array(color[2::-1], np.uint8)) * color[3] / 255 < _SEEN for color in colors):
        white = all(min(color[:3]) > _WHITE for color in colors)
        return HiddenReason.WHITE if white else HiddenReason.SAME_COLOR
    return None


def _overlaps(boxes: NDArray[np.float64], number: int) -> bool:
    """Return whether other runs are in much the same place: their ink must not count for this one."""
    box = boxes[number]
    sides = np.minimum(boxes[:, 2:], box[2:]) - np.maximum(boxes[:, :2], box[:2])
    shared = np.where((sides > 0).all(axis=1), sides.prod(axis=1), 0.0)
    shared[number] = 0.0
    return bool(shared.sum() > 0.1 * max(float(np.prod(box[2:] - box[:2])), 1e-6))


def _parted(words: PageWords, runs: Sequence[_Run], reasons: Sequence[tuple[HiddenReason | None, bool]]) -> Seen:
    """Words keep what is shown of them; a hidden run is kept apart."""
    hidden, layer = list[HiddenWord](), dict[int, HiddenReason]()
    shown = [""] * len(words.texts)
    for run, (reason, on_picture) in zip(runs, reasons, strict=True):
        if reason is not None and not on_picture:
            hidden.append(HiddenWord(run.text, run.box, reason))
            continue
        shown[run.word] += run.text
        if reason is not None:
            layer[run.word] = reason
    removed = np.fromiter((not text for text in shown), np.bool_, len(shown))
    new = np.cumsum(~removed) - 1
    left = tuple((int(new[word]), reason) for word, reason in layer.items())
    return Seen(without(words, removed, shown) if hidden else words, tuple(hidden), left)
