"""The tables. A new library is made from them; the migrations bring an older one to the same, which a test compares.

Moments are texts in ISO 8601 and UTC, so that they sort by time. JSON is text, which ``core/domain/codec.py`` decodes.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    false,
    func,
    text,
)
from sqlalchemy.ext.compiler import compiles

REVISION = "0024"
"""The newest migration: what a library that is made from these tables has."""
metadata = MetaData()
EMPTY_LIST = "[]"
NO_CHARACTER = "\ufffd"
"""What stands for a character that cannot be stored; places of others stay as they are."""


class _Flag(Boolean):
    """A column of truth values."""


class _Real(Float[float]):
    """A column of numbers of eight bytes."""


@compiles(_Flag, "sqlite")
@compiles(_Real, "sqlite")
def _strict(of: _Flag | _Real, compiler: Any, **options: Any) -> str:
    """Return the name that SQLite's strict tables allow."""
    return "REAL" if isinstance(of, _Real) else "INTEGER"


class _PostgresqlText(TypeDecorator[str]):
    """A text that is compared and sorted by code point, as in SQLite; PostgreSQL has no zero character."""

    impl, cache_ok = Text, True

    def __init__(self) -> None:
        super().__init__(collation="C")

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return value.replace("\0", NO_CHARACTER) if value else value


_TEXT = Text().with_variant(_PostgresqlText(), "postgresql")
_NUMBER = BigInteger().with_variant(Integer(), "sqlite")


def _table(name: str, *items: Any, **options: Any) -> Table:
    return Table(name, metadata, *items, sqlite_strict=True, **options)


def _words(name: str, *items: ForeignKey, default: str | None = None, **options: Any) -> "Column[str]":
    return Column(name, _TEXT, *items, nullable=False, server_default=default, **options)


def _number(name: str, *items: ForeignKey, default: int | None = None, **options: Any) -> "Column[int]":
    default_text = None if default is None else text(str(default))
    return Column(name, _NUMBER, *items, nullable=False, server_default=default_text, **options)


def _flag(name: str) -> "Column[bool]":
    return Column(name, _Flag, nullable=False, server_default=false())


def _covering(name: str, *columns: Any, **options: Any) -> None:
    """Add an index with texts of any length, which spares SQLite reading rows; PostgreSQL allows no such index."""
    Index(name, *columns, **options).ddl_if(dialect="sqlite")


def _bytes(name: str, **options: Any) -> "Column[bytes]":
    return Column(name, LargeBinary, nullable=False, **options)


def _of(column: str) -> ForeignKey:
    """Return a reference to a row that this one goes with."""
    return ForeignKey(column, ondelete="CASCADE")


# ---------------------------------------------------------------- documents

documents = _table(
    "documents",
    _words("id", primary_key=True),  # SHA-256 of the bytes, in hexadecimal digits
    _words("name"),
    _number("byte_size"),
    _number("page_count", default=0),
    _number("passage_count", default=0),
    _words("added_at"),
    _words("status"),
    _flag("searchable"),
    _words("message", default=""),
    _words("notes", default=EMPTY_LIST),
    _words("outline", default=EMPTY_LIST),
    _words("owner", default="local"),
    _number("vectors_generation", default=0),
    _words("kept_sha256", default=""),  # of the PDF as it is kept, where that is not the id: a password was removed
    _words("content_sha256", default=""),  # of the bytes that were added, where that is not the id: a user's document
)
Index("documents_by_content", documents.c.content_sha256)
Index("documents_by_owner", documents.c.owner)
document_metadata = _table(
    "metadata",
    _words("document_id", _of("documents.id"), primary_key=True),
    _number("position", primary_key=True, autoincrement=False),
    _words("name"),
    _words("value"),
    _words("source"),
)
pages = _table(
    "pages",
    _words("document_id", _of("documents.id"), primary_key=True),
    _number("page_index", primary_key=True),
    _words("page_label"),
    _words("status"),
    _words("reason", default=""),
    Column("seconds", _Real, nullable=False, server_default=text("0")),
    _words("text", default=""),
    _bytes("layout"),  # zlib of the words and blocks
    _flag("recognise"),  # it waits for OCR
    Column("hidden", _TEXT),  # JSON of text that a reader does not see; NULL where nobody looked for any
    _number("reader", default=0),  # the version of the reader; -1: it is to be read again
    _words("illustrations", default=""),  # JSON of boxes; empty: none was looked for
)
Index("pages_to_recognise", pages.c.document_id, sqlite_where=text("recognise = 1"), postgresql_where=pages.c.recognise)
Index("pages_by_reader", pages.c.reader, pages.c.document_id)
_covering(
    "illustrated_pages",
    pages.c.document_id,
    pages.c.page_index,
    pages.c.illustrations,
    sqlite_where=text("length(illustrations) > 2"),
)
passages = _table(
    "passages",
    _number("number", primary_key=True, autoincrement=True),  # never used twice, as work in flight names it
    _words("id", unique=True),
    _words("document_id", _of("documents.id")),
    _number("page_index"),
    _number("start"),
    _number("end"),
    _words("heading_path", default=EMPTY_LIST),
    _words("boxes", default=EMPTY_LIST),
    _words("context", default=""),
    _bytes("embedding_key"),  # SHA-256 of the embedded text
    sqlite_autoincrement=True,
)
Index("passages_of_page", passages.c.document_id, passages.c.page_index, passages.c.start)
Index("passages_by_embedding", passages.c.embedding_key)
descriptions = _table(
    "descriptions",
    _words("document_id", _of("documents.id"), primary_key=True),
    _number("page_index", primary_key=True),
    _words("box", primary_key=True),
    _words("model"),
    _words("text"),
    _words("unsure", default=EMPTY_LIST),  # figures of the text that the picture does not show
    _words("created_at"),
)
jobs = _table(
    "jobs",
    _number("id", primary_key=True, autoincrement=True),
    _words("document_id", _of("documents.id"), unique=True),
    _words("stage"),
    _words("status"),
    _number("done", default=0),
    _number("total", default=0),
    _words("message", default=""),
    _words("created_at"),
    _words("updated_at"),
    _words("stage_started_at", default=""),
    _number("stage_started_done", default=0),
    _words("replaces", default=""),  # the document to remove once this one is searchable
    sqlite_autoincrement=True,
)
Index("jobs_by_status", jobs.c.status, jobs.c.id)
removals = _table(
    "removals",
    _words("subject", primary_key=True),  # what must still leave the indexes and the files
    _words("kind"),
)

# ---------------------------------------------------------------- vectors

embeddings = _table(
    "embeddings",
    _bytes("key"),  # SHA-256 of the text
    _words("model"),  # embedder name and version
    _bytes("vector"),  # float32, little endian
    UniqueConstraint("key", "model"),
)
vector_indexes = _table(
    "vector_indexes",
    _number("id", primary_key=True, autoincrement=True),
    _words("embedder"),
    _words("version"),
    _number("dimensions"),
    _words("role", unique=True),  # active, building or previous
    sqlite_autoincrement=True,
)
counters = _table("counters", _words("name", primary_key=True), _number("value"))
VECTORS = "vectors"  # goes up with every change of passages or embeddings, in any process
REVIEW_LOG = "review_log"  # the number of its last line
MIGRATING = "migrating"  # there while a library is being copied here
turn_vectors = _table(
    "turn_vectors", Column("turn_id", _TEXT, _of("turns.id"), primary_key=True), _words("model"), _bytes("vector")
)
query_vectors = _table(
    "query_vectors",
    _number("number", primary_key=True, autoincrement=True),
    _bytes("key"),  # SHA-256 of the wording
    _words("model"),
    _bytes("vector"),
    UniqueConstraint("key", "model"),
)

# ---------------------------------------------------------------- conversations

sessions = _table(
    "sessions",
    _words("id", primary_key=True),
    _words("title"),
    _words("created_at"),
    _words("updated_at"),
    _words("document_ids", default=EMPTY_LIST),
    _words("owner", default="local"),
    _words("collection_id", default=""),  # it searches no other documents; empty: all
)
Index("sessions_by_use", sessions.c.updated_at)
Index("sessions_by_owner", sessions.c.owner, sessions.c.updated_at)
turns = _table(
    "turns",
    _words("id", primary_key=True),
    _words("session_id", _of("sessions.id")),
    _number("position"),
    _words("status"),
    _words("question"),
    _words("started_at"),
    Column("confidence", _Real),
    _words("body"),  # the Turn as JSON, without trace, review and feedback
    _words("owner", default="local"),
    _words("worker", default=""),  # the process that runs it
    _number("place", default=-1),  # the position of the first version
    UniqueConstraint("session_id", "position"),
)
Index("turns_by_status", turns.c.status, turns.c.started_at)
Index("turns_by_start", turns.c.started_at)
_covering("turns_of_session_by_question", turns.c.session_id, turns.c.question)
Index("turns_by_place", turns.c.session_id, turns.c.place, turns.c.position)
turn_lines = _table(
    "turn_lines",
    _words("turn_id", _of("turns.id"), primary_key=True),
    _number("version", default=0),  # grows with every change of the turn, its review or its feedback
    _words("document_ids", default=EMPTY_LIST),
    _words("cited_ids", default=EMPTY_LIST),
    _words("cited_names", default=EMPTY_LIST),
    _words("reasons", default=EMPTY_LIST),
    _words("answer", default=""),
)
_covering("turns_by_answer", turn_lines.c.answer)
trace_steps = _table(
    "trace_steps",
    _words("turn_id", _of("turns.id"), primary_key=True),
    _number("position", primary_key=True),
    _words("body"),
)
reviews = _table(
    "reviews",
    Column("id", _NUMBER, primary_key=True),
    _words("turn_id", _of("turns.id")),
    _words("decision"),
    _words("final_answer"),
    _words("note", default=""),
    _words("reviewer"),
    _words("decided_at"),
    _words("citations", default=EMPTY_LIST),
    _words("stale", default=""),
    _words("undone_at", default=""),
    _words("parts", default=EMPTY_LIST),
)
Index("reviews_of_turn", reviews.c.turn_id, reviews.c.id)
_covering("reviews_by_answer", reviews.c.final_answer, reviews.c.turn_id)
review_log = _table(
    "review_log",
    _number("id", primary_key=True, autoincrement=True),
    _number("review_id"),
    _words("was"),
    _words("becomes"),
    _words("noted_at"),
    _words("seal", default=""),
    sqlite_autoincrement=True,
)
feedback = _table("feedback", _words("turn_id", _of("turns.id"), primary_key=True), _words("kind"), _words("given_at"))
drafts = _table("drafts", _words("turn_id", _of("turns.id"), primary_key=True), _words("text"), _words("updated_at"))
notes = _table(
    "notes", _words("session_id", _of("sessions.id"), primary_key=True), _words("text"), _words("updated_at")
)
pins = _table(
    "pins",
    _number("id", primary_key=True, autoincrement=True),
    _words("session_id", _of("sessions.id")),
    _words("document_id"),  # stays when the document goes: the pin then reads "source removed"
    _words("citation"),
    _words("pinned_at"),
    _flag("removed"),  # the last one that was taken away, which can be brought back
    sqlite_autoincrement=True,
)
Index("pins_of_session", pins.c.session_id, pins.c.id)
Index("pins_of_document", pins.c.document_id)

# ---------------------------------------------------------------- collections, grids, other programs

collections = _table(
    "collections",
    _words("id", primary_key=True),
    _words("name"),
    _words("created_at"),
    _words("instructions", default=""),
    _words("owner", default="local"),
    UniqueConstraint("owner", "name"),
)
Index("collections_by_name", collections.c.owner, func.lower(collections.c.name), unique=True)
collection_members = _table(
    "collection_members",
    _words("collection_id", _of("collections.id"), primary_key=True),
    _words("user_id", _of("users.id"), primary_key=True),
    _words("right"),
)
Index("collections_of_member", collection_members.c.user_id)
collection_documents = _table(
    "collection_documents",
    _words("collection_id", _of("collections.id"), primary_key=True),
    _words("document_id", _of("documents.id"), primary_key=True),
)
Index("collections_of_document", collection_documents.c.document_id)
grids = _table(
    "grids",
    _words("id", primary_key=True),
    _words("name"),
    _words("collection_id", default=""),
    _words("columns"),
    _flag("running"),  # its waiting cells are to be asked
    _words("created_at"),
    _words("owner", default="local"),
)
grid_rows = _table(
    "grid_rows",
    _words("grid_id", _of("grids.id"), primary_key=True),
    _words("document_id", _of("documents.id"), primary_key=True),
    _number("position"),
)
Index("grid_rows_of_documents", grid_rows.c.document_id)
grid_cells = _table(
    "grid_cells",
    _words("grid_id", primary_key=True),
    _words("document_id", primary_key=True),
    _words("column_id", primary_key=True),
    _words("state"),
    _words("value", default=""),
    _words("citations", default=EMPTY_LIST),
    Column("confidence", _Real),
    _words("detail", default=""),
    _number("pages_read", default=0),
    _flag("by_person"),
    _flag("locked"),
    _words("basis", default=""),  # the passages and the question that it was answered from
    ForeignKeyConstraint(
        ["grid_id", "document_id"],
        ["grid_rows.grid_id", "grid_rows.document_id"],
        ondelete="CASCADE",
        onupdate="CASCADE",
    ),
)
tokens = _table(
    "tokens",
    _words("id", primary_key=True),
    _words("name"),
    _words("digest", unique=True),  # SHA-256 of the token, in hexadecimal digits
    _words("permissions"),
    _words("created_at"),
    _words("used_at", default=""),
    _words("owner", default="local"),
)
watched_folders = _table(
    "watched_folders",
    _words("id", primary_key=True),
    _words("path", unique=True),
    _words("collection_id", default=""),
    _words("ignored", default=""),  # patterns, one a line
    _flag("removes"),  # the documents of deleted files are removed without asking
    _words("created_at"),
    _words("checked_at", default=""),
    _words("problem", default=""),
    _words("owner", default="local"),
)
watched_files = _table(
    "watched_files",
    _words("folder_id", _of("watched_folders.id"), primary_key=True),
    _words("path", primary_key=True),  # within the folder, with slashes
    _number("size"),
    _number("modified_ns"),
    _words("document_id", default=""),  # SHA-256 of the file; empty: it could not be added
    _flag("added"),  # watching added the document; else it was in the library before
    _words("problem", default=""),
    _words("adding", default=""),  # SHA-256 of what was being added when the process was killed
    _words("missing_since", default=""),  # the file is gone, and a person decides about its document
)
Index("watched_documents", watched_files.c.document_id)

# ---------------------------------------------------------------- accounts

users = _table(
    "users",
    _words("id", primary_key=True),
    _words("email", unique=True),  # in lower case
    _words("subject", default=""),  # the identity provider and its id of the user; empty until the first sign-in
    _words("name", default=""),
    _words("role"),
    _flag("disabled"),
    _words("created_at"),
    _words("seen_at", default=""),
)
Index("users_by_subject", users.c.subject)
user_settings = _table(
    "user_settings",
    _words("user_id", _of("users.id"), primary_key=True),
    _words("name", primary_key=True),
    _words("value"),  # JSON
)
audit_log = _table(
    "audit_log",
    _number("id", primary_key=True, autoincrement=True),
    _words("at"),
    _words("who"),
    _words("action"),
    _words("kind"),
    _words("subject"),
    sqlite_autoincrement=True,
)
