"""A page's words and their places, taken from pdfium in bulk.

Owns the calls into pdfium's text API. It knows nothing of lines, columns or blocks: that is layout's work.
"""

import ctypes
import re
import unicodedata
from collections import deque
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from numpy.typing import NDArray

HYPHEN_AT_LINE_END = "\ufffe"
"""What pdfium writes for a hyphen that breaks a word over two lines; it drops the line break behind it."""

_CJK = "\u2e80-\u303f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff01-\uff9f"
_TOKEN = re.compile(rf"[{_CJK}]|[^\s{_CJK}\x00-\x1f\x7f\x80-\x9f\u200b\ufeff\ufffe\uffff]+")
_INVISIBLE = re.compile("[\u00ad\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_PRESENTATION = re.compile("[\u2f00-\u2fd5\ufb00-\ufb06\ufb1d-\ufdff\ufe70-\ufefc]+")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_FOLDED = re.compile(f"{_INVISIBLE.pattern}|{_PRESENTATION.pattern}|[\ud800-\udfff\uf020-\uf0ff]")
_SYMBOLS = {0xF0B7: "•", 0xF0A7: "▪", 0xF0A8: "▫", 0xF0D8: "➢", 0xF0FC: "✓", 0xF06E: "■", 0xF06C: "●", 0xF076: "❖"}


def _function(name: str, result: Any, *arguments: Any) -> Any:
    """Bind a function of pdfium to plain integers: ctypes converts those several times faster than typed pointers."""
    address = ctypes.cast(getattr(pdfium_c, name), ctypes.c_void_p).value
    assert address is not None
    return ctypes.CFUNCTYPE(result, *arguments)(address)


_loose_box = _function("FPDFText_GetLooseCharBox", ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
_origin = _function(
    "FPDFText_GetCharOrigin", ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p
)
_matrix = _function("FPDFText_GetMatrix", ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
_font_size = _function("FPDFText_GetFontSize", ctypes.c_double, ctypes.c_void_p, ctypes.c_int)
_font_weight = _function("FPDFText_GetFontWeight", ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
_character_index = _function("FPDFText_GetCharIndexFromTextIndex", ctypes.c_int, ctypes.c_void_p, ctypes.c_int)


@dataclass(frozen=True, slots=True)
class PageWords:
    """The words of one page in the order of its content; all places in points of the displayed page, origin top left.

    ``boxes`` has shape (words, 4): left, top, right, bottom. ``baselines`` has shape (words, 2): where a word's first
    character stands. ``sizes`` are heights of the em.
    ``gaps`` says what stood before each word: 0 nothing, 1 white space, 2 a line break, 3 a hyphen and a line break.
    ``turns`` is the direction a word runs in, in quarter turns clockwise (0 is left to right or right to left).
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


def read_words(page: pdfium.PdfPage) -> PageWords:
    """Read every word of a page. Raises PdfiumError when pdfium cannot make its text."""
    text_page = page.get_textpage()
    try:
        handle = ctypes.cast(text_page.raw, ctypes.c_void_p).value
        text = _text(text_page)
        return _words(page, handle, text, text_page.count_chars())
    finally:
        text_page.close()


def _text(text_page: pdfium.PdfTextPage) -> str:
    """The page's text in UTF-16 units, which is how pdfium counts characters; pairs are joined again word by word."""
    count = text_page.count_chars()
    if not count:
        return ""
    buffer = (ctypes.c_ushort * (count + 1))()
    written = max(pdfium_c.FPDFText_GetText(text_page, 0, count, buffer) - 1, 0)
    text = bytes(buffer)[: 2 * written].decode("utf-16-le", "replace")
    return text if len(text) == written else "".join(map(chr, buffer[:written]))


def _words(page: pdfium.PdfPage, handle: Any, text: str, count: int) -> PageWords:
    width, height = page.get_size()
    tokens = list(_TOKEN.finditer(text))
    starts = [token.start() for token in tokens]
    last = [token.end() - 1 for token in tokens]
    texts = [token.group() for token in tokens]
    if _FOLDED.search(text):
        folded = [(fold(word), start, end) for word, start, end in zip(texts, starts, last, strict=True)]
        texts, starts, last = ([entry[part] for entry in folded if entry[0]] for part in range(3))  # type: ignore[assignment]
    gaps = _gaps(text, starts, last)
    if len(text) != count:
        starts, last = (_character_indexes(handle, indexes) for indexes in (starts, last))
    loose = _displayed(page, _boxes(handle, last))
    baselines = _displayed(page, _origins(handle, starts))[:, :2]
    turns = _turns(texts, gaps, (loose[:, :2] + loose[:, 2:]) / 2 - baselines)
    backwards = [index for index, word in enumerate(texts) if word > "\u0590" and _RIGHT_TO_LEFT.search(word)]
    boxes = np.concatenate([np.minimum(loose[:, :2], baselines), np.maximum(loose[:, 2:], baselines)], axis=1)
    if backwards:
        first = _displayed(page, _boxes(handle, [starts[index] for index in backwards]))
        boxes[backwards, :2] = np.minimum(boxes[backwards, :2], first[:, :2])
        boxes[backwards, 2:] = np.maximum(boxes[backwards, 2:], first[:, 2:])
    sizes, bold = _fonts(handle, starts, gaps, loose, turns)
    return PageWords(texts, boxes, baselines, sizes, bold, gaps, turns, width, height, count, text)


def _origins(handle: Any, indexes: list[int]) -> NDArray[np.float64]:
    """Where characters stand, as boxes without extent in page space."""
    points = np.zeros((len(indexes), 2), np.float64)
    address = points.ctypes.data
    addresses = range(address, address + 16 * len(indexes), 16)
    deque(map(_origin, repeat(handle), indexes, addresses, (a + 8 for a in addresses)), maxlen=0)
    return points[:, [0, 1, 0, 1]]


def _fonts(
    handle: Any, starts: list[int], gaps: NDArray[np.int8], loose: NDArray[np.float64], turns: NDArray[np.int8]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Ask for the font where it may change, at line starts and ends and where the height of the line changes."""
    if not starts:
        return np.zeros(0), np.zeros(0, np.bool_)
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
    heavy = [
        np.fromiter(map(_font_weight, repeat(handle), [starts[number] for number in ends]), np.int32) >= 600
        for ends in (line_starts, line_ends)
    ]
    return sizes, np.repeat(heavy[0] & heavy[1], line_ends - line_starts + 1)


def _gaps(text: str, starts: list[int], last: list[int]) -> NDArray[np.int8]:
    gaps = np.ones(len(starts), np.int8)
    ends = [-1, *last[:-1]]
    for index, (end, start) in enumerate(zip(ends, starts, strict=True)):
        distance = start - end
        if distance == 2:
            if text[start - 1] == HYPHEN_AT_LINE_END:
                gaps[index] = 3
            elif text[start - 1] == "\n":
                gaps[index] = 2
        elif distance == 1:
            gaps[index] = 0
        else:
            between = text[end + 1 : start]
            gaps[index] = 3 if HYPHEN_AT_LINE_END in between else 2 if "\n" in between else 1
    return gaps


def fold(word: str) -> str:
    """Spell out ligatures and presentation forms, map symbol-font bullets, drop soft hyphens and direction marks."""
    whole = word.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    kept = "".join(_SYMBOLS.get(ord(letter), letter) for letter in whole if not _INVISIBLE.match(letter))
    return _PRESENTATION.sub(lambda match: unicodedata.normalize("NFKC", match.group()), kept)


def _character_indexes(handle: Any, indexes: list[int]) -> list[int]:
    """pdfium leaves characters without a Unicode value out of its text but counts them."""
    return list(map(_character_index, repeat(handle), indexes))


def _boxes(handle: Any, indexes: list[int]) -> NDArray[np.float64]:
    """Let pdfium write every box straight into one array: left, top, right, bottom in page space."""
    boxes = np.zeros((len(indexes), 4), np.float32)
    address = boxes.ctypes.data
    deque(map(_loose_box, repeat(handle), indexes, range(address, address + 16 * len(indexes), 16)), maxlen=0)
    return boxes.astype(np.float64)


def _displayed(page: pdfium.PdfPage, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Page space (origin bottom left, before rotation) to points of the displayed page (origin top left)."""
    left, bottom, right, top = page.get_bbox()
    xs, ys = boxes[:, [0, 2]] - left, top - boxes[:, [1, 3]]
    turned = {
        0: (xs, ys),
        90: ((top - bottom) - ys, xs),
        180: ((right - left) - xs, (top - bottom) - ys),
        270: (ys, (right - left) - xs),
    }[page.get_rotation()]
    across, down = np.sort(turned[0], axis=1), np.sort(turned[1], axis=1)
    return np.stack([across[:, 0], down[:, 0], across[:, 1], down[:, 1]], axis=1)


def _turns(texts: list[str], gaps: NDArray[np.int8], moved: NDArray[np.float64]) -> NDArray[np.int8]:
    """Tell a word's direction by how far its last character stands from its first; short words go with the word before."""
    across, down = moved[:, 0], moved[:, 1]
    turns = np.where(np.abs(down) > np.abs(across), np.where(down > 0, 1, 3), 0).astype(np.int8)
    for index in np.flatnonzero((across < 0) & (turns == 0)):
        turns[index] = 0 if _RIGHT_TO_LEFT.search(texts[index]) else 2
    if turns.any():
        for index, text in enumerate(texts):
            if len(text) < 3:
                turns[index] = turns[index - 1] if index and gaps[index] < 2 else 0
    return turns
