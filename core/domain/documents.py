"""Documents page by page, and the work of taking them in. Page positions are 0-based; times are UTC ISO 8601."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import NamedTuple

from pincite.core.domain.errors import UnknownDocumentError
from pincite.core.domain.keys import Key, in_words
from pincite.core.domain.plugins import Group, added

ENDINGS = (
    ".pdf", ".docx", ".odt", ".fodt", ".rtf", ".pptx", ".xlsx", ".xlsm", ".csv", ".tsv", ".epub", ".html", ".htm",
    ".xhtml", ".mhtml", ".mht", ".md", ".markdown", ".txt", ".text", ".eml", ".msg", ".png", ".jpg", ".jpeg", ".tif",
    ".tiff", ".webp", ".bmp", ".gif",
)  # fmt: skip
"""File name endings that can be added: PDF, and those of the formats in ``core.documents.formats``."""
READER = 4
"""The version of how pages are read, kept with each page: raised by whatever makes them come out otherwise."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on a page as displayed (rotated, cropped): fractions of width and height, origin top left."""

    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def around(cls, boxes: Iterable["Box"]) -> "Box | None":
        """Return the smallest that holds them all; None around nothing."""
        edges = list(zip(*((box.left, box.top, box.right, box.bottom) for box in boxes), strict=True))
        return cls(min(edges[0]), min(edges[1]), max(edges[2]), max(edges[3])) if edges else None


@dataclass(frozen=True, slots=True)
class Word:
    """A word's character span in its page's text and its place on the page."""

    start: int
    end: int
    box: Box


TICKED, UNTICKED = "[ticked]", "[unticked]"
"""Characters that represent a box in a page's text."""


class BlockKind(Key):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE_ROW = "table_row"
    HEADER = "header"
    FOOTER = "footer"
    COMMENT = "comment"
    """A comment on the page: it follows the page's text, and the page's picture does not show it."""
    CONTENTS = "contents"
    """A line of a table of contents."""


FURNITURE = (BlockKind.HEADER, BlockKind.FOOTER, BlockKind.CONTENTS)
"""Kinds of blocks that state nothing."""


class Place(NamedTuple):
    """Position of a cell in its table, and the number of rows and columns that it spans."""

    row: int
    column: int
    rows: int = 1
    columns: int = 1


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of a page's text in reading order.

    ``level`` is a heading's depth (1 = top); ``column_heads`` is a table row's head line; ``places`` has the places of
    its cells if rules are drawn around them.
    """

    start: int
    end: int
    kind: BlockKind
    level: int = 0
    column_heads: str = ""
    places: tuple[Place, ...] = ()


class PageStatus(StrEnum):
    TEXT = "text"
    OCR = "ocr"
    EMPTY = "empty"
    GARBLED = "garbled"
    FAILED = "failed"


class PageReason(Key):
    """Why a page is empty, where something depends on it."""

    BLANK = "blank_page"
    """It shows nothing, so that nothing is missing of it."""
    PICTURE = "a_picture_without_text"
    MOSTLY_PICTURE = "a_picture_with_hardly_any_text"


class HiddenReason(Key):
    """Why a reader of a page does not see words that its file holds."""

    WHITE = "white_on_white"
    SAME_COLOR = "in_the_colour_of_what_lies_behind"
    INVISIBLE = "drawn_without_ink"
    TRANSPARENT = "transparent"
    SMALL = "too_small_to_be_read"
    OUTSIDE = "outside_the_page"
    CLIPPED = "cut_off"
    COVERED = "covered_by_a_picture_or_a_shape"
    SWITCHED = "on_a_layer_that_is_not_shown"
    NO_MARK = "leaving_no_mark_on_the_page"
    NOT_SHOWN = "not_what_the_picture_shows"
    """An OCR layer with other words than its scan."""
    STRUCK = "struck_out"
    MARK = "footnote_marks"
    LINE_NUMBER = "line_numbers_in_the_margin"


SEEN = frozenset({HiddenReason.STRUCK, HiddenReason.MARK, HiddenReason.LINE_NUMBER})
"""Reasons for text that a reader sees, but not as words of the text."""


@dataclass(frozen=True, slots=True)
class HiddenText:
    """Words of a page that nobody sees, or that are not of its text: never searched, quoted or given to a model."""

    text: str
    box: Box
    reason: HiddenReason


def hidden_summary(hidden: Sequence[HiddenText]) -> str:
    """For example "212 hidden characters: white on white"; empty where nothing is."""
    if not hidden:
        return ""
    remarks = []
    for what, items in (
        ("hidden character{}", [one for one in hidden if one.reason not in SEEN]),
        ("excluded character{}", [one for one in hidden if one.reason in SEEN]),
    ):
        if items:
            count = sum(len(item.text) for item in items)
            reasons = ", ".join(dict.fromkeys(in_words(item.reason) for item in items))
            remarks.append(f"{count:,} {what.format('' if count == 1 else 's')}: {reasons}")
    return "; ".join(remarks)


@dataclass(frozen=True, slots=True)
class Page:
    """One physical page as read: its text in reading order, the place of each word, and how the reading went."""

    page_index: int
    page_label: str
    text: str
    words: Sequence[Word]
    blocks: tuple[Block, ...]
    status: PageStatus
    reason: str = ""
    """A PageReason, or words of its own."""
    seconds: float = 0.0
    hidden: tuple[HiddenText, ...] = ()
    illustrations: tuple[Box, ...] = ()
    """Pictures, photographs and drawings, whose contents are not in the text."""

    @property
    def wants_recognition(self) -> bool:
        """It shows what reading did not get: a picture, or other words than its text has."""
        pictured = self.reason in (PageReason.PICTURE, PageReason.MOSTLY_PICTURE)
        return self.status is PageStatus.GARBLED or (self.status is PageStatus.EMPTY and pictured)


@dataclass(frozen=True, slots=True)
class PageReceipt:
    """Result of reading one page; kept for every page of every document."""

    page_index: int
    page_label: str
    status: PageStatus
    characters: int
    seconds: float
    reason: str
    hidden: tuple[HiddenText, ...] = ()
    waiting: bool = False
    """It is still to be recognised."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Number of pages of a document, and of those with usable text; blank pages count as read."""

    pages: int
    text: int = 0
    blank: int = 0
    waiting: int = 0
    """Number of pages without text that OCR has yet to read."""

    @property
    def unread(self) -> int:
        return self.pages - self.text - self.blank

    @property
    def read(self) -> float:
        """Return the share of the pages that lack nothing; 0 before anything was read."""
        return 1 - self.unread / self.pages if self.pages else 0.0

    @property
    def found(self) -> float:
        """Share of the pages with text, among those that are not blank."""
        return self.text / max(self.pages - self.blank, 1)


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    title: str
    page_index: int
    level: int


class MetadataSource(Key):
    PDF = "pdf_fields"
    FIRST_PAGES = "first_pages"
    FILE_NAME = "file_name"
    REFERENCE = "reference_manager"
    USER = "user"


@dataclass(frozen=True, slots=True)
class MetadataField:
    """One fact about a document and where it came from.

    Names: ``title``, ``author``, ``date``, ``language``, ``document type``, ``company``, ``year``, ``amends``,
    ``replaces`` and ``reference``. The value of ``amends`` and ``replaces`` is the document's sentence that states it,
    or the name that a person gave; that of ``reference`` is an item of CSL JSON.
    """

    name: str
    value: str
    source: MetadataSource


AMENDS, REPLACES = "amends", "replaces"
"""Names of the facts that relate a document to another."""
REFERENCE = "reference"
"""Name of the fact that a reference manager gives."""
GIVEN = (MetadataSource.REFERENCE, MetadataSource.USER)
"""Where facts are from that reading the document again does not change."""


class DocumentStatus(StrEnum):
    QUEUED = "queued"
    READING = "reading"
    EMBEDDING = "embedding"
    RECOGNISING = "recognising"
    READY = "ready"
    FAILED = "failed"
    CANCELLED = "cancelled"


PROPOSAL = "[Proposed "
"""Beginning of text proposed by a tracked change; a closing bracket ends it."""
COMMENT = "[Comment "
"""Beginning of a comment in the text; a closing bracket ends it."""
NOT_READ = "Not read of this file: "
"""Beginning of a document's note that lists its unread contents."""
MAX_TITLE_LENGTH = 200


def comparable(name: str) -> str:
    """A name as two are compared: whatever its case, and whether its accents are letters or marks of their own."""
    return unicodedata.normalize("NFC", name).casefold()


CONTRACT = "contract"
"""A type of document."""


def all_endings() -> tuple[str, ...]:
    """Return the file name endings that can be added, with those of formats of other packages."""
    others = (ending for one in added(Group.FORMATS).values() for ending in one.ENDINGS)
    return tuple(dict.fromkeys((*ENDINGS, *others)))


def bare_name(name: str) -> str:
    """Return the name of a document without the ending of its format."""
    return next((name[: -len(ending)] for ending in all_endings() if name.casefold().endswith(ending)), name)


@dataclass(frozen=True, slots=True)
class Document:
    """One uploaded file; ``id`` is the SHA-256 of its bytes, ``name`` is for display and may change.

    A user's document has an id of its own, so that nobody learns who else has the same file.
    """

    id: str
    name: str
    byte_size: int
    page_count: int
    passage_count: int
    added_at: str
    status: DocumentStatus
    searchable: bool = False
    """Its text is in the keyword index; embeddings and OCR may still be on the way."""
    message: str = ""
    """Current step, or the error and its remedy."""
    notes: tuple[str, ...] = ()
    """Plain statements about what was and was not read (XFA form, portfolio, pages to look at)."""
    metadata: tuple[MetadataField, ...] = ()
    content_sha256: str = ""
    """Of its bytes, where that is not the id."""

    @property
    def sha256(self) -> str:
        return self.content_sha256 or self.id

    @property
    def not_read(self) -> str:
        """Return the parts that were not read, which limit any "not found"; empty if there are none."""
        return next((note.removeprefix(NOT_READ).rstrip(".") for note in self.notes if note.startswith(NOT_READ)), "")

    @property
    def title(self) -> str:
        """Return its title, else its name; limited in length, as it is indexed with each passage."""
        own = next((field.value for field in self.metadata if field.name == "title"), "")
        return (own or PurePath(self.name).stem)[:MAX_TITLE_LENGTH]

    @property
    def pdf_name(self) -> str:
        """Its name with the ending of what is kept of it."""
        return f"{bare_name(self.name)}.pdf"

    @property
    def words_of_facts(self) -> str:
        """Return its name and the known facts about it, except those about other documents."""
        facts = (field.value for field in self.metadata if field.name not in (AMENDS, REPLACES, REFERENCE))
        return " ".join([self.name, re.sub(r"[\W_]+", " ", self.name), *facts])

    @property
    def called(self) -> tuple[str, ...]:
        """Return its names: company, title and file name. A contract belongs to neither of its parties."""
        fields = {field.name: field.value[:MAX_TITLE_LENGTH] for field in self.metadata}
        company = "" if fields.get("document type") == CONTRACT else fields.get("company", "")
        name = " ".join(re.split(r"[_\s-]+", bare_name(self.name)))
        return tuple(dict.fromkeys(one for one in (company, self.title, name) if one))

    @property
    def about(self) -> str:
        """Return its title, type, company or author, its date or year, and its length, as far as they are known."""
        fields = {field.name: field.value[:MAX_TITLE_LENGTH] for field in self.metadata}
        names = ("title", "document type", "company", "author", "date" if fields.get("date") else "year")
        length = f"{self.page_count:,} page{'' if self.page_count == 1 else 's'}"
        return " · ".join(dict.fromkeys([*(fields[name] for name in names if fields.get(name)), length]))


@dataclass(frozen=True, slots=True)
class AddOutcome:
    """``known``: these very bytes were in the library. ``replaces``: the older document of the same name.

    ``attached``: the files that came with an e-mail.
    """

    document: Document
    known: bool
    replaces: Document | None
    attached: tuple[Document, ...] = ()

    @property
    def ids(self) -> list[str]:
        """Return the ids of the document and of the files that came with it."""
        return [self.document.id, *(one.id for one in self.attached)]


MAX_COLLECTION_NAME_LENGTH = 80
MAX_INSTRUCTIONS_LENGTH = 1_000
NO_DOCUMENTS = ("unreadable",)
"""The id of no document: where what was chosen is not known or empty, and must not become all documents."""


@dataclass(frozen=True, slots=True)
class Collection:
    """A named set of documents."""

    id: str
    name: str
    document_ids: tuple[str, ...] = ()
    instructions: str = ""
    """How a language model is to write answers about these documents."""

    def within(self, chosen: Sequence[str]) -> tuple[str, ...]:
        """Return the chosen documents, or all without a choice; an empty choice never means all."""
        return (
            tuple(identity for identity in chosen or self.document_ids if identity in self.document_ids) or NO_DOCUMENTS
        )


PageKey = tuple[str, int]
"""A document's id and a page's position."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A retrievable stretch of one page's text: ``text`` is ``page.text[start:end]``."""

    id: str
    document_id: str
    page_index: int
    page_label: str
    text: str
    start: int
    end: int
    heading_path: tuple[str, ...] = ()
    context: str = ""
    """Return the text that is indexed but never quoted: document title, heading path, column heads."""

    @property
    def page(self) -> PageKey:
        return self.document_id, self.page_index


MAX_EMBEDDED_CONTEXT, MAX_EMBEDDED_LINE = 320, 120
"""Characters."""


def embedded_text(passage: Passage) -> str:
    """Return the text that is embedded: the passage's context, then its own text.

    The built-in embedder reads 256 tokens, and a passage has up to 900 characters: of a long context the title, the
    innermost headings and the heads of a table are kept, so that they never push out the passage.
    """
    context = passage.context
    if len(context) > MAX_EMBEDDED_CONTEXT:
        title, *others = (line[:MAX_EMBEDDED_LINE] for line in context.split("\n"))
        while others and len("\n".join([title, *others])) > MAX_EMBEDDED_CONTEXT:
            others = others[1:]
        context = "\n".join([title, *others])
    return f"{context}\n{passage.text}" if context else passage.text


def embedding_key(passage: Passage) -> bytes:
    """SHA-256 of the passage with its whole context: equal texts share one cached vector per model."""
    whole = f"{passage.context}\n{passage.text}" if passage.context else passage.text
    return hashlib.sha256(whole.encode()).digest()


def document_of(passage_id: str) -> str:
    """Return the document that a passage's id belongs to."""
    return passage_id.partition(":")[0]


def page_of(passage_id: str) -> PageKey:
    """Return the document and the page position that a passage's id belongs to."""
    document_id, page_index, _ = passage_id.rsplit(":", 2)
    return document_id, int(page_index)


class JobStage(Key):
    PARSE = "reading_pages"
    KEYWORDS = "indexing_words"
    EMBED = "embedding"
    OCR = "recognising_scanned_pages"


class JobStatus(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Job:
    """A resumable piece of ingest: one document's whole way to being ready."""

    id: int
    document_id: str
    stage: JobStage
    status: JobStatus
    done: int
    total: int
    """Units of the current stage (pages or passages)."""
    message: str = ""
    seconds_left: float | None = None
    replaces: str = ""
    """The document that goes once this one can be searched."""


def file_name(document_id: str) -> str:
    """The name of a document's file; ids are hexadecimal, so nothing of a document's name reaches the file system."""
    if not document_id or not set(document_id) <= set("0123456789abcdef"):
        raise UnknownDocumentError("This is not the id of a document.")
    return f"{document_id}.pdf"
