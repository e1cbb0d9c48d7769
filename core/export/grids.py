"""A grid as CSV, as an Excel workbook (values, and their evidence on a second sheet) and as JSON."""

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from datetime import date

from pincite.core.domain.answers import PartKind
from pincite.core.domain.codec import to_plain
from pincite.core.domain.documents import Document
from pincite.core.domain.grids import Cell, CellState, Column, ColumnKind, FilledGrid
from pincite.core.domain.keys import in_words
from pincite.core.export.manifest import Exhibits, ToldAnswer, ToldPart, pin_cite
from pincite.core.text.plain import no_formula

FIRST_YEAR = 1900
"""Of a spreadsheet's dates."""
MAX_CHARACTERS = 32_767
"""A cell of a spreadsheet holds no more."""
EVIDENCE = ("Document", "Column", "Question", "Value", "State", "Entered by", "Probability", "Page", "Quotation",
            "Pages read", "Note")  # fmt: skip
WIDTHS = {"Document": 30, "Question": 40, "Value": 30, "Quotation": 80, "Note": 40}
"""Of the columns of the evidence, in characters; the others have 14."""


def shown_value(cell: Cell) -> str:
    """Return the value, or in brackets why there is none."""
    if cell.value and cell.state in (CellState.FOUND, CellState.NEEDS_REVIEW, CellState.UNCLEAR):
        return cell.value if cell.state is CellState.FOUND else f"{cell.value} [{in_words(cell.state)}]"
    return f"[{in_words(cell.state)}]"


def as_csv(filled: FilledGrid, documents: Mapping[str, Document]) -> bytes:
    """One line for each document; what a spreadsheet would run as a formula has an apostrophe before it."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(map(no_formula, ["Document", *(column.name for column in filled.grid.columns)]))
    for document, cells in _rows(filled, documents):
        writer.writerow(map(no_formula, [document.name, *(shown_value(cell) for _, cell in cells)]))
    return out.getvalue().encode("utf-8-sig")


def as_json(filled: FilledGrid, documents: Mapping[str, Document]) -> bytes:
    """The grid with all cells and their citations."""
    rows = [
        {"document": document.name, "sha256": document.sha256, "cells": [to_plain(cell) for _, cell in cells]}
        for document, cells in _rows(filled, documents)
    ]
    plain = {"name": filled.grid.name, "columns": [to_plain(one) for one in filled.grid.columns], "rows": rows}
    return json.dumps(plain, ensure_ascii=False, indent=1).encode()


def as_xlsx(filled: FilledGrid, documents: Mapping[str, Document]) -> bytes:
    """Values on the first sheet, as numbers and dates where they are; quotations and pages on the second."""
    import xlsxwriter

    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"strings_to_formulas": False, "strings_to_urls": False}) as book:
        head, wraps = book.add_format({"bold": True, "text_wrap": True}), book.add_format({"text_wrap": True})
        for format_ in (head, wraps):
            format_.set_align("top")
        days = book.add_format({"num_format": "yyyy-mm-dd", "align": "left", "valign": "top"})
        values = book.add_worksheet("Values")
        values.freeze_panes(1, 1)
        values.set_column(0, 0, 30, wraps)
        values.set_column(1, len(filled.grid.columns), 24, wraps)
        for at, name in enumerate(["Document", *(column.name for column in filled.grid.columns)]):
            values.write_string(0, at, name[:MAX_CHARACTERS], head)
        for row, (document, cells) in enumerate(_rows(filled, documents), start=1):
            values.write_string(row, 0, document.name)
            for at, (column, cell) in enumerate(cells, start=1):
                value = typed_value(column, cell)
                if isinstance(value, date):
                    values.write_datetime(row, at, value, days)
                elif isinstance(value, float):
                    values.write_number(row, at, value)
                else:
                    values.write_string(row, at, value[:MAX_CHARACTERS])
        evidence = book.add_worksheet("Evidence")
        evidence.freeze_panes(1, 2)
        for at, name in enumerate(EVIDENCE):
            evidence.set_column(at, at, WIDTHS.get(name, 14), wraps)
            evidence.write_string(0, at, name, head)
        for row, told in enumerate(_evidence(filled, documents), start=1):
            for at, text in enumerate(told):
                evidence.write_string(row, at, text[:MAX_CHARACTERS])
    return out.getvalue()


def typed_value(column: Column, cell: Cell) -> str | float | date:
    """Return what a spreadsheet can reckon with: a number, a whole date, else the shown text."""
    if cell.state is CellState.FOUND:
        try:
            if column.kind is ColumnKind.DATE and (day := date.fromisoformat(cell.value)).year >= FIRST_YEAR:
                return day
            if column.kind is ColumnKind.NUMBER and math.isfinite(number := float(cell.value)):
                return number
        except ValueError:
            pass
    return shown_value(cell)


def _rows(
    filled: FilledGrid, documents: Mapping[str, Document]
) -> Iterator[tuple[Document, list[tuple[Column, Cell]]]]:
    for document_id in filled.grid.document_ids:
        if document := documents.get(document_id):
            yield document, [(column, filled.cell(document_id, column.id)) for column in filled.grid.columns]


def _evidence(filled: FilledGrid, documents: Mapping[str, Document]) -> Iterator[tuple[str, ...]]:
    for document, cells in _rows(filled, documents):
        for column, cell in cells:
            pages = dict.fromkeys(one.page_label or str(one.page_index + 1) for one in cell.citations)
            yield (
                *(document.name, column.name, column.question, cell.value, in_words(cell.state)),
                "a person" if cell.by_person else "" if cell.state is CellState.WAITING else "the program",
                "" if cell.confidence is None else f"{cell.confidence:.0%}",
                ", ".join(pages),
                "\n".join(dict.fromkeys(one.quotation for one in cell.citations)),
                str(cell.pages_read or ""),
                " ".join(filter(None, [cell.detail, "The document or the question has changed since." * cell.stale])),
            )


def as_answers(filled: FilledGrid, documents: Mapping[str, Document], exhibits: Exhibits) -> list[ToldAnswer]:
    """Return the answered cells as answers of a binder, row by row; ``exhibits`` has each page that they cite."""
    return [
        ToldAnswer(
            question=f"{document.name}: {column.question}",
            asked_at=filled.grid.created_at,
            engine="",
            status=cell.state,
            finding=_finding(cell),
            parts=(ToldPart(shown_value(cell), PartKind.PROSE, tuple({one.number for one in cell.citations})),),
            citations=tuple(pin_cite(place, exhibits[place.page]) for place in cell.citations),
            confidence=cell.confidence,
        )
        for document, cells in _rows(filled, documents)
        for column, cell in cells
        if cell.state is not CellState.WAITING
    ]


def _finding(cell: Cell) -> str:
    told = [f"{in_words(cell.state).capitalize()}{', by a person' if cell.by_person else ''}."]
    told += [f"Probability that it is right: {cell.confidence:.0%}."] if cell.confidence is not None else []
    told += [f"{cell.pages_read} pages read."] if cell.state is CellState.NOT_STATED and cell.pages_read else []
    told += ["The document or the question has changed since."] if cell.stale else []
    return " ".join(filter(None, [*told, cell.detail]))


FORMS = {".csv": as_csv, ".xlsx": as_xlsx, ".json": as_json}
"""How a grid is written, by the ending of the file."""
