"""A grid as a table: its cells as text and colours, and the cell that is chosen."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
import streamlit as st

from pincite.core.domain.documents import Document
from pincite.core.domain.grids import Cell, CellState, Column, ColumnKind, FilledGrid, Grid
from pincite.core.domain.keys import in_words
from pincite.core.services.grids import new_column

KINDS = {kind: in_words(kind).capitalize() for kind in ColumnKind}
SIGNS = {
    CellState.WAITING: "…",
    CellState.FOUND: "✓",
    CellState.NOT_STATED: "∅",
    CellState.UNCLEAR: "?",
    CellState.NEEDS_REVIEW: "!",
    CellState.FAILED: "✗",
}
STATE_COLOURS = {
    CellState.WAITING: "gray",
    CellState.FOUND: "green",
    CellState.NOT_STATED: "gray",
    CellState.UNCLEAR: "orange",
    CellState.NEEDS_REVIEW: "orange",
    CellState.FAILED: "red",
}
"""Names of Streamlit's colours."""
_GROUNDS = {
    CellState.UNCLEAR: "background-color: rgba(240, 140, 0, 0.13)",
    CellState.NEEDS_REVIEW: "background-color: rgba(240, 140, 0, 0.25)",
    CellState.FAILED: "background-color: rgba(179, 38, 30, 0.15)",
}


OPEN, TABLE = "open_grid", "grid_cells"
YES_NO = ("Yes", "No")


def open_grid(grid: Grid, key: tuple[str, str] | None = None) -> None:
    """Go to the page Grid with this one, and with one of its cells."""
    st.session_state[OPEN] = grid.id
    st.session_state.pop(TABLE, None)
    if key and key[0] in grid.document_ids:
        choose_cell(TABLE, grid, key)
    st.switch_page("pages/grid.py")


def choices_of(column: Column) -> tuple[str, ...]:
    """Return the values that a column's cells may have; none if they are free."""
    return YES_NO if column.kind is ColumnKind.YES_NO else column.choices


def cell_text(cell: Cell) -> str:
    """Return a cell in one line: the value with the sign of what is not sure, or the state."""
    marks = "🔒 " * cell.locked + "↻ " * cell.stale
    if cell.state is CellState.FOUND:
        return f"{marks}{'✓ ' * cell.by_person}{cell.value}"
    if cell.state is CellState.WAITING:
        return "…"
    return f"{marks}{'✓ ' * cell.by_person}{SIGNS[cell.state]} {cell.value or in_words(cell.state)}"


def as_rows(filled: FilledGrid, documents: Mapping[str, Document]) -> "pd.io.formats.style.Styler":
    """Return the grid as a table with a row for each document; doubtful cells have a ground."""
    grid = filled.grid
    cells = [[filled.cell(document_id, column.id) for column in grid.columns] for document_id in grid.document_ids]
    names = [documents[one].name if one in documents else "Removed" for one in grid.document_ids]
    columns = ["Document", *(column.name for column in grid.columns)]
    texts = pd.DataFrame(
        [[name, *map(cell_text, row)] for name, row in zip(names, cells, strict=True)], columns=columns
    )
    grounds = pd.DataFrame([["", *(_GROUNDS.get(cell.state, "") for cell in row)] for row in cells], columns=columns)
    return texts.style.apply(lambda _: grounds, axis=None)


def chosen_cell(table: str, grid: Grid) -> tuple[str, str] | None:
    """Return the document and the column of the chosen cell, and let the choice stay there if rows come or go.

    A table knows the position alone, in the rows that it showed; ``grid``: with the rows that it is to show now.
    """
    rows = _rows_shown(table, grid)
    st.session_state[f"{table}_rows"] = grid.id, grid.document_ids
    cells = (st.session_state.get(table) or {}).get("selection", {}).get("cells", [])
    for position, name in cells:
        column = next((one for one in grid.columns if one.name == name), None)
        if column and position < len(rows) and rows[position] in grid.document_ids:
            key = rows[position], column.id
            if grid.document_ids.index(rows[position]) != position:
                choose_cell(table, grid, key)
            return key
    if cells:
        st.session_state.pop(table, None)
    return None


def _rows_shown(table: str, grid: Grid) -> tuple[str, ...]:
    grid_id, document_ids = st.session_state.get(f"{table}_rows", ("", ()))
    return document_ids if grid_id == grid.id else grid.document_ids


def choose_cell(table: str, grid: Grid, key: tuple[str, str]) -> None:
    column = grid.column(key[1])
    if column:
        place = (grid.document_ids.index(key[0]), column.name)
        st.session_state[f"{table}_rows"] = grid.id, grid.document_ids
        st.session_state[table] = {"selection": {"rows": [], "columns": [], "cells": [place]}}


def as_columns(edited: Iterable[Mapping[str, Any]]) -> list[Column]:
    """Return the columns of an edited table; an empty line is none, one without an id is new."""
    kinds = {words: kind for kind, words in KINDS.items()}
    columns = []
    for one in edited:
        name, question = (str(one.get(field) or "").strip() for field in ("Name", "Question"))
        choices = tuple(filter(None, (choice.strip() for choice in str(one.get("Choices") or "").split(","))))
        if not name and not question:
            continue
        column = new_column(name, question, kinds.get(str(one.get("Kind")), ColumnKind.TEXT), choices)
        columns.append(Column(str(one["id"]), *_fields(column)) if one.get("id") else column)
    return columns


def _fields(column: Column) -> tuple[str, str, ColumnKind, tuple[str, ...]]:
    return column.name, column.question, column.kind, column.choices
