"""A follow-up that names another row or column of the table that the last answer came from: "And for the Tandem?"."""

from collections.abc import Iterator, Sequence

from pincite.core.domain.figures import Figure
from pincite.core.domain.tables import Cell, Table
from pincite.core.figures.agreement import Question
from pincite.core.figures.cells import figure_of


def followed(question: str, last: Figure, tables: Sequence[Table]) -> Figure | None:
    """Return the figure in the row or column that is named, where the rest stays as in the last answer.

    None unless every telling word of the question is in the labels of one such cell alone.
    """
    for table in tables:
        cell = next((one for one in table.body if _is(last, table, one)), None)
        if cell is not None:
            asked = Question(question)
            found = [other for other in _lined_up(cell, table) if _names(asked, table, cell, other)]
            whole = [other for other in found if asked.names(_label(table, cell, other))]
            best = whole or found
            return figure_of(table, best[0]) if len(best) == 1 else None
    return None


def _is(figure: Figure, table: Table, cell: Cell) -> bool:
    place = (table.document_id, table.page_index, cell.start, cell.end)
    return place == (figure.document_id, figure.page_index, figure.start, figure.end)


def _lined_up(cell: Cell, table: Table) -> Iterator[Cell]:
    """Yield the other figures of its row and of its column."""
    for other in table.body:
        if other.value is not None and (other.row == cell.row) != (other.column == cell.column):
            yield other


def _names(asked: Question, table: Table, cell: Cell, other: Cell) -> bool:
    """Return whether the words of the question are what the other cell's row, or its column, is called."""
    own = table.columns[cell.column] if other.row == cell.row else table.rows[cell.row]
    every = (1 << len(asked.terms)) - 1
    return bool(every) and asked.match(_label(table, cell, other)).bits == every != asked.match(own.path).bits


def _label(table: Table, cell: Cell, other: Cell) -> str:
    """Return what distinguishes the other cell from this one: its column in the same row, else its row."""
    return (table.columns[other.column] if other.row == cell.row else table.rows[other.row]).path
