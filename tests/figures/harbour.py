"""The accounts of an invented harbour, as tables."""

from dataclasses import replace

from pincite.core.documents.grids import read_grid
from pincite.core.domain.figures import Figure
from pincite.core.domain.tables import Cell, Table
from pincite.core.figures.cells import figure_of

HARBOUR = (
    ("", "2021", "2020", "2019"),
    ("Income:", "", "", ""),
    ("Berth fees", "1,240", "1,105", "1,000"),
    ("Crane hire", "310", "402", "380"),
    ("Total income", "1,550", "1,507", "1,380"),
    ("Costs:", "", "", ""),
    ("Dredging", "(620)", "(580)", "(600)"),
    ("Share of foreign ships", "40%", "35%", "32%"),
)


def table_of(rows: tuple[tuple[str, ...], ...] = HARBOUR, caption: str = "Harbour accounts (EUR thousand)") -> Table:
    """Rows of cells are 100 characters apart, columns 10."""
    cells = [
        Cell(row, column, text, start=100 * row + 10 * column, end=100 * row + 10 * column + len(text))
        for row, texts in enumerate(rows)
        for column, text in enumerate(texts)
        if text
    ]
    return replace(read_grid(cells, caption=caption), document_id="harbour", page_index=4, page_label="5")


def figures_of(table: Table) -> tuple[Figure, ...]:
    """Every figure of the table, row by row."""
    return tuple(figure for cell in table.body if (figure := figure_of(table, cell)) is not None)
