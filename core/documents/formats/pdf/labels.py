"""Running heads and feet, and the page numbers printed in them, found by comparing a page with its neighbours.

A page is always compared with the same few neighbours, so that reading it alone or with others gives the same result.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pincite.core.documents.formats.pdf.layout import Line
from pincite.core.domain.documents import BlockKind

WINDOW = 5
"""How many pages are looked at together."""

_AGREEING = 3
"""Minimum number of pages in a window that carry on one count to believe it; for numbers alone on their line, two."""
_EDGE_LINES = 3
_MIN_ROWS = 2 * _EDGE_LINES
_EDGE_SHARE = 0.16
_LINES_KEPT = 2048
"""Running lines come again on every page."""
_ROMAN = re.compile(r"^(?=[ivxlc])(?:x[cl]|l?x{0,3})(?:ix|iv|v?i{0,3})$", re.I)
_NUMBER = re.compile(
    r"^[\s\-–—|•.\[(]{0,40}+(?:(?:page|pg\.?|p\.|seite|página|pagina|pág\.|стр\.|第)\s{0,9})?"
    r"((?:[A-Z]{1,2}[-–])?\d{1,4}|[ivxlc]{1,7}|[IVXLC]{1,7})"
    r"(?:\s{0,9}(?:of|/|von|de|di|sur|van|из|页|頁|ページ)\s{0,9}\d{0,5})?[\s\-–—|•.\])]{0,40}+$",
    re.I,
)
_DIGITS = re.compile(r"(?:([A-Z]{1,2})[-–])?(\d{1,4})", re.I)
_SPLIT = re.compile(r"\s*[|•·]\s*|\s{2,}|\t")


@dataclass(frozen=True, slots=True)
class EdgeLine:
    """A line near the top or foot of its page.

    ``key`` is its text with every number replaced; ``numbers`` are those in it that may be the page's.
    """

    line: int
    key: str
    text: str
    height: float
    kind: BlockKind
    numbers: tuple["PrintedLabel", ...]
    is_row: bool = False
    """Many lines of its page are like it: those of a table, where any line may be at the edge."""


@dataclass(frozen=True, slots=True)
class PrintedLabel:
    """A page number as printed: ``value`` orders it, ``style`` is its prefix and whether it is roman."""

    text: str
    value: int
    style: str
    height: float
    alone: bool
    """Whether it is the only text on its line."""

    def goes_with(self, other: "PrintedLabel", pages_before: int) -> bool:
        """Return whether the other number is that many pages before this one in the same numbering."""
        same_count = self.style == other.style and self.value - other.value == pages_before
        return same_count and abs(self.height - other.height) < 0.03


def window(page_index: int, page_count: int) -> range:
    """Return the pages to compare a page with, itself among them."""
    first = max(0, min(page_index - WINDOW // 2, page_count - WINDOW))
    return range(first, min(first + WINDOW, page_count))


def edge_lines(lines: Sequence[Line], height: float) -> list[EdgeLine]:
    """Return the outermost lines of a page, unless they are too far inside it."""
    ordered = sorted(range(len(lines)), key=lambda number: lines[number].top)
    texts = ["\t".join(segment.text for segment in line.segments) for line in lines]
    alike = Counter(map(_key, texts))
    found = []
    heads, feet = ordered[:_EDGE_LINES], ordered[_EDGE_LINES:][-_EDGE_LINES:]
    for kind, numbers in ((BlockKind.HEADER, heads), (BlockKind.FOOTER, feet if len(ordered) > 1 else [])):
        for number in numbers:
            line, text = lines[number], texts[number]
            place = (line.top + line.bottom) / max(2 * height, 1.0)
            if len(text) <= 160 and (place < _EDGE_SHARE or place > 1 - _EDGE_SHARE):
                kind = BlockKind.HEADER if place < 0.5 else BlockKind.FOOTER
                key = _key(text)
                is_row = alike[key] > _MIN_ROWS and any(map(str.isalpha, key))
                found.append(EdgeLine(number, key, text, place, kind, _numbers(text, place), is_row))
    return found


def running_lines(page_index: int, edges: Mapping[int, Sequence[EdgeLine]]) -> dict[int, BlockKind]:
    """Return the lines of a page that are on its neighbours too, at the same height."""
    others = [lines for index, lines in edges.items() if index != page_index and lines]
    needed = min(2, len(others))
    if not needed:
        return {}
    return {
        own.line: own.kind
        for own in edges[page_index]
        if not own.is_row
        and sum(
            any(own.key == other.key and abs(own.height - other.height) < 0.02 for other in lines) for lines in others
        )
        >= needed
    }


def printed_label(page_index: int, edges: Mapping[int, Sequence[EdgeLine]]) -> str | None:
    """Return the number printed on a page if its neighbours carry on the same count at the same height, else None."""
    counted = {index: [number for line in lines for number in line.numbers] for index, lines in edges.items()}
    needed = min(_AGREEING, max(2, len(edges)))
    series: Counter[tuple[int, PrintedLabel]] = Counter()
    for index, numbers in counted.items():
        for number in numbers:
            series[index, number] = sum(
                any(number.goes_with(other, index - elsewhere) for other in others)
                for elsewhere, others in counted.items()
            )

    def is_believed(number: PrintedLabel, agreeing: int, *, least: int) -> bool:
        return agreeing >= (min(2, least) if number.alone else least)

    own = [
        number
        for number in counted.get(page_index, [])
        if is_believed(number, series[page_index, number], least=needed)
    ]
    if own:
        return max(own, key=lambda number: (series[page_index, number], number.alone)).text
    if not series:
        return None
    (index, number), agreeing = max(series.items(), key=lambda entry: entry[1])
    value = number.value + page_index - index
    return str(value) if is_believed(number, agreeing, least=_AGREEING) and not number.style and value > 0 else None


@lru_cache(_LINES_KEPT)
def _key(text: str) -> str:
    words = re.sub(r"\d+", "#", text.lower()).split()
    return " ".join("#" if _ROMAN.match(word) else word for word in words)


def _numbers(text: str, height: float) -> tuple[PrintedLabel, ...]:
    found = {}
    for candidate in _candidates(text):
        if printed := _printed(candidate, height, alone=candidate == text.strip()):
            found[printed.text] = printed
    return tuple(found.values())


@lru_cache(_LINES_KEPT)
def _candidates(text: str) -> tuple[str, ...]:
    """Return the parts of a line that may be its page's number: the whole line, or the text at one of its ends."""
    parts = [text, *_SPLIT.split(text)]
    words = text.split()
    if len(words) > 1:
        parts += [words[-1]] if words[0].endswith(".") else [words[0], words[-1]]  # "3. Storage" is a heading
    return tuple(dict.fromkeys(match.group(1) for part in parts if (match := _NUMBER.match(part))))


def _printed(text: str, height: float, *, alone: bool) -> PrintedLabel | None:
    if found := _DIGITS.fullmatch(text):
        value = int(found[2])
        if 1900 <= value <= 2100 or value == 0:
            return None
        return PrintedLabel(text, value, (found[1] or "").upper(), height, alone)
    if _ROMAN.match(text) and (text.islower() or text.isupper()):
        return PrintedLabel(text, _roman_value(text.lower()), "roman", height, alone)
    return None


def _roman_value(text: str) -> int:
    values = [{"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}[letter] for letter in text]
    return sum(-v if following > v else v for v, following in zip(values, [*values[1:], 0], strict=True))
