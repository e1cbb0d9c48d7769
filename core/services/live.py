"""A turn while it runs: what is published of it, what is stored of it as it goes, and what stops it."""

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from pincite.core.domain.answers import AnswerPart, is_prose
from pincite.core.domain.errors import StorageError
from pincite.core.domain.turns import TraceStep, Turn, TurnSnapshot, TurnStatus, now
from pincite.core.text.marks import marked_text

if TYPE_CHECKING:
    from pincite.core.store.turns import Turns

SECONDS_BETWEEN_SAVED_DRAFTS = 1.0
"""What is streamed is stored that often, so that a killed process loses no more of it."""


class LiveTurn:
    """A running turn: what is published of it, and what stops it or its prose. It is the nodes' ``Progress``."""

    def __init__(self, turn: Turn, turns: "Turns") -> None:
        self._turns = turns
        self._lock = threading.Lock()
        self._snapshot = TurnSnapshot(turn, draft=turn.parts)
        self._next_draft = 0.0
        self.thread: threading.Thread
        self.stop = threading.Event()
        self.evidence_only = threading.Event()
        self.done = threading.Event()
        self.stored = False
        """The end of the turn is in the database."""

    @property
    def snapshot(self) -> TurnSnapshot:
        with self._lock:
            return self._snapshot

    def step(self, text: str) -> None:
        with self._lock:
            self._snapshot = replace(self._snapshot, steps=(*self._snapshot.steps, text))

    def draft(self, parts: Sequence[AnswerPart]) -> None:
        with self._lock:
            earlier = self._snapshot.draft or self._snapshot.earlier
            self._snapshot = replace(self._snapshot, draft=tuple(parts), earlier=earlier)
            only_shown = self._snapshot.turn.engine != "quoting" and not is_prose(parts)
        if parts and not only_shown and time.monotonic() >= self._next_draft:
            with suppress(StorageError):  # it is displayed nevertheless, and the end of the turn reports the error
                self._turns.save(self._with_draft())
            self._next_draft = time.monotonic() + SECONDS_BETWEEN_SAVED_DRAFTS

    def visited(self, step: TraceStep) -> None:
        turn = self.snapshot.turn
        self._turns.add_step(turn.id, len(turn.trace), step)
        self.update(replace(turn, trace=(*turn.trace, step), path=(*turn.path, step.node)))

    def update(self, turn: Turn) -> None:
        with self._lock:
            self._snapshot = replace(self._snapshot, turn=turn)

    def finish(self, turn: Turn) -> None:
        """Store the end, then show it."""
        finished = replace(turn, finished_at=now())
        try:
            self._turns.save(finished)
            self.stored = True
        finally:
            self.update(finished)

    def ended(self, status: TurnStatus, error: str) -> Turn:
        """Return the turn as it ended early, with its draft; its status shows that it is unfinished."""
        return replace(self._with_draft(), status=status, error=error)

    def _with_draft(self) -> Turn:
        seen = self.snapshot
        only_shown = seen.writes_from_evidence and not is_prose(seen.draft)
        draft = () if only_shown else seen.draft
        return replace(seen.turn, answer=marked_text(draft), parts=draft)
