"""The vectors made so far, by SHA-256 of the embedded text and model: equal texts are embedded once, in any index."""

from collections.abc import Mapping, Sequence

import numpy as np

from pincite.core.ports import Vectors
from pincite.core.retrieval.vectors import DocumentVectors, IndexStamp
from pincite.core.store.database import Database


class VectorCache:
    """The table ``embeddings``, which every process can read at any time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, keys: Sequence[bytes], stamp: IndexStamp) -> dict[bytes, Vectors]:
        """Those of the embedding keys that are there."""
        marks = ",".join("?" * len(keys))
        rows = self._database.connection.execute(
            f"SELECT key, vector FROM embeddings WHERE model = ? AND key IN ({marks})", (stamp.model, *keys)
        )
        return {row["key"]: np.frombuffer(row["vector"], dtype="<f4") for row in rows}

    def put(self, vectors: Mapping[bytes, Vectors], stamp: IndexStamp) -> None:
        """Keep vectors, but not those of passages that were removed while they were made."""
        rows = [(key, stamp.model, vector.astype("<f4").tobytes()) for key, vector in vectors.items()]
        with self._database.transaction() as connection:
            connection.executemany(
                """INSERT OR IGNORE INTO embeddings (key, model, vector) SELECT ?1, ?2, ?3
                   WHERE EXISTS (SELECT 1 FROM passages WHERE embedding_key = ?1)""",
                rows,
            )

    def of_document(self, document_id: str, stamp: IndexStamp) -> DocumentVectors | None:
        """The ids of the document's embedded passages with their vectors; None when there is none."""
        rows = self._database.connection.execute(
            """SELECT passages.id, embeddings.vector FROM passages
               JOIN embeddings ON embeddings.key = passages.embedding_key AND embeddings.model = ?
               WHERE passages.document_id = ? ORDER BY passages.number""",
            (stamp.model, document_id),
        ).fetchall()
        if not rows:
            return None
        vectors = np.frombuffer(b"".join(row["vector"] for row in rows), dtype="<f4")
        return [row["id"] for row in rows], vectors.reshape(len(rows), stamp.dimensions)

    def drop(self, stamp: IndexStamp) -> None:
        self._database.connection.execute("DELETE FROM embeddings WHERE model = ?", (stamp.model,))
