"""Grids, their rows and cells; a cell goes with its document."""

import uuid
from collections.abc import Mapping, Sequence
from sqlite3 import Connection, Row
from typing import TypeAlias

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
from pincite.core.text.plain import storable

FIRST_COLUMN = "document"
Columns: TypeAlias = tuple[Column, ...]


def basis_of(document: Document, column: Column) -> str:
    """Return what an answer depends on: once this differs from what is stored with a cell, the cell is stale."""
    return to_json([document.id, str(document.passage_count), column.question, column.kind, *column.choices], list[str])


class GridStore:
    """The rows of ``grids``, ``grid_rows`` and ``grid_cells``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[Grid]:
        """Return all grids, the newest first."""
        rows = self._database.connection.execute("SELECT * FROM grids ORDER BY created_at DESC, rowid DESC").fetchall()
        return [_grid(row, self._document_ids(row["id"])) for row in rows]

    def get(self, grid_id: str) -> Grid:
        """Raises GridError."""
        row = self._database.connection.execute("SELECT * FROM grids WHERE id = ?", (grid_id,)).fetchone()
        if row is None:
            raise UnknownGridError("This grid is no longer stored.", hint="Choose another.")
        return _grid(row, self._document_ids(grid_id))

    def filled(self, grid_id: str, documents: Mapping[str, Document]) -> FilledGrid:
        """Return the grid with its stored cells; ``documents``: those of the library, by id."""
        grid = self.get(grid_id)
        columns = {column.id: column for column in grid.columns}
        rows = self._database.connection.execute("SELECT * FROM grid_cells WHERE grid_id = ?", (grid_id,))
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
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO grids (id, name, collection_id, columns, created_at) VALUES (?, ?, ?, ?, ?)",
                (grid_id, _tidy(name), collection_id, to_json(_checked(columns), Columns), now()),
            )
            _add_rows(connection, grid_id, document_ids)
        return self.get(grid_id)

    def rename(self, grid_id: str, name: str) -> None:
        """Raises GridError."""
        with self._database.transaction() as connection:
            connection.execute("UPDATE grids SET name = ? WHERE id = ?", (_tidy(name), grid_id))

    def delete(self, grid_id: str) -> None:
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM grids WHERE id = ?", (grid_id,))

    def set_columns(self, grid_id: str, columns: Columns) -> None:
        """Replace the columns; cells of removed ones are deleted. Raises GridError."""
        kept = _checked(columns)
        ids = to_json([column.id for column in kept], list[str])
        with self._database.transaction() as connection:
            connection.execute("UPDATE grids SET columns = ? WHERE id = ?", (to_json(kept, Columns), grid_id))
            connection.execute(
                "DELETE FROM grid_cells WHERE grid_id = ? AND column_id NOT IN (SELECT value FROM json_each(?))",
                (grid_id, ids),
            )

    def set_documents(self, grid_id: str, document_ids: Sequence[str]) -> None:
        """Let the grid have these rows; the cells of rows that stay are kept."""
        with self._database.transaction() as connection:
            connection.execute(
                "DELETE FROM grid_rows WHERE grid_id = ? AND document_id NOT IN (SELECT value FROM json_each(?))",
                (grid_id, to_json(list(document_ids), list[str])),
            )
            _add_rows(connection, grid_id, document_ids)

    def put(self, grid_id: str, cell: Cell, basis: str, *, by_program: bool = False) -> bool:
        """Store a cell unless its row is gone; return whether it was stored.

        ``by_program``: a value that a person entered, or locked, meanwhile stays.
        """
        with self._database.transaction() as connection:
            done = connection.execute(
                """INSERT INTO grid_cells
                   SELECT grid_id, document_id, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12
                   FROM grid_rows WHERE grid_id = ?1 AND document_id = ?2
                   ON CONFLICT DO UPDATE SET state = excluded.state, value = excluded.value,
                     citations = excluded.citations, confidence = excluded.confidence, detail = excluded.detail,
                     pages_read = excluded.pages_read, by_person = excluded.by_person,
                     locked = iif(?13, locked, excluded.locked), basis = excluded.basis
                   WHERE NOT ?13 OR state = 'not_read_yet' OR NOT (by_person OR locked)""",
                (grid_id, cell.document_id, cell.column_id, cell.state, storable(cell.value),
                 to_json(cell.citations, tuple[Citation, ...]), cell.confidence, storable(cell.detail),
                 cell.pages_read, cell.by_person, cell.locked, basis, by_program),
            )  # fmt: skip
            return done.rowcount > 0

    def ask_again(self, grid_id: str, keys: Sequence[tuple[str, str]]) -> None:
        """Let these cells wait to be asked, except those that a person entered or locked."""
        with self._database.transaction() as connection:
            connection.executemany(
                "DELETE FROM grid_cells WHERE grid_id = ? AND document_id = ? AND column_id = ? "
                "AND NOT (by_person OR locked)",
                [(grid_id, *key) for key in keys],
            )

    def forget_cell(self, grid_id: str, key: tuple[str, str]) -> None:
        """Let a cell wait to be asked, whoever its value is from."""
        with self._database.transaction() as connection:
            connection.execute(
                "DELETE FROM grid_cells WHERE grid_id = ? AND document_id = ? AND column_id = ?", (grid_id, *key)
            )

    def set_locked(self, grid_id: str, key: tuple[str, str], locked: bool) -> None:
        """Lock or unlock the value of a cell that was answered."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE grid_cells SET locked = ? WHERE grid_id = ? AND document_id = ? AND column_id = ?",
                (locked, grid_id, *key),
            )

    def flag(self, grid_id: str, key: tuple[str, str], why: str) -> None:
        """Mark the value of a cell that was answered as one that a person has to look at."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE grid_cells SET state = ?, detail = ? WHERE grid_id = ? AND document_id = ? AND column_id = ?",
                (CellState.NEEDS_REVIEW, storable(why), grid_id, *key),
            )

    def in_review(self) -> list[tuple[str, Cell]]:
        """Return the cells that a person has to look at, each with the id of its grid, the newest grid first."""
        rows = self._database.connection.execute(
            "SELECT cell.* FROM grid_cells AS cell JOIN grids ON grids.id = cell.grid_id WHERE cell.state = ? "
            "ORDER BY grids.created_at DESC, cell.rowid",
            (CellState.NEEDS_REVIEW,),
        )
        return [(row["grid_id"], _cell(row, stale=False)) for row in rows]

    def count_in_review(self) -> int:
        counted = "SELECT count(*) FROM grid_cells WHERE state = ?"
        return int(self._database.connection.execute(counted, (CellState.NEEDS_REVIEW,)).fetchone()[0])

    def waiting(self, grid_id: str) -> list[tuple[str, str]]:
        """Return the cells that are still to be asked, row by row."""
        rows = self._database.connection.execute(
            """SELECT line.document_id, json_extract(head.value, '$.id') AS column_id
               FROM grids JOIN grid_rows AS line ON line.grid_id = grids.id JOIN json_each(grids.columns) AS head
               LEFT JOIN grid_cells AS cell ON cell.grid_id = grids.id AND cell.document_id = line.document_id
                 AND cell.column_id = json_extract(head.value, '$.id')
               WHERE grids.id = ? AND coalesce(cell.state, 'not_read_yet') = 'not_read_yet'
               ORDER BY line.position, line.rowid, head.key""",
            (grid_id,),
        )
        return [(row["document_id"], row["column_id"]) for row in rows]

    def finish(self, grid_id: str) -> bool:
        """End a grid of which no cell waits; return whether it ended."""
        with self._database.transaction():
            ended = not self.waiting(grid_id)
            if ended:
                self.set_running(grid_id, False)
            return ended

    def set_running(self, grid_id: str, running: bool) -> None:
        """Set whether the waiting cells of the grid are asked, also after a restart."""
        with self._database.transaction() as connection:
            connection.execute("UPDATE grids SET running = ? WHERE id = ?", (running, grid_id))

    def running(self) -> list[str]:
        """Return the ids of the grids whose waiting cells are to be asked, the one that was created first first."""
        rows = self._database.connection.execute("SELECT id FROM grids WHERE running ORDER BY created_at, rowid")
        return [row["id"] for row in rows]

    def _document_ids(self, grid_id: str) -> tuple[str, ...]:
        rows = self._database.connection.execute(
            "SELECT document_id FROM grid_rows WHERE grid_id = ? ORDER BY position, rowid", (grid_id,)
        )
        return tuple(row["document_id"] for row in rows)


def _add_rows(connection: Connection, grid_id: str, document_ids: Sequence[str]) -> None:
    if len(set(document_ids)) > MAX_ROWS:
        raise GridError(f"A grid has at most {MAX_ROWS} documents.", hint="Choose fewer documents.")
    connection.executemany(
        """INSERT INTO grid_rows SELECT ?1, id, ?3 FROM documents WHERE id = ?2
           ON CONFLICT DO UPDATE SET position = excluded.position""",
        [(grid_id, document_id, position) for position, document_id in enumerate(document_ids)],
    )


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


def _grid(row: Row, document_ids: tuple[str, ...]) -> Grid:
    columns = readable(tuple[Column, ...], row["columns"]) or ()
    return Grid(row["id"], row["name"], columns, document_ids, row["collection_id"], row["created_at"])


def _cell(row: Row, *, stale: bool) -> Cell:
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
        by_person=bool(row["by_person"]),
        locked=bool(row["locked"]),
        stale=stale,
    )
