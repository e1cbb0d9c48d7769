"""What is wrong with a data directory, found without changing anything in it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from pincite.core.domain.documents import Document, DocumentStatus, embedding_key
from pincite.core.domain.errors import BusyError, NewerDatabaseError, PinciteError, SettingsError, StorageError
from pincite.core.domain.settings import Settings, load_settings
from pincite.core.store import review_log
from pincite.core.store.data_dir import quarantined, strays
from pincite.core.store.indexes import check_vectors
from pincite.core.store.library import Library, stored_passage
from pincite.core.store.records import damaged_records
from pincite.core.store.soundness import Trouble, misplaced, trouble_of
from pincite.core.store.sqlite import ReadOnlyDatabase, SqliteDatabase
from pincite.core.store.upkeep.defects import Defect, DefectKind

UNREADABLE = (sqlite3.DatabaseError, DBAPIError, StorageError)
"""What a damaged database raises while it is read."""
PASSAGES = """SELECT passages.*, coalesce(pages.page_label, '') AS page_label, coalesce(pages.text, '') AS page_text
  FROM passages LEFT JOIN pages USING (document_id, page_index)"""
_KINDS = {Trouble.MISSING: DefectKind.DATABASE_MISSING, Trouble.EMPTY: DefectKind.DATABASE_MISSING}
_WORDS_DIFFER = """SELECT EXISTS (SELECT number FROM passages EXCEPT SELECT id FROM passage_words_content)
  OR EXISTS (SELECT id FROM passage_words_content EXCEPT SELECT number FROM passages)"""
_NAME_OF = """SELECT name FROM documents WHERE id = ?1 UNION ALL SELECT question FROM turns WHERE id = ?1
  UNION ALL SELECT title FROM sessions WHERE id = ?1"""
_RECORDS_OF_PEOPLE = {
    "turns": "answer",
    "trace_steps": "trace",
    "reviews": "review",
    "sessions": "scope",
    "pins": "note",
}
_WORDS_PARTS = ("data", "idx", "content", "docsize", "config")


def verify(settings: Settings) -> Iterator[Defect]:
    """Look at every file and every value; a large library takes minutes."""
    for path in misplaced(settings):
        sentence = f"{path.name} should be a folder but is a file, or the reverse."
        yield Defect(DefectKind.MISPLACED, sentence, repairable=True, subject=path.name)
    yield from _settings(settings)
    for path in quarantined(settings):
        sentence = f"{path.name} was set aside because it is not in the library. Run `pincite add {path}` to add it."
        yield Defect(DefectKind.FILE_UNKNOWN, sentence, repairable=True, subject=path.name)
    trouble = trouble_of(settings)
    if trouble is not None:
        kind = _KINDS.get(trouble, DefectKind.DATABASE_DAMAGED)
        yield Defect(kind, trouble.sentence(settings), repairable=True, subject=settings.database_path.name)
    if trouble is None and settings.database_path.is_file() and settings.database_path.stat().st_size:
        yield from _database(settings)
    yield from _checkpoints(settings)


def _settings(settings: Settings) -> Iterator[Defect]:
    try:
        load_settings(settings.data_dir)
    except SettingsError as error:
        yield Defect(DefectKind.SETTINGS_UNREADABLE, str(error), repairable=True, subject=settings.choices_path.name)


def _database(settings: Settings) -> Iterator[Defect]:
    path = settings.database_path
    try:
        database = ReadOnlyDatabase(path)
    except (BusyError, NewerDatabaseError):
        raise
    except (*UNREADABLE, OSError) as error:
        yield _damaged(path, str(error))
        return
    with closing(database):
        for check in (_sound, _orphaned_rows, _values, _decisions, _documents, _words, _vectors):
            try:
                yield from check(settings, database)
            except UNREADABLE as error:
                yield _damaged(path, str(error))
                return


def _damaged(path: Path, why: str) -> Defect:
    what = f"{path.name} is damaged ({' '.join(why.split())[:200]})."
    hint = "`pincite repair` continues from the newest automatic backup; `pincite restore` restores one of yours."
    return Defect(DefectKind.DATABASE_DAMAGED, f"{what} {hint}", repairable=True, subject=path.name)


def _sound(settings: Settings, database: SqliteDatabase) -> Iterator[Defect]:
    path = settings.database_path
    found = [row[0] for row in database.connection.execute("PRAGMA integrity_check(5)")]
    if found != ["ok"]:
        yield _damaged(path, "; ".join(found))


def _orphaned_rows(settings: Settings, database: SqliteDatabase) -> Iterator[Defect]:
    tables: dict[str, int] = {}
    for row in database.connection.execute("PRAGMA foreign_key_check"):
        tables[row[0]] = tables.get(row[0], 0) + 1
    for table, count in tables.items():
        yield Defect(DefectKind.ROWS_ORPHANED, f"Rows of {table} that belong to nothing: {count}.", True, table)


def _documents(settings: Settings, database: SqliteDatabase) -> Iterator[Defect]:
    library = Library(database, settings)
    documents = library.list()
    for document in documents:
        yield from _file(library, document)
        yield from _figures(database, document)
        if changed := changed_pages(database.connection, document.id):
            pages = ", ".join(str(index + 1) for index in changed)
            sentence = f"The text of {document.name} differs from what was read from it, on page {pages}."
            yield Defect(DefectKind.PASSAGES_WRONG, sentence, True, document.id)
    for path in strays(settings, [document.id for document in documents]):
        sentence = f"{path.name} belongs to no document. The next start sets it aside; it is not deleted."
        yield Defect(DefectKind.FILE_UNKNOWN, sentence, True, path.name)


def _file(library: Library, document: Document) -> Iterator[Defect]:
    try:
        path = library.file_path(document.id)
        path.open("rb").close()
    except (OSError, PinciteError) as error:
        why = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({error})"
        sentence = f"The PDF of {document.name} {why}. Add it again to show its pages and read them again."
        yield Defect(DefectKind.FILE_MISSING, sentence, False, document.id)
        return
    if not library.file_is_sound(document.id):
        sentence = f"The PDF of {document.name} is not the file that was added: its bytes have changed; add it again."
        yield Defect(DefectKind.FILE_CHANGED, sentence, False, document.id)


def _figures(database: SqliteDatabase, document: Document) -> Iterator[Defect]:
    """Yield defects in the numbers of pages and passages; pages are missing only if the document's status is ready."""
    lacking = document.page_count - database.number("SELECT count(*) FROM pages WHERE document_id = ?", [document.id])
    if lacking > 0 and document.status is DocumentStatus.READY:
        sentence = f"{lacking} of {document.page_count} pages of {document.name} are not in the library."
        yield Defect(DefectKind.PAGES_LACKING, sentence, True, document.id)
    count = database.number("SELECT count(*) FROM passages WHERE document_id = ?", [document.id])
    if count != document.passage_count:
        sentence = f"{document.name} should have {document.passage_count} passages, but the number found is {count}."
        yield Defect(DefectKind.PASSAGES_WRONG, sentence, True, document.id)


def changed_pages(connection: sqlite3.Connection, document_id: str) -> list[int]:
    """Return pages with passages that have changed: each carries the hash of its text, which finds a changed letter."""
    rows = connection.execute(f"{PASSAGES} WHERE document_id = ?", (document_id,))
    return sorted({row["page_index"] for row in rows if embedding_key(stored_passage(row)) != row["embedding_key"]})


def _values(settings: Settings, database: SqliteDatabase) -> Iterator[Defect]:
    """What cannot be decoded: of documents it can be read again, of people's work a backup may have it."""
    connection = database.connection
    found = dict.fromkeys((each.table, each.subject, each.page_index) for each in damaged_records(database))
    for table, subject, page_index in found:
        row = connection.execute(_NAME_OF, (subject,)).fetchone()
        name = row[0][:60] if row else subject
        if table in _RECORDS_OF_PEOPLE:
            what = f"The {_RECORDS_OF_PEOPLE[table]} of “{name}” cannot be read any more; a backup may still have it."
            yield Defect(DefectKind.TURN_UNREADABLE, what, False, subject)
        elif table == "documents":
            yield Defect(DefectKind.DOCUMENT_UNREADABLE, f"The entry of {name} is damaged.", True, subject)
        else:
            sentence = f"Page {page_index + 1} of {name} is damaged in the library."
            yield Defect(DefectKind.PAGE_UNREADABLE, sentence, True, subject)


def _decisions(settings: Settings, database: SqliteDatabase) -> Iterator[Defect]:
    for turn_id, sentence in review_log.troubles(database):
        yield Defect(DefectKind.DECISION_CHANGED, sentence, False, turn_id)


def _words(settings: Settings, database: SqliteDatabase) -> Iterator[Defect]:
    if not words_are_sound(database.connection):
        sentence = "The keyword index is damaged, or does not hold the same passages as the library."
        yield Defect(DefectKind.WORDS_WRONG, sentence, True)


def _vectors(settings: Settings, database: SqliteDatabase) -> Iterator[Defect]:
    for sentence in check_vectors(database):
        yield Defect(DefectKind.VECTORS_WRONG, sentence, True, settings.database_path.name)


def words_are_sound(connection: sqlite3.Connection) -> bool:
    """FTS5 checks itself only where it may write, and so a copy of its tables does it."""
    made = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'passage_words'").fetchone()
    if made is None or connection.execute(_WORDS_DIFFER).fetchone()[0]:
        return False
    with closing(sqlite3.connect("", isolation_level=None)) as copy:
        try:
            copy.execute(made[0])
            for part in _WORDS_PARTS:
                rows = connection.execute(f"SELECT * FROM passage_words_{part}")
                marks = ",".join("?" * len(rows.description))
                copy.execute(f"DELETE FROM passage_words_{part}")
                copy.executemany(f"INSERT INTO passage_words_{part} VALUES ({marks})", map(tuple, rows))
            copy.execute("INSERT INTO passage_words(passage_words) VALUES ('integrity-check')")
        except sqlite3.DatabaseError:
            return False
    return True


def _checkpoints(settings: Settings) -> Iterator[Defect]:
    path = settings.checkpoints_path
    if not path.exists():
        return
    try:
        with closing(_looked_into(path)) as checkpoints:
            found = [row[0] for row in checkpoints.execute("PRAGMA integrity_check(5)")]
            if found != ["ok"]:
                raise StorageError("; ".join(found))
            threads = {row[0] for row in checkpoints.execute("SELECT DISTINCT thread_id FROM checkpoints")}
    except (*UNREADABLE, OSError) as error:
        why = f"{path.name} is damaged ({error}). It holds no answers, only the progress of running ones."
        yield Defect(DefectKind.CHECKPOINTS_DAMAGED, why, True, path.name)
        return
    yield from _threads(settings, threads)


def _looked_into(path: Path) -> sqlite3.Connection:
    """Return a database that is not ours to migrate, without a trace where its log does not need one."""
    how = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "mode=ro&immutable=1"
    return sqlite3.connect(f"{path.resolve().as_uri()}?{how}", uri=True)


def _threads(settings: Settings, threads: set[str]) -> Iterator[Defect]:
    """Yield the defects of the checkpoints: runs of the graph without a turn."""
    try:
        with closing(ReadOnlyDatabase(settings.database_path)) as database:
            turns = {row[0] for row in database.connection.execute("SELECT id FROM turns")}
    except (*UNREADABLE, OSError):
        return  # already reported
    if gone := threads - turns:
        sentence = f"Checkpoints of deleted answers that are still kept: {len(gone)}."
        yield Defect(DefectKind.CHECKPOINTS_ORPHANED, sentence, True)
