"""Two printed pages on one sheet, recognised by their numbers: one on each half, the right one more by one."""

from itertools import pairwise

from pincite.core.domain.documents import Block, Page
from pincite.core.domain.page_layout import PackedWords

_MAX_NUMBER_LENGTH = 5


def halves(page: Page) -> dict[str, tuple[int, int]]:
    """The first and last character of each half by the number that is printed on it; empty for any other page."""
    numbers = {int(text) for block in page.blocks if _is_number(text := _text(page, block))}
    if not any(number + 1 in numbers for number in numbers):
        return {}
    placed = _placed(page)
    printed = sorted((middle, text) for middle, block in placed if _is_number(text := _text(page, block)))
    for (left, first), (right, second) in pairwise(printed):
        if left < 0.5 < right and int(second) == int(first) + 1:
            sides = [[block for middle, block in placed if (middle < 0.5) == is_left] for is_left in (True, False)]
            words_of_sides = [[one for one in side if not _is_number(_text(page, one))] for side in sides]
            if all(words_of_sides):
                spans = [(min(one.start for one in side), max(one.end for one in side)) for side in words_of_sides]
                return dict(zip((first, second), spans, strict=True)) if spans[0][1] <= spans[1][0] else {}
    return {}


def _text(page: Page, block: Block) -> str:
    return page.text[block.start : block.end].strip()


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) <= _MAX_NUMBER_LENGTH


def _placed(page: Page) -> list[tuple[float, Block]]:
    """Return the blocks with a known place, each with its middle from left to right as a share of the page's width."""
    words = PackedWords.of(page.words)
    starts, boxes = words.spans[:, 0], words.boxes
    inside = [(block, boxes[(starts >= block.start) & (starts < block.end)]) for block in page.blocks]
    return [(float(own[:, 0].min() + own[:, 2].max()) / 2, block) for block, own in inside if len(own)]
