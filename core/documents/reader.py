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
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, NoReturn

from pincite.core.documents import process as reading_process
from pincite.core.domain import errors
from pincite.core.domain.documents import Box, HiddenReason, HiddenText, OutlineEntry, Page, PageStatus
from pincite.core.domain.errors import DocumentError, ReaderStoppedError
from pincite.core.domain.page_layout import PackedWords, block_of
from pincite.core.domain.ports import PdfInfo
from pincite.core.domain.settings import Settings

_WATCH_SECONDS = 0.1
_STARTING_SECONDS = 20.0
_DOUBTING_SECONDS = 5.0
"""A second opinion is not worth more, and costs the page nothing when it takes longer."""
_RECOGNISING_TAKES = 6
"""How many times page_seconds a page may take that is recognised."""
_CONVERTING_TAKES = 10
"""How many times page_seconds a file of another format may take until it is a PDF."""
_SIDE_BY_SIDE = 2
"""Long documents are read by two processes, a chunk each: pdfium uses one core."""
_MIN_SIDE_BY_SIDE = 25
_MAX_CHUNK = 128
"""Each chunk costs four pages more, its neighbours; pages of later chunks wait in memory for those before them."""
_MAX_KEPT_MIB = 40
"""A process that grew by more, mostly by its second reader, is not kept: a new one starts in a third of a second."""
_MAX_STOPS = 4
"""Number of stops on one document after which its other pages are given up: it must not hold the queue for hours."""


class _Stopped(Exception):
    """The process died or was ended; the message completes "the reader …"."""

    def __init__(self, message: str, *, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


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
        main = f"import sys; sys.path[:] = {sys.path!r}; from {reading_process.__name__} import main; main()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", main, str(memory_mib)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdin and self._process.stdout
        self._requests: IO[bytes] = self._process.stdin
        self._answers: IO[bytes] = self._process.stdout
        threading.Thread(target=self._watch, name="reader-clock", daemon=True).start()

    def ask(self, request: Mapping[str, Any], seconds: float) -> Iterator[tuple[Any, ...]]:
        """Yield what the process answers, each within the time. Raises _Stopped, or the DocumentError that it sent."""
        if not self._ready:
            self._receive(_STARTING_SECONDS)
            self._ready = True
        try:
            self._requests.write(pickle.dumps(dict(request), protocol=5))
            self._requests.flush()
        except OSError as error:
            raise self._stopped(seconds) from error
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

    def stop(self) -> None:
        """End the process while another thread waits for its answer; that thread then closes the worker."""
        self._process.kill()

    def close(self) -> None:
        self._closed.set()
        self._process.kill()
        self._process.wait()
        self._requests.close()
        self._answers.close()

    def _receive(self, seconds: float) -> tuple[Any, ...]:
        self._deadline = time.monotonic() + seconds
        try:
            message: tuple[Any, ...] = _PlainUnpickler(self._answers).load()
            return message
        except (EOFError, pickle.UnpicklingError, OSError) as error:
            raise self._stopped(seconds) from error
        finally:
            self._deadline = math.inf

    def _watch(self) -> None:
        """End the process once it is past its deadline; one look at the clock for all messages costs the least."""
        while not self._closed.wait(_WATCH_SECONDS):
            if time.monotonic() > self._deadline:
                self._timed_out = True
                self._process.kill()
                return

    def _stopped(self, seconds: float) -> _Stopped:
        status = self._process.wait()
        if self._timed_out:
            return _Stopped(f"needed more than {seconds:g} seconds (the limit page_seconds)", timed_out=True)
        if status == reading_process.OVER_MEMORY:
            return _Stopped(f"needed more than {self._memory_mib} MiB (the limit reader_memory_mib)")
        return _Stopped("crashed")


class ProcessReader:
    """Reads documents in processes of their own; a few idle ones are kept warm."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._idle: dict[str, list[_Worker]] = {"read": [], "recognise": []}
        self._busy = set[_Worker]()
        self._closed = False

    def open(self, path: Path) -> PdfInfo:
        """Return what the file states about itself. Raises a DocumentError with why it cannot become a document."""
        with self._lock:  # what follows the opening of a document comes up meanwhile
            while not self._closed and len(self._idle["read"]) < _SIDE_BY_SIDE:
                self._idle["read"].append(_Worker(self._settings.reader_memory_mib))
        page_count, outline, fields, notes = self._single(path, do="open")
        return PdfInfo(page_count, tuple(OutlineEntry(*entry) for entry in outline), fields, notes)

    def read(self, path: Path, page_indexes: Sequence[int]) -> Iterator[Page]:
        """Yield every asked page in order; one that stops its reader comes as FAILED with the reason."""
        stopped: dict[int, str] = {}
        chunks = [self._pages("read", path, chunk, stopped) for chunk in _chunks(page_indexes)]
        yield from chunks[0] if len(chunks) == 1 else _side_by_side(chunks)

    def recognise(self, path: Path, page_indexes: Sequence[int]) -> Iterator[Page]:
        """Yield the pages as OCR reads them."""
        yield from self._pages("recognise", path, page_indexes, {})

    def render(self, path: Path, page_index: int, *, width: int) -> bytes:
        """Return the page as a PNG, ``width`` pixels wide. Raises a DocumentError."""
        image: bytes = self._single(path, do="render", page_index=page_index, width=width)
        return image

    def lines(self, path: Path, page_index: int, boxes: Sequence[Sequence[float]]) -> list[str]:
        """Return the text that the page's picture shows in each box (see PageReader). Raises a DocumentError."""
        plain = [[*map(float, box)] for box in boxes]
        lines: list[str] = self._single(path, "recognise", do="lines", page_index=page_index, boxes=plain)
        return lines

    def own_text(self, path: Path) -> list[str]:
        """Return the paragraphs of the file that a PDF was made of (see PageReader)."""
        lines: list[str] = self._single(path, do="own_text")
        return lines

    def save_as_pdf(self, path: Path, password: str, target: Path, name: str = "") -> list[tuple[str, bytes]]:
        """Write a PDF that opens without a password (see PageReader). Raises a DocumentError."""
        attached: list[tuple[str, bytes]] = self._single(
            path, takes=_CONVERTING_TAKES, do="save_as_pdf", name=name or path.name, password=password, target=target
        )
        return attached

    def close(self) -> None:
        """End every process; whoever waits for a page gets a ReaderStoppedError."""
        with self._lock:
            self._closed = True
            for worker in self._busy:
                worker.stop()
            workers = [worker for idle in self._idle.values() for worker in idle]
            for idle in self._idle.values():
                idle.clear()
        for worker in workers:
            worker.close()

    def _single(self, path: Path, work: str = "read", takes: int = 1, **request: Any) -> Any:
        """Return what the process answers in one message, or nothing; it may take ``takes`` times page_seconds."""
        try:
            with self._worker(work) as worker:
                messages = list(worker.ask({"path": path, **request}, takes * self._settings.page_seconds))
        except _Stopped as stop:
            raise ReaderStoppedError(
                f"{path.name} could not be read: the reader {stop}.", hint="Try again, or raise the limit."
            ) from stop
        return messages[-1][1] if messages else None

    def _pages(
        self, work: str, path: Path, page_indexes: Sequence[int], stopped: dict[int, str]
    ) -> Generator[Page, None, None]:
        """Go on after each stop without the page that caused it. ``stopped`` gathers those pages and why.

        A crash may come of what was read before: the page is tried once more.
        """
        remaining, crashed = list(page_indexes), set[int]()
        seconds = self._settings.page_seconds * (_RECOGNISING_TAKES if work == "recognise" else 1)
        while remaining:
            at, doubting = remaining[0], False
            request = {"do": work, "path": path, "page_indexes": remaining, "stopped": dict(stopped)}
            try:
                with self._worker(work) as worker:
                    for kind, value in worker.ask(request, seconds):
                        doubting = kind == "doubting"
                        if kind == "page":
                            remaining = remaining[1:]
                            yield _page(*value)
                        else:
                            at = value
            except _Stopped as stop:
                if self._closed:
                    raise ReaderStoppedError("The reader was closed.", hint="Try again.") from stop
                if doubting:
                    stopped |= {index: "" for index in (*remaining, at) if index not in stopped}
                    continue
                if not stop.timed_out and at not in crashed:
                    crashed.add(at)
                    continue
                if stopped.get(at) or sum(map(bool, stopped.values())) >= _MAX_STOPS:
                    yield from (_given_up(page_index, stopped.get(page_index)) for page_index in remaining)
                    return
                stopped[at] = f"the reader {stop}"

    @contextmanager
    def _worker(self, work: str) -> Iterator[_Worker]:
        """A process, given back once it has answered; one that is left before is ended."""
        with self._lock:
            if self._closed:
                raise ReaderStoppedError("The reader was closed.", hint="Try again.")
            worker = self._idle[work].pop() if self._idle[work] else _Worker(self._settings.reader_memory_mib)
            self._busy.add(worker)
        answered = False
        try:
            yield worker
            answered = True
        except DocumentError:
            answered = True
            raise
        finally:
            keep = answered and (work == "recognise" or worker.grown_mib <= _MAX_KEPT_MIB)
            with self._lock:
                self._busy.discard(worker)
                keep = keep and not self._closed and len(self._idle[work]) < (_SIDE_BY_SIDE if work == "read" else 1)
                if keep:
                    self._idle[work].append(worker)
            if not keep:
                worker.close()


def _chunks(page_indexes: Sequence[int]) -> list[Sequence[int]]:
    """Equal stretches, as many for each process."""
    if len(page_indexes) < _MIN_SIDE_BY_SIDE:
        return [page_indexes]
    number = _SIDE_BY_SIDE * math.ceil(len(page_indexes) / _SIDE_BY_SIDE / _MAX_CHUNK)
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


def _page(
    page_index: int,
    page_label: str,
    text: str,
    spans: bytes,
    boxes: bytes,
    plain_blocks: Sequence[tuple[Any, ...]],
    status: str,
    reason: str,
    seconds: float,
    plain_hidden: Sequence[tuple[str, tuple[float, ...], str]],
    plain_boxes: Sequence[tuple[float, ...]],
) -> Page:
    blocks = tuple(block_of(*one) for one in plain_blocks)
    words = PackedWords(spans, boxes)
    hidden = tuple(HiddenText(said, Box(*edges), HiddenReason(why)) for said, edges, why in plain_hidden)
    illustrations = tuple(Box(*edges) for edges in plain_boxes)
    return Page(page_index, page_label, text, words, blocks, PageStatus(status), reason, seconds, hidden, illustrations)
