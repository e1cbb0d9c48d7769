"""What was asked and answered as vectors, one for each turn that has ended; made when sessions are searched."""

from collections.abc import Mapping

import numpy as np

from core.domain.ports import Vectors
from core.domain.turns import TurnStatus
from core.store.database import Database
from core.store.vectors import IndexStamp, read_vector

LONGEST_ANSWER = 600
"""Characters of an answer that its vector is made of: what it is about stands at its beginning."""


class TurnVectors:
    """The table ``turn_vectors``; a vector of another model than the one in use counts as missing."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def pending(self, stamp: IndexStamp, most: int) -> dict[str, str]:
        """The texts of turns without a vector, by turn id, the newest first."""
        rows = self._database.connection.execute(
            "SELECT id, turns.question, substr(answer, 1, ?) AS answer FROM turns JOIN turn_lines ON turn_id = id "
            "WHERE turns.status <> ? AND id NOT IN (SELECT turn_id FROM turn_vectors WHERE model = ?) "
            "ORDER BY turns.rowid DESC LIMIT ?",
            (LONGEST_ANSWER, TurnStatus.RUNNING, stamp.model, most),
        )
        return {row["id"]: f"{row['question']}\n{row['answer']}".strip() for row in rows}

    def put(self, vectors: Mapping[str, Vectors], stamp: IndexStamp) -> None:
        """Keep vectors, but not those of turns that were deleted while they were made."""
        rows = [(turn_id, stamp.model, vector.astype("<f4").tobytes()) for turn_id, vector in vectors.items()]
        with self._database.transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO turn_vectors (turn_id, model, vector) "
                "SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM turns WHERE id = ?1)",
                rows,
            )

    def nearest_sessions(self, vector: Vectors, stamp: IndexStamp) -> list[str]:
        """The ids of all sessions that have a vector, the one with the turn nearest in meaning first."""
        rows = self._database.connection.execute(
            "SELECT session_id, vector FROM turn_vectors JOIN turns ON turns.id = turn_id WHERE model = ?",
            (stamp.model,),
        )
        read = [(row["session_id"], read_vector(row["vector"], stamp)) for row in rows]
        sound = [(session_id, float(np.dot(found, vector))) for session_id, found in read if found is not None]
        return list(dict.fromkeys(session_id for session_id, _ in sorted(sound, key=lambda pair: -pair[1])))
