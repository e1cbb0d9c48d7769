"""The rows that one user may see and change: a condition for every table, added to every statement.

The stores know nothing of users. A statement on a table without a condition, or one that is not made of tables, is
refused.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, cast

from sqlalchemy import (
    Alias,
    BindParameter,
    ColumnElement,
    Delete,
    Executable,
    FromClause,
    Insert,
    Result,
    Select,
    Table,
    Update,
    and_,
    exists,
    false,
    func,
    literal,
    not_,
    or_,
    select,
    true,
)
from sqlalchemy.sql import Join
from sqlalchemy.sql.visitors import cloned_traverse

from pincite.core.domain.accounts import Right, Role
from pincite.core.domain.errors import AccessError
from pincite.core.domain.ports import KeywordIndex, Vectors
from pincite.core.domain.turns import TurnStatus
from pincite.core.store.copies import Copies
from pincite.core.store.database import Database, Insertion
from pincite.core.store.locks import Claim, WorkLock
from pincite.core.store.schema import (
    collection_documents,
    collection_members,
    collections,
    documents,
    grids,
    reviews,
    sessions,
    turns,
    users,
    watched_folders,
)
from pincite.core.store.vectors import Nearest

Columns = Any
"""Columns of a table or an alias, by name."""
Condition = ColumnElement[bool]
Policy = Callable[[Columns], Condition]

_DOCUMENTS, _COLLECTIONS, _SESSIONS, _TURNS = (one.alias() for one in (documents, collections, sessions, turns))
_MEMBERS, _COLLECTION_DOCUMENTS = collection_members.alias(), collection_documents.alias()
_GRIDS, _FOLDERS, _USERS = grids.alias(), watched_folders.alias(), users.alias()
"""The tables within conditions; none is within another condition on the same table."""

OWN = ("sessions", "tokens", "watched_folders")
"""Tables whose rows only their owner sees."""
OF_DOCUMENTS = ("pages", "passages", "metadata", "descriptions", "jobs")
OF_SESSIONS = ("notes", "pins")
OF_TURNS = ("turn_lines", "trace_steps", "feedback", "drafts", "turn_vectors")
SHARED = ("embeddings", "vector_indexes", "counters", "query_vectors", "removals", "review_log")
"""Tables without a word of anybody's: vectors, hashes, ids and counts that every process needs."""
WRITING, REVIEWING = (Right.WRITE, Right.REVIEW), (Right.REVIEW,)
IN_REVIEW = (TurnStatus.FLAGGED, TurnStatus.REVIEWED)
KINDS = {
    "documents": "document", "sessions": "session", "turns": "answer", "collections": "collection", "grids": "grid",
    "tokens": "token", "reviews": "answer",
}  # fmt: skip
ADDED = dict.fromkeys(("documents", "collections", "grids", "tokens"), "id") | {"reviews": "turn_id"}
DELETED = dict.fromkeys(("documents", "sessions", "turns", "collections", "grids", "tokens"), "id")
"""Tables whose new or deleted rows are in the audit log, each with the column that names what it is about."""


class Access:
    """The conditions for one user."""

    def __init__(self, user_id: str) -> None:
        self._me = user_id
        self.reading = self._reading()
        self.changing = self.reading | self._changing()
        self.deleting = self.changing | self._deleting()
        self.adding = self.changing | self._adding()

    def _reading(self) -> dict[str, Policy]:
        owned = dict.fromkeys(OWN, self._is_mine)
        of_documents = dict.fromkeys(OF_DOCUMENTS, self._of_document)
        of_sessions = dict.fromkeys(OF_SESSIONS, self._of_session)
        of_turns = dict.fromkeys((*OF_TURNS, "reviews"), self._of_turn)
        return {
            **owned, **of_documents, **of_sessions, **of_turns, **dict.fromkeys(SHARED, _everybody),
            "documents": lambda c: or_(self._is_mine(c), self._is_shared(c.id)),
            "turns": lambda c: or_(self._of_session(c), and_(c.status.in_(IN_REVIEW), self._in_my_queue(c.session_id))),
            "collections": lambda c: or_(self._is_mine(c), self._is_member(c.id)),
            "collection_documents": lambda c: self._in_collection(c.collection_id),
            "collection_members": lambda c: self._in_collection(c.collection_id),
            "grids": self._sees_grid,
            "grid_rows": lambda c: and_(self._of_grid(c), self._of_document(c)),
            "grid_cells": lambda c: and_(self._of_grid(c), self._of_document(c)),
            "watched_files": self._of_folder,
            "drafts": lambda c: self._of_turn(c, self._decides),
            "users": lambda c: c.id == self._me,
            "user_settings": lambda c: c.user_id == self._me,
            "audit_log": lambda c: false(),
        }  # fmt: skip

    def _changing(self) -> dict[str, Policy]:
        return {
            **dict.fromkeys(OF_DOCUMENTS, lambda c: self._of_document(c, WRITING)),
            "documents": lambda c: or_(self._is_mine(c), self._is_shared(c.id, WRITING)),
            "turns": self._changes_turn,
            **dict.fromkeys(("turn_lines", "trace_steps"), lambda c: self._of_turn(c, self._changes_turn)),
            "feedback": lambda c: self._of_turn(c, self._of_session),
            "reviews": lambda c: self._of_turn(c, self._decides),
            "collections": lambda c: or_(self._is_mine(c), self._is_member(c.id, WRITING)),
            "collection_documents": lambda c: self._in_collection(c.collection_id, WRITING),
            "collection_members": lambda c: self._in_collection(c.collection_id, ()),
            "grids": lambda c: self._sees_grid(c, WRITING),
            "grid_rows": lambda c: and_(self._of_grid(c, WRITING), self._of_document(c)),
            "grid_cells": lambda c: and_(self._of_grid(c, WRITING), self._of_document(c)),
            "users": lambda c: false(),
        }

    def _deleting(self) -> dict[str, Policy]:
        return {"documents": self._is_mine, "collections": self._is_mine, "turns": self._of_session}

    def _adding(self) -> dict[str, Policy]:
        """Also what the new row refers to counts: whoever puts a document into a collection shares it."""
        own = self._of_session
        return {
            "turns": own,
            "sessions": lambda c: or_(c.collection_id == "", self._in_collection(c.collection_id)),
            "grids": lambda c: or_(c.collection_id == "", self._in_collection(c.collection_id, WRITING)),
            "collection_documents": lambda c: and_(
                self._in_collection(c.collection_id, WRITING), self._of_my_document(c)
            ),
            **dict.fromkeys(("documents", "collections", "tokens", "watched_folders"), _everybody),
        }

    # ------------------------------------------------------------ conditions

    def _is_mine(self, c: Columns) -> Condition:
        return cast("Condition", c.owner == self._me)

    def _is_member(self, collection_id: ColumnElement[str], rights: Collection[Right] | None = None) -> Condition:
        """``rights``: those of which the user has to have one; any if it is None."""
        of = _MEMBERS
        enough = true() if rights is None else of.c.right.in_(rights)
        return exists().where(of.c.collection_id == collection_id, of.c.user_id == self._me, enough)

    def _in_collection(self, collection_id: ColumnElement[str], rights: Collection[Right] | None = None) -> Condition:
        """The user owns the collection, or is a member with one of these rights."""
        of = _COLLECTIONS
        return exists().where(of.c.id == collection_id, or_(self._is_mine(of.c), self._is_member(of.c.id, rights)))

    def _is_shared(self, document_id: ColumnElement[str], rights: Collection[Right] | None = None) -> Condition:
        """The document is in a collection of the user's."""
        of = _COLLECTION_DOCUMENTS
        return exists().where(of.c.document_id == document_id, self._in_collection(of.c.collection_id, rights))

    def _of_document(self, c: Columns, rights: Collection[Right] | None = None) -> Condition:
        of = _DOCUMENTS
        seen = or_(self._is_mine(of.c), self._is_shared(of.c.id, rights))
        return exists().where(of.c.id == c.document_id, seen)

    def _of_my_document(self, c: Columns) -> Condition:
        of = _DOCUMENTS
        return exists().where(of.c.id == c.document_id, self._is_mine(of.c))

    def _of_session(self, c: Columns) -> Condition:
        of = _SESSIONS
        return exists().where(of.c.id == c.session_id, self._is_mine(of.c))

    def _is_reviewer(self) -> Condition:
        of = _USERS
        return exists().where(of.c.id == self._me, of.c.role != Role.READER)

    def _in_my_queue(self, session_id: ColumnElement[str]) -> Condition:
        """The session is in a collection whose answers the user decides about."""
        of = _SESSIONS
        decides = self._in_collection(of.c.collection_id, REVIEWING)
        return and_(exists().where(of.c.id == session_id, decides), self._is_reviewer())

    def _decides(self, c: Columns) -> Condition:
        """Of turns: answers of collections, for those with the right; others, for whoever asked."""
        of = _SESSIONS
        alone = exists().where(of.c.id == c.session_id, of.c.collection_id == "", self._is_mine(of.c))
        return and_(or_(alone, self._in_my_queue(c.session_id)), self._is_reviewer())

    def _changes_turn(self, c: Columns) -> Condition:
        return or_(self._of_session(c), self._decides(c))

    def _of_turn(self, c: Columns, policy: Policy | None = None) -> Condition:
        of = _TURNS
        return exists().where(of.c.id == c.turn_id, (policy or self.reading["turns"])(of.c))

    def _sees_grid(self, c: Columns, rights: Collection[Right] | None = None) -> Condition:
        return or_(self._is_mine(c), and_(c.collection_id != "", self._in_collection(c.collection_id, rights)))

    def _of_grid(self, c: Columns, rights: Collection[Right] | None = None) -> Condition:
        of = _GRIDS
        return exists().where(of.c.id == c.grid_id, self._sees_grid(of.c, rights))

    def _of_folder(self, c: Columns) -> Condition:
        of = _FOLDERS
        return exists().where(of.c.id == c.folder_id, self._is_mine(of.c))


def _everybody(c: Columns) -> Condition:
    return true()


class UserDatabase(Database):
    """What one user sees of a database, and may change. Everything else of it is not there."""

    def __init__(
        self,
        everything: Database,
        user_id: str,
        note: Callable[[str, str, str], None] = lambda action, kind, id_: None,
        check: Callable[[], object] = lambda: None,
    ) -> None:
        """``note`` gets what was done, to what kind of thing and its id, as part of the same transaction.

        ``check`` is called before every statement. Raises AccessError where the user may do nothing any more.
        """
        self._everything = everything
        self._check = check
        self._note = note
        self._made: dict[Table, Condition] = {}
        self._user_id = user_id
        self._access = Access(user_id)

    def run(self, statement: Executable, parameters: Sequence[Mapping[str, Any]] | None = None) -> Result[Any]:
        """Raises also AccessError."""
        limited, owned = self._limited(statement, parameters), self._owned(statement, parameters)
        if not (noted := self._noted(limited)):
            return self._everything.run(limited, owned)
        with self.transaction():
            for action, kind, subject in noted:
                self._note(action, kind, subject)
            return self._everything.run(limited, owned)

    def change(self, statement: Executable) -> int:
        return self._everything.change(self._limited(statement, None))

    def right(self, collection_id: str) -> Right | None:
        """Return what the user may do in a collection; None: it is theirs. Raises AccessError."""
        own = select(collections.c.owner).where(collections.c.id == collection_id)
        owner = self.run(own).scalar()
        of = collection_members.c.collection_id == collection_id, collection_members.c.user_id == self._user_id
        found = self._everything.run(select(collection_members.c.right).where(*of)).scalar()
        if owner == self._user_id:
            return None
        if owner is None or found is None:
            raise AccessError("There is no such collection.")
        return Right(found)

    def _noted(self, statement: Executable) -> list[tuple[str, str, str]]:
        """Return what the audit log says of a statement: an action, a kind and an id for each row."""
        if not isinstance(statement, Insert | Delete):
            return []
        table = cast("Table", statement.table)
        key = (ADDED if isinstance(statement, Insert) else DELETED).get(table.name)
        if key is None:
            return []
        kind = KINDS[table.name]
        if isinstance(statement, Delete):
            rows = self._everything.run(select(table.c[key]).where(*statement._where_criteria)).scalars()
            return [("deleted", kind, str(one)) for one in rows]
        values = {str(getattr(column, "name", column)): one for column, one in (statement._values or {}).items()}
        said = values["decision"].value if table is reviews else "added"
        return [(said, kind, str(values[key].value))] if key in values else []

    def _limited(self, statement: Executable, parameters: Sequence[Mapping[str, Any]] | None) -> Executable:
        """Return the statement with the conditions. Raises AccessError."""
        self._check()
        if not isinstance(statement, Select | Insert | Update | Delete):
            raise TypeError(f"No user runs {type(statement).__name__}.")
        if isinstance(statement, Insert) and not parameters and "owner" in cast("Table", statement.table).c:
            statement = statement.values(owner=self._user_id)
        seen = cloned_traverse(statement, {}, {"select": self._see})
        if isinstance(seen, Select):
            return seen
        table = cast("Table", seen.table)
        if isinstance(seen, Insert):
            self._check_added(table, seen, parameters)
            return seen
        reading, allowed = self._access.reading[table.name], self._access.changing
        may = (self._access.deleting if isinstance(seen, Delete) else allowed)[table.name]
        if may is not reading:
            refused = select(table.c[next(iter(table.c)).name]).where(*seen._where_criteria)
            if self._everything.row(refused.where(reading(table.c), not_(may(table.c))).limit(1)):
                raise _refusal()
        return seen.where(may(table.c))

    def _owned(
        self, statement: Executable, parameters: Sequence[Mapping[str, Any]] | None
    ) -> Sequence[Mapping[str, Any]] | None:
        if parameters and isinstance(statement, Insert) and "owner" in cast("Table", statement.table).c:
            return [{**one, "owner": self._user_id} for one in parameters]
        return parameters

    def _see(self, of: "Select[Any]") -> None:
        """Add the conditions to a SELECT, which is a copy."""
        wanted = [one for each in of.get_final_froms() for one in self._conditions(each)]
        of._where_criteria += tuple(wanted)

    def _conditions(self, of: FromClause, *, outer: bool = False) -> list[Condition]:
        """Return those for what is selected from. ``outer``: rows may be missing in a join."""
        if isinstance(of, Join):
            if of.full:
                raise TypeError("No user runs a full join.")
            return [*self._conditions(of.left, outer=outer), *self._conditions(of.right, outer=outer or of.isouter)]
        table = of.element if isinstance(of, Alias) else of
        if not isinstance(table, Table):
            return []  # a SELECT, which has conditions of its own
        may = self._may_see(of) if of is table else self._access.reading[table.name](of.c)
        return [or_(next(iter(of.c)).is_(None), may)] if outer else [may]

    def _may_see(self, table: Table) -> Condition:
        if table not in self._made:
            self._made[table] = self._access.reading[table.name](table.c)
        return self._made[table]

    def _check_added(self, table: Table, statement: Insert, parameters: Sequence[Mapping[str, Any]] | None) -> None:
        """Raises AccessError unless the new rows would be the user's, or of something that the user may change."""
        policy = self._access.adding[table.name]
        if policy is _everybody:
            return
        if statement.select is not None:
            names = statement._select_names or []
            rows = cast("Select[Any]", statement.select).subquery()
            new = _Row(zip(names, rows.c, strict=True))
            policy = self._access.reading[table.name] if table is reviews else policy  # copied with their turn
            if self._everything.count(select(func.count()).select_from(rows).where(not_(policy(new)))):
                raise _refusal()
            return
        given = cast("Mapping[Any, Any]", statement._values or {})
        for one in parameters or [{str(getattr(column, "name", column)): value for column, value in given.items()}]:
            if not self._everything.row(select(1).where(policy(_Row(one.items())))):
                raise _refusal()

    # ------------------------------------------------------------ the same for everybody

    @property
    def everything(self) -> Database:
        return self._everything

    @property
    def owner(self) -> str:
        return self._user_id

    def may_change(self, document_id: str) -> bool:
        return self._may(self._access.changing, document_id)

    def may_delete(self, document_id: str) -> bool:
        return self._may(self._access.deleting, document_id)

    def _may(self, policies: Mapping[str, Policy], document_id: str) -> bool:
        own = select(documents.c.id).where(documents.c.id == document_id, policies["documents"](documents.c))
        return self._everything.row(own) is not None

    def transaction(self) -> AbstractContextManager[object]:
        return self._everything.transaction()

    @property
    def in_transaction(self) -> bool:
        return self._everything.in_transaction

    def insert(self, table: Table) -> Insertion:
        return self._everything.insert(table)

    @property
    def name(self) -> str:
        return self._everything.name

    def lock(self, name: str, *, shared: bool = False) -> WorkLock:
        return self._everything.lock(name, shared=shared)

    def claim(self) -> Claim:
        return self._everything.claim()

    def this_worker(self) -> str:
        return self._everything.this_worker()

    def is_alive(self, worker: str) -> bool:
        return self._everything.is_alive(worker)

    def keyword_index(self) -> KeywordIndex:
        return self._everything.keyword_index()

    def nearest(self) -> Nearest:
        return self._everything.nearest()

    def copies(self) -> Copies:
        return self._everything.copies()

    def scrub(self, *, words: bool = False, max_bytes: int | None = None) -> bool:
        return self._everything.scrub(words=words, max_bytes=max_bytes)

    def is_sound(self) -> bool:
        return self._everything.is_sound()

    def size(self) -> int:
        return self._everything.size()

    def close(self) -> None:
        """The database of everybody stays open."""

    def vectors_stored(self, model: str, vectors: Mapping[bytes, Vectors]) -> None:
        self._everything.vectors_stored(model, vectors)


class _Row:
    """The values of a new row, as a table has its columns; empty where none is given."""

    def __init__(self, values: Iterable[tuple[str, Any]]) -> None:
        self._values = dict(values)

    def __getattr__(self, name: str) -> ColumnElement[Any]:
        value = self._values.get(name, "")
        if isinstance(value, BindParameter):
            value = value.value
        return value if isinstance(value, ColumnElement) else literal(value)


def _refusal() -> AccessError:
    return AccessError("You may see this, but not change it.", hint="Ask the owner of the collection for more rights.")
