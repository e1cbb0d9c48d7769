"""Words and their places from the picture of a page, by RapidOCR.

The models come with the rapidocr package and are named by path, so that nothing is ever fetched. Imported only in a
reading process that is asked to recognise.
"""

import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import rapidocr
from numpy.typing import NDArray

from pincite.core.documents.formats.pdf.pdfium_text import RIGHT_TO_LEFT, PageWords

LONG_SIDE_PIXELS = 1600
"""About 145 dots per inch of a letter page: larger pictures take longer and read no better."""
_THREADS = 2
_MIN_SCORE = 0.5
_GOOD_SCORE = 0.85
"""Pages that lie right score 0.95 to 1, pages on their head below 0.7."""
_CLEARLY = 0.1
_MIN_SCORE = 0.7
_TOKEN = re.compile(
    "[\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff9f]|[^\\s\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff9f]+"
)
_TALL = 1.5


def recognise(picture: NDArray[np.uint8], width: float, height: float) -> PageWords:
    """Read the picture, and once more the other way up where that may read better.

    RapidOCR turns tall lines upright, one way; with the picture on its head it turns those that run the other way.
    """
    found = _read(picture, find_lines=True)
    words = page_words(found, picture.shape, width, height)
    score = _score(found)
    if score > _GOOD_SCORE:
        return words
    found = _read(np.ascontiguousarray(picture[::-1, ::-1]), find_lines=True)
    if _score(found) < score + _CLEARLY:
        return words
    return _turned_over(page_words(found, picture.shape, width, height))


def read_line(picture: NDArray[np.uint8]) -> str:
    """Return the text of one line's picture, without looking for its position; empty if it cannot be recognised."""
    found = _read(picture, find_lines=False)
    if not found.txts or min(found.scores) < _MIN_SCORE:
        return ""
    return " ".join(found.txts)


def _read(picture: NDArray[np.uint8], *, find_lines: bool) -> Any:
    """RapidOCR's output; what is left out here is as the call before had it."""
    return _engine()(picture, use_det=find_lines, use_cls=False, use_rec=True)


def _score(found: Any) -> float:
    """How sure RapidOCR is of a page's characters; where there are none, nothing could be read better."""
    if not found.txts:
        return 1.0
    return float(np.average(found.scores, weights=[len(text) + 1 for text in found.txts]))


def _turned_over(words: PageWords) -> PageWords:
    """Return the words of a page that was read with its picture upside down, at their positions on the page."""
    size = np.array([words.width, words.height])
    boxes = np.concatenate([size - words.boxes[:, 2:], size - words.boxes[:, :2]], axis=1)
    return replace(words, boxes=boxes, baselines=size - words.baselines, turns=words.turns + np.int8(2))


def page_words(found: Any, shape: tuple[int, ...], width: float, height: float) -> PageWords:
    """Turn RapidOCR's lines into words in points; a word's place is its share of the line's length."""
    scale = np.array([width / shape[1], height / shape[0]] * 2)
    texts: list[str] = []
    boxes: list[NDArray[np.float64]] = []
    gaps: list[int] = []
    turns: list[int] = []
    for quad, line in _lines(found):
        box = np.concatenate([quad.min(axis=0), quad.max(axis=0)]) * scale
        tall = box[3] - box[1] > _TALL * (box[2] - box[0]) and len(line) > 2
        end = -1
        for token in _TOKEN.finditer(line):
            gaps.append(2 if end < 0 else int(token.start() > end))
            end = token.end()
            texts.append(token.group())
            boxes.append(_share(box, token.start() / len(line), end / len(line), tall))
            turns.append(int(tall))
    places = np.array(boxes).reshape(-1, 4)
    upright = np.array(turns, np.int8) == 0
    sizes = np.maximum(np.where(upright, places[:, 3] - places[:, 1], places[:, 2] - places[:, 0]) / 1.2, 1.0)
    if texts:  # what the detector measures wavers; only clearly larger type is larger
        usual = np.median(sizes)
        sizes = np.where((sizes > 0.75 * usual) & (sizes < 1.3 * usual), usual, sizes)
    baselines = np.stack([places[:, 0], places[:, 3] - 0.2 * sizes], axis=1)
    baselines[~upright] = places[~upright, :2] + 0.2 * sizes[~upright, None]
    bold = np.zeros(len(texts), np.bool_)
    text = " ".join(texts)
    return PageWords(
        texts,
        places,
        baselines,
        sizes,
        bold,
        np.array(gaps, np.int8),
        np.array(turns, np.int8),
        width,
        height,
        len(text),
        text,
        bool(RIGHT_TO_LEFT.search(text)),
    )


def _lines(found: Any) -> Iterator[tuple[NDArray[np.float64], str]]:
    if found.boxes is None or found.txts is None:
        return
    for quad, text, score in zip(found.boxes, found.txts, found.scores, strict=True):
        if score >= _MIN_SCORE and text.strip():
            yield np.asarray(quad, np.float64), text.strip()


def _share(box: NDArray[np.float64], start: float, end: float, tall: bool) -> NDArray[np.float64]:
    left, top, right, bottom = box
    if tall:
        return np.array([left, top + start * (bottom - top), right, top + end * (bottom - top)])
    return np.array([left + start * (right - left), top, left + end * (right - left), bottom])


@cache
def _engine() -> rapidocr.RapidOCR:
    models = Path(rapidocr.__file__).parent / "models"
    logging.getLogger("RapidOCR").setLevel(logging.ERROR)
    return rapidocr.RapidOCR(
        params={
            "Global.log_level": "error",
            "Global.use_cls": False,  # it turned more upright lines over than it set right
            "Global.max_side_len": LONG_SIDE_PIXELS + 200,
            "Det.model_path": str(models / "PP-OCRv6_det_small.onnx"),
            "Rec.model_path": str(models / "PP-OCRv6_rec_small.onnx"),
            "EngineConfig.onnxruntime.intra_op_num_threads": _THREADS,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )
