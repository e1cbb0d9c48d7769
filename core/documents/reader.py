"""The PageReader port on processes that may crash: start them, time them, end them, go on with the next page."""

import math
import pickle
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NoReturn

from core.documents.formats.pdf import process as reader_process
from core.documents.formats.pdf.reading import PlainPage
from core.domain import errors
from core.domain.documents import Block, BlockKind, OutlineEntry, Page, PageStatus
from core.domain.errors import DocumentError, EmptyFileError, ReaderStoppedError, TooLargeError
from core.domain.page_layout import PackedWords
from core.domain.ports import PdfInfo
from core.domain.settings import Settings

_WATCH_SECONDS = 0.1
_STARTING_SECONDS = 20.0
_DOUBTING_SECONDS = 5.0
"""A second opinion is not worth more, and costs the page nothing when it takes longer."""
_RECOGNISING_TAKES = 6
"""How many times page_seconds a page may take that is recognised."""
_SIDE_BY_SIDE = 2
"""Long documents are read by two processes, a chunk each: pdfium uses one core."""
_FEWEST_SIDE_BY_SIDE = 25
_MOST_IN_CHUNK = 128
"""Each chunk costs four pages more, its neighbours; pages of later chunks wait in memory for those before them."""
_MOST_KEPT_MIB = 40
"""A process that grew by more, mostly by its second reader, is not kept: a new one starts in a third of a second."""
_MOST_STOPS = 4
"""After so many stops on one document the rest of its pages are given up: it must not hold the queue for hours."""


class _Stopped(Exception):
    """The process died or was ended; the message completes "the reader …"."""


class _PlainUnpickler(pickle.Unpickler):
    """Accepts plain values only: a parser taken over by its input must not reach the application."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name} is not a plain value")


class _Worker:
    """One reading process and the clock over it."""

    def __init__(self, memory_mib: int) -> None:
        self._memory_mib = memory_mib
        self._timed_out = False
        self._ready = False
        self._deadline = math.inf
        self._closed = threading.Event()
        self.grown_mib = 0.0
        """How much memory it holds more than at its start."""
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; {_MAIN}", str(memory_mib)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        threading.Thread(target=self._watch, name="reader-clock", daemon=True).start()

    def ask(self, request: Mapping[str, Any], seconds: float) -> Iterator[tuple[Any, ...]]:
        """Yield what the process answers, each within the time. Raises _Stopped, or the DocumentError that it sent."""
        if not self._ready:
            self._receive(_STARTING_SECONDS)
            self._ready = True
        try:
            self._stdin.write(pickle.dumps(dict(request), protocol=5))
            self._stdin.flush()
        except OSError as error:
            raise _Stopped(self._why(seconds)) from error
        limit = seconds
        while True:
            message = self._receive(limit)
            limit = min(seconds, _DOUBTING_SECONDS) if message[0] == "doubting" else seconds
            if message[0] == "done":
                self.grown_mib = message[1]
                return
            if message[0] == "refused":
                _, name, text, hint = message
                raise getattr(errors, name)(text, hint=hint)
            yield message

    def close(self) -> None:
        self._closed.set()
        self._process.kill()
        self._process.wait()
        self._stdin.close()
        self._stdout.close()

    @property
    def _stdin(self) -> Any:
        return self._process.stdin

    @property
    def _stdout(self) -> Any:
        return self._process.stdout

    def _receive(self, seconds: float) -> tuple[Any, ...]:
        self._deadline = time.monotonic() + seconds
        try:
            message: tuple[Any, ...] = _PlainUnpickler(self._stdout).load()
            return message
        except (EOFError, pickle.UnpicklingError, OSError) as error:
            raise _Stopped(self._why(seconds)) from error
        finally:
            self._deadline = math.inf

    def _watch(self) -> None:
        """End the process once it is past its deadline; one look at the clock for all messages costs the least."""
        while not self._closed.wait(_WATCH_SECONDS):
            if time.monotonic() > self._deadline:
                self._timed_out = True
                self._process.kill()
                return

    def _why(self, seconds: float) -> str:
        status = self._process.wait()
        if self._timed_out:
            return f"needed more than {seconds:g} seconds (the limit page_seconds)"
        if status == reader_process.OVER_MEMORY:
            return f"needed more than {self._memory_mib} MiB (the limit reader_memory_mib)"
        return "crashed"


_MAIN = f"from {reader_process.__name__} import main; main()"


class ProcessReader:
    """Reads PDFs in processes of their own; a few idle ones are kept warm."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._idle: dict[str, list[_Worker]] = {"read": [], "recognise": []}

    def open(self, path: Path, *, password: str | None = None) -> PdfInfo:
        """Raises a DocumentError that says why the file cannot become a document."""
        self._check_size(path)
        self._warm_up()
        described = self._single({"do": "open", "path": str(path), "password": password}, path)[1]
        if described["page_count"] > self._settings.max_pages:
            raise TooLargeError(
                f"{path.name} has {described['page_count']} pages.",
                hint=f"The limit is {self._settings.max_pages} pages (max_pages in the settings).",
            )
        return PdfInfo(
            page_count=described["page_count"],
            page_labels=tuple(described["page_labels"]),
            outline=tuple(OutlineEntry(*entry) for entry in described["outline"]),
            fields=described["fields"],
            notes=tuple(described["notes"]),
        )

    def read(self, path: Path, page_indexes: Sequence[int], *, password: str | None = None) -> Iterator[Page]:
        """Yield every asked page in order; one that stops its reader comes as FAILED with the reason."""
        poisoned: dict[int, str] = {}
        chunks = [self._pages("read", path, chunk, password, poisoned) for chunk in _chunks(page_indexes)]
        yield from chunks[0] if len(chunks) == 1 else _side_by_side(chunks)

    def recognise(self, path: Path, page_indexes: Sequence[int], *, password: str | None = None) -> Iterator[Page]:
        """Yield the pages as OCR reads them."""
        yield from self._pages("recognise", path, page_indexes, password, {})

    def render(self, path: Path, page_index: int, *, width: int, password: str | None = None) -> bytes:
        """Return the page as a PNG, ``width`` pixels wide. Raises a DocumentError."""
        request = {"do": "render", "path": str(path), "password": password, "page_index": page_index, "width": width}
        image: bytes = self._single(request, path)[1]
        return image

    def decrypt(self, path: Path, password: str, target: Path) -> None:
        """Write a copy that opens without a password. Raises a DocumentError."""
        self._single({"do": "decrypt", "path": str(path), "password": password, "target": str(target)}, path)

    def close(self) -> None:
        with self._lock:
            workers = [worker for idle in self._idle.values() for worker in idle]
            for idle in self._idle.values():
                idle.clear()
        for worker in workers:
            worker.close()

    def _check_size(self, path: Path) -> None:
        size = path.stat().st_size
        if not size:
            raise EmptyFileError(f"{path.name} is empty.", hint="Choose a file that has something in it.")
        if size > self._settings.max_file_mib * 1024 * 1024:
            raise TooLargeError(
                f"{path.name} has {size / 1024 / 1024:.0f} MiB.",
                hint=f"The limit is {self._settings.max_file_mib} MiB (max_file_mib in the settings).",
            )

    def _single(self, request: Mapping[str, Any], path: Path) -> tuple[Any, ...]:
        worker = self._take("read")
        try:
            messages = list(worker.ask(request, self._settings.page_seconds))
        except _Stopped as stop:
            worker.close()
            raise ReaderStoppedError(
                f"{path.name} could not be read: the reader {stop}.", hint="Try again, or with a higher limit."
            ) from stop
        except DocumentError:
            self._give_back("read", worker)
            raise
        self._give_back("read", worker)
        return messages[-1] if messages else ()

    def _pages(
        self, work: str, path: Path, page_indexes: Sequence[int], password: str | None, poisoned: dict[int, str]
    ) -> Generator[Page, None, None]:
        """Go on after each stop without the page that caused it. ``poisoned`` gathers those pages and why."""
        remaining = list(page_indexes)
        seconds = self._settings.page_seconds * (_RECOGNISING_TAKES if work == "recognise" else 1)
        while remaining:
            worker = self._take(work)
            at, doubting, finished = remaining[0], False, False
            request: dict[str, Any] = {"do": work, "path": str(path), "password": password}
            request |= {"page_indexes": remaining, "poisoned": dict(poisoned)}
            try:
                for kind, value in worker.ask(request, seconds):
                    doubting = kind == "doubting"
                    if kind != "page":
                        at = value
                    else:
                        remaining = remaining[1:]
                        yield _page(value)
                finished = True
            except _Stopped as stop:
                if doubting:
                    poisoned |= {index: "" for index in (*remaining, at) if index not in poisoned}
                    continue
                if poisoned.get(at) or sum(map(bool, poisoned.values())) >= _MOST_STOPS:
                    yield from (_given_up(page_index, poisoned.get(page_index)) for page_index in remaining)
                    return
                poisoned[at] = f"the reader {stop}"
            finally:
                if finished:
                    self._give_back(work, worker)
                else:
                    worker.close()

    def _take(self, work: str) -> _Worker:
        with self._lock:
            if self._idle[work]:
                return self._idle[work].pop()
        return _Worker(self._settings.reader_memory_mib)

    def _warm_up(self) -> None:
        """Start the processes for what follows the opening of a document: they come up side by side."""
        with self._lock:
            while len(self._idle["read"]) < _SIDE_BY_SIDE:
                self._idle["read"].append(_Worker(self._settings.reader_memory_mib))

    def _give_back(self, work: str, worker: _Worker) -> None:
        most = _SIDE_BY_SIDE if work == "read" else 1
        swollen = work == "read" and worker.grown_mib > _MOST_KEPT_MIB
        with self._lock:
            if len(self._idle[work]) < most and not swollen:
                self._idle[work].append(worker)
                return
        worker.close()


def _chunks(page_indexes: Sequence[int]) -> list[Sequence[int]]:
    """Equal stretches, as many for each process."""
    if len(page_indexes) < _FEWEST_SIDE_BY_SIDE:
        return [page_indexes]
    number = _SIDE_BY_SIDE * math.ceil(len(page_indexes) / _SIDE_BY_SIDE / _MOST_IN_CHUNK)
    borders = [round(at * len(page_indexes) / number) for at in range(number + 1)]
    return [page_indexes[first:last] for first, last in pairwise(borders)]


def _side_by_side(chunks: Sequence[Generator[Page, None, None]]) -> Iterator[Page]:
    """Yield the pages in order, each as soon as those before it are there; chunks are read ahead in threads."""
    ended = threading.Event()

    def read(chunk: Generator[Page, None, None], into: SimpleQueue[Page | None]) -> None:
        with closing(chunk):
            try:
                for page in chunk:
                    into.put(page)
                    if ended.is_set():
                        return
            finally:
                into.put(None)

    coming = deque(chunks)
    started: deque[tuple[SimpleQueue[Page | None], Future[None]]] = deque()
    with ThreadPoolExecutor(_SIDE_BY_SIDE, thread_name_prefix="reader") as pool:
        try:
            while coming or started:
                while coming and len(started) <= _SIDE_BY_SIDE:
                    queue: SimpleQueue[Page | None] = SimpleQueue()
                    started.append((queue, pool.submit(read, coming.popleft(), queue)))
                queue, reading = started.popleft()
                yield from iter(queue.get, None)
                reading.result()
        finally:
            ended.set()
            pool.shutdown(wait=False, cancel_futures=True)


def _given_up(page_index: int, reason: str | None) -> Page:
    reason = reason or "not tried: this file stopped the reader too often"
    return Page(page_index, str(page_index + 1), "", (), (), PageStatus.FAILED, reason)


def _page(plain: PlainPage) -> Page:
    return Page(
        page_index=plain["page_index"],
        page_label=plain["page_label"],
        text=plain["text"],
        words=PackedWords(plain["spans"], plain["boxes"]),
        blocks=tuple(Block(start, end, BlockKind(kind), *more) for start, end, kind, *more in plain["blocks"]),
        status=PageStatus(plain["status"]),
        reason=plain["reason"],
        seconds=plain["seconds"],
    )
