"""What is wrong with a data directory, found without changing anything in it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from sqlalchemy import func, select
from sqlalchemy.exc import DBAPIError

from pincite.core.domain.documents import Document, DocumentStatus, embedding_key
from pincite.core.domain.errors import BusyError, NewerDatabaseError, PinciteError, SettingsError, StorageError
from pincite.core.domain.settings import Settings, load_settings
from pincite.core.store import review_log
from pincite.core.store.data_dir import quarantined, strays
from pincite.core.store.database import Database
from pincite.core.store.indexes import check_vectors
from pincite.core.store.library import Library, stored_passage
from pincite.core.store.open import open_database
from pincite.core.store.records import damaged_records
from pincite.core.store.schema import documents, pages, passages, sessions, turns
from pincite.core.store.soundness import Trouble, misplaced, trouble_of
from pincite.core.store.sqlite import ReadOnlyDatabase, SqliteDatabase
from pincite.core.store.upkeep.defects import Defect, DefectKind

UNREADABLE = (sqlite3.DatabaseError, DBAPIError, StorageError)
"""What a damaged database raises while it is read."""
_OF_PAGE = (passages.c.document_id == pages.c.document_id) & (passages.c.page_index == pages.c.page_index)
PASSAGES = select(
    passages,
    func.coalesce(pages.c.page_label, "").label("page_label"),
    func.coalesce(pages.c.text, "").label("page_text"),
).outerjoin(pages, _OF_PAGE)
"""Passages, also those of pages that are missing."""
_KINDS = {Trouble.MISSING: DefectKind.DATABASE_MISSING, Trouble.EMPTY: DefectKind.DATABASE_MISSING}
_RECORDS_OF_PEOPLE = {
    "turns": "answer",
    "trace_steps": "trace",
    "reviews": "review",
    "sessions": "scope",
    "pins": "note",
}


def verify(settings: Settings) -> Iterator[Defect]:
    """Look at every file and every value; a large library takes minutes."""
    for path in misplaced(settings):
        sentence = f"{path.name} should be a folder but is a file, or the reverse."
        yield Defect(DefectKind.MISPLACED, sentence, repairable=True, subject=path.name)
    yield from _settings(settings)
    for path in quarantined(settings):
        sentence = f"{path.name} was set aside because it is not in the library. Run `pincite add {path}` to add it."
        yield Defect(DefectKind.FILE_UNKNOWN, sentence, repairable=True, subject=path.name)
    trouble = None if settings.database_url else trouble_of(settings)
    if trouble is not None:
        kind = _KINDS.get(trouble, DefectKind.DATABASE_DAMAGED)
        yield Defect(kind, trouble.sentence(settings), repairable=True, subject=settings.database_path.name)
    if settings.database_url:
        yield from _server(settings)
        return
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


def _server(settings: Settings) -> Iterator[Defect]:
    """Look at what PostgreSQL holds; whether its files are sound is its administrator's to check."""
    with closing(open_database(settings)) as database:
        for check in (_values, _decisions, _documents, _words, _vectors):
            yield from check(settings, database)


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


def _documents(settings: Settings, database: Database) -> Iterator[Defect]:
    library = Library(database, settings)
    documents = library.list()
    for document in documents:
        yield from _file(library, document)
        yield from _figures(database, document)
        if changed := changed_pages(database, document.id):
            numbers = ", ".join(str(index + 1) for index in changed)
            sentence = f"The text of {document.name} differs from what was read from it, on page {numbers}."
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


def _figures(database: Database, document: Document) -> Iterator[Defect]:
    """Yield defects in the numbers of pages and passages; pages are missing only if the document's status is ready."""
    stored, found = (
        database.count(select(func.count()).select_from(table).where(table.c.document_id == document.id))
        for table in (pages, passages)
    )
    lacking = document.page_count - stored
    if lacking > 0 and document.status is DocumentStatus.READY:
        sentence = f"{lacking} of {document.page_count} pages of {document.name} are not in the library."
        yield Defect(DefectKind.PAGES_LACKING, sentence, True, document.id)
    if found != document.passage_count:
        sentence = f"{document.name} should have {document.passage_count} passages, but the number found is {found}."
        yield Defect(DefectKind.PASSAGES_WRONG, sentence, True, document.id)


def changed_pages(database: Database, document_id: str) -> list[int]:
    """Return pages with passages that have changed: each carries the hash of its text, which finds a changed letter."""
    rows = database.rows(PASSAGES.where(passages.c.document_id == document_id))
    return sorted({row["page_index"] for row in rows if embedding_key(stored_passage(row)) != row["embedding_key"]})


def _values(settings: Settings, database: Database) -> Iterator[Defect]:
    """What cannot be decoded: of documents it can be read again, of people's work a backup may have it."""
    found = dict.fromkeys((each.table, each.subject, each.page_index) for each in damaged_records(database))
    for table, subject, page_index in found:
        columns = documents.c.name, turns.c.question, sessions.c.title
        named = (database.run(select(column).where(column.table.c.id == subject)).scalar() for column in columns)
        name = next(filter(None, named), subject)[:60]
        if table in _RECORDS_OF_PEOPLE:
            what = f"The {_RECORDS_OF_PEOPLE[table]} of “{name}” cannot be read any more; a backup may still have it."
            yield Defect(DefectKind.TURN_UNREADABLE, what, False, subject)
        elif table == "documents":
            yield Defect(DefectKind.DOCUMENT_UNREADABLE, f"The entry of {name} is damaged.", True, subject)
        else:
            sentence = f"Page {page_index + 1} of {name} is damaged in the library."
            yield Defect(DefectKind.PAGE_UNREADABLE, sentence, True, subject)


def _decisions(settings: Settings, database: Database) -> Iterator[Defect]:
    for turn_id, sentence in review_log.troubles(database):
        yield Defect(DefectKind.DECISION_CHANGED, sentence, False, turn_id)


def _words(settings: Settings, database: Database) -> Iterator[Defect]:
    if not database.keyword_index().is_sound():
        sentence = "The keyword index is damaged, or does not hold the same passages as the library."
        yield Defect(DefectKind.WORDS_WRONG, sentence, True)


def _vectors(settings: Settings, database: Database) -> Iterator[Defect]:
    for sentence in check_vectors(database):
        yield Defect(DefectKind.VECTORS_WRONG, sentence, True, settings.database_path.name)


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
            kept = set(database.run(select(turns.c.id)).scalars())
    except (*UNREADABLE, OSError):
        return  # already reported
    if gone := threads - kept:
        sentence = f"Checkpoints of deleted answers that are still kept: {len(gone)}."
        yield Defect(DefectKind.CHECKPOINTS_ORPHANED, sentence, True)
