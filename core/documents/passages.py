"""Pages to passages: stretches of one page's text that respect blocks, lines and headings and know their position.

Owns where a passage begins and ends and what context is indexed with it. Reading and storing are others' work.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from pincite.core.domain.documents import FURNITURE, Block, BlockKind, OutlineEntry, Page, Passage

TARGET_CHARACTERS = 700
MAX_CHARACTERS = 900
MAX_HEADING_LENGTH = 120
MAX_HEADINGS = 8
"""The innermost of the headings in force that are indexed with a passage."""
MAX_COLUMN_HEADS_LENGTH = 300
MIN_CHARACTERS = 200
"""A heading closes the passage before it only when that is at least this long."""

_NUMBERED = re.compile(r"^\W*\d+(?:\.\d+)*\.?\s+")
_NUMBERING = re.compile(r"(?:chapter|section|part|appendix|annex|item|article|note)?(?:\d{0,6}|[ivxlc]{1,6}|[a-z])")
_LINE_END = re.compile(r"\n+")
_SENTENCE_END = re.compile(r"(?<=[.!?…。！？؟])[\"'”’)\]]*\s+|(?<=[。！？])")


@dataclass(slots=True)
class HeadingTrail:
    """The headings in force at a point of the document, outermost first."""

    entries: list[tuple[int, str]] = field(default_factory=list)

    def enter(self, title: str, level: int) -> None:
        self.entries = [(depth, text) for depth, text in self.entries if depth < level]
        self.entries.append((level, " ".join(title[: 2 * MAX_HEADING_LENGTH].split())[:MAX_HEADING_LENGTH]))

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(text for _, text in self.entries[-MAX_HEADINGS:])


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    kind: BlockKind
    level: int = 0
    column_heads: str = ""


class Splitter:
    """Splits a document's pages, in order; the heading trail runs on, led by the outline where there is one."""

    def __init__(self, document_id: str, title: str, outline: Sequence[OutlineEntry] = ()) -> None:
        self._document_id, self._title = document_id, title
        self._trail = HeadingTrail()
        self._from_blocks = not outline
        self._coming = deque(sorted(outline, key=lambda entry: entry.page_index))

    def split(self, page: Page) -> list[Passage]:
        """Return the passages of the next page; those between may be left out, but not their outline entries."""
        while self._coming and self._coming[0].page_index < page.page_index:
            entry = self._coming.popleft()
            self._trail.enter(entry.title, entry.level)
        entries = []
        while self._coming and self._coming[0].page_index == page.page_index:
            entries.append(self._coming.popleft())
        passages = _split_page(
            page, self._document_id, self._title, self._trail, entries, headings_from_blocks=self._from_blocks
        )
        return list(passages)


def split_pages(
    pages: Iterable[Page], *, document_id: str, title: str, outline: Sequence[OutlineEntry] = ()
) -> Iterator[Passage]:
    """Yield the passages of pages in order."""
    splitter = Splitter(document_id, title, outline)
    return (passage for page in pages for passage in splitter.split(page))


def _split_page(
    page: Page,
    document_id: str,
    title: str,
    trail: HeadingTrail,
    entries: Sequence[OutlineEntry],
    *,
    headings_from_blocks: bool,
) -> Iterator[Passage]:
    pieces = list(_pieces(page))
    contents = [block for block in page.blocks if block.kind is BlockKind.CONTENTS]
    due = deque(_placed(entries, page.text, pieces))
    group: list[_Piece] = []
    path = trail.path
    number = 0
    for piece in pieces:
        heads = piece.kind is BlockKind.HEADING or bool(due and due[0][0] <= piece.start)
        opens = heads and not (group and group[-1].kind is BlockKind.HEADING)
        length = piece.end - group[0].start if group else 0
        full = length > MAX_CHARACTERS or (group and group[-1].end - group[0].start >= TARGET_CHARACTERS)
        full = full or any(listed.start < piece.start <= listed.end + 1 for listed in contents)
        if group and (full or (opens and group[-1].end - group[0].start >= MIN_CHARACTERS)):
            yield _passage(page, group, document_id, title, path, number)
            number += 1
            group = []
        while due and due[0][0] <= piece.start:
            _, entry = due.popleft()
            trail.enter(entry.title, entry.level)
        if piece.kind is BlockKind.HEADING and headings_from_blocks:
            trail.enter(page.text[piece.start : piece.end], max(piece.level, 1))
        if not group or group[-1].kind is BlockKind.HEADING:
            path = trail.path
        group.append(piece)
    for _, entry in due:
        trail.enter(entry.title, entry.level)
    if group:
        yield _passage(page, group, document_id, title, path, number)


def _placed(entries: Sequence[OutlineEntry], text: str, pieces: Sequence[_Piece]) -> Iterator[tuple[int, OutlineEntry]]:
    """Where on the page each entry's section begins: at the line that is its title, else where the one before does."""
    place, at = 0, 0
    for entry in entries:
        wanted = _letters(_NUMBERED.sub("", entry.title))
        own = (i for i in range(at, len(pieces)) if _is_title(text[pieces[i].start : pieces[i].end], wanted))
        found = next(own, None)
        if found is not None:
            place, at = pieces[found].start, found + 1
        yield place, entry


def _is_title(text: str, wanted: str) -> bool:
    """Return whether the first line, or the first two, are the title, with or without a number."""
    lines = [_letters(line) for line in text.split("\n", 2)[:2]]
    return bool(wanted) and any(
        line.endswith(wanted) and _NUMBERING.fullmatch(line, 0, len(line) - len(wanted))
        for line in (lines[0], "".join(lines))
    )


def _letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _pieces(page: Page) -> Iterator[_Piece]:
    """Yield the page's blocks without those that state nothing (unless there are no others), cut where too long."""
    blocks: Sequence[Block] = page.blocks or [
        Block(start, end, BlockKind.PARAGRAPH) for start, end in _spans(page.text, 0, len(page.text), _LINE_END)
    ]
    body = [block for block in blocks if block.kind not in FURNITURE]
    body = body or [block for block in blocks if block.kind is not BlockKind.CONTENTS]
    for block in body:
        for start, end in _cut(page.text, block.start, block.end):
            yield _Piece(start, end, block.kind, block.level, block.column_heads)


def _cut(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Cut a stretch into parts of at most MAX_CHARACTERS: at line ends, else sentence ends, else white space."""
    if end - start <= MAX_CHARACTERS:
        return [(start, end)] if text[start:end].strip() else []
    for boundary in (_LINE_END, _SENTENCE_END):
        spans = _spans(text, start, end, boundary)
        if len(spans) > 1:
            return [part for left, right in _join(spans) for part in _cut(text, left, right)]
    parts = []
    while end - start > MAX_CHARACTERS:
        middle = start + TARGET_CHARACTERS
        space = text.rfind(" ", start + 1, middle)
        middle = space if space > start else middle
        parts.append((start, middle))
        start = middle
    return [(left, right) for left, right in [*parts, (start, end)] if text[left:right].strip()]


def _join(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join neighbouring spans up to the target size; always at least two parts so that cutting ends."""
    joined = [spans[0]]
    for start, end in spans[1:]:
        if end - joined[-1][0] <= TARGET_CHARACTERS:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _spans(text: str, start: int, end: int, boundary: re.Pattern[str]) -> list[tuple[int, int]]:
    spans = []
    left = start
    for match in boundary.finditer(text, start, end):
        spans.append((left, match.start()))
        left = match.end()
    spans.append((left, end))
    return [(a, b) for a, b in spans if text[a:b].strip()]


def _passage(
    page: Page, group: Sequence[_Piece], document_id: str, title: str, path: tuple[str, ...], number: int
) -> Passage:
    start, end = group[0].start, group[-1].end
    heads = list(dict.fromkeys(piece.column_heads[:MAX_COLUMN_HEADS_LENGTH] for piece in group if piece.column_heads))
    text = page.text[start:end]
    context = [title, *path, *(head for head in heads if head not in text)]
    return Passage(
        id=f"{document_id}:{page.page_index}:{number}",
        document_id=document_id,
        page_index=page.page_index,
        page_label=page.page_label,
        text=text,
        start=start,
        end=end,
        heading_path=path,
        context="\n".join(part for part in context if part),
    )
