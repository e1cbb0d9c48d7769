"""Ingest: PDFs come in, are read, indexed, embedded and recognised in the background, and go out again without a trace.

One thread each for reading, embedding and OCR works off the queue in SQLite; a lock in the data directory lets only
one process do so, while others add to the queue and wait.
"""

import hashlib
import logging
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import filelock

from core.domain.documents import Document, DocumentStatus, Job, JobStage, JobStatus, PageStatus
from core.domain.errors import DocumentError, EmptyFileError, FullDiskError, PasswordNeededError, TooLargeError
from core.domain.ports import KeywordIndex, PageReader, PdfInfo
from core.domain.settings import Settings
from core.domain.turns import now
from core.ingest.page_work import Describe, PageWork
from core.ingest.vector_work import VectorWork
from core.ingest.workplace import Workplace
from core.store.data_dir import QUARANTINE, set_aside
from core.store.database import Database
from core.store.indexes import Indexes
from core.store.jobs import Jobs
from core.store.library import Library, sha256_of
from core.store.shelf import Shelf
from core.text.plain import storable

log = logging.getLogger(__name__)

POLL_SECONDS = 0.5
"""How often a worker without work looks for jobs of other processes."""
_PARTIAL = re.compile(r"[0-9a-f]{32}(?:\.opened)?\.partial")
"""How a file that is being copied is called; others are not ours."""
FULL_SECONDS = 5.0
"""How often a worker that found the disk full tries again."""
FORGOTTEN_SECONDS = 3600
"""Age at which a half-copied file is nobody's any more."""


@dataclass(frozen=True, slots=True)
class AddOutcome:
    """``known``: these very bytes were in the library. ``replaces``: the older document of the same name."""

    document: Document
    known: bool
    replaces: Document | None


class Ingest:
    """Takes in and removes at once; works in the background from ``start`` to ``close``.

    ``going`` is told of a document that is being removed, inside the transaction that removes it.
    """

    def __init__(
        self,
        database: Database,
        library: Library,
        keywords: KeywordIndex,
        indexes: Indexes,
        reader: PageReader,
        describe: Describe,
        settings: Settings,
        *,
        going: Callable[[Document], None] = lambda document: None,
        at_work: bool = True,
    ) -> None:
        self._going = going
        self._database = database
        self._library = library
        self._indexes = indexes
        self._reader = reader
        self._settings = settings
        self._jobs = Jobs(database)
        self._shelf = Shelf(database, keywords)
        self._closing = threading.Event()
        self._changed = threading.Condition()
        self._lock = filelock.FileLock(settings.data_dir / "ingest.lock", thread_local=False)
        self._taking_lock = threading.Lock()
        place = Workplace(
            database, library, self._shelf, self._jobs, indexes, reader, settings, self._closing, self._announce
        )
        self._page_work = PageWork(place, describe, self.remove)
        self._vector_work = VectorWork(place)
        settings.files_dir.mkdir(parents=True, exist_ok=True)
        self._steps = {
            "read": self._read_next,
            "embed": self._vector_work.embed_next,
            "keep": self._vector_work.keep_in_step,
            "recognise": self._page_work.recognise_next,
        }
        self._threads: list[threading.Thread] = []
        self._full: dict[Callable[[], bool], FullDiskError] = {}
        """The steps that found the disk full when they were last tried."""
        if at_work:
            self.start()

    def start(self) -> None:
        """Set the workers to work, where they are not yet."""
        with self._taking_lock:
            if self._threads or self._closing.is_set():
                return
            self._threads = [
                threading.Thread(target=self._work, args=(step,), name=f"ingest-{name}", daemon=True)
                for name, step in self._steps.items()
            ]
        for thread in self._threads:
            thread.start()

    def take_charge(self) -> bool:
        """Whether this process does the work; then what is unknown has been set aside."""
        return self._owns_lock()

    # ------------------------------------------------------------ what people ask for

    def add(self, source: Path | bytes, name: str, *, password: str | None = None) -> AddOutcome:
        """Take a PDF in and queue it; raises a DocumentError that says why it cannot become a document."""
        name = " ".join(storable(name).split()) or "document.pdf"
        partial = self._settings.files_dir / f"{uuid.uuid4().hex}.partial"
        try:
            document_id, size = self._copy(source, partial, name)
            if self._shelf.exists(document_id):
                self._put_back(document_id, partial, name, password)
                self._taken_in(source)
                return AddOutcome(self._library.get(document_id), known=True, replaces=None)
            info = self._open(partial, name, password)
            with self._database.transaction():
                if not self._shelf.exists(document_id):
                    self._shelf.add_document(document_id, name, size, info, added_at=now())
                    self._jobs.enqueue(document_id)
                    self._keep(document_id, partial)
        except DocumentError as error:
            error.message = error.message.replace(partial.name, name)
            raise
        except OSError as error:
            raise DocumentError(
                f"{name} could not be taken in ({error.strerror or error}).",
                hint="Check that the file can be read and that the disk has space.",
            ) from error
        finally:
            partial.unlink(missing_ok=True)
        self._taken_in(source)
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
        with self._database.transaction():
            self._library.get(document_id)
            if page_indexes is None:
                page_indexes = self._shelf.pages_with_status(document_id, PageStatus.FAILED)
            self._shelf.forget_pages(document_id, page_indexes)
            self._jobs.enqueue(document_id)
        self._announce()

    def remove(self, document_id: str, *, together_with: Callable[[], None] = lambda: None) -> None:
        """Take the document out of every store, in the middle of its ingest too, and do that with it or neither."""
        with self._database.transaction():
            together_with()
            self._take_away(document_id)
        self._clear_away()

    def replace(self, old_id: str, new_id: str) -> None:
        """Remove the old document once the new one can be searched; what did not change keeps its embeddings."""
        with self._database.transaction():
            if self._library.get(new_id).searchable:
                self._take_away(old_id)
            else:
                self._jobs.set_replaces(new_id, old_id)
        self._clear_away()

    def wait(
        self,
        document_ids: Sequence[str] | None = None,
        *,
        searchable_only: bool = False,
        timeout_seconds: float | None = None,
    ) -> bool:
        """Wait until these documents (or all) are done, failed or cancelled; False when the time was not enough.

        Raises FullDiskError: the work goes on by itself once there is space, which nobody should wait for.
        """
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        while any(self._unfinished(job, searchable_only) for job in self._jobs.list_of(document_ids)):
            self.start()
            if self._full:
                raise next(iter(self._full.values()))
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
        self._vector_work.close()
        self._lock.release()

    def _take_away(self, document_id: str) -> None:
        self._going(self._library.get(document_id))
        self._shelf.remove_document(document_id)

    def _clear_away(self) -> None:
        self._announce()
        if self._owns_lock():
            self._sweep()

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

    def _keep(self, document_id: str, partial: Path) -> None:
        """Put the file in its place, and note its hash where a password was taken off it."""
        with self._database.transaction():
            self._library.keep_sha256(document_id, sha256_of(partial))
            partial.replace(self._library.file_path(document_id))

    def _put_back(self, document_id: str, partial: Path, name: str, password: str | None) -> None:
        """These are a document's bytes: where its PDF is missing or has changed, keep them again."""
        if self._library.file_is_sound(document_id):
            return
        self._open(partial, name, password)
        self._keep(document_id, partial)
        if self._library.get(document_id).status in (DocumentStatus.FAILED, DocumentStatus.QUEUED):
            self.retry(document_id)

    def _taken_in(self, source: Path | bytes) -> None:
        """What was set aside and is now in the library need not be kept twice."""
        if isinstance(source, Path) and source.resolve().parent == (self._settings.files_dir / QUARANTINE).resolve():
            source.unlink()

    def _namesake(self, document_id: str, name: str) -> Document | None:
        same = (other for other in self._library.list() if other.name.casefold() == name.casefold())
        return next((other for other in same if other.id != document_id), None)

    # ------------------------------------------------------------ workers

    def _work(self, step: Callable[[], bool]) -> None:
        """A worker's outermost frame: one step after the other while there is work and this process may do it."""
        while not self._closing.is_set():
            try:
                worked = self._owns_lock() and step()
                self._full.pop(step, None)
            except FullDiskError as error:
                self._full[step] = error
                worked = False
            except Exception:
                log.exception("A step of ingest failed.")
                worked = False
            with self._changed:
                if worked:
                    self._changed.notify_all()
                elif not self._closing.is_set():
                    self._changed.wait(FULL_SECONDS if step in self._full else POLL_SECONDS)

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
        """Clear away what a killed process may have left half done, and set aside what is not known."""
        for path in self._settings.files_dir.glob("*.partial"):
            if _PARTIAL.fullmatch(path.name) and time.time() - path.stat().st_mtime > FORGOTTEN_SECONDS:
                path.unlink(missing_ok=True)
        with self._database.transaction():
            for document_id in self._shelf.finished_with_holes():
                self._jobs.enqueue(document_id)
            documents = [document.id for document in self._library.list()]
            set_aside(self._settings, [*documents, *self._shelf.files_to_remove()])

    def _announce(self) -> None:
        self._full.clear()  # what was asked for now is worth a try
        with self._changed:
            self._changed.notify_all()

    def _read_next(self) -> bool:
        self._sweep()
        return self._page_work.read_next()

    def _sweep(self) -> None:
        """Finish what removals left over in the vector indexes and the files folder."""
        self._indexes.clear_removed()
        for document_id in self._shelf.files_to_remove():
            # Windows refuses while the reader still has it open; the next sweep gets it.
            with suppress(PermissionError), self._database.transaction():
                if not self._shelf.exists(document_id):
                    self._library.file_path(document_id).unlink(missing_ok=True)
                self._shelf.file_removed(document_id)

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
