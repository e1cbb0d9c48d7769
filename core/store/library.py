"""The documents, their pages and passages as stored. Owns their rows; how they come and go is ingest's work."""

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import ColumnElement, RowMapping, Select, and_, delete, exists, func, insert, or_, select, update

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
    JobStatus,
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
    file_name,
)
from pincite.core.domain.errors import UnknownDocumentError
from pincite.core.domain.page_layout import PackedWords, decode_layout
from pincite.core.domain.settings import Settings
from pincite.core.store.database import Database
from pincite.core.store.files import Files
from pincite.core.store.schema import document_metadata, documents, jobs, pages, passages
from pincite.core.text.plain import shown, storable

_NUMBER = func.row_number().over(partition_by=documents.c.name, order_by=(documents.c.added_at, documents.c.id))
_DOCUMENTS = select(documents, (_NUMBER - 1).label("namesakes")).order_by(documents.c.added_at.desc(), documents.c.id)
_OF_PAGE = (passages.c.document_id == pages.c.document_id) & (passages.c.page_index == pages.c.page_index)
PASSAGE = select(passages, pages.c.page_label, pages.c.text.label("page_text")).join(pages, _OF_PAGE)
_WORKS = jobs.c.status.in_((JobStatus.WAITING, JobStatus.RUNNING))
_WAITING = (
    pages.c.recognise
    & pages.c.status.not_in((PageStatus.TEXT, PageStatus.OCR))
    & exists().where(jobs.c.document_id == pages.c.document_id, _WORKS)
)
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


class Stored(Protocol):
    """A row as it was read."""

    def __getitem__(self, name: str, /) -> Any: ...


class Library:
    """The documents and what was read from them."""

    def __init__(self, database: Database, settings: Settings, *, listed: Collection[str] | None = None) -> None:
        """``listed``: the documents that its list shows; all if it is None."""
        self._database = database
        self._settings = settings
        self.files = Files(settings)
        self._listed = listed

    def list(self) -> list[Document]:
        """Return every document, newest first."""
        rows = self._database.rows(_DOCUMENTS)
        metadata = self._metadata()
        listed = (row for row in rows if self._listed is None or row["id"] in self._listed)
        return [_document(row, metadata.get(row["id"], ())) for row in listed]

    def within(self, document_ids: Collection[str]) -> "Library":
        """Return the same with these documents alone in its list: others can be neither named nor searched."""
        return Library(self._database, self._settings, listed=document_ids)

    def get(self, document_id: str) -> Document:
        """Raises UnknownDocumentError."""
        row = self._row(document_id)
        if row is None:
            raise UnknownDocumentError("This document is not in the library.", hint="It may have been removed.")
        other = documents.alias()
        before = (other.c.added_at < row["added_at"]) | (
            (other.c.added_at == row["added_at"]) & (other.c.id < row["id"])
        )
        earlier = select(func.count()).select_from(other).where(other.c.name == row["name"], before)
        numbered = {**row, "namesakes": self._database.count(earlier)}
        return _document(numbered, self._metadata(document_id).get(document_id, ()))

    def _row(self, document_id: str) -> RowMapping | None:
        return self._database.row(select(documents).where(documents.c.id == document_id))

    def given_name(self, document_id: str) -> str:
        """Return the name that the document was added or renamed with, whatever others are called."""
        row = self._row(document_id)
        return str(row["name"]) if row else ""

    def find(self, name: str) -> Document:
        """Find by id, by the name that `pincite list` prints or by the file's name, with or without its extension.

        Case, white space and control characters written as codes do not matter; the beginning of an id is enough.
        Raises UnknownDocumentError when none or several fit.
        """
        rows = self._database.rows(_DOCUMENTS)
        wanted = _typed(name)
        readings: tuple[Callable[[Stored], str], ...] = (
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
        kept = "" if digest == document_id else digest
        self._database.run(update(documents).where(documents.c.id == document_id).values(kept_sha256=kept))

    def note_unlocked_files(self) -> None:
        """Note the hashes that an older version did not: of PDFs that a password was taken off.

        Such a file is whole, and of another size than the one that was added. Older versions knew of no object store.
        """
        if self.files.has_copies:
            return
        for row in self._database.rows(select(documents).where(documents.c.kept_sha256 == "")):
            with suppress(OSError, UnknownDocumentError):
                path = self.file_path(row["id"])
                if path.stat().st_size != row["byte_size"] and _is_whole(path):
                    self.keep_sha256(row["id"], sha256_of(path))

    def file_is_sound(self, document_id: str) -> bool:
        """Return whether the document's PDF is there as it was taken in. Reads all of it."""
        row = self._row(document_id)
        try:
            self.files.renew(file_name(document_id))
            digest = sha256_of(self.file_path(document_id))
        except OSError:
            return False
        return row is not None and digest == (row["kept_sha256"] or document_id)

    def files_missing(self) -> Names:
        """Return names of documents that lack their PDF, or have one of another size; no file is read."""
        sizes = self.files.sizes()
        return [row["name"] for row in self._database.rows(select(documents)) if _lacks_file(row, sizes)]

    def rename(self, document_id: str, name: str) -> None:
        tidy = " ".join(storable(name).split())
        self._database.run(update(documents).where(documents.c.id == document_id).values(name=tidy))

    def receipts(self, document_id: str) -> Receipts:
        columns = (
            pages.c.page_index,
            pages.c.page_label,
            pages.c.status,
            pages.c.seconds,
            pages.c.reason,
            pages.c.hidden,
        )
        derived = func.length(pages.c.text).label("characters"), _WAITING.label("waiting")
        own = select(*columns, *derived).where(pages.c.document_id == document_id).order_by(pages.c.page_index)
        rows = self._database.rows(own)
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
        document = self._row(document_id)
        read = func.count().filter(pages.c.status.in_((PageStatus.TEXT, PageStatus.OCR)))
        blank = func.count().filter(pages.c.reason == PageReason.BLANK)
        counted = select(read.label("text"), blank.label("blank"), func.count().filter(_WAITING).label("waiting"))
        (row,) = self._database.rows(counted.select_from(pages).where(pages.c.document_id == document_id))
        return Coverage(pages=document["page_count"] if document else 0, **row)

    def outdated(self) -> Names:
        """Ids of the documents with pages that an older reader read, and that can be read again."""
        older = select(pages.c.document_id).where(pages.c.reader.between(0, READER - 1))
        if not self._settings.ocr:
            older = older.where(pages.c.status != PageStatus.OCR)
        rows = self._database.rows(select(documents).where(documents.c.id.in_(older)))
        if self.files.has_copies or not rows:  # a bucket takes long to list
            return [row["id"] for row in rows]
        sizes = self.files.sizes()
        return [row["id"] for row in rows if not _lacks_file(row, sizes)]

    def page(self, document_id: str, page_index: int) -> Page:
        """Raises UnknownDocumentError when the page is not (or not yet) there."""
        row = self._database.row(select(pages).where(*_page_is(document_id, page_index)))
        if row is None:
            raise UnknownDocumentError(f"Page {page_index + 1} is not in the library.", hint="It may still be unread.")
        return stored_page(row)

    def pages(self, document_id: str, page_indexes: Iterable[int]) -> Sequence[Page]:
        """Return those of these pages that are read, in their order."""
        wanted = set(page_indexes)
        within = pages.c.page_index.between(min(wanted, default=0), max(wanted, default=-1))
        rows = self._database.rows(
            select(pages).where(pages.c.document_id == document_id, within).order_by(pages.c.page_index)
        )
        return [stored_page(row) for row in rows if row["page_index"] in wanted]

    def pages_labelled(self, document_id: str, label: str) -> Sequence[int]:
        """Return the positions of the pages on which this number is printed, in any case; also on half of a sheet."""
        has = pages.c.page_label.icontains(label, autoescape=True)
        labels = select(pages.c.page_index, pages.c.page_label).where(pages.c.document_id == document_id, has)
        rows = self._database.rows(labels)
        printed = {row["page_index"]: row["page_label"].lower() for row in rows}
        return sorted(at for at, own in printed.items() if label.lower() in (own, *own.split("–")))

    def has_page(self, document_id: str, page_index: int) -> bool:
        return self._database.row(select(pages.c.page_index).where(*_page_is(document_id, page_index))) is not None

    def page_text(self, document_id: str, page_index: int) -> str:
        """Return the text alone; empty when the page is not there."""
        row = self._database.row(select(pages.c.text).where(*_page_is(document_id, page_index)))
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
            these = PASSAGE.where(passages.c.id.in_(ids[at : at + _MANY]))
            found |= {one.id: one for one in self._passages(these)}
        return [found[passage_id] for passage_id in ids if passage_id in found]

    def passages_of_pages(self, keys: Sequence[tuple[str, int]]) -> Passages:
        """Return all passages of (document id, page index) pairs, in reading order."""
        wanted: dict[str, set[int]] = {}
        for document_id, page_index in keys:
            wanted.setdefault(document_id, set()).add(page_index)
        if not wanted:
            return []
        document, page = passages.c.document_id, passages.c.page_index
        # By document: for pairs SQLite reads all passages.
        either = or_(*(and_(document == one, page.in_(sorted(indexes))) for one, indexes in wanted.items()))
        return self._passages(PASSAGE.where(either).order_by(document, page, passages.c.start))

    def opening_passages(self, document_id: str, limit: int) -> Passages:
        own = PASSAGE.where(passages.c.document_id == document_id)
        return self._passages(own.order_by(passages.c.page_index, passages.c.start).limit(limit))

    def outline(self, document_id: str) -> tuple[OutlineEntry, ...]:
        row = self._row(document_id)
        return (readable(tuple[OutlineEntry, ...], row["outline"]) or ()) if row else ()

    def set_metadata(self, document_id: str, fields: Iterable[MetadataField]) -> None:
        """Put these in place of all that the document has."""
        different: dict[tuple[str, str], MetadataField] = {}
        for field in fields:
            different.setdefault((field.name, field.value), field)
        rows = [
            {"document_id": document_id, "position": at, **asdict(field)} for at, field in enumerate(different.values())
        ]
        with self._database.transaction():
            self._database.run(delete(document_metadata).where(document_metadata.c.document_id == document_id))
            if rows:
                self._database.run(insert(document_metadata), rows)

    def corrected(self, document_id: str) -> Fields:
        """Return what people and reference managers say of it; an empty value: that what was found is not so."""
        of_it = document_metadata.c.document_id == document_id, document_metadata.c.source.in_(GIVEN)
        rows = self._database.rows(select(document_metadata).where(*of_it).order_by(document_metadata.c.position))
        return [MetadataField(row["name"], row["value"], MetadataSource(row["source"])) for row in rows]

    def file(self, document_id: str) -> Path:
        """Return the document's PDF. Raises UnknownDocumentError where there is no such document."""
        self.get(document_id)
        return self.file_path(document_id)

    def file_path(self, document_id: str) -> Path:
        """Where the document's PDF can be read. Raises DocumentError where it is elsewhere and cannot be fetched."""
        return self.files.path(file_name(document_id))

    def _passages(self, query: Select[Any]) -> Passages:
        return [stored_passage(row) for row in self._database.rows(query)]

    def _metadata(self, document_id: str | None = None) -> dict[str, tuple[MetadataField, ...]]:
        grouped: dict[str, list[MetadataField]] = {}
        columns = document_metadata.c
        query = (
            select(document_metadata).where(columns.value != "").order_by(columns.document_id, columns.position)
        )  # as they were found
        for row in self._database.rows(query.where(columns.document_id == document_id) if document_id else query):
            if row["source"] not in list(MetadataSource):
                continue
            field = MetadataField(row["name"], row["value"], MetadataSource(row["source"]))
            grouped.setdefault(row["document_id"], []).append(field)
        return {identity: tuple(fields) for identity, fields in grouped.items()}


def _page_is(document_id: str, page_index: int) -> tuple[ColumnElement[bool], ...]:
    return pages.c.document_id == document_id, pages.c.page_index == page_index


def _lacks_file(row: Stored, sizes: Mapping[str, int]) -> bool:
    size = sizes.get(f"{row['id']}.pdf")
    return size is None or (not row["kept_sha256"] and size != row["byte_size"])


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
def stored_page(row: Stored) -> Page:
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


def _hidden(row: Stored) -> tuple[HiddenText, ...]:
    return readable(tuple[HiddenText, ...], row["hidden"]) or () if row["hidden"] else ()


@decoding("A passage")
def stored_passage(row: Stored) -> Passage:
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
def _numbered(row: Stored) -> str:
    """Return the document's name, with a number where others of the same name were added before."""
    name = str(row["name"])
    bare = bare_name(name)
    return f"{bare} ({row['namesakes'] + 1}){name[len(bare) :]}" if row["namesakes"] else name


def _document(row: Stored, metadata: tuple[MetadataField, ...]) -> Document:
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
        content_sha256=row["content_sha256"],
    )
