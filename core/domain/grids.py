"""Grids: the same questions put to several documents. Rows are documents, columns are questions, cells are answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pincite.core.domain.answers import Citation
from pincite.core.domain.keys import Key

MAX_NAME_LENGTH, MAX_QUESTION_LENGTH, MAX_COLUMNS, MAX_ROWS = 80, 500, 40, 500


class ColumnKind(Key):
    """What a column's values are."""

    TEXT = "text"
    YES_NO = "yes_or_no"
    DATE = "date"
    AMOUNT = "amount"
    NUMBER = "number"
    LIST = "list"
    CHOICE = "choice"


class CellState(Key):
    WAITING = "not_read_yet"
    FOUND = "found"
    NOT_STATED = "not_stated"
    UNCLEAR = "unclear"
    """There are words that may answer, but the value is not sure."""
    NEEDS_REVIEW = "needs_review"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Column:
    """A question that every document is asked. ``choices``: the values that a CHOICE may have."""

    id: str
    name: str
    question: str
    kind: ColumnKind = ColumnKind.TEXT
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """The answer of one document to one column."""

    document_id: str
    column_id: str
    state: CellState = CellState.WAITING
    value: str = ""
    """A date: ISO 8601, to the day, the month or the year. An amount: the figure and its unit."""
    citations: tuple[Citation, ...] = ()
    confidence: float | None = None
    """Calibrated probability that the value, or that none is stated, is right; None if it is not known."""
    detail: str = ""
    """Why it is unclear, needs review or failed."""
    pages_read: int = 0
    by_person: bool = False
    """A person entered or approved the value."""
    locked: bool = False
    """The value stays when the cell is asked again."""
    stale: bool = False
    """The document or the question has changed since."""

    @property
    def key(self) -> tuple[str, str]:
        return self.document_id, self.column_id


@dataclass(frozen=True, slots=True)
class Grid:
    id: str
    name: str
    columns: tuple[Column, ...]
    document_ids: tuple[str, ...]
    collection_id: str = ""
    """The collection that its documents were taken from; empty: chosen ones."""
    created_at: str = ""

    def column(self, column_id: str) -> Column | None:
        return next((one for one in self.columns if one.id == column_id), None)


@dataclass(frozen=True, slots=True)
class FilledGrid:
    """A grid with its cells by document and column; what is not among them waits."""

    grid: Grid
    cells: Mapping[tuple[str, str], Cell] = field(default_factory=dict)

    def cell(self, document_id: str, column_id: str) -> Cell:
        return self.cells.get((document_id, column_id)) or Cell(document_id, column_id)

    @property
    def waiting(self) -> int:
        """Return the number of cells that are still to be asked."""
        every = ((document, column.id) for document in self.grid.document_ids for column in self.grid.columns)
        return sum(self.cell(*key).state is CellState.WAITING for key in every)


class Relation(Key):
    """How a value compares with the limit of a filter."""

    BELOW = "below"
    AT_MOST = "at_most"
    EQUAL = "equal"
    AT_LEAST = "at_least"
    ABOVE = "above"
    IS = "is"
    """It is one of the filter's values."""
    CONTAINS = "contains"

    def holds(self, order: int) -> bool:
        """Return whether it holds for a value that is less (-1) than the limit, equal (0) or more (1)."""
        return order in _ORDERS[self]


_ORDERS = {
    Relation.BELOW: (-1,),
    Relation.AT_MOST: (-1, 0),
    Relation.EQUAL: (0,),
    Relation.AT_LEAST: (0, 1),
    Relation.ABOVE: (1,),
}


@dataclass(frozen=True, slots=True)
class Filter:
    """Which documents of a grid are shown: those with such a value in a column."""

    column_id: str
    relation: Relation
    values: tuple[str, ...]
    """The limit, the words that are contained, or the values of which it is one."""


@dataclass(frozen=True, slots=True)
class Selected:
    """The documents that a filter selects, and those of which it is not sure, in the grid's order."""

    document_ids: tuple[str, ...]
    unsure: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GridTemplate:
    name: str
    columns: tuple[Column, ...]
