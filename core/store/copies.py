"""Copies of the database that Pincite makes automatically: one a day, and one before the database's format changes.

PDFs are not in them: they never change, and stay in ``files/``. After a deletion one new copy replaces them all.
"""

import logging
import os
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from pincite.core.domain.errors import StorageError

logger = logging.getLogger(__name__)

FOLDER = "backups"
KEPT = 3
DAY_SECONDS = 86_400.0


def copies_in(data_dir: Path) -> list[Path]:
    """Return the newest first."""
    return sorted((data_dir / FOLDER).glob("*.db"), key=lambda path: path.stat().st_mtime, reverse=True)


def copy_whole(source: sqlite3.Connection, target: Path) -> str:
    """Copy a database while it may be written to; return "ok", or what is wrong with the copy. Raises sqlite3.Error."""
    with closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
        return str(copy.execute("PRAGMA quick_check(1)").fetchone()[0])


def copy_database(source: sqlite3.Connection, data_dir: Path, name: str, *, emptied: bool = False) -> Path:
    """Copy a database while it may be written to and return the copy's path; a copy with a fault replaces none.

    `emptied`: without what deleted rows left in free pages and in the word index. Raises OSError, sqlite3.Error.
    """
    folder = data_dir / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    partial, copy = folder / f"{name}.{os.getpid()}.partial", folder / f"{name}.db"
    try:
        if copy_whole(source, partial) != "ok":
            raise sqlite3.DatabaseError("the copy is damaged, as the database is")
        if emptied:
            with closing(sqlite3.connect(partial)) as connection:
                empty(connection)
        partial.replace(copy)
    finally:
        partial.unlink(missing_ok=True)
    return copy


def empty(connection: sqlite3.Connection, *, words: bool = True) -> None:
    """Rewrite a database without what deleted rows left behind; with `words` the word index too.

    `secure_delete` overwrites rows, but not the words of a full-text index nor copies that moved within a page.
    """
    if words:
        connection.execute("INSERT INTO passage_words(passage_words) VALUES ('optimize')")
    connection.commit()
    connection.execute("VACUUM")


class Copies(Protocol):
    """Copies of a database that Pincite makes automatically."""

    def mark(self) -> None:
        """Note, in the transaction of a deletion, that the copies must be replaced."""

    def begin(self, *, daily: bool) -> None:
        """In a thread, make the copy that is due, unless one is being made.

        After a deletion it replaces the others; with ``daily`` it is made where the newest is older than a day.
        """

    def finish(self) -> None:
        """Wait for the copy that is being made, then do what a deletion since its beginning asks for."""

    def replace(self) -> bool:
        """Put a copy of what there is now in place of all others; False: it could not be made, and they stay."""


class NoCopies:
    """For a database whose administrator backs it up."""

    def mark(self) -> None: ...

    def begin(self, *, daily: bool) -> None: ...

    def finish(self) -> None: ...

    def replace(self) -> bool:
        return True


class DailyCopy:
    """The copy of the day, and the copy that replaces all others after a deletion.

    A deletion leaves a mark in `removals`, in its own transaction; the mark goes once no copy holds what was deleted.
    No copy is deleted before the one that replaces it exists. Nothing here may be called inside a transaction.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection], data_dir: Path) -> None:
        """``connect`` gives the calling thread's own connection."""
        self._connect = connect
        self._data_dir = data_dir
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._working = threading.Lock()

    def mark(self) -> None:
        self._connect().execute("INSERT INTO removals (subject, kind) VALUES (?, 'copies')", (uuid.uuid4().hex,))

    def begin(self, *, daily: bool) -> None:
        with self._starting:
            making = self._thread is not None and self._thread.is_alive()
            if not making and (self._marks() or (daily and self._is_due())):
                self._thread = threading.Thread(target=self._make, args=(daily,), name="backup", daemon=True)
                self._thread.start()

    def finish(self) -> None:
        if self._thread is not None:
            self._thread.join()
        self._make(False)

    def replace(self) -> bool:
        with self._working:
            marks = self._marks()
            folder = self._data_dir / FOLDER
            try:
                new = copy_database(self._connect(), self._data_dir, _today(), emptied=True) if self._copies() else None
                for path in folder.glob("*"):  # also what another process writes, or left when it was killed
                    if path != new:
                        path.unlink(missing_ok=True)
                self._connect().executemany("DELETE FROM removals WHERE subject = ? AND kind = 'copies'", marks)
            except (OSError, sqlite3.Error, StorageError):
                logger.warning("The automatic backup could not be replaced after a deletion", exc_info=True)
                return False
            return True

    def _make(self, daily: bool) -> None:
        if self._marks():
            self.replace()
        elif daily:
            with self._working:
                self._make_daily()

    def _make_daily(self) -> None:
        if not self._is_due():
            return
        try:
            copy_database(self._connect(), self._data_dir, _today())
            for old in self._copies()[KEPT:]:
                old.unlink()
        except (OSError, sqlite3.Error, StorageError):
            logger.warning("The automatic backup could not be written", exc_info=True)

    def _is_due(self) -> bool:
        newest = next(iter(self._copies()), None)
        return newest is None or time.time() - newest.stat().st_mtime >= DAY_SECONDS

    def _copies(self) -> list[Path]:
        return copies_in(self._data_dir)

    def _marks(self) -> list[tuple[str]]:
        rows = self._connect().execute("SELECT subject FROM removals WHERE kind = 'copies'")
        return [(row[0],) for row in rows]


def _today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"
