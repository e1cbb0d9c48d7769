"""Raised and lowered marks: characters that are smaller than what they hang on and off its baseline.

A mark that a line of its page begins with is a footnote reference: it is set apart, so that "$320" with a mark reads as
$320 and no longer as $3201. Raised figures that no note answers to are written raised ("10⁶"); ordinals and lowered
figures stay as they are ("1st", "CO2").
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

RAISED, LOWERED = 1, -1
SMALLER = 0.86
"""Of the height of what it hangs on."""
RISE, FALL = 0.1, 0.06
"""Of that height: minimum distance of a mark above or below the baseline."""
SAME_LINE, SPACE = 0.3, 0.12
"""Of the em: by so much the baselines of a line may differ, and what is wider parts words."""
SMALL_PRINT = 0.95
"""Of the page's usual size: notes are set smaller."""
_MARK = re.compile(r"\(?(?:\d{1,3}(?:[,–-]\d{1,3})*|[a-z]|[*†‡§¶#]{1,3})\)?")
_MAY_HIDE_ONE = re.compile(r"\d[)\]”\"’']?[.,;:!?]")
"""A mark before a closing sign does not end its word."""
_UNIT = re.compile(r"[\W\d]{0,12}[^\W\d]{1,2}")
_RAISED = str.maketrans("0123456789+-−()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁽⁾")

Boxes = Callable[[Sequence[int]], NDArray[np.float64]]
"""From pdfium's numbers of characters to their boxes, or places, in points of the displayed page."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Words as they are cut at white space: texts, pdfium's numbers of first and last characters, gaps before."""

    texts: list[str]
    starts: list[int]
    last: list[int]
    gaps: NDArray[np.int8]


def parted(
    tokens: Tokens, ends: NDArray[np.float64], baselines: NDArray[np.float64], boxes: Boxes, origins: Boxes
) -> tuple[Tokens, NDArray[np.int8]] | None:
    """Cut marks off the words that they hang on; None where the page has none.

    ``ends``: shape (words, 4), the boxes of last characters; ``baselines``: shape (words, 2). The second value is
    RAISED or LOWERED for each mark, 0 for each word.
    """
    across, down = ((ends[:, :2] + ends[:, 2:]) / 2 - baselines).T
    long = np.fromiter((len(text) > 2 for text in tokens.texts), np.bool_, len(tokens.texts))
    if (long & (np.abs(down) > np.abs(across))).any():
        return None  # what runs up or down the page has its baseline elsewhere
    heights = ends[:, 3] - ends[:, 1]
    usual = _usual(heights, baselines[:, 1])
    off = np.abs(baselines[:, 1] - usual[:, 1]) > FALL * usual[:, 0]
    doubted = (heights < SMALLER * usual[:, 0]) | off
    doubted |= np.fromiter((bool(_MAY_HIDE_ONE.search(text)) for text in tokens.texts), np.bool_, len(tokens.texts))
    pieces: list[tuple[str, int, int, int, int]] = []
    for at, text in enumerate(tokens.texts):
        first, last, gap = tokens.starts[at], tokens.last[at], int(tokens.gaps[at])
        if not doubted[at] or len(text) != last - first + 1:
            pieces.append((text, first, last, gap, 0))
            continue
        for number, (level, start, end) in enumerate(_runs(range(first, last + 1), usual[at], boxes, origins)):
            pieces.append((text[start:end], first + start, first + end - 1, 0 if number else gap, level))
    levels = np.array([level for *_, level in pieces], np.int8)
    if not levels.any():
        return None
    texts, starts, lasts, gaps, _ = map(list, zip(*pieces, strict=True))
    return Tokens(texts, starts, lasts, np.array(gaps, np.int8)), levels


def _usual(heights: NDArray[np.float64], baselines: NDArray[np.float64]) -> NDArray[np.float64]:
    """The height and baseline of the largest of each word and its two neighbours on its line; shape (words, 2)."""
    best = np.stack([heights, baselines], axis=1)
    for step in (1, -1):
        other_heights, other = np.roll(heights, step), np.roll(baselines, step)
        near = np.abs(other - baselines) < 0.7 * np.maximum(heights, other_heights)
        near[0 if step == 1 else -1] = False
        larger = near & (other_heights > best[:, 0])
        best[larger, 0], best[larger, 1] = other_heights[larger], other[larger]
    return best


def _runs(
    characters: Sequence[int], usual: NDArray[np.float64], boxes: Boxes, origins: Boxes
) -> Iterator[tuple[int, int, int]]:
    """Yield the level, start and end of each run of characters at the same level."""
    placed, base = boxes(characters), origins(characters)[:, 1]
    height, baseline = usual
    small = placed[:, 3] - placed[:, 1] < SMALLER * height
    if not small.all():
        baseline = float(np.median(base[~small]))
    above, below = baseline - base > RISE * height, base - baseline > FALL * height
    levels = np.where(small & above, RAISED, np.where(small & below, LOWERED, 0))
    at = 0
    for level, run in groupby(levels.tolist()):
        length = len(list(run))
        yield level, at, at + length
        at += length


def resolved(
    texts: Sequence[str],
    levels: NDArray[np.int8],
    gaps: NDArray[np.int8],
    sizes: NDArray[np.float64],
    boxes: NDArray[np.float64],
    baselines: NDArray[np.float64],
) -> tuple[list[str], NDArray[np.int8], NDArray[np.bool_]]:
    """Return what to write for each word, the gap before it, and which to remove as references to notes of the page."""
    notes = _notes(texts, levels, gaps, sizes)
    shown, before, gone = list(texts), _closed_up(levels, gaps, sizes, boxes, baselines), np.zeros(len(texts), np.bool_)
    for at in np.flatnonzero(levels == RAISED).tolist():
        text = texts[at]
        if at == 0 or (gaps[at] >= 2 and text.strip("()") in notes):
            before[at + 1 : at + 2] = np.maximum(before[at + 1 : at + 2], 1)  # the mark of a note, and the note
            continue
        counts = gaps[at] == 0 and text.isdigit() and _has_powers(texts[at - 1])
        if _MARK.fullmatch(text) and not counts and notes.issuperset(re.split("[,–-]", text.strip("()"))):
            gone[at] = True
        elif any(map(str.isdigit, text)):
            shown[at] = text.translate(_RAISED)
    return shown, before, gone


def _has_powers(base: str) -> bool:
    """Return whether figures are raised on it to count or measure: "10⁶", "5 m²"."""
    return (base.endswith("10") and not base[-3:-2].isdecimal()) or _UNIT.fullmatch(base) is not None


def _closed_up(
    levels: NDArray[np.int8],
    gaps: NDArray[np.int8],
    sizes: NDArray[np.float64],
    boxes: NDArray[np.float64],
    baselines: NDArray[np.float64],
) -> NDArray[np.int8]:
    """Return the gap before each word, without the line breaks that pdfium finds around marks."""
    before = gaps.copy()
    for at in np.flatnonzero(levels).tolist():
        base, following = at - 1, at + 1
        if 0 < at < len(levels) - 1 and abs(baselines[following, 1] - baselines[base, 1]) < SAME_LINE * sizes[base]:
            before[following] = boxes[following, 0] - boxes[at, 2] > SPACE * sizes[base]
    return before


def _notes(
    texts: Sequence[str], levels: NDArray[np.int8], gaps: NDArray[np.int8], sizes: NDArray[np.float64]
) -> set[str]:
    """Return the marks that lines of small print begin with, or sentences of it."""
    usual = float(np.median(np.repeat(sizes, [len(text) for text in texts])))
    small = sizes < SMALL_PRINT * usual
    first = np.concatenate([[True], gaps[1:] >= 2])
    opening = first & ((levels == RAISED) | small)
    ended = np.fromiter((text.endswith((".", "!", "?", ";")) for text in texts), np.bool_, len(texts))
    opening[1:] |= small[1:] & ended[:-1] & (gaps[1:] == 1)
    return {text for at in np.flatnonzero(opening).tolist() if _MARK.fullmatch(text := texts[at].strip("().:"))}
