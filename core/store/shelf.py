"""Writes what was read and takes it away again: documents with their files, pages, passages and their words.

Each call is one transaction. Passages without a vector are embedded later; files that leave are noted in
``removals`` and follow.
"""

import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from sqlalchemy import Table, case, delete, exists, func, insert, literal, select, update

from pincite.core.domain.accounts import LOCAL
from pincite.core.domain.codec import readable, to_json
from pincite.core.domain.documents import (
    READER,
    Box,
    DocumentStatus,
    HiddenText,
    JobStatus,
    OutlineEntry,
    Page,
    PageStatus,
    Passage,
    embedding_key,
    file_name,
)
from pincite.core.domain.errors import DocumentError
from pincite.core.domain.page_layout import encode_layout
from pincite.core.domain.ports import KeywordIndex, PdfInfo
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import now
from pincite.core.store.data_dir import QUARANTINE, set_aside
from pincite.core.store.database import Database
from pincite.core.store.library import Library, sha256_of
from pincite.core.store.schema import (
    collection_documents,
    documents,
    embeddings,
    grid_rows,
    jobs,
    pages,
    passages,
    removals,
    sessions,
)
from pincite.core.store.vectors import note_change

log = logging.getLogger(__name__)

AGAIN_SECONDS, CLAIM_SECONDS = 10.0, 0.1
FILE = "file"
"""Kind of a removal: a document's file."""
TO_BE_READ = -1
"""Value that replaces the reader's version: the page must be read again."""


class Shelf:
    """The writing side of the library.

    ``on_remove`` is called with a document's id inside the transaction that removes it, ``after_remove`` behind it.
    """

    def __init__(
        self,
        database: Database,
        library: Library,
        keywords: KeywordIndex,
        settings: Settings,
        on_remove: Callable[[str], None] = lambda document_id: None,
        after_remove: Callable[[], None] = lambda: None,
    ) -> None:
        self._database = database
        self._library = library
        self._keywords = keywords
        self._settings = settings
        self._on_remove = on_remove
        self._clear_from = 0.0
        """When files are deleted again that could not be."""
        self._after_remove = after_remove

    def transaction(self) -> AbstractContextManager[object]:
        """Return all of what is written inside, or nothing."""
        return self._database.transaction()

    # ------------------------------------------------------------ documents and their files

    def id_of(self, content_sha256: str) -> str:
        """Return the id that a file with this hash has, or will have.

        It is the hash, unless there are users: then each has documents of their own.
        """
        owner = self._database.owner
        if owner == LOCAL:
            return content_sha256
        adopted = select(documents.c.id).where(documents.c.id == content_sha256, documents.c.owner == owner)
        own = hashlib.sha256(f"{owner} {content_sha256}".encode()).hexdigest()
        return content_sha256 if self._database.row(adopted) else own

    def exists(self, document_id: str) -> bool:
        return self._database.row(select(documents.c.id).where(documents.c.id == document_id)) is not None

    def may_delete(self, document_id: str) -> bool:
        return self._database.may_delete(document_id)

    def add_document(
        self, document_id: str, name: str, byte_size: int, info: PdfInfo, content_sha256: str = ""
    ) -> None:
        row = {
            "id": document_id,
            "content_sha256": "" if content_sha256 == document_id else content_sha256,
            "name": name,
            "byte_size": byte_size,
            "page_count": info.page_count,
            "added_at": now(),
            "status": DocumentStatus.QUEUED,
            "notes": json.dumps(info.notes),
            "outline": to_json(tuple(info.outline), tuple[OutlineEntry, ...]),
        }
        self._database.run(insert(documents).values(row))

    def send_file(self, document_id: str, copy: Path) -> None:
        """Send the document's file to where it is kept for all machines, before others know of the document."""
        self._library.files.put(file_name(document_id), copy)

    def keep_file(self, document_id: str, copy: Path) -> None:
        """Move the document's file to its place, and note its hash where a password was taken off it."""
        with self._database.transaction():
            self._library.keep_sha256(document_id, sha256_of(copy))
            self._library.files.move_in(file_name(document_id), copy)

    def taken_in(self, source: Path) -> None:
        """What was set aside and is now in the library need not be kept twice."""
        if source.resolve().parent == (self._settings.files_dir / QUARANTINE).resolve():
            source.unlink()

    def mark_searchable(self, document_id: str) -> None:
        self._database.run(update(documents).where(documents.c.id == document_id).values(searchable=True))

    def remove_document(self, document_id: str, *, successor: str = "") -> None:
        """Take away every row of the document, if it is there; ``clear_files`` takes its file.

        ``successor``: a newer version, which is then in the collections, grids and choices of sessions that it was in.
        """
        noted = self._database.insert(removals).values(subject=document_id, kind=FILE).on_conflict_do_nothing()
        with self._database.transaction():
            if not self.exists(document_id):
                return
            self._on_remove(document_id)
            if successor:
                self._put_in_place(document_id, successor)
            indexes = self._database.run(select(pages.c.page_index).where(pages.c.document_id == document_id))
            self._clear(document_id, indexes.scalars().all())
            note_change(self._database, documents.c.id == document_id)
            self._database.run(delete(documents).where(documents.c.id == document_id))
            self._database.run(noted)

    def _put_in_place(self, document_id: str, successor: str) -> None:
        """Put a newer version into the collections, grids and choices of sessions; one that is there already stays."""
        everything = self._database.everything
        for table, of in ((collection_documents, "collection_id"), (grid_rows, "grid_id")):
            there = select(table.c[of]).where(table.c.document_id == successor)
            moved = update(table).where(table.c.document_id == document_id, table.c[of].not_in(there))
            everything.run(moved.values(document_id=successor))
        choosing = sessions.c.document_ids.contains(document_id, autoescape=True)
        for row in everything.rows(select(sessions.c.id, sessions.c.document_ids).where(choosing)):
            if chosen := readable(tuple[str, ...], row["document_ids"]):
                ids = dict.fromkeys(successor if one == document_id else one for one in chosen)
                own = update(sessions).where(sessions.c.id == row["id"])
                everything.run(own.values(document_ids=to_json(tuple(ids), tuple[str, ...])))

    def clear_files(self) -> None:
        """Delete the files of removed documents."""
        leaving = self._leaving() if time.monotonic() >= self._clear_from else []
        for document_id in leaving:
            try:
                with self.file_held(document_id):
                    if not self.exists(document_id):
                        self._library.files.delete(file_name(document_id))
                    done = delete(removals).where(removals.c.subject == document_id, removals.c.kind == FILE)
                    self._database.run(done)
            except PermissionError:
                pass  # Windows refuses while the reader still has it open; the next call gets it
            except DocumentError as error:
                log.warning("A removed document's file is deleted later: %s", error)
                self._clear_from = time.monotonic() + AGAIN_SECONDS
        if leaving:
            self._after_remove()

    @contextmanager
    def file_held(self, document_id: str) -> Iterator[None]:
        """Let no other process add or delete the document's file meanwhile.

        A file that is sent elsewhere takes time, in which others may write to the database.
        """
        if not self._library.files.has_copies:
            with self._database.transaction():
                yield
            return
        claim = self._database.claim()
        try:
            while not claim.take(f"File {document_id}"):
                time.sleep(CLAIM_SECONDS)
            yield
        finally:
            claim.close()

    def delete_copies(self) -> None:
        """Delete the copies that this machine has of files of removed documents, where files are kept elsewhere."""

        def known(names: list[str]) -> set[str]:
            ids = select(documents.c.id).where(documents.c.id.in_([Path(name).stem for name in names]))
            return {file_name(one) for one in self._database.run(ids).scalars()}

        self._library.files.delete_copies(known)

    def set_aside_strangers(self) -> None:
        """Move the PDFs that the library does not know out of its way, unless others may use the folder, too."""
        if self._settings.database_url:
            return
        with self._database.transaction():
            set_aside(self._settings, [*(document.id for document in self._library.list()), *self._leaving()])

    def finished_with_holes(self) -> list[str]:
        """Return ids of documents that are finished although some of their pages have no row."""
        stored = select(func.count()).select_from(pages).where(pages.c.document_id == documents.c.id)
        query = (
            select(documents.c.id)
            .outerjoin(jobs)
            .where(jobs.c.id.is_(None) | (jobs.c.status == JobStatus.DONE))
            .where(documents.c.page_count > stored.scalar_subquery())
        )
        return list(self._database.run(query).scalars())

    # ------------------------------------------------------------ pages and passages

    def pages(self, document_id: str, page_indexes: Iterable[int]) -> Iterator[Page]:
        """Yield those of the pages that are there."""
        for index in page_indexes:
            if self._library.has_page(document_id, index):
                yield self._library.page(document_id, index)

    def missing_pages(self, document_id: str) -> list[int]:
        """Return the indexes of pages that have no row yet, or must be read again."""
        count = self._database.run(select(documents.c.page_count).where(documents.c.id == document_id)).scalar()
        read = pages.c.document_id == document_id, pages.c.reader != TO_BE_READ
        stored = set(self._database.run(select(pages.c.page_index).where(*read)).scalars())
        return [index for index in range(count or 0) if index not in stored]

    def pages_to_index(self, document_id: str) -> list[int]:
        """Pages with a passage that the keyword index lacks, or that is indexed under another title than it has."""
        title = self._library.get(document_id).title
        indexed = self._keywords.indexed(document_id)
        columns = passages.c.id, passages.c.page_index, passages.c.context
        rows = self._database.rows(
            select(*columns).where(passages.c.document_id == document_id).order_by(passages.c.page_index)
        )
        lacking = (row for row in rows if row["id"] not in indexed or not _begins(row["context"], title))
        return list(dict.fromkeys(row["page_index"] for row in lacking))

    def pages_to_recognise(self, document_id: str) -> list[int]:
        waiting = pages.c.document_id == document_id, pages.c.recognise.is_(True)
        query = select(pages.c.page_index).where(*waiting).order_by(pages.c.page_index)
        return list(self._database.run(query).scalars())

    def put_pages(
        self,
        document_id: str,
        read: Sequence[Page],
        found: Sequence[Passage],
        *,
        stored: bool = False,
        go_on: Callable[[], None] = lambda: None,
    ) -> None:
        """Store pages with their passages in place of what was there; ``stored``: the pages stay as they are.

        All that takes time is done before anything is locked; ``go_on`` is asked last, and may raise.
        """
        page_rows = [] if stored else [_page_row(document_id, page) for page in read]
        passage_rows = [_passage_row(passage) for passage in found]
        add_words = self._keywords.prepare(found)
        with self._database.transaction():
            go_on()
            self._clear(document_id, [page.page_index for page in read], keep_pages=stored)
            self._add_rows(pages, page_rows)
            self._add_rows(passages, passage_rows)
            add_words()
            self._count_passages(document_id)

    def forget_pages(self, document_id: str, page_indexes: Sequence[int]) -> None:
        """Take pages away so that they are read again."""
        with self._database.transaction():
            self._clear(document_id, page_indexes)
            self._count_passages(document_id)

    def renew_pages(self, document_id: str) -> None:
        """Have what an older reader read read again; each page can be searched until the new one takes its place.

        What OCR read it reads again, where it is on; the file has no other text of it.
        """
        older = update(pages).where(pages.c.document_id == document_id, pages.c.reader < READER)
        recognised = pages.c.status == PageStatus.OCR
        with self._database.transaction():
            if self._settings.ocr:
                self._database.run(older.where(recognised).values(reader=READER, recognise=True))
            self._database.run(older.where(~recognised).values(reader=TO_BE_READ))

    def keep_pages(self, document_id: str, page_indexes: Iterable[int]) -> None:
        """Leave pages that were to be read again as they are."""
        these = pages.c.document_id == document_id, pages.c.page_index.in_(list(page_indexes))
        self._database.run(update(pages).where(*these).values(reader=READER))

    def give_up_recognising(self, document_id: str, page_indexes: Iterable[int], reason: str, *, failed: bool) -> None:
        """Keep the pages as they were read, with the reason why OCR did not replace them.

        Where it failed, pages without text count as failed, so that they can be tried again.
        """
        these = pages.c.document_id == document_id, pages.c.page_index.in_(list(page_indexes))
        before = func.replace(pages.c.reason, "_", " ") + literal(f"; {reason}")
        values: dict[str, object] = {"recognise": False, "reason": case((pages.c.reason == "", reason), else_=before)}
        if failed:
            lacks_text = pages.c.status == PageStatus.EMPTY
            values["status"] = case((lacks_text, PageStatus.FAILED), else_=pages.c.status)
        self._database.run(update(pages).where(*these).values(values))

    def _leaving(self) -> list[str]:
        """Return ids of removed documents with a file that is still there."""
        return list(self._database.run(select(removals.c.subject).where(removals.c.kind == FILE)).scalars())

    def _clear(self, document_id: str, page_indexes: Iterable[int], *, keep_pages: bool = False) -> None:
        """Delete pages with what belongs to their passages; an embedding stays if another passage uses it."""
        other = passages.alias()
        for index in page_indexes:
            own = (passages.c.document_id == document_id) & (passages.c.page_index == index)
            elsewhere = (other.c.document_id != document_id) | (other.c.page_index != index)
            used = exists().where(other.c.embedding_key == embeddings.c.key, elsewhere)
            keys = select(passages.c.embedding_key).where(own)
            self._keywords.forget(document_id, index)
            self._database.everything.run(delete(embeddings).where(embeddings.c.key.in_(keys), ~used))
            self._database.run(delete(passages).where(own))
            if not keep_pages:
                self._database.run(delete(pages).where(pages.c.document_id == document_id, pages.c.page_index == index))

    def _add_rows(self, table: Table, rows: Sequence[dict[str, object]]) -> None:
        if rows:
            self._database.run(insert(table), rows)

    def _count_passages(self, document_id: str) -> None:
        counted = select(func.count()).select_from(passages).where(passages.c.document_id == document_id)
        own = update(documents).where(documents.c.id == document_id)
        note_change(self._database, documents.c.id == document_id)
        self._database.run(own.values(passage_count=counted.scalar_subquery()))


def _begins(context: str, title: str) -> bool:
    return f"{context}\n".startswith(f"{title}\n")


def _page_row(document_id: str, page: Page) -> dict[str, object]:
    return {
        "document_id": document_id,
        "page_index": page.page_index,
        "page_label": page.page_label,
        "status": page.status,
        "reason": page.reason,
        "seconds": page.seconds,
        "text": page.text,
        "layout": encode_layout(page.words, page.blocks),
        "recognise": page.wants_recognition,
        "hidden": to_json(page.hidden, tuple[HiddenText, ...]),
        "illustrations": to_json(page.illustrations, tuple[Box, ...]),
        "reader": READER,
    }


def _passage_row(passage: Passage) -> dict[str, object]:
    return {
        "id": passage.id,
        "document_id": passage.document_id,
        "page_index": passage.page_index,
        "start": passage.start,
        "end": passage.end,
        "heading_path": json.dumps(passage.heading_path, ensure_ascii=False),
        "context": passage.context,
        "embedding_key": embedding_key(passage),
    }
