"""Keyword search in PostgreSQL: a tsvector of each passage's stems finds, and BM25 ranks as SQLite's FTS5 does."""

import math
import threading
import time
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import combinations
from typing import Any

from sqlalchemy import TextClause, bindparam, text
from Stemmer import Stemmer

from pincite.core.domain.documents import Passage
from pincite.core.store.database import Database
from pincite.core.store.keywords import CONTEXT_WEIGHT, MAX_SCORED, TermIndex, beginnings, begins_only, index_terms

K1, B = 1.2, 0.75
"""BM25's constants, as in FTS5."""
MIN_IDF = 1e-6
RERANKED = 4
"""How many times the wanted passages are ranked exactly; PostgreSQL's own rank chooses them."""
MAX_RANKED = 2 * MAX_SCORED
"""How many passages PostgreSQL ranks: any, where more have the terms of a query."""
MANY = MAX_SCORED + 1
"""The most that occurrences are counted to."""
MAX_POSITION, MAX_LENGTH = 16_383, 200
"""Limits of PostgreSQL on a position; and characters of a term that count."""
MIN_STEMMED, MAX_STEMMED = 3, 64
"""Characters of what FTS5's Porter tokenizer stems."""
COUNTED_SECONDS, OFTEN_COUNTED = 60.0, 20_000
"""How long a library with more passages than this is taken to have as many, and a term to be in as many of them."""
_WEIGHTS = f"'{{{CONTEXT_WEIGHT}, {CONTEXT_WEIGHT}, {CONTEXT_WEIGHT}, 1}}'::real[]"
_OF_LABEL = {"A": 1.0, "D": CONTEXT_WEIGHT}
"""The text of a passage is labelled A, its context D."""
_SIZE = "SELECT count(*) AS passages, avg(length) AS length FROM passage_words"
_LARGE_SIZE = """SELECT (SELECT sum(passage_count) FROM documents) AS passages, avg(length) AS length
                 FROM passage_words TABLESAMPLE SYSTEM (1) REPEATABLE (0)"""
"""Counting a million passages takes a second."""
_FREQUENT = """SELECT lexeme, share
               FROM pg_stats, unnest(CAST(CAST(most_common_elems AS text) AS text[]), most_common_elem_freqs)
                 AS frequent(lexeme, share)
               WHERE schemaname = current_schema AND tablename = 'passage_words' AND attname = 'terms'
                 AND lexeme IS NOT NULL"""
"""The terms that are in most passages, as the server's statistics have them."""
BY_INDEX = "enable_seqscan = off"
"""What the server expects of rare terms is too far off to choose between the index and all rows."""
_PORTER, _STEMMING = Stemmer("porter"), threading.Lock()


class TsvectorIndex(TermIndex):
    """The table ``passage_words``."""

    def __init__(self, database: Database, searching: Callable[[str], AbstractContextManager[None]]) -> None:
        """``searching`` runs what is inside under a setting of the server."""
        self._database = database
        self._searching = searching
        self._size = (0.0, 0, 1.0)
        """When the passages were counted, how many there were, and how many terms they have on average."""
        self._frequent: dict[str, int] = {}
        """In how many passages the most frequent terms of a large library are, in the order of the terms."""

    def prepare(self, passages: Sequence[Passage]) -> Callable[[], None]:
        rows = [{"id": passage.id, **_row(passage)} for passage in passages]
        added = text(
            """INSERT INTO passage_words (number, terms, length)
               SELECT number, CAST(:terms AS tsvector), CAST(:length AS integer) FROM passages WHERE id = :id
               ON CONFLICT (number) DO UPDATE SET terms = excluded.terms, length = excluded.length"""
        )

        def write() -> None:
            if rows:
                self._database.run(added, rows)

        return write

    def forget(self, document_id: str, page_index: int) -> None:
        self._database.run(
            text(
                """DELETE FROM passage_words WHERE number IN
                   (SELECT number FROM passages WHERE document_id = :document_id AND page_index = :page_index)"""
            ).bindparams(document_id=document_id, page_index=page_index)
        )

    def indexed(self, document_id: str) -> set[str]:
        rows = self._database.run(
            text(
                "SELECT id FROM passages JOIN passage_words USING (number) WHERE document_id = :document_id"
            ).bindparams(document_id=document_id)
        )
        return set(rows.scalars())

    def search(self, query: str, *, document_ids: Sequence[str], limit: int) -> list[tuple[str, float]]:
        with self._searching(BY_INDEX):
            return self._search(query, document_ids, limit)

    def _search(self, query: str, document_ids: Sequence[str], limit: int) -> list[tuple[str, float]]:
        terms = dict.fromkeys(_Term(term) for term in self._chosen(query))
        if not terms:
            return []
        passages, occurrences = self._count(), self._occurrences([term.text for term in terms])
        idf = {term: _idf(passages, occurrences[term.text]) for term in terms}
        found: dict[tuple[int, str, int], dict[_Term, float]] = {}
        rarer, every = _selecting(occurrences), " | ".join(term.query for term in terms)
        for selecting in filter(None, dict.fromkeys((rarer, every))):
            if len(found) >= limit:
                break
            for row in self._database.run(self._statement(idf, selecting, document_ids, limit)).all():
                number, passage_id, length, lexeme, labels = tuple(row)
                counted = found.setdefault((number, passage_id, length), dict.fromkeys(terms, 0.0))
                for term in terms:
                    if term.matches(lexeme):
                        counted[term] = max(counted[term], sum(_OF_LABEL[label] for label in labels))
        average = self._size[2]
        scored = [
            (sum(idf[term] * _saturated(times, size / average) for term, times in counted.items()), number, passage_id)
            for (number, passage_id, size), counted in found.items()
        ]
        scored.sort(key=lambda one: (-one[0], one[1]))
        return [(passage_id, score) for score, _, passage_id in scored[:limit]]

    def _statement(
        self, idf: Mapping["_Term", float], selecting: str, document_ids: Sequence[str], limit: int
    ) -> TextClause:
        values: dict[str, Any] = {
            "query": selecting,
            "ranked": MAX_RANKED,
            "average": self._size[2],
            "most": RERANKED * limit,
            "lexemes": [term.stem for term in idf],
            "beginnings": [term.stem for term in idf if term.begins],
        }
        ranks = []
        for at, (term, weight) in enumerate(idf.items()):
            values |= {f"idf{at}": weight, f"term{at}": term.query}
            ranks.append(f"CAST(:idf{at} AS real) * ts_rank({_WEIGHTS}, terms, CAST(:term{at} AS tsquery))")
        scope = "AND number IN (SELECT number FROM passages WHERE document_id IN :documents)" if document_ids else ""
        statement = text(
            f"""WITH candidates AS (
                  SELECT number, terms, length FROM passage_words WHERE terms @@ CAST(:query AS tsquery) {scope}
                  LIMIT :ranked),
                found AS (
                  SELECT number, terms, length FROM candidates
                  ORDER BY ({" + ".join(ranks)}) / ({1 - B} + {B} * length / CAST(:average AS real)) DESC, number
                  LIMIT :most)
                SELECT found.number, passages.id, found.length, lexeme, weights
                FROM found JOIN passages USING (number) CROSS JOIN LATERAL unnest(found.terms)
                WHERE lexeme = ANY(CAST(:lexemes AS text[])) OR lexeme ^@ ANY(CAST(:beginnings AS text[]))"""
        )
        if document_ids:
            statement = statement.bindparams(bindparam("documents", list(document_ids), expanding=True))
        return statement.bindparams(**values)

    def is_sound(self) -> bool:
        lacking = text("SELECT count(*) FROM passages WHERE number NOT IN (SELECT number FROM passage_words)")
        return not self._database.count(lacking)

    def absent(self, words: Sequence[str], *, document_ids: Sequence[str]) -> list[str]:
        """Looked for in one statement, but for words with which one of the most frequent terms begins."""
        self._count()
        scope = "AND number IN (SELECT number FROM passages WHERE document_id IN :documents)" if document_ids else ""
        begin = {word: _stem(beginning) for word, beginning in beginnings(words).items()}
        if not document_ids:
            begin = {word: beginning for word, beginning in begin.items() if not self._begins_frequent(beginning)}
        if not begin:
            return []
        there = ", ".join(
            f"EXISTS (SELECT FROM passage_words WHERE terms @@ CAST(:begins{at} AS tsquery) {scope})"
            for at in range(len(begin))
        )
        values = {f"begins{at}": f"{_quoted(beginning)}:*" for at, beginning in enumerate(begin.values())}
        query = text(f"SELECT {there}").bindparams(**values)
        if document_ids:
            query = query.bindparams(bindparam("documents", list(document_ids), expanding=True))
        with self._searching(BY_INDEX):
            [found] = self._database.run(query)
        return [word for word, is_there in zip(begin, found, strict=True) if not is_there]

    def _begins_frequent(self, beginning: str) -> bool:
        """Return whether one of the most frequent terms begins so."""
        terms = list(self._frequent)  # in order
        at = bisect_left(terms, beginning)
        return at < len(terms) and terms[at].startswith(beginning)

    def _count(self) -> int:
        counted_at, passages, _ = self._size
        if passages < OFTEN_COUNTED or time.monotonic() - counted_at > COUNTED_SECONDS:
            least = text("SELECT count(*) FROM (SELECT 1 FROM passage_words LIMIT :most) AS counted")
            is_small = self._database.count(least.bindparams(most=OFTEN_COUNTED)) < OFTEN_COUNTED
            row = self._database.row(text(_SIZE if is_small else _LARGE_SIZE))
            assert row is not None
            self._size = (time.monotonic(), int(row["passages"] or 0), float(row["length"] or 1))
            frequent = [] if is_small else self._database.rows(text(_FREQUENT))
            shares = sorted((one["lexeme"], one["share"]) for one in frequent)
            self._frequent = {lexeme: min(round(share * self._size[1]), MANY) for lexeme, share in shares}
        return self._size[1]

    def _occurrences(self, terms: Sequence[str]) -> dict[str, int]:
        """Counted in one statement, but for those that the server's statistics have."""
        made = {term: _Term(term) for term in terms}
        known = {term: self._frequent[one.stem] for term, one in made.items() if one.stem in self._frequent}
        if new := [term for term in made if term not in known]:
            counts = ", ".join(
                f"""(SELECT count(*) FROM (SELECT 1 FROM passage_words WHERE terms @@ CAST(:term{at} AS tsquery)
                    LIMIT :most) AS found) AS term{at}"""
                for at in range(len(new))
            )
            values = {f"term{at}": made[term].query for at, term in enumerate(new)}
            row = self._database.row(text(f"SELECT {counts}").bindparams(most=MANY, **values))
            assert row is not None
            known |= {term: row[f"term{at}"] for at, term in enumerate(new)}
        return known


def _selecting(occurrences: Mapping[str, int]) -> str:
    """Return the query that selects what is ranked first, as PostgreSQL writes it.

    A passage has one of the rarer terms, which are in no more passages than a query can afford, or two of the others.
    """
    rarer, others, sum_of = list[str](), list[str](), 0
    for number, term in sorted((number, term) for term, number in occurrences.items() if number):
        sum_of += number
        (rarer if sum_of <= MAX_SCORED else others).append(_Term(term).query)
    pairs = [f"({one} & {other})" for one, other in combinations(others, 2)]
    return " | ".join([*rarer, *pairs])


class _Term:
    """A term of a query, as the passages have it."""

    def __init__(self, term: str) -> None:
        self.text, self.begins, self.stem = term, begins_only(term), _stem(term)

    @property
    def query(self) -> str:
        return _quoted(self.stem) + (":*" if self.begins else "")

    def matches(self, lexeme: str) -> bool:
        return lexeme.startswith(self.stem) if self.begins else lexeme == self.stem

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Term) and other.query == self.query

    def __hash__(self) -> int:
        return hash(self.query)


def _row(passage: Passage) -> dict[str, object]:
    places: dict[str, list[str]] = {}
    position = 0
    for label, words in (("D", passage.context), ("A", passage.text)):
        for term in filter(None, index_terms(words)):
            position += 1
            places.setdefault(_stem(term), []).append(f"{min(position, MAX_POSITION)}{label}")
    terms = " ".join(f"{_quoted(term)}:{','.join(at)}" for term, at in places.items())
    return {"terms": terms, "length": position}


def _stem(term: str) -> str:
    """Return the term without accents on Latin letters, and its Porter stem, as FTS5's tokenizers make it."""
    plain = "".join(_bare(letter) for letter in term)[:MAX_LENGTH]
    if not MIN_STEMMED <= len(plain) <= MAX_STEMMED:
        return plain
    with _STEMMING:  # a stemmer keeps the word it works on
        return str(_PORTER.stemWord(plain))


def _bare(letter: str) -> str:
    base = unicodedata.normalize("NFD", letter)[:1]
    return base if base.isascii() else letter


def _quoted(term: str) -> str:
    doubled = term.replace("\\", "\\\\").replace("'", "''")
    return f"'{doubled}'"


def _idf(passages: int, occurrences: int) -> float:
    return max(math.log((passages - occurrences + 0.5) / (occurrences + 0.5)), MIN_IDF)


def _saturated(times: float, length: float) -> float:
    """``length``: in averages."""
    return times * (K1 + 1) / (times + K1 * (1 - B + B * length))
