"""Tables are read as tables: each figure keeps its row, groups, column, period, unit and scale, and its place."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from fpdf import FPDF

from pincite.core.documents.grids import read_grid
from pincite.core.documents.reader import ProcessReader
from pincite.core.documents.tables import find_tables
from pincite.core.domain.documents import BlockKind, Page
from pincite.core.domain.settings import Settings
from pincite.core.domain.tables import Cell, Table
from tests.support.statements import Layout, Statement, write_statement

Read = Callable[[Path], list[Page]]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Read]:
    reader = ProcessReader(Settings(data_dir=tmp_path_factory.mktemp("data")))
    yield lambda path: list(reader.read(path, range(reader.open(path).page_count)))
    reader.close()


def _grid(*rows: tuple[str, ...], caption: str = "") -> Table:
    cells = [Cell(row, column, text) for row, texts in enumerate(rows) for column, text in enumerate(texts) if text]
    return read_grid(cells, caption=caption)


def _print(document: FPDF, rows: Sequence[tuple[str, ...]]) -> None:
    document.set_font("helvetica", size=10)
    for row in rows:
        for text in row:
            document.cell(50, 6, text)
        document.ln(6)


def test_page_determines_where_headers_end_and_dates_are_not_row_labels() -> None:
    rows = (("Street", "From", "Days"), ("Abbey Road", "2 March", "8"), ("Elm Avenue", "18 March", "6"))
    table = _grid(*rows)
    assert [row.label for row in table.rows] == ["Street", "Abbey Road", "Elm Avenue"] and table.head_columns == 1
    words = (("Property", "Value"), ("Power", "1,450 W"), ("Weight", "9.6 kg"))
    cells = [Cell(row, column, text) for row, texts in enumerate(words) for column, text in enumerate(texts)]
    assert read_grid(cells, max_heads=1).head_rows == 1


@pytest.mark.parametrize("layout", Layout)
def test_every_figure_keeps_its_row_column_period_and_amount(read: Read, tmp_path: Path, layout: Layout) -> None:
    statement: Statement = write_statement(tmp_path / "statement.pdf", layout, seed=1)
    pages = read(tmp_path / "statement.pdf")
    found = set()
    for table in find_tables("made", pages):
        for cell in table.body:
            if cell.value is not None:
                row, column = table.rows[cell.row], table.columns[cell.column]
                amount = cell.value * table.measure(cell)[1]
                found.add((row.groups, row.label, column.label, amount, table.page_index))
                assert pages[table.page_index].text[cell.start : cell.end] == cell.text
    known = {(c.groups, c.label, c.year, c.amount, c.page_index) for c in statement.cells}
    assert found == known


def test_a_table_goes_on_over_the_page_under_the_heads_before(read: Read, tmp_path: Path) -> None:
    write_statement(tmp_path / "long.pdf", Layout.TWO_PAGES, seed=2)
    first, second = find_tables("made", read(tmp_path / "long.pdf"))
    assert (first.continued, second.continued) == (False, True)
    assert second.columns == first.columns
    assert (second.unit, second.scale) == (first.unit, first.scale)


def test_a_table_that_repeats_its_heads_on_the_next_page_is_one(tmp_path: Path, read: Read) -> None:
    write_statement(tmp_path / "long.pdf", Layout.TWO_PAGES, seed=2)
    pages = list(read(tmp_path / "long.pdf"))
    again = replace(pages[0], page_index=1, page_label="2")
    kept = [block for block in again.blocks if block.kind is BlockKind.TABLE_ROW]
    first, second = find_tables("made", [pages[0], replace(again, blocks=tuple(kept))])
    assert second.continued and second.head_rows and second.caption == first.caption
    assert (second.unit, second.scale) == (first.unit, first.scale)


def test_periods_in_a_line_above_are_the_heads_of_rows_that_have_none(read: Read, tmp_path: Path) -> None:
    write_statement(tmp_path / "plain.pdf", Layout.PLAIN, seed=1)
    (page,) = read(tmp_path / "plain.pdf")
    (before,) = find_tables("made", [page])
    first = next(number for number, block in enumerate(page.blocks) if block.column_heads)
    changed = [
        replace(block, column_heads="", kind=block.kind if number >= first else BlockKind.PARAGRAPH)
        for number, block in enumerate(page.blocks)
    ]
    (after,) = find_tables("made", [replace(page, blocks=tuple(changed))])
    assert [column.label for column in after.columns[1:]] == [column.label for column in before.columns[1:]]


def test_rows_below_a_line_of_text_keep_the_heads_of_the_table_above(read: Read, tmp_path: Path) -> None:
    write_statement(tmp_path / "plain.pdf", Layout.PLAIN, seed=1)
    (page,) = read(tmp_path / "plain.pdf")
    (whole,) = find_tables("made", [page])
    middle = len(page.blocks) // 2
    changed = [
        replace(block, column_heads="" if number > middle else block.column_heads,
                kind=BlockKind.PARAGRAPH if number == middle else block.kind)
        for number, block in enumerate(page.blocks)
    ]  # fmt: skip
    first, second = find_tables("made", [replace(page, blocks=tuple(changed))])
    assert (first.continued, second.continued) == (False, True)
    assert second.columns == first.columns == whole.columns


def test_a_table_of_other_columns_on_the_next_page_is_one_of_its_own(read: Read, tmp_path: Path) -> None:
    document = FPDF()
    for rows in ([("", "2020", "2019"), ("Sales", "10", "20"), ("Costs", "4", "5")], [("Hall", "3"), ("Barn", "4")]):
        document.add_page()
        _print(document, rows)
    document.output(str(tmp_path / "two.pdf"))
    first, second = find_tables("made", read(tmp_path / "two.pdf"))
    assert [column.label for column in first.columns] == ["", "2020", "2019"]
    assert not second.continued and [column.label for column in second.columns] == ["", ""]


def test_a_title_within_a_page_parts_two_tables(read: Read, tmp_path: Path) -> None:
    income = [("Income", "2020", "2019"), ("Sales", "10", "20"), ("Rents", "4", "5")]
    staff = [("Region", "Staff", "Boats"), ("North", "12", "3"), ("South", "9", "1")]
    document = FPDF()
    document.add_page()
    for title, rows in (("Income of the harbour", income), ("Staff by region", staff)):
        document.set_font("helvetica", size=14)
        document.cell(0, 8, title, new_x="LMARGIN", new_y="NEXT")
        _print(document, rows)
    document.output(str(tmp_path / "two.pdf"))
    first, second = find_tables("made", read(tmp_path / "two.pdf"))
    assert [column.label for column in first.columns] == ["Income", "2020", "2019"]
    assert [column.label for column in second.columns] == ["Region", "Staff", "Boats"]
    assert second.caption == "Staff by region" and len(first.rows) == 3


def test_pages_without_tables_have_none(read: Read, tmp_path: Path) -> None:
    document = FPDF()
    document.add_page()
    document.set_font("helvetica", size=10)
    document.multi_cell(0, 5, "The harbour office keeps a register of 12 vessels. " * 20)
    document.output(str(tmp_path / "prose.pdf"))
    assert find_tables("made", read(tmp_path / "prose.pdf")) == ()


def test_heads_of_several_rows_belong_to_their_columns() -> None:
    table = _grid(("", "Berths", ""), ("", "2021", "2020"), ("Hall", "12", "11"), ("Barn", "7", "9"))
    assert table.head_rows == 2
    assert table.columns[1].path == "Berths: 2021"
    assert [row.label for row in table.rows[2:]] == ["Hall", "Barn"]


def test_single_cell_above_the_headers_is_a_caption_not_a_header() -> None:
    table = _grid(("3 Error codes",), ("Code", "Meaning", "What to do"), ("E1", "No water", "Open the tap"))
    assert (table.caption, table.head_rows) == ("3 Error codes", 1)
    assert [column.path for column in table.columns] == ["Code", "Meaning", "What to do"]
    assert _grid(("Income:",), ("Fees", "12"), ("Hire", "7")).caption == ""


def test_cells_with_degrees_and_units_per_litre_are_figures() -> None:
    table = _grid(("", "Heat", "Nitrate"), ("Quick", "45 °C", "61 mg/l"), ("Eco", "50 °C", "8 apples"))
    assert [str(cell.value) for cell in table.body] == ["45", "61", "50", "None"] and table.head_columns == 1


def test_a_year_in_a_column_of_years_is_no_figure() -> None:
    table = _grid(("Club", "Founded", "Members"), ("Rowers", "1904", "120"), ("Divers", "1988", "64"))
    assert {cell.text for cell in table.body if cell.value is not None} == {"120", "64"}


def test_unnamed_total_belongs_to_its_group_and_ends_it() -> None:
    table = _grid(("", "2020"), ("Sales", ""), ("Boats", "10"), ("Ropes", "4"), ("", "14"), ("Rent", "3"))
    assert [(row.path, row.total) for row in table.rows[4:]] == [("Sales", True), ("Rent", False)]


def test_totals_are_known_by_their_sums_in_any_language() -> None:
    table = _grid(
        ("", "2021", "2020"), ("Boote", "5", "7"), ("Netze", "3", "1"), ("Gesamt", "8", "8"), ("Rest", "1", "9")
    )
    assert [row.label for row in table.rows if row.total] == ["Gesamt"]


@pytest.mark.parametrize(
    ("caption", "label", "text", "measure"),
    [
        ("(in millions, except per share data)", "Net sales", "$30,274", ("USD", 10**6)),
        ("(in millions, except per share data)", "Earnings per share", "$1.20", ("USD", 1)),
        ("(in thousands)", "Margin", "12.5%", ("%", 1)),
        ("(in thousands)", "Berths (in millions)", "3", ("", 10**6)),
        ("EUR thousand", "Wages", "1,200", ("EUR", 1000)),
        ("Figures of 1870-2000", "Boats", "1,200", ("", 1)),
    ],
)
def test_unit_and_scale_come_from_the_closest_text_that_states_them(
    caption: str, label: str, text: str, measure: tuple[str, int]
) -> None:
    table = _grid(("", "2021"), (label, text), caption=caption)
    cell = next(cell for cell in table.body if cell.text == text)
    assert table.measure(cell) == measure
