"""Tables as data: cells with their heads, groups, periods, units and places on the page."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from pincite.core.domain.documents import Box

RULED, ALIGNED, DOUBTED = 0.99, 0.95, 0.5
"""Confidence in the structure of a table: rules support it, the places of its cells do, or they do not."""


@dataclass(frozen=True, slots=True)
class Cell:
    """``text`` is ``page.text[start:end]``; a head may cover several ``columns``."""

    row: int
    column: int
    text: str
    start: int = 0
    end: int = 0
    box: Box | None = None
    rows: int = 1
    columns: int = 1
    value: Decimal | None = None
    """The value of a figure, without the scale; None for words, dates and dashes."""
    unit: str = ""
    scale: int = 0
    """The scale that the cell itself prints ("$5.8 billion"); 0 if it prints none."""


@dataclass(frozen=True, slots=True)
class Heading:
    """The description of a column or a row: its own words, and the groups that contain it, outermost first."""

    label: str = ""
    groups: tuple[str, ...] = ()
    period: str = ""
    unit: str = ""
    scale: int = 0
    """What its figures are counted in, as it states; 0 if it states nothing."""
    total: bool = False
    """Its figures are the sum of those above."""

    @property
    def path(self) -> str:
        return ": ".join(part.rstrip(": ") for part in (*self.groups, self.label) if part)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of one page. The first ``head_rows`` rows and ``head_columns`` columns describe the figures."""

    cells: tuple[Cell, ...]
    rows: tuple[Heading, ...]
    columns: tuple[Heading, ...]
    head_rows: int = 0
    head_columns: int = 0
    caption: str = ""
    """The lines above it that state what it shows and what its figures are counted in."""
    unit: str = ""
    scale: int = 0
    document_id: str = ""
    page_index: int = 0
    page_label: str = ""
    box: Box | None = None
    ruled: bool = False
    """Rules, or white between its rows and columns, part its cells."""
    confidence: float = ALIGNED
    """Probability that its rows, columns and heads are read as they are meant."""
    continued: bool = False
    """It goes on with the table of the page before, or above it on its page, and has its heads and unit."""

    @property
    def body(self) -> Iterator[Cell]:
        """The cells that are no heads, and not empty."""
        return (cell for cell in self.cells if cell.row >= self.head_rows and cell.column >= self.head_columns)

    @property
    def is_sure(self) -> bool:
        return self.confidence > DOUBTED

    def measure(self, cell: Cell) -> tuple[str, int]:
        """Return the cell's unit and scale: its own, else its row's, else its column's, else the table's."""
        row, column = self.rows[cell.row], self.columns[cell.column]
        unit = cell.unit or row.unit or column.unit or self.unit
        if unit == "%":
            return unit, 1
        return unit, cell.scale or row.scale or column.scale or self.scale or 1
