"""Writes what was read and takes it away again: documents with their files, pages, passages and their words.

Each call is one transaction. Passages without a vector are embedded later; files that leave are noted in
``removals`` and follow.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from sqlite3 import Connection

from pincite.core.domain.codec import to_json
from pincite.core.domain.documents import (
    READER,
    Box,
    DocumentStatus,
    HiddenText,
    OutlineEntry,
    Page,
    Passage,
    embedding_key,
)
from pincite.core.domain.page_layout import encode_layout
from pincite.core.domain.ports import KeywordIndex, PdfInfo
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import now
from pincite.core.store.data_dir import QUARANTINE, set_aside
from pincite.core.store.database import Database
from pincite.core.store.library import Library, sha256_of

_THESE = "passages WHERE document_id = :document AND page_index = :page"
_CLEAR = (
    f"DELETE FROM passage_words WHERE rowid IN (SELECT number FROM {_THESE})",
    f"""DELETE FROM embeddings WHERE key IN (SELECT embedding_key FROM {_THESE}) AND NOT EXISTS (
          SELECT 1 FROM passages WHERE embedding_key = key AND (document_id, page_index) <> (:document, :page))""",
    f"DELETE FROM {_THESE}",
)
"""Statements that delete what belongs to the passages of a page; an embedding stays if another passage uses it."""
_CLEAR_ALL = (*_CLEAR, "DELETE FROM pages WHERE document_id = :document AND page_index = :page")


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
        self._after_remove = after_remove

    def transaction(self) -> AbstractContextManager[object]:
        """Return all of what is written inside, or nothing."""
        return self._database.transaction()

    # ------------------------------------------------------------ documents and their files

    def exists(self, document_id: str) -> bool:
        rows = self._database.connection.execute("SELECT 1 FROM documents WHERE id = ?", (document_id,))
        return rows.fetchone() is not None

    def add_document(self, document_id: str, name: str, byte_size: int, info: PdfInfo) -> None:
        row = {
            "id": document_id,
            "name": name,
            "byte_size": byte_size,
            "page_count": info.page_count,
            "added_at": now(),
            "status": DocumentStatus.QUEUED,
            "notes": json.dumps(info.notes),
            "outline": to_json(tuple(info.outline), tuple[OutlineEntry, ...]),
        }
        _insert(self._database.connection, "documents", [row])

    def keep_file(self, document_id: str, copy: Path) -> None:
        """Move the document's file to its place, and note its hash where a password was taken off it."""
        with self._database.transaction():
            self._library.keep_sha256(document_id, sha256_of(copy))
            copy.replace(self._library.file_path(document_id))

    def taken_in(self, source: Path) -> None:
        """What was set aside and is now in the library need not be kept twice."""
        if source.resolve().parent == (self._settings.files_dir / QUARANTINE).resolve():
            source.unlink()

    def mark_searchable(self, document_id: str) -> None:
        self._database.connection.execute("UPDATE documents SET searchable = 1 WHERE id = ?", (document_id,))

    def remove_document(self, document_id: str, *, successor: str = "") -> None:
        """Take away every row of the document, if it is there; ``clear_files`` takes its file.

        ``successor``: a newer version, which is then in the collections, grids and choices of sessions that it was in.
        """
        with self._database.transaction() as connection:
            if not self.exists(document_id):
                return
            self._on_remove(document_id)
            connection.execute(
                "UPDATE OR IGNORE collection_documents SET document_id = ?1 WHERE document_id = ?2 AND ?1 != ''",
                (successor, document_id),
            )
            connection.execute(
                "UPDATE OR IGNORE grid_rows SET document_id = ?1 WHERE document_id = ?2 AND ?1 != ''",
                (successor, document_id),
            )
            connection.execute(
                """UPDATE sessions SET document_ids =
                     (SELECT json_group_array(DISTINCT iif(value = ?2, ?1, value)) FROM json_each(document_ids))
                   WHERE ?1 != '' AND json_valid(document_ids) AND instr(document_ids, ?2)""",
                (successor, document_id),
            )
            rows = connection.execute("SELECT page_index FROM pages WHERE document_id = ?", (document_id,)).fetchall()
            _clear(connection, document_id, [row["page_index"] for row in rows])
            connection.execute("DELETE FROM documents WHERE id = ?", (document_id,))
            connection.execute("INSERT OR IGNORE INTO removals (subject, kind) VALUES (?, 'file')", (document_id,))

    def clear_files(self) -> None:
        """Delete the files of removed documents."""
        leaving = self._leaving()
        for document_id in leaving:
            # Windows refuses while the reader still has it open; the next call gets it.
            with suppress(PermissionError), self._database.transaction() as connection:
                if not self.exists(document_id):
                    self._library.file_path(document_id).unlink(missing_ok=True)
                connection.execute("DELETE FROM removals WHERE subject = ? AND kind = 'file'", (document_id,))
        if leaving:
            self._after_remove()

    def set_aside_strangers(self) -> None:
        """Move the PDFs that the library does not know out of its way."""
        with self._database.transaction():
            set_aside(self._settings, [*(document.id for document in self._library.list()), *self._leaving()])

    def finished_with_holes(self) -> list[str]:
        """Return ids of documents that are finished although some of their pages have no row."""
        rows = self._database.connection.execute(
            """SELECT documents.id FROM documents LEFT JOIN jobs ON jobs.document_id = documents.id
               WHERE (jobs.id IS NULL OR jobs.status = 'done')
               AND page_count > (SELECT count(*) FROM pages WHERE document_id = documents.id)"""
        )
        return [row["id"] for row in rows]

    # ------------------------------------------------------------ pages and passages

    def pages(self, document_id: str, page_indexes: Iterable[int]) -> Iterator[Page]:
        """Yield those of the pages that are there."""
        for index in page_indexes:
            if self._library.has_page(document_id, index):
                yield self._library.page(document_id, index)

    def missing_pages(self, document_id: str) -> list[int]:
        """Return the indexes of pages that have no row yet, or must be read again."""
        connection = self._database.connection
        count = connection.execute("SELECT page_count FROM documents WHERE id = ?", (document_id,)).fetchone()
        rows = connection.execute(
            "SELECT page_index FROM pages WHERE document_id = ? AND reader <> ?", (document_id, TO_BE_READ)
        )
        stored = {row["page_index"] for row in rows}
        return [index for index in range(count["page_count"] if count else 0) if index not in stored]

    def pages_to_index(self, document_id: str) -> list[int]:
        """Pages with a passage that the keyword index lacks, or that is indexed under another title than it has."""
        title = self._library.get(document_id).title
        rows = self._database.connection.execute(
            """SELECT page_index, context,
                 EXISTS (SELECT 1 FROM passage_words WHERE rowid = passages.number) AS has_words
               FROM passages WHERE document_id = ? ORDER BY page_index""",
            (document_id,),
        )
        return list(
            dict.fromkeys(
                row["page_index"]
                for row in rows
                if not (row["has_words"] and f"{row['context']}\n".startswith(f"{title}\n"))
            )
        )

    def pages_to_recognise(self, document_id: str) -> list[int]:
        rows = self._database.connection.execute(
            "SELECT page_index FROM pages WHERE document_id = ? AND recognise = 1 ORDER BY page_index", (document_id,)
        )
        return [row["page_index"] for row in rows]

    def put_pages(
        self,
        document_id: str,
        pages: Sequence[Page],
        passages: Sequence[Passage],
        *,
        stored: bool = False,
        go_on: Callable[[], None] = lambda: None,
    ) -> None:
        """Store pages with their passages in place of what was there; ``stored``: the pages stay as they are.

        All that takes time is done before anything is locked; ``go_on`` is asked last, and may raise.
        """
        page_rows = [] if stored else [_page_row(document_id, page) for page in pages]
        passage_rows = [_passage_row(passage) for passage in passages]
        add_words = self._keywords.prepare(passages)
        with self._database.transaction() as connection:
            go_on()
            _clear(connection, document_id, [page.page_index for page in pages], _CLEAR if stored else _CLEAR_ALL)
            _insert(connection, "pages", page_rows)
            _insert(connection, "passages", passage_rows)
            add_words()
            _count_passages(connection, document_id)

    def forget_pages(self, document_id: str, page_indexes: Sequence[int]) -> None:
        """Take pages away so that they are read again."""
        with self._database.transaction() as connection:
            _clear(connection, document_id, page_indexes)
            _count_passages(connection, document_id)

    def renew_pages(self, document_id: str) -> None:
        """Have what an older reader read read again; each page can be searched until the new one takes its place.

        What OCR read it reads again, where it is on; the file has no other text of it.
        """
        with self._database.transaction() as connection:
            connection.execute(
                """UPDATE pages SET reader = ?1, recognise = 1
                   WHERE document_id = ?2 AND reader < ?1 AND status = 'ocr' AND ?3""",
                (READER, document_id, self._settings.ocr),
            )
            connection.execute(
                "UPDATE pages SET reader = ?1 WHERE document_id = ?2 AND reader < ?3 AND status <> 'ocr'",
                (TO_BE_READ, document_id, READER),
            )

    def keep_pages(self, document_id: str, page_indexes: Iterable[int]) -> None:
        """Leave pages that were to be read again as they are."""
        self._database.connection.executemany(
            "UPDATE pages SET reader = ? WHERE document_id = ? AND page_index = ?",
            [(READER, document_id, page_index) for page_index in page_indexes],
        )

    def give_up_recognising(self, document_id: str, page_indexes: Iterable[int], reason: str, *, failed: bool) -> None:
        """Keep the pages as they were read, with the reason why OCR did not replace them.

        Where it failed, pages without text count as failed, so that they can be tried again.
        """
        with self._database.transaction() as connection:
            connection.executemany(
                """UPDATE pages SET recognise = 0,
                   reason = iif(reason = '', ?1, replace(reason, '_', ' ') || '; ' || ?1),
                   status = iif(?2 AND status = 'empty', 'failed', status)
                   WHERE document_id = ?3 AND page_index = ?4""",
                [(reason, failed, document_id, page_index) for page_index in page_indexes],
            )

    def _leaving(self) -> list[str]:
        """Return ids of removed documents with a file that is still there."""
        rows = self._database.connection.execute("SELECT subject FROM removals WHERE kind = 'file'")
        return [row["subject"] for row in rows]


def _clear(
    connection: Connection, document_id: str, page_indexes: Iterable[int], statements: Sequence[str] = _CLEAR_ALL
) -> None:
    for index in page_indexes:
        for statement in statements:
            connection.execute(statement, {"document": document_id, "page": index})


def _count_passages(connection: Connection, document_id: str) -> None:
    connection.execute(
        """UPDATE documents SET passage_count = (SELECT count(*) FROM passages WHERE document_id = documents.id)
           WHERE id = ?""",
        (document_id,),
    )


def _insert(connection: Connection, table: str, rows: Sequence[Mapping[str, object]]) -> None:
    if rows:
        columns, values = ", ".join(f'"{name}"' for name in rows[0]), ", ".join(f":{name}" for name in rows[0])
        connection.executemany(f"INSERT INTO {table} ({columns}) VALUES ({values})", rows)


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
        "recognise": int(page.wants_recognition),
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
