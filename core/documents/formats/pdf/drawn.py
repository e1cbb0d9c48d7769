"""What a page draws, object by object, and the style that each of its texts states.

Owns the calls into pdfium's API of page objects. What of it a reader sees is visibility's work.
"""

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from numpy.typing import NDArray

from pincite.core.documents.formats.pdf.pdfium_text import bound, text_object

MAX_OBJECTS = 20_000
"""No more are looked at one by one."""
Color = tuple[int, int, int, int]
"""Red, green, blue and strength, each of 255."""
_DEEPEST = 6
_THIN = 1.5
"""Points: rules and underlines hide nothing."""
_MAX_SEGMENTS = 2_000
_LIGHT = 200
"""Of 255: darker print in full strength is seen on paper, unless something lies over it."""
_BRIGHT = 250
_FAINT = 160

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
_count_segments = bound("FPDFPath_CountSegments", _int, _pointer)
_path_segment = bound("FPDFPath_GetPathSegment", _pointer, _pointer, _int)
_segment_point = bound("FPDFPathSegment_GetPoint", _int, _pointer, _pointer, _pointer)
_segment_type = bound("FPDFPathSegment_GetType", _int, _pointer)
_segment_closes = bound("FPDFPathSegment_GetClose", _int, _pointer)
_count_marks = bound("FPDFPageObj_CountMarks", _int, _pointer)
_mark = bound("FPDFPageObj_GetMark", _pointer, _pointer, ctypes.c_ulong)
_mark_name = bound("FPDFPageObjMark_GetName", _int, _pointer, _pointer, ctypes.c_ulong, _pointer)


@dataclass(frozen=True, slots=True)
class Style:
    """Style that a text object states."""

    mode: int
    fill: Color
    stroke: Color
    switched: bool
    clipped: bool
    embedded: bool
    """Whether the file brings the font; else what its letters look like depends on the machine."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The objects of a page in the order of drawing, those inside forms in the form's place.

    ``bounds`` has the shape (objects, 4): left, bottom, right, top in page space.
    """

    handles: list[int]
    kinds: NDArray[np.uint8]
    bounds: NDArray[np.float64]
    whole: bool
    """False where the page draws more than are looked at."""

    @property
    def texts(self) -> list[int]:
        return [self.handles[at] for at in np.flatnonzero(self.kinds == pdfium_c.FPDF_PAGEOBJ_TEXT)]

    @property
    def paths(self) -> NDArray[np.float64]:
        """The bounds of all paths."""
        paths: NDArray[np.float64] = self.bounds[self.kinds == pdfium_c.FPDF_PAGEOBJ_PATH]
        return paths

    def rules(self) -> NDArray[np.float64]:
        """Return the straight lines that are drawn, thin areas included, as bounds of shape (rules, 4)."""
        own = np.flatnonzero(self.kinds == pdfium_c.FPDF_PAGEOBJ_PATH)
        sides = self.bounds[own, 2:] - self.bounds[own, :2]
        thin = sides.min(axis=1) <= _THIN if len(own) else np.zeros(0, np.bool_)
        lines = [self.bounds[at] for at in own[thin]]
        for at in own[~thin]:
            lines += [np.array(edge) for edge in _straight_edges(self.handles[at], self.bounds[at])]
        return np.array(lines, np.float64).reshape(-1, 4)

    def covering(self, least: float = 0.0) -> NDArray[np.int64]:
        """Return the numbers of the objects that paint an area with a shorter side of at least ``least`` points."""
        sides = np.minimum(self.bounds[:, 2] - self.bounds[:, 0], self.bounds[:, 3] - self.bounds[:, 1])
        wide = np.flatnonzero((self.kinds != pdfium_c.FPDF_PAGEOBJ_TEXT) & (sides >= least))
        path = self.kinds == pdfium_c.FPDF_PAGEOBJ_PATH
        return np.array([at for at in wide if not path[at] or _fills(self.handles[at])], np.int64)

    def any_covered(self) -> bool:
        """Return whether an area is painted over a text that was drawn before it."""
        at = np.flatnonzero(self.kinds == pdfium_c.FPDF_PAGEOBJ_TEXT)
        texts = self.bounds[at]
        for number in self.covering(_THIN):
            left, bottom, right, top = self.bounds[number]
            met = texts[: np.searchsorted(at, number)]
            if ((met[:, 0] < right) & (met[:, 2] > left) & (met[:, 1] < top) & (met[:, 3] > bottom)).any():
                return True
        return False


def drawn_on(page: pdfium.PdfPage) -> Drawn:
    """Look at every object of a page; the handles hold as long as the page is open."""
    walk = _Walk()
    walk.inside(ctypes.cast(page.raw, ctypes.c_void_p).value, _count_on_page, _on_page, None, 0)
    count = len(walk.handles)
    bounds = walk.bounds[:count].astype(np.float64)
    return Drawn(walk.handles, np.array(walk.kinds, np.uint8), bounds, walk.left > 0)


def text_objects(page: pdfium.PdfPage) -> list[int]:
    """Return the text objects that its characters belong to: of a page with too many objects to look at each."""
    text_page = page.get_textpage()
    try:
        handle = ctypes.cast(text_page.raw, ctypes.c_void_p).value
        found = {text_object(handle, index) for index in range(text_page.count_chars())}
        return [item for item in found if item]
    finally:
        text_page.close()


def set_active(handle: int, active: bool) -> None:
    """Whether the object is drawn with its page."""
    _set_active(handle, int(active))


class _Walk:
    def __init__(self) -> None:
        self.handles, self.kinds, self.left = list[int](), list[int](), MAX_OBJECTS
        self.bounds = np.zeros((MAX_OBJECTS, 4), np.float32)

    def inside(
        self, container: int | None, count: Any, get: Any, matrix: NDArray[np.float64] | None, depth: int
    ) -> None:
        own, first = list[int](), self.bounds.ctypes.data
        for number in range(min(count(container), self.left)):
            if not self.left:
                break
            self.left -= 1
            item = get(container, number)
            kind = _kind(item)
            place = first + 16 * len(self.handles)
            if kind == pdfium_c.FPDF_PAGEOBJ_FORM and depth < _DEEPEST:
                inner = _matrix_of(item)
                inner = inner if matrix is None else inner @ matrix
                self.inside(item, _count_in_form, _in_form, inner, depth + 1)
            elif _bounds(item, place, place + 4, place + 8, place + 12):
                own.append(len(self.handles))
                self.handles.append(item)
                self.kinds.append(kind)
        if matrix is not None and own:
            self.bounds[own] = _moved(self.bounds[own], matrix)


def _matrix_of(item: int) -> NDArray[np.float64]:
    values = (ctypes.c_float * 6)()
    _matrix(item, ctypes.addressof(values))
    a, b, c, d, e, f = values
    return np.array([[a, b, 0.0], [c, d, 0.0], [e, f, 1.0]])


def _moved(bounds: NDArray[np.float32], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bounds of shape (n, 4) as they lie outside the form."""
    corners = np.stack([bounds[:, [x, y]] for x in (0, 2) for y in (1, 3)]) @ matrix[:2, :2] + matrix[2, :2]
    return np.concatenate([corners.min(axis=0), corners.max(axis=0)], axis=1)


def _fills(path: int) -> bool:
    """Return whether a path paints an area: it is filled or thickly drawn."""
    modes, width = (ctypes.c_int * 2)(), ctypes.c_float()
    _draw_mode(path, ctypes.addressof(modes), ctypes.addressof(modes) + 4)
    if modes[0] != pdfium_c.FPDF_FILLMODE_NONE:
        return True
    return bool(modes[1] and _stroke_width(path, ctypes.addressof(width)) and width.value > _THIN)


def _straight_edges(path: int, bounds: NDArray[np.float64]) -> list[tuple[float, float, float, float]]:
    """Return the level and upright lines of a path that is stroked: a box, or the grid of a table."""
    modes = (ctypes.c_int * 2)()
    _draw_mode(path, ctypes.addressof(modes), ctypes.addressof(modes) + 4)
    count = _count_segments(path)
    if not modes[1] or not 0 < count <= _MAX_SEGMENTS:
        return []
    points, x, y = list[tuple[float, float]](), ctypes.c_float(), ctypes.c_float()
    pairs, first = list[tuple[int, int]](), 0
    for number in range(count):
        segment = _path_segment(path, number)
        _segment_point(segment, ctypes.addressof(x), ctypes.addressof(y))
        points.append((x.value, y.value))
        if _segment_type(segment) == pdfium_c.FPDF_SEGMENT_MOVETO:
            first = number
        else:
            pairs.append((number - 1, number))
        if _segment_closes(segment):
            pairs.append((number, first))
    placed = _placed(np.array(points) @ _matrix_of(path)[:2, :2], bounds)
    boxes = [(*np.minimum(placed[a], placed[b]).tolist(), *np.maximum(placed[a], placed[b]).tolist()) for a, b in pairs]
    return [(a, b, c, d) for a, b, c, d in boxes if min(c - a, d - b) <= _THIN < max(c - a, d - b)]


def _placed(points: NDArray[np.float64], bounds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move the points of a path, shape (points, 2), to where its bounds are on the page."""
    low, high = points.min(axis=0), points.max(axis=0)
    moved: NDArray[np.float64] = (points - low) * (bounds[2:] - bounds[:2]) / np.maximum(high - low, 1e-6) + bounds[:2]
    return moved


class Statements:
    """Properties that text objects state; one buffer takes all replies, since pages hold thousands of letters."""

    def __init__(self) -> None:
        self._values, self._name, self._length = (ctypes.c_uint * 4)(), (ctypes.c_char * 16)(), ctypes.c_ulong()
        self._colors = [ctypes.addressof(self._values) + 4 * number for number in range(4)]
        self._name_at, self._length_at = ctypes.addressof(self._name), ctypes.addressof(self._length)

    def odd(self, handle: int) -> bool:
        """Return whether text is drawn so that it may leave no ink on paper."""
        if _mode(handle) != pdfium_c.FPDF_TEXTRENDERMODE_FILL:
            return True
        red, green, blue, alpha = self._color(handle, _fill)
        light = min(red, green, blue) > _LIGHT or max(red, green, blue) > _BRIGHT
        return light or alpha < _FAINT or self._switched(handle)

    def style(self, handle: int) -> Style:
        return Style(
            _mode(handle),
            self._color(handle, _fill),
            self._color(handle, _stroke),
            bool(_transparent(handle)) or self._switched(handle),
            _is_clipped(handle),
            _embedded(_font(handle)) != 0,
        )

    def _color(self, handle: int, ask: Any) -> Color:
        if not ask(handle, *self._colors):
            return (0, 0, 0, 255)
        red, green, blue, alpha = self._values
        return (red, green, blue, alpha)

    def _switched(self, handle: int) -> bool:
        """Return whether it belongs to a layer that a viewer may switch off."""
        for number in range(_count_marks(handle)):
            named = _mark_name(_mark(handle, number), self._name_at, 16, self._length_at)
            if named and self._name.raw[:5] == b"O\0C\0\0":
                return True
        return False


def _is_clipped(handle: int) -> bool:
    """Return whether a clip path reaches less far than the text."""
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
