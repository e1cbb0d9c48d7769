"""The keyword index: SQLite FTS5 over terms made here, so that every script is found and numbers stay whole."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

from pincite.core.domain.documents import Passage
from pincite.core.store.sqlite import SqliteDatabase
from pincite.core.text.terms import STOP_WORDS, UNRAISED, root, stem

CONTEXT_WEIGHT = 0.5
COMMON_SHARE = 0.15
"""Maximum share of all passages that a term may occur in; a commoner one is left out of a query that has rarer ones."""
MAX_SCORED = 12_000
"""Maximum number of occurrences that a query scores, its rarer terms first: about 30 ms."""
MIN_TERMS = 3
MAX_TERMS = 32

# Written without spaces between words: indexed as overlapping pairs of characters.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
)
# Vowel signs and accents that belong to the letter before them, which \w does not know.
_SIGNS = "\u0300-\u036f\u0900-\u0963\u0966-\u0dff"
_TERM = re.compile(
    rf"(?P<number>\d+(?:[.,]\d+)*(?![^\W_]))|(?P<unspaced>[{_UNSPACED}]+)|(?P<word>(?:[^\W_{_UNSPACED}]|[{_SIGNS}])+)"
)
_HYPHENATED = re.compile(r"(?<![\w-])([^\W\d_]+)[-\u2010]([^\W\d_]+)(?![\w-])")
"""Found without the hyphen too: at a line's end nothing shows whether it belongs to the word."""
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_MARKS = re.compile(r"[\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u00ad]")
_ARABIC_LETTERS = str.maketrans("أإآٱىة", "اااايه")
_ARABIC_ARTICLE = re.compile(r"^(?:وال|بال|كال|فال|ال|لل)(?=\w{3})")
_ARABIC = re.compile(r"[\u0600-\u06ff]")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_LATIN = re.compile(r"[\dA-Za-zÀ-ɏ'’]+")
_CYRILLIC_STEM = 6
"""Cyrillic words are cut to this many letters, which drops most inflected endings."""


def index_terms(text: str) -> Iterator[str]:
    """Yield the terms of a text: case and width folded, unspaced scripts as pairs, numbers without thousands commas."""
    text = _MARKS.sub("", unicodedata.normalize("NFKC", text.translate(UNRAISED))).casefold()
    yield from ("".join(match.groups()) for match in _HYPHENATED.finditer(text))
    for match in _TERM.finditer(text):
        term = match.group()
        if match.lastgroup == "number":
            yield from [term.replace(",", "")] if _THOUSANDS.fullmatch(term) else term.split(",")
        elif match.lastgroup == "unspaced":
            yield from (term[at : at + 2] for at in range(len(term)))
        elif _ARABIC.match(term):
            yield _ARABIC_ARTICLE.sub("", term).translate(_ARABIC_LETTERS)
        elif _CYRILLIC.match(term):
            yield term[:_CYRILLIC_STEM]
        else:
            yield term


class Fts5Index:
    """BM25 over the words of passages that the library already holds."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def add(self, passages: Sequence[Passage]) -> None:
        self.prepare(passages)()

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
        expression = self._expression(query)
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

    def absent(self, words: Sequence[str], *, document_ids: Sequence[str]) -> list[str]:
        scope, values = _within(document_ids)
        sql = f"SELECT 1 FROM passage_words WHERE passage_words MATCH ? {scope} LIMIT 1"
        of_word = {word: list(index_terms(word)) for word in words if _LATIN.fullmatch(word)}
        begun = {word: f'"{root(stem(terms[0]))}"*' for word, terms in of_word.items() if len(terms) == 1}
        found = self._database.connection.execute
        return [word for word, beginning in begun.items() if found(sql, (beginning, *values)).fetchone() is None]

    def _expression(self, query: str) -> str:
        """Any of the query's terms, each quoted so that nothing in it is read as syntax."""
        terms = list(dict.fromkeys(term for term in index_terms(query) if term))
        terms = [term for term in terms if term not in STOP_WORDS] or terms
        return " OR ".join(self._affordable([_quoted(term) for term in terms[:MAX_TERMS]]))

    def _affordable(self, terms: list[str]) -> list[str]:
        """Return the terms that distinguish passages at a bearable cost, rarest first."""
        if len(terms) <= MIN_TERMS:
            return terms
        connection = self._database.connection
        passages = connection.execute("SELECT count(*) FROM passage_words_docsize").fetchone()[0]
        counted = sorted((self._occurrences(term), term) for term in terms)
        chosen: list[str] = []
        scored = 0
        for occurrences, term in counted:
            scored += occurrences
            too_much = scored > MAX_SCORED or occurrences > COMMON_SHARE * passages
            if too_much and len(chosen) >= MIN_TERMS:
                break
            if occurrences:
                chosen.append(term)
        return chosen or terms

    def _occurrences(self, term: str) -> int:
        """In how many passages it is, up to the number that no query can afford."""
        counted: int = self._database.connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM passage_words WHERE passage_words MATCH ? LIMIT ?)",
            (term, MAX_SCORED + 1),
        ).fetchone()[0]
        return counted


def _within(document_ids: Sequence[str]) -> tuple[str, Sequence[str]]:
    """What limits a query to the passages of these documents, if any are given."""
    if not document_ids:
        return "", ()
    # The plus keeps FTS5 from running the whole query again for each row of the scope.
    return f"AND +rowid IN (SELECT number FROM passages WHERE document_id IN ({_marks(document_ids)}))", document_ids


def _marks(values: Sequence[str]) -> str:
    return ",".join("?" * len(values))


def _quoted(term: str) -> str:
    """Return the query for a term; a single character of an unspaced script matches every pair that it begins."""
    single = len(term) == 1 and re.match(f"[{_UNSPACED}]", term)
    return f'"{term}"' + ("*" if single else "")
