"""Limits: one that a question states, how a value compares with it, and what a filter of a grid selects."""

import re
from collections.abc import Sequence
from decimal import Decimal

from pincite.core.answers.typed import only, values_in
from pincite.core.domain.grids import CellState, ColumnKind, FilledGrid, Filter, Relation, Selected
from pincite.core.text.numbers import quantities

TYPED = (ColumnKind.DATE, ColumnKind.AMOUNT, ColumnKind.NUMBER)
"""Kinds of values that have an order."""
_ISO = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?")
_FIGURE = re.compile(r"[-−]?\d{1,30}(?:\.\d{1,30})?")


def limit_in(question: str) -> tuple[ColumnKind, str] | None:
    """Return the only date, amount or number of a question, as a value of a cell; None if there is none or several."""
    found = [one for one in quantities(question) if one.kind == "date" or one.counts]
    if len(found) != 1:
        return None
    kind = {"date": ColumnKind.DATE, "money": ColumnKind.AMOUNT}.get(found[0].kind, ColumnKind.NUMBER)
    value = only(iter(values_in(kind, found[0].text.strip())))
    return (kind, value) if value else None


def order_of(value: str, limit: str) -> int | None:
    """Return -1, 0 or 1: whether a value of a cell is less than a limit, equal or more; None if it cannot be compared.

    A date is compared as far as the limit is exact; one that is less exact ("2026" and "2026-03") only if it differs.
    """
    if _ISO.fullmatch(value) and _ISO.fullmatch(limit):
        exact = min(len(value), len(limit))
        one, other = value[:exact], limit[:exact]
        return None if one == other and len(value) < len(limit) else (one > other) - (one < other)
    (figure, _, unit), (most, _, of) = value.partition(" "), limit.partition(" ")
    if not (_FIGURE.fullmatch(figure) and _FIGURE.fullmatch(most)) or (unit != of and unit and of):
        return None
    return (Decimal(figure) > Decimal(most)) - (Decimal(figure) < Decimal(most))


def selected(filled: FilledGrid, wanted: Filter) -> Selected:
    """Return the documents whose value in the filter's column it holds for; what is not found is not sure.

    Raises ValueError if the limit is no value of the column's kind.
    """
    column = filled.grid.column(wanted.column_id)
    if column is None:
        return Selected(filled.grid.document_ids, ())
    limits = wanted.values
    if column.kind in TYPED:
        text = wanted.values[0].strip()
        plain = () if column.kind is ColumnKind.DATE else values_in(ColumnKind.NUMBER, text)
        limits = (only(iter(values_in(column.kind, text) or plain)),)
        if not limits[0]:
            raise ValueError(wanted.values[0])
    held, unsure = list[str](), list[str]()
    for document_id in filled.grid.document_ids:
        cell = filled.cell(document_id, column.id)
        known = _holds(column.kind, cell.value, wanted.relation, limits) if cell.state is CellState.FOUND else None
        if cell.state is not CellState.NOT_STATED and known is not False:
            (held if known else unsure).append(document_id)
    return Selected(tuple(held), tuple(unsure))


def _holds(kind: ColumnKind, value: str, relation: Relation, limits: Sequence[str]) -> bool | None:
    if relation is Relation.IS:
        return value.casefold() in (one.casefold() for one in limits)
    if relation is Relation.CONTAINS:
        return limits[0].casefold() in value.casefold()
    order = order_of(only(iter(values_in(kind, value))) or value, limits[0])
    return None if order is None else relation.holds(order)
