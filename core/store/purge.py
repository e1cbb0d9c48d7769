"""Takes the answers that quote a document away for good: turns, traces, reviews, and what free pages still hold."""

import json
import re
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from core.domain.errors import StorageError
from core.domain.search import FROM_THE_ANSWER
from core.domain.turns import Turn, TurnStatus
from core.store.copies import empty
from core.store.database import Database
from core.store.sessions import NEW_TITLE, title_of

DELETED = "(deleted with an earlier answer)"
_WORD = re.compile(r"[^\W_]+")
_OWN = ("question", "answer", "parts", "evidence", "citations")
"""What of a turn is its own: its question, its answer and what that rests on."""
_MAY_LEAN = frozenset({"plan", "attempts", "thoughts", "notices", "reasons", "question_back", "verdict"})
_QUOTED = re.compile(r'"engine": ?"quoting"')
_MAY_REPEAT = ('"evidence":[]', '"evidence": []', FROM_THE_ANSWER)


@dataclass(frozen=True, slots=True)
class Purge:
    """Turns and the sessions that they stand in, and the document that they quote, where that is why they go."""

    turn_ids: tuple[str, ...]
    session_ids: tuple[str, ...]
    document_id: str = ""


def of_turn(turn: Turn) -> Purge:
    return Purge((turn.id,), (turn.session_id,))


def quoting(database: Database, document_id: str) -> Purge:
    """Find the turns whose answer, evidence, trace or review holds text of the document.

    Later turns of the conversation that searched nothing, point into such an answer or hold prose that its own passages
    do not bear out may repeat it, and count as well.
    """
    rows = database.connection.execute(
        """SELECT id, session_id, status, body,
             EXISTS (SELECT 1 FROM trace_steps WHERE turn_id = turns.id AND instr(body, ?1))
             OR EXISTS (SELECT 1 FROM reviews WHERE turn_id = turns.id AND instr(citations, ?1)) AS marked
           FROM turns ORDER BY session_id, position""",
        (document_id,),
    )
    turns: list[str] = []
    sessions: dict[str, None] = {}
    for row in rows:
        repeats = row["session_id"] in sessions and _may_repeat(row["status"], row["body"])
        if row["marked"] or repeats or _quotes(row["body"], document_id):
            turns.append(row["id"])
            sessions[row["session_id"]] = None
    return Purge(tuple(turns), tuple(sessions), document_id)


def purge(database: Database, found: Purge) -> None:
    """Delete these turns; a session left without turns and notes goes too.

    One that is named after such a question loses its name, and later turns what a model was told of these and thought.
    """
    with database.transaction() as connection:
        connection.execute("DELETE FROM pins WHERE document_id = ?", (found.document_id,))
        for turn_id in found.turn_ids:
            rows = connection.execute("SELECT session_id, question FROM turns WHERE id = ?", (turn_id,)).fetchall()
            connection.executemany(
                "UPDATE sessions SET title = ? WHERE id = ? AND title = ?",
                [(NEW_TITLE, session_id, title_of(question)) for session_id, question in rows],
            )
        connection.executemany(
            "INSERT OR IGNORE INTO removals (subject, kind) VALUES (?, 'text')",
            [(session_id,) for session_id in found.session_ids],
        )
        _forget_conversation(connection, found)
        connection.executemany("DELETE FROM turns WHERE id = ?", [(turn_id,) for turn_id in found.turn_ids])
        connection.executemany(
            """DELETE FROM sessions WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM turns WHERE session_id = ?1)
               AND NOT EXISTS (SELECT 1 FROM pins WHERE session_id = ?1)
               AND NOT EXISTS (SELECT 1 FROM notes WHERE session_id = ?1 AND text <> '')""",
            [(session_id,) for session_id in found.session_ids],
        )


def _forget_conversation(connection: sqlite3.Connection, found: Purge) -> None:
    """Take out of the plans, drafts, thoughts and traces of later turns what has words of these turns.

    Words of a later turn's own question and evidence stay.
    """
    turns = f"({', '.join('?' * len(found.turn_ids))})"
    rows = connection.execute(f"SELECT session_id, position, body FROM turns WHERE id IN {turns}", found.turn_ids)
    gone: dict[str, tuple[int, set[str]]] = {}
    for row in rows.fetchall():
        first, words = gone.get(row["session_id"], (row["position"], set()))
        gone[row["session_id"]] = (min(first, row["position"]), words | _words_of(_read(row["body"]), _OWN))
    for session_id, (first, words) in gone.items():
        later = connection.execute(
            f"SELECT id, body FROM turns WHERE session_id = ? AND position > ? AND id NOT IN {turns}",
            (session_id, first, *found.turn_ids),
        ).fetchall()
        for turn in later:
            body = _read(turn["body"])
            strange = words - _words_of(body, _OWN)
            changed = body | {name: _without(strange, body[name]) for name in _MAY_LEAN & body.keys()}
            if changed != body:
                connection.execute("UPDATE turns SET body = ? WHERE id = ?", (_written(changed), turn["id"]))
            steps = connection.execute(
                "SELECT rowid, body FROM trace_steps WHERE turn_id = ?", (turn["id"],)
            ).fetchall()
            for step in steps:
                told = _read(step["body"])
                if (kept := _without(strange, told)) != told:
                    values = (_written(kept), step["rowid"])
                    connection.execute("UPDATE trace_steps SET body = ? WHERE rowid = ?", values)


def _read(body: str) -> dict[str, Any]:
    """Empty where it is damaged: nobody can read it."""
    try:
        read = json.loads(body)
    except json.JSONDecodeError:
        return {}
    return read if isinstance(read, dict) else {}


def _written(body: dict[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False)


def _words_of(body: dict[str, Any], names: Collection[str]) -> set[str]:
    return set(_WORD.findall(_written({name: body.get(name) for name in names}).casefold()))


def _without(words: set[str], value: Any) -> Any:
    """The value with DELETED for each text that has one of these words."""
    if isinstance(value, str):
        return DELETED if not words.isdisjoint(_WORD.findall(value.casefold())) else value
    if isinstance(value, list):
        return [_without(words, one) for one in value]
    return {name: _without(words, one) for name, one in value.items()} if isinstance(value, dict) else value


def scrub(connection: sqlite3.Connection, *, words: bool = False, most_bytes: int | None = None) -> bool:
    """Write the file anew without what was deleted from it; False while another process keeps that from happening.

    A file of more than ``most_bytes`` is not written anew: only its log is emptied, and there is more to do (False).
    """
    try:
        if most_bytes is not None and _bytes(connection) > most_bytes:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return False
        empty(connection, words=words)
        busy: int = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    except (sqlite3.OperationalError, StorageError):
        return False
    return not busy


def _bytes(connection: sqlite3.Connection) -> int:
    pages: int = connection.execute("PRAGMA page_count").fetchone()[0]
    size: int = connection.execute("PRAGMA page_size").fetchone()[0]
    return pages * size


def _may_repeat(status: str, body: str) -> bool:
    return any(mark in body for mark in _MAY_REPEAT) or (status == TurnStatus.FLAGGED and not _QUOTED.search(body))


def _quotes(body: str, document_id: str) -> bool:
    """Being among the searched documents is no quotation. A body that cannot be read is taken for one."""
    if document_id not in body:
        return False
    try:
        fields = json.loads(body)
    except json.JSONDecodeError:
        return True
    return document_id in json.dumps(
        {name: value for name, value in fields.items() if name not in ("document_ids", "scope")}
    )
