"""The rows of watched folders and of the files in them."""

import sqlite3
import uuid
from collections.abc import Sequence

from pincite.core.domain.errors import SettingsError
from pincite.core.domain.turns import now
from pincite.core.domain.watching import WatchedFile, WatchedFolder
from pincite.core.store.database import Database


class Watched:
    """The rows of ``watched_folders`` and ``watched_files``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def folders(self) -> list[WatchedFolder]:
        """Return all folders, oldest first."""
        rows = self._database.connection.execute("SELECT * FROM watched_folders ORDER BY created_at, rowid")
        return [_folder(row) for row in rows]

    def folder(self, folder_id: str) -> WatchedFolder | None:
        return next((one for one in self.folders() if one.id == folder_id), None)

    def add_folder(self, path: str, collection_id: str, ignored: Sequence[str], *, removes: bool) -> WatchedFolder:
        """Raises SettingsError if it is watched already."""
        folder = WatchedFolder(uuid.uuid4().hex, path, collection_id, tuple(ignored), removes)
        try:
            with self._database.transaction() as connection:
                connection.execute(
                    "INSERT INTO watched_folders (id, path, collection_id, ignored, removes, created_at) "
                    "VALUES (?, ?, ?, ?, ?, ?)",
                    (folder.id, path, collection_id, "\n".join(ignored), int(removes), now()),
                )
        except sqlite3.IntegrityError as error:
            raise SettingsError(f"{path} is watched already.", hint="Stop watching it first.") from error
        return folder

    def forget_folder(self, folder_id: str) -> None:
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM watched_files WHERE folder_id = ?", (folder_id,))
            connection.execute("DELETE FROM watched_folders WHERE id = ?", (folder_id,))

    def note_check(self, folder_id: str, problem: str) -> None:
        """Store that a folder was looked at now, or why it could not be."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE watched_folders SET problem = ?1, checked_at = iif(?1 = '', ?2, checked_at) WHERE id = ?3",
                (problem, now(), folder_id),
            )

    def files(self, folder_id: str) -> list[WatchedFile]:
        rows = self._database.connection.execute(
            "SELECT * FROM watched_files WHERE folder_id = ? ORDER BY path", (folder_id,)
        )
        return [WatchedFile(**{**dict(row), "added": bool(row["added"])}) for row in rows]

    def store(self, file: WatchedFile) -> None:
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO watched_files "
                "(folder_id, path, size, modified_ns, document_id, added, problem, adding, missing_since) "
                "SELECT id, ?, ?, ?, ?, ?, ?, ?, ? FROM watched_folders WHERE id = ?",  # it may be watched no longer
                (file.path, file.size, file.modified_ns, file.document_id, int(file.added), file.problem, file.adding,
                 file.missing_since, file.folder_id),
            )  # fmt: skip

    def forget(self, file: WatchedFile) -> None:
        with self._database.transaction() as connection:
            connection.execute(
                "DELETE FROM watched_files WHERE folder_id = ? AND path = ?", (file.folder_id, file.path)
            )

    def note_missing(self, file: WatchedFile, since: str) -> None:
        """Store since when a file is gone; empty: it is back. Nothing happens if a person has decided meanwhile."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE watched_files SET missing_since = ? WHERE folder_id = ? AND path = ?",
                (since, file.folder_id, file.path),
            )

    def was_added(self, document_id: str) -> bool:
        """Return whether watching added a document."""
        rows = self._database.connection.execute(
            "SELECT 1 FROM watched_files WHERE document_id = ? AND added", (document_id,)
        )
        return rows.fetchone() is not None

    def is_on_disk(self, document_id: str, *, but: WatchedFile | None = None) -> bool:
        """Return whether a file that is there, in any watched folder, was last seen with these bytes."""
        rows = self._database.connection.execute(
            "SELECT folder_id, path FROM watched_files WHERE document_id = ? AND missing_since = ''", (document_id,)
        )
        own = (but.folder_id, but.path) if but else None
        return any((row["folder_id"], row["path"]) != own for row in rows)


def _folder(row: sqlite3.Row) -> WatchedFolder:
    return WatchedFolder(
        id=row["id"],
        path=row["path"],
        collection_id=row["collection_id"],
        ignored=tuple(row["ignored"].splitlines()),
        removes=bool(row["removes"]),
        checked_at=row["checked_at"],
        problem=row["problem"],
    )
