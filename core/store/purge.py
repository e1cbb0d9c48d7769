"""Takes the answers that quote a document away for good: turns, traces, reviews, and what free pages still hold."""

import json
import sqlite3
from dataclasses import dataclass

from core.domain.errors import StorageError
from core.domain.search import FROM_THE_ANSWER
from core.domain.turns import Turn
from core.store.copies import empty
from core.store.database import Database
from core.store.sessions import NEW_TITLE, title_of

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

    Later turns of the conversation that searched nothing or point into such an answer may repeat it, and count as well.
    """
    rows = database.connection.execute(
        """SELECT id, session_id, body,
             EXISTS (SELECT 1 FROM trace_steps WHERE turn_id = turns.id AND instr(body, ?1))
             OR EXISTS (SELECT 1 FROM reviews WHERE turn_id = turns.id AND instr(citations, ?1)) AS marked
           FROM turns ORDER BY session_id, position""",
        (document_id,),
    )
    turns: list[str] = []
    sessions: dict[str, None] = {}
    for row in rows:
        repeats = row["session_id"] in sessions and any(mark in row["body"] for mark in _MAY_REPEAT)
        if row["marked"] or repeats or _quotes(row["body"], document_id):
            turns.append(row["id"])
            sessions[row["session_id"]] = None
    return Purge(tuple(turns), tuple(sessions), document_id)


def purge(database: Database, found: Purge) -> None:
    """Delete these turns; a session left without turns and notes goes too.

    One that is named after such a question loses its name.
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
        connection.executemany("DELETE FROM turns WHERE id = ?", [(turn_id,) for turn_id in found.turn_ids])
        connection.executemany(
            """DELETE FROM sessions WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM turns WHERE session_id = ?1)
               AND NOT EXISTS (SELECT 1 FROM pins WHERE session_id = ?1)
               AND NOT EXISTS (SELECT 1 FROM notes WHERE session_id = ?1 AND text <> '')""",
            [(session_id,) for session_id in found.session_ids],
        )


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
