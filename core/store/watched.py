"""The rows of watched folders and of the files in them."""

import uuid
from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import ColumnElement, RowMapping, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from pincite.core.domain.errors import SettingsError
from pincite.core.domain.turns import now
from pincite.core.domain.watching import WatchedFile, WatchedFolder
from pincite.core.store.database import Database
from pincite.core.store.schema import watched_files, watched_folders


class Watched:
    """The rows of ``watched_folders`` and ``watched_files``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def folders(self) -> list[WatchedFolder]:
        """Return all folders, oldest first."""
        oldest_first = watched_folders.c.created_at, watched_folders.c.id
        return [_folder(row) for row in self._database.rows(select(watched_folders).order_by(*oldest_first))]

    def folder(self, folder_id: str) -> WatchedFolder | None:
        return next((one for one in self.folders() if one.id == folder_id), None)

    def add_folder(self, path: str, collection_id: str, ignored: Sequence[str], *, removes: bool) -> WatchedFolder:
        """Raises SettingsError if it is watched already."""
        folder = WatchedFolder(uuid.uuid4().hex, path, collection_id, tuple(ignored), removes)
        row = {"id": folder.id, "path": path, "collection_id": collection_id, "ignored": "\n".join(ignored),
               "removes": removes, "created_at": now()}  # fmt: skip
        try:
            self._database.run(insert(watched_folders).values(row))
        except IntegrityError as error:
            raise SettingsError(f"{path} is watched already.", hint="Stop watching it first.") from error
        return folder

    def forget_folder(self, folder_id: str) -> None:
        self._database.run(delete(watched_folders).where(watched_folders.c.id == folder_id))

    def note_check(self, folder_id: str, problem: str) -> None:
        """Store that a folder was looked at now, or why it could not be."""
        noted = {"problem": problem} if problem else {"problem": "", "checked_at": now()}
        self._database.run(update(watched_folders).where(watched_folders.c.id == folder_id).values(noted))

    def files(self, folder_id: str) -> list[WatchedFile]:
        own = select(watched_files).where(watched_files.c.folder_id == folder_id).order_by(watched_files.c.path)
        return [WatchedFile(**row) for row in self._database.rows(own)]

    def store(self, file: WatchedFile) -> None:
        """Store what was seen of a file, unless its folder is watched no longer."""
        seen = asdict(file)
        key = {name: seen.pop(name) for name in ("folder_id", "path")}
        with self._database.transaction():
            if self._database.row(select(watched_folders.c.id).where(watched_folders.c.id == file.folder_id)):
                self._database.put(watched_files, key, seen)

    def forget(self, file: WatchedFile) -> None:
        self._database.run(delete(watched_files).where(*_is(file)))

    def note_missing(self, file: WatchedFile, since: str) -> None:
        """Store since when a file is gone; empty: it is back. Nothing happens if a person has decided meanwhile."""
        self._database.run(update(watched_files).where(*_is(file)).values(missing_since=since))

    def was_added(self, document_id: str) -> bool:
        """Return whether watching added a document."""
        of_it = watched_files.c.document_id == document_id
        return self._database.row(select(watched_files.c.path).where(of_it, watched_files.c.added)) is not None

    def is_on_disk(self, document_id: str, *, but: WatchedFile | None = None) -> bool:
        """Return whether a file that is there, in any watched folder, was last seen with these bytes."""
        of_it = watched_files.c.document_id == document_id
        rows = self._database.rows(select(watched_files).where(of_it, watched_files.c.missing_since == ""))
        own = (but.folder_id, but.path) if but else None
        return any((row["folder_id"], row["path"]) != own for row in rows)


def _is(file: WatchedFile) -> tuple[ColumnElement[bool], ...]:
    return watched_files.c.folder_id == file.folder_id, watched_files.c.path == file.path


def _folder(row: RowMapping) -> WatchedFolder:
    return WatchedFolder(
        id=row["id"],
        path=row["path"],
        collection_id=row["collection_id"],
        ignored=tuple(row["ignored"].splitlines()),
        removes=row["removes"],
        checked_at=row["checked_at"],
        problem=row["problem"],
    )
