"""Finding sessions again by what was asked and answered in them, in whatever words."""

from collections.abc import Callable

import numpy as np

from pincite.core.domain.errors import IndexMismatchError, ModelUnavailableError
from pincite.core.domain.ports import Embedder, PassageIndex, Vectors
from pincite.core.domain.turns import Session, TurnStatus
from pincite.core.store.database import Database
from pincite.core.store.sessions import Sessions
from pincite.core.store.vectors import IndexStamp, read_vector

MIN_CHARACTERS = 3
"""What is shorter is still being typed."""
MAX_MADE = 64
"""Vectors made at one search, under a second of work; the newest turns come first."""
MAX_ANSWER_LENGTH = 600
"""Maximum number of characters of an answer that its vector is made of: its beginning shows what it is about."""


class Recall:
    """The table ``turn_vectors``: a vector of each turn that has ended, made when sessions are searched.

    One of another model than the one in use counts as missing.
    """

    def __init__(
        self, database: Database, sessions: Sessions, meaning: Callable[[], tuple[Embedder, PassageIndex]]
    ) -> None:
        self._database = database
        self._sessions = sessions
        self._meaning = meaning

    def sessions_like(self, wanted: str, *, most: int, collection_id: str | None = None) -> list[Session]:
        """Return the sessions nearest in meaning, nearest first; none where the embedding model cannot be used.

        ``collection_id`` as for ``Sessions.list``.
        """
        if len(wanted.strip()) < MIN_CHARACTERS:
            return []
        embedder, _ = self._meaning()
        try:
            (asked,) = embedder.embed_queries([wanted])
            stamp = IndexStamp.of(embedder)
            self._make(embedder, stamp)
        except (ModelUnavailableError, IndexMismatchError):
            return []
        return [one for id_ in self._closest(asked, stamp, collection_id)[:most] if (one := self._sessions.find(id_))]

    def _make(self, embedder: Embedder, stamp: IndexStamp) -> None:
        """Make vectors that are missing, but keep none of a turn that is deleted meanwhile."""
        rows = self._database.connection.execute(
            "SELECT id, turns.question, substr(answer, 1, ?) AS answer FROM turns JOIN turn_lines ON turn_id = id "
            "WHERE turns.status <> ? AND id NOT IN (SELECT turn_id FROM turn_vectors WHERE model = ?) "
            "ORDER BY turns.rowid DESC LIMIT ?",
            (MAX_ANSWER_LENGTH, TurnStatus.RUNNING, stamp.model, MAX_MADE),
        ).fetchall()
        if not rows:
            return
        made = embedder.embed([f"{row['question']}\n{row['answer']}".strip() for row in rows])
        vectors = [(row["id"], stamp.model, one.astype("<f4").tobytes()) for row, one in zip(rows, made, strict=True)]
        with self._database.transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO turn_vectors (turn_id, model, vector) "
                "SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM turns WHERE id = ?1)",
                vectors,
            )

    def _closest(self, vector: Vectors, stamp: IndexStamp, collection_id: str | None) -> list[str]:
        """The ids of sessions with a turn near in meaning, nearest first, down to midway from the best to the mean."""
        rows = self._database.connection.execute(
            "SELECT session_id, vector FROM turn_vectors JOIN turns ON turns.id = turn_id "
            "JOIN sessions ON sessions.id = session_id WHERE model = ? AND collection_id = ifnull(?, collection_id)",
            (stamp.model, collection_id),
        )
        read = [(row["session_id"], read_vector(row["vector"], stamp)) for row in rows]
        sound = sorted(((float(np.dot(found, vector)), id_) for id_, found in read if found is not None), reverse=True)
        least = (sound[0][0] + np.mean([likeness for likeness, _ in sound])) / 2 if sound else 0.0
        return list(dict.fromkeys(session_id for likeness, session_id in sound if likeness >= least))
