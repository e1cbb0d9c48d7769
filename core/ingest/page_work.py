"""The work on pages: reading those that are missing, recognising those that are scans, shelving what comes of it."""

import re
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path

from core.documents.passages import split_pages
from core.domain.documents import Document, Job, JobStage, MetadataField, Page, PageReason, PageStatus, Passage
from core.domain.ports import PdfInfo
from core.ingest.workplace import Workplace

COMMIT_SECONDS = 0.5
COMMIT_PAGES = 64
FIRST_COMMIT_PAGES = 8
"""The first pages can be searched, and embedded, while the next are being read."""
FIRST_PAGES = 5
"""Pages that the document's metadata is taken from."""
INDEX_PASSAGES = 512
PAGES_BEFORE = 30
"""Stored pages that are looked at again for the headings in force where reading goes on."""

LONGEST_TITLE = 200
"""Characters of a title that are indexed with each passage."""
LONGEST_PAGE = 400_000
"""Characters of a page that are kept; the receipt says where there were more."""

Describe = Callable[[PdfInfo, Sequence[Page], str], tuple[MetadataField, ...]]


@dataclass(slots=True)
class _Chunk:
    """What was read since the last commit."""

    pages: list[Page] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    enough: int = FIRST_COMMIT_PAGES
    read: set[int] = field(default_factory=set)
    """Every page that came so far."""

    @property
    def full(self) -> bool:
        return len(self.pages) >= self.enough or time.monotonic() - self.started > COMMIT_SECONDS


class PageWork:
    """One document at a time from each queue; ``remove`` is called with the document that a new one replaces."""

    def __init__(self, place: Workplace, describe: Describe, remove: Callable[[str], None]) -> None:
        self._place = place
        self._describe = describe
        self._remove = remove

    def read_next(self) -> bool:
        """Read one document's missing pages; False when none waits."""
        job = self._place.jobs.next_in(JobStage.PARSE) or self._place.jobs.next_in(JobStage.KEYWORDS)
        if job is not None:
            self._place.work_on(job, self._read, "Reading")
        return job is not None

    def recognise_next(self) -> bool:
        """Recognise one document's scanned pages; False when none waits."""
        job = self._place.jobs.next_in(JobStage.OCR)
        if job is not None:
            self._place.work_on(job, self._recognise, "OCR")
        return job is not None

    def _read(self, job: Job) -> None:
        document_id = job.document_id
        path = self._place.library.file_path(document_id)
        document = self._place.library.get(document_id)
        missing = self._place.shelf.missing_pages(document_id)
        self._progress_of_reading(document_id, document.page_count - len(missing), document.page_count)
        info = self._place.reader.open(path) if missing and not document.metadata else None
        chunk = _Chunk()
        with closing(_generator(self._place.reader.read(path, missing) if missing else ())) as incoming:
            first = list(islice(incoming, FIRST_PAGES))
            if info and first:
                self._place.library.set_metadata(document_id, self._describe(info, first, document.name))
                document = self._place.library.get(document_id)
            pages = self._feed(job, document, chain(first, incoming), chunk)
            outline = self._place.library.outline(document_id)
            for passage in split_pages(pages, document_id=document_id, title=_title(document), outline=outline):
                chunk.passages.append(passage)
            self._shelve(job, document, chunk)
        if lost := sorted(set(missing) - chunk.read):
            failed = [Page(at, str(at + 1), "", (), (), PageStatus.FAILED, "the reader skipped it") for at in lost]
            self._shelve(job, document, _Chunk(pages=failed))
        if self._place.shelf.missing_pages(document_id):
            return  # somebody wants pages read again
        self._complete_words(job)
        with self._place.database.transaction():
            self._place.shelf.mark_searchable(document_id)
            replaced = self._place.jobs.replaces(document_id)
        if replaced and self._place.shelf.exists(replaced):
            self._remove(replaced)
        self._place.jobs.advance(document_id, JobStage.EMBED, done=0, total=0)
        self._place.settle(document_id)

    def _complete_words(self, job: Job) -> None:
        """Index the words that are not indexed yet. Pages bring theirs with them, so that mostly this only counts."""
        total = self._place.library.get(job.document_id).passage_count
        while True:
            lacking = self._place.shelf.without_words(job.document_id)
            self._place.go_on(job)
            done = total - len(lacking)
            self._place.jobs.advance(job.document_id, JobStage.KEYWORDS, done=done, total=total)
            self._place.announce()
            if not lacking:
                return
            self._place.shelf.put_words(self._place.library.passages(lacking[:INDEX_PASSAGES]))

    def _feed(self, job: Job, document: Document, incoming: Iterable[Page], chunk: _Chunk) -> Iterator[Page]:
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
            chunk.read.add(page.page_index)
            if chunk.full:
                self._shelve(job, document, chunk)

    def _pages_before(self, document_id: str, page_index: int) -> Iterator[Page]:
        for index in range(max(0, page_index - PAGES_BEFORE), page_index):
            if self._place.library.has_page(document_id, index):
                yield self._place.library.page(document_id, index)

    def _shelve(self, job: Job, document: Document, chunk: _Chunk) -> None:
        """Commit a chunk and empty it; raises JobStoppedError when there is no reason to go on."""
        recognise = frozenset(page.page_index for page in chunk.pages if _needs_ocr(page))
        self._place.shelf.put_pages(
            document.id, chunk.pages, chunk.passages, recognise=recognise, go_on=lambda: self._place.go_on(job)
        )
        chunk.pages, chunk.passages, chunk.started, chunk.enough = [], [], time.monotonic(), COMMIT_PAGES
        missing = len(self._place.shelf.missing_pages(document.id))
        self._progress_of_reading(document.id, document.page_count - missing, document.page_count)
        self._place.announce()

    def _progress_of_reading(self, document_id: str, done: int, total: int) -> None:
        self._place.jobs.advance(document_id, JobStage.PARSE, done=done, total=total)

    def _recognise(self, job: Job) -> None:
        document_id = job.document_id
        waiting = self._place.shelf.pages_to_recognise(document_id)
        document = self._place.library.get(document_id)
        path = self._place.library.file_path(document_id)
        came: set[int] = set()
        with closing(_generator(self._place.reader.recognise(path, waiting))) as recognised:
            for page in recognised:
                came.add(page.page_index)
                self._place.go_on(job)
                self._keep_recognised(document, _storable(page))
                self._place.settle(document_id)
                self._place.announce()
        skipped = sorted(set(waiting) - came)
        self._place.shelf.give_up_recognising(document_id, skipped, "OCR skipped it", failed=True)
        self._place.settle(document_id)

    def _keep_recognised(self, document: Document, page: Page) -> None:
        if page.status is not PageStatus.OCR:
            failed, reason = page.status is PageStatus.FAILED, page.reason or "OCR found no text"
            self._place.shelf.give_up_recognising(document.id, [page.page_index], reason, failed=failed)
            return
        before = self._pages_before(document.id, page.page_index)
        outline = self._place.library.outline(document.id)
        split = split_pages(chain(before, [page]), document_id=document.id, title=_title(document), outline=outline)
        passages = [passage for passage in split if passage.page_index == page.page_index]
        self._place.shelf.put_pages(document.id, [page], passages, recognise=frozenset())


def _generator(pages: Iterable[Page]) -> Generator[Page, None, None]:
    """Closing it closes what it draws from, which ends the reading process."""
    yield from pages


def _title(document: Document) -> str:
    title = next((entry.value for entry in document.metadata if entry.name == "title"), Path(document.name).stem)
    return title[:LONGEST_TITLE]


def _needs_ocr(page: Page) -> bool:
    """Empty pages that show something, and pages whose text is not what they show."""
    return page.status is PageStatus.GARBLED or page.reason in (PageReason.PICTURE, PageReason.MOSTLY_PICTURE)


def _storable(page: Page) -> Page:
    """SQLite text holds neither NUL nor lone surrogates: each becomes one other character, so that spans stay right."""
    text = re.sub("[\ud800-\udfff]", "\ufffd", page.text.replace("\x00", " "))
    if len(text) > LONGEST_PAGE:
        return _cut_off(page, text)
    return page if text == page.text else replace(page, text=text)


def _cut_off(page: Page, text: str) -> Page:
    said = f"only the first {LONGEST_PAGE:,} of its {len(text):,} characters were kept"
    return replace(
        page,
        text=text[:LONGEST_PAGE],
        words=[word for word in page.words if word.end <= LONGEST_PAGE],
        blocks=tuple(
            replace(block, end=min(block.end, LONGEST_PAGE)) for block in page.blocks if block.start < LONGEST_PAGE
        ),
        reason="; ".join(part for part in (page.reason, said) if part),
    )
