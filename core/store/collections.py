"""Collections: named sets of documents; a session that belongs to one searches no other documents."""

import uuid
from collections.abc import Sequence

from pincite.core.domain.codec import readable
from pincite.core.domain.documents import MAX_COLLECTION_NAME_LENGTH, MAX_INSTRUCTIONS_LENGTH, Collection, comparable
from pincite.core.domain.errors import CollectionError
from pincite.core.domain.turns import now
from pincite.core.store.database import Database
from pincite.core.store.sessions import ids_json
from pincite.core.text.plain import storable


class Collections:
    """The rows of ``collections``. A document may be in several, a session in one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self) -> list[Collection]:
        """By name."""
        rows = self._database.connection.execute(
            "SELECT id, name, instructions, document_id "
            "FROM collections LEFT JOIN collection_documents ON collection_id = id"
        )
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
        """By name, whatever its case."""
        return next((one for one in self.list() if comparable(one.name) == comparable(_tidy(name))), None)

    def create(self, name: str) -> Collection:
        """Raises CollectionError where there is no name, or it is taken."""
        self._check(name)
        collection = Collection(uuid.uuid4().hex, _tidy(name))
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO collections (id, name, created_at) VALUES (?, ?, ?)",
                (collection.id, collection.name, now()),
            )
        return collection

    def rename(self, collection_id: str, name: str) -> None:
        """Raises CollectionError where there is no name, or another collection has it."""
        self._check(name, but=collection_id)
        with self._database.transaction() as connection:
            connection.execute("UPDATE collections SET name = ? WHERE id = ?", (_tidy(name), collection_id))

    def instruct(self, collection_id: str, instructions: str) -> None:
        """Set how a language model is to write answers about its documents."""
        text = storable(instructions).strip()[:MAX_INSTRUCTIONS_LENGTH]
        with self._database.transaction() as connection:
            connection.execute("UPDATE collections SET instructions = ? WHERE id = ?", (text, collection_id))

    def add(self, collection_id: str, document_ids: Sequence[str]) -> None:
        """Put documents into it; what is gone from the library is left out."""
        with self._database.transaction() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO collection_documents SELECT collections.id, documents.id "
                "FROM collections, documents WHERE collections.id = ? AND documents.id = ?",
                [(collection_id, document_id) for document_id in document_ids],
            )

    def take_out(self, collection_id: str, document_id: str) -> None:
        with self._database.transaction() as connection:
            connection.execute(
                "DELETE FROM collection_documents WHERE collection_id = ? AND document_id = ?",
                (collection_id, document_id),
            )

    def set_documents(self, collection_id: str, document_ids: Sequence[str]) -> None:
        """Let it hold these and no others."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM collection_documents WHERE collection_id = ?", (collection_id,))
            self.add(collection_id, document_ids)

    def delete(self, collection_id: str) -> None:
        """Its documents stay, and its sessions too: they go on with the documents that they could search."""
        with self._database.transaction() as connection:
            collection = self.get(collection_id)
            for row in connection.execute(
                "SELECT id, document_ids FROM sessions WHERE collection_id = ?", (collection_id,)
            ).fetchall():
                scope = collection.within(readable(tuple[str, ...], row["document_ids"]) or ())
                left = "UPDATE sessions SET collection_id = '', document_ids = ? WHERE id = ?"
                connection.execute(left, (ids_json(scope), row["id"]))
                connection.execute(
                    "UPDATE turns SET body = json_set(body, '$.scope', json(?)) WHERE session_id = ? "
                    "AND json_valid(body) AND json_extract(body, '$.scope') = '[]'",
                    (ids_json(collection.within(())), row["id"]),
                )
            connection.execute("DELETE FROM collections WHERE id = ?", (collection_id,))

    def _check(self, name: str, but: str = "") -> None:
        """Raises CollectionError."""
        if not _tidy(name):
            raise CollectionError("A collection needs a name.", hint="Type one.")
        if (same := self.find(name)) and same.id != but:
            raise CollectionError(f"There is already a collection called “{same.name}”.", hint="Choose another name.")


def _tidy(name: str) -> str:
    return " ".join(storable(name).split())[:MAX_COLLECTION_NAME_LENGTH].strip()
