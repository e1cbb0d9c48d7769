"""A page's words and their places, taken from pdfium in bulk.

Owns the calls into pdfium's text API. It knows nothing of lines, columns or blocks: that is layout's work.
"""

import ctypes
import re
import unicodedata
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, repeat
from typing import Any

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from numpy.typing import NDArray

from pincite.core.documents.formats.pdf.raised import Tokens, parted

HYPHEN_AT_LINE_END = "\ufffe"
"""What pdfium writes for a hyphen that breaks a word over two lines; it drops the line break behind it."""


_INVISIBLE = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_PRESENTATION = re.compile("[\u2f00-\u2fd5\ufb00-\ufb06\ufb1d-\ufdff\ufe70-\ufefc]+")
RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_FOLDED = re.compile(f"{_INVISIBLE.pattern}|{_PRESENTATION.pattern}|[\ud800-\udfff\uf020-\uf0ff\uf720-\uf77f]")
_BOLD = re.compile(rb"bold|black|heavy|demi", re.I)
_SPACES = "\\s\x00\x85\u200b\ufeff\ufffe\uffff"
_SPACELESS = "\u2e80-\u2fff\u3001-\u9fff\uac00-\ud7af\uf900-\ufaff\uff01-\uff9f"
_TOKEN = re.compile(f"[{_SPACELESS}]|[^{_SPACES}{_SPACELESS}]+")
"""Each character of a script that is written without spaces is a token of its own."""
_BREAK = re.compile(f"[\n{HYPHEN_AT_LINE_END}]")
_NAME_BYTES = 80
_MIN_RUN = 3
"""Minimum number of characters without space between them that show which way their line runs."""
_SYMBOLS = {chr(0xF700 + code): chr(code).upper() for code in range(0x20, 0x80)} | dict(
    zip("\uf0b7\uf0a7\uf0a8\uf0d8\uf0fc\uf06e\uf06c\uf076", "•▪▫➢✓■●❖", strict=True)
)
"""Old-style figures and small capitals of Adobe's glyph list, and the bullets of symbol fonts."""


def bound(name: str, result: Any, *arguments: Any) -> Any:
    """Bind a function of pdfium to plain integers: ctypes converts those several times faster than typed pointers.

    These calls are short and many: letting other threads run during each would cost a quarter of its time.
    """
    address = ctypes.cast(getattr(pdfium_c, name), ctypes.c_void_p).value
    assert address is not None
    return ctypes.PYFUNCTYPE(result, *arguments)(address)


_loose_box = bound("FPDFText_GetLooseCharBox", ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
_origin = bound("FPDFText_GetCharOrigin", ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_matrix = bound("FPDFText_GetMatrix", ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
_font_size = bound("FPDFText_GetFontSize", ctypes.c_double, ctypes.c_void_p, ctypes.c_int)
text_object = bound("FPDFText_GetTextObject", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
_font = bound("FPDFTextObj_GetFont", ctypes.c_void_p, ctypes.c_void_p)
_font_name = bound("FPDFFont_GetBaseFontName", ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_weight = bound("FPDFFont_GetWeight", ctypes.c_int, ctypes.c_void_p)
_character_index = bound("FPDFText_GetCharIndexFromTextIndex", ctypes.c_int, ctypes.c_void_p, ctypes.c_int)


@dataclass(frozen=True, slots=True)
class PageWords:
    """The words of one page in the order of its content; all places in points of the displayed page, origin top left.

    ``boxes`` has shape (words, 4): left, top, right, bottom. ``baselines`` has shape (words, 2): the origin of a
    word's first character. ``sizes`` are heights of the em.
    ``gaps`` is what comes before each word: 0 nothing, 1 white space, 2 a line break, 3 a hyphen and a line break.
    ``turns`` is the direction a word runs in, in quarter turns clockwise (0 is left to right or right to left).
    ``right_to_left`` is whether any character is of a script that runs so.
    """

    texts: list[str]
    boxes: NDArray[np.float64]
    baselines: NDArray[np.float64]
    sizes: NDArray[np.float64]
    bold: NDArray[np.bool_]
    gaps: NDArray[np.int8]
    turns: NDArray[np.int8]
    width: float
    height: float
    characters: int
    raw_text: str
    right_to_left: bool
    places: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    """Shape (words, 2): pdfium's numbers of a word's first and last character; none of words from a picture."""
    levels: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, np.int8))
    """RAISED or LOWERED for each mark that was cut off its word, 0 for each word; empty once that is settled."""


def read_words(page: pdfium.PdfPage) -> PageWords:
    """Read every word of a page. Raises PdfiumError when pdfium cannot make its text."""
    width, height = page.get_size()
    text_page = page.get_textpage()
    try:
        count = text_page.count_chars()
        units = _units(text_page, count)
        text = units.tobytes().decode("utf-16-le", "replace")
        if len(text) != len(units):  # work in UTF-16 units, as pdfium counts; pairs are joined again word by word
            text = "".join(map(chr, units.tolist()))
        texts, starts, last, gaps = _tokens(text)
        if not texts:
            return _no_words(width, height, text)
        handle = ctypes.cast(text_page.raw, ctypes.c_void_p).value
        if len(text) != count:
            starts, last = (_character_indexes(handle, indexes) for indexes in (starts, last))
        displayed = display_of(page)

        def boxes_of(characters: Sequence[int]) -> NDArray[np.float64]:
            return displayed(character_boxes(handle, list(characters)))

        def origins_of(characters: Sequence[int]) -> NDArray[np.float64]:
            return displayed(_origins(handle, list(characters)))[:, :2]

        loose, baselines = boxes_of(last), origins_of(starts)
        levels = np.zeros(len(texts), np.int8)
        if marked := parted(Tokens(texts, starts, last, gaps), loose, baselines, boxes_of, origins_of):
            cut, levels = marked
            texts, starts, last, gaps = cut.texts, cut.starts, cut.last, cut.gaps
            loose, baselines = boxes_of(last), origins_of(starts)
        turns = _turns(texts, gaps, (loose[:, :2] + loose[:, 2:]) / 2, baselines)
        boxes = np.empty_like(loose)
        np.minimum(loose[:, :2], baselines, out=boxes[:, :2])
        np.maximum(loose[:, 2:], baselines, out=boxes[:, 2:])
        right_to_left = bool(RIGHT_TO_LEFT.search(text))
        if right_to_left:
            backwards = [index for index, word in enumerate(texts) if RIGHT_TO_LEFT.search(word)]
            first = displayed(character_boxes(handle, [starts[index] for index in backwards]))
            boxes[backwards, :2] = np.minimum(boxes[backwards, :2], first[:, :2])
            boxes[backwards, 2:] = np.maximum(boxes[backwards, 2:], first[:, 2:])
        sizes, bold = _fonts(handle, starts, gaps, loose, turns)
        measured = (boxes, baselines, sizes, bold, gaps, turns, width, height, count, text, right_to_left)
        return PageWords(texts, *measured, np.array([starts, last], np.int64).T, levels)
    finally:
        text_page.close()


def _no_words(width: float, height: float, text: str) -> PageWords:
    numbers, flags, signs = np.zeros(0), np.zeros(0, np.bool_), np.zeros(0, np.int8)
    places = np.zeros((0, 4))
    return PageWords([], places, places[:, :2], numbers, flags, signs, signs, width, height, len(text), text, False)


def _units(text_page: pdfium.PdfTextPage, count: int) -> NDArray[np.uint16]:
    buffer = np.zeros(count + 1, np.uint16)
    address = buffer.ctypes.data_as(ctypes.POINTER(ctypes.c_ushort))
    written = pdfium_c.FPDFText_GetText(text_page, 0, count, address) if count else 1
    return buffer[: max(written - 1, 0)]


def _tokens(text: str) -> tuple[list[str], list[int], list[int], NDArray[np.int8]]:
    """Return the words, where each begins and ends, and what stood before it."""
    found = [(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(text)]
    if _FOLDED.search(text):
        found = [(fold(word), start, end) for word, start, end in found]
    found = [one for one in found if one[0]]
    ends = [0, *(end for _, _, end in found)]
    gaps = np.array([start > end for (_, start, _), end in zip(found, ends, strict=False)], np.int8)
    gaps[:1] = 1
    starts = [start for _, start, _ in found]
    for match in _BREAK.finditer(text):
        behind = bisect_right(starts, match.start())
        if 0 < behind < len(found):
            gaps[behind] = 3 if match.group() == HYPHEN_AT_LINE_END else max(gaps[behind], 2)
    return [word for word, _, _ in found], starts, [end - 1 for end in ends[1:]], gaps


def _origins(handle: Any, indexes: list[int]) -> NDArray[np.float64]:
    """Return the origins of characters, as boxes without extent in page space."""
    points = np.zeros((len(indexes), 2), np.float64)
    address, end = points.ctypes.data, points.ctypes.data + points.nbytes
    deque(map(_origin, repeat(handle), indexes, range(address, end, 16), range(address + 8, end, 16)), maxlen=0)
    return points[:, [0, 1, 0, 1]]


def _fonts(
    handle: Any, starts: list[int], gaps: NDArray[np.int8], loose: NDArray[np.float64], turns: NDArray[np.int8]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Ask for the font where it may change, at line starts and ends and where the height of the line changes."""
    heights = np.where(turns % 2, loose[:, 2] - loose[:, 0], loose[:, 3] - loose[:, 1])
    fresh = np.concatenate([[True], (gaps[1:] >= 2) | (np.abs(np.diff(heights)) > 0.01)])
    asked = np.flatnonzero(fresh)
    since = np.maximum.accumulate(np.where(fresh, np.arange(len(starts)), 0))
    indexes = [starts[number] for number in asked]
    matrices = np.zeros((len(indexes), 6), np.float32)
    address = matrices.ctypes.data
    deque(map(_matrix, repeat(handle), indexes, range(address, address + 24 * len(indexes), 24)), maxlen=0)
    sizes = np.zeros(len(starts))
    sizes[asked] = np.fromiter(map(_font_size, repeat(handle), indexes), np.float64) * np.hypot(
        matrices[:, 2], matrices[:, 3]
    )
    sizes = sizes[since]
    plausible = (sizes > 0.4 * heights) & (sizes < 1.8 * heights)
    sizes = np.maximum(np.where(plausible, sizes, heights / 1.15), 1.0)
    line_starts = np.concatenate([[0], np.flatnonzero(gaps[1:] >= 2) + 1])
    line_ends = np.concatenate([line_starts[1:], [len(starts)]]) - 1
    heavy = _heavy(handle, [starts[number] for number in line_starts.tolist()])
    heavy[heavy] = _heavy(handle, [starts[number] for number in line_ends[heavy].tolist()])
    return sizes, np.repeat(heavy, line_ends - line_starts + 1)


def _heavy(handle: Any, indexes: list[int]) -> NDArray[np.bool_]:
    """Return whether each font is bold, by weight or by name: embedded fonts often state only one of them."""
    objects = list(map(text_object, repeat(handle), indexes))
    fonts = [_font(item) if item else None for item in objects]
    bold = {font: bool(font) and _is_bold(font) for font in set(fonts)}
    return np.fromiter((bold[font] for font in fonts), np.bool_, len(fonts))


def _is_bold(font: Any) -> bool:
    name = ctypes.create_string_buffer(_NAME_BYTES)
    _font_name(font, ctypes.addressof(name), _NAME_BYTES)
    return _weight(font) >= 600 or bool(_BOLD.search(name.value))


def annotations(page: pdfium.PdfPage) -> Iterator[tuple[Any, int]]:
    """Yield the page's annotations, each with its subtype; a handle is open until the next one is asked for."""
    for number in range(pdfium_c.FPDFPage_GetAnnotCount(page)):
        if annotation := pdfium_c.FPDFPage_GetAnnot(page, number):
            try:
                yield annotation, pdfium_c.FPDFAnnot_GetSubtype(annotation)
            finally:
                pdfium_c.FPDFPage_CloseAnnot(annotation)


def fold(word: str) -> str:
    """Spell out ligatures and presentation forms, map symbol-font bullets, drop soft hyphens and direction marks."""
    whole = word.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    kept = "".join(_SYMBOLS.get(letter, letter) for letter in whole if not _INVISIBLE.match(letter))
    return _PRESENTATION.sub(lambda match: unicodedata.normalize("NFKC", match.group()), kept)


def _character_indexes(handle: Any, indexes: list[int]) -> list[int]:
    """pdfium leaves characters without a Unicode value out of its text but counts them."""
    return list(map(_character_index, repeat(handle), indexes))


def character_boxes(handle: Any, indexes: list[int]) -> NDArray[np.float64]:
    """Let pdfium write every box straight into one array: left, top, right, bottom in page space."""
    boxes = np.zeros((len(indexes), 4), np.float32)
    address = boxes.ctypes.data
    deque(map(_loose_box, repeat(handle), indexes, range(address, address + 16 * len(indexes), 16)), maxlen=0)
    return boxes.astype(np.float64)


def display_of(page: pdfium.PdfPage) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """From page space (origin bottom left, before rotation) to points of the displayed page (origin top left)."""
    low_x, low_y, high_x, high_y = page.get_bbox()
    edges, signs, offsets = {
        0: ([0, 1, 2, 3], [1.0, -1.0, 1.0, -1.0], [-low_x, high_y, -low_x, high_y]),
        90: ([3, 0, 1, 2], [1.0, 1.0, 1.0, 1.0], [-low_y, -low_x, -low_y, -low_x]),
        180: ([2, 3, 0, 1], [-1.0, 1.0, -1.0, 1.0], [high_x, -low_y, high_x, -low_y]),
        270: ([1, 2, 3, 0], [-1.0, -1.0, -1.0, -1.0], [high_y, high_x, high_y, high_x]),
    }[page.get_rotation()]
    return lambda boxes: boxes[:, edges] * np.array(signs) + np.array(offsets)


def _turns(
    texts: list[str], gaps: NDArray[np.int8], centers: NDArray[np.float64], baselines: NDArray[np.float64]
) -> NDArray[np.int8]:
    """Return each word's direction, by where its last character is; short words go with the word before.

    Short words without space between them, as in scripts that have none, are judged by where the last of them is.
    """
    across, down = (centers - baselines).T
    turns = np.zeros(len(texts), np.int8)
    aside = np.abs(down) > np.abs(across)
    if not aside.any() and across.min() >= 0:
        return turns
    short = np.fromiter(map(len, texts), np.int64, len(texts)) < 3
    turns[aside & ~short] = np.where(down > 0, 1, 3)[aside & ~short]
    for index in np.flatnonzero(~short & (across < 0) & (turns == 0)):
        turns[index] = 0 if RIGHT_TO_LEFT.search(texts[index]) else 2
    known = ~short
    borders = np.flatnonzero(np.concatenate([[True], (gaps[1:] > 0) | ~short[1:] | ~short[:-1], [True]]))
    for first, end in pairwise(borders.tolist()):
        if end - first >= _MIN_RUN:
            right, below = centers[end - 1] - centers[first]
            turns[first:end] = 0 if abs(right) >= abs(below) else 1 if below > 0 else 3
            known[first:end] = True
    if turns.any():
        usual = np.bincount(turns[known]).argmax()
        for index in np.flatnonzero(~known):
            turns[index] = turns[index - 1] if index and gaps[index] < 2 else usual
    return turns
