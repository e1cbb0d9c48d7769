"""The content of a file, in its order, in whatever format: paragraphs, tables, and starts of pages."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from pincite.core.domain.documents import HiddenReason

PRODUCER = "Pincite, from "
"""Beginning of the PDF field that names the program, in PDFs that are made from files of other formats."""
SPREADSHEET, CSV = "a spreadsheet", "a CSV file"
_WITH_PAGES = " with its pages"
UNKNOWN_SIGN = "◊"


@dataclass(frozen=True, slots=True)
class Run:
    text: str
    bold: bool = False
    italic: bool = False
    raised: bool = False
    hidden: HiddenReason | None = None
    """Why a reader of the file does not see it: never set, only listed."""
    change: str = ""
    """Who proposes that it goes, where it is deleted as a tracked change."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """``level``: of a heading, 1 = top; 0: text. ``label``: its number or bullet. ``note``: it is a footnote."""

    runs: tuple[Run, ...]
    level: int = 0
    label: str = ""
    depth: int = 0
    note: bool = False

    @property
    def text(self) -> str:
        return "".join(run.text for run in self.runs if not run.hidden)

    @property
    def hidden(self) -> tuple[Run, ...]:
        return tuple(run for run in self.runs if run.hidden and run.text.strip())


@dataclass(frozen=True, slots=True)
class Cell:
    paragraphs: tuple[Paragraph, ...]
    columns: int = 1
    goes_on: bool = False
    """It is one with the cell above it, which has the words of both."""


@dataclass(frozen=True, slots=True)
class Table:
    """``heads``: the first row is repeated on each of its pages.

    ``letters`` and ``numbers``: what the columns and the rows of a sheet are called; they are drawn, but not read.
    """

    rows: tuple[tuple[Cell, ...], ...]
    heads: bool = False
    letters: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PageStart:
    """Where a page of the file begins; ``label``: its number or name."""

    label: str


Item: TypeAlias = Paragraph | Table | PageStart


@dataclass(frozen=True, slots=True)
class Layout:
    """Size, margins and letter size of a page, in points."""

    width: float = 595.0
    height: float = 842.0
    left: float = 72.0
    right: float = 72.0
    top: float = 72.0
    bottom: float = 72.0
    letters: float = 11.0


PER_SIGN, MAX_WIDTH = 5.5, 4000.0
"""Points that a letter of a table takes, and that a page can be wide."""


def layout_for(items: Iterable[Item]) -> Layout:
    """Return a page that is wide enough for the longest words of the columns of each table."""
    wanted = 0.0
    for table in (item for item in items if isinstance(item, Table)):
        widths = dict[int, int]()
        for row in table.rows:
            at = 0
            for cell in row:
                words = [word for one in cell.paragraphs for word in one.text.split()]
                if cell.columns == 1:
                    widths[at] = max(widths.get(at, 2), min(max(map(len, words), default=0), 30))
                at += cell.columns
        wanted = max(wanted, sum(width * PER_SIGN + 4 for width in widths.values()))
    usual = Layout()
    width = min(max(wanted + usual.left + usual.right, usual.width), MAX_WIDTH)
    return Layout(width, max(0.707 * width, usual.height))


@dataclass(frozen=True, slots=True)
class Content:
    """``kind``: such as "a Word file". ``lacks``: kinds of content that were not read, in words.

    ``first_label``: the label of the first page, where the file has pages of its own; else None.
    """

    kind: str
    items: tuple[Item, ...]
    first_label: str | None = None
    lacks: tuple[str, ...] = ()
    title: str = ""
    author: str = ""
    created: datetime | None = None
    layout: Layout = Layout()

    @property
    def producer(self) -> str:
        return f"{PRODUCER}{self.kind}{_WITH_PAGES if self.first_label is not None else ''}"


def is_from_sheet(producer: str) -> bool:
    """Return whether a PDF was made from a spreadsheet, by its field for the program."""
    return producer.startswith((f"{PRODUCER}{SPREADSHEET}", f"{PRODUCER}{CSV}"))


def origin_note(producer: str) -> str:
    """Return a sentence about what a PDF was made from, by its field for the program; empty if it is not ours."""
    if not producer.startswith(PRODUCER):
        return ""
    kind = producer.removeprefix(PRODUCER)
    if kind.endswith(_WITH_PAGES):
        return f"This is the text of {kind.removesuffix(_WITH_PAGES)}, on its own pages."
    return f"This is the text of {kind}; its page numbers are Pincite's own."
