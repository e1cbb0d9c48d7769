"""Figures on a page, with unit, scale, period and place, and what code states about them."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Figure:
    """``text`` is the figure as printed, ``page.text[start:end]``."""

    value: Decimal
    """As printed, with its sign; ``amount`` has the scale applied."""
    text: str
    unit: str
    """A currency by its ISO code ("USD"), "%", what is counted ("shares"), or nothing if the page gives no unit."""
    scale: int
    """1, 1000, 10**6 …: what the page's figures are counted in, as it states."""
    period: str
    """As printed ("2015", "Q3 2015", "December 31, 2015"), or nothing."""
    label: str
    """The row that contains it, its groups before it: "Assets: Current assets: Cash"."""
    column: str
    """The heads over it, outermost first."""
    document_id: str
    page_index: int
    start: int
    end: int
    heads: tuple[tuple[int, int], ...] = ()
    """Spans of its row's label and of the heads over it, as far as they are on its page."""

    @property
    def amount(self) -> Decimal:
        return self.value * self.scale


@dataclass(frozen=True, slots=True)
class Computation:
    """A computation from figures; `pincite.core.text.stating` evaluates it and words it."""

    name: str
    """Name of the result: "Change in total net sales, 2014 to 2015"."""
    expression: str
    """Over the figures by their letters: "(b - a) / a * 100"."""
    unit: str = ""
    scale: int = 1
    """Unit of the result."""


@dataclass(frozen=True, slots=True)
class CellOfWords:
    """A cell that is no figure, and the rows that prove it, its own first; all as ``page.text[start:end]``."""

    document_id: str
    page_index: int
    start: int
    end: int
    rows: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Stated:
    """A statement by code about figures on pages: cells in words, or a computed result."""

    text: str
    figures: tuple[Figure, ...]
    probability: float
    """Probability that it answers the question correctly."""
    rivals: tuple[Figure, ...] = ()
    """Others that could be meant as well."""
    computation: Computation | None = None
    cell: CellOfWords | None = None
    """Cell of words that answers instead of figures; ``text`` is its text."""
    piece: int = 0
    """Which of the plan's pieces it answers, where there are several."""
