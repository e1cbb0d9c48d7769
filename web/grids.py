"""Grids as other programs see them: their columns, their rows, and each value with its quotations."""

from collections.abc import Callable, Sequence
from itertools import count

from pydantic import BaseModel, Field

from pincite.core.domain.errors import GridError, UnknownGridError
from pincite.core.domain.grids import Cell, Grid
from pincite.core.services.bootstrap import Pincite
from pincite.core.services.grids import MAX_COLUMN_NAME, new_column, templates
from pincite.web.places import Place, place_of


class GridColumn(BaseModel):
    name: str
    question: str
    kind: str = Field(description="text, yes_or_no, date, amount, number, list or choice")


class GridCell(BaseModel):
    column: str
    value: str = Field(description="a date is ISO 8601; empty if there is none")
    state: str = Field(description="found, not_stated, unclear, needs_review, failed or not_read_yet")
    by_person: bool = Field(description="whether a person entered or approved it")
    confidence: float | None = Field(description="calibrated probability that it is right, if known")
    pages_read: int
    note: str = Field(description="why it is unclear, needs review or failed")
    outdated: bool = Field(description="whether the document or the question has changed since")
    citations: list[Place]


class GridRow(BaseModel):
    document: str
    document_id: str
    cells: list[GridCell]


class GridTable(BaseModel):
    name: str
    columns: list[GridColumn]
    rows: list[GridRow]
    waiting: int = Field(description="cells that are still to be answered")


class GridEntry(BaseModel):
    name: str
    documents: int
    columns: list[str]


class GridList(BaseModel):
    grids: list[GridEntry]
    templates: list[str]


class Grids:
    """``scope`` returns the ids of the documents with these names, or of the collection."""

    def __init__(self, pincite: Callable[[], Pincite], scope: Callable[[Sequence[str], str], tuple[str, ...]]) -> None:
        self._library, self._scope = pincite, scope

    @property
    def _pincite(self) -> Pincite:
        return self._library()

    def list(self) -> GridList:
        return GridList(
            grids=[
                GridEntry(name=one.name, documents=len(one.document_ids), columns=[each.name for each in one.columns])
                for one in self._pincite.grids.list()
            ],
            templates=[one.name for one in templates()],
        )

    def read(self, name: str) -> GridTable:
        """Raises GridError."""
        found = self._pincite.grids.find(name)
        if found is None:
            names = ", ".join(one.name for one in self._pincite.grids.list())
            raise UnknownGridError(f"There is no grid called {name!r}.", hint=f"There are: {names or 'none'}.")
        return self._table(found)

    def run(
        self, template: str, questions: Sequence[str], documents: Sequence[str], collection: str, seconds: float
    ) -> GridTable:
        """Ask the documents the questions of a template and these; return what is answered within the time."""
        app = self._pincite
        known = {one.name: one.columns for one in templates()}
        if (template and template not in known) or not (template or questions):
            message = f"There is no template called {template!r}." if template else "A grid needs questions."
            raise GridError(message, hint=f"Templates: {', '.join(known)}.")
        columns = list(known.get(template, ()))
        for question in questions:
            columns.append(new_column(_free(question, [one.name for one in columns]), question))
        wanted = " · ".join(filter(None, [template or "Grid", collection]))
        kept_in = app.collections.find(collection) if collection else None
        name = _free(wanted, [one.name for one in app.grids.list()])
        scope = self._scope(documents, collection)
        made = app.grids.create(name, columns, scope, collection_id=kept_in.id if kept_in else "")
        app.grids.wait(made.id, seconds)
        return self._table(made)

    def _table(self, grid: Grid) -> GridTable:
        filled = self._pincite.grids.filled(grid.id)
        names = {one.id: one.name for one in self._pincite.library.list()}
        return GridTable(
            name=grid.name,
            columns=[GridColumn(name=one.name, question=one.question, kind=one.kind) for one in grid.columns],
            rows=[
                GridRow(
                    document=names[document_id],
                    document_id=document_id,
                    cells=[_cell(column.name, filled.cell(document_id, column.id)) for column in grid.columns],
                )
                for document_id in filled.grid.document_ids
                if document_id in names
            ],
            waiting=filled.waiting,
        )


def _free(wanted: str, taken: Sequence[str]) -> str:
    """Return a name, with a number where it is taken."""
    known = {one.casefold() for one in taken}
    names = (f"{wanted[:MAX_COLUMN_NAME]}{f' ({number})' * (number > 1)}" for number in count(1))
    return next(one for one in names if one.casefold() not in known)


def _cell(column: str, cell: Cell) -> GridCell:
    return GridCell(
        column=column,
        value=cell.value,
        state=cell.state,
        by_person=cell.by_person,
        confidence=cell.confidence,
        pages_read=cell.pages_read,
        note=cell.detail,
        outdated=cell.stale,
        citations=[place_of(one) for one in cell.citations],
    )
