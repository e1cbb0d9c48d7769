"""Figures that stand on a page, with unit, scale, period and place, and what code says of them."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Figure:
    """``text`` is the figure as printed, ``page.text[start:end]``."""

    value: Decimal
    """As printed, with its sign; ``amount`` has the scale applied."""
    text: str
    unit: str
    """A currency by its ISO code ("USD"), "%", what is counted ("shares"), or nothing where none is said."""
    scale: int
    """1, 1000, 10**6 …: what the page says its figures are counted in."""
    period: str
    """As printed ("2015", "Q3 2015", "December 31, 2015"), or nothing."""
    label: str
    """The row that it stands in, its groups before it: "Assets: Current assets: Cash"."""
    column: str
    """The heads over it, outermost first."""
    document_id: str
    page_index: int
    start: int
    end: int
    heads: tuple[tuple[int, int], ...] = ()
    """Where its row's label and the heads over it stand, as far as they stand on its page."""

    @property
    def amount(self) -> Decimal:
        return self.value * self.scale


@dataclass(frozen=True, slots=True)
class Computation:
    """What figures give together; `pincite.core.text.stating` works it out and says it."""

    name: str
    """What it is called: "Change in total net sales, 2014 to 2015"."""
    expression: str
    """Over the figures by their letters: "(b - a) / a * 100"."""
    unit: str = ""
    scale: int = 1
    """What the result is counted in."""


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
    """What code says of figures that stand on pages: cells in words, or what is computed from them."""

    text: str
    figures: tuple[Figure, ...]
    probability: float
    """That it answers the question rightly."""
    rivals: tuple[Figure, ...] = ()
    """Others that could be meant as well."""
    computation: Computation | None = None
    cell: CellOfWords | None = None
    """What answers in the place of figures; ``text`` is what it says."""
    piece: int = 0
    """Which of the plan's pieces it answers, where there are several."""
