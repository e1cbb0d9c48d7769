"""A passage cut into what can be quoted: sentences, rows of tables, and short lines with what follows them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pincite.core.domain.answers import AnswerPart, PartKind, Span
from pincite.core.domain.documents import COMMENT, PROPOSAL, TICKED, UNTICKED
from pincite.core.domain.search import Evidence
from pincite.core.text.sentences import split_sentences
from pincite.core.text.terms import content_terms

SHORT_LINE_WORDS = 9
MAX_UNIT_WORDS = 42
"""A heading or a short line takes the lines after it along, up to here."""
LONG_WORD = 8
"""Letters; more come between spaces only where a language has none."""
CELLS = "\t"
"""Separator between the cells of a table row."""
_CELL = re.compile(r"[^\t\s](?:[^\t\n]*[^\t\s])?")
LABELLED = re.compile(r"[^:\t]{2,60}: \S")
SENTENCE_ENDS = (".", "!", "?", "。", "！", "？", "।")
SIGNED = "Signed: "
"""Label of the lines below the last sentence of a letter or a contract, which do not contain it; read before them."""
MAX_SIGNED_WORDS = 60
SIGNED_TERMS = frozenset(content_terms(SIGNED))


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, a table row, or a short line with what follows it; positions are in the passage's text."""

    item: Evidence
    start: int
    end: int
    text: str
    """With white space drawn together, as it is measured."""
    terms: tuple[str, ...]
    torn: tuple["Unit", ...] = ()
    """Both halves of a sentence that continues on the next page; this unit is one of them."""

    @property
    def place(self) -> tuple[str, int]:
        """Its passage, and where it begins in it."""
        return self.item.passage.id, self.start

    @property
    def proposal(self) -> int | None:
        """Where the proposed change or the comment begins that the unit holds or belongs to; None without one."""
        text = self.item.passage.text
        at = max(text.rfind(PROPOSAL, 0, self.end), text.rfind(COMMENT, 0, self.end))
        return at if at >= 0 and (at >= self.start or "]" not in text[at : self.start]) else None

    @property
    def quoted(self) -> str:
        """Return the words verbatim."""
        return self.item.passage.text[self.start : self.end]


def units_of(item: Evidence) -> list[Unit]:
    text = item.passage.text
    cut = [
        (span, len(cells) > 1) for row in split_sentences(text) for cells in [_labelled(text, row)] for span in cells
    ]
    lines = [_Line.of(text[span.start : span.end], cell) for span, cell in cut]
    units = []
    for first, (span, _) in enumerate(cut):
        end = cut[_last_of_unit(lines, first)][0].end
        quoted = " ".join(text[span.start : end].split())
        units.append(Unit(item, span.start, end, quoted, tuple(content_terms(quoted))))
    return units


def _labelled(text: str, span: Span) -> list[Span]:
    """Return the cells or lines one by one, if each is labelled: "For the buyer: A	For the seller: B"."""
    cells = [Span(*match.span()) for match in _CELL.finditer(text, span.start, span.end)]
    begun = all(LABELLED.match(text, cell.start, cell.end) for cell in cells)
    goes_on = any(text[cell.start].islower() or text[cell.start].isdigit() for cell in cells[1:])
    return cells if begun and not goes_on else [span]


@dataclass(frozen=True, slots=True)
class _Line:
    words: int
    """As many as it is long, where they are written without spaces."""
    alone: bool
    """A row of a table, or a line with its own label: "Number of the policy: 12"."""
    finished: bool
    announces: bool

    @classmethod
    def of(cls, text: str, cell: bool) -> "_Line":
        alone = (
            cell
            or CELLS in text
            or TICKED in text
            or UNTICKED in text
            or (bool(LABELLED.match(text)) and not text.endswith(SENTENCE_ENDS))
        )
        words = max(len(text.split()), len(text) // LONG_WORD)
        return cls(words, alone, alone or text.endswith(SENTENCE_ENDS), text.endswith(":"))


def _last_of_unit(lines: Sequence[_Line], first: int) -> int:
    own = lines[first]
    if not own.announces and (own.finished or own.words > SHORT_LINE_WORDS):
        return first
    last, words = first, own.words
    while last + 1 < len(lines) and not lines[last + 1].alone and words + lines[last + 1].words <= MAX_UNIT_WORDS:
        last += 1
        words += lines[last].words
        if not own.announces and (lines[last].finished or lines[last].words > SHORT_LINE_WORDS):
            break
    return last


def torn(units: Sequence[list[Unit]]) -> list[list[Unit]]:
    """Return the units, where a page ends in mid-sentence and the next begins so: each half knows both."""
    last: dict[tuple[str, int], Unit] = {}
    first: dict[tuple[str, int], Unit] = {}
    for own in units:
        for unit in own:
            page = unit.item.passage.page
            place = unit.item.passage.start + unit.start
            if page not in first or place < first[page].item.passage.start + first[page].start:
                first[page] = unit
            if not unit.text.endswith(SENTENCE_ENDS) and len(unit.text.split()) > SHORT_LINE_WORDS:
                last[page] = max(last.get(page, unit), unit, key=lambda one: one.item.passage.start + one.start)
    halves: dict[tuple[str, int], tuple[Unit, Unit]] = {}
    for (document_id, page_index), head in last.items():
        rest = first.get((document_id, page_index + 1))
        if rest is not None and rest.text[:1].islower():
            halves |= {head.place: (head, rest), rest.place: (head, rest)}
    return [[replace(unit, torn=halves.get(unit.place, ())) for unit in own] for own in units]


def signed(units: Sequence[Unit]) -> list[Unit]:
    """Return the units of a passage, those below its last sentence with what they are among their terms."""
    below = max((at for at, unit in enumerate(units, start=1) if unit.text.endswith(SENTENCE_ENDS)), default=0)
    if not units[below:] or len(units[below].item.passage.text[units[below].start :].split()) > MAX_SIGNED_WORDS:
        return list(units)
    return [*units[:below], *(replace(unit, terms=(*unit.terms, *SIGNED_TERMS)) for unit in units[below:])]


def _opened_before(text: str, at: int) -> int:
    """Return where the proposed change or the comment begins that a place is in; -1 if it is in none."""
    begins = max(text.rfind(PROPOSAL, 0, at), text.rfind(COMMENT, 0, at))
    return begins if begins >= 0 and "]" not in text[begins:at] else -1


def with_whole_brackets(text: str, start: int, end: int) -> Span:
    """Return a span that begins and ends in no proposed change or comment, so that what it has of one is labelled."""
    begins = _opened_before(text, start)
    closes = text.find("]", end) + 1 if _opened_before(text, end) >= 0 else 0
    return Span(begins if begins >= 0 else start, closes or end)


def quotation_of(unit: Unit) -> AnswerPart:
    """Quote a unit; for a part of a proposed change, with the words that name its author."""
    start = unit.start if unit.proposal is None else min(unit.start, unit.proposal)
    return AnswerPart(unit.item.passage.text[start : unit.end], (unit.item.number,), PartKind.VERBATIM, start)


def repeats(unit: Unit, other: Unit) -> bool:
    overlap = unit.item is other.item and unit.start < other.end and other.start < unit.end
    return overlap or unit.text in other.text
