"""Finding sessions again by what was asked and answered in them, in whatever words."""

from collections.abc import Callable

import numpy as np
from sqlalchemy import func, select

from pincite.core.domain.errors import IndexMismatchError, ModelUnavailableError
from pincite.core.domain.ports import Embedder, PassageIndex, Vectors
from pincite.core.domain.turns import Session, TurnStatus
from pincite.core.store.database import Database
from pincite.core.store.schema import sessions, turn_lines, turn_vectors, turns
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
        made_before = select(turn_vectors.c.turn_id).where(turn_vectors.c.model == stamp.model)
        rows = self._database.rows(
            select(turns.c.id, turns.c.question, func.substr(turn_lines.c.answer, 1, MAX_ANSWER_LENGTH).label("answer"))
            .join(turn_lines)
            .where(turns.c.status != TurnStatus.RUNNING, turns.c.id.not_in(made_before))
            .order_by(turns.c.started_at.desc())
            .limit(MAX_MADE)
        )
        if not rows:
            return
        made = embedder.embed([f"{row['question']}\n{row['answer']}".strip() for row in rows])
        vectors = {row["id"]: one.astype("<f4").tobytes() for row, one in zip(rows, made, strict=True)}
        with self._database.transaction():
            for turn_id in self._database.run(select(turns.c.id).where(turns.c.id.in_(vectors))).scalars().all():
                new = {"model": stamp.model, "vector": vectors[turn_id]}
                self._database.put(turn_vectors, {"turn_id": turn_id}, new)

    def _closest(self, vector: Vectors, stamp: IndexStamp, collection_id: str | None) -> list[str]:
        """The ids of sessions with a turn near in meaning, nearest first, down to midway from the best to the mean."""
        query = (
            select(turns.c.session_id, turn_vectors.c.vector)
            .select_from(turn_vectors.join(turns).join(sessions))
            .where(turn_vectors.c.model == stamp.model)
        )
        if collection_id is not None:
            query = query.where(sessions.c.collection_id == collection_id)
        read = [(row["session_id"], read_vector(row["vector"], stamp)) for row in self._database.rows(query)]
        sound = sorted(((float(np.dot(found, vector)), id_) for id_, found in read if found is not None), reverse=True)
        least = (sound[0][0] + np.mean([likeness for likeness, _ in sound])) / 2 if sound else 0.0
        return list(dict.fromkeys(session_id for likeness, session_id in sound if likeness >= least))
