"""A chart that a language model proposes: read out of its reply, and drawn from the cells that print its data, or not.

The proposal is Vega-Lite with inline data. Which figures belong together is all that is taken from it.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from operator import attrgetter
from typing import Any

from pincite.core.domain.figures import Figure
from pincite.core.domain.tables import Table
from pincite.core.figures.cells import figure_of
from pincite.core.figures.extremes import wholes
from pincite.core.text.numbers import printed_figure
from pincite.core.text.stating import MAX_OPERANDS, MIN_SERIES, series_of
from pincite.core.text.terms import content_terms

_BLOCK = re.compile(r"\n?```[\w+-]{0,20}\s{0,9}(?P<json>\{.*?)(?:\n?```|\Z)", re.DOTALL)


class NotDrawnError(ValueError):
    """Why a proposal is not drawn, as what follows "the chart was left out: "."""


def split_chart(reply: str) -> tuple[str, str]:
    """Return a reply, or as much of it as has come, without a block of JSON that holds a chart, and that block."""
    for block in _BLOCK.finditer(reply):
        if '"data"' in block["json"] or not block.group().rstrip().endswith("```"):
            return f"{reply[: block.start()]}{reply[block.end() :]}".strip(), block["json"]
    return reply, ""


def charted(proposal: Mapping[str, Any], tables: Sequence[Table]) -> tuple[Figure, ...]:
    """Return the cells of one row or column that print the proposal's data, in its order. Raises NotDrawnError."""
    data = proposal.get("data")
    rows = data.get("values") if isinstance(data, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise NotDrawnError("it has no data.values with one object for each bar or point")
    if not MIN_SERIES <= len(rows) <= MAX_OPERANDS:
        raise NotDrawnError(f"it has {len(rows)} bars or points, and {MIN_SERIES} to {MAX_OPERANDS} are drawn")
    unprinted = rows
    for whole in wholes(tables):
        cells = [figure for table in whole for cell in table.body if (figure := figure_of(table, cell))]
        found = [list(_printed_in(row, cells)) for row in rows]
        unprinted = [row for row, figures in zip(rows, found, strict=True) if not figures and row in unprinted]
        for first in found[0]:
            for shared in (attrgetter("label"), attrgetter("column")):
                of_one = [[one for one in figures if shared(one) == shared(first)] for figures in found]
                chosen = tuple(figures[0] for figures in of_one if figures)
                if len(chosen) == len(rows) and series_of(chosen):
                    return chosen
    if unprinted:
        raise NotDrawnError(f"no table of the passages prints {json.dumps(unprinted[0], ensure_ascii=False)[:120]}")
    raise NotDrawnError("its figures are not in one row or one column of a table")


def _printed_in(row: Mapping[str, Any], cells: Sequence[Figure]) -> Iterator[Figure]:
    """Yield the cells that hold one of the row's figures if row and head of the cell contain all else in it.

    Another fraction in the row is another measure of the same thing, and does not show where it is printed.
    """
    for name, value in row.items():
        amount = _amount(value)
        if amount is None:
            continue
        other_text = " ".join(str(other) for key, other in row.items() if key != name and not isinstance(other, float))
        terms = frozenset(content_terms(other_text))
        for cell in cells:
            cell_terms = content_terms(f"{cell.label} {cell.column} {cell.period}")
            if amount in (cell.value, cell.amount) and terms and terms.issubset(cell_terms):
                yield cell


def _amount(value: object) -> Decimal | None:
    if isinstance(value, str):
        printed = printed_figure(value)
        return printed.value if printed else None
    return Decimal(str(value)) if isinstance(value, int | float) and not isinstance(value, bool) else None
