"""Collections: named sets of documents; a session that belongs to one searches no other documents."""

import uuid
from collections.abc import Sequence
from typing import Any

from sqlalchemy import delete, insert, literal, select, update

from pincite.core.domain.codec import readable
from pincite.core.domain.documents import MAX_COLLECTION_NAME_LENGTH, MAX_INSTRUCTIONS_LENGTH, Collection, comparable
from pincite.core.domain.errors import CollectionError
from pincite.core.domain.turns import now
from pincite.core.store.database import Database
from pincite.core.store.schema import collection_documents, collections, documents, sessions, turns
from pincite.core.store.sessions import ids_json
from pincite.core.store.turns import write_turn
from pincite.core.text.plain import storable


class Collections:
    """The rows of ``collections``. A document may be in several, a session in one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self) -> list[Collection]:
        """By name."""
        columns = collections.c.id, collections.c.name, collections.c.instructions, collection_documents.c.document_id
        rows = self._database.rows(select(*columns).outerjoin_from(collections, collection_documents))
        members: dict[tuple[str, str, str], list[str]] = {}
        for row in rows:
            known = members.setdefault((row["id"], row["name"], row["instructions"]), [])
            known.extend([row["document_id"]] if row["document_id"] else [])
        found = [Collection(identity, name, tuple(ids), written) for (identity, name, written), ids in members.items()]
        return sorted(found, key=lambda collection: collection.name.casefold())

    def get(self, collection_id: str) -> Collection:
        """Raises CollectionError."""
        found = next((one for one in self.list() if one.id == collection_id), None)
        if found is None:
            raise CollectionError("This collection is no longer stored.", hint="Choose another.")
        return found

    def find(self, name: str) -> Collection | None:
        """By name, whatever its case, or by id; one's own comes before those that others share."""
        found = [one for one in self.list() if comparable(one.name) == comparable(_tidy(name)) or one.id == name]
        return next(filter(self._is_own, found), next(iter(found), None))

    def _is_own(self, collection: Collection) -> bool:
        own = select(collections.c.id).where(collections.c.owner == self._database.owner)
        return self._database.row(own.where(collections.c.id == collection.id)) is not None

    def create(self, name: str) -> Collection:
        """Raises CollectionError where there is no name, or it is taken."""
        collection = Collection(uuid.uuid4().hex, _tidy(name))
        row = {"id": collection.id, "name": collection.name, "created_at": now()}
        with self._database.transaction():
            self._check(name)
            self._database.run(insert(collections).values(row))
        return collection

    def rename(self, collection_id: str, name: str) -> None:
        """Raises CollectionError where there is no name, or another collection has it."""
        renamed = update(collections).where(collections.c.id == collection_id).values(name=_tidy(name))
        with self._database.transaction():
            self._check(name, but=collection_id)
            self._database.run(renamed)

    def instruct(self, collection_id: str, instructions: str) -> None:
        """Set how a language model is to write answers about its documents."""
        text = storable(instructions).strip()[:MAX_INSTRUCTIONS_LENGTH]
        self._database.run(update(collections).where(collections.c.id == collection_id).values(instructions=text))

    def add(self, collection_id: str, document_ids: Sequence[str]) -> None:
        """Put documents into it; what is gone from the library is left out."""
        is_there = select(collections.c.id).where(collections.c.id == collection_id).exists()
        there = select(literal(collection_id), documents.c.id).where(is_there, documents.c.id.in_(document_ids))
        columns = ["collection_id", "document_id"]
        self._database.run(
            self._database.insert(collection_documents).from_select(columns, there).on_conflict_do_nothing()
        )

    def take_out(self, collection_id: str, document_id: str) -> None:
        own = collection_documents.c.collection_id == collection_id
        self._database.run(delete(collection_documents).where(own, collection_documents.c.document_id == document_id))

    def set_documents(self, collection_id: str, document_ids: Sequence[str]) -> None:
        """Let it hold these and no others."""
        own = collection_documents.c.collection_id == collection_id
        with self._database.transaction():
            there = self._database.run(select(collection_documents.c.document_id).where(own)).scalars().all()
            self._database.run(
                delete(collection_documents).where(own, collection_documents.c.document_id.not_in(document_ids))
            )
            if new := set(document_ids) - set(there):
                self.add(collection_id, tuple(new))

    def delete(self, collection_id: str) -> None:
        """Its documents stay, and its sessions too: they go on with the documents that they could search."""
        with self._database.transaction():
            collection, everything = self.get(collection_id), self._database.everything
            for row in everything.rows(select(sessions).where(sessions.c.collection_id == collection_id)):
                scope = collection.within(readable(tuple[str, ...], row["document_ids"]) or ())
                left = update(sessions).where(sessions.c.id == row["id"])
                everything.run(left.values(collection_id="", document_ids=ids_json(scope)))
                self._limit_turns(row["id"], collection.within(()))
            self._database.run(delete(collections).where(collections.c.id == collection_id))

    def _limit_turns(self, session_id: str, document_ids: Sequence[str]) -> None:
        """Let the turns of a session that searched all documents search these when they are run again."""
        everything = self._database.everything
        for row in everything.rows(select(turns.c.id, turns.c.body).where(turns.c.session_id == session_id)):
            body = readable(dict[str, Any], row["body"])
            if body is not None and body.get("scope") == []:
                write_turn(everything, row["id"], body | {"scope": list(document_ids)})

    def _check(self, name: str, but: str = "") -> None:
        """Raises CollectionError."""
        if not _tidy(name):
            raise CollectionError("A collection needs a name.", hint="Type one.")
        if (same := self.find(name)) and same.id != but and self._is_own(same):
            raise CollectionError(f"There is already a collection called “{same.name}”.", hint="Choose another name.")


def _tidy(name: str) -> str:
    return " ".join(storable(name).split())[:MAX_COLLECTION_NAME_LENGTH].strip()
