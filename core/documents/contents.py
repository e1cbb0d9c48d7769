"""Tables of contents: they name places and state nothing, so that they are neither searched nor tables of figures."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from pincite.core.domain.documents import FURNITURE, Block, BlockKind

MIN_PAGES, LAST_PLACE = 8, 20
"""Minimum number of pages of a document that has one, and number of first pages that it may be on."""
MIN_ENTRIES, SHARE, RISING = 6, 0.5, 0.9
FRONT_MATTER = 30
"""Pages that are counted apart, so that a page's number and its place in the file differ."""
_PAGE = re.compile(r"(?:\t|(?:[.…]\s?){3}) ?(\d{1,3})$")


def with_contents(text: str, blocks: Sequence[Block], page_index: int, page_count: int) -> tuple[Block, ...]:
    """Blocks of a page, with those of a table of contents marked: lines that each end with a page."""
    body = [at for at, block in enumerate(blocks) if block.kind not in FURNITURE]
    pages = {at: int(found[1]) for at in body if (found := _entry(text[blocks[at].start : blocks[at].end]))}
    rising = sum(one <= other for one, other in pairwise(pages.values()))
    if (
        page_count < MIN_PAGES
        or page_index >= LAST_PLACE
        or len(pages) < MIN_ENTRIES
        or rising < RISING * (len(pages) - 1)
        or len(set(pages.values())) <= MIN_ENTRIES // 2
        or max(pages.values()) > page_count + FRONT_MATTER
    ):
        return tuple(blocks)
    listed = [at for at in body if min(pages) <= at <= max(pages)]
    if len(pages) < SHARE * len(listed):
        return tuple(blocks)
    return tuple(replace(one, kind=BlockKind.CONTENTS) if at in listed else one for at, one in enumerate(blocks))


def _entry(line: str) -> re.Match[str] | None:
    """Return the page at the end of a line that has words, and between its first and its last cell no figure."""
    figures = (any(map(str.isdigit, cell)) and not any(map(str.isalpha, cell)) for cell in line.split("\t")[1:-1])
    return _PAGE.search(line) if any(map(str.isalpha, line)) and not any(figures) else None
