"""Ingest: PDFs come in, are read, indexed, embedded and recognised in the background, and go out again without a trace.

One thread each for reading, embedding and OCR works off the queue in SQLite; a lock in the data directory lets only
one process do so, while others add to the queue and wait.
"""

import hashlib
import logging
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Protocol

import filelock

from pincite.core.documents.jobs import Jobs, now
from pincite.core.documents.passages import split_pages
from pincite.core.documents.shelf import Shelf
from pincite.core.errors import DocumentError, EmptyFileError, PasswordNeededError, PinciteError, TooLargeError
from pincite.core.ports import KeywordIndex, PageReader, PdfInfo, Vectors
from pincite.core.retrieval.embed import step_back
from pincite.core.retrieval.indexes import Indexes, PendingPassages
from pincite.core.settings import Settings
from pincite.core.store.database import Database
from pincite.core.store.library import Library
from pincite.core.types import Document, Job, JobStage, JobStatus, MetadataField, Page, PageStatus, Passage

log = logging.getLogger(__name__)

COMMIT_SECONDS = 0.5
COMMIT_PAGES = 64
FIRST_PAGES = 5
"""Pages that the document's metadata is taken from."""
PAGES_BEFORE = 30
"""Stored pages that are looked at again for the headings in force where reading goes on."""
BATCH_PASSAGES = 256
"""Chroma takes in large batches at a third of the cost of small ones."""
POLL_SECONDS = 0.5
"""How often a worker without work looks for jobs of other processes."""
FORGOTTEN_SECONDS = 3600
"""Age at which a half-copied file is nobody's any more."""

Describe = Callable[[PdfInfo, Sequence[Page], str], tuple[MetadataField, ...]]


class Reader(PageReader, Protocol):
    """A page reader that can also take the password off a file."""

    def decrypt(self, path: Path, password: str, target: Path) -> None: ...


@dataclass(frozen=True, slots=True)
class AddOutcome:
    """``known``: these very bytes were in the library. ``replaces``: the older document of the same name."""

    document: Document
    known: bool
    replaces: Document | None


@dataclass(slots=True)
class _Chunk:
    """What was read since the last commit."""

    pages: list[Page] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    @property
    def full(self) -> bool:
        return len(self.pages) >= COMMIT_PAGES or time.monotonic() - self.started > COMMIT_SECONDS


class _JobStopped(Exception):
    """The job was cancelled or removed, or the process is closing."""


class Ingest:
    """Runs from construction to ``close``."""

    def __init__(
        self,
        database: Database,
        library: Library,
        keywords: KeywordIndex,
        indexes: Indexes,
        reader: Reader,
        describe: Describe,
        settings: Settings,
    ) -> None:
        self._database = database
        self._library = library
        self._indexes = indexes
        self._reader = reader
        self._describe = describe
        self._settings = settings
        self._jobs = Jobs(database)
        self._shelf = Shelf(database, keywords, indexes)
        self._infos: dict[str, PdfInfo] = {}
        self._closing = threading.Event()
        self._changed = threading.Condition()
        self._lock = filelock.FileLock(settings.data_dir / "ingest.lock", thread_local=False)
        self._taking_lock = threading.Lock()
        self._storing = ThreadPoolExecutor(1, thread_name_prefix="ingest-store", initializer=step_back)
        self._stored: Future[None] | None = None
        self._taken = (0, 0)
        self._tidied = False
        settings.files_dir.mkdir(parents=True, exist_ok=True)
        steps = {"read": self._read_next, "embed": self._embed_next, "recognise": self._recognise_next}
        self._threads = [
            threading.Thread(target=self._work, args=(step,), name=f"ingest-{name}", daemon=True)
            for name, step in steps.items()
        ]
        for thread in self._threads:
            thread.start()

    # ------------------------------------------------------------ what people ask for

    def add(self, source: Path | bytes, name: str, *, password: str | None = None) -> AddOutcome:
        """Take a PDF in and queue it; raises a DocumentError that says why it cannot become a document."""
        name = " ".join(name.split()) or "document.pdf"
        partial = self._settings.files_dir / f"{uuid.uuid4().hex}.partial"
        try:
            document_id, size = self._copy(source, partial, name)
            if self._shelf.exists(document_id):
                return AddOutcome(self._library.get(document_id), known=True, replaces=None)
            info = self._open(partial, name, password)
            with self._database.transaction():
                if not self._shelf.exists(document_id):
                    self._shelf.add_document(document_id, name, size, info, added_at=now())
                    self._jobs.enqueue(document_id)
                    partial.replace(self._library.file_path(document_id))
        except DocumentError as error:
            error.message = error.message.replace(partial.name, name)
            raise
        finally:
            partial.unlink(missing_ok=True)
        self._infos[document_id] = info
        self._announce()
        return AddOutcome(self._library.get(document_id), known=False, replaces=self._namesake(document_id, name))

    def jobs(self) -> list[Job]:
        return self._jobs.list()

    def cancel(self, document_id: str) -> None:
        """Stop the document's job; what was read stays searchable."""
        self._jobs.cancel(document_id)
        self._announce()

    def retry(self, document_id: str, page_indexes: Sequence[int] | None = None) -> None:
        """Read these pages again, or all failed ones, and go on with whatever the job had left."""
        if page_indexes is None:
            page_indexes = self._shelf.pages_with_status(document_id, PageStatus.FAILED)
        self._library.get(document_id)
        self._shelf.forget_pages(document_id, page_indexes)
        self._jobs.enqueue(document_id)
        self._announce()

    def remove(self, document_id: str) -> None:
        """Take the document out of every store, in the middle of its ingest too."""
        self._library.get(document_id)
        self._shelf.remove_document(document_id)
        self._announce()
        if self._owns_lock():
            self._sweep()

    def replace(self, old_id: str, new_id: str) -> None:
        """Remove the old document once the new one can be searched; what did not change keeps its embeddings."""
        with self._database.transaction():
            searchable = self._library.get(new_id).searchable
            if not searchable:
                self._jobs.set_replaces(new_id, old_id)
        if searchable:
            self.remove(old_id)

    def wait(
        self,
        document_ids: Sequence[str] | None = None,
        *,
        searchable_only: bool = False,
        timeout_seconds: float | None = None,
    ) -> bool:
        """Wait until these documents (or all) are done, failed or cancelled; False when the time was not enough."""
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        while any(self._unfinished(job, searchable_only) for job in self._jobs.list_of(document_ids)):
            left = POLL_SECONDS if deadline is None else min(POLL_SECONDS, deadline - time.monotonic())
            if left <= 0:
                return False
            with self._changed:
                self._changed.wait(left)
        return True

    def close(self) -> None:
        """Stop the workers; unfinished jobs go on with the next start."""
        self._closing.set()
        self._announce()
        for thread in self._threads:
            thread.join()
        self._storing.shutdown()
        self._lock.release()

    # ------------------------------------------------------------ adding

    def _copy(self, source: Path | bytes, target: Path, name: str) -> tuple[str, int]:
        """Copy within the size limit; returns the SHA-256 and the size."""
        size = source.stat().st_size if isinstance(source, Path) else len(source)
        if size == 0:
            raise EmptyFileError(f"{name} is empty.", hint="Check the file where it comes from.")
        if size > self._settings.max_file_mib * 2**20:
            raise TooLargeError(
                f"{name} has {size / 2**20:.0f} MiB; the limit is {self._settings.max_file_mib} MiB.",
                hint="Raise max_file_mib in the settings, or split the file.",
            )
        digest = hashlib.sha256()
        with target.open("wb") as out:
            for block in _blocks(source):
                digest.update(block)
                out.write(block)
        return digest.hexdigest(), size

    def _open(self, partial: Path, name: str, password: str | None) -> PdfInfo:
        """Leaves a file that opens without a password; the password itself is kept nowhere."""
        try:
            info = self._reader.open(partial)
        except PasswordNeededError:
            if not password:
                raise
            opened = partial.with_suffix(".opened.partial")
            try:
                self._reader.decrypt(partial, password, opened)
                opened.replace(partial)
            finally:
                opened.unlink(missing_ok=True)
            info = self._reader.open(partial)
        if info.page_count > self._settings.max_pages:
            raise TooLargeError(
                f"{name} has {info.page_count} pages; the limit is {self._settings.max_pages}.",
                hint="Raise max_pages in the settings, or split the file.",
            )
        return info

    def _namesake(self, document_id: str, name: str) -> Document | None:
        same = (other for other in self._library.list() if other.name.casefold() == name.casefold())
        return next((other for other in same if other.id != document_id), None)

    # ------------------------------------------------------------ workers

    def _work(self, step: Callable[[], bool]) -> None:
        """A worker's outermost frame: one step after the other while there is work and this process may do it."""
        while not self._closing.is_set():
            try:
                worked = self._owns_lock() and step()
            except Exception:
                log.exception("A step of ingest failed.")
                worked = False
            with self._changed:
                if worked:
                    self._changed.notify_all()
                elif not self._closing.is_set():
                    self._changed.wait(POLL_SECONDS)

    def _owns_lock(self) -> bool:
        with self._taking_lock:
            if self._lock.is_locked:
                return True
            try:
                self._lock.acquire(blocking=False)
            except filelock.Timeout:
                return False
            self._start_over()
            return True

    def _start_over(self) -> None:
        """Clear away what a killed process may have left half done."""
        for path in self._settings.files_dir.glob("*.partial"):
            if time.time() - path.stat().st_mtime > FORGOTTEN_SECONDS:
                path.unlink(missing_ok=True)
        with self._database.transaction():
            for path in self._settings.files_dir.glob("*.pdf"):
                if not self._shelf.exists(path.stem):
                    path.unlink()

    def _announce(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _sweep(self) -> None:
        """Finish what removals left over in the vector indexes and the files folder."""
        self._indexes.clear_removed()
        for document_id in self._shelf.files_to_remove():
            with suppress(PermissionError):  # Windows: the reader still has it open; the next sweep gets it.
                self._library.file_path(document_id).unlink(missing_ok=True)
                self._shelf.file_removed(document_id)

    # ------------------------------------------------------------ reading

    def _read_next(self) -> bool:
        self._sweep()
        document_id = self._jobs.next_document(JobStage.PARSE)
        if document_id is None:
            return False
        try:
            self._read(document_id)
        except _JobStopped:
            return True
        except PinciteError as error:
            self._jobs.fail(document_id, self._told(error, document_id))
        except Exception:
            if not self._jobs.goes_on(document_id):
                return True
            self._jobs.fail(document_id, "Reading stopped unexpectedly. Retry; if it happens again, report the file.")
            raise
        return True

    def _told(self, error: PinciteError, document_id: str) -> str:
        """The reader knows a file by where it is stored; people know the document by its name."""
        return str(error).replace(self._library.file_path(document_id).name, self._library.get(document_id).name)

    def _read(self, document_id: str) -> None:
        path = self._library.file_path(document_id)
        document = self._library.get(document_id)
        missing = self._shelf.missing_pages(document_id)
        self._progress_of_reading(document_id, document.page_count - len(missing), document.page_count)
        with closing(_generator(self._reader.read(path, missing) if missing else ())) as incoming:
            first = list(islice(incoming, FIRST_PAGES))
            if not document.metadata and first:
                info = self._infos.pop(document_id, None) or self._reader.open(path)
                self._library.set_metadata(document_id, self._describe(info, first, document.name))
                document = self._library.get(document_id)
            chunk = _Chunk()
            pages = self._feed(document, chain(first, incoming), chunk)
            outline = self._library.outline(document_id)
            for passage in split_pages(pages, document_id=document_id, title=_title(document), outline=outline):
                chunk.passages.append(passage)
            self._shelve(document, chunk)
        left = set(self._shelf.missing_pages(document_id))
        if lost := sorted(left.intersection(missing)):
            failed = [Page(at, str(at + 1), "", (), (), PageStatus.FAILED, "The reader skipped it.") for at in lost]
            self._shelve(document, _Chunk(pages=failed))
        if left.difference(missing):
            return
        with self._database.transaction():
            self._shelf.mark_searchable(document_id)
            replaced = self._jobs.replaces(document_id)
        if replaced and self._shelf.exists(replaced):
            self.remove(replaced)
        self._jobs.advance(document_id, JobStage.EMBED, done=0, total=0)
        self._settle(document_id)

    def _feed(self, document: Document, incoming: Iterable[Page], chunk: _Chunk) -> Iterator[Page]:
        """Hand pages to the splitter; when it asks for the next page, the passages of the one before are complete."""
        started = False
        for page in incoming:
            if not started:
                started = True
                yield from self._pages_before(document.id, page.page_index)
                chunk.passages.clear()
            page = _storable(page)
            yield page
            chunk.pages.append(page)
            if chunk.full:
                self._shelve(document, chunk)

    def _pages_before(self, document_id: str, page_index: int) -> Iterator[Page]:
        for index in range(max(0, page_index - PAGES_BEFORE), page_index):
            if self._library.has_page(document_id, index):
                yield self._library.page(document_id, index)

    def _shelve(self, document: Document, chunk: _Chunk) -> None:
        """Commit a chunk and empty it; raises _JobStopped when there is no reason to go on."""
        recognise = frozenset(page.page_index for page in chunk.pages if _needs_ocr(page))
        if self._closing.is_set() or not self._jobs.goes_on(document.id):
            raise _JobStopped
        if not self._shelf.put_pages(document.id, chunk.pages, chunk.passages, recognise=recognise):
            raise _JobStopped
        chunk.pages, chunk.passages, chunk.started = [], [], time.monotonic()
        missing = len(self._shelf.missing_pages(document.id))
        self._progress_of_reading(document.id, document.page_count - missing, document.page_count)
        self._announce()

    def _progress_of_reading(self, document_id: str, done: int, total: int) -> None:
        self._jobs.advance(document_id, JobStage.PARSE, done=done, total=total)

    # ------------------------------------------------------------ embedding

    def _embed_next(self) -> bool:
        try:
            if not self._tidied:
                self._indexes.tidy()
                for document_id in self._jobs.in_stage(JobStage.EMBED):
                    self._settle(document_id)
                self._tidied = True
            return self._embed_batch()
        except PinciteError as error:
            self._stop_embedding(str(error))
        except Exception:
            self._stop_embedding("Retry; if it happens again, report it.")
            raise
        return False

    def _embed_batch(self) -> bool:
        """Embed the next passages while those before them are being stored."""
        batch = self._indexes.pending(limit=BATCH_PASSAGES, after=self._taken)
        if batch is None:
            self._taken = (0, 0)
            return self._finish_storing() or self._indexes.finish_build()
        vectors = self._indexes.embed(batch, self._closing.is_set)
        self._finish_storing()
        if vectors is None:
            return False
        self._taken = (batch.index_id, batch.numbers[-1])
        self._stored = self._storing.submit(self._store, batch, vectors)
        return True

    def _store(self, batch: PendingPassages, vectors: dict[bytes, Vectors]) -> None:
        self._indexes.store(batch, vectors)
        for document_id in dict.fromkeys(passage.document_id for passage in batch.passages):
            self._settle(document_id)
        self._announce()

    def _finish_storing(self) -> bool:
        """Wait for the batch that is being stored; False when there was none."""
        stored, self._stored = self._stored, None
        if stored is not None:
            stored.result()
        return stored is not None

    def _stop_embedding(self, trouble: str) -> None:
        """The jobs that wait for vectors fail; a build that has trouble alone waits until it is asked for again."""
        self._taken = (0, 0)
        waiting = self._jobs.in_stage(JobStage.EMBED)
        for document_id in waiting:
            self._jobs.fail(document_id, f"Words can be searched, but embedding stopped. {trouble}")
        if not waiting:
            self._indexes.report_trouble(trouble)

    def _settle(self, document_id: str) -> None:
        """Say what an already read document waits for, or that it is ready."""
        with self._database.transaction():
            job = self._jobs.get(document_id)
            if job is None or job.stage is JobStage.PARSE or job.status is not JobStatus.RUNNING:
                return
            pending = self._indexes.pending_count(document_id=document_id)
            total = self._library.get(document_id).passage_count
            waiting = len(self._shelf.pages_to_recognise(document_id)) if self._settings.ocr else 0
            if pending and not (waiting and job.stage is JobStage.OCR):
                self._jobs.advance(document_id, JobStage.EMBED, done=total - pending, total=total)
            elif waiting:
                total = max(job.total, waiting) if job.stage is JobStage.OCR else waiting
                self._jobs.advance(document_id, JobStage.OCR, done=total - waiting, total=total)
            else:
                self._jobs.finish(document_id)

    # ------------------------------------------------------------ OCR

    def _recognise_next(self) -> bool:
        document_id = self._jobs.next_document(JobStage.OCR)
        if document_id is None:
            return False
        try:
            self._recognise(document_id)
        except _JobStopped:
            return True
        except PinciteError as error:
            self._jobs.fail(document_id, self._told(error, document_id))
        except Exception:
            if not self._jobs.goes_on(document_id):
                return True
            self._jobs.fail(document_id, "OCR stopped unexpectedly. Retry; if it happens again, report the file.")
            raise
        return True

    def _recognise(self, document_id: str) -> None:
        waiting = self._shelf.pages_to_recognise(document_id)
        document = self._library.get(document_id)
        path = self._library.file_path(document_id)
        with closing(_generator(self._reader.recognise(path, waiting))) as recognised:
            for page in recognised:
                if self._closing.is_set() or not self._jobs.goes_on(document_id):
                    raise _JobStopped
                self._keep_recognised(document, _storable(page))
                self._settle(document_id)
                self._announce()
        self._shelf.give_up_recognising(document_id, self._shelf.pages_to_recognise(document_id), "OCR skipped it.")
        self._settle(document_id)

    def _keep_recognised(self, document: Document, page: Page) -> None:
        if page.status is not PageStatus.OCR:
            self._shelf.give_up_recognising(document.id, [page.page_index], page.reason or "OCR found no text.")
            return
        before = self._pages_before(document.id, page.page_index)
        outline = self._library.outline(document.id)
        split = split_pages(chain(before, [page]), document_id=document.id, title=_title(document), outline=outline)
        passages = [passage for passage in split if passage.page_index == page.page_index]
        self._shelf.put_pages(document.id, [page], passages, recognise=frozenset())

    def _unfinished(self, job: Job, searchable_only: bool) -> bool:
        if job.status not in (JobStatus.WAITING, JobStatus.RUNNING):
            return False
        return not searchable_only or job.stage in (JobStage.PARSE, JobStage.KEYWORDS)


def _blocks(source: Path | bytes) -> Iterator[bytes]:
    if isinstance(source, bytes):
        yield source
        return
    with source.open("rb") as file:
        while block := file.read(2**20):
            yield block


def _generator(pages: Iterable[Page]) -> Generator[Page, None, None]:
    """Closing it closes what it draws from, which ends the reading process."""
    yield from pages


def _title(document: Document) -> str:
    return next((entry.value for entry in document.metadata if entry.name == "title"), Path(document.name).stem)


def _needs_ocr(page: Page) -> bool:
    """Empty pages that show something, and pages whose text is not what they show."""
    return page.status is PageStatus.GARBLED or (page.status is PageStatus.EMPTY and "picture" in page.reason)


def _storable(page: Page) -> Page:
    """SQLite text holds neither NUL nor lone surrogates: each becomes one other character, so that spans stay right."""
    text = page.text
    if "\x00" in text:
        text = text.replace("\x00", " ")
    if any("\ud800" <= character <= "\udfff" for character in text):
        text = "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)
    return page if text is page.text else replace(page, text=text)
