"""Deleting for good what people delete: sessions, and documents together with the answers that quote them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pincite.core.services.turns import CLOSING_SECONDS, TurnRunner

if TYPE_CHECKING:
    from pincite.core.store.sessions import Sessions

AT_ONCE_BYTES = 32 * 2**20
"""Maximum size of a database that is rewritten after every deleted session; a larger one is when Pincite closes."""


@dataclass(frozen=True, slots=True)
class Purged:
    """How many answers went; ``scrubbed``: no file holds deleted text any more."""

    answers: int
    scrubbed: bool


class Deletion:
    def __init__(
        self,
        runner: TurnRunner,
        sessions: "Sessions",
        scrub: Callable[[bool, int | None], bool],
        *,
        remove_turn: Callable[[str], None],
        remove_with_answers: Callable[[str], int],
    ) -> None:
        """``scrub`` (whether to include the words of the index, maximum bytes) rewrites the files and returns False if
        that was not possible. ``remove_with_answers`` removes a document with the answers that quote it, and returns
        their number.
        """
        self._runner = runner
        self._sessions = sessions
        self._scrub = scrub
        self._remove_turn = remove_turn
        self._remove_with_answers = remove_with_answers

    def session(self, session_id: str) -> None:
        """Stop what the session is answering, then delete it with its turns, traces and reviews."""
        self._runner.withdraw(session_id)
        running = self._runner.running(session_id)
        if running is not None:
            self._runner.stop(running)
            self._runner.wait(running, CLOSING_SECONDS)
        self._sessions.delete(session_id)
        self.scrub(max_bytes=AT_ONCE_BYTES)

    def turn(self, turn_id: str) -> None:
        """Delete a finished question with its answer, trace and review; its session too if it is then empty.

        Raises TurnError if the question no longer exists.
        """
        self._remove_turn(turn_id)
        self.scrub(max_bytes=AT_ONCE_BYTES)

    def document_with_answers(self, document_id: str) -> Purged:
        """Remove a document and every answer that quotes it, and leave no copy of its text in any file."""
        answers = self._remove_with_answers(document_id)
        return Purged(answers, self.scrub(words=True))

    def scrub(self, *, words: bool = False, max_bytes: int | None = None) -> bool:
        """Leave nothing of deleted sessions in the files; where another process is in the way, the next start does."""
        deleted = self._sessions.to_scrub()
        if not deleted and not words:
            return True
        scrubbed = self._scrub(words, max_bytes)
        if scrubbed:
            self._sessions.scrubbed(deleted)
        return scrubbed
