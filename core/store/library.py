"""The documents, their pages and passages as stored. Owns their rows; how they come and go is ingest's work."""

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from sqlite3 import Row

from pincite.core.domain.answers import Citation
from pincite.core.domain.codec import decoding, readable
from pincite.core.domain.documents import (
    GIVEN,
    READER,
    Box,
    Coverage,
    Document,
    DocumentStatus,
    HiddenText,
    MetadataField,
    MetadataSource,
    OutlineEntry,
    Page,
    PageReason,
    PageReceipt,
    PageStatus,
    Passage,
    bare_name,
    comparable,
)
from pincite.core.domain.errors import UnknownDocumentError
from pincite.core.domain.page_layout import PackedWords, decode_layout
from pincite.core.domain.settings import Settings
from pincite.core.store.database import Database
from pincite.core.text.plain import shown, storable

_DOCUMENTS = """SELECT *, row_number() OVER (PARTITION BY name ORDER BY rowid) - 1 AS namesakes FROM documents
  ORDER BY added_at DESC, rowid DESC"""
_DOCUMENT = """SELECT *, (SELECT count(*) FROM documents AS other
    WHERE other.name = documents.name AND other.rowid < documents.rowid) AS namesakes
  FROM documents WHERE id = ?"""
_PASSAGE = """SELECT passages.*, pages.page_label, pages.text AS page_text
  FROM passages JOIN pages USING (document_id, page_index)"""
_PASSAGES_OF = """WITH wanted (document_id, page_index) AS (VALUES {})
  SELECT passages.*, pages.page_label, pages.text AS page_text
  FROM wanted CROSS JOIN pages USING (document_id, page_index) CROSS JOIN passages USING (document_id, page_index)"""
"""CROSS: in this order, since SQLite would walk through all passages first."""
_WAITING = """recognise AND pages.status NOT IN ('text', 'ocr') AND EXISTS (
  SELECT 1 FROM jobs WHERE jobs.document_id = pages.document_id AND jobs.status IN ('waiting', 'running'))"""
"""A page has no text and is still to be recognised."""
_ALONE = r"(?<![\w.,-]){}(?!\w|[.,]\d)"
"""Not within a longer word or figure."""
MIN_ID_LENGTH = 6
"""Minimum number of characters of an id that identify it."""
_MANY = 500
"""Values in one IN list."""

Passages = list[Passage]
Receipts = list[PageReceipt]
Names = list[str]
Fields = list[MetadataField]


class Library:
    """The documents and what was read from them."""

    def __init__(self, database: Database, settings: Settings, *, listed: Collection[str] | None = None) -> None:
        """``listed``: the documents that its list shows; all if it is None."""
        self._database = database
        self._settings = settings
        self._listed = listed

    def list(self) -> list[Document]:
        """Return every document, newest first."""
        rows = self._database.connection.execute(_DOCUMENTS).fetchall()
        metadata = self._metadata()
        listed = (row for row in rows if self._listed is None or row["id"] in self._listed)
        return [_document(row, metadata.get(row["id"], ())) for row in listed]

    def within(self, document_ids: Collection[str]) -> "Library":
        """Return the same with these documents alone in its list: others can be neither named nor searched."""
        return Library(self._database, self._settings, listed=document_ids)

    def get(self, document_id: str) -> Document:
        """Raises UnknownDocumentError."""
        row = self._database.connection.execute(_DOCUMENT, (document_id,)).fetchone()
        if row is None:
            raise UnknownDocumentError("This document is not in the library.", hint="It may have been removed.")
        return _document(row, self._metadata(document_id).get(document_id, ()))

    def given_name(self, document_id: str) -> str:
        """Return the name that the document was added or renamed with, whatever others are called."""
        row = self._database.connection.execute("SELECT name FROM documents WHERE id = ?", (document_id,)).fetchone()
        return str(row["name"]) if row else ""

    def find(self, name: str) -> Document:
        """Find by id, by the name that `pincite list` prints or by the file's name, with or without its extension.

        Case, white space and control characters written as codes do not matter; the beginning of an id is enough.
        Raises UnknownDocumentError when none or several fit.
        """
        rows = self._database.connection.execute(_DOCUMENTS).fetchall()
        wanted = _typed(name)
        readings: tuple[Callable[[Row], str], ...] = (
            _numbered,
            lambda row: str(row["name"]),
            lambda row: bare_name(_numbered(row)),
            lambda row: bare_name(str(row["name"])),
        )
        matches = [row for row in rows if row["id"] == name]
        for reading in readings:
            matches = matches or [row for row in rows if wanted in (_typed(reading(row)), _typed(shown(reading(row))))]
        if len(wanted) >= MIN_ID_LENGTH:
            matches = matches or [row for row in rows if row["id"].startswith(wanted)]
        if len(matches) == 1:
            return self.get(matches[0]["id"])
        if matches:
            ids = ", ".join(row["id"][:12] for row in matches)
            raise UnknownDocumentError(f"Several documents are called {name!r}.", hint=f"Use an id: {ids}.")
        raise UnknownDocumentError(f"No document is called {name!r}.", hint="`pincite list` shows the names.")

    def keep_sha256(self, document_id: str, digest: str) -> None:
        """Note the hash of the kept PDF if it differs from the document's id."""
        self._database.connection.execute(
            "UPDATE documents SET kept_sha256 = iif(?1 = id, '', ?1) WHERE id = ?2", (digest, document_id)
        )

    def note_unlocked_files(self) -> None:
        """Note the hashes that an older version did not: of PDFs that a password was taken off.

        Such a file is whole, and of another size than the one that was added.
        """
        rows = self._database.connection.execute("SELECT id, byte_size FROM documents WHERE kept_sha256 = ''")
        for row in rows.fetchall():
            with suppress(OSError, UnknownDocumentError):
                path = self.file_path(row["id"])
                if path.stat().st_size != row["byte_size"] and _is_whole(path):
                    self.keep_sha256(row["id"], sha256_of(path))

    def file_is_sound(self, document_id: str) -> bool:
        """Return whether the document's PDF is there as it was taken in. Reads all of it."""
        row = self._database.connection.execute(
            "SELECT kept_sha256 FROM documents WHERE id = ?", (document_id,)
        ).fetchone()
        try:
            digest = sha256_of(self.file_path(document_id))
        except OSError:
            return False
        return row is not None and digest == (row["kept_sha256"] or document_id)

    def files_missing(self) -> Names:
        """Return names of documents that lack their PDF, or have one of another size; no file is read."""
        rows = self._database.connection.execute("SELECT id, name, byte_size, kept_sha256 FROM documents")
        return [row["name"] for row in rows if self._lacks_file(row)]

    def _lacks_file(self, row: Row) -> bool:
        try:
            size = self.file_path(row["id"]).stat().st_size
        except (OSError, UnknownDocumentError):
            return True
        return not row["kept_sha256"] and size != row["byte_size"]

    def rename(self, document_id: str, name: str) -> None:
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE documents SET name = ? WHERE id = ?", (" ".join(storable(name).split()), document_id)
            )

    def receipts(self, document_id: str) -> Receipts:
        rows = self._database.connection.execute(
            f"""SELECT page_index, page_label, status, length(text) AS characters, seconds, reason, hidden,
               {_WAITING} AS waiting FROM pages WHERE document_id = ? ORDER BY page_index""",
            (document_id,),
        )
        known = list(PageStatus)
        return [
            PageReceipt(
                **{
                    **dict(row),
                    "status": PageStatus(row["status"] if row["status"] in known else "failed"),
                    "hidden": _hidden(row),
                    "waiting": bool(row["waiting"]),
                }
            )
            for row in rows
        ]

    def coverage(self, document_id: str) -> Coverage:
        row = self._database.connection.execute(
            f"""SELECT coalesce(page_count, 0) AS pages,
                 count(*) FILTER (WHERE pages.status IN ('text', 'ocr')) AS text,
                 count(*) FILTER (WHERE reason = ?1) AS blank, count(*) FILTER (WHERE {_WAITING}) AS waiting
               FROM documents LEFT JOIN pages ON pages.document_id = documents.id WHERE documents.id = ?2""",
            (PageReason.BLANK, document_id),
        ).fetchone()
        return Coverage(**dict(row))

    def outdated(self) -> Names:
        """Ids of the documents with pages that an older reader read, and that can be read again."""
        rows = self._database.connection.execute(
            "SELECT id, byte_size, kept_sha256 FROM documents WHERE id IN (SELECT document_id FROM pages "
            "WHERE reader BETWEEN 0 AND ? AND (status <> 'ocr' OR ?))",
            (READER - 1, self._settings.ocr),
        )
        return [row["id"] for row in rows if not self._lacks_file(row)]

    def page(self, document_id: str, page_index: int) -> Page:
        """Raises UnknownDocumentError when the page is not (or not yet) there."""
        row = self._database.connection.execute(
            "SELECT * FROM pages WHERE document_id = ? AND page_index = ?", (document_id, page_index)
        ).fetchone()
        if row is None:
            raise UnknownDocumentError(f"Page {page_index + 1} is not in the library.", hint="It may still be unread.")
        return stored_page(row)

    def pages(self, document_id: str, page_indexes: Iterable[int]) -> Sequence[Page]:
        """Return those of these pages that are read, in their order."""
        wanted = set(page_indexes)
        rows = self._database.connection.execute(
            "SELECT * FROM pages WHERE document_id = ? AND page_index BETWEEN ? AND ? ORDER BY page_index",
            (document_id, min(wanted, default=0), max(wanted, default=-1)),
        )
        return [stored_page(row) for row in rows if row["page_index"] in wanted]

    def pages_labelled(self, document_id: str, label: str) -> Sequence[int]:
        """Return the positions of the pages on which this number is printed, in any case; also on half of a sheet."""
        rows = self._database.connection.execute(
            "SELECT page_index, page_label FROM pages WHERE document_id = ? AND instr(lower(page_label), lower(?))",
            (document_id, label),
        )
        printed = {row["page_index"]: row["page_label"].lower() for row in rows}
        return sorted(at for at, own in printed.items() if label.lower() in (own, *own.split("–")))

    def has_page(self, document_id: str, page_index: int) -> bool:
        rows = self._database.connection.execute(
            "SELECT 1 FROM pages WHERE document_id = ? AND page_index = ?", (document_id, page_index)
        )
        return rows.fetchone() is not None

    def page_text(self, document_id: str, page_index: int) -> str:
        """Return the text alone; empty when the page is not there."""
        row = self._database.connection.execute(
            "SELECT text FROM pages WHERE document_id = ? AND page_index = ?", (document_id, page_index)
        ).fetchone()
        return row["text"] if row else ""

    def located(self, citation: Citation) -> Citation | None:
        """Return the citation where its words are now, since its page may have been read again; None if not found."""
        text, words = self.page_text(citation.document_id, citation.page_index), citation.quotation.split()
        if words and text[citation.start : citation.end] == citation.quotation:
            return citation
        found = list(re.finditer(_ALONE.format(r"\s+".join(map(re.escape, words))), text)) if words else []
        if len(found) != 1:
            return None  # several places match, and nothing shows which it was
        return replace(citation, start=found[0].start(), end=found[0].end(), quotation=found[0].group())

    def is_on_page(self, citation: Citation) -> bool:
        """Return whether the quoted words are still on their page."""
        return self.located(citation) is not None

    def passages(self, ids: Sequence[str]) -> Passages:
        """In the order asked; those that are gone are left out."""
        found: dict[str, Passage] = {}
        for at in range(0, len(ids), _MANY):
            part = ids[at : at + _MANY]
            found |= {p.id: p for p in self._passages(f"passages.id IN ({','.join('?' * len(part))})", part)}
        return [found[passage_id] for passage_id in ids if passage_id in found]

    def passages_of_pages(self, pages: Sequence[tuple[str, int]]) -> Passages:
        """Return all passages of (document id, page index) pairs, in reading order."""
        found: Passages = []
        for at in range(0, len(pages), _MANY):
            part = pages[at : at + _MANY]
            marks = ",".join("(?, ?)" for _ in part)
            rows = self._database.connection.execute(
                f"{_PASSAGES_OF.format(marks)} ORDER BY document_id, page_index, start",
                [value for pair in part for value in pair],
            )
            found += map(stored_passage, rows)
        return found

    def opening_passages(self, document_id: str, limit: int) -> Passages:
        return self._passages("document_id = ? ORDER BY page_index, start LIMIT ?", (document_id, limit))

    def outline(self, document_id: str) -> tuple[OutlineEntry, ...]:
        row = self._database.connection.execute("SELECT outline FROM documents WHERE id = ?", (document_id,)).fetchone()
        return (readable(tuple[OutlineEntry, ...], row["outline"]) or ()) if row else ()

    def set_metadata(self, document_id: str, fields: Iterable[MetadataField]) -> None:
        """Put these in place of all that the document has."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM metadata WHERE document_id = ?", (document_id,))
            connection.executemany(
                "INSERT OR IGNORE INTO metadata (document_id, name, value, source) VALUES (?, ?, ?, ?)",
                [(document_id, field.name, field.value, field.source.value) for field in fields],
            )

    def corrected(self, document_id: str) -> Fields:
        """Return what people and reference managers say of it; an empty value: that what was found is not so."""
        rows = self._database.connection.execute(
            "SELECT name, value, source FROM metadata WHERE document_id = ? AND source IN (?, ?)", (document_id, *GIVEN)
        )
        return [MetadataField(row["name"], row["value"], MetadataSource(row["source"])) for row in rows]

    def file_path(self, document_id: str) -> Path:
        """Where the document's PDF is kept; ids are hexadecimal, so nothing of a name reaches the file system."""
        if not document_id or not set(document_id) <= set("0123456789abcdef"):
            raise UnknownDocumentError("This is not the id of a document.")
        return self._settings.files_dir / f"{document_id}.pdf"

    def _passages(self, condition: str, values: Sequence[object]) -> Passages:
        rows = self._database.connection.execute(f"{_PASSAGE} WHERE {condition}", tuple(values))
        return [stored_passage(row) for row in rows]

    def _metadata(self, document_id: str | None = None) -> dict[str, tuple[MetadataField, ...]]:
        grouped: dict[str, list[MetadataField]] = {}
        rows = self._database.connection.execute(
            "SELECT * FROM metadata WHERE value <> '' AND document_id = ifnull(?, document_id) ORDER BY rowid",
            (document_id,),
        )
        for row in rows:
            if row["source"] not in list(MetadataSource):
                continue
            field = MetadataField(row["name"], row["value"], MetadataSource(row["source"]))
            grouped.setdefault(row["document_id"], []).append(field)
        return {identity: tuple(fields) for identity, fields in grouped.items()}


def sha256_of(path: Path) -> str:
    """Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_whole(path: Path) -> bool:
    """Return whether a PDF has its beginning and its end. Raises OSError."""
    with path.open("rb") as file:
        head = file.read(5)
        file.seek(max(0, path.stat().st_size - 1024))
        return head == b"%PDF-" and b"%%EOF" in file.read()


@decoding("A page")
def stored_page(row: Row) -> Page:
    try:
        words, blocks = decode_layout(row["layout"])
        status, reason = PageStatus(row["status"]), row["reason"]
    except ValueError:
        words, blocks = PackedWords(b"", b""), ()
        status, reason = PageStatus.FAILED, "What was read of this page is damaged; it is kept as it is."
    return Page(
        page_index=row["page_index"],
        page_label=row["page_label"],
        text=row["text"],
        words=words,
        blocks=blocks,
        status=status,
        reason=reason,
        seconds=row["seconds"],
        hidden=_hidden(row),
        illustrations=readable(tuple[Box, ...], row["illustrations"]) or () if row["illustrations"] else (),
    )


def _hidden(row: Row) -> tuple[HiddenText, ...]:
    return readable(tuple[HiddenText, ...], row["hidden"]) or () if row["hidden"] else ()


@decoding("A passage")
def stored_passage(row: Row) -> Passage:
    """``row`` is of passages, joined with the page's label and text."""
    return Passage(
        id=row["id"],
        document_id=row["document_id"],
        page_index=row["page_index"],
        page_label=row["page_label"],
        text=row["page_text"][row["start"] : row["end"]],
        start=row["start"],
        end=row["end"],
        heading_path=readable(tuple[str, ...], row["heading_path"]) or (),
        context=row["context"],
    )


@lru_cache(maxsize=256)
def _notes(text: str) -> tuple[str, ...]:
    """Most documents have none, many the same."""
    notes = readable(tuple[str, ...], text)
    return ("The notes about it cannot be read; they are kept as they are.",) if notes is None else notes


def _typed(name: str) -> str:
    return " ".join(comparable(name).split())


@decoding("The entry of a document")
def _numbered(row: Row) -> str:
    """Return the document's name, with a number where others of the same name were added before."""
    name = str(row["name"])
    bare = bare_name(name)
    return f"{bare} ({row['namesakes'] + 1}){name[len(bare) :]}" if row["namesakes"] else name


def _document(row: Row, metadata: tuple[MetadataField, ...]) -> Document:
    return Document(
        id=row["id"],
        name=_numbered(row),
        byte_size=row["byte_size"],
        page_count=row["page_count"],
        passage_count=row["passage_count"],
        added_at=row["added_at"],
        status=DocumentStatus(row["status"]) if row["status"] in list(DocumentStatus) else DocumentStatus.FAILED,
        searchable=bool(row["searchable"]),
        message=row["message"],
        notes=_notes(row["notes"]),
        metadata=metadata,
    )
