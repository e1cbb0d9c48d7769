"""Two printed pages on one sheet, told by their numbers: one on each half, the right one more by one."""

from itertools import pairwise

from core.domain.documents import Block, Page


def halves(page: Page) -> dict[str, tuple[int, int]]:
    """The first and last character of each half by the number that is printed on it; empty for any other page."""
    placed = [(middle, block) for block in page.blocks if (middle := _middle(page, block)) is not None]
    numbers = sorted((middle, text) for middle, block in placed if (text := _text(page, block)).isdecimal())
    for (left, first), (right, second) in pairwise(numbers):
        if left < 0.5 < right and int(second) == int(first) + 1:
            sides = [[block for middle, block in placed if (middle < 0.5) == is_left] for is_left in (True, False)]
            said = [[one for one in side if not _text(page, one).isdecimal()] for side in sides]
            if all(said):
                spans = [(min(one.start for one in side), max(one.end for one in side)) for side in said]
                return dict(zip((first, second), spans, strict=True)) if spans[0][1] <= spans[1][0] else {}
    return {}


def _text(page: Page, block: Block) -> str:
    return page.text[block.start : block.end].strip()


def _middle(page: Page, block: Block) -> float | None:
    """Where its middle is from left to right, as a share of the page's width; None where its place is not known."""
    boxes = [word.box for word in page.words if block.start <= word.start < block.end]
    return (min(box.left for box in boxes) + max(box.right for box in boxes)) / 2 if boxes else None
