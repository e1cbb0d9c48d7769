"""Turns and their traces in SQLite, saved as they go, and which process runs the unfinished ones."""

import json
import threading
import uuid
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, RowMapping, Table, delete, exists, func, insert, literal, or_, select, update

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
from pincite.core.store.review_log import noted
from pincite.core.store.schema import feedback, query_vectors, reviews, sessions, trace_steps, turn_lines, turns
from pincite.core.text.marks import plain_text

UNREADABLE_TURN = "This answer cannot be read; it is kept as it is."
UNREADABLE_STEP = "This step cannot be read; it is kept as it is."
UNREADABLE_REVIEW = "The decision on this answer cannot be read; it is kept as it is."
EVERY_TURN = TurnFilter()
SHARED = frozenset({"answer", "parts", "citations", "verdict", "evidence", "plan"})
"""What the attempt that was kept has in common with its turn."""
KEPT_IN_MEMORY = 200
"""Finished turns that are not read again from the database until they change."""


_LINE = (
    turns.c.id,
    turns.c.session_id,
    turns.c.question,
    turns.c.status,
    turns.c.started_at,
    turns.c.confidence,
    turn_lines.c.cited_names,
    turn_lines.c.reasons,
)
"""What lists show of a turn."""
_other = turns.alias("other")
_SAME_QUESTION = (_other.c.session_id == turns.c.session_id) & (_other.c.place == turns.c.place)
_NEWEST = turns.c.position == select(func.max(_other.c.position)).where(_SAME_QUESTION).scalar_subquery()
"""Condition for a turn to be the newest version of its question."""
_ANSWERED_LATER = _SAME_QUESTION & (_other.c.position > turns.c.position) & _other.c.status.in_(FINISHED)
_NOT_REPLACED = ~exists().where(_ANSWERED_LATER)
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
        last_of = select(func.coalesce(func.max(turns.c.position), -1)).where(turns.c.session_id == turn.session_id)
        with self._database.transaction():
            self._check_idle(turn.session_id)
            position = self._database.count(last_of) + 1
            placed = replace(turn, position=position, place=position if turn.place < 0 else turn.place)
            self._insert(placed)
        return placed

    def copy(self, originals: Sequence[Turn], session_id: str) -> None:
        """Copy finished turns into a session, with their traces and reviews, as its first ones."""
        with self._database.transaction():
            for position, turn in enumerate(originals):
                copied = replace(turn, id=uuid.uuid4().hex, session_id=session_id, position=position, place=position)
                self._insert(copied)
                self.save(copied)
                self._copy_rows(trace_steps, turn.id, copied.id)
                with noted(self._database, reviews.c.turn_id == copied.id):
                    self._copy_rows(reviews, turn.id, copied.id)

    def _copy_rows(self, table: Table, turn_id: str, copied_id: str) -> None:
        columns = [one for one in table.columns if one.name not in ("id", "turn_id")]
        own = select(literal(copied_id), *columns).where(table.c.turn_id == turn_id).order_by(*table.primary_key)
        self._database.run(insert(table).from_select(["turn_id", *columns], own))

    def take_up(self, turn: Turn) -> Turn:
        """Run an interrupted turn on here. Raises TurnError as ``create`` does, and where it was taken up before."""
        running = replace(turn, status=TurnStatus.RUNNING, error="", finished_at="", started_at=now())
        interrupted = update(turns).where(turns.c.id == turn.id, turns.c.status == TurnStatus.INTERRUPTED)
        with self._database.transaction():
            self._check_idle(turn.session_id)
            if not self._database.change(interrupted.values(worker=self._database.this_worker())):
                raise TurnError("This answer is no longer interrupted.", hint="Reload the page.")
            self.save(running)
        return running

    def _check_idle(self, session_id: str) -> None:
        running = turns.c.session_id == session_id, turns.c.status == TurnStatus.RUNNING
        if any(
            map(self._database.is_alive, self._database.run(select(turns.c.worker).where(*running)).scalars().all())
        ):
            raise TurnError("This session is still answering a question.", hint="Wait for it, or stop it first.")

    def save(self, turn: Turn) -> None:
        """Write everything but the trace, the review and the feedback."""
        write_turn(self._database, turn.id, _body(turn), status=turn.status, confidence=_known_confidence(turn))

    def add_step(self, turn_id: str, position: int, step: TraceStep) -> None:
        self._database.run(insert(trace_steps).values(turn_id=turn_id, position=position, body=to_json(step)))

    def get(self, turn_id: str) -> Turn:
        """Raises TurnError when there is no such turn."""
        row = self._database.row(select(turns).where(turns.c.id == turn_id))
        if row is None:
            raise _missing()
        return self._whole(row)

    def of_session(self, session_id: str) -> list[Turn]:
        """Return everything that is kept of a session, also older versions; a page asks for the ``newest``."""
        own = select(turns).where(turns.c.session_id == session_id).order_by(turns.c.position)
        return [self._whole(row) for row in self._database.rows(own)]

    def conversation(self, session_id: str) -> list[Turn]:
        """Return one version of each question of a session, in their order: the newest that has an answer, if any."""
        versions: dict[int, Turn] = {}
        for turn in self.of_session(session_id):
            if turn.place not in versions or turn.status in FINISHED or versions[turn.place].status not in FINISHED:
                versions[turn.place] = turn
        return [versions[place] for place in sorted(versions)]

    def newest(self, session_id: str, most: int) -> list[Turn]:
        """Return the last questions of a session in their order, each in its newest version, without their traces."""
        own = select(turns.c.id).where(turns.c.session_id == session_id, _NEWEST)
        ids = self._database.run(own.order_by(turns.c.place.desc()).limit(most)).scalars().all()
        return [self.without_trace(turn_id) for turn_id in reversed(ids)]

    def count(self, session_id: str) -> int:
        """Return the number of questions of a session, whatever the number of their versions."""
        places = select(func.count(turns.c.place.distinct())).where(turns.c.session_id == session_id)
        return self._database.count(places)

    def versions(self, turn: Turn) -> tuple[str, ...]:
        """Return the ids of all versions of a question, oldest first."""
        same = turns.c.session_id == turn.session_id, turns.c.place == turn.place
        return tuple(self._database.run(select(turns.c.id).where(*same).order_by(turns.c.position)).scalars())

    def without_trace(self, turn_id: str) -> Turn:
        """Return the turn as conversations show it; decoded once for each version of it. Raises TurnError."""
        version = self._database.run(select(turn_lines.c.version).where(turn_lines.c.turn_id == turn_id)).scalar()
        version = -1 if version is None else version
        with self._lock:
            known = self._read_before.get(turn_id)
            if known and known[0] == version:
                self._read_before.move_to_end(turn_id)
                return known[1]
        row = self._database.row(select(turns).where(turns.c.id == turn_id))
        if row is None:
            with self._lock:
                self._read_before.pop(turn_id, None)
            raise _missing()
        turn = self._whole(row, with_trace=False)
        if not self._database.in_transaction:  # what is not committed may never have been
            with self._lock:
                self._read_before[turn_id] = version, turn
                self._read_before.move_to_end(turn_id)
                while len(self._read_before) > KEPT_IN_MEMORY:
                    self._read_before.popitem(last=False)
        return turn

    def exchanges(self, session_id: str, *, before: int = 2**62, asked_before: int = 2**62) -> tuple[Exchange, ...]:
        """Return the finished questions with their answers, reviewed ones as reviewed, oldest first.

        Of several versions the newest that was answered. ``before``: only those at earlier places; ``asked_before``:
        only those that were asked before the turn at this position.
        """
        earlier = turns.c.place < before, turns.c.position < asked_before
        replaced = exists().where(_ANSWERED_LATER, _other.c.position < asked_before)
        decisions = reviews.alias()
        counted = decisions.c.turn_id == turns.c.id, decisions.c.undone_at == ""
        last = select(func.max(decisions.c.id)).where(*counted).scalar_subquery()
        query = (
            select(turns.c.id, turns.c.question, turns.c.body, reviews.c.final_answer, reviews.c.parts)
            .outerjoin_from(turns, reviews, reviews.c.id == last)
            .where(turns.c.session_id == session_id, turns.c.status.in_(FINISHED), *earlier, ~replaced)
            .order_by(turns.c.place)
        )
        return tuple(exchange for row in self._database.rows(query) if (exchange := _exchange(row)))

    def running(self) -> list[str]:
        """Ids of the turns that some process has not brought to an end."""
        return self._with_status(TurnStatus.RUNNING)

    def unfinished(self) -> list[str]:
        """Ids of the turns that some process is running, or that were interrupted and may be continued."""
        return self._with_status(TurnStatus.RUNNING, TurnStatus.INTERRUPTED)

    def _with_status(self, *statuses: TurnStatus) -> list[str]:
        return list(self._database.run(select(turns.c.id).where(turns.c.status.in_(statuses))).scalars())

    def count_flagged(self) -> int:
        """Return the number of answers that wait for review."""
        waits = turns.c.status == TurnStatus.FLAGGED, _NOT_REPLACED
        return self._database.count(select(func.count()).select_from(turns).where(*waits))

    def recent(self, limit: int) -> list[Turn]:
        newest = select(turns).order_by(turns.c.started_at.desc()).limit(limit)
        return [self._whole(row) for row in self._database.rows(newest)]

    def lines(self, wanted: TurnFilter = EVERY_TURN, *, most: int) -> list[TurnLine]:
        """Return the first of a list of turns, newest first, of the flagged ones oldest first; no body is read."""
        started = turns.c.started_at
        order = started if wanted.status is TurnStatus.FLAGGED else started.desc()
        query = select(*_LINE).join(turn_lines).where(*_conditions(wanted)).order_by(order).limit(most)
        return [_line(row) for row in self._database.rows(query)]

    def count_lines(self, wanted: TurnFilter = EVERY_TURN) -> int:
        lines = select(func.count()).select_from(turns).join(turn_lines).where(*_conditions(wanted))
        return self._database.count(lines)

    def is_worked_on(self, turn_id: str) -> bool:
        """Return whether the process is alive that ran the turn last."""
        worker = self._database.run(select(turns.c.worker).where(turns.c.id == turn_id)).scalar()
        return worker is not None and self._database.is_alive(worker)

    def mark_interrupted(self, lost: Collection[str] = ()) -> list[str]:
        """Mark turns as ``interrupted`` if their process is gone or they are ``lost``; return their ids."""
        running = select(turns.c.id, turns.c.worker).where(turns.c.status == TurnStatus.RUNNING)
        with self._database.transaction():
            rows = self._database.rows(running)
            interrupted = [row["id"] for row in rows if row["id"] in lost or not self._database.is_alive(row["worker"])]
            for turn in map(self.get, interrupted):
                if turn.status is TurnStatus.UNREADABLE:
                    self._database.run(update(turns).where(turns.c.id == turn.id).values(status=turn.status))
                    mark_changed(self._database, turn.id)
                    continue
                message = "Pincite was closed while it worked on this answer. Continue it, or run the question again."
                self.save(replace(turn, status=TurnStatus.INTERRUPTED, error=message, finished_at=now()))
        return interrupted

    def _insert(self, turn: Turn) -> None:
        body = _body(turn)
        values = {"id": turn.id, "session_id": turn.session_id, "position": turn.position, "place": turn.place,
                  "status": turn.status, "question": turn.question, "started_at": turn.started_at,
                  "body": _written(body), "worker": self._database.this_worker()}  # fmt: skip
        self._database.run(insert(turns).values(values))
        self._database.run(insert(turn_lines).values(turn_id=turn.id, **_line_values(body)))
        self._database.run(update(sessions).where(sessions.c.id == turn.session_id).values(updated_at=now()))

    def _whole(self, stored: RowMapping, *, with_trace: bool = True) -> Turn:
        turn = replace(with_parts(_turn(stored)), place=stored["place"])
        trace = tuple(self._trace(turn)) if with_trace else ()
        decided = select(reviews).where(reviews.c.turn_id == turn.id, reviews.c.undone_at == "")
        row = self._database.row(decided.order_by(reviews.c.id.desc()).limit(1))
        review = review_of(row) if row else None
        if row and review is None and turn.status is TurnStatus.REVIEWED:  # else a rejected draft would look approved
            turn = replace(turn, status=TurnStatus.FLAGGED, reasons=(UNREADABLE_REVIEW, *turn.reasons))
        given = self._database.run(select(feedback.c.kind).where(feedback.c.turn_id == turn.id)).scalar()
        return replace(
            turn,
            trace=trace,
            path=tuple(step.node for step in trace),
            review=review,
            feedback=FeedbackKind(given) if given in list(FeedbackKind) else None,
        )

    def _trace(self, turn: Turn) -> Iterator[TraceStep]:
        steps = select(trace_steps.c.body).where(trace_steps.c.turn_id == turn.id).order_by(trace_steps.c.position)
        damaged = TraceStep("unreadable", 0, turn.started_at, 0.0, error=UNREADABLE_STEP)
        for body in self._database.run(steps).scalars():
            yield readable(TraceStep, body) or damaged


def _turn(row: RowMapping) -> Turn:
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


def _exchange(row: RowMapping) -> Exchange | None:
    """None for a damaged turn without a decision. Of the turn only what is needed is decoded."""
    body = readable(dict[str, Any], row["body"]) or {}
    answer = body.get("answer")
    if row["final_answer"] is None and not isinstance(answer, str):
        return None
    decided = row["final_answer"] is not None
    parts = _parts(row["parts"] if decided else json.dumps(body.get("parts") or [])) or ()
    plans = [body.get("plan"), *(one.get("plan") for one in body.get("attempts", [])[-1:])]
    plan = next(filter(None, plans), None)
    return Exchange(
        row["id"],
        row["question"],
        plain_text(parts) or (row["final_answer"] if decided else str(answer)),
        readable(SearchPlan, json.dumps(plan)) if plan else None,
        Intent(body["intent"]) if body.get("intent") in list(Intent) else None,
        tuple(one.where for one in listed_passages(parts)) if lists_passages(parts) else (),
        next((part for part in parts if part.kind is PartKind.FIGURE and len(part.figures) == 1), None),
    )


def _missing() -> TurnError:
    return TurnError("This answer is no longer stored.", hint="Its session may have been deleted.")


def _parts(text: str | None) -> tuple[AnswerPart, ...] | None:
    return readable(tuple[AnswerPart, ...], text) if text else ()


def review_of(row: RowMapping) -> Review | None:
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


def status_of(row: RowMapping) -> TurnStatus:
    return TurnStatus(row["status"]) if row["status"] in list(TurnStatus) else TurnStatus.UNREADABLE


def _known_confidence(turn: Turn) -> float | None:
    return turn.verdict.confidence if turn.verdict and turn.verdict.calibrated else None


def write_turn(database: Database, turn_id: str, body: dict[str, Any], **values: object) -> None:
    """Put this in place of what is stored of a turn, and of what lists show of it."""
    line = {"version": turn_lines.c.version + 1, **_line_values(body)}
    with database.transaction():
        database.run(update(turns).where(turns.c.id == turn_id).values(body=_written(body), **values))
        database.run(update(turn_lines).where(turn_lines.c.turn_id == turn_id).values(line))


def mark_changed(database: Database, turn_id: str) -> None:
    """Have every process read the turn again: its review or its feedback is another."""
    line = update(turn_lines).where(turn_lines.c.turn_id == turn_id)
    database.run(line.values(version=turn_lines.c.version + 1))


def delete_turns(database: Database, these: ColumnElement[bool]) -> None:
    """Delete turns with their traces and reviews, and the vectors of all questions: nothing shows whose is whose."""
    with noted(database, reviews.c.turn_id.in_(select(turns.c.id).where(these))):
        database.run(delete(turns).where(these))
        database.run(delete(query_vectors))


def _line_values(body: dict[str, Any]) -> dict[str, str]:
    """Return what lists show of a turn."""
    cited = [one for one in body.get("citations", []) if isinstance(one, dict)]
    lists = {
        "document_ids": body.get("document_ids", []),
        "reasons": body.get("reasons", []),
        "cited_ids": list(dict.fromkeys(one.get("document_id") for one in cited)),
        "cited_names": list(dict.fromkeys(one.get("document_name") for one in cited)),
    }
    return {"answer": str(body.get("answer", ""))} | {name: _written(values) for name, values in lists.items()}


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _body(turn: Turn) -> dict[str, Any]:
    """Return the turn as JSON; what its attempts have as it has it itself, such as the evidence, is in it once."""
    body: dict[str, Any] = json.loads(to_json(replace(turn, trace=(), path=(), review=None, feedback=None)))
    for attempt in body["attempts"]:
        for name in SHARED:
            if attempt[name] == body[name]:
                del attempt[name]
    return body


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


def _conditions(wanted: TurnFilter) -> Iterator[ColumnElement[bool]]:
    """Yield what holds for the turns that are wanted."""
    if wanted.status:
        yield turns.c.status == wanted.status
    if wanted.status is TurnStatus.FLAGGED:
        yield _NOT_REPLACED
    if wanted.words.strip():
        yield or_(contains(turns.c.question, wanted.words), contains(turn_lines.c.reasons, wanted.words))
    if wanted.document_id:
        yield turn_lines.c.cited_ids.contains(f'"{wanted.document_id}"', autoescape=True)
    if wanted.since:
        yield turns.c.started_at >= wanted.since
    if wanted.confidence_up_to < 1:
        yield func.coalesce(turns.c.confidence, 0) <= wanted.confidence_up_to


def contains(column: ColumnElement[Any], words: str) -> ColumnElement[bool]:
    """Return the condition for a text to contain these words, in any case."""
    return column.icontains(words.strip()[:MAX_SEARCHED], autoescape=True)


def _line(row: RowMapping) -> TurnLine:
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
