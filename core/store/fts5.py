"""Keyword search in SQLite: FTS5 over the terms of passages."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from typing import Protocol

from pincite.core.domain.documents import Passage
from pincite.core.store.keywords import CONTEXT_WEIGHT, MAX_SCORED, TermIndex, beginnings, begins_only, index_terms

_PARTS = ("data", "idx", "content", "docsize", "config")
_DIFFERS = """SELECT EXISTS (SELECT number FROM passages EXCEPT SELECT id FROM passage_words_content)
  OR EXISTS (SELECT id FROM passage_words_content EXCEPT SELECT number FROM passages)"""


class Connected(Protocol):
    """A database of SQLite."""

    @property
    def connection(self) -> sqlite3.Connection: ...

    def number(self, query: str, values: Sequence[object] = ()) -> int: ...

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]: ...


class Fts5Index(TermIndex):
    """The table ``passage_words``."""

    def __init__(self, database: Connected) -> None:
        self._database = database

    def prepare(self, passages: Sequence[Passage]) -> Callable[[], None]:
        rows = [(" ".join(index_terms(p.context)), " ".join(index_terms(p.text)), p.id) for p in passages]

        def write() -> None:
            with self._database.transaction() as connection:
                connection.executemany(
                    """INSERT OR REPLACE INTO passage_words (rowid, context, text)
                       SELECT number, ?, ? FROM passages WHERE id = ?""",
                    rows,
                )

        return write

    def forget(self, document_id: str, page_index: int) -> None:
        self._database.connection.execute(
            """DELETE FROM passage_words WHERE rowid IN
               (SELECT number FROM passages WHERE document_id = ? AND page_index = ?)""",
            (document_id, page_index),
        )

    def indexed(self, document_id: str) -> set[str]:
        rows = self._database.connection.execute(
            """SELECT id FROM passages WHERE document_id = ?
               AND EXISTS (SELECT 1 FROM passage_words WHERE rowid = passages.number)""",
            (document_id,),
        )
        return {row["id"] for row in rows}

    def search(self, query: str, *, document_ids: Sequence[str], limit: int) -> list[tuple[str, float]]:
        expression = " OR ".join(map(_quoted, self._chosen(query)))
        if not expression:
            return []
        scope, values = _within(document_ids)
        rows = self._database.connection.execute(
            f"""SELECT passages.id, found.score FROM (
                  SELECT rowid, -bm25(passage_words, {CONTEXT_WEIGHT}, 1.0) AS score FROM passage_words
                  WHERE passage_words MATCH ? {scope} ORDER BY score DESC LIMIT ?
                ) AS found JOIN passages ON passages.number = found.rowid ORDER BY found.score DESC, passages.number""",
            (expression, *values, limit),
        )
        return [(row["id"], row["score"]) for row in rows]

    def is_sound(self) -> bool:
        """FTS5 checks itself only where it may write, and so a copy of its tables does it."""
        connection = self._database.connection
        made = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'passage_words'").fetchone()
        if made is None or connection.execute(_DIFFERS).fetchone()[0]:
            return False
        with closing(sqlite3.connect("", isolation_level=None)) as copy:
            try:
                copy.execute(made[0])
                for part in _PARTS:
                    rows = connection.execute(f"SELECT * FROM passage_words_{part}")
                    marks = ",".join("?" * len(rows.description))
                    copy.execute(f"DELETE FROM passage_words_{part}")
                    copy.executemany(f"INSERT INTO passage_words_{part} VALUES ({marks})", map(tuple, rows))
                copy.execute("INSERT INTO passage_words(passage_words) VALUES ('integrity-check')")
            except sqlite3.DatabaseError:
                return False
        return True

    def absent(self, words: Sequence[str], *, document_ids: Sequence[str]) -> list[str]:
        scope, values = _within(document_ids)
        sql = f"SELECT 1 FROM passage_words WHERE passage_words MATCH ? {scope} LIMIT 1"
        begun = {word: f'"{beginning}"*' for word, beginning in beginnings(words).items()}
        found = self._database.connection.execute
        return [word for word, beginning in begun.items() if found(sql, (beginning, *values)).fetchone() is None]

    def _count(self) -> int:
        return self._database.number("SELECT count(*) FROM passage_words_docsize")

    def _occurrences(self, terms: Sequence[str]) -> dict[str, int]:
        counted = "SELECT count(*) FROM (SELECT 1 FROM passage_words WHERE passage_words MATCH ? LIMIT ?)"
        return {term: self._database.number(counted, (_quoted(term), MAX_SCORED + 1)) for term in terms}


def _within(document_ids: Sequence[str]) -> tuple[str, Sequence[str]]:
    """What limits a query to the passages of these documents, if any are given."""
    if not document_ids:
        return "", ()
    # The plus keeps FTS5 from running the whole query again for each row of the scope.
    return f"AND +rowid IN (SELECT number FROM passages WHERE document_id IN ({_marks(document_ids)}))", document_ids


def _marks(values: Sequence[str]) -> str:
    return ",".join("?" * len(values))


def _quoted(term: str) -> str:
    """Return the query for a term, in which nothing is read as syntax."""
    return f'"{term}"' + ("*" if begins_only(term) else "")
