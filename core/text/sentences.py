"""Split text into sentences, list items and table rows, as character spans of the text that was given.

The one splitter of the program: answers, pages and passages all go through it. It never changes a character, so a
span can be shown in the text it came from. What a sentence means is left to `claims` and `checks`.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from pincite.core.domain.answers import Span
from pincite.core.text.terms import FUNCTION_WORDS

_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof sr jr st vs etc inc ltd co corp llc plc no nos vol vols fig figs eq eqs ref refs sec secs art "
    "arts para pp p ed eds al cf approx est dept gov sen rep gen col lt sgt capt hon rev jan feb mar apr jun jul aug "
    "sep sept oct nov dec e.g i.e u.s u.k u.n a.m p.m ph.d viz ca resp incl excl max min avg ave blvd rd "
    "bzw z.b d.h usw ggf vgl nr abs bspw u.a ca evtl inkl m.e mme sra г стр рис им т.е т.д т.п др".split()
)
_WORDS = re.compile(r"[^\W\d_]+")
MAX_EXAMINED = 2_000
MIN_OWN = 0.18
"""Share of English little words: .24 and more in 99 of 100 English passages, .15 and less in those of ten languages."""
_TITLES = frozenset("mr mrs ms dr prof sr jr st vs no nos fig figs eq sec art p pp vol e.g i.e".split())
ITEM_MARK = r"(?:[-*+•▪◦●‣–—]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,4})[.)])"
"""What an item of a list begins with, as a pattern."""
_LIST_MARKER = re.compile(rf"[ \t]{{0,40}}+(?:{ITEM_MARK}|[☐☑☒]|\[(?:un)?ticked\])[ \t]{{1,40}}+")
_NOTE = re.compile(r"[ \t]{0,40}+[†‡]")
"""A note at the foot of a page, which goes on with no sentence above it."""
_HEADING = re.compile(r"[ \t]{0,40}+#{1,6}[ \t]{1,40}+\S")
_FIGURE_CELL = re.compile(r"[(\[]?[-–−+]?[$€£¥]?\d[\d,.]*\)?%?\)?")
_SIGN_CELL = re.compile(r"[(\[]?[-–−—+]?[$€£¥]?|%?\)?")
"""What is alone before or behind a figure ("$ 5", "5 %"), and the dash of an empty cell."""
_TERMINATOR = re.compile(r"""(?<![.!?…])[.!?…]++["'”’»)\]]*+(?=\s|\[\d|$)|[。！？｡]+[”’」』）]*|[؟۔।]+["'”’»)]*""")
_TRAILING_MARKERS = re.compile(r"(?:[ \t]{0,9}\[\d{1,3}(?:[ \t]{0,9}[,;–-][ \t]{0,9}\d{1,3})*\])+")
_SPACED_ABBREVIATION = re.compile(r"[^\W\d_]\.(?=\s)")
"""The second half of "z. B."."""
_MAX_ORDINAL_LENGTH = 2
_WORD_BEFORE = re.compile(r"[^\s(\[\"'“‘]{0,30}$")


def split_sentences(text: str) -> tuple[Span, ...]:
    """Return the spans of all sentences, list items and table rows of `text`, in order, without outer white space."""
    return tuple(span for block in _blocks(text) for span in _sentences_of(text, block))


def _blocks(text: str) -> Iterator[Span]:
    """Join wrapped lines into blocks; list items, headings, table rows and paragraphs begin new ones."""
    start: int | None = None
    end = 0
    previous = ""
    widest = max((len(line) for line in text.split("\n")), default=0)
    position = 0
    for line in text.split("\n"):
        line_end = position + len(line)
        alone = _is_own_sentence(line)
        if start is not None and (not line.strip() or alone or _breaks(previous, line, widest)):
            yield Span(start, end)
            start = None
        if line.strip():
            start = position if start is None else start
            end = line_end
            if alone:
                yield Span(start, end)
                start = None
        previous = line
        position = line_end + 1
    if start is not None:
        yield Span(start, end)


def _is_own_sentence(line: str) -> bool:
    bare = line.strip()
    piped = " | " in bare or (len(bare) > 1 and bare[0] == bare[-1] == "|")
    return piped or "\t" in bare or bool(_HEADING.match(line)) or _is_figure_row(bare)


def _is_figure_row(line: str) -> bool:
    """Return whether a line ends in two cells of figures or more, with something before them."""
    cells: list[str] = []
    for cell in reversed(line.split()[1:]):
        if not (_FIGURE_CELL.fullmatch(cell) or _SIGN_CELL.fullmatch(cell)):
            break
        cells.append(cell)
    filled = [bool(_FIGURE_CELL.fullmatch(cell)) or cell in "—–-" for cell in cells]
    return sum(filled) > 1 and any(_FIGURE_CELL.fullmatch(cell) for cell in cells)


def _breaks(previous: str, line: str, widest: int) -> bool:
    """Return whether `line` begins something new after `previous`: a list item, a note, text after a title."""
    if _NOTE.match(line) or (_LIST_MARKER.match(line) and not previous.rstrip().endswith((",", "-"))):
        return True
    before, after = previous.strip(), line.strip()
    short = len(before) < min(0.6 * widest, 80)
    return short and before[-1:] not in ",;-–(" and (after[0].isupper() or after[0].isdigit())


def _sentences_of(text: str, block: Span) -> Iterator[Span]:
    start = block.start
    marker = _LIST_MARKER.match(text, block.start, block.end)
    search = marker.end() if marker else block.start
    while (match := _TERMINATOR.search(text, search, block.end)) is not None:
        end = match.end()
        search = end
        if not _ends_sentence(text, match, block.end):
            continue
        markers = _TRAILING_MARKERS.match(text, end, block.end)
        if markers:
            end = search = markers.end()
        yield from _stripped(text, start, end)
        start = end
    yield from _stripped(text, start, block.end)


def _ends_sentence(text: str, match: re.Match[str], limit: int) -> bool:
    """Return whether a point is a full stop and not that of an abbreviation, an initial or an enumeration."""
    mark = match.group()
    following = text[match.end() : min(limit, match.end() + 80)].lstrip()
    if not following or mark[0] not in ".…":
        return not (following[:1].islower() and mark[0] in "!?")
    following = _TRAILING_MARKERS.sub("", following, count=1).lstrip() or following
    if following[:1].islower():
        return False
    if len(mark.rstrip("\"'”’»)]")) > 1 or mark[0] == "…":
        return True
    before = _WORD_BEFORE.search(text[max(0, match.start() - 30) : match.start()])
    word = before.group().lower() if before else ""
    if len(word) == 1 and word.isalpha() and word != "i" and _SPACED_ABBREVIATION.match(following):
        return False
    if len(word) == 1 and word.isalpha() and text[match.start() - 1].isupper() and word != "i":
        return False
    if word.isdigit() and len(word) <= _MAX_ORDINAL_LENGTH and not _in_english(text):
        return False  # "am 1. März", "v 3. patře"
    if word in _ABBREVIATIONS or re.fullmatch(r"(?:[^\W\d_]\.)+[^\W\d_]", word):
        # "the U.S. Senate" goes on, "in the U.S. The" does not: a capital on a small word opens a sentence.
        opener = following.split(maxsplit=1)[0].strip("\"'“‘([,").lower()
        return word not in _TITLES and opener in FUNCTION_WORDS
    return True


@lru_cache(maxsize=64)
def _in_english(text: str) -> bool:
    """By its little words; a text without any counts as English."""
    spoken = Counter(word.casefold() for word in _WORDS.findall(text[:MAX_EXAMINED]))
    own = sum(count for word, count in spoken.items() if word in FUNCTION_WORDS)
    return not spoken or own >= MIN_OWN * spoken.total()


def _stripped(text: str, start: int, end: int) -> Iterator[Span]:
    sentence = text[start:end]
    if sentence.strip():
        yield Span(end - len(sentence.lstrip()), start + len(sentence.rstrip()))
