"""Turns and their traces in SQLite, saved as they go, and which process runs the unfinished ones."""

import json
import sqlite3
import threading
import uuid
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import replace

from pincite.core.domain.answers import AnswerPart, Citation, PartKind, listed_passages, lists_passages
from pincite.core.domain.codec import UNDECODABLE, readable, to_json
from pincite.core.domain.documents import NO_DOCUMENTS
from pincite.core.domain.errors import TurnError
from pincite.core.domain.search import Intent, Mode, SearchPlan
from pincite.core.domain.turns import (
    FINISHED,
    Exchange,
    FeedbackKind,
    Review,
    ReviewDecision,
    TraceStep,
    Turn,
    TurnFilter,
    TurnLine,
    TurnStatus,
    now,
)
from pincite.core.store.database import Database
from pincite.core.store.older import parts_of, with_parts
from pincite.core.store.workers import is_alive, this_worker
from pincite.core.text.marks import plain_text

UNREADABLE_TURN = "This answer cannot be read; it is kept as it is."
UNREADABLE_STEP = "This step cannot be read; it is kept as it is."
UNREADABLE_REVIEW = "The decision on this answer cannot be read; it is kept as it is."
EVERY_TURN = TurnFilter()
SHARED = frozenset({"answer", "parts", "citations", "verdict", "evidence", "plan"})
"""What the attempt that was kept has in common with its turn."""
KEPT_IN_MEMORY = 200
"""Finished turns that are not read again from the database until they change."""


_NEWEST = """position = (SELECT max(position) FROM turns AS other
  WHERE other.session_id = turns.session_id AND other.place = turns.place)"""
"""Condition for a turn to be the newest version of its question."""
_NOT_REPLACED = f"""NOT EXISTS (SELECT 1 FROM turns AS later WHERE later.session_id = turns.session_id
  AND later.place = turns.place AND later.position > turns.position
  AND later.status IN ({", ".join(f"'{status.value}'" for status in FINISHED)}))"""
"""Condition for a turn to have no newer version with an answer: an older version waits for nobody's review."""
MAX_SEARCHED = 200
"""Characters of a search that count: SQLite refuses very long patterns."""


class Turns:
    """A turn's body is one JSON text; its trace steps, reviews and feedback have rows of their own."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._read_before = OrderedDict[str, tuple[int, Turn]]()
        """By id, the version that was read and the turn without its trace; the one used last comes last."""
        self._lock = threading.Lock()

    def create(self, turn: Turn) -> Turn:
        """Store a new turn as the last of its session, or as the newest version in its ``place``. Raises TurnError.

        A session runs one turn at a time: while another is running, in whichever process, no turn is added.
        """
        with self._database.transaction() as connection:
            self._check_idle(turn.session_id)
            last = connection.execute(
                "SELECT COALESCE(MAX(position), -1) FROM turns WHERE session_id = ?", (turn.session_id,)
            ).fetchone()[0]
            placed = replace(turn, position=last + 1, place=last + 1 if turn.place < 0 else turn.place)
            _insert(connection, placed)
        return placed

    def copy(self, turns: Sequence[Turn], session_id: str) -> None:
        """Copy finished turns into a session, with their traces and reviews, as its first ones."""
        with self._database.transaction() as connection:
            for position, turn in enumerate(turns):
                copied = replace(turn, id=uuid.uuid4().hex, session_id=session_id, position=position, place=position)
                _insert(connection, copied)
                self.save(copied)
                for table, columns in _OF_TURN.items():
                    connection.execute(
                        f"INSERT INTO {table} (turn_id, {columns}) SELECT ?, {columns} FROM {table} WHERE turn_id = ?",
                        (copied.id, turn.id),
                    )

    def take_up(self, turn: Turn) -> Turn:
        """Run an interrupted turn on here. Raises TurnError as ``create`` does, and where it was taken up before."""
        running = replace(turn, status=TurnStatus.RUNNING, error="", finished_at="", started_at=now())
        with self._database.transaction() as connection:
            self._check_idle(turn.session_id)
            taken = connection.execute(
                "UPDATE turns SET worker = ? WHERE id = ? AND status = ?",
                (this_worker(), turn.id, TurnStatus.INTERRUPTED),
            )
            if not taken.rowcount:
                raise TurnError("This answer is no longer interrupted.", hint="Reload the page.")
            self.save(running)
        return running

    def _check_idle(self, session_id: str) -> None:
        rows = self._database.connection.execute(
            "SELECT worker FROM turns WHERE session_id = ? AND status = ?", (session_id, TurnStatus.RUNNING)
        ).fetchall()
        if any(is_alive(row["worker"]) for row in rows):
            raise TurnError("This session is still answering a question.", hint="Wait for it, or stop it first.")

    def save(self, turn: Turn) -> None:
        """Write everything but the trace, the review and the feedback."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE turns SET status = ?, confidence = ?, body = ? WHERE id = ?",
                (turn.status, _known_confidence(turn), _body(turn), turn.id),
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
            raise _missing()
        return found[0]

    def of_session(self, session_id: str) -> list[Turn]:
        """Return everything that is kept of a session, also older versions; a page asks for the ``newest``."""
        return self._read("session_id = ? ORDER BY position", (session_id,))

    def conversation(self, session_id: str) -> list[Turn]:
        """Return one version of each question of a session, in their order: the newest that has an answer, if any."""
        versions: dict[int, Turn] = {}
        for turn in self.of_session(session_id):
            if turn.place not in versions or turn.status in FINISHED or versions[turn.place].status not in FINISHED:
                versions[turn.place] = turn
        return [versions[place] for place in sorted(versions)]

    def newest(self, session_id: str, most: int) -> list[Turn]:
        """Return the last questions of a session in their order, each in its newest version, without their traces."""
        rows = self._database.connection.execute(
            f"SELECT id FROM turns WHERE session_id = ? AND {_NEWEST} ORDER BY place DESC LIMIT ?", (session_id, most)
        ).fetchall()
        return [self.without_trace(row["id"]) for row in reversed(rows)]

    def count(self, session_id: str) -> int:
        """Return the number of questions of a session, whatever the number of their versions."""
        return self._database.number("SELECT count(DISTINCT place) FROM turns WHERE session_id = ?", (session_id,))

    def versions(self, turn: Turn) -> tuple[str, ...]:
        """Return the ids of all versions of a question, oldest first."""
        rows = self._database.connection.execute(
            "SELECT id FROM turns WHERE session_id = ? AND place = ? ORDER BY position", (turn.session_id, turn.place)
        )
        return tuple(row["id"] for row in rows)

    def without_trace(self, turn_id: str) -> Turn:
        """Return the turn as conversations show it; decoded once for each version of it. Raises TurnError."""
        connection = self._database.connection
        row = connection.execute("SELECT version FROM turn_lines WHERE turn_id = ?", (turn_id,)).fetchone()
        version = row["version"] if row else -1
        with self._lock:
            known = self._read_before.get(turn_id)
            if known and known[0] == version:
                self._read_before.move_to_end(turn_id)
                return known[1]
        found = self._read("id = ?", (turn_id,), trace=False)
        if not found:
            with self._lock:
                self._read_before.pop(turn_id, None)
            raise _missing()
        if not connection.in_transaction:  # what is not committed may never have been
            with self._lock:
                self._read_before[turn_id] = version, found[0]
                self._read_before.move_to_end(turn_id)
                while len(self._read_before) > KEPT_IN_MEMORY:
                    self._read_before.popitem(last=False)
        return found[0]

    def exchanges(self, session_id: str, *, before: int = 2**62, asked_before: int = 2**62) -> tuple[Exchange, ...]:
        """Return the finished questions with their answers, reviewed ones as reviewed, oldest first.

        Of several versions the newest that was answered. ``before``: only those at earlier places; ``asked_before``:
        only those that were asked before the turn at this position.
        """
        rows = self._database.connection.execute(
            """SELECT turns.id, question,
                 CASE WHEN review.id IS NULL THEN body ->> '$.answer' ELSE final_answer END AS answer,
                 CASE WHEN review.id IS NULL THEN body -> '$.parts' ELSE parts END AS parts,
                 CASE WHEN json_valid(body) THEN
                   coalesce(nullif(body -> '$.plan', 'null'), body -> '$.attempts[#-1].plan') END AS plan,
                 CASE WHEN json_valid(body) THEN body ->> '$.intent' END AS intent
               FROM turns LEFT JOIN reviews AS review ON review.id =
                 (SELECT MAX(id) FROM reviews WHERE turn_id = turns.id AND undone_at = '')
               WHERE session_id = ? AND turns.status IN (?, ?, ?) AND place < ? AND position < ?
                 AND (review.id IS NOT NULL OR (json_valid(body) AND json_type(body, '$.answer') = 'text'))
                 AND NOT EXISTS (SELECT 1 FROM turns AS later WHERE later.session_id = turns.session_id AND
                   later.place = turns.place AND later.position > turns.position AND later.position < ?
                   AND later.status IN (?, ?, ?))
               ORDER BY place""",
            (session_id, *FINISHED, before, asked_before, asked_before, *FINISHED),
        )
        return tuple(_exchange(row, _parts(row["parts"]) or ()) for row in rows)

    def running(self) -> list[str]:
        """Ids of the turns that some process has not brought to an end."""
        rows = self._database.connection.execute("SELECT id FROM turns WHERE status = ?", (TurnStatus.RUNNING,))
        return [row["id"] for row in rows]

    def unfinished(self) -> list[str]:
        """Ids of the turns that some process is running, or that were interrupted and may be continued."""
        rows = self._database.connection.execute(
            "SELECT id FROM turns WHERE status IN (?, ?)", (TurnStatus.RUNNING, TurnStatus.INTERRUPTED)
        )
        return [row["id"] for row in rows]

    def count_flagged(self) -> int:
        """Return the number of answers that wait for review."""
        return self._database.number(
            f"SELECT count(*) FROM turns WHERE status = ? AND {_NOT_REPLACED}", (TurnStatus.FLAGGED,)
        )

    def recent(self, limit: int) -> list[Turn]:
        return self._read("1 ORDER BY started_at DESC LIMIT ?", (limit,))

    def lines(self, wanted: TurnFilter = EVERY_TURN, *, most: int) -> list[TurnLine]:
        """Return the first of a list of turns, newest first, of the flagged ones oldest first; no body is read."""
        condition, values = _condition(wanted)
        direction = "" if wanted.status is TurnStatus.FLAGGED else "DESC"
        rows = self._database.connection.execute(
            "SELECT id, session_id, question, status, started_at, confidence, cited_names, reasons "
            f"FROM turns JOIN turn_lines ON turn_id = id WHERE {condition} "
            f"ORDER BY started_at {direction}, turns.rowid {direction} LIMIT ?",
            (*values, most),
        ).fetchall()
        return [_line(row) for row in rows]

    def count_lines(self, wanted: TurnFilter = EVERY_TURN) -> int:
        condition, values = _condition(wanted)
        return self._database.number(
            f"SELECT count(*) FROM turns JOIN turn_lines ON turn_id = id WHERE {condition}", values
        )

    def mark_interrupted(self, lost: Collection[str] = ()) -> list[str]:
        """Mark turns as ``interrupted`` if their process is gone or they are ``lost``; return their ids."""
        with self._database.transaction() as connection:
            rows = connection.execute("SELECT id, worker FROM turns WHERE status = ?", (TurnStatus.RUNNING,)).fetchall()
            interrupted = [row["id"] for row in rows if row["id"] in lost or not is_alive(row["worker"])]
            for turn in self._read(f"id IN ({', '.join('?' * len(interrupted))})", interrupted) if interrupted else ():
                if turn.status is TurnStatus.UNREADABLE:
                    connection.execute("UPDATE turns SET status = ? WHERE id = ?", (turn.status, turn.id))
                    continue
                message = "Pincite was closed while it worked on this answer. Continue it, or run the question again."
                self.save(replace(turn, status=TurnStatus.INTERRUPTED, error=message, finished_at=now()))
        return interrupted

    def _read(self, condition: str, values: Sequence[object], *, trace: bool = True) -> list[Turn]:
        connection = self._database.connection
        rows = connection.execute(f"SELECT * FROM turns WHERE {condition}", tuple(values)).fetchall()
        turns = (replace(with_parts(_turn(row)), place=row["place"]) for row in rows)
        return [self._whole(connection, turn, with_trace=trace) for turn in turns]

    def _whole(self, connection: sqlite3.Connection, turn: Turn, *, with_trace: bool) -> Turn:
        trace = _trace(connection, turn) if with_trace else ()
        row = connection.execute(
            "SELECT * FROM reviews WHERE turn_id = ? AND undone_at = '' ORDER BY id DESC LIMIT 1", (turn.id,)
        ).fetchone()
        review = review_of(row) if row else None
        if row and review is None and turn.status is TurnStatus.REVIEWED:  # else a rejected draft would look approved
            turn = replace(turn, status=TurnStatus.FLAGGED, reasons=(UNREADABLE_REVIEW, *turn.reasons))
        feedback = connection.execute("SELECT kind FROM feedback WHERE turn_id = ?", (turn.id,)).fetchone()
        known = feedback is not None and feedback["kind"] in list(FeedbackKind)
        return replace(
            turn,
            trace=trace,
            path=tuple(step.node for step in trace),
            review=review,
            feedback=FeedbackKind(feedback["kind"]) if known else None,
        )


_OF_TURN = {
    "trace_steps": "position, body",
    "reviews": "decision, final_answer, note, reviewer, decided_at, citations, stale, parts, undone_at",
}
"""Tables with rows that belong to a turn, and their columns."""


def _insert(connection: sqlite3.Connection, turn: Turn) -> None:
    connection.execute(
        "INSERT INTO turns (id, session_id, position, place, status, question, started_at, body, worker) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            turn.id,
            turn.session_id,
            turn.position,
            turn.place,
            turn.status,
            turn.question,
            turn.started_at,
            _body(turn),
            this_worker(),
        ),
    )
    connection.execute("UPDATE sessions SET updated_at = ? WHERE id = ?", (now(), turn.session_id))


def _turn(row: sqlite3.Row) -> Turn:
    turn = decode_turn(row["body"])
    if turn is not None and turn.id == row["id"]:
        return turn
    return Turn(
        id=row["id"],
        session_id=row["session_id"],
        position=row["position"],
        question=row["question"],
        mode=Mode.AUTO,
        document_ids=NO_DOCUMENTS,
        engine="",
        status=TurnStatus.UNREADABLE,
        started_at=row["started_at"],
        error=UNREADABLE_TURN,
    )


def _trace(connection: sqlite3.Connection, turn: Turn) -> tuple[TraceStep, ...]:
    rows = connection.execute("SELECT body FROM trace_steps WHERE turn_id = ? ORDER BY position", (turn.id,))
    damaged = TraceStep("unreadable", 0, turn.started_at, 0.0, error=UNREADABLE_STEP)
    return tuple(readable(TraceStep, row["body"]) or damaged for row in rows)


def _exchange(row: sqlite3.Row, parts: Sequence[AnswerPart]) -> Exchange:
    return Exchange(
        row["id"],
        row["question"],
        plain_text(parts) or row["answer"],
        readable(SearchPlan, row["plan"]) if row["plan"] else None,
        Intent(row["intent"]) if row["intent"] in list(Intent) else None,
        tuple(one.where for one in listed_passages(parts)) if lists_passages(parts) else (),
        next((part for part in parts if part.kind is PartKind.FIGURE and len(part.figures) == 1), None),
    )


def _missing() -> TurnError:
    return TurnError("This answer is no longer stored.", hint="Its session may have been deleted.")


def _parts(text: str | None) -> tuple[AnswerPart, ...] | None:
    return readable(tuple[AnswerPart, ...], text) if text else ()


def review_of(row: sqlite3.Row) -> Review | None:
    """None where it is damaged."""
    citations, parts = readable(tuple[Citation, ...], row["citations"]), _parts(row["parts"])
    if citations is None or parts is None or row["decision"] not in list(ReviewDecision):
        return None
    return Review(
        turn_id=row["turn_id"],
        decision=ReviewDecision(row["decision"]),
        final_answer=row["final_answer"],
        note=row["note"],
        reviewer=row["reviewer"],
        decided_at=row["decided_at"],
        citations=citations,
        stale=row["stale"],
        undone_at=row["undone_at"],
        parts=parts or parts_of(row["final_answer"], citations),
    )


def status_of(row: sqlite3.Row) -> TurnStatus:
    return TurnStatus(row["status"]) if row["status"] in list(TurnStatus) else TurnStatus.UNREADABLE


def _known_confidence(turn: Turn) -> float | None:
    return turn.verdict.confidence if turn.verdict and turn.verdict.calibrated else None


def _body(turn: Turn) -> str:
    """Return the turn as JSON; what its attempts have as it has it itself, such as the evidence, is written once."""
    body = json.loads(to_json(replace(turn, trace=(), path=(), review=None, feedback=None)))
    for attempt in body["attempts"]:
        for name in SHARED:
            if attempt[name] == body[name]:
                del attempt[name]
    return json.dumps(body, ensure_ascii=False)


def decode_turn(body: str) -> Turn | None:
    """None where it is damaged."""
    try:
        turn = json.loads(body)
        for attempt in turn["attempts"]:
            for name in SHARED & turn.keys() - attempt.keys():
                attempt[name] = turn[name]
        return readable(Turn, json.dumps(turn, ensure_ascii=False))
    except (*UNDECODABLE, AttributeError, RecursionError):
        return None


def _condition(wanted: TurnFilter) -> tuple[str, list[object]]:
    """SQL that holds for the turns that are wanted, and its values."""
    parts: list[tuple[str, tuple[object, ...]]] = []
    if wanted.status:
        waits = wanted.status is TurnStatus.FLAGGED
        parts.append((f"turns.status = ? AND {_NOT_REPLACED}" if waits else "turns.status = ?", (wanted.status,)))
    if wanted.words.strip():
        pattern = containing(wanted.words)
        parts.append((r"(question LIKE ? ESCAPE '\' OR reasons LIKE ? ESCAPE '\')", (pattern, pattern)))
    if wanted.document_id:
        parts.append(
            (
                "EXISTS (SELECT 1 FROM json_each(iif(json_valid(cited_ids), cited_ids, '[]')) WHERE value = ?)",
                (wanted.document_id,),
            )
        )
    if wanted.since:
        parts.append(("started_at >= ?", (wanted.since,)))
    if wanted.confidence_up_to < 1:
        parts.append(("coalesce(confidence, 0) <= ?", (wanted.confidence_up_to,)))
    return " AND ".join(["1", *(text for text, _ in parts)]), [value for _, values in parts for value in values]


def containing(words: str) -> str:
    """Return a pattern for LIKE ... ESCAPE '\\' that finds these words as they are."""
    return "%" + words.strip()[:MAX_SEARCHED].replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_") + "%"


def _line(row: sqlite3.Row) -> TurnLine:
    return TurnLine(
        id=row["id"],
        session_id=row["session_id"],
        question=row["question"],
        status=status_of(row),
        started_at=row["started_at"],
        confidence=row["confidence"],
        cited_names=readable(tuple[str, ...], row["cited_names"]) or (),
        reasons=readable(tuple[str, ...], row["reasons"]) or (),
    )
