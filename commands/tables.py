"""The command `tables`: shows the tables of a document, or writes them to a file for a spreadsheet."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pincite.commands.documents import name_argument
from pincite.commands.frame import ANSWERED, Command, complain, plural, settings_here, tell
from pincite.core.text.plain import no_formula

if TYPE_CHECKING:
    from pincite.core.domain.tables import Cell, Table

_COLUMNS = (
    *("table", "page_label", "page_position", "row", "column", "columns", "is_head", "row_label", "column_label"),
    *("text", "value", "unit", "scale", "left", "top", "right", "bottom"),
)
_MAX_CHARACTERS = 32_767
"""A spreadsheet's cell holds no more."""


@click.command(cls=Command)
@name_argument
@click.option("--csv", "form", flag_value="csv", help="Write NAME-tables.csv here, with one line per cell.")
@click.option("--xlsx", "form", flag_value="xlsx", help="Write NAME-tables.xlsx here, also with a sheet per table.")
def tables(name: str, form: str | None) -> int:
    """Show the tables of a document, or write them for a spreadsheet.

    NAME is its name or id.
    """
    from pincite.core.services.looking import look_into

    with look_into(settings_here()) as look:
        document = look.library.find(name)
        found = look.tables(document.id)
    if not found:
        tell(f"No tables were found in {document.name}.")
        return ANSWERED
    if form is None:
        for number, table in enumerate(found, start=1):
            tell("\n".join(_shown(number, table)), lines=True)
        return ANSWERED
    path = Path(f"{Path(document.name).stem}-tables.{form}")
    if path.exists():
        return complain(f"{path} already exists; it was not changed.")
    write = _write_csv if form == "csv" else _write_xlsx
    write(path, found)
    if note := _unsure(found):
        complain(note)
    tell(f"Wrote {plural(len(found), 'table')} of {document.name} to {path}.")
    return ANSWERED


def _unsure(found: Sequence["Table"]) -> str:
    """Return a note about the tables that are written as plain rows; empty if none."""
    places = [f"{number} (page {one.page_label})" for number, one in enumerate(found, start=1) if not one.is_sure]
    if not places:
        return ""
    which = f"table {places[0]}" if len(places) == 1 else f"tables {', '.join(places)}"
    return (
        f"The columns of {which} could not be read with certainty; the cells are given in reading order, without heads."
    )


def _shown(number: int, table: "Table") -> Iterator[str]:
    goes_on = ", continued from the previous page" if table.continued else ""
    place = f"page {table.page_label} (position {table.page_index + 1}{goes_on})"
    yield f"Table {number}, {place}: {' '.join(table.caption.split()) or 'no caption'}"
    rows = _rows(table)
    if not table.is_sure:
        yield f"  {_unsure([table])}".replace("table 1 ", "this table ")
    widths = [max((len(row[at]) for row in rows if at < len(row)), default=0) for at in range(max(map(len, rows)))]
    for row in rows:
        yield "  " + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=False)).rstrip()
    yield ""


def _rows(table: "Table") -> list[list[str]]:
    """Return the texts by row and column, or of an unsure table in reading order."""
    if not table.is_sure:
        return [[cell.text for cell in table.cells if cell.row == row] for row in range(len(table.rows))]
    rows = [[""] * len(table.columns) for _ in table.rows]
    for cell in table.cells:
        rows[cell.row][cell.column] = cell.text
    return rows


def _lines(found: Sequence["Table"]) -> Iterator[dict[str, Any]]:
    """A line for each cell of each table: positions count from 1, places are shares of the page's width and height."""
    for number, table in enumerate(found, start=1):
        for cell in table.cells:
            head = cell.row < table.head_rows or cell.column < table.head_columns
            heading = (table.rows[cell.row].path, table.columns[cell.column].path)
            known = (cell.row + 1, cell.column + 1, cell.columns, "yes" if head else "no", *heading)
            structure: Sequence[Any] = known if table.is_sure else [""] * len(known)
            unit, scale = table.measure(cell) if cell.value is not None else ("", "")
            box = cell.box
            places = [round(edge, 4) for edge in (box.left, box.top, box.right, box.bottom)] if box else [""] * 4
            values: Iterable[Any] = (
                *(number, table.page_label, table.page_index + 1, *structure),
                *(cell.text, "" if cell.value is None else cell.value, unit, scale, *places),
            )
            yield dict(zip(_COLUMNS, values, strict=True))


def _write_csv(path: Path, found: Sequence["Table"]) -> None:
    with path.open("x", encoding="utf-8-sig", newline="") as file:
        if note := _unsure(found):
            csv.writer(file).writerow([f"# {note}"])
        writer = csv.DictWriter(file, _COLUMNS)
        writer.writeheader()
        for line in _lines(found):
            writer.writerow({k: no_formula(value) if isinstance(value, str) else value for k, value in line.items()})


def _write_xlsx(path: Path, found: Sequence["Table"]) -> None:
    import xlsxwriter

    with xlsxwriter.Workbook(str(path), {"strings_to_formulas": False, "strings_to_urls": False}) as book:
        sheet = book.add_worksheet("Cells")
        for column, name in enumerate(_COLUMNS):
            sheet.write_string(0, column, name)
        for row, line in enumerate(_lines(found), start=1):
            for column, value in enumerate(line.values()):
                _write(sheet, row, column, value)
        for number, table in enumerate(found, start=1):
            sheet = book.add_worksheet(f"Table {number}")
            _write(sheet, 0, 0, f"Page {table.page_label} (position {table.page_index + 1})")
            _write(sheet, 1, 0, " ".join(table.caption.split()))
            if not table.is_sure:
                _write(sheet, 2, 0, _unsure([table]).replace("table 1 ", "this table "))
            for row in range(len(table.rows)):
                cells = [cell for cell in table.cells if cell.row == row]
                for at, cell in enumerate(cells):
                    _write(sheet, row + 3, cell.column if table.is_sure else at, _plain(cell))


def _plain(cell: "Cell") -> Any:
    return cell.text if cell.value is None else cell.value


def _write(sheet: Any, row: int, column: int, value: Any) -> None:
    """Text as text and never as a formula, numbers as numbers."""
    if isinstance(value, str):
        sheet.write_string(row, column, value[:_MAX_CHARACTERS])
    else:
        sheet.write_number(row, column, value)


COMMANDS = (tables,)
