"""Ingest: PDFs come in, are read, indexed, embedded and recognised in the background, and go out again without a trace.

One thread for each kind of step works off the queue of jobs. With SQLite a lock lets only one process do so, while
others add to the queue and wait; with PostgreSQL any number of processes work, each thread on a document of its own.
"""

import logging
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from pincite.core.domain.documents import (
    AddOutcome,
    Document,
    DocumentStatus,
    Job,
    JobStatus,
    MetadataField,
    MetadataSource,
    PageStatus,
    comparable,
)
from pincite.core.domain.errors import AccessError, DocumentError, FullDiskError
from pincite.core.domain.ports import PageReader
from pincite.core.domain.settings import Settings
from pincite.core.ingest.intake import clear_partials, copy_in, new_partial, open_copy
from pincite.core.ingest.stages import READING, Describe, Stages, Stores
from pincite.core.text.plain import storable

log = logging.getLogger(__name__)

COPIES_SECONDS = 10.0
"""How often a process looks for copies of files of documents that another one removed."""
POLL_SECONDS = 0.5
"""How often a worker without work looks for jobs of other processes."""
MAX_DEPTH = 5
"""How many e-mails may be within each other."""
FULL_SECONDS = 5.0
"""How often a worker that found the disk full tries again."""


class Ingest:
    """Takes in and removes at once; works in the background from ``start`` to ``close``."""

    def __init__(
        self, stores: Stores, reader: PageReader, describe: Describe, settings: Settings, *, at_work: bool = True
    ) -> None:
        self._stores = stores
        self._library, self._shelf, self._jobs = stores.library, stores.shelf, stores.jobs
        self._reader = reader
        self._settings = settings
        self._closing = threading.Event()
        self._changed = threading.Condition()
        self._lock, self._in_charge = stores.lock, False
        self._taking_lock = threading.Lock()
        self._stages = Stages(stores, reader, describe, settings, self._closing)
        settings.files_dir.mkdir(parents=True, exist_ok=True)
        self._threads: list[threading.Thread] = []
        self._full: dict[Callable[[], bool], FullDiskError] = {}
        """The steps that found the disk full when they were last tried."""
        if at_work:
            self.start()

    # ------------------------------------------------------------ what people ask for

    def add(
        self, source: Path | bytes, name: str, *, password: str | None = None, note: str = "", depth: int = 0
    ) -> AddOutcome:
        """Add a file and queue it. Raises a DocumentError with the reason if it cannot become a document.

        These bytes may be a document's already: where its PDF is missing or has changed, they are kept again.
        ``note``: such as where it is from. ``depth`` counts the e-mails around an attached file.
        """
        attached = list[Document]()
        name = unicodedata.normalize("NFC", " ".join(storable(name).split())) or "document.pdf"
        partial = new_partial(self._settings)
        try:
            content, size = copy_in(source, partial, name, self._settings)
            document_id = self._shelf.id_of(content)
            known = self._shelf.exists(document_id)
            if not (known and self._library.file_is_sound(document_id)):
                info, files = open_copy(partial, name, password, self._reader, self._settings)
                attached, failures = self._add_attached(files, depth)
                info = replace(info, notes=(*filter(None, [note]), *info.notes, *failures))
                with self._shelf.file_held(document_id):
                    self._shelf.send_file(document_id, partial)
                    with self._shelf.transaction():
                        known = self._shelf.exists(document_id)
                        if not known:
                            self._shelf.add_document(document_id, name, size, info, content)
                        if self._library.get(document_id).status in (DocumentStatus.QUEUED, DocumentStatus.FAILED):
                            self.retry(document_id)
                        self._shelf.keep_file(document_id, partial)
            self._jobs.keep(document_id)
            if isinstance(source, Path):
                self._shelf.taken_in(source)
        except DocumentError as error:
            error.message = error.message.replace(partial.name, name)
            raise
        except OSError as error:
            raise DocumentError(
                f"{name} could not be added ({error.strerror or error}).",
                hint="Check that the file can be read and that the disk has space.",
            ) from error
        finally:
            partial.unlink(missing_ok=True)
        self._announce()
        replaces = None if known else self._namesake(document_id, name)
        return AddOutcome(self._library.get(document_id), known, replaces, tuple(attached))

    def _add_attached(self, files: Sequence[tuple[str, bytes]], depth: int) -> tuple[list[Document], list[str]]:
        """Return the files attached to an e-mail as documents, and notes on those that could not be added."""
        added, failures = list[Document](), list[str]()
        for name, content in files:
            try:
                if depth >= MAX_DEPTH:
                    raise DocumentError("It is in too many e-mails within each other.")
                outcome = self.add(content, name, depth=depth + 1)
                added += [outcome.document, *outcome.attached]
            except DocumentError as error:
                failures.append(f"The attachment {name} could not be added: {error.message}")
        return added, failures

    def jobs(self) -> list[Job]:
        return self._jobs.list()

    def cancel(self, document_id: str) -> None:
        """Stop the document's job; what was read stays searchable."""
        message = "Stopped. What was read so far can be searched; retry to continue from there."
        self._jobs.end(document_id, JobStatus.CANCELLED, message)
        self._announce()

    def retry(self, document_id: str, page_indexes: Sequence[int] | None = None) -> None:
        """Read these pages again, or all failed ones, and go on with whatever the job had left."""
        with self._shelf.transaction():
            self._library.get(document_id)
            if page_indexes is None:
                receipts = self._library.receipts(document_id)
                page_indexes = [page.page_index for page in receipts if page.status is PageStatus.FAILED]
            self._shelf.forget_pages(document_id, page_indexes)
            self._jobs.enqueue(document_id)
        self._announce()

    def read_again(self, document_ids: Iterable[str]) -> None:
        """Read the pages that an older version read once more; until then they are searched as they are."""
        for document_id in document_ids:
            with self._shelf.transaction():
                if self._shelf.exists(document_id):
                    self._shelf.renew_pages(document_id)
                    self._jobs.enqueue(document_id)
        self._announce()

    def set_metadata(self, document_id: str, fields: Iterable[MetadataField]) -> None:
        """Replace the document's facts; a new title is indexed again."""
        with self._shelf.transaction():
            before = self._library.get(document_id)
            given = {field.name: field for field in fields}
            known = (*before.metadata, *self._library.corrected(document_id))
            taken_away = {field.name: MetadataField(field.name, "", MetadataSource.USER) for field in known}
            self._library.set_metadata(document_id, (taken_away | given).values())
            stopped = before.status in (DocumentStatus.FAILED, DocumentStatus.CANCELLED)
            if self._library.get(document_id).title != before.title and not stopped:
                self._jobs.enqueue(document_id)
        self._announce()

    def add_metadata(self, document_id: str, fields: Iterable[MetadataField]) -> None:
        """Add facts or replace those of the same name, except where a person entered another."""
        with self._shelf.transaction():
            known = {field.name: field for field in self._library.get(document_id).metadata}
            told = {field.name: field for field in fields}
            corrected = self._library.corrected(document_id)
            entered = {field.name: field for field in corrected if field.source is MetadataSource.USER}
            self.set_metadata(document_id, (known | told | entered).values())

    def relate(self, newer_id: str, fact: str, older_id: str) -> None:
        """Store a person's statement that a document amends or replaces another."""
        with self._shelf.transaction():
            newer, told = self._library.get(newer_id), MetadataField(fact, older_id, MetadataSource.USER)
            others = [field for field in newer.metadata if field.name != fact]
            self._library.set_metadata(newer_id, [*others, *self._library.corrected(newer_id), told])
        self._announce()

    def remove(self, document_id: str, *, together_with: Callable[[], None] = lambda: None) -> None:
        """Take the document out of every store, in the middle of its ingest too, and do that with it or neither."""
        with self._shelf.transaction():
            self._library.get(document_id)
            together_with()
            self._shelf.remove_document(document_id)
        self._clear_away()

    def replace(self, old_id: str, new_id: str) -> None:
        """Remove the old document once the new one can be searched; what did not change keeps its embeddings.

        Only one old document waits for that: others, such as one that was itself to replace it, go at once. Raises
        AccessError where the user may not delete them.
        """
        with self._shelf.transaction():
            leaving = {old_id, self.waits_to_replace(old_id)} - {"", new_id}
            if not all(map(self._shelf.may_delete, {*leaving, new_id})):
                raise AccessError("Only the owner of a document replaces it.", hint="Add yours beside it.")
            if not self._library.get(new_id).searchable:
                waits = self.waits_to_replace(new_id) or self.waits_to_replace(old_id) or old_id
                waits = old_id if waits == new_id else waits
                self._jobs.set_replaces(new_id, waits)
                leaving -= {waits}
            for document_id in leaving:
                self._shelf.remove_document(document_id, successor=new_id)
        self._clear_away()

    def waits_to_replace(self, document_id: str) -> str:
        """Return the document that goes once this one can be searched; empty if none does."""
        job = self._jobs.get(document_id)
        return job.replaces if job else ""

    def wait(
        self,
        document_ids: Sequence[str] | None = None,
        *,
        searchable_only: bool = False,
        timeout_seconds: float | None = None,
    ) -> bool:
        """Wait until these documents (or all) are done, failed or cancelled; False when the time was not enough.

        Raises FullDiskError: the work continues automatically once there is space, which no caller should wait for.
        """
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        stages = READING if searchable_only else ()
        while (waiting := self._jobs.unfinished(*stages)) and (document_ids is None or {*waiting} & {*document_ids}):
            self.start()
            if self._full:
                raise next(iter(self._full.values()))
            left = POLL_SECONDS if deadline is None else min(POLL_SECONDS, deadline - time.monotonic())
            if left <= 0:
                return False
            with self._changed:
                self._changed.wait(left)
        return True

    def _namesake(self, document_id: str, name: str) -> Document | None:
        same = (other for other in self._library.list() if comparable(other.name) == comparable(name))
        return next((other for other in same if other.id != document_id and self._shelf.may_delete(other.id)), None)

    # ------------------------------------------------------------ workers

    def start(self) -> None:
        """Set the workers to work, where they are not yet."""
        with self._taking_lock:
            if self._threads or self._closing.is_set():
                return
            steps = (self._read, self._stages.embed, self._stages.keep, self._stages.recognise)
            self._threads = [
                threading.Thread(target=self._work, args=(step,), name=f"ingest-{step.__name__}", daemon=True)
                for step in steps
            ]
            if self._library.files.has_copies:
                self._threads.append(threading.Thread(target=self._delete_copies, name="ingest-copies", daemon=True))
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Ask the workers to end; one that reads a page ends once the reader is closed."""
        self._closing.set()
        self._announce()

    def close(self) -> None:
        """Stop the workers; unfinished jobs go on with the next start."""
        self.stop()
        for thread in self._threads:
            thread.join()
        self._stages.close()
        self._lock.release()

    def take_charge(self) -> bool:
        """Return whether this process works; once it does, what a killed one left half done is cleared away."""
        with self._taking_lock:
            was_in_charge, self._in_charge = self._in_charge, self._lock.take()
            if was_in_charge or not self._in_charge:
                return self._in_charge
            clear_partials(self._settings)
            for document_id in self._shelf.finished_with_holes():
                self._jobs.enqueue(document_id)
            self._shelf.set_aside_strangers()
            return True

    def _work(self, step: Callable[[], bool]) -> None:
        """A worker's outermost frame: one step after the other while there is work and this process may do it."""
        failure = ""
        while not self._closing.is_set():
            try:
                worked = self.take_charge() and step()
                self._full.pop(step, None)
                failure = ""
            except FullDiskError as error:
                self._full[step] = error
                worked = False
            except Exception as error:
                if str(error) != failure:  # as long as the database cannot be reached, it is said once
                    log.exception("A step of ingest failed.")
                worked, failure = False, str(error)
            with self._changed:
                if worked:
                    self._changed.notify_all()
                elif not self._closing.is_set():
                    self._changed.wait(FULL_SECONDS if step in self._full else POLL_SECONDS)

    def _delete_copies(self) -> None:
        """In every process, whether it works or not: what was removed is removed everywhere."""
        while not self._closing.wait(COPIES_SECONDS):
            try:
                self._shelf.delete_copies()
            except Exception:
                log.exception("Copies of removed files could not be deleted; this is tried again.")

    def _read(self) -> bool:
        self._sweep()
        return self._stages.read()

    def _clear_away(self) -> None:
        self._announce()
        if self.take_charge():
            self._sweep()

    def _sweep(self) -> None:
        """Finish what removals left over in the files folder."""
        self._shelf.clear_files()

    def _announce(self) -> None:
        """Wake the workers and whoever waits."""
        self._full.clear()  # what was asked for now is worth a try
        with self._changed:
            self._changed.notify_all()


class UserIngest(Ingest):
    """What a user asks for, with the stores as that user sees them; another ingest does the work."""

    def __init__(
        self, working: Ingest, stores: Stores, reader: PageReader, describe: Describe, settings: Settings
    ) -> None:
        super().__init__(stores, reader, describe, settings, at_work=False)
        self._working = working
        self._full, self._changed = working._full, working._changed

    def start(self) -> None:
        self._working.start()

    def take_charge(self) -> bool:
        """Return False: what is left to do, the working one does within POLL_SECONDS."""
        return False
