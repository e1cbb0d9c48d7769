"""A figure that stands on a page: its value with unit, scale and period, what it is said of, and where it stands."""

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

    @property
    def amount(self) -> Decimal:
        return self.value * self.scale
