# The grid: the same questions put to several documents; a cell opens its page, and can be corrected.

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from pincite.core.domain.documents import Document
from pincite.core.domain.errors import GridError
from pincite.core.domain.grids import MAX_NAME_LENGTH, Cell, CellState, Column, FilledGrid, Filter, Grid
from pincite.core.domain.keys import in_words
from pincite.core.services.bootstrap import Pincite
from pincite.core.services.grids import is_outdated, new_column, templates
from pincite.pages.components.cells import (
    KINDS,
    OPEN,
    SIGNS,
    STATE_COLOURS,
    TABLE,
    as_columns,
    as_rows,
    choices_of,
    choose_cell,
    chosen_cell,
)
from pincite.pages.components.collections import documents_of
from pincite.pages.components.controls import button, confirm_deletion, danger, download, icon_button, quiet, row
from pincite.pages.components.facade import errors_shown, show
from pincite.pages.components.filters import draw_filter, filter_of, narrowed, told
from pincite.pages.components.layout import BESIDE
from pincite.pages.components.page_view import ShownPage, draw_page_panel, show_page, shown_page
from pincite.pages.components.sessions import begin_with
from pincite.pages.components.words import count, escape

SLOT = "grid_page"
TO_CHECK = (CellState.UNCLEAR, CellState.NEEDS_REVIEW, CellState.FAILED)
OWN_COLUMNS = "My own columns"
EVERYTHING = "All documents"


def draw(app: Pincite) -> None:
    grids = app.grids.list()
    with row():
        st.header("Grid", anchor=False)
        st.space("stretch")
        with st.popover("New grid", icon=":material/add:", key=f"new_grid_{len(grids)}"):  # closes once one was added
            draw_new(app, grids)
    if not grids:
        draw_welcome(app)
        return
    grid = choose_grid(grids)
    filled = app.grids.filled(grid.id)
    documents = {one.id: one for one in app.library.list()}
    wanted, shown = filter_of(grid), grid
    try:
        shown = narrowed(filled, wanted).grid
    except ValueError as error:
        st.warning(f"“{escape(str(error))}” is no value to compare these with.", icon=":material/filter_alt:")
        wanted = None
    draw_tools(app, filled, shown, documents)
    if not grid.columns or not grid.document_ids:
        st.info("This grid has no columns or no documents yet. Add them above.", icon=":material/grid_on:")
        return
    cell = chosen_cell(TABLE, shown)
    table, beside = st.columns([11, 9], gap="medium") if cell else (st.container(), None)
    with table:
        running = app.grids.is_running(grid.id)
        table_alone = st.fragment(draw_table, run_every=1.5 if running else None)
        table_alone(app, grid.id, documents, wanted, cell is not None, running)
    if cell and beside and cell[0] in documents:
        with beside:
            draw_cell(app, filled, documents[cell[0]], cell)


def draw_welcome(app: Pincite) -> None:
    st.markdown("A grid puts the same questions to several documents: rows are documents, columns are questions, and "
                "every value has its quotation and page.")  # fmt: skip
    if app.library.list():
        st.caption("Choose *New grid* to begin.")
    else:
        st.page_link("pages/documents.py", label="Add documents first", icon=":material/upload_file:")


def draw_new(app: Pincite, grids: Sequence[Grid]) -> None:
    """Ask for a name, columns and documents."""
    collections = {one.name: one for one in app.collections.list()}
    offered = {one.name: one.columns for one in templates()} | {f"As in {one.name}": one.columns for one in grids}
    with st.form("new_grid", border=False):
        name = st.text_input("Name", max_chars=MAX_NAME_LENGTH, placeholder="For example, Leases 2026")
        template = st.selectbox("Columns", [OWN_COLUMNS, *offered], index=None, placeholder="Choose a template")
        among = st.selectbox("Documents", [EVERYTHING, *collections])
        if not st.form_submit_button("Create", type="primary"):
            return
    collection = collections.get(among)
    with errors_shown():
        if template is None:
            raise GridError("A grid needs columns.", hint="Choose a template, or your own columns.")
        columns = [new_column(one.name, one.question, one.kind, one.choices) for one in offered.get(template, ())]
        documents = [one.id for one in sorted(documents_of(app, collection), key=lambda one: one.name.casefold())]
        made = app.grids.create(name or template, columns, documents, collection_id=collection.id if collection else "")
        st.session_state[OPEN] = made.id
        st.session_state.pop(TABLE, None)
        st.rerun()


def choose_grid(grids: Sequence[Grid]) -> Grid:
    ids = [one.id for one in grids]
    if st.session_state.get(OPEN) not in ids:
        st.session_state[OPEN] = ids[0]
    names = {one.id: one.name for one in grids}
    chosen = st.selectbox("Open grid", ids, format_func=names.__getitem__, key=OPEN, width=420,
                          label_visibility="collapsed", on_change=close_cell)  # fmt: skip
    return next(one for one in grids if one.id == chosen)


def draw_tools(app: Pincite, filled: FilledGrid, shown: Grid, documents: dict[str, Document]) -> None:
    """Draw what changes the grid or narrows it; ``shown``: the grid with the documents that its filter selects."""
    grid = filled.grid
    with row():
        # with new keys they close once something was saved
        with st.popover("Columns", icon=":material/view_column:", type="tertiary", key=f"columns_{hash(grid.columns)}"):
            draw_columns(app, grid)
        with st.popover(
            "Documents", icon=":material/description:", type="tertiary", key=f"rows_{hash(grid.document_ids)}"
        ):
            draw_rows(app, grid, documents)
        draw_filter(grid, close_cell)
        if outdated := sum(map(is_outdated, filled.cells.values())):
            button(f"Ask {count(outdated, 'cell')} again", "refresh", app.grids.refresh, grid.id, type="tertiary",
                   help="Their document or question has changed, or they failed")  # fmt: skip
        to_check = [key for key in keys_of(shown) if filled.cell(*key).state in TO_CHECK]
        if to_check:
            quiet(
                f"Next of {len(to_check)} to check",
                "arrow_forward",
                go_to_next,
                shown,
                to_check,
                key="next_to_check",
                shortcut="N",
                help="Go to the next value that is unclear or needs review (N)",
            )
        st.space("stretch")
        with st.popover("Export", icon=":material/download:", type="tertiary"):
            of = ("grid", grid.id)
            for ending, label in ((".xlsx", "Excel, with the quotations"), (".csv", "CSV"), (".json", "JSON")):
                download(app, label, partial(app.grids.export, grid.id, ending), f"{grid.name}{ending}", of=of,
                         key=f"export_{ending}")  # fmt: skip
            download(app, "Evidence binder (PDF)", lambda: app.exports.of_grid(app.grids.filled(grid.id)),
                     f"{grid.name}.pdf", of=of, key="export_pdf",
                     help="The values with the pages that they cite, as a sealed PDF")  # fmt: skip
        if danger("Delete", "grid"):
            words = f"**{escape(grid.name)}** and its values will be deleted. Documents stay."
            confirm_deletion("Delete this grid?", words, app.grids.delete, grid.id)


def keys_of(grid: Grid) -> list[tuple[str, str]]:
    return [(document_id, column.id) for document_id in grid.document_ids for column in grid.columns]


def go_to_next(grid: Grid, keys: Sequence[tuple[str, str]]) -> None:
    every, here = keys_of(grid), chosen_cell(TABLE, grid)
    after = every.index(here) if here in every else -1
    choose_cell(TABLE, grid, next((key for key in keys if every.index(key) > after), keys[0]))


def draw_columns(app: Pincite, grid: Grid) -> None:
    """Edit the columns; rows can be added and removed."""
    st.caption("Each document is asked each question. Choices are separated by commas.")
    rows = [
        {"id": one.id, "Name": one.name, "Question": one.question, "Kind": KINDS[one.kind],
         "Choices": ", ".join(one.choices)} for one in grid.columns
    ] or [{"id": "", "Name": "", "Question": "", "Kind": "Text", "Choices": ""}]  # fmt: skip
    edited: Any = st.data_editor(
        rows, key=f"columns_{grid.id}_{hash(grid.columns)}", num_rows="dynamic", hide_index=True, width=640,
        column_order=("Name", "Question", "Kind", "Choices"),
        column_config={
            "Name": st.column_config.TextColumn(width=115, max_chars=60, required=True),
            "Question": st.column_config.TextColumn(width=255, max_chars=500, required=True),
            "Kind": st.column_config.SelectboxColumn(options=[*KINDS.values()], width=85, default="Text"),
            "Choices": st.column_config.TextColumn(width=130),
        },
    )  # fmt: skip
    with row():
        if st.button("Save columns", type="primary"):
            with errors_shown():
                app.grids.set_columns(grid.id, as_columns(edited))
                st.rerun()
        if grid.document_ids:
            quiet("Add suggested columns", "auto_awesome", app.grids.add_suggested_columns, grid.id,
                  help="Questions on what half of the documents have: their type, terms and headings")  # fmt: skip


def draw_rows(app: Pincite, grid: Grid, documents: dict[str, Document]) -> None:
    names = {one.id: one.name for one in sorted(documents.values(), key=lambda one: one.name.casefold())}
    with st.form(f"rows_{grid.id}_{hash(grid.document_ids)}", border=False):
        chosen = st.multiselect("Documents", list(names), default=[one for one in grid.document_ids if one in names],
                                format_func=names.__getitem__)  # fmt: skip
        if st.form_submit_button("Save documents", type="primary"):
            with errors_shown():
                app.grids.set_documents(grid.id, chosen)
                st.rerun()


def draw_table(
    app: Pincite, grid_id: str, documents: dict[str, Document], wanted: Filter | None, narrow: bool, running: bool
) -> None:
    """The table, drawn again while its cells are answered."""
    try:
        filled = app.grids.filled(grid_id)
    except GridError:
        st.rerun()
    if running and not app.grids.is_running(grid_id):
        st.rerun()
    if running:
        app.grids.start()  # where another process began it
    grid, waiting = filled.grid, filled.waiting
    total = len(grid.document_ids) * len(grid.columns)
    with row():
        if running:
            button("Stop", "stop_circle", app.grids.stop, grid_id, key="stop_grid")  # left of the table's own tools
            st.progress((total - waiting) / max(total, 1), text=f"{total - waiting} of {count(total, 'cell')} answered",
                        width="stretch")  # fmt: skip
        elif waiting:
            st.caption(f"{count(waiting, 'cell')} not read yet")
            button("Go on", "play_arrow", app.grids.run, grid_id, key="run_grid")
        else:
            st.caption(told(filled, wanted) if wanted else summary(filled), width="stretch")
    filled = narrowed(filled, wanted)
    grid = filled.grid
    if not grid.document_ids:
        st.info("No document has such a value.", icon=":material/filter_alt:")
        return
    before = chosen_cell(TABLE, grid)
    st.dataframe(
        as_rows(filled, documents), hide_index=True, key=TABLE, selection_mode="single-cell", on_select="rerun",
        height="content" if len(grid.document_ids) <= 12 else 560, row_height=44,
        column_config={"Document": st.column_config.TextColumn(width=180 if narrow else 240, pinned=True)}
        | {one.name: st.column_config.TextColumn(width=150 if narrow else 190, help=one.question)
           for one in grid.columns},
    )  # fmt: skip
    if chosen_cell(TABLE, grid) != st.session_state.get("grid_cell_drawn"):
        st.session_state["grid_cell_drawn"] = chosen_cell(TABLE, grid)
        st.session_state.pop(SLOT, None)
        st.rerun()
    if before:
        app.grids.want([before])


def summary(filled: FilledGrid) -> str:
    """For example "12 found · 3 not stated · 1 unclear"."""
    states = [filled.cell(*key).state for key in keys_of(filled.grid)]
    counts = {state: states.count(state) for state in CellState if state in states}
    return " · ".join(f"{SIGNS[state]} {number} {in_words(state)}" for state, number in counts.items())


def draw_cell(app: Pincite, filled: FilledGrid, document: Document, key: tuple[str, str]) -> None:
    """The value at hand, what can be done with it, and its page."""
    grid, cell, column = filled.grid, filled.cell(*key), filled.grid.column(key[1])
    if column is None:
        return
    with row(vertical_alignment="center"):
        st.markdown(f"**{escape(column.name)}** · {escape(document.name)}", wrap=False, width="stretch")
        icon_button("Close", "close", close_cell, key="close_cell", shortcut="Escape")
    if column.question != column.name:
        st.caption(escape(column.question))
    if cell.value:
        st.markdown(f"**{escape(cell.value)}**")
    st.markdown(state_in_words(cell))
    draw_decision(app, grid, column, cell)
    shown = shown_page(SLOT)
    if shown is None or shown.document_id != document.id:
        first = cell.citations[0] if cell.citations else None
        shown = ShownPage(document.id, first.page_index if first else 0, cell.citations)
        show_page(SLOT, shown)
    with st.container(key=BESIDE, height=640, border=False, autoscroll=False):
        draw_page_panel(app, shown, SLOT)


def close_cell() -> None:
    st.session_state.pop(TABLE, None)
    st.session_state.pop(SLOT, None)


def state_in_words(cell: Cell) -> str:
    colour, who = STATE_COLOURS[cell.state], " by you" if cell.by_person else ""
    facts = [f":{colour}[{SIGNS[cell.state]} {in_words(cell.state).capitalize()}{who}]"]
    if cell.confidence is not None and not cell.by_person and cell.state is not CellState.UNCLEAR:
        facts.append(f"probably right, {cell.confidence:.0%}")
    if cell.state is CellState.NOT_STATED and not cell.by_person:
        facts.append(f"{count(cell.pages_read, 'page')} read")
    if cell.locked:
        facts.append(":material/lock: locked")
    if cell.stale:
        facts.append(":orange[the document or the question has changed since]")
    return " · ".join(facts) + (f"  \n{escape(cell.detail)}" if cell.detail else "")


def draw_decision(app: Pincite, grid: Grid, column: Column, cell: Cell) -> None:
    key = f"{cell.document_id}_{cell.column_id}"
    with row(gap="xsmall"):
        to_decide = not cell.by_person or cell.stale or cell.state is CellState.NEEDS_REVIEW
        decidable = cell.value or not cell.citations or cell.state is CellState.NOT_STATED
        if cell.state not in (CellState.WAITING, CellState.FAILED) and to_decide and decidable:
            label = "Approve" if cell.value or cell.state is CellState.NOT_STATED else "Not stated"
            button(label, "check", app.grids.approve, grid.id, cell, key=f"approve_{key}", shortcut="A",
                   help="The value, or that none is stated, is right (A)")  # fmt: skip
        with st.popover("Correct", icon=":material/edit:", type="tertiary"):
            draw_correction(app, grid, column, cell, key)
        if cell.state not in (CellState.NEEDS_REVIEW, CellState.WAITING):
            quiet("Needs review", "flag", app.grids.send_to_review, grid.id, cell.key, key=f"flag_{key}")
        if cell.state is not CellState.WAITING:
            lock, icon = ("Unlock", "lock_open") if cell.locked else ("Lock", "lock")
            quiet(lock, icon, app.grids.lock, grid.id, cell.key, not cell.locked, key=f"lock_{key}",
                  help="A locked value stays when cells are asked again")  # fmt: skip
        quiet("Ask again", "refresh", app.grids.ask_again, grid.id, cell.key, key=f"again_{key}", disabled=cell.locked)
        if quiet("Ask in chat", "forum", key=f"chat_{key}"):
            begin_with([cell.document_id], grid.collection_id)
            st.switch_page("pages/chat.py")


def draw_correction(app: Pincite, grid: Grid, column: Column, cell: Cell, key: str) -> None:
    with st.form(f"correct_{key}_{cell.value}", border=False):
        if options := choices_of(column):
            value = st.radio("Value", options, index=options.index(cell.value) if cell.value in options else None)
        else:
            value = st.text_area("Value", cell.value, height=80, help="Leave it empty if none is stated.")
        if st.form_submit_button("Save", type="primary"):
            with errors_shown():
                app.grids.correct(grid.id, cell.key, value or "")
                st.rerun()


show(draw)
