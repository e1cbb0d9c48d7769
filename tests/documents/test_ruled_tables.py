"""Cells that rules or white part: merged heads and labels, cells of several lines, tables that run up the page."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import docx
import pytest
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table, TableStyle

from pincite.core.documents.formats.word import save_as_pdf
from pincite.core.documents.reader import ProcessReader
from pincite.core.documents.tables import find_tables
from pincite.core.domain import tables as domain
from pincite.core.domain.documents import BlockKind, Page, PageStatus
from pincite.core.domain.settings import Settings

Read = Callable[[Path], list[Page]]
SMALL = getSampleStyleSheet()["BodyText"].clone("small", fontSize=9, leading=10.5, spaceBefore=0, spaceAfter=0)
RATES = [
    ["Quay", "Berth", "Summer", "Winter"],
    ["East", "short", "41.00", "22.00"],
    ["", "long", "63.00", "35.00"],
    ["West", "short", "44.50", "24.00"],
    ["", "long", "71.00", "38.50"],
]
DUTIES = [
    ["Duty", "Who", "By when"],
    ["Cleaning of the sluice gates and their rails", "Warden", "each Monday, before the first boat is let through"],
    ["Reading of the gauge", "Warden on duty, or whoever stands in", "daily"],
    ["Test of the alarm", "Electrician", "every three months, and after each flood"],
]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Read]:
    reader = ProcessReader(Settings(data_dir=tmp_path_factory.mktemp("data")))
    yield lambda path: list(reader.read(path, range(reader.open(path).page_count)))
    reader.close()


def _written(path: Path, rows: Sequence[Sequence[str]], *looks: Any, widths: Sequence[float] | None = None) -> Path:
    bold = [f"<b>{cell}</b>" for cell in rows[0]]
    drawn = [
        [Paragraph(cell, SMALL) if widths else cell for cell in row] for row in ([bold, *rows[1:]] if widths else rows)
    ]
    look = TableStyle([("FONTSIZE", (0, 0), (-1, -1), 9), ("VALIGN", (0, 0), (-1, -1), "MIDDLE"), *looks])
    above = Paragraph("What the harbour asks, in euro.", SMALL)
    SimpleDocTemplate(str(path), pagesize=A4).build([above, Table(drawn, colWidths=widths, style=look)])
    return path


def _cells(table: domain.Table) -> dict[tuple[str, str], str]:
    return {(table.rows[cell.row].path, table.columns[cell.column].path): cell.text for cell in table.body}


GRID = ("GRID", (0, 0), (-1, -1), 0.5, "black")


def test_label_spanning_several_rows_applies_to_each_row(read: Read, tmp_path: Path) -> None:
    for align in ("TOP", "MIDDLE", "BOTTOM"):
        looks = [GRID, ("SPAN", (0, 1), (0, 2)), ("SPAN", (0, 3), (0, 4)), ("VALIGN", (0, 0), (-1, -1), align)]
        [page] = read(_written(tmp_path / f"{align}.pdf", RATES, *looks))
        [table] = find_tables("d", [page])
        assert table.ruled and table.is_sure
        cells = _cells(table)
        assert cells["East: long", "Winter"] == "35.00" and cells["West: short", "Summer"] == "44.50"
    assert "East\tshort\t41.00\t22.00\n" in page.text


def test_heads_of_two_rows_are_read_by_the_cells_that_they_cover(read: Read, tmp_path: Path) -> None:
    rows = [["Fund", "2024", "", "2025", ""], ["", "In", "Out", "In", "Out"], ["Roof", "410", "385", "420", "431"]]
    spans = [("SPAN", (0, 0), (0, 1)), ("SPAN", (1, 0), (2, 0)), ("SPAN", (3, 0), (4, 0))]
    [page] = read(_written(tmp_path / "a.pdf", [*rows, ["Hall", "12", "9", "15", "11"]], GRID, *spans))
    [table] = find_tables("d", [page])
    assert [one.path for one in table.columns] == ["Fund", "2024: In", "2024: Out", "2025: In", "2025: Out"]
    assert _cells(table)["Roof", "2025: In"] == "420" and _cells(table)["Hall", "2024: Out"] == "9"
    heads = {block.column_heads for block in page.blocks if block.kind is BlockKind.TABLE_ROW}
    assert heads == {"", "Fund | 2024 In | 2024 Out | 2025 In | 2025 Out"}


def test_a_row_that_covers_all_columns_heads_those_below_it_and_empty_cells_stay_empty(
    read: Read, tmp_path: Path
) -> None:
    rows = [
        ["Boat", "Night", "Month"],
        ["Summer", "", ""],
        ["short", "18", "410"],
        ["Winter", "", ""],
        ["short", "", "255"],
    ]
    spans = [("SPAN", (0, 1), (2, 1)), ("SPAN", (0, 3), (2, 3))]
    [table] = find_tables("d", read(_written(tmp_path / "a.pdf", rows, GRID, *spans)))
    assert _cells(table) == {
        ("Summer: short", "Night"): "18", ("Summer: short", "Month"): "410", ("Winter: short", "Month"): "255",
    }  # fmt: skip


@pytest.mark.parametrize("ruled", [True, False])
def test_a_cell_of_several_lines_is_one_cell(read: Read, tmp_path: Path, ruled: bool) -> None:
    looks = [GRID] if ruled else [("LINEBELOW", (0, 0), (-1, 0), 0.8, "black")]
    [page] = read(_written(tmp_path / "a.pdf", DUTIES, *looks, widths=[110, 100, 120]))
    [table] = find_tables("d", [page])
    cells = _cells(table)
    assert cells["Cleaning of the sluice gates and their rails", "By when"].startswith("each Monday, before the first")
    assert cells["Reading of the gauge", "Who"] == "Warden on duty, or whoever stands in"
    assert "\t".join(DUTIES[3]) in page.text


@pytest.mark.parametrize("apart", [0, 9])
def test_dense_rows_without_rules_stay_rows_of_their_own(read: Read, tmp_path: Path, apart: int) -> None:
    rows = [["Name", "Role", "Town"], *([f"Ann {place}", "Clerk", f"Kiel {place}"] for place in "ABCDEFGHI")]
    rows[5][1] = ""
    looks: list[Any] = [("TOPPADDING", (0, 0), (-1, -1), 0), ("BOTTOMPADDING", (0, 0), (-1, -1), 0)]
    looks += [("FONTNAME", (0, 0), (-1, 0), "Helvetica-Bold")]
    looks += [("TOPPADDING", (0, row), (-1, row), apart) for row in (1, 4, 7)]
    [table] = find_tables("d", read(_written(tmp_path / "a.pdf", rows, *looks)))
    assert not table.ruled and _cells(table)["Ann F", "Town"] == "Kiel F"


def test_rules_around_several_rows_are_not_around_one(read: Read, tmp_path: Path) -> None:
    rows = [
        ["Month", "High", "Low"],
        *([month, f"39{at}", f"34{at}"] for at, month in enumerate(("April", "May", "June"))),
    ]
    looks = [("BOX", (0, 0), (-1, -1), 0.5, "black"), ("LINEBELOW", (0, 0), (-1, 0), 0.5, "black")]
    looks += [("LINEAFTER", (0, 0), (-1, -1), 0.5, "black")]
    [table] = find_tables("d", read(_written(tmp_path / "a.pdf", rows, *looks)))
    assert not table.ruled and _cells(table)["May", "Low"] == "341"


def test_a_figure_over_several_rows_or_columns_makes_a_table_doubtful(read: Read, tmp_path: Path) -> None:
    rows = [["Ward", "Beds", "Budget"], ["East", "12", "300"], ["West", "15", ""], ["North", "9", "100"]]
    [table] = find_tables("d", read(_written(tmp_path / "a.pdf", rows, GRID, ("SPAN", (2, 1), (2, 2)))))
    assert table.ruled and not table.is_sure


def test_tables_within_the_cells_of_another_are_read_by_themselves(read: Read, tmp_path: Path) -> None:
    inner = [
        [Table([["Item", "Price"], [name, "12"]], style=TableStyle([GRID])) for name in pair] for pair in ("AB", "CD")
    ]
    SimpleDocTemplate(str(tmp_path / "a.pdf"), pagesize=A4).build([Table(inner, style=TableStyle([GRID]))])
    [page] = read(tmp_path / "a.pdf")
    assert page.status is PageStatus.TEXT and sorted(page.text.split()) == sorted(
        "A B C D".split() + ["Item", "Price", "12"] * 4
    )


def test_paper_with_a_grid_is_no_table_and_takes_no_time(read: Read, tmp_path: Path) -> None:
    canvas = Canvas(str(tmp_path / "a.pdf"), pagesize=A4)
    for at in range(0, 804, 12):
        canvas.line(at, 0, at, 800)
        canvas.line(0, at, 800, at)
    canvas.setFont("Helvetica", 8)
    canvas.drawString(100, 399, "A curve of the tide at the old quay.")
    canvas.save()
    started = time.perf_counter()
    [page] = read(tmp_path / "a.pdf")
    assert "tide at the old quay" in page.text and time.perf_counter() - started < 10


def test_prose_in_a_frame_is_no_table(read: Read, tmp_path: Path) -> None:
    prose = " ".join(
        f"The warden of lock {number} reads its gauge each morning and writes it down." for number in range(9)
    )
    [page] = read(_written(tmp_path / "a.pdf", [["English", "Deutsch"], [prose, prose]], GRID, widths=[230, 230]))
    assert prose in " ".join(page.text.split()) and not find_tables("d", [page])


@pytest.mark.parametrize("turn", [90, -90])
def test_a_table_that_runs_up_or_down_the_page_keeps_its_columns(read: Read, tmp_path: Path, turn: int) -> None:
    canvas = Canvas(str(tmp_path / "a.pdf"), pagesize=A4)
    canvas.translate(300, 420)
    canvas.rotate(turn)
    for row, cells in enumerate([["Bolt", "K3", "K4"], ["Cap", "35", "40"], ["Rod", "62", "70"], ["Sump", "11", "12"]]):
        for column, text in enumerate(cells):
            canvas.drawString(-150 + 110 * column, -20 * row, text)
    canvas.save()
    [table] = find_tables("d", read(tmp_path / "a.pdf"))
    assert table.is_sure and _cells(table)["Rod", "K4"] == "70" and _cells(table)["Sump", "K3"] == "11"


def test_heads_that_repeat_below_two_others_belong_to_each(read: Read, tmp_path: Path) -> None:
    rows = [["", "Sales", "", "Profit", ""], ["Part", "2026", "2025", "2026", "2025"]]
    rows += [["Flour", "214.6", "201.3", "18.2", "16.9"], ["Oats", "96.1", "99.7", "7.4", "9.8"]]
    looks = [("SPAN", (1, 0), (2, 0)), ("SPAN", (3, 0), (4, 0)), ("ALIGN", (1, 0), (-1, 0), "CENTER")]
    looks.append(("ALIGN", (1, 1), (-1, -1), "RIGHT"))
    [table] = find_tables("d", read(_written(tmp_path / "a.pdf", rows, *looks)))
    assert _cells(table)["Oats", "Profit: 2025"] == "9.8"


def test_cells_that_a_word_file_merges_over_rows_are_one(read: Read, tmp_path: Path) -> None:
    document = docx.Document()
    table = document.add_table(rows=len(RATES), cols=4)
    for row, texts in enumerate(RATES):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    for first in (1, 3):
        table.cell(first, 0).merge(table.cell(first + 1, 0))
    document.save(str(tmp_path / "rates.docx"))
    save_as_pdf(tmp_path / "rates.docx", tmp_path / "rates.pdf")
    [found] = find_tables("d", read(tmp_path / "rates.pdf"))
    assert _cells(found)["West: long", "Summer"] == "71.00" and _cells(found)["East: long", "Winter"] == "35.00"


def test_amounts_close_together_are_separate_cells(read: Read, tmp_path: Path) -> None:
    canvas = Canvas(str(tmp_path / "a.pdf"), pagesize=A4)
    canvas.setFont("Helvetica", 10)
    for row, cells in enumerate([["", "2025", "2024"], ["Sales", "$ 4,029", "$ 1,933"], ["Costs", "2,120", "1,410"]]):
        for text, right in zip(cells, (140, 340, 380), strict=True):
            canvas.drawRightString(right, 700 - 18 * row, text)
    canvas.drawString(100, 600, "It rose from $ 4 $ 5 and more.")
    canvas.save()
    [page] = read(tmp_path / "a.pdf")
    [table] = find_tables("d", [page])
    assert "Sales\t$4,029\t$1,933" in page.text and _cells(table)["Sales", "2024"] == "$1,933"
