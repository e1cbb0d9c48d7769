"""Read quotations back: from the picture of their page, or, of a file in another format, from the file's own text.

A file's text must be what a reader of the page sees, and what we set of another format must be the file's text.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from rapidfuzz.fuzz import partial_ratio

from pincite.core.domain.answers import Likeness, ReadBack
from pincite.core.domain.documents import TICKED, UNTICKED, BlockKind, Box, HiddenReason, Page, PageStatus, Word
from pincite.core.text.likeness import compare, plain

MAX_LINES = 12
"""Of one quotation; a longer one is read at its beginning and its end."""
_RAISED = re.compile("[¹²³⁰-⁹]")
"""Exponents, which the file has as digits, or marks of notes, which it does not have."""
_TALL = 1.5
"""By so much higher than wide, words of three letters or more run up or down the page."""
_SAME = 0.5
"""Share of a word's height, or width where it runs up or down, that others of its line have in common with it."""

Lines = Callable[[Sequence[Sequence[float]]], list[str]]


@dataclass(frozen=True, slots=True)
class ReadLine:
    """Words on one line, their position, and the quarter turns that may set them upright."""

    text: str
    box: Box
    turns: tuple[int, ...]
    marked: str = ""
    """With the footnote marks that the picture shows between its words; empty where there are none."""


def read_back(page: Page, start: int, end: int, lines: Lines) -> ReadBack:
    """Compare a stretch of a page's text with its picture; a page that was recognised came from its picture.

    What seems to differ is looked at once more with all that is on its line: a word alone is easily misread.
    """
    if page.status is PageStatus.OCR:
        return ReadBack(Likeness.AGREES)
    file_lines = _lines(page, [word for word in _drawn(page) if word.start < end and word.end > start])
    if len(file_lines) > MAX_LINES:
        file_lines = [*file_lines[: MAX_LINES // 2], *file_lines[-MAX_LINES // 2 :]]
    found = _compared(file_lines, lines)
    if doubted := [line for line, (likeness, _) in zip(file_lines, found, strict=True) if likeness is Likeness.DIFFERS]:
        whole = [[w for w in _drawn(page) if _level(w.box, line.box, line.turns[0] % 2 == 0)] for line in doubted]
        around = [line for words in whole for line in _lines(page, words)]
        found = [one for one in found if one[0] is not Likeness.DIFFERS] + _compared(around, lines)
    kinds = {likeness for likeness, _ in found}
    if Likeness.DIFFERS in kinds:
        return ReadBack(Likeness.DIFFERS, " ".join(shown for likeness, shown in found if likeness is Likeness.DIFFERS))
    return ReadBack(Likeness.AGREES if Likeness.AGREES in kinds else Likeness.UNKNOWN)


class OwnText:
    """The text of a file that is not a PDF, asked for stretches that begin and end where its words do."""

    def __init__(self, lines: Sequence[str]) -> None:
        """``lines``: one for each paragraph or cell."""
        self.lines = lines
        words = [word for line in lines for word in map(plain, line.split()) if word]
        self._ends = set(accumulate(map(len, words)))
        self._flat = "".join(words)

    def holds(self, text: str) -> bool:
        """Return whether the words follow each other in the file, whatever their spaces, hyphens and marks of notes."""
        return any(map(self._holds, {plain(text), plain(_RAISED.sub("", text))}))

    def _holds(self, words: str) -> bool:
        at = self._flat.find(words)
        while at >= 0:
            if at + len(words) in self._ends and (not at or at in self._ends):
                return True
            at = self._flat.find(words, at + 1)
        return not words


def compare_with_own_text(page: Page, start: int, end: int, own: OwnText) -> ReadBack:
    """Compare a stretch of a page's text with the text of the file that the page was made from."""
    quoted = (page.text[max(start, block.start) : min(end, block.end)] for block in page.blocks)
    texts = [text for block in quoted for text in block.split("\t") if plain(text)]
    if differing := next((text for text in texts if not own.holds(text)), ""):
        closest = max(own.lines, key=lambda line: partial_ratio(differing, line), default="")
        return ReadBack(Likeness.DIFFERS, closest, of_file=True)
    return ReadBack(Likeness.AGREES if texts else Likeness.UNKNOWN, of_file=True)


def _drawn(page: Page) -> list[Word]:
    """Return the words that the page's picture shows as such: no comments, and no labels that replace a box."""
    comments = [block for block in page.blocks if block.kind is BlockKind.COMMENT]
    return [
        word
        for word in page.words
        if page.text[word.start : word.end] not in (TICKED, UNTICKED)
        and not any(block.start <= word.start < block.end for block in comments)
    ]


def _compared(file_lines: Sequence[ReadLine], lines: Lines) -> list[tuple[Likeness, str]]:
    """Return for each line whether the picture agrees with the file's text, and what the picture shows."""
    asked = [(at, turn) for at, line in enumerate(file_lines) for turn in line.turns]
    boxes = [(box.left, box.top, box.right, box.bottom, turn) for at, turn in asked for box in [file_lines[at].box]]
    found = [(Likeness.UNKNOWN, "")] * len(file_lines)
    for (at, _), recognised in zip(asked, lines(boxes) if boxes else (), strict=True):
        if found[at][0] is not Likeness.AGREES:
            likenesses = [compare(text, recognised) for text in (file_lines[at].text, file_lines[at].marked) if text]
            agrees = Likeness.AGREES in likenesses
            found[at] = (Likeness.AGREES if agrees else likenesses[0], recognised)
    return found


def _lines(page: Page, words: Sequence[Word]) -> list[ReadLine]:
    """Words that follow each other, line by line, whichever way their lines run."""
    long = [word.box for word in words if word.end - word.start > 2]
    upright = 2 * sum(_is_tall(box) for box in long) <= len(long)
    lines: list[list[Word]] = []
    for word in words:
        if lines and _goes_on(lines[-1], word, upright):
            lines[-1].append(word)
        else:
            lines.append([word])
    return [_line(page, line, upright) for line in lines]


def _line(page: Page, words: Sequence[Word], upright: bool) -> ReadLine:
    boxes = [word.box for word in words]
    edges = (min(box.left for box in boxes), min(box.top for box in boxes))
    box = Box(*edges, max(box.right for box in boxes), max(box.bottom for box in boxes))
    on_its_head = len(words) > 1 and words[1].box.left < words[0].box.left
    turns = (1, 3) if not upright else (2,) if on_its_head else (0,)
    return ReadLine(page.text[words[0].start : words[-1].end], box, turns, _with_marks(page, words, box))


def _with_marks(page: Page, words: Sequence[Word], box: Box) -> str:
    """Return the words and the marks of notes among them, from left to right."""
    marks = [item for item in page.hidden if item.reason is HiddenReason.MARK and _is_within(item.box, box)]
    if not marks:
        return ""
    placed = [(word.box.left, page.text[word.start : word.end]) for word in words]
    return " ".join(text for _, text in sorted([*placed, *((item.box.left, item.text) for item in marks)]))


def _is_within(mark: Box, line: Box) -> bool:
    middle = (mark.left + mark.right) / 2
    return line.left <= middle <= line.right and mark.top < line.bottom and mark.bottom > line.top


def _goes_on(line: Sequence[Word], word: Word, upright: bool) -> bool:
    """Return whether a word follows the last of a line, on the side to which the line runs."""
    last = line[-1].box
    if not _level(last, word.box, upright):
        return False
    if len(line) == 1:
        return True
    first = line[0].box
    before, after = (last.left - first.left, word.box.left - last.left) if upright else (
        last.top - first.top, word.box.top - last.top
    )  # fmt: skip
    return before * after > 0


def _level(box: Box, other: Box, upright: bool = True) -> bool:
    low, high = ("top", "bottom") if upright else ("left", "right")
    sides = [(getattr(one, low), getattr(one, high)) for one in (box, other)]
    shared = min(end for _, end in sides) - max(start for start, _ in sides)
    return bool(shared > _SAME * min(end - start for start, end in sides))


def _is_tall(box: Box) -> bool:
    return box.bottom - box.top > _TALL * (box.right - box.left)
