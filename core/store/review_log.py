"""The log of what was done to decisions of people: chained by hash, line by line, so that a change from outside shows.

A line has the hash of the decision's row before and after (empty: there is none), and a seal over itself and the line
before. No text is in it, and so it stays when an answer is deleted.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import ColumnElement, func, insert, select, true

from pincite.core.domain.turns import now
from pincite.core.store.database import Database
from pincite.core.store.schema import REVIEW_LOG, counters, review_log, reviews, turns

_HASHED = (
    *(reviews.c.id, reviews.c.turn_id, reviews.c.decision, reviews.c.final_answer, reviews.c.note, reviews.c.reviewer),
    *(reviews.c.decided_at, reviews.c.citations, reviews.c.parts, reviews.c.stale, reviews.c.undone_at),
)


@contextmanager
def noted(database: Database, decisions: ColumnElement[bool]) -> Iterator[None]:
    """Note in the log what happens to these decisions inside; part of a transaction."""
    with database.transaction():
        before = _hashes(database, decisions)
        yield
        after = _hashes(database, decisions)
        for review_id in sorted(before.keys() | after.keys()):
            was, becomes = before.get(review_id, ""), after.get(review_id, "")
            if was != becomes:
                _add_line(database, review_id, was, becomes)


def row_hash(*values: object) -> str:
    """One hash of a row's values, in hexadecimal digits."""
    return hashlib.sha256(json.dumps(values, ensure_ascii=False).encode(errors="replace")).hexdigest()


def _hashes(database: Database, decisions: ColumnElement[bool]) -> dict[int, str]:
    rows = database.run(select(*_HASHED).where(decisions))
    return {row[0]: row_hash(*row) for row in rows}


def _add_line(database: Database, review_id: int, was: str, becomes: str) -> None:
    number = database.next(REVIEW_LOG)
    seal = database.run(select(review_log.c.seal).where(review_log.c.id == number - 1)).scalar()
    line = (number, review_id, was, becomes, now())
    names = ("id", "review_id", "was", "becomes", "noted_at")
    values = dict(zip(names, line, strict=True))
    database.run(insert(review_log).values(**values, seal=row_hash(seal, *line)))


def troubles(database: Database) -> Iterator[tuple[str, str]]:
    """Yield each change that Pincite did not make: the turn's id, where there is one, and a sentence.

    A change by someone who rewrites the log and its hashes from the first line on is not found.
    """
    noted, broken, lines = dict[int, str](), set[int](), 0
    seal: str | None = None
    for row in database.rows(select(review_log).order_by(review_log.c.id)):
        lines += 1
        review_id, was, becomes, noted_at = row["review_id"], row["was"], row["becomes"], row["noted_at"]
        if row["id"] != lines or row["seal"] != row_hash(seal, row["id"], review_id, was, becomes, noted_at):
            yield "", f"The log of reviews was changed at line {lines}, noted {noted_at[:16].replace('T', ' ')} UTC."
            return
        seal = row["seal"]
        if was not in (noted.get(review_id, ""), becomes if review_id not in noted else ""):
            broken.add(review_id)
        noted[review_id] = becomes
    if lines != database.count(select(counters.c.value).where(counters.c.name == REVIEW_LOG)):
        yield "", "The last lines of the log of reviews are missing."
    hashes = _hashes(database, true())
    question = func.coalesce(turns.c.question, "").label("question")
    asked = select(reviews.c.id, reviews.c.turn_id, question).outerjoin_from(reviews, turns)
    there = {row["id"]: row for row in database.rows(asked)}
    for review_id, hash_ in noted.items():
        row_there = there.pop(review_id, None)
        if row_there is None and hash_:
            yield "", "A decision was removed from outside after it was made."
        elif row_there is not None and (hashes[review_id] != hash_ or review_id in broken):
            what = f"The decision on “{row_there['question'][:60]}” was changed from outside after it was made."
            yield row_there["turn_id"], what
        elif row_there is None and review_id in broken:
            yield "", "A decision was changed from outside after it was made, and its answer deleted later."
    for row in there.values():
        what = f"The decision on “{row['question'][:60]}” came from outside: it is not in the log of reviews."
        yield row["turn_id"], what
