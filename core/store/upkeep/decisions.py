"""Whether the decisions of people are as they were made: the log of them is chained by hash, line by line."""

from collections.abc import Iterator
from sqlite3 import Connection

from pincite.core.store.database import row_hash

_LINES = "SELECT id, review_id, was, becomes, noted_at, seal FROM review_log ORDER BY id"
_DECISIONS = """SELECT review_hashes.id, hash, turn_id, coalesce(question, '') AS question
  FROM review_hashes JOIN reviews USING (id) LEFT JOIN turns ON turns.id = turn_id"""
_EVER_NOTED = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'review_log'), 0)"


def troubles(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield each change that Pincite did not make: the turn's id, where there is one, and a sentence.

    A change by someone who rewrites the log and its hashes from the first line on is not found.
    """
    noted, broken, lines = dict[int, str](), set[int](), 0
    seal: str | None = None
    for number, review_id, was, becomes, noted_at, sealed in connection.execute(_LINES):
        lines += 1
        if number != lines or sealed != row_hash(seal, number, review_id, was, becomes, noted_at):
            yield "", f"The log of reviews was changed at line {lines}, noted {noted_at[:16].replace('T', ' ')} UTC."
            return
        seal = sealed
        if was not in (noted.get(review_id, ""), becomes if review_id not in noted else ""):
            broken.add(review_id)
        noted[review_id] = becomes
    if lines != connection.execute(_EVER_NOTED).fetchone()[0]:
        yield "", "The last lines of the log of reviews are missing."
    there = {row[0]: row for row in connection.execute(_DECISIONS)}
    for review_id, hash_ in noted.items():
        row = there.pop(review_id, None)
        if row is None and hash_:
            yield "", "A decision was removed from outside after it was made."
        elif row is not None and (row[1] != hash_ or review_id in broken):
            yield row[2], f"The decision on “{row[3][:60]}” was changed from outside after it was made."
        elif row is None and review_id in broken:
            yield "", "A decision was changed from outside after it was made, and its answer deleted later."
    for row in there.values():
        yield row[2], f"The decision on “{row[3][:60]}” came from outside: it is not in the log of reviews."
