"""The value of a grid's cell: what an answer states, as a value of its column's kind."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from decimal import Decimal

from pincite.core.domain.answers import AnswerPart, Form, PartKind
from pincite.core.domain.documents import Document
from pincite.core.domain.grids import Cell, CellState, Column, ColumnKind
from pincite.core.domain.presentation import MIN_DECLINE_CONFIDENCE, Tier, present
from pincite.core.domain.turns import Turn, TurnStatus
from pincite.core.text.numbers import Quantity, quantities
from pincite.core.text.plain import flat

MAX_VALUE_LENGTH, MAX_SENTENCE_LENGTH = 300, 160
_ISO = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?")
_FIGURE = re.compile(r"[-−]?\d{1,30}(?:\.\d{1,30})?(?: ?%)?")
DECIMAL_OR_THOUSAND = re.compile(r"(?<![\d.,])\d{1,3}\.\d{3}(?![\d.,])")
"""As in "1.200", which is a thousand more in Berlin than in London."""
DECIDE = "These words decide it. Read them, and choose yes or no."
LONG = "These words answer; which of them are the value is not sure."
CHOOSE = "These words name the choice. Read them: they may also deny it."
NO_VALUE = "The words that may answer hold no single {}."
MAY_ANSWER = "The most relevant words; it is not sure that they answer."
MAY_BE_STATED = "Nothing was found, but that is not sure."


def cell_of(column: Column, document: Document, turn: Turn, pages_read: int) -> Cell:
    """Return the cell that an answered turn gives."""
    shown, verdict = present(turn), turn.verdict
    cell = Cell(document.id, column.id, CellState.UNCLEAR, confidence=verdict.confidence if verdict else None,
                pages_read=pages_read)  # fmt: skip
    if shown.form is Form.NOT_FOUND:
        if verdict and verdict.confidence >= MIN_DECLINE_CONFIDENCE and turn.status is TurnStatus.ANSWERED:
            return replace(cell, state=CellState.NOT_STATED)
        return replace(cell, detail=MAY_BE_STATED)
    answer = _answering(turn.parts)
    cited = [one for one in turn.citations if one.number in {number for part in answer for number in part.numbers}]
    cell = replace(cell, citations=tuple(cited or turn.citations[:1]))
    if shown.form is Form.EVIDENCE or not answer:
        return replace(cell, value=_value(column, _likeliest(turn.parts)), detail=MAY_ANSWER)
    value = _value(column, answer)
    if turn.status is TurnStatus.FLAGGED:
        return replace(cell, state=CellState.NEEDS_REVIEW, value=value, detail=" ".join(turn.reasons))
    if not value:
        words = DECIDE if column.kind is ColumnKind.YES_NO else NO_VALUE.format(column.kind.replace("_", " "))
        return replace(cell, detail=words)
    if shown.tier is not Tier.ANSWERED:
        return replace(cell, value=value, detail=shown.warning)
    if column.kind is ColumnKind.TEXT and answer[0].kind is PartKind.VERBATIM and len(value) > MAX_SENTENCE_LENGTH:
        return replace(cell, value=value, detail=LONG)
    if column.kind is ColumnKind.CHOICE and flat(answer[0].text).casefold() != value.casefold():
        return replace(cell, value=value, detail=CHOOSE)
    return replace(cell, state=CellState.FOUND, value=value)


def fits(kind: ColumnKind, value: str) -> bool:
    """Return whether a person's value is of a kind."""
    value = value.strip()
    if kind is ColumnKind.DATE:
        return bool(_ISO.fullmatch(value)) and _is_date(f"{value}-01-01"[:10])
    if kind is ColumnKind.NUMBER:
        return bool(_FIGURE.fullmatch(value))
    return True


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _answering(parts: Sequence[AnswerPart]) -> list[AnswerPart]:
    """Return the parts that state something of the document, the short answer first."""
    return [part for part in parts if part.verbatim or part.kind is PartKind.FIGURE]


def _likeliest(parts: Sequence[AnswerPart]) -> list[AnswerPart]:
    """Return the words of the first listed passage that most likely answer, for a person to approve."""
    marked = ((part, span) for part in parts for span in part.marked)
    return [replace(part, text=part.text[span.start : span.end], marked=()) for part, span in marked][:1]


def _value(column: Column, answer: Sequence[AnswerPart]) -> str:
    """Return the value; empty if the words have none of this kind, or several."""
    if not (texts := [flat(part.text) for part in answer]):
        return ""
    match column.kind:
        case ColumnKind.TEXT:
            return texts[0][:MAX_VALUE_LENGTH]
        case ColumnKind.LIST:
            return "; ".join(dict.fromkeys(texts))[:MAX_VALUE_LENGTH]
        case ColumnKind.YES_NO:
            return ""
        case ColumnKind.CHOICE:
            return _choice(column.choices, texts[0])
        case ColumnKind.DATE | ColumnKind.AMOUNT | ColumnKind.NUMBER:
            return _first(only(iter(values_in(column.kind, text))) for text in texts)


def _choice(choices: Sequence[str], text: str) -> str:
    """Return the only choice that a text names in whole words; one within a longer one does not count."""
    rest, found = text.casefold(), []
    for choice in sorted(choices, key=len, reverse=True):
        rest, times = re.subn(rf"(?<!\w){re.escape(choice.casefold())}(?!\w)", " ", rest)
        found += [choice] * bool(times)
    return only(iter(found))


def _dates(text: str) -> Iterator[str]:
    for one in quantities(text):
        year, month, day = one.date
        if one.kind != "date" or not year or not _stands_alone(text, one):
            continue
        if month and day:
            with suppress(ValueError):  # "31 February 2025"
                yield date(year, month, day).isoformat()
        elif 1 <= month <= 12:
            yield f"{year:04d}-{month:02d}"
        elif text.strip() == one.text.strip():  # else a number may only look like a year
            yield f"{year:04d}"


def _amounts(text: str, kinds: Sequence[str]) -> Iterator[str]:
    for one in quantities(text):
        if one.kind in kinds and _stands_alone(text, one) and not DECIMAL_OR_THOUSAND.search(one.text):
            unit = "%" if one.kind == "percent" else one.unit if one.kind == "money" else ""
            yield f"{_plain(one)} {unit}".strip()


def _stands_alone(text: str, one: Quantity) -> bool:
    """Return whether nothing joins a figure: "1-2 million", "1 200,50", "03/04/2025" and "(500)" are more than one."""
    lead = len(one.text) - len(one.text.lstrip())
    before, after = text[: one.start + lead].rstrip(), text[one.end :]
    joined = after[:1].isalnum() or after[:1] in ("-", "–", "/") or after.lstrip()[:1].isdigit()
    brackets = before.endswith("(") and after.lstrip().startswith(")") and not before[:-1].strip()
    return not (joined or brackets or before[-1:] in ("-", "–", "/", "−") or "(" in one.text)


def _plain(quantity: Quantity) -> str:
    return format(Decimal(str(quantity.value)).normalize(), "f")


def only(found: Iterator[str]) -> str:
    """Return the one value; empty if there is none or they differ."""
    values = dict.fromkeys(found)
    return next(iter(values)) if len(values) == 1 else ""


def values_in(kind: ColumnKind, text: str) -> list[str]:
    """Return the dates, amounts or numbers of a text, as values of a cell, each once."""
    if kind is ColumnKind.DATE:
        return list(dict.fromkeys(_dates(text)))
    kinds = ("money",) if kind is ColumnKind.AMOUNT else ("number", "money", "percent")
    return list(dict.fromkeys(_amounts(text, kinds)))


def _first(values: Iterator[str]) -> str:
    return next(filter(None, values), "")
