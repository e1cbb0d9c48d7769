"""Which words of a page a reader of it sees. The drawn page is the judge, where the page's own statements give cause.

Owns the telling of hidden text from shown text; what becomes of either is reading's work.
"""

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from typing import Any

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from numpy.typing import NDArray

from core.documents.formats.pdf.pdfium_text import PageWords, bound, character_boxes, display_of, fold, text_object
from core.domain.documents import HiddenReason

Picture = NDArray[np.uint8]
"""Shape (height, width, 3): blue, green, red, as pdfium draws."""
Bounds = tuple[float, float, float, float]
"""Left, bottom, right, top in page space."""

_LEAST_HEIGHT = 2.0
"""Points of the em on a page of a letter's size: what is lower, or whose letters are squeezed to less, is no print."""
_LEAST_WIDTH = 0.08
"""Of the em, for each letter of a word."""
_LETTER_SIDE = 842.0
_SEEN = 24
"""Of 255: a word whose pixels differ by less from the page without it cannot be made out."""
_INK = 60
"""Of 255: how much a picture must vary under a word that it is said to show."""
_SCALES = (1.0, 5.0)
"""Pixels a point: drawn small first, and larger where that leaves a doubt."""
_MOST_PIXELS = 12_000_000
_LIGHT = 200
"""Of 255: darker print in full strength is seen on paper, unless something lies over it."""
_BRIGHT = 250
_FAINT = 160
_MOST_OBJECTS = 20_000
_DEEPEST = 6
_THIN = 1.5
"""Points: rules and underlines hide nothing."""
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

_TEXT = pdfium_c.FPDF_PAGEOBJ_TEXT

_pointer, _int = ctypes.c_void_p, ctypes.c_int
_count_on_page = bound("FPDFPage_CountObjects", _int, _pointer)
_on_page = bound("FPDFPage_GetObject", _pointer, _pointer, _int)
_count_in_form = bound("FPDFFormObj_CountObjects", _int, _pointer)
_in_form = bound("FPDFFormObj_GetObject", _pointer, _pointer, ctypes.c_ulong)
_kind = bound("FPDFPageObj_GetType", _int, _pointer)
_bounds = bound("FPDFPageObj_GetBounds", _int, _pointer, _pointer, _pointer, _pointer, _pointer)
_matrix = bound("FPDFPageObj_GetMatrix", _int, _pointer, _pointer)
_set_active = bound("FPDFPageObj_SetIsActive", _int, _pointer, _int)
_mode = bound("FPDFTextObj_GetTextRenderMode", _int, _pointer)
_fill = bound("FPDFPageObj_GetFillColor", _int, _pointer, _pointer, _pointer, _pointer, _pointer)
_stroke = bound("FPDFPageObj_GetStrokeColor", _int, _pointer, _pointer, _pointer, _pointer, _pointer)
_font = bound("FPDFTextObj_GetFont", _pointer, _pointer)
_embedded = bound("FPDFFont_GetIsEmbedded", _int, _pointer)
_transparent = bound("FPDFPageObj_HasTransparency", _int, _pointer)
_draw_mode = bound("FPDFPath_GetDrawMode", _int, _pointer, _pointer, _pointer)
_stroke_width = bound("FPDFPageObj_GetStrokeWidth", _int, _pointer, _pointer)
_count_marks = bound("FPDFPageObj_CountMarks", _int, _pointer)
_mark = bound("FPDFPageObj_GetMark", _pointer, _pointer, ctypes.c_ulong)
_mark_name = bound("FPDFPageObjMark_GetName", _int, _pointer, _pointer, ctypes.c_ulong, _pointer)


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
class _Drawn:
    """One object of the page: its handle, its kind and its bounds in page space (left, bottom, right, top)."""

    handle: int
    kind: int
    bounds: Bounds


@dataclass(frozen=True, slots=True)
class _Style:
    """How a text object says that it is drawn; colours are red, green, blue and strength, each of 255."""

    mode: int
    fill: tuple[int, int, int, int]
    stroke: tuple[int, int, int, int]
    switched: bool
    clipped: bool
    embedded: bool
    """Whether the file brings the font; else what its letters look like depends on the machine."""


@dataclass(frozen=True, slots=True)
class _Run:
    """A word, or the part of it that is drawn in one style. ``box`` is in points of the displayed page."""

    word: int
    text: str
    box: NDArray[np.float64]
    style: _Style | None


_ONLY_STROKED = (pdfium_c.FPDF_TEXTRENDERMODE_STROKE, pdfium_c.FPDF_TEXTRENDERMODE_STROKE_CLIP)
_WHITE = 235


def apart(page: pdfium.PdfPage, words: PageWords) -> Seen:
    """Tell what is hidden of a page's words. Raises PdfiumError where the page cannot be drawn."""
    if not words.texts or min(words.width, words.height) < 1:
        return Seen(words)
    drawn = list(_objects(page))
    pixels = _Pixels(page, words, drawn)
    if not _any_cause(page, words, drawn) and pixels.all_inked():
        return Seen(words)
    runs = _runs(page, words)
    return _parted(words, runs, pixels.reasons(runs))


def painted(page: pdfium.PdfPage) -> list[Bounds]:
    """The bounds of all paths of a page, in page space."""
    return [item.bounds for item in _objects(page) if item.kind == pdfium_c.FPDF_PAGEOBJ_PATH]


def without(words: PageWords, gone: NDArray[np.bool_], shown: Sequence[str] | None = None) -> PageWords:
    """The words but for those that are ``gone``; ``shown``: what is left of each."""
    kept = ~gone
    texts = [text for text, stays in zip(shown or words.texts, kept, strict=True) if stays]
    gaps = np.where(np.concatenate([[False], gone[:-1]]) & (words.gaps == 0), 1, words.gaps).astype(np.int8)
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


# ---------------------------------------------------------------- what the page's own statements say


def _objects(page: pdfium.PdfPage) -> Iterator[_Drawn]:
    """Every object in the order of drawing, those inside forms in the form's place."""
    handle = ctypes.cast(page.raw, ctypes.c_void_p).value
    yield from _inside(handle, _count_on_page, _on_page, None, [_MOST_OBJECTS], 0)


def _inside(
    container: int | None, count: Any, get: Any, matrix: NDArray[np.float64] | None, budget: list[int], depth: int
) -> Iterator[_Drawn]:
    edges = (ctypes.c_float * 4)()
    places = [ctypes.addressof(edges) + 4 * number for number in range(4)]
    for number in range(min(count(container), budget[0])):
        item = get(container, number)
        kind = _kind(item)
        budget[0] -= 1
        if kind == pdfium_c.FPDF_PAGEOBJ_FORM and depth < _DEEPEST:
            own = _matrix_of(item)
            yield from _inside(
                item, _count_in_form, _in_form, own if matrix is None else own @ matrix, budget, depth + 1
            )
        elif _bounds(item, *places):
            bounds: Bounds = (edges[0], edges[1], edges[2], edges[3])
            yield _Drawn(item, kind, bounds if matrix is None else _moved(bounds, matrix))


def _text_objects(page: pdfium.PdfPage) -> list[int]:
    """The text objects that its characters belong to: of a page with too many objects to look at each."""
    text_page = page.get_textpage()
    try:
        handle = ctypes.cast(text_page.raw, ctypes.c_void_p).value
        found = {text_object(handle, index) for index in range(text_page.count_chars())}
        return [item for item in found if item]
    finally:
        text_page.close()


def _matrix_of(item: int) -> NDArray[np.float64]:
    values = (ctypes.c_float * 6)()
    _matrix(item, ctypes.addressof(values))
    a, b, c, d, e, f = values
    return np.array([[a, b, 0.0], [c, d, 0.0], [e, f, 1.0]])


def _moved(bounds: Bounds, matrix: NDArray[np.float64]) -> Bounds:
    left, bottom, right, top = bounds
    corners = np.array([[x, y, 1.0] for x in (left, right) for y in (bottom, top)]) @ matrix
    (low_x, low_y), (high_x, high_y) = corners[:, :2].min(axis=0), corners[:, :2].max(axis=0)
    return (float(low_x), float(low_y), float(high_x), float(high_y))


def _any_cause(page: pdfium.PdfPage, words: PageWords, drawn: Sequence[_Drawn]) -> bool:
    """Whether what the page says of itself gives cause to look closer than at where there is ink."""
    if len(drawn) >= _MOST_OBJECTS or any(_odd(item.handle) for item in drawn if item.kind == _TEXT):
        return True
    if _too_small(words, words.boxes, words.texts).any() or _outside(words, words.boxes).any():
        return True
    return _has_covering_annotation(page) or _any_covered(drawn)


def _odd(handle: int) -> bool:
    """Whether text is drawn so that it may leave no ink on paper."""
    if _mode(handle) != pdfium_c.FPDF_TEXTRENDERMODE_FILL:
        return True
    red, green, blue, alpha = _color(handle, _fill)
    return min(red, green, blue) > _LIGHT or max(red, green, blue) > _BRIGHT or alpha < _FAINT or _is_switched(handle)


def _any_covered(drawn: Sequence[_Drawn]) -> bool:
    """Whether an area is painted over a text, from the top of the page's objects to the bottom."""
    above = np.zeros((len(drawn), 4))
    count = 0
    for item in reversed(drawn):
        left, bottom, right, top = item.bounds
        if item.kind == _TEXT:
            met = above[:count]
            if ((met[:, 0] < right) & (met[:, 2] > left) & (met[:, 1] < top) & (met[:, 3] > bottom)).any():
                return True
        elif min(right - left, top - bottom) > _THIN and _covers(item):
            above[count] = item.bounds
            count += 1
    return False


def _covers(item: _Drawn) -> bool:
    """Whether the object paints an area: pictures and shadings do, and paths that are filled or thickly drawn."""
    if item.kind != pdfium_c.FPDF_PAGEOBJ_PATH:
        return True
    modes, width = (ctypes.c_int * 2)(), ctypes.c_float()
    _draw_mode(item.handle, ctypes.addressof(modes), ctypes.addressof(modes) + 4)
    if modes[0] != pdfium_c.FPDF_FILLMODE_NONE:
        return True
    return bool(modes[1] and _stroke_width(item.handle, ctypes.addressof(width)) and width.value > _THIN)


def _style_of(handle: int) -> _Style:
    switched = bool(_transparent(handle)) or _is_switched(handle)
    return _Style(
        _mode(handle),
        _color(handle, _fill),
        _color(handle, _stroke),
        switched,
        _is_clipped(handle),
        _embedded(_font(handle)) != 0,
    )


def _color(handle: int, ask: Any) -> tuple[int, int, int, int]:
    values = (ctypes.c_uint * 4)()
    address = ctypes.addressof(values)
    if not ask(handle, address, address + 4, address + 8, address + 12):
        return (0, 0, 0, 255)
    return (values[0], values[1], values[2], values[3])


def _is_switched(handle: int) -> bool:
    """Whether it belongs to a layer that a viewer may switch off."""
    name, length = ctypes.create_string_buffer(16), ctypes.c_ulong()
    for number in range(_count_marks(handle)):
        mark = _mark(handle, number)
        if _mark_name(mark, ctypes.addressof(name), 16, ctypes.addressof(length)) and name.raw[:5] == b"O\0C\0\0":
            return True
    return False


def _is_clipped(handle: int) -> bool:
    """Whether a clip path reaches less far than the text."""
    item = ctypes.cast(handle, pdfium_c.FPDF_PAGEOBJECT)
    clip, edges = pdfium_c.FPDFPageObj_GetClipPath(item), [ctypes.c_float() for _ in range(4)]
    if not pdfium_c.FPDFPageObj_GetBounds(item, *edges):
        return False
    left, bottom, right, top = (edge.value for edge in edges)
    x, y = ctypes.c_float(), ctypes.c_float()
    for path in range(max(pdfium_c.FPDFClipPath_CountPaths(clip), 0)):
        points = list[tuple[float, float]]()
        for number in range(max(pdfium_c.FPDFClipPath_CountPathSegments(clip, path), 0)):
            segment = pdfium_c.FPDFClipPath_GetPathSegment(clip, path, number)
            if pdfium_c.FPDFPathSegment_GetPoint(segment, x, y):
                points.append((x.value, y.value))
        across, down = zip(*points, strict=True) if points else ((0.0,), (0.0,))
        if min(across) > left + 1 or max(across) < right - 1 or min(down) > bottom + 1 or max(down) < top - 1:
            return True
    return False


def _has_covering_annotation(page: pdfium.PdfPage) -> bool:
    for number in range(pdfium_c.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium_c.FPDFPage_GetAnnot(page, number)
        subtype = pdfium_c.FPDFAnnot_GetSubtype(annotation)
        pdfium_c.FPDFPage_CloseAnnot(annotation)
        if subtype not in _HARMLESS_ANNOTATIONS:
            return True
    return False


def _too_small(words: PageWords, boxes: NDArray[np.float64], texts: Sequence[str]) -> NDArray[np.bool_]:
    """Whether texts in boxes of shape (texts, 4) are lower, or narrower, than any print."""
    least = _LEAST_HEIGHT * min(1.0, max(words.width, words.height) / _LETTER_SIDE)
    sides = boxes[:, 2:] - boxes[:, :2]
    long = np.fromiter((len(text) > 2 for text in texts), np.bool_, len(texts))
    letters = np.fromiter(map(len, texts), np.float64, len(texts))
    squeezed = sides.max(axis=1) < _LEAST_WIDTH * letters * sides.min(axis=1)
    return np.asarray((sides.max(axis=1) < least) | (long & ((sides.min(axis=1) < least) | squeezed)))


def _outside(words: PageWords, boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether the middles of boxes of shape (n, 4) lie outside the page."""
    middles = (boxes[:, :2] + boxes[:, 2:]) / 2
    return np.asarray(((middles < 0) | (middles > np.array([words.width, words.height]))).any(axis=1))


# ---------------------------------------------------------------- what its pixels say


def _runs(page: pdfium.PdfPage, words: PageWords) -> list[_Run]:
    """The words, parted where the style changes."""
    displayed, runs = display_of(page), list[_Run]()
    style = cache(_style_of)
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

    def __init__(self, page: pdfium.PdfPage, words: PageWords, drawn: Sequence[_Drawn]) -> None:
        self._page, self._words = page, words
        whole = len(drawn) < _MOST_OBJECTS
        self._texts = [item.handle for item in drawn if item.kind == _TEXT] if whole else _text_objects(page)
        covering = [item.bounds for item in drawn if item.kind != _TEXT and _covers(item)]
        self._covering = display_of(page)(np.array(covering).reshape(-1, 4)[:, [0, 3, 2, 1]])
        self._annotated = _has_covering_annotation(page)
        self._full, self._factor = self._picture(_SCALES[0])

    def all_inked(self) -> bool:
        """Whether anything is to be seen in the place of every word."""
        boxes = self._words.boxes * self._factor
        return all(
            _varies(_cut(self._full, box)) >= _SEEN or not any(map(str.isalnum, text))
            for text, box in zip(self._words.texts, boxes, strict=True)
        )

    def reasons(self, runs: Sequence[_Run]) -> list[tuple[HiddenReason | None, bool]]:
        """For each run why it is hidden, if it is, and whether a picture may show it in its place."""
        boxes = np.array([run.box for run in runs])
        small = _too_small(self._words, boxes, [run.text for run in runs])
        outside = _outside(self._words, boxes)
        found: list[tuple[HiddenReason | None, bool]] = [(None, False)] * len(runs)
        open_ones = list(range(len(runs)))
        for scale in _SCALES:
            full, bare, factor = self._drawn(scale)
            doubted = []
            for number in open_ones:
                run = runs[number]
                if outside[number] or small[number]:
                    reason = HiddenReason.OUTSIDE if outside[number] else HiddenReason.SMALL
                    found[number] = (reason, False)
                    continue
                with_text, alone = (_cut(picture, run.box * factor) for picture in (full, bare))
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

    def _drawn(self, scale: float) -> tuple[Picture, Picture, float]:
        """The page with its text and without, and pixels a point."""
        full, factor = (self._full, self._factor) if scale == _SCALES[0] else self._picture(scale)
        try:
            for item in self._texts:
                _set_active(item, 0)
            return full, self._picture(scale)[0], factor
        finally:
            for item in self._texts:
                _set_active(item, 1)

    def _picture(self, scale: float) -> tuple[Picture, float]:
        factor = min(scale, (_MOST_PIXELS / max(self._words.width * self._words.height, 1.0)) ** 0.5)
        return self._page.render(scale=factor).to_numpy()[:, :, :3], factor

    def _reason(self, run: _Run) -> HiddenReason:
        """Why a run leaves no mark, where its style alone does not say."""
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


def _cut(picture: Picture, box: NDArray[np.float64]) -> Picture:
    """The pixels of a box, but for the edges that its neighbours may reach into."""
    left, top, right, bottom = box
    down, across = 0.08 * (bottom - top), min(0.08 * (bottom - top), 0.2 * (right - left))
    edges = np.array([left + across, top + down, right - across, bottom - down])
    first = np.clip(np.floor(edges[:2]), 0, np.array(picture.shape[1::-1]) - 1).astype(int)
    last = np.maximum(np.ceil(edges[2:]).astype(int), first + 1)
    return picture[first[1] : last[1], first[0] : last[0]]


def _differs(one: Picture, other: Picture) -> int:
    return int(np.abs(one.astype(np.int16) - other).max(initial=0))


def _varies(picture: Picture) -> int:
    """By how much its pixels differ from each other, in the colour in which they do most."""
    pixels = picture.reshape(-1, picture.shape[2])
    return int((pixels.max(axis=0) - pixels.min(axis=0)).max())


def _lacks_font(run: _Run) -> bool:
    """Whether another machine may have the font of a script that this one lacks."""
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
    """Whether another run stands in much the same place, whose ink must not count for this one."""
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
    gone = np.fromiter((not text for text in shown), np.bool_, len(shown))
    new = np.cumsum(~gone) - 1
    left = tuple((int(new[word]), reason) for word, reason in layer.items())
    return Seen(without(words, gone, shown) if hidden else words, tuple(hidden), left)
