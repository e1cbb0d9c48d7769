"""How fast is ingest? Pages a second by stage, time until searchable, peak memory, and how they grow with length."""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pypdfium2

from pincite.core.documents.metadata import describe
from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.documents import Page, Passage, embedded_text
from pincite.core.domain.errors import DocumentError
from pincite.core.domain.ports import Embedder
from pincite.core.domain.settings import Settings
from pincite.core.ingest.pipeline import Ingest
from pincite.core.ingest.stages import Stores
from pincite.core.services.registry import make_embedder
from pincite.core.store.fts5 import Fts5Index
from pincite.core.store.indexes import Indexes, PendingPassages
from pincite.core.store.jobs import Jobs
from pincite.core.store.library import Library
from pincite.core.store.shelf import Shelf
from pincite.core.store.sqlite import SqliteDatabase

SAMPLE_SECONDS = 0.1
_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 2**20


@dataclass(frozen=True, slots=True)
class Run:
    """One ingest of some files into an empty library."""

    pages: int
    passages: int
    seconds: float
    searchable_seconds: float
    stages: Mapping[str, float]
    """Seconds at work in each stage; stages overlap."""
    embedding_seconds: float
    peak_mib: float
    refused: Mapping[str, str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="a folder; every PDF below it is ingested")
    parser.add_argument("--pages", type=int, default=0, help="only so many pages, put into one document")
    parser.add_argument(
        "--growth", default="", help="also lengths to compare, such as 100,1000,10000 (one document each)"
    )
    parser.add_argument("--ocr", action="store_true", help="recognise scanned pages too")


def run(options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="pincite-ingest-") as scratch:
        files = sorted(path for path in options.directory.rglob("*") if path.suffix.lower() == ".pdf")
        if options.pages:
            files = [_joined(files, options.pages, Path(scratch) / f"{options.pages}-pages.pdf")]
        settings = Settings(data_dir=Path(scratch) / "data", ocr=options.ocr)
        done = ingest(files, settings)
        names = [file for file in files if file.name not in done.refused and _opens_plainly(file)]
        plain, read = plain_seconds(names), reading_seconds(names, settings)
    worked = sum(done.stages.values())
    result = {
        "pages": done.pages,
        "passages": done.passages,
        "seconds": round(done.seconds, 2),
        "pages_per_second": round(done.pages / done.seconds, 2),
        "stages": {name: round(seconds / worked, 4) for name, seconds in done.stages.items()},
        "searchable_seconds_per_100_pages": round(100 * done.searchable_seconds / done.pages, 3),
        "text_pages_per_second": round(done.pages / read, 1),
        "pdfium_pages_per_second": round(done.pages / plain, 1),
        "text_ratio": round(plain / read, 3),
        "embedding_ratio": round(done.seconds / done.embedding_seconds, 3),
        "embedding_passages_per_second": round(done.passages / done.embedding_seconds, 1),
        "peak_mib": round(done.peak_mib),
        "refused": dict(done.refused),
    }
    if options.growth:
        result["growth"] = [_alone(options, int(length)) for length in options.growth.split(",")]
    return result


# ---------------------------------------------------------------- the run itself


class Timed:
    """Seconds that threads spend in each stage."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += time.perf_counter() - started

    def each(self, name: str, pages: Iterator[Page]) -> Iterator[Page]:
        """Yield the same pages, with the time they take to come."""
        while True:
            with self.stage(name):
                page = next(pages, None)
            if page is None:
                return
            yield page


class TimedReader(ProcessReader):
    def __init__(self, settings: Settings, timed: Timed) -> None:
        super().__init__(settings)
        self._timed = timed

    def read(self, path: Path, page_indexes: Sequence[int]) -> Iterator[Page]:
        return self._timed.each("parse", super().read(path, page_indexes))

    def recognise(self, path: Path, page_indexes: Sequence[int]) -> Iterator[Page]:
        return self._timed.each("ocr", super().recognise(path, page_indexes))


class TimedKeywords(Fts5Index):
    def __init__(self, database: SqliteDatabase, timed: Timed) -> None:
        super().__init__(database)
        self._timed = timed

    def prepare(self, passages: Sequence[Passage]) -> Callable[[], None]:
        with self._timed.stage("keywords"):
            return super().prepare(passages)


class TimedIndexes(Indexes):
    def __init__(self, database: SqliteDatabase, settings: Settings, timed: Timed, embedder: Embedder) -> None:
        super().__init__(database, settings, lambda name, chosen: embedder)
        self._timed = timed

    def embed(self, batch: PendingPassages, stopped: Callable[[], bool]) -> bool:
        with self._timed.stage("embed"):
            return super().embed(batch, stopped)

    def keep_in_step(self, stopped: Callable[[], bool]) -> bool:
        with self._timed.stage("vectors"):
            return super().keep_in_step(stopped)


def ingest(files: Sequence[Path], settings: Settings) -> Run:
    """Ingest the files as the product does, then embed the same passages again with no other work."""
    timed = Timed()
    embedder = make_embedder(settings.embedding_model, settings)
    embedder.embed(["warm"] * 32)
    database = SqliteDatabase(settings.database_path)
    library = Library(database, settings)
    indexes = TimedIndexes(database, settings, timed, embedder)
    indexes.active()
    reader = TimedReader(settings, timed)
    shelf = Shelf(database, library, TimedKeywords(database, timed), settings)
    worker = Ingest(
        Stores(library, shelf, Jobs(database, shelf, indexes), indexes, database.lock("ingest"), database.claim),
        reader,
        describe,
        settings,
    )
    refused: dict[str, str] = {}
    with _peak_memory() as peak_mib:
        started = time.perf_counter()
        for file in files:
            try:
                worker.add(file, file.name)
            except DocumentError as error:
                refused[file.name] = str(error)
        worker.wait(searchable_only=True)
        searchable = time.perf_counter() - started
        worker.wait()
        seconds = time.perf_counter() - started
    documents = library.list()
    texts = [embedded_text(p) for d in documents for p in library.opening_passages(d.id, d.passage_count)]
    worker.close()
    reader.close()
    indexes.close()
    started = time.perf_counter()
    for at in range(0, len(texts), 512):
        embedder.embed(texts[at : at + 512])
    alone = time.perf_counter() - started
    database.close()
    pages = sum(document.page_count for document in documents)
    return Run(pages, len(texts), seconds, searchable, dict(timed.seconds), alone, peak_mib(), refused)


def reading_seconds(files: Sequence[Path], settings: Settings) -> float:
    """Return the seconds that the product's reader takes for every page's text, with no other work."""
    reader = ProcessReader(settings)
    counts = [reader.open(file).page_count for file in files]
    started = time.perf_counter()
    for file, count in zip(files, counts, strict=True):
        for _ in reader.read(file, range(count)):
            pass
    seconds = time.perf_counter() - started
    reader.close()
    return seconds


def _opens_plainly(file: Path) -> bool:
    """Return whether pdfium alone opens it; the reader has a second opinion, which would compare unlike things."""
    try:
        pypdfium2.PdfDocument(file).close()
    except pypdfium2.PdfiumError:
        return False
    return True


def plain_seconds(files: Sequence[Path]) -> float:
    """Plain text extraction of every page by pdfium."""
    started = time.perf_counter()
    for file in files:
        document = pypdfium2.PdfDocument(file)
        for index in range(len(document)):
            page = document[index]
            text_page = page.get_textpage()
            text_page.get_text_range()
            text_page.close()
            page.close()
        document.close()
    return time.perf_counter() - started


# ---------------------------------------------------------------- growth


def join_pages(files: Sequence[Path], pages: int, target: Path) -> Path:
    """Write one PDF with the given number of pages, from the files in turn, starting again after the last one."""
    joined = pypdfium2.PdfDocument.new()
    while len(joined) < pages:
        before = len(joined)
        for file in files:
            with pypdfium2.PdfDocument(file) as document:
                joined.import_pages(document, list(range(min(len(document), pages - len(joined)))))
            if len(joined) >= pages:
                break
        if len(joined) == before:
            raise ValueError(f"No pages in {[file.name for file in files]}")
    joined.save(target)
    return target


def _joined(files: Sequence[Path], pages: int, target: Path) -> Path:
    """``join_pages`` in a process of its own: what it holds grows with the length and is not ingest's."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(join_pages, files, pages, target).result()


def _alone(options: argparse.Namespace, pages: int) -> dict[str, Any]:
    """Return the same for one document of ``pages`` pages, in a separate process to measure its memory."""
    command = [sys.executable, "-m", "benchmarks", "ingest", str(options.directory), "--pages", str(pages), "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@contextmanager
def _peak_memory() -> Iterator[Callable[[], float]]:
    """The most memory that this process and its children held at one moment, in MiB, sampled."""
    peak = 0.0
    finished = threading.Event()

    def sample() -> None:
        nonlocal peak
        while not finished.wait(SAMPLE_SECONDS):
            peak = max(peak, _resident_mib([os.getpid(), *_children(os.getpid())]))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    yield lambda: peak
    finished.set()
    thread.join()


def _children(process_id: int) -> list[int]:
    tasks = Path(f"/proc/{process_id}/task").iterdir()
    return [int(child) for task in tasks for child in _read(task / "children").split()]


def _resident_mib(process_ids: Sequence[int]) -> float:
    """What processes hold for themselves, and once what they share, which is libraries.

    The kernel keeps these counts. Adding up proportional shares (smaps) is finer and stops the process that it looks
    at, long enough to slow an ingest by a fifth.
    """
    texts = (_read(Path(f"/proc/{process_id}/statm")) for process_id in process_ids)
    counts = [list(map(int, text.split())) for text in texts if text]
    own = sum(resident - shared for _, resident, shared, *_ in counts)
    return (own + max((shared for _, _, shared, *_ in counts), default=0)) * _PAGE_MIB


def _read(path: Path) -> str:
    """Empty when the process is gone."""
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
