"""Make PDFs and labelled questions out of open reading and table data, to learn reranking and quoting from.

Contexts of one document become its pages; tables of several reports, or paragraphs that stand alone, become the pages
of one. Some questions name the page or the table that they are about, as people do. With ``--left-out`` only documents
that the reader was not trained on, and questions that their document does not answer among the others. Nothing here
comes from the files that Pincite is measured on.
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

from benchmarks.reader.examples import part_of

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


LEFT_OUT_READING = (
    Source("reading.jsonl.gz", "squad", 12, 24),
    Source("reading.jsonl.gz", "covid-qa", 20, 8),
    Source("reading.contracts.jsonl.gz", "cuad", 30, 8, (ONE_DOCUMENT,)),
)
LEFT_OUT_ALONE = (Source("reading.jsonl.gz", "qed-dev", 5, 30), Source("reading.jsonl.gz", "afriqa", 5, 30))
LEFT_OUT_TABLES = (
    Source("tables.jsonl.gz", "tatqa", 6, 30, (ONE_DOCUMENT,)),
    Source("tables.jsonl.gz", "wtq-test", 8, 20, (ONE_DOCUMENT,)),
    Source("tables.jsonl.gz", "fetaqa", 6, 20),
)
"""For each document by its name's beginning: the reader was trained on none of these documents."""
STRANGE = 0.1
"""The share of questions that are also put to the next document of their source, which does not answer them."""


@dataclass(frozen=True, slots=True)
class Asked:
    question: str
    answers: tuple[str, ...]
    """Alternatives; none: not in this document."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A page to be: paragraphs, the cells of its table, and the questions whose answer stands on it."""

    paragraphs: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]
    questions: tuple[Asked, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="a folder with reading*.jsonl.gz and tables.jsonl.gz")
    parser.add_argument("out", type=Path, help="where pdfs/ and questions.jsonl are made")
    parser.add_argument("--left-out", action="store_true", help="only what the reader was not trained on")


def run(options: argparse.Namespace) -> dict[str, Any]:
    chance = random.Random(0)
    (options.out / "pdfs").mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    made = 0
    makers = {
        _reading_documents: LEFT_OUT_READING if options.left_out else READING,
        _gathered_documents: LEFT_OUT_ALONE if options.left_out else (),
        _table_documents: LEFT_OUT_TABLES if options.left_out else TABLES,
    }
    for documents, sources in makers.items():
        for source in sources:
            strange: list[Asked] = []
            for name, sheets in documents(source, _rows(options, source)):
                _write_pdf(options.out / "pdfs" / name, sheets)
                rows += _questions(source, name, sheets, chance)
                rows += [_question_row(source, f"{name}-strange-{n}", name, None, one) for n, one in enumerate(strange)]
                asked = [one for sheet in sheets for one in sheet.questions if one.answers and options.left_out]
                strange = [
                    Asked(one.question, ())
                    for one in chance.sample(asked, min(len(asked), round(STRANGE * source.questions)))
                ]
                made += 1
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (options.out / "questions.jsonl").write_text(text, encoding="utf-8")
    return {"documents": made, "questions": len(rows)}


def _rows(options: argparse.Namespace, source: Source) -> Iterator[Row]:
    """Those that may be shipped: all that answer, or all of the documents that the reader was not trained on."""
    with gzip.open(options.directory / source.file, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["use"] != "ship":
                continue
            if options.left_out:
                if (
                    row["source"].startswith(source.name)
                    and not row.get("made")
                    and part_of(row["split_key"]) != "train"
                ):
                    yield row
            elif row["source"] == source.name and row.get("answerable", True):
                yield row


def _asked(row: Row) -> Asked:
    given = row.get("answer", [answer["text"] for answer in row.get("answers", ())])
    answers = tuple(map(str, given if isinstance(given, list) else [given]))
    if "answer" in row and len(answers) > 1:
        answers = (", ".join(answers),)  # of tables they are parts, elsewhere alternatives
    return Asked(row["question"], answers)


def _by_key(rows: Iterable[Row]) -> list[tuple[str, list[Row]]]:
    """The rows of each document, in an order that does not depend on the file's."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["split_key"]].append(row)
    return sorted(groups.items(), key=lambda pair: hashlib.sha256(pair[0].encode()).hexdigest())


def _reading_documents(source: Source, rows: Iterable[Row]) -> Iterator[tuple[str, list[Sheet]]]:
    for key, own in _by_key(rows)[: source.documents]:
        asked: dict[str, list[Asked]] = defaultdict(list)
        for row in own:
            asked[row["context"]].append(_asked(row))
        sheets, held, questions = list[Sheet](), list[str](), list[Asked]()
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


def _gathered_documents(source: Source, rows: Iterable[Row]) -> Iterator[tuple[str, list[Sheet]]]:
    """Paragraphs of as many documents as have a page in one."""
    alone = [own[0] for _, own in _by_key(rows)]
    for number in range(min(source.documents, len(alone) // MOST_PAGES)):
        group = alone[number * MOST_PAGES : (number + 1) * MOST_PAGES]
        yield f"{source.name}-{number}.pdf", [Sheet((row["context"],), (), (_asked(row),)) for row in group]


def _table_documents(source: Source, rows: Iterable[Row]) -> Iterator[tuple[str, list[Sheet]]]:
    groups = _by_key(rows)
    for number in range(min(source.documents, len(groups) // TABLES_OF_A_REPORT)):
        group = groups[number * TABLES_OF_A_REPORT : (number + 1) * TABLES_OF_A_REPORT]
        yield (
            f"{source.name}-{number}.pdf",
            [Sheet((own[0]["text"],), tuple(map(tuple, own[0]["table"])), tuple(map(_asked, own))) for _, own in group],
        )


def _file_name(key: str) -> str:
    letters = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in key.split(":", 1)[-1])
    return f"{letters[:60].strip('-')}.pdf"


def _questions(source: Source, name: str, sheets: Sequence[Sheet], chance: random.Random) -> list[dict[str, Any]]:
    asked = [(place, one) for place, sheet in enumerate(sheets) for one in sheet.questions]
    chosen = chance.sample(asked, min(source.questions, len(asked)))
    rows = []
    for number, (place, one) in enumerate(chosen):
        question, drawn = one.question, chance.random()
        if drawn < NAMES_ITS_PAGE:
            question = f"On page {place + 1}: {question}"
        elif drawn < 2 * NAMES_ITS_PAGE and sheets[place].table:
            question = f"In Table {place + 1}: {question}"
        rows.append(_question_row(source, f"{name}-{number}", name, place, Asked(question, one.answers)))
    return rows


def _question_row(source: Source, identity: str, name: str, place: int | None, asked: Asked) -> dict[str, Any]:
    answered = place is not None and bool(asked.answers)
    return {
        "id": identity,
        "question": asked.question,
        "answer": asked.answers[0] if asked.answers else "",
        "answers": asked.answers,
        "answerable": answered,
        "docs": [name],
        "evidence": [{"doc": name, "page_index": place}] if answered else [],
        "tags": [source.name, *source.tags],
    }


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
