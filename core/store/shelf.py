"""Writes what was read and takes it away again: pages, passages and their words.

Each call is one transaction. Passages without a vector are embedded later; what leaves is noted in ``removals``.
"""

import json
from collections.abc import Callable, Sequence
from sqlite3 import Connection

from core.domain.codec import to_json
from core.domain.documents import OutlineEntry, Page, PageStatus, Passage, embedding_key
from core.domain.page_layout import encode_layout
from core.domain.ports import KeywordIndex, PdfInfo
from core.store.database import Database


class Shelf:
    """The writing side of the library."""

    def __init__(self, database: Database, keywords: KeywordIndex) -> None:
        self._database = database
        self._keywords = keywords

    def add_document(self, document_id: str, name: str, byte_size: int, info: PdfInfo, *, added_at: str) -> None:
        self._database.connection.execute(
            """INSERT INTO documents (id, name, byte_size, page_count, added_at, status, notes, outline)
               VALUES (?, ?, ?, ?, ?, 'queued', ?, ?)""",
            (
                document_id,
                name,
                byte_size,
                info.page_count,
                added_at,
                json.dumps(info.notes),
                to_json(tuple(info.outline), tuple[OutlineEntry, ...]),
            ),
        )

    def exists(self, document_id: str) -> bool:
        rows = self._database.connection.execute("SELECT 1 FROM documents WHERE id = ?", (document_id,))
        return rows.fetchone() is not None

    def missing_pages(self, document_id: str) -> list[int]:
        """Page indexes that have no row yet."""
        connection = self._database.connection
        count = connection.execute("SELECT page_count FROM documents WHERE id = ?", (document_id,)).fetchone()
        rows = connection.execute("SELECT page_index FROM pages WHERE document_id = ?", (document_id,))
        stored = {row["page_index"] for row in rows}
        return [index for index in range(count["page_count"] if count else 0) if index not in stored]

    def finished_with_holes(self) -> list[str]:
        """Ids of documents whose work is done, though some of their pages have no row."""
        rows = self._database.connection.execute(
            """SELECT documents.id FROM documents LEFT JOIN jobs ON jobs.document_id = documents.id
               WHERE (jobs.id IS NULL OR jobs.status = 'done')
               AND page_count > (SELECT count(*) FROM pages WHERE document_id = documents.id)"""
        )
        return [row["id"] for row in rows]

    def pages_to_recognise(self, document_id: str) -> list[int]:
        rows = self._database.connection.execute(
            "SELECT page_index FROM pages WHERE document_id = ? AND recognise = 1 ORDER BY page_index", (document_id,)
        )
        return [row["page_index"] for row in rows]

    def pages_with_status(self, document_id: str, *statuses: PageStatus) -> list[int]:
        marks = ",".join("?" * len(statuses))
        rows = self._database.connection.execute(
            f"SELECT page_index FROM pages WHERE document_id = ? AND status IN ({marks})", (document_id, *statuses)
        )
        return [row["page_index"] for row in rows]

    def put_pages(
        self,
        document_id: str,
        pages: Sequence[Page],
        passages: Sequence[Passage],
        *,
        recognise: frozenset[int],
        go_on: Callable[[], None] = lambda: None,
    ) -> bool:
        """Store pages in place of what was there for them; False when the document has been removed meanwhile.

        All that takes time is done before anything is locked; ``go_on`` is asked last, and may raise.
        """
        page_rows = [_page_row(document_id, page, recognise) for page in pages]
        passage_rows = [_passage_row(passage) for passage in passages]
        add_words = self._keywords.prepare(passages)
        with self._database.transaction() as connection:
            go_on()
            if not self.exists(document_id):
                return False
            indexes = [page.page_index for page in pages]
            self._clear_pages(connection, document_id, indexes)
            connection.executemany(
                """INSERT INTO pages
                   (document_id, page_index, page_label, status, reason, seconds, text, layout, recognise)
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)""",
                page_rows,
            )
            connection.executemany(
                """INSERT INTO passages
                   (id, document_id, page_index, start, "end", heading_path, context, embedding_key)
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
                passage_rows,
            )
            add_words()
            _count_passages(connection, document_id)
            return True

    def without_words(self, document_id: str) -> list[str]:
        """Ids of the document's passages that the keyword index lacks."""
        rows = self._database.connection.execute(
            """SELECT id FROM passages WHERE document_id = ?
               AND NOT EXISTS (SELECT 1 FROM passage_words WHERE rowid = passages.number) ORDER BY number""",
            (document_id,),
        )
        return [row["id"] for row in rows]

    def put_words(self, passages: Sequence[Passage]) -> None:
        self._keywords.add(passages)

    def forget_pages(self, document_id: str, page_indexes: Sequence[int]) -> None:
        """Take pages away so that they are read again."""
        with self._database.transaction() as connection:
            self._clear_pages(connection, document_id, page_indexes)
            _count_passages(connection, document_id)

    def give_up_recognising(self, document_id: str, page_indexes: Sequence[int], reason: str, *, failed: bool) -> None:
        """Keep the pages as they were read and say why OCR did not replace them.

        Where it failed, pages without text count as failed, so that they can be tried again.
        """
        with self._database.transaction() as connection:
            connection.executemany(
                """UPDATE pages SET recognise = 0, reason = iif(reason = '', ?1, reason || '; ' || ?1),
                   status = iif(?2 AND status = 'empty', 'failed', status)
                   WHERE document_id = ?3 AND page_index = ?4""",
                [(reason, failed, document_id, page_index) for page_index in page_indexes],
            )

    def mark_searchable(self, document_id: str) -> None:
        self._database.connection.execute("UPDATE documents SET searchable = 1 WHERE id = ?", (document_id,))

    def remove_document(self, document_id: str) -> None:
        """Take away every row of the document; its vectors and file leave by ``removals``."""
        with self._database.transaction() as connection:
            rows = connection.execute("SELECT page_index FROM pages WHERE document_id = ?", (document_id,)).fetchall()
            self._clear_pages(connection, document_id, [row["page_index"] for row in rows])
            connection.execute("DELETE FROM documents WHERE id = ?", (document_id,))
            connection.execute("INSERT OR IGNORE INTO removals (subject, kind) VALUES (?, 'file')", (document_id,))

    def files_to_remove(self) -> list[str]:
        """Ids of removed documents whose file is still there."""
        rows = self._database.connection.execute("SELECT subject FROM removals WHERE kind = 'file'")
        return [row["subject"] for row in rows]

    def file_removed(self, document_id: str) -> None:
        self._database.connection.execute("DELETE FROM removals WHERE subject = ? AND kind = 'file'", (document_id,))

    def _clear_pages(self, connection: Connection, document_id: str, page_indexes: Sequence[int]) -> None:
        keys = [(document_id, page_index) for page_index in page_indexes]
        found = [
            row
            for key in keys
            for row in connection.execute(
                "SELECT number, id, embedding_key FROM passages WHERE document_id = ? AND page_index = ?", key
            )
        ]
        numbers = [(row["number"],) for row in found]
        connection.executemany("DELETE FROM passage_words WHERE rowid = ?", numbers)
        connection.executemany("DELETE FROM passages WHERE number = ?", numbers)
        connection.executemany("DELETE FROM pages WHERE document_id = ? AND page_index = ?", keys)
        connection.executemany(
            "DELETE FROM embeddings WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM passages WHERE embedding_key = ?1)",
            [(row["embedding_key"],) for row in found],
        )
        connection.executemany(
            "INSERT OR IGNORE INTO removals (subject, kind) VALUES (?, 'passage')", [(row["id"],) for row in found]
        )


def _count_passages(connection: Connection, document_id: str) -> None:
    connection.execute(
        """UPDATE documents SET passage_count = (SELECT count(*) FROM passages WHERE document_id = documents.id)
           WHERE id = ?""",
        (document_id,),
    )


def _page_row(document_id: str, page: Page, recognise: frozenset[int]) -> tuple[object, ...]:
    return (
        document_id,
        page.page_index,
        page.page_label,
        page.status,
        page.reason,
        page.seconds,
        page.text,
        encode_layout(page.words, page.blocks),
        int(page.page_index in recognise),
    )


def _passage_row(passage: Passage) -> tuple[object, ...]:
    return (
        passage.id,
        passage.document_id,
        passage.page_index,
        passage.start,
        passage.end,
        json.dumps(passage.heading_path, ensure_ascii=False),
        passage.context,
        embedding_key(passage),
    )
