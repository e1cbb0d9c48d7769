"""Limits: one that a question states, how values compare with it, and what a filter of a grid selects."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from pincite.core.answers.typed import DECIMAL_OR_THOUSAND, fits, only, values_in
from pincite.core.domain.grids import CellState, ColumnKind, FilledGrid, Filter, Relation, Selected
from pincite.core.text.numbers import Quantity, quantities

TYPED = (ColumnKind.DATE, ColumnKind.AMOUNT, ColumnKind.NUMBER)
"""Kinds of values that have an order."""
_FIGURE = re.compile(r"([-−]?\d{1,30}(?:\.\d{1,30})?)(?: ?(%|[A-Z]{3}))?")
_OF_DATES = {-1: "before", 0: "within", 1: "after"}
_OF_VALUES = {-1: "less than", 0: "the same as", 1: "more than"}
_GROUPS = re.compile(r"(?<=\d)[ \u00a0\u202f'](?=\d{3}(?!\d))")
_LONG = re.compile(r"(?<![\d.,])\d{4,15}(?![\d.,])")


@dataclass(frozen=True, slots=True)
class Compared:
    """How a figure compares with a limit: less (-1), equal (0) or more (1), and this in words."""

    order: int
    words: str


@dataclass(frozen=True, slots=True)
class Limit:
    """The figure of a question that selects documents by it."""

    quantity: Quantity
    value: str
    """As a value of a cell."""
    kinds: tuple[ColumnKind, ...]
    """Columns that may hold what it limits: a year may be an amount, too."""

    def is_in(self, text: str) -> bool:
        """Return whether a text states this very figure."""
        return any(self.value in values_in(kind, text) for kind in self.kinds)

    def compared_with(self, words: str) -> Compared | None:
        """Compare the only figure of some words with it; None if there are several, or another thing is counted."""
        found = _figures(words)
        if len(found) != 1:
            return None
        one, wanted = found[0], self.quantity
        if one.kind == "date":
            value = only(iter(values_in(ColumnKind.DATE, one.text.strip())))
            order = order_of(value, self.value) if wanted.kind == "date" and value else None
            return None if order is None else Compared(order, f"the marked date is {_OF_DATES[order]} {self.value}")
        if wanted.kind == "date" and ColumnKind.NUMBER not in self.kinds:
            return None
        kind = "number" if wanted.kind == "date" else wanted.kind
        same_thing = one.unit == wanted.unit and not (
            one.counted and one.counted.isdisjoint(wanted.counted or one.counted)
        )
        same_kind = one.kind == kind and same_thing
        if not same_kind and not (one.kind == "money" and kind == "number" and not wanted.unit):
            return None
        order = (one.value > wanted.value) - (one.value < wanted.value)
        return Compared(order, f"the marked value is {_OF_VALUES[order]} {self.value}")


def limit_in(question: str) -> Limit | None:
    """Return the only date, amount or number of a question; None if there is none or several."""
    found = _figures(question)
    if len(found) != 1:
        return None
    one, text = found[0], found[0].text.strip()
    if one.kind == "date":
        value = only(iter(values_in(ColumnKind.DATE, text)))
        is_year = one.date[1:] == (0, 0) and text.isdigit()
        kinds: tuple[ColumnKind, ...] = TYPED if is_year else (ColumnKind.DATE,)
    else:
        value = only(iter(values_in(ColumnKind.NUMBER, text)))
        plain = one.kind == "number" and not (one.unit or one.counted)
        kinds = (ColumnKind.AMOUNT,) if one.kind == "money" else (ColumnKind.NUMBER, *[ColumnKind.AMOUNT] * plain)
    return Limit(one, value, kinds) if value else None


def _figures(text: str) -> list[Quantity]:
    return [one for one in quantities(text) if one.kind == "date" or one.counts]


def order_of(value: str, limit: str) -> int | None:
    """Return -1, 0 or 1: whether a value of a cell is less than a limit, equal or more; None if it cannot be compared.

    A date is compared as far as the limit is exact; one that is less exact ("2026" and "2026-03") only if it differs.
    """
    if fits(ColumnKind.DATE, value) and fits(ColumnKind.DATE, limit):
        exact = min(len(value), len(limit))
        one, other = value[:exact], limit[:exact]
        return None if one == other and len(value) < len(limit) else (one > other) - (one < other)
    figure, most = _FIGURE.fullmatch(value), _FIGURE.fullmatch(limit)
    if not figure or not most or DECIMAL_OR_THOUSAND.search(value):
        return None
    if most[2] and figure[2] != most[2]:
        return None
    less, more = (Decimal(found[1].replace("−", "-")) for found in (figure, most))
    return (less > more) - (less < more)


def selected(filled: FilledGrid, wanted: Filter) -> Selected:
    """Return the documents whose value in the filter's column it holds for; what is not found is not sure.

    Raises ValueError if the limit is no value of the column's kind.
    """
    column = filled.grid.column(wanted.column_id)
    if column is None:
        return Selected(filled.grid.document_ids, ())
    limits = wanted.values
    if wanted.relation not in (Relation.IS, Relation.CONTAINS):
        limits = (limit_value(column.kind, wanted.values[0]),)
    held, unsure = list[str](), list[str]()
    for document_id in filled.grid.document_ids:
        cell = filled.cell(document_id, column.id)
        known = _holds(cell.value, wanted.relation, limits) if cell.state is CellState.FOUND else None
        if cell.state is not CellState.NOT_STATED and known is not False:
            (held if known else unsure).append(document_id)
    return Selected(tuple(held), tuple(unsure))


def limit_value(kind: ColumnKind, text: str) -> str:
    """Return what a person entered as a value of a cell: "2,000 euros" as "2000 EUR". Raises ValueError."""
    entered = text.strip()
    if kind is ColumnKind.DATE:
        value = entered if fits(kind, entered) else only(iter(values_in(kind, entered)))
    else:
        plain = _GROUPS.sub("", entered)
        value = "" if DECIMAL_OR_THOUSAND.search(plain) else plain.replace("−", "-")
        if not _FIGURE.fullmatch(value):
            grouped = _LONG.sub(lambda digits: f"{int(digits[0]):,}", plain)
            found = [one for one in quantities(grouped) if one.counts]
            alone = len(found) == 1 and (found[0].kind == "money" or not found[0].unit)
            value = only(iter(values_in(ColumnKind.NUMBER, grouped))) if alone else ""
    if not value:
        raise ValueError(text)
    return value


def _holds(value: str, relation: Relation, limits: Sequence[str]) -> bool | None:
    if relation is Relation.IS:
        return value.casefold() in (one.casefold() for one in limits)
    if relation is Relation.CONTAINS:
        return limits[0].casefold() in value.casefold()
    order = order_of(value, limits[0])
    return None if order is None else relation.holds(order)
