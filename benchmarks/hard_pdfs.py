"""Does every odd, broken or locked PDF get an honest result: crashes, hangs, wrong messages, text recall.

Recall compares the characters of the first pages, without white space and after Unicode compatibility folding, with
what pypdf or pdfium reads there, whichever finds more that is not garbled. The references run in their own process.
"""

import argparse
import csv
import multiprocessing
import statistics
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from pincite.core.documents.formats.pdf.garbling import garbling
from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.documents import Page, PageStatus
from pincite.core.domain.errors import (
    DocumentError,
    EmptyFileError,
    NotAPdfError,
    PasswordNeededError,
    ReaderStoppedError,
    TooLargeError,
    UnreadablePdfError,
)
from pincite.core.domain.settings import Settings

HANG_SECONDS = 30.0
MIN_RECALL = 0.8
REFERENCE_PAGES = 10
REFERENCE_SECONDS = 60.0
OUTCOMES: Mapping[type[DocumentError], str] = {
    NotAPdfError: "not a PDF",
    EmptyFileError: "empty file",
    TooLargeError: "too large",
    PasswordNeededError: "needs password",
    UnreadablePdfError: "damaged",
    ReaderStoppedError: "reader stopped",
}


@dataclass(frozen=True, slots=True)
class Case:
    path: Path
    facts: Mapping[str, str]
    """The file's row of index.csv; empty where there is none."""


@dataclass(frozen=True, slots=True)
class Result:
    path: str
    outcome: str
    message: str
    seconds: float
    characters: int
    recall: float | None = None
    explained: bool = True
    wrong: str = ""
    crashed: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="folder with index.csv, or with PDFs below it")
    parser.add_argument("--limit", type=int, help="only so many files")


def run(options: argparse.Namespace) -> dict[str, Any]:
    cases = list(_cases(options.directory))[: options.limit]
    with tempfile.TemporaryDirectory() as directory:
        reader = ProcessReader(Settings(data_dir=Path(directory)))
        reference = _Reference()
        try:
            results = [_judge(case, reader, reference, options.directory) for case in cases]
        finally:
            reference.close()
            reader.close()
    recalls = [result.recall for result in results if result.recall is not None]
    return {
        "files": len(results),
        "crashes": sum(result.crashed for result in results),
        "hangs": sum(result.seconds > HANG_SECONDS for result in results),
        "wrong_messages": sum(bool(result.wrong) for result in results),
        "recall_median": round(statistics.median(recalls), 4) if recalls else None,
        "unexplained_below_0_8": sum(recall < MIN_RECALL for recall in _unexplained(results)),
        "outcomes": dict(Counter(result.outcome for result in results).most_common()),
        "results": [_row(result) for result in results],
    }


def _unexplained(results: list[Result]) -> Iterator[float]:
    for result in results:
        if result.recall is not None and not result.explained:
            yield result.recall


def _row(result: Result) -> dict[str, Any]:
    remarks = [result.message]
    if result.wrong:
        remarks.append(f"WRONG: {result.wrong}")
    if result.recall is not None and result.recall < MIN_RECALL:
        remarks.append(f"recall {result.recall:.2f}")
    return {
        "path": result.path,
        "outcome": result.outcome,
        "message": "; ".join(remark for remark in remarks if remark),
        "seconds": round(result.seconds, 3),
        "characters": result.characters,
    }


def _cases(directory: Path) -> Iterator[Case]:
    index = directory / "index.csv"
    if index.exists():
        with index.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                yield Case(directory / row["path"], row)
    else:
        for path in sorted(directory.rglob("*")):
            if path.suffix.lower() == ".pdf":
                yield Case(path, {})


def _judge(case: Case, reader: ProcessReader, reference: "_Reference", directory: Path) -> Result:
    started = time.perf_counter()
    pages: list[Page] = []
    notes: tuple[str, ...] = ()
    message, outcome, crashed = "", "", False
    try:
        info = reader.open(case.path)
        notes = info.notes
        pages = list(reader.read(case.path, range(info.page_count)))
    except DocumentError as error:
        outcome, message = OUTCOMES.get(type(error), type(error).__name__), str(error)
    except Exception as error:  # the question is whether anything at all escapes
        outcome, message, crashed = "crash", repr(error), True
    seconds = time.perf_counter() - started
    reasons = sorted({page.reason for page in pages if page.reason} | set(notes))
    references = reference.texts(case.path)
    recall = _recall(pages, references) if pages else None
    return Result(
        path=case.path.relative_to(directory).as_posix(),
        outcome=outcome or _outcome(pages),
        message=message or "; ".join(reasons),
        seconds=seconds,
        characters=sum(len(page.text) for page in pages),
        recall=recall,
        explained=bool(reasons),
        wrong=_wrong(case, outcome, message, pages, references) or _wrong_password(case, outcome, reader),
        crashed=crashed,
    )


def _outcome(pages: list[Page]) -> str:
    statuses = Counter(page.status for page in pages)
    for status in (PageStatus.TEXT, PageStatus.GARBLED, PageStatus.EMPTY):
        if statuses[status]:
            return status.value if status is not PageStatus.EMPTY else "no text"
    return PageStatus.FAILED.value


def _wrong(case: Case, outcome: str, message: str, pages: list[Page], references: list[str | None]) -> str:
    """Return what is untrue about the outcome, as far as the index and the references show."""
    if outcome and not message.strip():
        return "no message"
    if any(page.status is not PageStatus.TEXT and not page.reason for page in pages):
        return "a page without text has no reason"
    if outcome == "needs password" and b"/Encrypt" not in case.path.read_bytes():
        return "asks for a password, but the file is not encrypted"
    facts = case.facts
    known = facts and "ok" in (facts["pdfium_outcome"], facts["pypdf_outcome"])
    opens = known or any(text is not None for text in references)
    if outcome in ("damaged", "not a PDF", "empty file", "reader stopped", "needs password") and opens:
        return "another reader opens it"
    if facts and facts["category"] == "needs_password" and not opens and outcome != "needs password":
        return "needs a password and does not say so"
    return ""


def _wrong_password(case: Case, outcome: str, reader: ProcessReader) -> str:
    """Try the password that the index knows, and one that is wrong."""
    password = case.facts.get("known_password", "")
    if outcome != "needs password" or not password:
        return ""
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory) / "copy.pdf"
        try:
            reader.save_as_pdf(case.path, password, copy)
            list(reader.read(copy, range(reader.open(copy).page_count)))
        except DocumentError as error:
            return f"the right password does not open it: {error}"
        try:
            reader.save_as_pdf(case.path, password + "x", copy)
        except PasswordNeededError:
            return ""
        except DocumentError as error:
            return f"a wrong password is answered with: {error}"
    return "a wrong password opens it"


def _recall(pages: list[Page], references: list[str | None]) -> float | None:
    readable = [_characters(text) for text in references if text and not garbling(text)]
    best = max(readable, key=Counter.total, default=Counter[str]())
    if not best:
        return None
    ours = _characters("".join(page.text for page in pages[:REFERENCE_PAGES]))
    return (ours & best).total() / best.total()


def _characters(text: str) -> Counter[str]:
    folded = unicodedata.normalize("NFKC", text)
    without = ("Cc", "Cf", "Cn", "Co", "Cs")
    return Counter(c for c in folded if not c.isspace() and c != "\ufffd" and unicodedata.category(c) not in without)


class _Reference:
    """pypdf and pdfium, plainly used, in a process that is ended when a file holds it up."""

    def __init__(self) -> None:
        self._start()

    def texts(self, path: Path) -> list[str | None]:
        """What each reference reads on the first pages; None from one that cannot open the file."""
        self._pipe.send(str(path))
        texts: list[str | None] = []
        for _ in range(2):
            try:
                if not self._pipe.poll(REFERENCE_SECONDS):
                    raise EOFError
                texts.append(self._pipe.recv())
            except (EOFError, ConnectionError):
                self.close()
                self._start()
                break
        return texts

    def close(self) -> None:
        self._process.kill()
        self._process.join()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_answer_references, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()


def _answer_references(pipe: Connection) -> None:
    while True:
        path = pipe.recv()
        for read in (_pdfium_text, _pypdf_text):
            try:
                pipe.send(read(path))
            except Exception:  # whatever it is that a reference raises, it cannot read the file
                pipe.send(None)


def _pdfium_text(path: str) -> str:
    import pypdfium2

    document = pypdfium2.PdfDocument(path)
    pages = range(min(len(document), REFERENCE_PAGES))
    return "".join(document[index].get_textpage().get_text_range() for index in pages)


def _pypdf_text(path: str) -> str:
    import pypdf

    document = pypdf.PdfReader(path)
    pages = range(min(len(document.pages), REFERENCE_PAGES))
    return "".join(document.pages[index].extract_text() for index in pages)
