"""Mends a data directory from what is kept in it. Nothing is deleted: what is replaced goes to ``damaged/``."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import true

from pincite.core.domain.errors import DamagedDatabaseError, DocumentError, StorageError
from pincite.core.domain.settings import Settings
from pincite.core.store.copies import copies_in
from pincite.core.store.data_dir import alone, check_ours
from pincite.core.store.fts5 import Fts5Index
from pincite.core.store.library import Library, stored_passage
from pincite.core.store.private import keep_private
from pincite.core.store.records import damaged_records
from pincite.core.store.review_log import noted
from pincite.core.store.soundness import misplaced, only_sqlite, trouble_of
from pincite.core.store.sqlite import ReadOnlyDatabase, SqliteDatabase, has_our_tables
from pincite.core.store.upkeep.defects import DefectKind
from pincite.core.store.upkeep.verify import PASSAGES, changed_pages, verify

if TYPE_CHECKING:
    from pincite.core.services.bootstrap import Pincite

PASSAGES_AT_ONCE = 500


class Repair:
    """One repair of one directory."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._aside = settings.data_dir / "damaged" / datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        self._mended = settings.database_path.with_name("pincite.db.mended")
        self.read_again: dict[str, list[int]] = {}
        """Pages that must be read again, by document."""

    def files(self) -> Iterator[str]:
        """Bring the directory to a state in which it can be opened, and yield what was done. Raises StorageError."""
        settings = self._settings
        only_sqlite(settings)
        with suppress(DamagedDatabaseError):
            check_ours(settings)
        with alone(settings.data_dir):
            keep_private(settings.data_dir)
            for path in misplaced(settings):
                yield self._set_aside(path)
            found = list(verify(settings))
            kinds = {finding.kind for finding in found}
            if DefectKind.SETTINGS_UNREADABLE in kinds:
                yield f"{self._set_aside(settings.choices_path)} The defaults apply again."
            if DefectKind.CHECKPOINTS_DAMAGED in kinds:
                for path in _with_log(settings.checkpoints_path):
                    self._set_aside(path)
                yield "Moved checkpoints.db aside; it holds no answers."
            trouble = trouble_of(settings) if DefectKind.DATABASE_DAMAGED not in kinds else None
            if DefectKind.DATABASE_DAMAGED in kinds or trouble or self._mended.exists():
                yield self._mend_database()
            if settings.database_path.exists():
                yield from self._mend_rows()
                yield from self._mend_memory()

    def _mend_database(self) -> str:
        """Replace the database by the newest automatic backup, else a new one; resumes if it was killed."""
        path, copy = self._settings.database_path, _sound_copy(self._settings.data_dir)
        came = f"the automatic backup of {_day(copy)} is in its place" if copy else "there was no automatic backup"
        if not self._mended.exists():
            partial = self._mended.with_suffix(".partial")
            for left in _with_log(partial):
                left.unlink()
            if copy:
                shutil.copyfile(copy, partial)
            partial.touch()
            partial.rename(self._mended)
        for old in _with_log(path):
            self._set_aside(old)
        self._mended.rename(path)
        with closing(SqliteDatabase(path)) as database:
            tables = ("documents", "sessions", "turns", "reviews")
            contents = ", ".join(f"{database.number(f'SELECT count(*) FROM {table}')} {table}" for table in tables)
            with database.transaction() as connection:
                connection.execute("DELETE FROM tokens")  # some may have been revoked since
        lost = "Anything newer is lost; PDFs that are not in it are added."
        return f"pincite.db could not be used as it was; {came}: {contents}. {lost}"

    def _mend_rows(self) -> Iterator[str]:
        """Mend what is wrong inside a sound database."""
        with closing(SqliteDatabase(self._settings.database_path)) as database:
            connection = database.connection
            if orphans := drop_orphans(database):
                yield f"Deleted rows that belonged to nothing: {orphans}."
            damaged = list(damaged_records(database))
            connection.executemany(
                "UPDATE documents SET status = 'queued', notes = '[]', outline = '[]' WHERE id = ?",
                {(each.subject,) for each in damaged if each.table == "documents"},
            )
            for document in Library(database, self._settings).list():
                pages = {each.page_index for each in damaged if each.subject == document.id and each.page_index >= 0}
                pages |= set(changed_pages(database, document.id))
                stored = database.number("SELECT count(*) FROM pages WHERE document_id = ?", (document.id,))
                if pages or stored < document.page_count:
                    self.read_again[document.id] = sorted(pages)
            if not database.keyword_index().is_sound():
                yield f"Rebuilt the keyword index. Passages indexed: {_index_words(database)}."

    def _set_aside(self, path: Path) -> str:
        self._aside.mkdir(parents=True, exist_ok=True)
        path.rename(self._aside / path.name)
        return f"Moved {path.name} to {self._aside.relative_to(self._settings.data_dir)}."

    def _mend_memory(self) -> Iterator[str]:
        """Take the checkpoints of answers that are deleted out of their file."""
        path = self._settings.checkpoints_path
        if not path.exists():
            return
        with closing(sqlite3.connect(path, timeout=30)) as connection:
            connection.execute("ATTACH ? AS library", (str(self._settings.database_path),))
            orphaned = "thread_id NOT IN (SELECT id FROM library.turns)"
            connection.execute(f"DELETE FROM writes WHERE {orphaned}")
            forgotten = connection.execute(f"DELETE FROM checkpoints WHERE {orphaned}").rowcount
            connection.commit()
        if forgotten:
            yield "Deleted the checkpoints of answers that are no longer there."


def go_on(pincite: "Pincite", repair: Repair) -> Iterator[str]:
    """Read again what has to be, and take in PDFs that the library does not know; yield what happened."""
    pincite.ingest.take_charge()
    for document_id, pages in repair.read_again.items():
        document = pincite.library.get(document_id)
        if pincite.library.file_is_sound(document_id):
            pincite.ingest.retry(document_id, pages)
            yield f"Reading {document.name} again where pages were missing or damaged."
        else:
            yield f"{document.name} has damaged pages, and its PDF is missing. Add it again to read them."
    for path in pincite.documents.quarantined():
        try:
            added = pincite.ingest.add(path, path.name)
            yield f"Added {path.name}, which was not in the library, as {added.document.name}."
        except DocumentError as error:
            yield f"{path.name} stays in quarantine: {error}"
    pincite.ingest.wait()
    if pincite.indexes.check():
        pincite.indexes.rebuild()
        pincite.ingest.wait()
        yield "Looked through the vectors, and made those that were missing."


def _day(path: Path) -> str:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).strftime("%d %B %Y, %H:%M UTC")


def _sound_copy(data_dir: Path) -> Path | None:
    """Return the newest automatic backup that can be opened."""
    for path in copies_in(data_dir):
        try:
            with closing(ReadOnlyDatabase(path)) as database:
                if has_our_tables(database.connection):
                    return path
        except (StorageError, sqlite3.Error):
            continue
    return None


def drop_orphans(database: SqliteDatabase) -> int:
    """Delete rows that refer to a missing document, session or turn: nothing leads to them. Return how many."""
    connection, dropped = database.connection, 0
    with noted(database, true()):
        while found := connection.execute("PRAGMA foreign_key_check").fetchall():
            for table, number in {(row[0], row[3]) for row in found}:
                pairs = [row for row in connection.execute(f"PRAGMA foreign_key_list({table})") if row[0] == number]
                same = " AND ".join(f"parent.{row[4]} = {table}.{row[3]}" for row in pairs)
                gone = f"NOT EXISTS (SELECT 1 FROM {pairs[0][2]} AS parent WHERE {same})"
                dropped += connection.execute(f"DELETE FROM {table} WHERE {gone}").rowcount
    return dropped


def _with_log(path: Path) -> list[Path]:
    return [file for suffix in ("", "-wal", "-shm") if (file := Path(f"{path}{suffix}")).exists()]


def _index_words(database: SqliteDatabase) -> int:
    """Rebuild the keyword index and return the number of passages; if killed, the old one stays whole."""
    keywords, count = Fts5Index(database), 0
    with database.transaction() as connection:
        made = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'passage_words'").fetchone()[0]
        connection.execute("DROP TABLE passage_words")
        connection.execute(made)
        for some in database.run(PASSAGES).mappings().partitions(PASSAGES_AT_ONCE):
            keywords.add([stored_passage(row) for row in some])
            count += len(some)
    return count
