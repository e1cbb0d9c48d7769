"""The filter of a grid: a column, how its values compare, and with what."""

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from pincite.core.domain.grids import Column, ColumnKind, FilledGrid, Filter, Grid, Relation
from pincite.core.services.grids import TYPED, selected
from pincite.pages.components.cells import choices_of
from pincite.pages.components.controls import quiet
from pincite.pages.components.words import count, escape

OF_DATES = {
    Relation.BELOW: "before",
    Relation.AT_MOST: "until",
    Relation.EQUAL: "in or on",
    Relation.AT_LEAST: "from",
    Relation.ABOVE: "after",
}
OF_VALUES = {
    Relation.BELOW: "less than",
    Relation.AT_MOST: "at most",
    Relation.EQUAL: "exactly",
    Relation.AT_LEAST: "at least",
    Relation.ABOVE: "more than",
}
EXAMPLES = {
    ColumnKind.DATE: "2027, March 2027 or 2027-03-15",
    ColumnKind.AMOUNT: "2,000 or EUR 2,000",
    ColumnKind.NUMBER: "30 or 5 %",
}


def draw_filter(grid: Grid, changed: Callable[[], None]) -> None:
    """Draw the filter. ``changed`` runs when any of it changes."""
    wanted, column = filter_of(grid), _column(grid)
    label = escape(f"{column.name}: {_in_words(column, wanted) if wanted else '…'}") if column else "Filter"
    with st.popover(label, icon=":material/filter_alt:", type="primary" if wanted else "tertiary", key="filter"):
        ids = [one.id for one in grid.columns]
        names = {one.id: one.name for one in grid.columns}
        st.selectbox("Show documents by", ids, index=None, format_func=names.__getitem__, placeholder="Choose a column",
                     key=_key(grid, "column"), on_change=changed)  # fmt: skip
        if column:
            _draw_values(grid, column, changed)
        if wanted:
            quiet("Show all documents", "filter_alt_off", clear_filter, grid, changed, key="clear_filter")


def set_filter(grid: Grid, column: Column, value: str) -> None:
    """Prepare a filter for when the grid is opened; how values compare with this one is left to choose."""
    st.session_state[_key(grid, "column")] = column.id
    st.session_state[_key(grid, f"value_{column.id}")] = value


def clear_filter(grid: Grid, changed: Callable[[], None]) -> None:
    st.session_state[_key(grid, "column")] = None
    changed()


def narrowed(filled: FilledGrid, wanted: Filter | None) -> FilledGrid:
    """Return the grid with the documents that are selected, and those of which the filter is not sure.

    Raises ValueError if the limit is no value of the column's kind.
    """
    if wanted is None:
        return filled
    found = selected(filled, wanted)
    shown = {*found.document_ids, *found.unsure}
    ids = tuple(one for one in filled.grid.document_ids if one in shown)
    return replace(filled, grid=replace(filled.grid, document_ids=ids))


def told(filled: FilledGrid, wanted: Filter) -> str:
    """For example "2 of 4 documents · 1 more is shown that is not sure"."""
    found = selected(filled, wanted)
    more, are = len(found.unsure), "is" if len(found.unsure) == 1 else "are"
    unsure = f" · {more} more {are} shown that {are} not sure" if more else ""
    return f"{len(found.document_ids)} of {count(len(filled.grid.document_ids), 'document')}{unsure}"


def _draw_values(grid: Grid, column: Column, changed: Callable[[], None]) -> None:
    if options := choices_of(column):
        st.multiselect("Is one of", options, key=_key(grid, f"one_of_{column.id}"), on_change=changed)
    elif column.kind in TYPED:
        words = OF_DATES if column.kind is ColumnKind.DATE else OF_VALUES
        st.pills("Value", list(words), format_func=words.__getitem__, key=_key(grid, f"relation_{column.id}"),
                 on_change=changed)  # fmt: skip
        st.text_input("Limit", placeholder=EXAMPLES[column.kind], key=_key(grid, f"value_{column.id}"),
                      on_change=changed, label_visibility="collapsed")  # fmt: skip
    else:
        st.text_input("Contains", key=_key(grid, f"value_{column.id}"), on_change=changed)


def filter_of(grid: Grid) -> Filter | None:
    """Return the filter of a grid, if it is complete."""
    column, state = _column(grid), st.session_state
    if column is None:
        return None
    if choices_of(column):
        chosen = tuple(state.get(_key(grid, f"one_of_{column.id}")) or ())
        return Filter(column.id, Relation.IS, chosen) if chosen else None
    value = str(state.get(_key(grid, f"value_{column.id}")) or "").strip()
    relation = state.get(_key(grid, f"relation_{column.id}")) if column.kind in TYPED else Relation.CONTAINS
    return Filter(column.id, relation, (value,)) if value and relation else None


def _in_words(column: Column, wanted: Filter) -> str:
    words = {Relation.CONTAINS: "contains", Relation.IS: "", **OF_VALUES}
    words |= OF_DATES if column.kind is ColumnKind.DATE else {}
    return f"{words[wanted.relation]} {' or '.join(wanted.values)}".strip()


def _column(grid: Grid) -> Column | None:
    return grid.column(st.session_state.get(_key(grid, "column")) or "")


def _key(grid: Grid, name: str) -> str:
    return f"filter_{grid.id}_{name}"
