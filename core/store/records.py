"""Whether what is stored can still be decoded: all of it for `pincite verify`, the newest rows for `pincite doctor`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Select, literal, select

from pincite.core.domain.answers import AnswerPart, Citation
from pincite.core.domain.codec import UNDECODABLE, from_json
from pincite.core.domain.documents import DocumentStatus, OutlineEntry, PageStatus
from pincite.core.domain.page_layout import decode_layout
from pincite.core.domain.turns import ReviewDecision, TraceStep
from pincite.core.store.database import Database
from pincite.core.store.schema import documents, metadata, sessions, turns
from pincite.core.store.turns import decode_turn

Decode = Callable[[Any], object]


def _json(kind: Any) -> Decode:
    return partial(from_json, kind)


def _turn(body: str) -> None:
    if decode_turn(body) is None:
        raise ValueError("a turn")


RECORDS: dict[tuple[str, str], Decode] = {
    ("documents", "status"): DocumentStatus,
    ("documents", "notes"): _json(tuple[str, ...]),
    ("documents", "outline"): _json(tuple[OutlineEntry, ...]),
    ("pages", "status"): PageStatus,
    ("pages", "layout"): decode_layout,
    ("passages", "heading_path"): _json(tuple[str, ...]),
    ("sessions", "document_ids"): _json(tuple[str, ...]),
    ("turns", "body"): _turn,
    ("trace_steps", "body"): _json(TraceStep),
    ("reviews", "decision"): ReviewDecision,
    ("reviews", "citations"): _json(tuple[Citation, ...]),
    ("reviews", "parts"): _json(tuple[AnswerPart, ...]),
    ("pins", "citation"): _json(Citation),
}
"""By table and column, what decodes the values."""
_IDENTITIES = {
    "documents": "id",
    "sessions": "id",
    "turns": "id",
    "trace_steps": "turn_id",
    "reviews": "turn_id",
    "pins": "session_id",
}
"""The column that identifies what a row belongs to; pages and passages belong to documents."""
_AGES = {"documents": [documents.c.added_at], "sessions": [sessions.c.created_at], "turns": [turns.c.started_at]}
"""What the rows of a table are in order of, where that is not their key."""


@dataclass(frozen=True, slots=True)
class Damaged:
    """A value that cannot be decoded; ``subject``: the document, session or turn that it belongs to."""

    table: str
    column: str
    subject: str
    page_index: int = -1


def damaged_records(database: Database, *, newest: int | None = None) -> Iterator[Damaged]:
    """Yield the values that cannot be decoded, of every row of every table or of its ``newest`` rows."""
    for (table, column), decode in RECORDS.items():
        subject = _IDENTITIES.get(table, "document_id")
        of = metadata.tables[table]
        page: ColumnElement[int] = literal(-1) if table in _IDENTITIES else of.c.page_index
        last = [one.desc() for one in _AGES.get(table, of.primary_key.columns)]
        query: Select[Any] = select(of.c[subject], page, of.c[column]).order_by(*last).limit(newest)
        for row in database.run(query):
            identity, page_index, value = tuple(row)
            if not _decodes(decode, value):
                yield Damaged(table, column, identity, page_index)


def _decodes(decode: Decode, value: object) -> bool:
    try:
        decode(value)
    except UNDECODABLE:
        return False
    return True
