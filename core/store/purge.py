"""Takes the answers that quote a document away for good: turns, traces, reviews, and what free pages still hold."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, exists, select, update

from pincite.core.domain.search import FROM_THE_ANSWER
from pincite.core.domain.turns import Turn, TurnStatus
from pincite.core.store.database import Database
from pincite.core.store.schema import notes, pins, removals, reviews, sessions, trace_steps, turns
from pincite.core.store.sessions import NEW_TITLE, TEXT, title_of
from pincite.core.store.turns import delete_turns, write_turn
from pincite.core.text.terms import FUNCTION_WORDS, words

DELETED = "(deleted with an earlier answer)"
_OWN = ("question", "answer", "parts", "evidence", "citations")
"""What of a turn is its own: its question, its answer and what that rests on."""
_QUOTED = re.compile(r'"engine": ?"quoting"')
_MAY_REPEAT = ('"evidence":[]', '"evidence": []', FROM_THE_ANSWER)


@dataclass(frozen=True, slots=True)
class Purge:
    """Turns to delete and their sessions, and the document that they quote, if that is why they are deleted."""

    turn_ids: tuple[str, ...]
    session_ids: tuple[str, ...]
    document_id: str = ""


def of_turn(turn: Turn) -> Purge:
    return Purge((turn.id,), (turn.session_id,))


def quoting(database: Database, document_id: str) -> Purge:
    """Find the turns with text of the document in their answer, evidence, trace or review.

    Later turns of the conversation that searched nothing, point into such an answer, hold prose that its own passages
    do not support, or lean on such a question and answer in its words may repeat it, and count as well.
    """
    traced = trace_steps.c.body.contains(document_id, autoescape=True)
    cited = reviews.c.citations.contains(document_id, autoescape=True)
    marked = exists().where(trace_steps.c.turn_id == turns.c.id, traced) | exists().where(
        reviews.c.turn_id == turns.c.id, cited
    )
    columns = turns.c.id, turns.c.session_id, turns.c.status, turns.c.body
    found: list[str] = []
    in_sessions: dict[str, set[str]] = {}
    query = select(*columns, marked.label("marked")).order_by(turns.c.session_id, turns.c.position)
    for row in database.run(query).mappings():
        spoken = in_sessions.get(row["session_id"])
        repeats = spoken is not None and (_may_repeat(row["status"], row["body"]) or _leans(row["body"], spoken))
        if row["marked"] or repeats or _quotes(row["body"], document_id):
            found.append(row["id"])
            in_sessions[row["session_id"]] = (spoken or set()) | _words_of(_read(row["body"]))
    return Purge(tuple(found), tuple(in_sessions), document_id)


def purge(database: Database, found: Purge) -> None:
    """Delete these turns; a session left without turns and notes goes too.

    One that is named after such a question loses its name, and later turns what a model was sent of these and thought.
    """
    leaving = turns.c.id.in_(found.turn_ids)
    with database.transaction():
        database.run(delete(pins).where(pins.c.document_id == found.document_id))
        for row in database.rows(select(turns.c.session_id, turns.c.question).where(leaving)):
            named = sessions.c.id == row["session_id"], sessions.c.title == title_of(row["question"])
            database.run(update(sessions).where(*named).values(title=NEW_TITLE))
        for session_id in found.session_ids:
            database.run(database.insert(removals).values(subject=session_id, kind=TEXT).on_conflict_do_nothing())
        _forget_conversation(database, found)
        delete_turns(database, leaving)
        used = (
            exists().where(turns.c.session_id == sessions.c.id)
            | exists().where(pins.c.session_id == sessions.c.id)
            | exists().where(notes.c.session_id == sessions.c.id, notes.c.text != "")
        )
        database.run(delete(sessions).where(sessions.c.id.in_(found.session_ids), ~used))


def _forget_conversation(database: Database, found: Purge) -> None:
    """Take out of the plans, drafts, thoughts and traces of later turns what has words of these turns.

    Words of a later turn's own question and evidence stay.
    """
    leaving = turns.c.id.in_(found.turn_ids)
    deleted: dict[str, tuple[int, set[str]]] = {}
    for row in database.rows(select(turns.c.session_id, turns.c.position, turns.c.body).where(leaving)):
        first, spoken = deleted.get(row["session_id"], (row["position"], set()))
        deleted[row["session_id"]] = (min(first, row["position"]), spoken | _words_of(_read(row["body"])))
    for session_id, (first, spoken) in deleted.items():
        later = turns.c.session_id == session_id, turns.c.position > first, ~leaving
        for turn in database.rows(select(turns.c.id, turns.c.body).where(*later)):
            body = _read(turn["body"])
            strange = spoken - _words_of(body)
            if (kept := _turn_without(strange, body)) != body:
                write_turn(database, turn["id"], kept)
            steps_of_turn = trace_steps.c.turn_id == turn["id"]
            for step in database.rows(select(trace_steps).where(steps_of_turn)):
                record = _read(step["body"])
                if (left := _step_without(strange, record)) != record:
                    own = update(trace_steps).where(steps_of_turn, trace_steps.c.position == step["position"])
                    database.run(own.values(body=_written(left)))


def _read(body: str) -> dict[str, Any]:
    """Empty where it is damaged: nobody can read it."""
    try:
        read = json.loads(body)
    except json.JSONDecodeError:
        return {}
    return read if isinstance(read, dict) else {}


def _written(body: dict[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False)


def _words_of(body: dict[str, Any]) -> set[str]:
    """Return the words of a turn's own question, its answer and what that rests on."""
    return {word for name in _OWN for text in _texts_in(body.get(name)) for word in map(str.casefold, words(text))}


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(one)


def _mentions(strange: set[str], value: Any) -> bool:
    return any(not strange.isdisjoint(map(str.casefold, words(text))) for text in _texts_in(value))


def _turn_without(strange: set[str], body: dict[str, Any]) -> dict[str, Any]:
    kept = dict(body)
    for name in ("notices", "reasons", "attempts"):
        kept[name] = [one for one in body.get(name, []) if not _mentions(strange, one)]
    for name in ("thoughts", "question_back"):
        kept[name] = "" if _mentions(strange, body.get(name, "")) else body.get(name, "")
    if _mentions(strange, body.get("asked", "")):
        kept["asked"] = body.get("question", "")
    plan, verdict = body.get("plan"), body.get("verdict")
    if isinstance(plan, dict) and _mentions(strange, plan):
        asked = str(plan.get("question", ""))
        kept["plan"] = {"question": asked, "standalone_question": asked, "sub_queries": [], "notes": [DELETED]}
        kept["plan"]["document_ids"] = plan.get("document_ids", [])
    if isinstance(verdict, dict):
        lists = {
            name: [one for one in verdict.get(name, []) if not _mentions(strange, one)] for name in ("reasons", "gaps")
        }
        kept["verdict"] = verdict | lists
    return {name: value for name, value in kept.items() if name in body}


def _step_without(strange: set[str], step: dict[str, Any]) -> dict[str, Any]:
    """Return the step with DELETED for each note of it that has one of these words."""
    kept = dict(step)
    for name in ("read", "decided", "returned"):
        if isinstance(notes := step.get(name), dict):
            kept[name] = {key: DELETED if _mentions(strange, value) else value for key, value in notes.items()}
    return kept


def _may_repeat(status: str, body: str) -> bool:
    return any(mark in body for mark in _MAY_REPEAT) or (status == TurnStatus.FLAGGED and not _QUOTED.search(body))


def _leans(body: str, spoken: set[str]) -> bool:
    turn = _read(body)
    plan = turn.get("plan")
    strange = spoken - _words_of({"question": turn.get("question"), "evidence": turn.get("evidence")}) - FUNCTION_WORDS
    return isinstance(plan, dict) and bool(plan.get("carried")) and _mentions(strange, turn.get("answer", ""))


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
