"""Make PDFs and labelled questions out of open reading and table data, to learn the built-in reranker from.

Contexts of one document become its pages; tables of several reports become the pages of one. Some questions name the
page or the table that they are about, as people do. Nothing here comes from the files that search is measured on.
"""

import argparse
import gzip
import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fpdf import FPDF

PAGE_CHARACTERS = 2_600
MOST_PAGES = 24
TABLES_OF_A_REPORT = 16
SEEN = 40
"""Characters on both sides of a context's middle; where they stand already, so does the context."""
NAMES_ITS_PAGE = 0.08
"""The share of questions that name the page, and of those about tables that name the table."""
ONE_DOCUMENT = "one document"
"""Marks questions that say nothing without their document, such as those about the clauses of a contract."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Source:
    file: str
    name: str
    documents: int
    questions: int
    """Of each document."""
    tags: tuple[str, ...] = ()


READING = (
    Source("reading.jsonl.gz", "squad-1.1-dev", 40, 12),
    Source("reading.jsonl.gz", "covid-qa", 40, 8),
    Source("reading.contracts.jsonl.gz", "cuad", 40, 5, (ONE_DOCUMENT,)),
)
TABLES = (
    Source("tables.jsonl.gz", "tatqa-dev", 12, 20, (ONE_DOCUMENT,)),
    Source("tables.jsonl.gz", "fetaqa-test", 12, 20),
)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A page to be: paragraphs, the cells of its table, and the questions whose answer stands on it."""

    paragraphs: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]
    questions: tuple[str, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="a folder with reading*.jsonl.gz and tables.jsonl.gz")
    parser.add_argument("out", type=Path, help="where pdfs/ and questions.jsonl are made")


def run(options: argparse.Namespace) -> dict[str, Any]:
    chance = random.Random(0)
    (options.out / "pdfs").mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    made = 0
    for source in (*READING, *TABLES):
        documents = _reading_documents if source in READING else _table_documents
        for name, sheets in documents(source, _shippable(options.directory, source)):
            _write_pdf(options.out / "pdfs" / name, sheets)
            rows += _questions(source, name, sheets, chance)
            made += 1
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (options.out / "questions.jsonl").write_text(text, encoding="utf-8")
    return {"documents": made, "questions": len(rows)}


def _shippable(directory: Path, source: Source) -> Iterator[Row]:
    with gzip.open(directory / source.file, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["source"] == source.name and row["use"] == "ship" and row.get("answerable", True):
                yield row


def _by_key(rows: Iterable[Row]) -> list[tuple[str, list[Row]]]:
    """The rows of each document, in an order that does not depend on the file's."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["split_key"]].append(row)
    return sorted(groups.items(), key=lambda pair: hashlib.sha256(pair[0].encode()).hexdigest())


def _reading_documents(source: Source, rows: Iterable[Row]) -> Iterator[tuple[str, list[Sheet]]]:
    for key, own in _by_key(rows)[: source.documents]:
        asked: dict[str, list[str]] = defaultdict(list)
        for row in own:
            asked[row["context"]].append(row["question"])
        sheets, held, questions = list[Sheet](), list[str](), list[str]()
        whole = ""
        for context, about in asked.items():
            middle = len(context) // 2
            if context[middle - SEEN : middle + SEEN] in whole:
                continue  # windows of a paper overlap
            whole += context
            if held and sum(map(len, held)) + len(context) > PAGE_CHARACTERS:
                sheets.append(Sheet(tuple(held), (), tuple(questions)))
                held, questions = [], []
            held.append(context)
            questions += about
        sheets.append(Sheet(tuple(held), (), tuple(questions)))
        yield _file_name(key), sheets[:MOST_PAGES]


def _table_documents(source: Source, rows: Iterable[Row]) -> Iterator[tuple[str, list[Sheet]]]:
    groups = _by_key(rows)
    for number in range(min(source.documents, len(groups) // TABLES_OF_A_REPORT)):
        group = groups[number * TABLES_OF_A_REPORT : (number + 1) * TABLES_OF_A_REPORT]
        yield (
            f"{source.name}-{number}.pdf",
            [
                Sheet((own[0]["text"],), tuple(map(tuple, own[0]["table"])), tuple(row["question"] for row in own))
                for _, own in group
            ],
        )


def _file_name(key: str) -> str:
    letters = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in key.split(":", 1)[-1])
    return f"{letters[:60].strip('-')}.pdf"


def _questions(source: Source, name: str, sheets: Sequence[Sheet], chance: random.Random) -> list[dict[str, Any]]:
    asked = [(place, question) for place, sheet in enumerate(sheets) for question in sheet.questions]
    chosen = chance.sample(asked, min(source.questions, len(asked)))
    rows = []
    for number, (place, question) in enumerate(chosen):
        drawn = chance.random()
        if drawn < NAMES_ITS_PAGE:
            question = f"On page {place + 1}: {question}"
        elif drawn < 2 * NAMES_ITS_PAGE and sheets[place].table:
            question = f"In Table {place + 1}: {question}"
        rows.append(
            {
                "id": f"{name}-{number}",
                "question": question,
                "answer": "",
                "answerable": True,
                "docs": [name],
                "evidence": [{"doc": name, "page_index": place}],
                "tags": [source.name, *source.tags],
            }
        )
    return rows


def _write_pdf(path: Path, sheets: Sequence[Sheet]) -> None:
    pdf = FPDF()
    pdf.set_title(path.stem.replace("-", " "))
    for number, sheet in enumerate(sheets, start=1):
        pdf.set_auto_page_break(False)
        pdf.add_page()
        pdf.set_font("helvetica", size=9)
        for paragraph in sheet.paragraphs:
            pdf.multi_cell(0, 4, _printable(paragraph), new_x="LMARGIN", new_y="NEXT")
            pdf.ln(3)
        if sheet.table:
            pdf.multi_cell(0, 5, f"Table {number}", new_x="LMARGIN", new_y="NEXT")
            widths = [pdf.epw / len(sheet.table[0])] * len(sheet.table[0])
            for cells in sheet.table:
                for cell, width in zip(cells, widths, strict=False):
                    pdf.cell(width, 5, _printable(cell)[: int(width / 1.7)])
                pdf.ln(5)
    pdf.output(str(path))


def _printable(text: str) -> str:
    return " ".join(text.split()).encode("latin-1", "replace").decode("latin-1")


def render(result: Mapping[str, Any]) -> str:
    return f"{result['documents']} documents, {result['questions']} questions"
