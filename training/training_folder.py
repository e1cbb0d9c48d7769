"""Make PDFs and labelled questions out of open reading and table data, to learn reranking and quoting from.

Contexts of one document become its pages; tables of several reports, or separate paragraphs, become the pages
of one. Some questions name the page or the table that they are about, as people do. With ``--left-out`` only documents
that the reader was not trained on, and questions that their document does not answer among the others; with
``--languages`` the same in other languages than English, some questions in another one than their document. Nothing
here comes from the files that Pincite is measured on.
"""

import argparse
import gzip
import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fpdf import FPDF

from training.reader.examples import part_of

PAGE_CHARACTERS = 2_600
MAX_PAGES = 24
REPORT_TABLES = 16
SEEN = 40
"""Characters on both sides of a context's middle; if they are in the document already, so is the context."""
NAMES_ITS_PAGE = 0.08
"""The share of questions that name the page, and of those about tables that name the table."""
ONE_DOCUMENT = "one document"
"""Marks questions that have no meaning without their document, such as those about the clauses of a contract."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Source:
    file: str
    name: str
    documents: int
    questions: int
    """Of each document."""
    tags: tuple[str, ...] = ()
    language: str = "en"


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
PARALLEL, TRANSLATED = "xquad", Source("reading.jsonl.gz", "squad-1.1", 0, 0)
LANGUAGES_READING = (
    *(
        Source("reading.languages.jsonl.gz", PARALLEL, 4, 8, (), language)
        for language in ("de", "el", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")
    ),
    Source("reading.languages.jsonl.gz", "squad-it", 5, 16, (), "it"),
    Source("reading.languages.jsonl.gz", "drcd", 5, 16, (), "zh-Hant"),
    Source("reading.japanese.jsonl.gz", "jaquad", 5, 16, (), "ja"),
)
LANGUAGES_ALONE = (
    Source("reading.languages.jsonl.gz", "iapp-wiki-qa", 2, 24, (), "th"),
    Source("reading.languages.jsonl.gz", "cmrc2018", 3, 24, (), "zh"),
    Source("reading.languages.jsonl.gz", "norquad", 2, 24, (), "no"),
    Source("reading.languages.jsonl.gz", "afriqa", 2, 24, (), "fr"),
)
FONTS = (
    "dejavu/DejaVuSans.ttf",
    "droid/DroidSansFallbackFull.ttf",
    *(f"noto/NotoSans{script}-Regular.ttf" for script in ("Devanagari", "Thai")),
)
CROSSED = 0.5
"""The share of the parallel source's questions that are put in another language, where it is certain which they are."""
STRANGE = 0.1
"""The share of questions that are also asked of the next document of their source, which does not answer them."""


@dataclass(frozen=True, slots=True)
class Asked:
    question: str
    answers: tuple[str, ...]
    """Alternatives; none: not in this document."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A page to write: paragraphs, the cells of its table, and the questions answered on it."""

    paragraphs: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]
    questions: tuple[Asked, ...]


Maker = Callable[[Source, Iterable[Row]], Iterator[tuple[str, list[Sheet]]]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="a folder with reading*.jsonl.gz and tables.jsonl.gz")
    parser.add_argument("out", type=Path, help="where pdfs/ and questions.jsonl are made")
    parser.add_argument("--left-out", action="store_true", help="only what the reader was not trained on")
    parser.add_argument(
        "--languages", type=Path, metavar="FONTS", help="other languages, with the fonts of this folder"
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    chance = random.Random(0)
    (options.out / "pdfs").mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    made = 0
    unseen = options.left_out or options.languages
    fonts = [options.languages / name for name in FONTS] if options.languages else []
    for documents, sources in _makers(options).items():
        for source in sources:
            strange: list[Asked] = []
            for name, sheets in documents(source, _rows(options, source)):
                _write_pdf(options.out / "pdfs" / name, sheets, fonts)
                rows += _questions(source, name, sheets, chance)
                rows += [_question_row(source, f"{name}-strange-{n}", name, None, one) for n, one in enumerate(strange)]
                asked = [one for sheet in sheets for one in sheet.questions if one.answers and unseen]
                strange = [
                    Asked(one.question, ())
                    for one in chance.sample(asked, min(len(asked), round(STRANGE * source.questions)))
                ]
                made += 1
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (options.out / "questions.jsonl").write_text(text, encoding="utf-8")
    return {"documents": made, "questions": len(rows)}


def _makers(options: argparse.Namespace) -> dict[Maker, tuple[Source, ...]]:
    if options.languages:
        return {_reading_documents: LANGUAGES_READING, _gathered_documents: LANGUAGES_ALONE}
    if options.left_out:
        reading, alone, tables = LEFT_OUT_READING, LEFT_OUT_ALONE, LEFT_OUT_TABLES
        return {_reading_documents: reading, _gathered_documents: alone, _table_documents: tables}
    return {_reading_documents: READING, _table_documents: TABLES}


def _rows(options: argparse.Namespace, source: Source) -> Iterable[Row]:
    rows = _read_rows(options, source)
    return _crossed(options, list(rows)) if source.name == PARALLEL else rows


def _crossed(options: argparse.Namespace, rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows, some with the question in another language.

    A figure that occurs once among a document's answers identifies the same question in each language.
    """
    others = defaultdict[tuple[str, str], list[Row]](list)
    for source in (TRANSLATED, *LANGUAGES_READING):
        if source.name in (PARALLEL, TRANSLATED.name):
            for row in _read_rows(options, source):
                others[row["split_key"], row["answers"][0]["text"]].append(row)
    own = Counter((row["split_key"], row["answers"][0]["text"]) for row in rows)
    chance = random.Random(0)
    for row in rows:
        place = (row["split_key"], row["answers"][0]["text"])
        languages = Counter(other["language"] for other in others[place])
        known = [
            other
            for other in others[place]
            if languages[other["language"]] == 1 and other["language"] != row["language"]
        ]
        figure = place[1].isdecimal() and place[1].isascii()
        if figure and own[place] == 1 and known and chance.random() < CROSSED:
            yield {**row, "question": chance.choice(known)["question"]}
        else:
            yield row


def _read_rows(options: argparse.Namespace, source: Source) -> Iterator[Row]:
    """Yield those that may be shipped: all that answer, or all of the documents that the reader was not trained on."""
    unseen = options.left_out or options.languages
    with gzip.open(options.directory / source.file, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["use"] != "ship" or row.get("language", "en") != source.language:
                continue
            if unseen:
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
    """Return the rows of each document, in an order that does not depend on the file's."""
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
        yield _file_name(key, source.language), sheets[:MAX_PAGES]


def _gathered_documents(source: Source, rows: Iterable[Row]) -> Iterator[tuple[str, list[Sheet]]]:
    """Paragraphs of as many documents as have a page in one."""
    alone = [own[0] for _, own in _by_key(rows)]
    for number in range(min(source.documents, len(alone) // MAX_PAGES)):
        group = alone[number * MAX_PAGES : (number + 1) * MAX_PAGES]
        name = f"{source.name}-{source.language}-{number}.pdf"
        yield name, [Sheet((row["context"],), (), (_asked(row),)) for row in group]


def _table_documents(source: Source, rows: Iterable[Row]) -> Iterator[tuple[str, list[Sheet]]]:
    groups = _by_key(rows)
    for number in range(min(source.documents, len(groups) // REPORT_TABLES)):
        group = groups[number * REPORT_TABLES : (number + 1) * REPORT_TABLES]
        yield (
            f"{source.name}-{number}.pdf",
            [Sheet((own[0]["text"],), tuple(map(tuple, own[0]["table"])), tuple(map(_asked, own))) for _, own in group],
        )


def _file_name(key: str, language: str) -> str:
    name = key.split(":", 1)[-1]
    letters = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name)[:60].strip("-")
    if language == "en":
        return f"{letters}.pdf"
    return f"{language}-{hashlib.sha256(name.encode()).hexdigest()[:6]}-{letters}.pdf"


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


def _write_pdf(path: Path, sheets: Sequence[Sheet], fonts: Sequence[Path]) -> None:
    """Write a PDF; each font supplies letters that those before it lack; without fonts, only Latin letters appear."""
    pdf = FPDF()
    pdf.set_title(path.stem.replace("-", " "))
    for font in fonts:
        pdf.add_font(font.stem, fname=str(font))
    if fonts:
        pdf.set_fallback_fonts([font.stem for font in fonts[1:]], exact_match=False)

    def printable(text: str) -> str:
        drawn = " ".join(text.split())
        return drawn if fonts else drawn.encode("latin-1", "replace").decode("latin-1")

    for number, sheet in enumerate(sheets, start=1):
        pdf.set_auto_page_break(False)
        pdf.add_page()
        pdf.set_font(fonts[0].stem if fonts else "helvetica", size=9)
        for paragraph in sheet.paragraphs:
            pdf.multi_cell(0, 4, printable(paragraph), new_x="LMARGIN", new_y="NEXT")
            pdf.ln(3)
        if sheet.table:
            pdf.multi_cell(0, 5, f"Table {number}", new_x="LMARGIN", new_y="NEXT")
            widths = [pdf.epw / len(sheet.table[0])] * len(sheet.table[0])
            for cells in sheet.table:
                for cell, width in zip(cells, widths, strict=False):
                    pdf.cell(width, 5, printable(cell)[: int(width / 1.7)])
                pdf.ln(5)
    pdf.output(str(path))
