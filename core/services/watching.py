"""Keeps the library as watched folders are: new, changed, renamed and deleted files, recognised by their content.

A look at a folder compares it with what was stored of it, so nothing depends on events: they only say when to look.
Each step can be repeated, so a process that is killed in the middle leaves nothing to repair.
"""

import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeAlias

import filelock

from pincite.core.domain.documents import ENDINGS
from pincite.core.domain.errors import DocumentError, PinciteError, SettingsError, UnknownDocumentError
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import now
from pincite.core.domain.watching import MAX_PATTERNS, Change, Changed, WatchedFile, WatchedFolder

if TYPE_CHECKING:
    from pincite.core.ingest.pipeline import Ingest
    from pincite.core.store.collections import Collections
    from pincite.core.store.library import Library
    from pincite.core.store.watched import Watched

logger = logging.getLogger(__name__)

IGNORED = (".*", "~$*")
"""Hidden files, and those in which Word keeps who has a file open."""
LOOK_SECONDS = 60.0
"""How often a folder is looked at without an event: folders of other machines send none."""
SETTLE_SECONDS = 2.0
"""A file that changed less than this ago may still be written."""
GRACE_SECONDS = 10.0
"""Programs save by deleting a file and writing it again."""
CLOSING_SECONDS = 5.0
NOT_LOOKED_AT = -1
"""Size that is stored for a file which is to be looked at again."""
_Stats: TypeAlias = dict[str, os.stat_result]


class Watching:
    """``ingest`` returns the ingest in use."""

    def __init__(
        self,
        watched: "Watched",
        library: "Library",
        collections: "Collections",
        ingest: "Callable[[], Ingest]",
        settings: Settings,
    ) -> None:
        self._watched = watched
        self._library = library
        self._collections = collections
        self._ingest = ingest
        self._data_dir = settings.data_dir.resolve()
        self._lock = filelock.FileLock(settings.data_dir / "watching.lock", thread_local=False)
        self._stop, self._wake = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    # ------------------------------------------------------------ what people ask for

    def folders(self) -> list[WatchedFolder]:
        return self._watched.folders()

    def files(self, folder_id: str) -> list[WatchedFile]:
        """Return the files of a folder as they were when it was last looked at."""
        return self._watched.files(folder_id)

    def add(
        self, path: Path | str, *, collection: str = "", ignored: Sequence[str] = (), removes: bool = False
    ) -> WatchedFolder:
        """Watch a folder from now on; a collection that is not there is made. Raises SettingsError."""
        folder = Path(path).expanduser()
        if not folder.is_absolute() or not folder.is_dir():
            raise SettingsError(f"{folder} is not a folder.", hint="Give its whole path, as this machine sees it.")
        folder = folder.resolve()
        if _overlap(folder, self._data_dir):
            raise SettingsError(f"{folder} holds Pincite's own data.", hint="Watch another folder.")
        for other in self.folders():
            if _overlap(folder, Path(other.path)):
                raise SettingsError(f"{other.path} is watched already.", hint="Stop watching it first.")
        into = ""
        if collection.strip():
            into = (self._collections.find(collection) or self._collections.create(collection)).id
        patterns = [pattern.strip() for pattern in ignored if pattern.strip()][:MAX_PATTERNS]
        made = self._watched.add_folder(str(folder), into, patterns, removes=removes)
        self._wake.set()
        return made

    def forget(self, folder_id: str) -> None:
        """Stop watching a folder; its documents stay."""
        self._watched.forget_folder(folder_id)
        self._wake.set()

    def decide(self, file: WatchedFile, *, remove: bool) -> None:
        """Remove the document of a deleted file, or keep it. Nothing happens if the file is back."""
        if file not in self._watched.files(file.folder_id) or not file.missing_since:
            return
        if remove:
            self._remove(file)
        self._watched.forget(file)

    # ------------------------------------------------------------ the thread

    def start(self) -> None:
        """Look at the folders from now on, whenever something changes in them, until `close`."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="watching", daemon=True)
            self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(CLOSING_SECONDS)

    def _run(self) -> None:
        for _ in self.follow():
            pass

    def follow(self, folder_id: str = "") -> Iterator[Changed]:
        """Look at the folders, or at one, until `close`; yield what changes."""
        seconds = LOOK_SECONDS
        while not self._stop.is_set():
            self._wake.clear()
            changed = [
                one for folder in self.folders() if folder_id in ("", folder.id) for one in self._look_safely(folder)
            ]
            yield from (one for one in changed if one.change is not Change.UNSETTLED)
            if any(one.change is Change.UNSETTLED for one in changed):
                seconds = SETTLE_SECONDS if seconds >= LOOK_SECONDS else min(2 * seconds, LOOK_SECONDS)
            else:
                seconds = LOOK_SECONDS
            self._wait(seconds)

    def _look_safely(self, folder: WatchedFolder) -> list[Changed]:
        try:
            return self.look(folder, settle_seconds=SETTLE_SECONDS, grace_seconds=GRACE_SECONDS)
        except filelock.Timeout:
            logger.info("Another process looks at the watched folders")
        except PinciteError as error:  # such as a full disk
            with suppress(PinciteError):
                self._watched.note_check(folder.id, str(error))
        except Exception:
            logger.exception("Looking at the watched folder failed: %s", folder.path)
        return []

    def _wait(self, seconds: float) -> None:
        """Return when something changes in a folder, at the latest after these seconds."""
        import watchfiles

        paths = [one.path for one in self.folders() if Path(one.path).is_dir()]
        until = time.monotonic() + seconds
        try:
            if paths and not self._stop.is_set():
                for changes in watchfiles.watch(
                    *paths, watch_filter=None, stop_event=self._wake, rust_timeout=1_000, yield_on_timeout=True,
                    raise_interrupt=False, ignore_permission_denied=True,
                ):  # fmt: skip
                    if changes or time.monotonic() > until:
                        return
        except (OSError, RuntimeError) as error:  # a file system without events, or too many folders for them
            logger.info("Folders are looked at every %.0f s: %s", LOOK_SECONDS, error)
        self._wake.wait(max(0.0, until - time.monotonic()))

    # ------------------------------------------------------------ one look

    def look(self, folder: WatchedFolder, *, settle_seconds: float = 0.0, grace_seconds: float = 0.0) -> list[Changed]:
        """Bring the library to what is in the folder, and return what changed.

        ``settle_seconds``: files that changed more recently are left for the next look. ``grace_seconds``: how long a
        file must be gone before its document is. Raises filelock.Timeout if another process looks.
        """
        with self._lock.acquire(timeout=0):
            try:
                found = dict(_files(Path(folder.path), folder.ignored))
            except OSError as error:
                self._watched.note_check(folder.id, f"It cannot be read ({error.strerror or error}).")
                return []
            changed = list(self._bring(_Look(folder, self._watched.files(folder.id), found, settle_seconds)))
            changed += self._let_go(folder, found, grace_seconds)
            if not self._stop.is_set():
                self._watched.note_check(folder.id, "")
            return changed

    def _bring(self, look: "_Look") -> Iterator[Changed]:
        """Take in what is new or has changed."""
        for path in look.found:
            if self._stop.is_set():
                return
            if (digest := look.digests[path]) is None:
                yield Changed(path, Change.UNSETTLED)
                continue
            file, stat = look.known.get(path), look.found[path]
            row = WatchedFile(look.folder.id, path, stat.st_size, stat.st_mtime_ns, digest)
            if file and _is_same(file, stat):
                if file.missing_since:
                    self._watched.store(replace(file, missing_since=""))
            elif file and file.document_id == digest and not file.adding:  # it was only touched
                self._watched.store(row)
            else:
                yield self._take_in(look, row, file)

    def _take_in(self, look: "_Look", row: WatchedFile, before: WatchedFile | None) -> Changed:
        """Add a file, in the place of what it held before."""
        folder, name = look.folder, PurePosixPath(row.path).name
        there = {one.id: one.name for one in self._library.list()}
        old, begun = (before.document_id, before.adding) if before else ("", "")
        if begun and begun in there and begun != row.document_id and not look.holds(begun):
            self._remove(replace(row, document_id=begun))
        if row.document_id not in there:
            self._watched.store(replace(row, size=NOT_LOOKED_AT, document_id=old, adding=row.document_id))
        try:
            self._ingest().add(Path(folder.path, row.path), name)
        except DocumentError as error:
            self._watched.store(replace(row, document_id=old, problem=str(error)))
            return Changed(row.path, Change.FAILED, str(error))
        if folder.collection_id:
            self._collections.add(folder.collection_id, [row.document_id])
        change = Change.ADDED if row.document_id not in there else Change.KNOWN
        if old in there and not look.holds(old) and not self._watched.is_on_disk(old, but=row):
            self._ingest().replace(old, row.document_id)
            change = Change.REPLACED
        elif change is Change.KNOWN and there[row.document_id] in look.names_gone(row.document_id):
            self._library.rename(row.document_id, name)
            change = Change.RENAMED
        self._watched.store(row)
        return Changed(row.path, change)

    def _let_go(self, folder: WatchedFolder, found: _Stats, grace_seconds: float) -> Iterator[Changed]:
        """Note which files are gone, and let their documents go, or have a person decide."""
        files = self._watched.files(folder.id)
        there = {one.id for one in self._library.list()}
        asks = not folder.removes or (not found and len(files) > 1)  # a disk that is not there looks empty, too
        kept = {file.document_id for file in files if file.path in found}
        for file in files:
            if file.path in found or self._stop.is_set():
                continue
            if file.adding in there:  # it was killed in between, and then the file was deleted
                self._remove(replace(file, document_id=file.adding))
            if file.document_id not in there or self._watched.is_on_disk(file.document_id, but=file):
                self._watched.forget(file)
                if file.document_id not in kept:  # it was moved to another folder
                    self._collections.take_out(folder.collection_id, file.document_id)
                continue
            if not file.missing_since:
                file = replace(file, missing_since=now())
                self._watched.store(file)
                yield Changed(file.path, Change.MISSING)
            since = datetime.fromisoformat(now()) - datetime.fromisoformat(file.missing_since)
            if not asks and since.total_seconds() >= grace_seconds:
                self._remove(file)
                self._watched.forget(file)
                yield Changed(file.path, Change.REMOVED)

    def _remove(self, file: WatchedFile) -> None:
        """Remove a document, and the older version that it was to replace once it could be searched."""
        ingest = self._ingest()
        for one in (ingest.waits_to_replace(file.document_id), file.document_id):
            if one and not self._watched.is_on_disk(one, but=file):
                with suppress(UnknownDocumentError):  # a person was faster
                    ingest.remove(one)


class _Look:
    """What a folder holds now, and what was stored of it."""

    def __init__(self, folder: WatchedFolder, files: Sequence[WatchedFile], found: _Stats, settle: float) -> None:
        self.folder = folder
        self.known = {file.path: file for file in files}
        self.found = found
        moment = time.time()
        self.digests = {path: self._digest(path, stat, moment - settle) for path, stat in found.items()}
        """SHA-256 of each file; None where it is being written."""

    def holds(self, document_id: str) -> bool:
        """Return whether a file has these bytes now, or may still have them."""
        return any(
            (self._stored(path) if digest is None else digest) == document_id for path, digest in self.digests.items()
        )

    def names_gone(self, document_id: str) -> set[str]:
        """Return the names of files that are gone from where they had these bytes."""
        return {
            PurePosixPath(path).name
            for path, file in self.known.items()
            if path not in self.found and file.document_id == document_id
        }

    def _stored(self, path: str) -> str:
        return self.known[path].document_id if path in self.known else ""

    def _digest(self, path: str, stat: os.stat_result, settled_before: float) -> str | None:
        file = self.known.get(path)
        if file and _is_same(file, stat):
            return file.document_id
        if settled_before < stat.st_mtime <= time.time():
            return None
        try:
            with Path(self.folder.path, path).open("rb") as reading:
                return hashlib.file_digest(reading, "sha256").hexdigest()
        except OSError:  # gone again, or locked by who writes it
            return None


def _is_same(file: WatchedFile, stat: os.stat_result) -> bool:
    return (file.size, file.modified_ns) == (stat.st_size, stat.st_mtime_ns)


def _overlap(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)


def _files(folder: Path, ignored: Sequence[str], within: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Yield the paths of the files that can be read; links are not followed. Raises OSError if a folder cannot be."""
    with os.scandir(folder / within) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            path = f"{within}/{entry.name}" if within else entry.name
            patterns = (*IGNORED, *ignored)
            if any(fnmatch(entry.name, pattern) or fnmatch(path, pattern) for pattern in patterns):
                continue
            try:
                path.encode()
                if entry.is_dir(follow_symlinks=False):
                    yield from _files(folder, ignored, path)
                elif entry.is_file(follow_symlinks=False) and entry.name.lower().endswith(ENDINGS):
                    yield path, (folder / path).stat()
            except (UnicodeEncodeError, FileNotFoundError):  # no text, or gone meanwhile
                continue
