"""The stretches of documents that a question names by their place: pages by label, sections and tables by number.

A place is found by the structure of the pages: their labels, and the numbers that headings, list items and captions
begin with.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pincite.core.domain.documents import FURNITURE, Block, BlockKind, Page
from pincite.core.domain.spreads import halves

CAPTIONED = ("tab", "fig", "chart", "exh", "equ", "alg")
"""Prefixes of the names of things that have their number only after the name: tables, figures, charts."""
STEM = 3
"""Letters by which "Fig. 2" and "figure 2" are the same."""
MAX_CHARACTERS = 4_000
_NUMBER = re.compile(
    r"\W{0,3}(?:[^\W\d]{1,20}\.?\s{1,3}|§\s?)?(?P<number>[A-Z]?\d{1,4}(?:[.-]\d{1,4}){0,6}|[IVXLC]{1,8})(?![\w]|[.-]\d)"
)
_WORD = re.compile(r"\w+")
_BEFORE_A_TITLE = re.compile(
    r"^\W{0,3}(?:(?:section|clause|chapter|article|appendix|annex|schedule|part|table|figure)\s{1,3}(?:\d[\d.]{0,8}|[A-Z]|"
    r"[IVXLC]{1,6})|\d{1,3}(?:\.\d{1,3}){0,4}|(?:[A-Z]|[IVXLC]{1,6})(?=[.)]))(?:[.):–—-]|\s){1,5}",
    re.IGNORECASE,
)
_STRUCTURAL = (BlockKind.HEADING, BlockKind.LIST_ITEM)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Part of a page's text."""

    page: Page
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.page.text[self.start : self.end]


def pages_called(names: Sequence[str], pages: Sequence[Page], page_count: int) -> list[Stretch]:
    """Whole pages by what is printed on them, of two on a sheet that half; by position where nothing is printed so.

    `pages` are those of one document that are read, of `page_count`.
    """
    halved = {name: Stretch(page, *span) for page in pages for name, span in halves(page).items()}
    found: list[Page] = []
    for name in names:
        if name in halved:
            continue
        position = {"first": 1, "last": page_count}.get(name) or (int(name) if name.isdigit() else 0)
        printed = [page for page in pages if page.page_label.casefold() == name.casefold()]
        found += printed or [page for page in pages if page.page_index == position - 1]
    return [halved[name] for name in names if name in halved] + [
        stretch
        for page in {page.page_index: page for page in found}.values()
        for stretch in _stretches(_places([page])) or [Stretch(page, 0, len(page.text))]
        if stretch.text.strip()
    ]


def numbered(names: Sequence[str], pages: Sequence[Page]) -> list[Stretch]:
    """What goes by names such as "section 6" or "Table 2", over the page's end where it goes on; the longest there is.

    A table of contents names it too, but holds less of it. Of several places of one name the one within the place of
    another name is meant, and comes first: "§ 3 of Article III".
    """
    runs = {name: list(_runs_of(name, pages)) for name in names}
    longest = {name: max(own, key=_length) for name, own in runs.items() if own}
    found: list[tuple[bool, list[Stretch]]] = []
    for name, own in runs.items():
        around = [one for other, run in longest.items() if other != name for one in run]
        inside = [cut for run in own if (cut := [piece for one in run for piece in _within(one, around)])]
        if chosen := max(inside, key=_length, default=longest.get(name, [])):
            found.append((not inside, chosen))
    return [one for _, run in sorted(found, key=lambda one: one[0]) for one in run]


def _runs_of(name: str, pages: Sequence[Page]) -> Iterator[list[Stretch]]:
    kind, _, number = name.rpartition(" ")
    places = list(_places(pages))
    for at, (page, block) in enumerate(places):
        if _is_called(kind, number, page, block):
            yield _stretches(_run(places, at, number))


def _length(run: Sequence[Stretch]) -> int:
    return sum(len(one.text) for one in run)


def _within(one: Stretch, around: Sequence[Stretch]) -> Iterator[Stretch]:
    """Yield what of a stretch that begins within another is within it."""
    for outer in around:
        if one.page == outer.page and outer.start < one.start < outer.end:
            yield Stretch(one.page, one.start, min(one.end, outer.end))


def titled(title: str, pages: Sequence[Page]) -> list[Stretch]:
    """Return the text under the heading with this title, with or without its number; of several the longest."""
    places = list(_places(pages))
    runs = [
        _stretches(_run(places, at, number_of(heading)))
        for at, (page, block) in enumerate(places)
        if block.kind is BlockKind.HEADING
        and _plain(title) in (_plain(heading := page.text[block.start : block.end]), _plain(title_of(heading)))
    ]
    return max(runs, key=lambda run: sum(len(one.text) for one in run), default=[])


def titles(pages: Sequence[Page]) -> list[str]:
    """Return the headings of pages without their numbers, each once."""
    headings = ((page, block) for page, block in _places(pages) if block.kind is BlockKind.HEADING)
    return list(dict.fromkeys(title_of(page.text[block.start : block.end]) for page, block in headings))


def title_of(heading: str) -> str:
    """Return a heading's own words, without the number that it begins with: "Price" of "Clause 3 – Price"."""
    return _BEFORE_A_TITLE.sub("", " ".join(heading.split()), count=1)


def _plain(text: str) -> str:
    return " ".join(word.casefold() for word in _WORD.findall(text))


def is_on(name: str, pages: Sequence[Page]) -> bool:
    """Whether the number of a place such as "clause 7.1" is anywhere on these pages, not as a part of another one."""
    number = re.compile(rf"(?<![\w.]){re.escape(name.rpartition(' ')[2])}(?!\w|\.\d)", re.IGNORECASE)
    return any(number.search(page.text) for page in pages)


def _places(pages: Sequence[Page]) -> Iterator[tuple[Page, Block]]:
    """Return every block in reading order, but for headers, footers and tables of contents."""
    return ((page, block) for page in pages for block in page.blocks if block.kind not in FURNITURE)


def _is_called(kind: str, number: str, page: Page, block: Block) -> bool:
    text = page.text[block.start : block.end]
    stem = kind.casefold()[:STEM]
    if re.match(rf"\W{{0,3}}{re.escape(stem)}\w*\.?\s{{0,3}}{re.escape(number)}(?!\w|[.-]\d)", text, re.IGNORECASE):
        return True
    return (
        block.kind in _STRUCTURAL and not kind.casefold().startswith(CAPTIONED) and number_of(text) == number.casefold()
    )


def number_of(text: str) -> str:
    """Return the number that a text begins with, behind at most one word; empty if there is none."""
    match = _NUMBER.match(text)
    return match["number"].casefold() if match else ""


def _name_before_number(text: str) -> str:
    """Return what is before the number that a text begins with: "§" of "§ 7 Boats …"; empty if it begins with none."""
    match = _NUMBER.match(text)
    return text[: match.start("number")].strip().casefold() if match else ""


def _run(places: Sequence[tuple[Page, Block]], at: int, number: str) -> Iterator[tuple[Page, Block]]:
    """From a block to the next that begins something else."""
    own, length = places[at][1], 0
    called = _name_before_number(places[at][0].text[own.start : own.end])
    for page, block in places[at:]:
        text = page.text[block.start : block.end]
        begins = block.kind in _STRUCTURAL and block is not own
        inside = number_of(text).startswith(f"{number.casefold()}.")
        if begins and not inside and (block.kind is BlockKind.HEADING or own.kind is BlockKind.LIST_ITEM):
            return
        if called and block is not own and not inside and _name_before_number(text) == called:
            return
        yield page, block
        length += block.end - block.start
        if length >= MAX_CHARACTERS:
            return


def _stretches(places: Iterable[tuple[Page, Block]]) -> list[Stretch]:
    """Return a stretch for each page, from its first block to its last."""
    found: dict[int, Stretch] = {}
    for page, block in places:
        before = found.get(page.page_index, Stretch(page, block.start, block.end))
        found[page.page_index] = Stretch(page, min(before.start, block.start), max(before.end, block.end))
    return list(found.values())
