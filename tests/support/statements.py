"""Statements of invented companies in several layouts, as PDFs, with the cells that are in them."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from pathlib import Path

from fpdf import FPDF

LINES = (
    ("Revenue", ("Product sales", "Service fees", "Licence income", "Rental income")),
    ("Operating costs", ("Cost of materials", "Wages and salaries", "Freight", "Energy", "Depreciation")),
    ("Current assets", ("Cash and deposits", "Trade receivables", "Inventories", "Prepaid expenses")),
    ("Non-current liabilities", ("Bank loans", "Lease liabilities", "Pension provisions")),
)
TITLES = ("Summary of results", "Group accounts", "Figures of the year", "Statement of the group")
SCALES = (("in millions", 10**6), ("in thousands", 1000), ("EUR thousand", 1000), ("in $ millions", 10**6))
ROW_HEIGHT = 6.0


class Layout(StrEnum):
    PLAIN = "plain"
    RULED = "ruled"
    SPANNING_HEAD = "spanning head"
    SIGNS_APART = "currency signs in a column of their own"
    TWO_PAGES = "over two pages"
    DECIMAL_COMMA = "decimal comma"


@dataclass(frozen=True, slots=True)
class KnownCell:
    """A cell of a generated table: the words of its row and of its column head, and its amount."""

    groups: tuple[str, ...]
    label: str
    year: str
    text: str
    amount: Decimal
    page_index: int


@dataclass(frozen=True, slots=True)
class Statement:
    """``cells`` are all figures of the PDF's one table."""

    layout: Layout
    title: str
    cells: tuple[KnownCell, ...]


def write_statement(path: Path, layout: Layout, seed: int) -> Statement:
    """Write a PDF with one table, the same for the same seed."""
    chance = random.Random(f"{layout}{seed}")
    return _Writer(layout, chance).write(path)


class _Writer:
    def __init__(self, layout: Layout, chance: random.Random) -> None:
        self.layout, self.chance = layout, chance
        self.stated, self.scale = chance.choice(SCALES)
        last = chance.randint(2009, 2024)
        self.years = [str(last - back) for back in range(chance.choice((2, 3)))]
        self.pdf = FPDF()
        self.pdf.set_auto_page_break(False)
        self.cells: list[KnownCell] = []
        self.widths = [90.0, *[32.0] * len(self.years)]

    def write(self, path: Path) -> Statement:
        title = self.chance.choice(TITLES)
        self._page()
        self.pdf.set_font("helvetica", "B", 14)
        self.pdf.cell(0, 9, title, new_x="LMARGIN", new_y="NEXT")
        self.pdf.set_font("helvetica", size=9)
        self.pdf.multi_cell(
            0, 5, "The table shows what the group earned, spent and owned.", new_x="LMARGIN", new_y="NEXT"
        )
        self.pdf.cell(0, 5, f"({self.stated})", new_x="LMARGIN", new_y="NEXT")
        self.pdf.ln(2)
        self._heads()
        groups = self.chance.sample(LINES, len(LINES) if self.layout is Layout.TWO_PAGES else 2)
        for number, (group, labels) in enumerate(groups):
            if self.layout is Layout.TWO_PAGES and number == 2:
                self._page()
            self._row([group], indent=0, bold=True)
            sums = [0.0] * len(self.years)
            for label in self.chance.sample(labels, len(labels) - 1):
                values = [self._value() for _ in self.years]
                sums = [total + value for total, value in zip(sums, values, strict=True)]
                self._figures((group,), label, values, indent=4)
            self._figures((), f"Total {group.lower()}", sums, indent=0)
        self.pdf.output(str(path))
        return Statement(self.layout, title, tuple(self.cells))

    def _page(self) -> None:
        self.pdf.add_page()
        self.pdf.set_font("helvetica", size=9)

    def _value(self) -> float:
        value = self.chance.choice((1, 1, 1, -1)) * self.chance.randint(2, 99_999)
        return value + self.chance.randint(1, 9) / 10 if self.layout is Layout.DECIMAL_COMMA else value

    def _heads(self) -> None:
        self.pdf.set_font("helvetica", "B", 9)
        if self.layout is Layout.SPANNING_HEAD:
            self.pdf.cell(self.widths[0], ROW_HEIGHT)
            self.pdf.cell(sum(self.widths[1:]), ROW_HEIGHT, "Year ended 30 June", align="C")
            self.pdf.ln(ROW_HEIGHT)
        self._row(["", *self.years], indent=0, bold=True)
        self.pdf.set_font("helvetica", size=9)

    def _row(self, texts: Sequence[str], *, indent: float, bold: bool = False) -> None:
        self.pdf.set_font("helvetica", "B" if bold else "", 9)
        border = "LTRB" if self.layout is Layout.RULED else ""
        self.pdf.set_x(self.pdf.l_margin + indent)
        for number, text in enumerate(texts):
            width = self.widths[number] - (indent if number == 0 else 0)
            signs = self.layout is Layout.SIGNS_APART and number and not bold
            if signs:
                self.pdf.cell(8, ROW_HEIGHT, "$", align="R")
                width -= 8
            self.pdf.cell(width, ROW_HEIGHT, text, border=border, align="R" if number else "L")
        self.pdf.ln(ROW_HEIGHT)

    def _figures(self, groups: tuple[str, ...], label: str, values: Sequence[float], *, indent: float) -> None:
        texts = [self._printed(value) for value in values]
        for year, text, value in zip(self.years, texts, values, strict=True):
            amount = Decimal(str(round(value, 1))) * self.scale
            self.cells.append(KnownCell(groups, label, year, text, amount, self.pdf.page - 1))
        self._row([label, *texts], indent=indent)

    def _printed(self, value: float) -> str:
        text = f"{abs(value):,.1f}" if self.layout is Layout.DECIMAL_COMMA else f"{abs(value):,.0f}"
        if self.layout is Layout.DECIMAL_COMMA:
            text = text.translate(str.maketrans(",.", ".,"))
        return f"({text})" if value < 0 else text
