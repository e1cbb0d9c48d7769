"""Promises of `pincite tables`: every cell comes out with its place, and no text of a document is run as a formula."""

import csv
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from fpdf import FPDF

from pincite import cli
from pincite.core.domain.settings import Settings
from pincite.core.services.bootstrap import open_pincite

ROWS = (
    ("(in thousands)", "2021", "2020"),
    ("Berth fees", "1,240", "(1,105)"),
    ("=HYPERLINK(A1)", "310", "402"),
    ("@SUM(A1)", "7", "9"),
)


TURNED = (
    ("Item", "2021", "2020"),
    ("Sales", "150.2", "140.1"),
    ("Operating profit", "12.3", "11.9"),
    ("Net profit", "8.1", "7.0"),
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with a document that has one table, and one that has none."""
    folder = tmp_path_factory.mktemp("tables")
    for name, rows in (("harbour.pdf", ROWS), ("prose.pdf", ())):
        document = FPDF()
        document.add_page()
        document.set_font("helvetica", size=10)
        document.multi_cell(0, 6, "The harbour keeps accounts of what it earns.", new_x="LMARGIN", new_y="NEXT")
        for row in rows:
            for text in row:
                document.cell(55, 6, text)
            document.ln(6)
        document.output(str(folder / name))
    turned = FPDF()
    turned.add_page()
    turned.set_font("helvetica", size=10)
    with turned.rotation(90, x=60, y=150):
        for number, cells in enumerate(TURNED):
            for column, text in enumerate(cells):
                turned.text(60 + 45 * column, 150 + 8 * number, text)
    turned.output(str(folder / "turned.pdf"))
    with closing(open_pincite(Settings(data_dir=folder / "data"))) as pincite:
        for name in ("harbour.pdf", "prose.pdf", "turned.pdf"):
            pincite.ingest.add(folder / name, name)
        assert pincite.ingest.wait()
    return folder / "data"


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _run(library: Path, *words: str) -> int:
    return cli.main(["tables", "--data-dir", str(library), *words])


def test_tables_are_shown_with_their_page(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(library, "harbour.pdf") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Table 1, page 1 (position 1)")
    assert ["Berth", "fees", "1,240", "(1,105)"] in [line.split() for line in lines]


def test_csv_has_a_line_for_each_cell_and_runs_nothing(library: Path, tmp_path: Path) -> None:
    assert _run(library, "harbour", "--csv") == 0
    with (tmp_path / "harbour-tables.csv").open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 12
    fees = next(line for line in lines if line["text"] == "(1,105)")
    assert (fees["row_label"], fees["column_label"], fees["page_label"]) == ("Berth fees", "2020", "1")
    assert (fees["value"], fees["scale"], fees["page_position"]) == ("-1105", "1000", "1")
    assert 0 < float(fees["left"]) < float(fees["right"]) < 1
    assert "'=HYPERLINK(A1)" in {line["text"] for line in lines} & {line["row_label"] for line in lines}
    assert not any(value.startswith(("=", "+", "@")) for line in lines for value in line.values())


def test_a_workbook_has_text_as_text_and_figures_as_numbers(library: Path, tmp_path: Path) -> None:
    assert _run(library, "harbour.pdf", "--xlsx") == 0
    with zipfile.ZipFile(tmp_path / "harbour-tables.xlsx") as book:
        sheets = [book.read(name).decode() for name in book.namelist() if name.startswith("xl/worksheets/sheet")]
        strings = book.read("xl/sharedStrings.xml").decode()
    assert len(sheets) == 2
    assert "=HYPERLINK(A1)" in strings
    assert not any("<f>" in sheet for sheet in sheets)
    assert all("<v>-1105</v>" in sheet for sheet in sheets)


def test_a_file_that_is_there_stays_as_it_is(library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "harbour-tables.csv").write_text("mine")
    assert _run(library, "harbour.pdf", "--csv") == 2
    assert "harbour-tables.csv already exists" in capsys.readouterr().err
    assert (tmp_path / "harbour-tables.csv").read_text() == "mine"


def test_missing_tables_and_missing_document_are_reported(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(library, "prose.pdf", "--csv") == 0
    assert capsys.readouterr().out == "No tables were found in prose.pdf.\n"
    assert _run(library, "nowhere.pdf") == 2
    assert "nowhere.pdf" in capsys.readouterr().err


def test_a_guessed_structure_is_not_exported(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pincite.core.documents.tables._fits", lambda table: False)
    for form in ("--csv", "--xlsx"):
        assert cli.main(["tables", "--data-dir", str(library), "turned.pdf", form]) == 0
        assert "page 1" in capsys.readouterr().err
    first, *rest = (tmp_path / "turned-tables.csv").read_text(encoding="utf-8-sig").splitlines()
    assert "could not be read with certainty" in first and "page 1" in first
    lines = list(csv.DictReader(rest))
    assert sorted(line["text"] for line in lines) == sorted(text for row in TURNED for text in row)
    assert not any(line[name] for line in lines for name in ("row", "column", "is_head", "row_label", "column_label"))
    with zipfile.ZipFile(tmp_path / "turned-tables.xlsx") as book:
        strings = book.read("xl/sharedStrings.xml").decode()
    assert all(row[0] in strings for row in TURNED)
    assert cli.main(["tables", "--data-dir", str(library), "turned.pdf"]) == 0
    shown = capsys.readouterr().out
    assert "could not be read with certainty" in shown and all(text in shown for row in TURNED for text in row)


def test_a_table_that_runs_up_the_page_is_exported_with_its_structure(
    library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(library, "turned.pdf", "--csv") == 0 and not capsys.readouterr().err
    rows = list(csv.DictReader((tmp_path / "turned-tables.csv").read_text(encoding="utf-8-sig").splitlines()))
    assert [row["text"] for row in rows if (row["row_label"], row["column_label"]) == ("Net profit", "2020")] == ["7.0"]
