"""The three stages of a document's way in: its pages are read, its words indexed, its meaning indexed.

Recognising scans is reading once more, by OCR; a new title is indexing once more, from the pages as stored. Each step
does what is left to do as the stores show it, so that it goes on after a kill where it was.
"""

import re
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeAlias

from pincite.core.documents.passages import Splitter
from pincite.core.domain.documents import Job, JobStage, JobStatus, MetadataField, Page, PageStatus, Passage, file_name
from pincite.core.domain.errors import PinciteError, StoppedError, StorageError
from pincite.core.domain.keys import in_words
from pincite.core.domain.ports import PageReader, PdfInfo
from pincite.core.domain.settings import Settings
from pincite.core.models.client import stoppable

if TYPE_CHECKING:
    from pincite.core.store.indexes import Indexes, PendingPassages
    from pincite.core.store.jobs import Jobs
    from pincite.core.store.library import Library
    from pincite.core.store.locks import Claim, WorkLock
    from pincite.core.store.shelf import Shelf

Describe: TypeAlias = Callable[[PdfInfo, Sequence[Page], str], tuple[MetadataField, ...]]
"""Facts from a file's own fields, its first pages and its name."""

READING = (JobStage.PARSE, JobStage.KEYWORDS)
"""Until these are over, a document cannot be searched as a whole."""
COMMIT_SECONDS = 0.5
COMMIT_PAGES = 64
FIRST_COMMIT_PAGES = 8
"""The first pages can be searched, and embedded, while the next are being read."""
READ = (PageStatus.TEXT, PageStatus.OCR)
FIRST_PAGES = 5
"""Pages that the document's metadata is taken from."""
PAGES_BEFORE = 30
"""Stored pages that are looked at again for the headings in force where reading goes on."""
MAX_PAGE_LENGTH = 400_000
"""Maximum characters of a page; the receipt reports if there were more."""
BATCH_PASSAGES = 256


class JobStoppedError(Exception):
    """The job was cancelled or removed, or the process is closing."""


@dataclass(frozen=True, slots=True)
class Stores:
    """What ingest reads and writes."""

    library: "Library"
    shelf: "Shelf"
    jobs: "Jobs"
    vectors: "Indexes"
    lock: "WorkLock"
    """Held by each process that works off the queue."""
    claim: Callable[[], "Claim"]
    """Makes what a thread claims its next piece of work by."""


class Stages:
    """One step at a time of each kind: ``read``, ``recognise``, ``embed``, ``keep``; False when there is none to do."""

    def __init__(
        self, stores: Stores, reader: PageReader, describe: Describe, settings: Settings, closing: threading.Event
    ) -> None:
        self._library, self._shelf = stores.library, stores.shelf
        self._jobs, self._vectors = stores.jobs, stores.vectors
        self._reader = reader
        self._describe = describe
        self._settings = settings
        self._closing = closing
        self._reading, self._recognising, self._embedding, self._keeping = (stores.claim() for _ in range(4))
        self._looked_through = False

    # ------------------------------------------------------------ pages and words

    def read(self) -> bool:
        """Read the missing pages of one document and index its words."""
        return self._work_on(READING, self._read, "Reading", self._reading)

    def recognise(self) -> bool:
        """Recognise the scanned pages of one document."""
        return self._work_on((JobStage.OCR,), self._recognise, "OCR", self._recognising)

    def _read(self, job: Job) -> None:
        document = self._library.get(job.document_id)
        self._jobs.advance(document.id, JobStage.PARSE)
        if missing := self._shelf.missing_pages(document.id):
            path = self._library.file_path(document.id)
            with closing(_generator(self._reader.read(path, missing))) as incoming:
                first = list(islice(incoming, FIRST_PAGES))
                if first and not document.metadata:
                    self._describe_by(document.id, first)
                came = self._shelve(job, self._worth_storing(document.id, chain(first, incoming)))
            skipped = sorted((set(missing) - came).intersection(self._shelf.missing_pages(document.id)))
            lost = [Page(at, str(at + 1), "", (), (), PageStatus.FAILED, "the reader skipped it") for at in skipped]
            self._shelve(job, lost)
            if document.metadata and missing[0] < FIRST_PAGES:
                self._describe_again(document.id)
        if self._shelf.pages_to_index(document.id):
            self._jobs.advance(document.id, JobStage.KEYWORDS)
            self._index(job)
        self._go_on(job)
        self._move_on(document.id, READING)

    def _worth_storing(self, document_id: str, pages: Iterable[Page]) -> Iterator[Page]:
        """Yield all pages except those that an older reader read better: they stay as they are."""
        for page in pages:
            before = next(self._shelf.pages(document_id, [page.page_index]), None)
            if before and before.status in READ and page.status not in READ:
                self._shelf.keep_pages(document_id, [page.page_index])
            else:
                yield page

    def _describe_by(self, document_id: str, first: Sequence[Page]) -> None:
        """Describe the document by its first pages; people's corrections stay, also those that reject a value."""
        info = self._reader.open(self._library.file_path(document_id))
        found = self._describe(info, first, self._library.given_name(document_id))
        with self._shelf.transaction():
            fields = {field.name: field for field in (*found, *self._library.corrected(document_id))}
            self._library.set_metadata(document_id, fields.values())

    def _describe_again(self, document_id: str) -> None:
        """Describe the document by its stored first pages, once no first page waits for OCR."""
        if not set(self._shelf.pages_to_recognise(document_id)).intersection(range(FIRST_PAGES)):
            self._describe_by(document_id, list(self._shelf.pages(document_id, range(FIRST_PAGES))))

    def _index(self, job: Job) -> None:
        """Index the words of stored pages that the index lacks, or has under another title."""
        lacking = self._shelf.pages_to_index(job.document_id)
        self._shelve(job, self._shelf.pages(job.document_id, lacking), stored=True)

    def _recognise(self, job: Job) -> None:
        waiting = self._shelf.pages_to_recognise(job.document_id)
        path = self._library.file_path(job.document_id)
        with closing(_generator(self._reader.recognise(path, waiting))) as pages:
            self._shelve(job, self._recognised(job, pages))
        skipped = self._shelf.pages_to_recognise(job.document_id)
        self._shelf.give_up_recognising(job.document_id, skipped, "OCR skipped it", failed=True)
        if any(page.status is PageStatus.OCR for page in self._shelf.pages(job.document_id, range(FIRST_PAGES))):
            self._describe_again(job.document_id)
        self._index(job)  # what it is called now; a stop before this is made good by the next start
        self._move_on(job.document_id, (JobStage.OCR,))

    def _recognised(self, job: Job, pages: Iterable[Page]) -> Iterator[Page]:
        """Yield those in which OCR found text; the others stay as they were read, and store the reason."""
        for page in pages:
            if page.status is PageStatus.OCR:
                yield page
            else:
                self._go_on(job)
                failed, reason = page.status is PageStatus.FAILED, page.reason or "OCR found no text"
                self._shelf.give_up_recognising(job.document_id, [page.page_index], reason, failed=failed)

    def _shelve(self, job: Job, pages: Iterable[Page], *, stored: bool = False) -> set[int]:
        """Split pages as they come and store them some at a time; returns which came. Raises JobStoppedError."""
        document = self._library.get(job.document_id)
        splitter = Splitter(document.id, document.title, self._library.outline(document.id))
        came, last, most = set[int](), -1, FIRST_COMMIT_PAGES
        kept, passages, started = list[Page](), list[Passage](), time.monotonic()

        def commit() -> None:
            self._shelf.put_pages(document.id, kept, passages, stored=stored, go_on=lambda: self._go_on(job))

        for page in map(_storable, pages):
            before = range(max(last + 1, page.page_index - PAGES_BEFORE), page.page_index)
            for earlier in self._shelf.pages(document.id, before):
                splitter.split(earlier)
            kept.append(page)
            passages += splitter.split(page)
            last = page.page_index
            came.add(last)
            if len(kept) >= most or time.monotonic() - started > COMMIT_SECONDS:
                commit()
                kept, passages, started, most = [], [], time.monotonic(), COMMIT_PAGES
        if kept:
            commit()
        return came

    # ------------------------------------------------------------ meaning

    def embed(self) -> bool:
        """Embed some passages, of whichever documents."""
        try:
            with stoppable(self._closing.is_set):
                return self._embed()
        except StoppedError:
            return False
        except StorageError:
            raise
        except PinciteError as error:
            if not self._closing.is_set():
                self._stop_embedding(str(error))
        except Exception:
            self._stop_embedding("Retry; if it happens again, report it.")
            raise
        return False

    def keep(self) -> bool:
        """Bring Chroma in step with some of what is embedded."""
        try:
            return (
                self._looked_through
                and self._keeping.take("approximate search")
                and self._vectors.keep_in_step(self._closing.is_set)
            )
        finally:
            self._keeping.release()

    def close(self) -> None:
        """Let go of what searching by meaning keeps in memory, and of what is claimed."""
        for claim in (self._reading, self._recognising, self._embedding, self._keeping):
            claim.close()
        self._vectors.close()

    def _embed(self) -> bool:
        if not self._looked_through:
            self._vectors.drop_unsound()
            self._looked_through = True
        try:
            batch = self._claimed_batch()
            if batch is not None and not self._vectors.embed(batch, self._closing.is_set):
                return False
        finally:
            self._embedding.release()
        for document_id in batch.document_ids if batch else self._jobs.unfinished(JobStage.EMBED):
            self._move_on(document_id, (JobStage.EMBED,))
        return batch is not None or self._vectors.finish_build()

    def _claimed_batch(self) -> "PendingPassages | None":
        """The next passages to embed, of documents whose passages no other process embeds now."""
        others = set[str]()
        while batch := self._vectors.pending(limit=BATCH_PASSAGES, others=others):
            refused = {one for one in batch.document_ids if not self._embedding.take(f"Embedding {one}")}
            if not refused:
                return batch
            others |= refused
        return None

    def _stop_embedding(self, trouble: str) -> None:
        """The jobs that wait for vectors fail; what else waits is tried again later, or when it is asked for again."""
        try:
            for document_id in self._jobs.unfinished(JobStage.EMBED):
                if self._embedding.take(
                    f"Embedding {document_id}"
                ):  # else another process embeds it, and may be able to
                    message = f"Words can be searched, but embedding stopped. {trouble}"
                    self._jobs.end(document_id, JobStatus.FAILED, message)
        finally:
            self._embedding.release()
        self._vectors.report_trouble(trouble)

    # ------------------------------------------------------------ jobs

    def _work_on(self, stages: Sequence[JobStage], work: Callable[[Job], None], what: str, claim: "Claim") -> bool:
        """Do the oldest job's work that no other process does."""
        try:
            for document_id in self._jobs.unfinished(*stages):
                if claim.take(f"{what} {document_id}"):
                    job = self._jobs.get(document_id)
                    if job and self._jobs.goes_on(job) and job.stage in stages:  # not done in between by another
                        self._work(job, work, what)
                        return True
            return False
        finally:
            claim.release()

    def _work(self, job: Job, work: Callable[[Job], None], what: str) -> None:
        """Do a job's work; an error ends the job with a message that explains what to do."""
        try:
            work(job)
        except JobStoppedError:
            pass
        except StorageError:
            raise  # the job is not to blame, and goes on once there is space, or the database is there again
        except PinciteError as error:
            if not self._closing.is_set():  # else the reader was closed: the job goes on with the next start
                self._fail(job, str(error))
        except Exception:
            self._fail(job, f"{what} stopped unexpectedly. Retry; if it happens again, report the file.")
            raise

    def _fail(self, job: Job, message: str) -> None:
        """The reader knows a file by where it is stored; people know the document by its name."""
        with self._shelf.transaction():
            if self._jobs.goes_on(job):
                name = self._library.get(job.document_id).name
                stored = file_name(job.document_id)
                self._jobs.end(job.document_id, JobStatus.FAILED, message.replace(stored, name))

    def _go_on(self, job: Job) -> None:
        """Raises JobStoppedError when there is no reason to."""
        claim = self._recognising if job.stage is JobStage.OCR else self._reading
        if self._closing.is_set() or not claim.held() or not self._jobs.goes_on(job):
            raise JobStoppedError

    def _move_on(self, document_id: str, stages: Sequence[JobStage]) -> None:
        """Put a job that is in one of these stages where work is left for it, or end it.

        A job in another stage is left to the worker of that stage.
        """
        read = stages is READING
        with self._shelf.transaction():
            job = self._jobs.get(document_id)
            if job is None or job.status is not JobStatus.RUNNING or job.stage not in stages:
                return
            if read and self._jobs.left(document_id, JobStage.PARSE):
                return
            if read:
                self._shelf.mark_searchable(document_id)
                self._shelf.remove_document(job.replaces, successor=document_id)
                self._jobs.set_replaces(document_id, "")
            after = [JobStage.EMBED, JobStage.OCR] if self._settings.ocr else [JobStage.EMBED]
            if job.stage is JobStage.OCR:
                after.reverse()
            stage = next((stage for stage in after if self._jobs.left(document_id, stage)), None)
            if stage is None:
                self._jobs.end(document_id, JobStatus.DONE)
            elif stage is not job.stage:
                self._jobs.advance(document_id, stage)


def _generator(pages: Iterable[Page]) -> Generator[Page, None, None]:
    """Closing it closes what it draws from, which ends the reading process."""
    yield from pages


def _storable(page: Page) -> Page:
    """SQLite text holds neither NUL nor lone surrogates: each becomes one other character, so that spans stay right."""
    text = re.sub("[\ud800-\udfff]", "\ufffd", page.text.replace("\x00", " "))
    if len(text) > MAX_PAGE_LENGTH:
        return _cut_off(page, text)
    return page if text == page.text else replace(page, text=text)


def _cut_off(page: Page, text: str) -> Page:
    remark = f"only the first {MAX_PAGE_LENGTH:,} of its {len(text):,} characters were kept"
    return replace(
        page,
        text=text[:MAX_PAGE_LENGTH],
        words=[word for word in page.words if word.end <= MAX_PAGE_LENGTH],
        blocks=tuple(
            replace(block, end=min(block.end, MAX_PAGE_LENGTH))
            for block in page.blocks
            if block.start < MAX_PAGE_LENGTH
        ),
        reason="; ".join(part for part in (in_words(page.reason), remark) if part),
    )
