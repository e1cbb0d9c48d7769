"""Copies of the database that Pincite makes by itself: one a day, and one before the database's format changes.

PDFs are not in them: they never change, and stay in ``files/``. What is deleted is deleted here too.
"""

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

logger = logging.getLogger(__name__)

FOLDER = "backups"
KEPT = 3
DAY_SECONDS = 86_400.0


def copies_in(data_dir: Path) -> list[Path]:
    """The newest first."""
    return sorted((data_dir / FOLDER).glob("*.db"), key=lambda path: path.stat().st_mtime, reverse=True)


def copy_whole(source: sqlite3.Connection, target: Path) -> str:
    """Copy a database while it may be written to; says "ok", or what is wrong with the copy. Raises sqlite3.Error."""
    with closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
        return str(copy.execute("PRAGMA quick_check(1)").fetchone()[0])


def copy_database(source: sqlite3.Connection, data_dir: Path, name: str) -> None:
    """Copy a database while it may be written to; a copy with a fault replaces none. Raises OSError, sqlite3.Error."""
    folder = data_dir / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    partial = folder / f"{name}.{os.getpid()}.partial"
    try:
        if copy_whole(source, partial) != "ok":
            raise sqlite3.DatabaseError("the copy is damaged, as the database is")
        partial.replace(folder / f"{name}.db")
    finally:
        partial.unlink(missing_ok=True)


class DailyCopy:
    """The copy of the day, made in a thread of its own."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], data_dir: Path) -> None:
        """``connect`` gives the calling thread's own connection."""
        self._connect = connect
        self._data_dir = data_dir
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Make one where the newest is older than a day, unless one is being made."""
        if self._thread is not None and self._thread.is_alive():
            return
        newest = next(iter(copies_in(self._data_dir)), None)
        if newest is None or time.time() - newest.stat().st_mtime >= DAY_SECONDS:
            self._thread = threading.Thread(target=self._make, name="backup", daemon=True)
            self._thread.start()

    def wait(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def forget(self) -> None:
        """Delete all copies: something was deleted that they hold."""
        self.wait()
        # also what another process writes, or left when it was killed
        for path in (self._data_dir / FOLDER).glob("*"):
            path.unlink(missing_ok=True)

    def _make(self) -> None:
        try:
            copy_database(self._connect(), self._data_dir, f"{datetime.now(UTC):%Y-%m-%d}")
            for old in copies_in(self._data_dir)[KEPT:]:
                old.unlink()
        except (OSError, sqlite3.Error):
            logger.warning("The automatic backup could not be written", exc_info=True)
