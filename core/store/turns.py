"""Turns and their traces in SQLite, saved as they go, and which process runs the unfinished ones."""

import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from pincite.core.errors import TurnError
from pincite.core.store.codec import from_json, to_json
from pincite.core.store.database import Database
from pincite.core.store.workers import is_alive, this_worker
from pincite.core.types import Citation, FeedbackKind, Review, ReviewDecision, TraceStep, Turn, TurnStatus


def now() -> str:
    """UTC, ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Turns:
    """A turn's body is one JSON text; its trace steps, reviews and feedback have rows of their own."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, turn: Turn) -> Turn:
        """Store a new turn at the end of its session; ``position`` is set here. Raises TurnError.

        A session runs one turn at a time: while another is running, in whichever process, no turn is added.
        """
        with self._database.transaction() as connection:
            rows = connection.execute(
                "SELECT worker FROM turns WHERE session_id = ? AND status = ?", (turn.session_id, TurnStatus.RUNNING)
            ).fetchall()
            if any(is_alive(row["worker"]) for row in rows):
                raise TurnError(
                    "This session is still answering a question.", hint="Wait for it, or stop it first.", can_retry=True
                )
            last = connection.execute(
                "SELECT COALESCE(MAX(position), -1) FROM turns WHERE session_id = ?", (turn.session_id,)
            ).fetchone()[0]
            placed = replace(turn, position=last + 1)
            connection.execute(
                "INSERT INTO turns (id, session_id, position, status, question, started_at, body, owner, worker) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    placed.id,
                    placed.session_id,
                    placed.position,
                    placed.status,
                    placed.question,
                    placed.started_at,
                    _body(placed),
                    placed.owner,
                    this_worker(),
                ),
            )
            connection.execute("UPDATE sessions SET updated_at = ? WHERE id = ?", (now(), placed.session_id))
        return placed

    def save(self, turn: Turn) -> None:
        """Write everything but the trace, the review and the feedback."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE turns SET status = ?, confidence = ?, body = ? WHERE id = ?",
                (turn.status, turn.verdict.confidence if turn.verdict else None, _body(turn), turn.id),
            )

    def add_step(self, turn_id: str, position: int, step: TraceStep) -> None:
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO trace_steps (turn_id, position, body) VALUES (?, ?, ?)", (turn_id, position, to_json(step))
            )

    def get(self, turn_id: str) -> Turn:
        """Raises TurnError when there is no such turn."""
        found = self._read("id = ?", (turn_id,))
        if not found:
            raise TurnError("This turn is no longer stored.", hint="Its session may have been deleted.")
        return found[0]

    def of_session(self, session_id: str) -> list[Turn]:
        return self._read("session_id = ? ORDER BY position", (session_id,))

    def count_flagged(self) -> int:
        rows = self._database.connection.execute("SELECT count(*) FROM turns WHERE status = ?", (TurnStatus.FLAGGED,))
        count: int = rows.fetchone()[0]
        return count

    def flagged(self) -> list[Turn]:
        """The review queue, oldest first."""
        return self._read("status = ? ORDER BY started_at", (TurnStatus.FLAGGED,))

    def recent(self, limit: int) -> list[Turn]:
        return self._read("1 ORDER BY started_at DESC LIMIT ?", (limit,))

    def mark_interrupted(self, lost: Collection[str] = ()) -> list[str]:
        """Turns whose process is gone, or that are ``lost``, read ``interrupted`` from now on; returns their ids."""
        with self._database.transaction() as connection:
            rows = connection.execute("SELECT id, worker FROM turns WHERE status = ?", (TurnStatus.RUNNING,)).fetchall()
            gone = [row["id"] for row in rows if row["id"] in lost or not is_alive(row["worker"])]
            for turn in self._read(f"id IN ({', '.join('?' * len(gone))})", gone) if gone else ():
                message = "Pincite was closed while it worked on this answer. Run the question again."
                self.save(replace(turn, status=TurnStatus.INTERRUPTED, error=message, finished_at=now()))
        return gone

    def _read(self, condition: str, values: Sequence[object]) -> list[Turn]:
        connection = self._database.connection
        rows = connection.execute(f"SELECT id, body FROM turns WHERE {condition}", tuple(values)).fetchall()
        return [self._whole(connection, from_json(Turn, row["body"])) for row in rows]

    def _whole(self, connection: sqlite3.Connection, turn: Turn) -> Turn:
        steps = connection.execute(
            "SELECT body FROM trace_steps WHERE turn_id = ? ORDER BY position", (turn.id,)
        ).fetchall()
        trace = tuple(from_json(TraceStep, row["body"]) for row in steps)
        review = connection.execute(
            "SELECT * FROM reviews WHERE turn_id = ? ORDER BY id DESC LIMIT 1", (turn.id,)
        ).fetchone()
        feedback = connection.execute("SELECT kind FROM feedback WHERE turn_id = ?", (turn.id,)).fetchone()
        return replace(
            turn,
            trace=trace,
            path=tuple(step.node for step in trace),
            review=review_of(review) if review else None,
            feedback=FeedbackKind(feedback["kind"]) if feedback else None,
        )


def review_of(row: sqlite3.Row) -> Review:
    return Review(
        turn_id=row["turn_id"],
        decision=ReviewDecision(row["decision"]),
        final_answer=row["final_answer"],
        note=row["note"],
        reviewer=row["reviewer"],
        decided_at=row["decided_at"],
        citations=from_json(tuple[Citation, ...], row["citations"]),
        stale=row["stale"],
    )


def _body(turn: Turn) -> str:
    return to_json(replace(turn, trace=(), path=(), review=None, feedback=None))
