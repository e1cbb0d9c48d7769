"""The grid in its states: none, one that is filled, a cell with its page."""

from dataclasses import replace
from typing import Any

import pytest
import streamlit as st

from pincite.core.domain.documents import Document
from pincite.core.domain.grids import CellState, ColumnKind, FilledGrid, Grid, Relation
from pincite.core.services.bootstrap import Pincite
from pincite.core.services.grids import new_column
from pincite.pages.components.cells import KINDS, as_columns, as_rows, cell_text, chosen_cell
from tests.pages.conftest import SECONDS, Screen


def make(app: Pincite, contract: Document) -> FilledGrid:
    columns = (
        new_column("Begins", "When does the Agreement begin?", ColumnKind.DATE),
        new_column("Mascot", "What is the name of the mascot?"),
    )
    grid = app.grids.create("Contracts", columns, [contract.id])
    return app.grids.wait(grid.id, SECONDS)


def test_empty_page_explains_what_a_grid_is(app: Pincite) -> None:
    screen = Screen("grid")
    assert "rows are documents, columns are questions" in screen.words()
    screen.assert_sound()


def test_filled_grid_shows_values_and_counts(app: Pincite, contract: Document) -> None:
    filled = make(app, contract)
    screen = Screen("grid")
    table = screen.test.dataframe[-1]
    assert list(table.value.columns) == ["Document", "Begins", "Mascot"]
    assert table.value["Begins"][0] == "2025-04-01" and "1 found" in screen.words()
    assert not [state for state in (cell.state for cell in filled.cells.values()) if state is CellState.WAITING]
    screen.assert_sound()


def test_a_new_grid_needs_a_template(app: Pincite, contract: Document) -> None:
    screen = Screen("grid")
    screen.press("Create")
    assert "A grid needs columns." in screen.words()
    screen.test.text_input[0].set_value("Ours")
    screen.test.selectbox[0].set_value("Service contract")
    screen.press("Create")
    [grid] = app.grids.list()
    assert grid.name == "Ours" and grid.document_ids == (contract.id,) and len(grid.columns) == 9
    app.grids.stop(grid.id)
    screen.assert_sound()


def test_an_edited_table_gives_columns_and_keeps_their_cells(app: Pincite, contract: Document) -> None:
    grid = make(app, contract).grid
    begins, mascot = grid.columns
    line = {"id": begins.id, "Name": "Start", "Question": begins.question, "Kind": "Date", "Choices": ""}
    new = {"id": None, "Name": "Type", "Question": "Which type is it?", "Kind": "Choice", "Choices": "lease, sale"}
    first, second = as_columns([line, {"id": mascot.id, "Name": "", "Question": None}, new])
    assert (first.id, first.name, first.kind) == (begins.id, "Start", ColumnKind.DATE)
    assert second.choices == ("lease", "sale") and second.id not in (begins.id, mascot.id)
    app.grids.set_columns(grid.id, [first])
    assert app.grids.filled(grid.id).cell(contract.id, begins.id).value == "2025-04-01"
    assert set(KINDS) == set(ColumnKind)


def test_marks_of_cells(app: Pincite, contract: Document) -> None:
    filled = make(app, contract)
    key = (contract.id, filled.grid.columns[0].id)
    app.grids.correct(filled.grid.id, key, "2025-05-01")
    app.grids.lock(filled.grid.id, key, True)
    filled = app.grids.filled(filled.grid.id)
    assert cell_text(filled.cell(*key)) == "🔒 ✓ 2025-05-01"
    assert as_rows(filled, {}).data["Document"][0] == "Removed"


def test_a_filter_narrows_the_table(app: Pincite, contract: Document) -> None:
    grid = make(app, contract).grid
    screen = Screen("grid")

    def choose(label: str, value: object) -> None:
        next(box for box in screen.test.selectbox if box.label == label).set_value(value).run()

    def limit(value: str) -> None:
        next(box for box in screen.test.text_input if box.label == "Limit").set_value(value).run()

    choose("Show documents by", grid.columns[0].id)
    screen.test.button_group[0].set_value(Relation.BELOW).run()
    limit("2026")
    assert "1 of 1 document" in screen.words() and "Begins: before 2026" in screen.words()
    limit("2024")
    assert "No document has such a value." in screen.words()
    limit("soon")
    assert "“soon” is no value" in screen.words() and screen.test.dataframe
    screen.press("Show all documents")
    assert "1 found" in screen.words()
    choose("Show documents by", grid.columns[1].id)
    next(box for box in screen.test.text_input if box.label == "Contains").set_value("otter").run()
    assert "0 of 1 document" in screen.words()
    screen.assert_sound()


def test_the_chosen_cell_stays_the_same_when_rows_go(monkeypatch: pytest.MonkeyPatch) -> None:
    state: dict[str, Any] = {"grid_cells": {"selection": {"cells": [(2, "Rent")]}}}
    monkeypatch.setattr(st, "session_state", state)
    columns = (new_column("Rent", "What is the rent?"),)
    grid = Grid("one", "Leases", columns, ("ash", "birch", "cedar"))
    chosen = ("cedar", columns[0].id)
    assert chosen_cell("grid_cells", grid) == chosen
    fewer = replace(grid, document_ids=("ash", "cedar"))
    assert chosen_cell("grid_cells", fewer) == chosen
    assert state["grid_cells"]["selection"]["cells"] == [(1, "Rent")], "the mark moves with its row"
    assert chosen_cell("grid_cells", replace(grid, document_ids=("ash", "birch"))) is None
    assert "grid_cells" not in state
