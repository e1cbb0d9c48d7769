"""Grids, their rows and cells; a cell goes with its document."""

import uuid
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from sqlalchemy import ColumnElement, RowMapping, delete, func, insert, or_, select, update

from pincite.core.domain.answers import Citation
from pincite.core.domain.codec import from_json, readable, to_json
from pincite.core.domain.documents import Document
from pincite.core.domain.errors import GridError, UnknownGridError
from pincite.core.domain.grids import (
    MAX_COLUMNS,
    MAX_NAME_LENGTH,
    MAX_QUESTION_LENGTH,
    MAX_ROWS,
    Cell,
    CellState,
    Column,
    ColumnKind,
    FilledGrid,
    Grid,
)
from pincite.core.domain.turns import now
from pincite.core.store.database import Database
from pincite.core.store.schema import documents, grid_cells, grid_rows, grids
from pincite.core.text.plain import storable

FIRST_COLUMN = "document"
Columns: TypeAlias = tuple[Column, ...]
_OLDEST_FIRST = grids.c.created_at, grids.c.id
_SAME_ROW = (grid_rows.c.grid_id == grid_cells.c.grid_id) & (grid_rows.c.document_id == grid_cells.c.document_id)
_OF_A_PERSON = or_(grid_cells.c.by_person, grid_cells.c.locked)
_KEPT = (grid_cells.c.state != CellState.WAITING) & _OF_A_PERSON
"""Condition for a cell to stay whatever the program finds."""


def basis_of(document: Document, column: Column) -> str:
    """Return what an answer depends on: once this differs from what is stored with a cell, the cell is stale."""
    return to_json([document.id, str(document.passage_count), column.question, column.kind, *column.choices], list[str])


class GridStore:
    """The rows of ``grids``, ``grid_rows`` and ``grid_cells``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[Grid]:
        """Return all grids, the newest first."""
        rows = self._database.rows(select(grids).order_by(grids.c.created_at.desc(), grids.c.id))
        return [_grid(row, self._document_ids(row["id"])) for row in rows]

    def get(self, grid_id: str) -> Grid:
        """Raises GridError."""
        row = self._database.row(select(grids).where(grids.c.id == grid_id))
        if row is None:
            raise UnknownGridError("This grid is no longer stored.", hint="Choose another.")
        return _grid(row, self._document_ids(grid_id))

    def owner(self, grid_id: str) -> str:
        """Return the user whose grid it is; empty if it is gone."""
        return str(self._database.run(select(grids.c.owner).where(grids.c.id == grid_id)).scalar() or "")

    def filled(self, grid_id: str, documents: Mapping[str, Document]) -> FilledGrid:
        """Return the grid with its stored cells; ``documents``: those of the library, by id."""
        grid = self.get(grid_id)
        columns = {column.id: column for column in grid.columns}
        rows = self._database.rows(select(grid_cells).where(grid_cells.c.grid_id == grid_id))
        cells = [
            _cell(row, stale=document is not None and row["basis"] != basis_of(document, column))
            for row in rows
            if (column := columns.get(row["column_id"]))
            for document in [documents.get(row["document_id"])]
        ]
        return FilledGrid(grid, {cell.key: cell for cell in cells})

    def create(self, name: str, columns: Columns, document_ids: Sequence[str], *, collection_id: str = "") -> Grid:
        """Raises GridError."""
        grid_id = uuid.uuid4().hex
        row = {"id": grid_id, "name": _tidy(name), "collection_id": collection_id, "created_at": now(),
               "columns": to_json(_checked(columns), Columns)}  # fmt: skip
        with self._database.transaction():
            self._database.run(insert(grids).values(row))
            self._add_rows(grid_id, document_ids)
        return self.get(grid_id)

    def rename(self, grid_id: str, name: str) -> None:
        """Raises GridError."""
        self._change(grid_id, name=_tidy(name))

    def delete(self, grid_id: str) -> None:
        self._database.run(delete(grids).where(grids.c.id == grid_id))

    def set_columns(self, grid_id: str, columns: Columns) -> None:
        """Replace the columns; cells of removed ones are deleted. Raises GridError."""
        kept = _checked(columns)
        gone = grid_cells.c.column_id.not_in([column.id for column in kept])
        with self._database.transaction():
            self._change(grid_id, columns=to_json(kept, Columns))
            self._database.run(delete(grid_cells).where(grid_cells.c.grid_id == grid_id, gone))

    def set_documents(self, grid_id: str, document_ids: Sequence[str]) -> None:
        """Let the grid have these rows; the cells of rows that stay are kept."""
        gone = grid_rows.c.document_id.not_in(document_ids)
        with self._database.transaction():
            self._database.run(delete(grid_rows).where(grid_rows.c.grid_id == grid_id, gone))
            self._add_rows(grid_id, document_ids)

    def put(self, grid_id: str, cell: Cell, basis: str, *, by_program: bool = False) -> bool:
        """Store a cell unless its row is gone; return whether it was stored.

        ``by_program``: a value that a person entered, or locked, meanwhile stays.
        """
        key = {"grid_id": grid_id, "document_id": cell.document_id, "column_id": cell.column_id}
        new = {"state": cell.state, "value": storable(cell.value), "confidence": cell.confidence,
               "citations": to_json(cell.citations, tuple[Citation, ...]), "detail": storable(cell.detail),
               "pages_read": cell.pages_read, "by_person": cell.by_person, "basis": basis}  # fmt: skip
        with self._database.transaction():
            if not self._database.row(select(grid_rows).where(*_row_is(grid_id, cell.document_id))):
                return False
            if by_program and self._database.row(select(grid_cells.c.state).filter_by(**key).where(_KEPT)):
                return False
            self._database.put(grid_cells, key, new if by_program else new | {"locked": cell.locked})
            return True

    def ask_again(self, grid_id: str, keys: Sequence[tuple[str, str]]) -> None:
        """Let these cells wait to be asked, except those that a person entered or locked."""
        with self._database.transaction():
            for key in keys:
                self._database.run(delete(grid_cells).where(*_cell_is(grid_id, key), ~_OF_A_PERSON))

    def forget_cell(self, grid_id: str, key: tuple[str, str]) -> None:
        """Let a cell wait to be asked, whoever its value is from."""
        self._database.run(delete(grid_cells).where(*_cell_is(grid_id, key)))

    def set_locked(self, grid_id: str, key: tuple[str, str], locked: bool) -> None:
        """Lock or unlock the value of a cell that was answered."""
        self._database.run(update(grid_cells).where(*_cell_is(grid_id, key)).values(locked=locked))

    def flag(self, grid_id: str, key: tuple[str, str], why: str) -> None:
        """Mark the value of a cell that was answered as one that a person has to look at."""
        flagged = {"state": CellState.NEEDS_REVIEW, "detail": storable(why)}
        self._database.run(update(grid_cells).where(*_cell_is(grid_id, key)).values(flagged))

    def in_review(self) -> list[tuple[str, Cell]]:
        """Return the cells that a person has to look at, each with the id of its grid, the newest grid first."""
        rows = self._database.rows(
            select(grid_cells)
            .join(grid_rows, _SAME_ROW)
            .join(grids, grids.c.id == grid_cells.c.grid_id)
            .where(grid_cells.c.state == CellState.NEEDS_REVIEW)
            .order_by(grids.c.created_at.desc(), grid_rows.c.position, grid_cells.c.column_id)
        )
        return [(row["grid_id"], _cell(row, stale=False)) for row in rows]

    def count_in_review(self) -> int:
        in_review = grid_cells.c.state == CellState.NEEDS_REVIEW
        return self._database.count(select(func.count()).select_from(grid_cells).where(in_review))

    def waiting(self, grid_id: str) -> list[tuple[str, str]]:
        """Return the cells that are still to be asked, row by row."""
        answered = select(grid_cells.c.document_id, grid_cells.c.column_id).where(
            grid_cells.c.grid_id == grid_id, grid_cells.c.state != CellState.WAITING
        )
        done = {(row["document_id"], row["column_id"]) for row in self._database.rows(answered)}
        row = self._database.row(select(grids.c.columns).where(grids.c.id == grid_id))
        columns = (readable(Columns, row["columns"]) or ()) if row else ()
        every = ((document_id, column.id) for document_id in self._document_ids(grid_id) for column in columns)
        return [key for key in every if key not in done]

    def finish(self, grid_id: str) -> bool:
        """End a grid of which no cell waits; return whether it ended."""
        with self._database.transaction():
            ended = not self.waiting(grid_id)
            if ended:
                self.set_running(grid_id, False)
            return ended

    def set_running(self, grid_id: str, running: bool) -> None:
        """Set whether the waiting cells of the grid are asked, also after a restart."""
        self._change(grid_id, running=running)

    def running(self) -> list[str]:
        """Return the ids of the grids whose waiting cells are to be asked, the one that was created first first."""
        return list(self._database.run(select(grids.c.id).where(grids.c.running).order_by(*_OLDEST_FIRST)).scalars())

    def _change(self, grid_id: str, **values: object) -> None:
        self._database.run(update(grids).where(grids.c.id == grid_id).values(**values))

    def _document_ids(self, grid_id: str) -> tuple[str, ...]:
        query = select(grid_rows.c.document_id).where(grid_rows.c.grid_id == grid_id)
        return tuple(self._database.run(query.order_by(grid_rows.c.position, grid_rows.c.document_id)).scalars())

    def _add_rows(self, grid_id: str, document_ids: Sequence[str]) -> None:
        """Add those that are in the library, in this order; one that has a row gets a new place."""
        if len(set(document_ids)) > MAX_ROWS:
            raise GridError(f"A grid has at most {MAX_ROWS} documents.", hint="Choose fewer documents.")
        there = set(self._database.run(select(documents.c.id).where(documents.c.id.in_(document_ids))).scalars())
        for position, document_id in enumerate(document_ids):
            if document_id in there:
                key = {"grid_id": grid_id, "document_id": document_id}
                self._database.put(grid_rows, key, {"position": position})


def _row_is(grid_id: str, document_id: str) -> tuple[ColumnElement[bool], ...]:
    return grid_rows.c.grid_id == grid_id, grid_rows.c.document_id == document_id


def _cell_is(grid_id: str, key: tuple[str, str]) -> tuple[ColumnElement[bool], ...]:
    columns = grid_cells.c
    return columns.grid_id == grid_id, columns.document_id == key[0], columns.column_id == key[1]


def _checked(columns: Columns) -> Columns:
    if len(columns) > MAX_COLUMNS:
        raise GridError(f"A grid has at most {MAX_COLUMNS} columns.", hint="Remove some.")
    for column in columns:
        if column.name.casefold() == FIRST_COLUMN or len(column.question) > MAX_QUESTION_LENGTH:
            raise GridError(
                f"A column cannot be called “{column.name}”, or its question is longer than {MAX_QUESTION_LENGTH}.",
                hint="Give it another name, or a shorter question.",
            )
        if column.kind is ColumnKind.CHOICE and not column.choices:
            raise GridError(f"The column “{column.name}” has no choices.", hint="Write them with commas between.")
        if not column.name.strip() or not column.question.strip():
            raise GridError("Each column needs a name and a question.", hint="Complete or remove the empty one.")
    names = [column.name.casefold() for column in columns]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise GridError(f"Two columns are called “{twice}”.", hint="Give one another name.")
    return columns


def _tidy(name: str) -> str:
    if not (tidy := " ".join(storable(name).split())[:MAX_NAME_LENGTH].strip()):
        raise GridError("A grid needs a name.", hint="Type one.")
    return tidy


def _grid(row: RowMapping, document_ids: tuple[str, ...]) -> Grid:
    columns = readable(tuple[Column, ...], row["columns"]) or ()
    return Grid(row["id"], row["name"], columns, document_ids, row["collection_id"], row["created_at"])


def _cell(row: RowMapping, *, stale: bool) -> Cell:
    try:
        state, citations = CellState(row["state"]), from_json(tuple[Citation, ...], row["citations"])
    except ValueError:  # damaged: it is asked again
        return Cell(row["document_id"], row["column_id"])
    return Cell(
        document_id=row["document_id"],
        column_id=row["column_id"],
        state=state,
        value=row["value"],
        citations=citations,
        confidence=row["confidence"],
        detail=row["detail"],
        pages_read=row["pages_read"],
        by_person=row["by_person"],
        locked=row["locked"],
        stale=stale,
    )
