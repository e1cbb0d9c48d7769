"""Finding sessions again by what was asked and answered in them, in whatever words."""

from collections.abc import Callable

from core.domain.errors import IndexMismatchError, ModelUnavailableError
from core.domain.ports import Embedder, PassageIndex
from core.domain.turns import Session
from core.store.sessions import Sessions
from core.store.turn_vectors import TurnVectors
from core.store.vectors import IndexStamp

FEWEST_CHARACTERS = 3
"""What is shorter is still being typed."""
MOST_MADE = 64
"""Vectors made at one search, under a second of work; the newest turns come first."""


class Recall:
    def __init__(
        self, vectors: TurnVectors, sessions: Sessions, meaning: Callable[[], tuple[Embedder, PassageIndex]]
    ) -> None:
        self._vectors = vectors
        self._sessions = sessions
        self._meaning = meaning

    def sessions_like(self, wanted: str, *, most: int, collection_id: str | None = None) -> list[Session]:
        """The sessions nearest in meaning, nearest first; none where the embedding model cannot be used.

        ``collection_id`` as for ``Sessions.list``.
        """
        if len(wanted.strip()) < FEWEST_CHARACTERS:
            return []
        embedder, _ = self._meaning()
        try:
            (asked,) = embedder.embed_queries([wanted])
            stamp = IndexStamp.of(embedder)
            if pending := self._vectors.pending(stamp, MOST_MADE):
                made = embedder.embed(list(pending.values()))
                self._vectors.put(dict(zip(pending, made, strict=True)), stamp)
        except (ModelUnavailableError, IndexMismatchError):
            return []
        found = filter(None, map(self._sessions.find, self._vectors.nearest_sessions(asked, stamp)))
        return [one for one in found if collection_id in (None, one.collection_id)][:most]
