"""Tables as data: cells with their heads, groups, periods, units and places on the page."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from core.domain.documents import Box


@dataclass(frozen=True, slots=True)
class Cell:
    """``text`` is ``page.text[start:end]``; a head may stand over several ``columns``."""

    row: int
    column: int
    text: str
    start: int = 0
    end: int = 0
    box: Box | None = None
    columns: int = 1
    value: Decimal | None = None
    """What a figure says, without the scale; None for words, dates and dashes."""
    unit: str = ""
    scale: int = 0
    """What the cell itself prints ("$5.8 billion"); 0 where it says nothing."""


@dataclass(frozen=True, slots=True)
class Heading:
    """What is said of a column, or of a row: its own words, and the groups that it stands in, outermost first."""

    label: str = ""
    groups: tuple[str, ...] = ()
    period: str = ""
    unit: str = ""
    scale: int = 0
    """What it says that its figures are counted in; 0 where it says nothing."""
    total: bool = False
    """Its figures are the sum of those above."""

    @property
    def path(self) -> str:
        return ": ".join(part.rstrip(": ") for part in (*self.groups, self.label) if part)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of one page. The first ``head_rows`` rows and ``head_columns`` columns say what the figures are."""

    cells: tuple[Cell, ...]
    rows: tuple[Heading, ...]
    columns: tuple[Heading, ...]
    head_rows: int = 0
    head_columns: int = 0
    caption: str = ""
    """The lines above it that tell what it shows and what its figures are counted in."""
    unit: str = ""
    scale: int = 0
    document_id: str = ""
    page_index: int = 0
    page_label: str = ""
    box: Box | None = None
    continued: bool = False
    """It goes on with the table of the page before, or above it on its page, whose heads and unit it has."""

    @property
    def body(self) -> Iterator[Cell]:
        """The cells that are no heads, and not empty."""
        return (cell for cell in self.cells if cell.row >= self.head_rows and cell.column >= self.head_columns)

    @property
    def is_sure(self) -> bool:
        """Whether the places of the cells on the page bear out their rows, columns and heads.

        No two cells share a place, each row reads from left to right along one line, and each head is above its column.
        """
        ordered = sorted(self.cells, key=lambda cell: (cell.row, cell.column))
        pairs = [(one, other) for one, other in pairwise(ordered) if one.row == other.row]
        if any(one.column + one.columns > other.column or not _beside(one.box, other.box) for one, other in pairs):
            return False
        heads = (cell for cell in self.cells if cell.row < self.head_rows and cell.column >= self.head_columns)
        return all(self._is_above(head) for head in heads if head.text)

    def _is_above(self, head: Cell) -> bool:
        own = range(head.column, head.column + head.columns)
        boxes = [cell.box for cell in self.body if cell.column in own and cell.text and cell.box]
        over = head.box
        return not over or not boxes or any(box.left < over.right and over.left < box.right for box in boxes)

    def measure(self, cell: Cell) -> tuple[str, int]:
        """The cell's unit and scale: its own, else its row's, else its column's, else the table's."""
        row, column = self.rows[cell.row], self.columns[cell.column]
        unit = cell.unit or row.unit or column.unit or self.unit
        if unit == "%":
            return unit, 1
        return unit, cell.scale or row.scale or column.scale or self.scale or 1


def _beside(one: Box | None, other: Box | None) -> bool:
    """Whether the second box is to the right of the first, in the same line."""
    return not one or not other or (one.left < other.left and one.top < other.bottom and other.top < one.bottom)
