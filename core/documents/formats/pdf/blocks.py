"""Lines to blocks and text: headings, paragraphs, list items, table rows, running heads and feet.

A paragraph becomes one line of text: broken words are mended, lines joined. Each block is on a line of its own, and
the cells of a row are parted by tabs.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from operator import add, sub
from statistics import median

import numpy as np
from numpy.typing import NDArray

from pincite.core.documents.formats.pdf.layout import COMMENT, STRAY, Line
from pincite.core.documents.formats.pdf.pdfium_text import PageWords
from pincite.core.documents.formats.pdf.tables import TableRow, find_tables
from pincite.core.domain.documents import TICKED, UNTICKED, Block, BlockKind
from pincite.core.text.language import detect_language
from pincite.core.text.pieces import belong_together

_BULLET = re.compile(r"^[•▪▫➢✓■●❖◦‣∙·\-–—*o]$|^\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]$|^\d+(?:\.\d+)+\.?$")
_NUMBERED_HEADING = re.compile(
    r"^(?:(?:item|part|section|chapter|article|note|annex|appendix)\s+\w+|\d+(?:\.\d+)*\.?\s+\S)", re.I
)
_SECTION_NUMBER = re.compile(r"\d{1,2}(?:\.\d{1,2}){0,4}\.?")
"""Before a title, however wide the gap to it."""
_LETTERS = re.compile(r"[^\W\d_]+")
_CJK = re.compile("[\u2e80-\u303f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff9f]")
_SENTENCE_END = (".", "!", "?", ":", ";", "。", "！", "？", "؟")
_SUSPENDING = frozenset("and or to und oder bis en of tot och eller og".split())
"""Words before which a hyphen replaces a part that is left out: "In- und Ausfuhr"."""
_SOLID = frozenset(("de", "nl", "sv", "da", "no", "fi"))
"""Languages that write compounds as one word: a hyphen before a small letter broke it there."""
_MIN_END_LENGTH = 2
"""Letters; no word is broken before fewer than three."""
_FIELD = re.compile(r"[^\W\d][^:.,]{1,40}: \S")
_MIN_BEFORE = 2
"""No typesetter breaks a word behind its first letter: "p-cymene", "e-mail"."""
HYPHENATED = 3
"""Among gaps: a hyphen and a line break."""
_SHORT, _LEADS_ON, _MAX_ALONE = 0.6, ",;:-–(", 5
"""Share of the column, characters that no line of its own ends with, and maximum number of such lines together."""
_MAX_HEADING_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class PageText:
    """A page's text with the span of each word: ``order[n]`` is the word of PageWords at ``starts[n]``."""

    text: str
    order: list[int]
    starts: list[int]
    ends: list[int]
    blocks: tuple[Block, ...]


@dataclass(slots=True)
class _BlockDraft:
    kind: BlockKind
    lines: list[int]
    level: int = 0
    row: TableRow = field(default_factory=TableRow)


def compose(page: PageWords, lines: Sequence[Line], running: Mapping[int, BlockKind]) -> PageText:
    """Write the page's text. ``running`` names the lines that are heads or feet of many pages."""
    drafts = _drafts(lines, running, page.gaps)
    texts = list(page.texts)
    spaces = [" " if gap else "" for gap in page.gaps.tolist()]
    order: list[int] = []
    before: list[str] = []
    begins: list[int] = []
    known = _Known(page.texts)
    for draft in drafts:
        begins.append(len(order))
        for number, line_index in enumerate(draft.lines):
            for cell, segment in enumerate(lines[line_index].segments):
                first = len(order)
                order.extend(range(segment.start, segment.end))
                before.extend(spaces[segment.start : segment.end])
                if cell and draft.row.places and not draft.row.tabs[cell]:
                    before[first] = _joint(page, texts, order[first - 1], order[first], known)
                elif cell:
                    before[first] = _between(draft, lines[line_index], cell)
                elif number:
                    before[first] = _joint(page, texts, order[first - 1], order[first], known)
                else:
                    before[first] = "\n" if first else ""
    words = [texts[index] for index in order]
    lengths = list(map(len, words))
    ends = list(accumulate(map(add, map(len, before), lengths)))
    starts = list(map(sub, ends, lengths))
    pieces = [""] * (2 * len(words))
    pieces[0::2], pieces[1::2] = before, words
    blocks = tuple(
        Block(starts[begin], ends[stop - 1], draft.kind, draft.level, draft.row.heads, draft.row.places)
        for draft, begin, stop in zip(drafts, begins, [*begins[1:], len(order)], strict=True)
    )
    return PageText("".join(pieces), order, starts, ends, blocks)


class _Known:
    """A page's own words and its language, which are asked for only where a word is broken."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(word.strip(".,;:()“”\"'").lower() for word in self._texts)

    @cached_property
    def language(self) -> str:
        return detect_language(" ".join(self._texts)) or "en"


def _between(draft: _BlockDraft, line: Line, cell: int) -> str:
    """Return the separator before a cell of a row: a tab for each column it is further on; a space in running text."""
    if draft.row.tabs:
        return "\t" * draft.row.tabs[cell]
    last, segment = line.segments[cell - 1 : cell + 1]
    apart = max(segment.left - last.right, last.left - segment.right)
    return "\t" if draft.kind is BlockKind.TABLE_ROW or apart > 2.2 * last.size else " "


def _joint(page: PageWords, texts: list[str], last: int, following: int, known: "_Known") -> str:
    """Return the separator between two lines of a paragraph; mend the word that was broken there."""
    left, right = texts[last], texts[following]
    broken = page.gaps[following] == HYPHENATED
    if not broken and left.endswith(("-", "\u2010", "\u00ad")) and left[-2:-1].isalnum() and right[:1].isalnum():
        left, broken = left[:-1], True
    if not broken:
        return "" if _CJK.match(left[-1]) and _CJK.match(right) else " "
    if _is_suspended(left, right, known):
        texts[last] = f"{left}-"
        return " "
    texts[last] = left + ("-" if _keeps_hyphen(left, right, known) else "")
    return ""


def _is_suspended(left: str, right: str, known: "_Known") -> bool:
    """Return whether a small word follows, and is no end of a word: "thous-and" is one, "In- und" is none."""
    stem, following = left.strip("(“\"'").lower(), right.lower()
    if following not in _SUSPENDING:
        return False
    return len(following) <= _MIN_END_LENGTH or not belong_together(stem, following, known.language)


def _keeps_hyphen(left: str, right: str, known: "_Known") -> bool:
    """Return whether to remove a hyphen at a line's end: the word without it is known, the one with it is not."""
    stem, rest = left.strip("(“\"'").lower(), right.rstrip(".,;:()“”\"'").lower()
    if f"{stem}-{rest}" in known.words:
        return True
    if stem + rest in known.words:
        return False
    if len(stem) < _MIN_BEFORE or not left[-1:].isalpha() or not right[:1].islower() or "-" in left:
        return True
    return known.language not in _SOLID and not belong_together(stem, rest, known.language)


def _drafts(lines: Sequence[Line], running: Mapping[int, BlockKind], gaps: NDArray[np.int8]) -> list[_BlockDraft]:
    rows = find_tables(lines)
    body = _body_size(lines)
    mostly_bold = 2 * sum(line.segments[0].bold for line in lines) > len(lines)
    leading = _leading(lines)
    edges: dict[int, tuple[float, float]] = {}
    for line in lines:
        left, right = edges.get(line.zone, (line.left, line.right))
        edges[line.zone] = (min(left, line.left), max(right, line.right))
    alone = _lines_alone(lines, edges)
    drafts: list[_BlockDraft] = []
    previous: Line | None = None
    for index, line in enumerate(lines):
        if index in running:
            drafts.append(_BlockDraft(running[index], [index]))
            previous = None
            continue
        if line.zone == COMMENT:
            drafts.append(_BlockDraft(BlockKind.COMMENT, [index]))
            previous = None
            continue
        if index in rows and (len(line.segments) > 1 or previous is None or line.places):
            drafts.append(_BlockDraft(BlockKind.TABLE_ROW, [index], row=rows[index]))
            previous = None
            continue
        level = _heading_level(line, body, mostly_bold) if line.zone != STRAY else 0
        titled = level > 0 and len(line.segments) == 2 and _SECTION_NUMBER.fullmatch(line.segments[0].text)
        flows = _flows(line) and line.segments[0].text not in (TICKED, UNTICKED)
        if len(line.segments) > 1 and not flows and not titled:
            drafts.append(_BlockDraft(BlockKind.PARAGRAPH, [index]))
            previous = None
            continue
        kind = (
            BlockKind.HEADING
            if level
            else BlockKind.LIST_ITEM
            if _is_item(line, previous if drafts and drafts[-1].kind is not BlockKind.HEADING else None)
            else BlockKind.PARAGRAPH
        )
        torn = gaps[line.segments[0].start] == HYPHENATED
        broken_off = (
            previous is not None
            and not torn
            and drafts[-1].kind is BlockKind.PARAGRAPH
            and _is_broken_off(previous, line, alone=index - 1 in alone)
        )
        if (
            previous is not None
            and not broken_off
            and _continues(previous, line, drafts[-1], kind, level, leading, edges[line.zone])
        ):
            drafts[-1].lines.append(index)
        elif previous is not None and not level and _goes_on_from_bold(previous, line, drafts[-1], leading):
            drafts[-1].kind, drafts[-1].level = BlockKind.PARAGRAPH, 0
            drafts[-1].lines.append(index)
        else:
            drafts.append(_BlockDraft(kind, [index], level))
        previous = line
    return drafts


def _flows(line: Line) -> bool:
    """Several segments that are one line of text after all: a bullet or number and what it introduces."""
    return len(line.segments) == 2 and bool(_BULLET.match(line.segments[0].text))


def _is_item(line: Line, previous: Line | None) -> bool:
    """Return whether a line begins with a bullet, or a number or letter that cannot belong to the sentence before."""
    segment = line.segments[0]
    first = segment.words[segment.start]
    if not _BULLET.match(first) or (segment.end - segment.start < 2 and len(line.segments) < 2):
        return False
    if first == "o":
        return _flows(line)
    if previous is None or not (first[0].isalnum() or first[-1].isalnum() or first[-1] in ".)"):
        return True
    return previous.segments[-1].text.endswith(_SENTENCE_END) or line.top - previous.bottom > 0.5 * line.size


def _body_size(lines: Sequence[Line]) -> float:
    sizes: Counter[float] = Counter()
    for line in lines:
        for segment in line.segments:
            sizes[round(segment.size * 2) / 2] += segment.end - segment.start
    return sizes.most_common(1)[0][0] if sizes else 1.0


def _leading(lines: Sequence[Line]) -> float:
    gaps = [
        second.top - first.bottom
        for first, second in pairwise(lines)
        if first.zone == second.zone and -first.size < second.top - first.bottom < 1.5 * first.size
    ]
    return median(gaps) if gaps else 0.0


def _heading_level(line: Line, body: float, mostly_bold: bool) -> int:
    """1 to 4, or 0 for a line that is no heading."""
    ratio = line.size / body
    bold = line.segments[0].bold and not mostly_bold
    if ratio < 1.15 and not bold and line.right - line.left > 40 * line.size:
        return 0
    text = "\t".join(segment.text for segment in line.segments)
    if len(text) > _MAX_HEADING_CHARACTERS or (ratio < 1.15 and (len(text) > 90 or not (bold or text.isupper()))):
        return 0
    letters = sum(map(len, _LETTERS.findall(text)))
    if letters < 2 or letters < 0.5 * (len(text) - text.count(" ")):
        return 0
    if ratio >= 1.15 and not (text.endswith((".", ",", ";")) and len(text) > 60):
        return 1 if ratio >= 1.6 else 2 if ratio >= 1.3 else 3
    if text.endswith((".", ",", ";", ":")) and not _NUMBERED_HEADING.match(text):
        return 0
    capitals = text.isupper() and letters >= 4 and len(text.split()) >= 2
    if (bold or capitals) and not text[0].islower():
        return 3 if _NUMBERED_HEADING.match(text) or capitals else 4
    return 0


def _goes_on_from_bold(previous: Line, line: Line, draft: _BlockDraft, leading: float) -> bool:
    """What looked like a heading is the beginning of a longer bold text."""
    close = -line.size < line.top - previous.bottom <= leading + 0.4 * line.size and line.zone == previous.zone
    alike = line.segments[0].bold == previous.segments[0].bold and abs(line.size / previous.size - 1) < 0.05
    return draft.kind is BlockKind.HEADING and close and alike


def _continues(
    previous: Line,
    line: Line,
    draft: _BlockDraft,
    kind: BlockKind,
    level: int,
    leading: float,
    edges: tuple[float, float],
) -> bool:
    """Return whether the line continues the block of the previous line."""
    if line.zone == previous.zone == STRAY:
        return True
    if (
        kind is BlockKind.LIST_ITEM
        or line.zone != previous.zone
        or (kind is BlockKind.HEADING) != (draft.kind is BlockKind.HEADING)
    ):
        return False
    gap = line.top - previous.bottom
    if gap > leading + 0.4 * line.size or gap < -1.5 * line.size or abs(line.size / previous.size - 1) > 0.12:
        return False
    if kind is BlockKind.HEADING:
        return level == draft.level and len(draft.lines) < 4
    if draft.kind is BlockKind.LIST_ITEM:
        return line.left >= previous.left - 0.3 * line.size
    first = len(draft.lines) == 1
    if not first and line.left - previous.left > 0.8 * line.size:
        return False
    ended = previous.segments[-1].text.endswith(_SENTENCE_END)
    short = edges[1] - previous.right > 0.25 * (edges[1] - edges[0])
    indented = 0.8 * line.size < line.left - edges[0] < 4 * line.size and line.left - previous.left > 0.8 * line.size
    return not (ended and (short or indented))


def _lines_alone(lines: Sequence[Line], edges: Mapping[int, tuple[float, float]]) -> frozenset[int]:
    """Lines such as those of an address: a few short ones under each other; more are a narrow column of prose."""
    found: set[int] = set()
    run: list[int] = []
    for index, line in enumerate(lines):
        left, right = edges[line.zone]
        short = line.right - line.left < _SHORT * (right - left)
        if not short or (run and line.zone != lines[run[-1]].zone):
            run = []
        if short:
            run.append(index)
            found.update(run)
        if len(run) > _MAX_ALONE:
            found.difference_update(run)
    return frozenset(found)


def _is_broken_off(previous: Line, line: Line, *, alone: bool) -> bool:
    """Return whether a line of an address or a signature ends: it leads to nothing, and the next begins a new one.

    Or both begin with their label ("For the buyer: …").
    """
    last, first = previous.segments[-1].text, line.segments[0].text
    if _FIELD.match(previous.segments[0].text) and _FIELD.match(first):
        return True
    return alone and last[-1] not in _LEADS_ON and (first[0].isupper() or first[0].isdigit())
